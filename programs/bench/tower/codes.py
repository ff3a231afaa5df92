# SPDX-License-Identifier: Apache-2.0
"""Codes of embeddings: recall of the clicked item among the best 100.

All distinct items of a data set are searched, with the queries of its test part. Every item's code is scored, so
nothing is lost but by the codes. They are those that a model learned to make, or made of m_1's float vectors
afterwards: by XFBQ, which is our own index, or by Faiss.
"""

import glob
import os
import re

import numpy as np
from bench.shared.common import spread, thresher, unit
from bench.search.faiss_peers import rabitq, rotated
from bench.tower.sets import LEAST_LABEL

K, BATCH = 100, 64
NAME = re.compile(r"(quick-)?(\w+)\.m_1\.(\d+)\.npz$")


class Vectors:
    """Embeddings of items and of the test's queries; and of every query its item's row and how good the pair is."""

    def __init__(self, items, queries, item_of, labels):
        self.items, self.queries, self.item_of, self.labels = items, queries, item_of, labels
        self.good = labels >= LEAST_LABEL

    @classmethod
    def of(cls, tower, data):
        texts = sorted({item for _, item, *_ in data.pairs}, key=lambda text: text.encode(errors="surrogateescape"))
        row = {text: i for i, text in enumerate(texts)}
        queries, items, labels, _ = zip(*data.part(True))
        item_of = np.array([row[item] for item in items])
        return cls(tower.encode(texts, "item"), tower.encode(list(queries), "query"), item_of, np.float32(labels))

    @classmethod
    def load(cls, path):
        kept = np.load(path)
        return cls(unit(kept["items"]), unit(kept["queries"]), kept["item_of"], kept["labels"])

    def save(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        np.savez(path, items=self.items, queries=self.queries, item_of=self.item_of, labels=self.labels)


def vectors_path(keep, quick, data, model, seed):
    return os.path.join(keep, "vectors", f"{'quick-' * quick}{data}.{model}.{seed}.npz")


def found(keep, quick):
    """{(data, seed): path} of m_1's vectors in the directory."""
    out = {}
    for path in sorted(glob.glob(os.path.join(keep, "vectors", "*.npz"))):
        name = NAME.match(os.path.basename(path))
        if name and bool(name[1]) == quick:
            out[name[2], int(name[3])] = path
    return out


# ---------------------------------------------------------------------------------------------------- judged


def recall_of(vectors, search):
    """The share of the good pairs whose item is among the best K; search(queries) -> ids."""
    best = np.concatenate([search(part) for part in batches(vectors.queries[vectors.good])])
    return float((best == vectors.item_of[vectors.good][:, None]).any(axis=1).mean())


def batches(queries):
    return [queries[i : i + BATCH] for i in range(0, len(queries), BATCH)]


# ---------------------------------------------------------------------------------------------------- ours


def code_bytes(index):
    return index.info.code_bytes / index.info.n_items


def learned(vectors, tower, path, threads):
    with thresher.Index.build(path, vectors.items, model=tower, replace=True, threads=threads) as index:
        return {"recall": recall_of(vectors, lambda q: index.search(q, K)[0]), "bytes": code_bytes(index)}


def of_floats(vectors, path, threads):
    """Recall of the floats; and of XFBQ of 1 and 2 bits recall and bytes, with our queries and those of 3 bits."""
    options = {"replace": True, "threads": threads}
    with thresher.Index.build(path, vectors.items, **options) as index:
        out = {"recall": recall_of(vectors, lambda q: index.search(q, K, exact=True)[0])}
    for bits in (1, 2):  # all planes are read, so that nothing is lost but by the codes
        with thresher.Index.build(path, vectors.items, bits=bits, lead_bits=bits, keep=None, **options) as index:
            out[f"xfbq{bits}_bytes"] = code_bytes(index)
            for name, query_bits in ((f"xfbq{bits}", None), (f"xfbq{bits}_coarse", 3)):  # as rbe* has them
                search = lambda q, bits=query_bits: index.search(q, K, query_bits=bits)[0]  # noqa: E731
                out[f"{name}_recall"] = recall_of(vectors, search)
    return out


# ---------------------------------------------------------------------------------------------------- Faiss's


CODES = {  # name: (title, index of so many dimensions); one bit per dimension is the most that ITQ has
    "floats": ("m_1, floats (Faiss IndexFlat)", lambda faiss, n: faiss.IndexFlatL2(n)),
    "itq": ("Faiss ITQ", lambda faiss, n: faiss.index_factory(n, f"ITQ{n},LSH")),
    "rabitq2": ("Faiss RaBitQ of 2 bits", lambda faiss, n: rotated(n, rabitq(n, 2))),
    "opq": ("Faiss OPQ + PQ, 8 bits for 4 dimensions", lambda faiss, n: faiss.index_factory(n, f"OPQ{n // 4},PQ{n // 4}")),
}


def measure(faiss, name, vectors):
    """Recall and bytes of one kind of codes."""
    index = CODES[name][1](faiss, vectors.items.shape[1])
    index.train(vectors.items)
    index.add(vectors.items)
    n_bytes = index.sa_code_size() if hasattr(index, "sa_code_size") else index.code_size
    return {"recall": recall_of(vectors, lambda q: index.search(q, K)[1]), "bytes": int(n_bytes)}


def rows_of(kept, rbe):
    """Table rows of {"data seed code": figures}, beside rbe*'s: {data: its records, one a seed}."""
    groups = {}
    for key, figures in kept.items():
        data, _, name = key.split(" ")
        groups.setdefault(data, {}).setdefault(name, []).append(figures)
    for data, by_name in groups.items():
        systems = {CODES[name][0]: by_name[name] for name in CODES if name in by_name} | {"rbe*": rbe.get(data, [])}
        for title, records in systems.items():
            if records:
                yield [data, title, round(records[0]["bytes"]), spread([record["recall"] for record in records])]

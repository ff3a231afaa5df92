# SPDX-License-Identifier: Apache-2.0
"""Codes of embeddings: recall of the clicked item among the best 100, and AUC.

All distinct items of a data set are searched, with the queries of its test part. Every item's code is scored, so nothing
is lost but by the codes. They are those that a model learned to make, or made of m_1's float vectors afterwards: by XFBQ,
which is our own index, or by Faiss.
"""

import glob
import os
import re

import numpy as np
from bench.shared.common import spread, thresher, unit
from bench.search.faiss_peers import rabitq, rotated
from bench.tower.sets import LEAST_LABEL

K, NEGATIVES, BATCH = 100, 10, 64
NAME = re.compile(r"(quick-)?(own|together)\.(\w+)\.m_1\.(\d+)\.npz$")


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


def vectors_path(keep, quick, train, data, model, seed):
    return os.path.join(keep, "vectors", f"{'quick-' * quick}{train}.{data}.{model}.{seed}.npz")


def found(keep, quick):
    """{(train, data, seed): path} of m_1's vectors in the directory."""
    out = {}
    for path in sorted(glob.glob(os.path.join(keep, "vectors", "*.npz"))):
        name = NAME.search(os.path.basename(path))
        if name and bool(name[1]) == quick:
            out[name[2], name[3], int(name[4])] = path
    return out


# ---------------------------------------------------------------------------------------------------- judged


def auc(scores, good):
    """The probability that a good pair has more than a bad one, ties counted half."""
    values, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[place]
    n_good = int(good.sum())
    return float((ranks[good].sum() - n_good * (n_good + 1) / 2) / (n_good * (len(scores) - n_good)))


def scored_pairs(n, labelled):
    """(item's row, whether it is the pair's own) of all query rows, as thr_tower_eval has them."""
    n_negatives = 0 if labelled else min(NEGATIVES, n - 1)
    rows = np.arange(n)
    return [((rows + j * (n // (n_negatives + 1))) % n, j == 0) for j in range(n_negatives + 1)]


def recall_of(vectors, search):
    """The share of the good pairs whose item is among the best K; search(queries) -> ids."""
    best = np.concatenate([search(part) for part in batches(vectors.queries[vectors.good])])
    return float((best == vectors.item_of[vectors.good][:, None]).any(axis=1).mean())


def auc_of(vectors, labelled, score):
    """score(queries) -> (ids, scores) of all items that are tested with."""
    pairs = scored_pairs(len(vectors.queries), labelled)
    scores, first = np.empty((len(pairs), len(vectors.queries)), np.float32), 0
    for part in batches(vectors.queries):
        ids, found_scores = score(part)
        some, rows = slice(first, first + len(part)), np.arange(len(part))
        of_item = np.full((len(part), len(vectors.items)), np.nan, np.float32)
        np.put_along_axis(of_item, ids.astype(np.int64), found_scores, axis=1)
        for j, (other, _) in enumerate(pairs):
            scores[j, some] = of_item[rows, vectors.item_of[other[some]]]
        first += len(part)
    if np.isnan(scores).any():
        raise ValueError("a search by codes leaves out items that its filter lets pass")
    good = vectors.good if labelled else np.repeat([own for _, own in pairs], len(vectors.queries))
    return auc(scores.ravel(), good)


def batches(queries):
    return [queries[i : i + BATCH] for i in range(0, len(queries), BATCH)]


# ---------------------------------------------------------------------------------------------------- ours


def code_bytes(index):
    return index.info.code_bytes / index.info.n_items


def learned(vectors, tower, path, threads):
    with thresher.Index.build(path, vectors.items, model=tower, replace=True, threads=threads) as index:
        return {"recall": recall_of(vectors, lambda q: index.search(q, K)[0]), "bytes": code_bytes(index)}


def of_floats(vectors, labelled, path, threads):
    """Recall of the floats; and of XFBQ of 1 and 2 bits recall, AUC and bytes, with our queries and those of 3 bits."""
    options = {"replace": True, "threads": threads}
    with thresher.Index.build(path, vectors.items, **options) as index:
        out = {"recall": recall_of(vectors, lambda q: index.search(q, K, exact=True)[0])}
    tested = np.unique(vectors.item_of)
    for bits in (1, 2):  # all planes are read, so that nothing is lost but by the codes
        with thresher.Index.build(path, vectors.items, bits=bits, lead_bits=bits, keep=None, **options) as index:
            only = thresher.Filter(len(vectors.items), tested)
            out[f"xfbq{bits}_bytes"] = code_bytes(index)
            for name, query_bits in ((f"xfbq{bits}", None), (f"xfbq{bits}_coarse", 3)):  # as rbe* has them
                ask = {"query_bits": query_bits}
                out[f"{name}_recall"] = recall_of(vectors, lambda q, ask=ask: index.search(q, K, **ask)[0])
                score = lambda q, ask=ask: index.search(q, len(tested), filter=only, **ask)  # noqa: E731
                out[f"{name}_auc"] = auc_of(vectors, labelled, score)
    return out


# ---------------------------------------------------------------------------------------------------- Faiss's


CODES = {  # name: (title, index of so many dimensions); one bit per dimension is the most that ITQ has
    "floats": ("m_1, floats (Faiss IndexFlat)", lambda faiss, n: faiss.IndexFlatL2(n)),
    "itq": ("Faiss ITQ", lambda faiss, n: faiss.index_factory(n, f"ITQ{n},LSH")),
    "lsh": ("Faiss LSH of 2 bits per dimension, rotated", lambda faiss, n: faiss.IndexLSH(n, 2 * n, True, True)),
    "rabitq1": ("Faiss RaBitQ of 1 bit", lambda faiss, n: rotated(n, rabitq(n, 1))),
    "rabitq2": ("Faiss RaBitQ of 2 bits", lambda faiss, n: rotated(n, rabitq(n, 2))),
    "opq": ("Faiss OPQ + PQ, 8 bits for 4 dimensions", lambda faiss, n: faiss.index_factory(n, f"OPQ{n // 4},PQ{n // 4}")),
}


def measure(faiss, name, vectors, labelled):
    """Recall, AUC and bytes of one kind of codes."""
    index = CODES[name][1](faiss, vectors.items.shape[1])
    index.train(vectors.items)
    index.add(vectors.items)
    recall = recall_of(vectors, lambda q: index.search(q, K)[1])
    tested = np.unique(vectors.item_of)
    index.reset()
    index.add(vectors.items[tested])

    def score(queries):
        distances, ids = index.search(queries, len(tested))
        return tested[ids], -distances

    n_bytes = index.sa_code_size() if hasattr(index, "sa_code_size") else index.code_size
    return {"recall": recall, "auc": auc_of(vectors, labelled, score), "bytes": int(n_bytes)}


def rows_of(kept, rbe):
    """Table rows of {"train data seed code": figures}, beside rbe*'s: {(train, data): its records, one a seed}."""
    groups = {}
    for key, figures in kept.items():
        train, data, _, name = key.split(" ")
        groups.setdefault((train, data), {}).setdefault(name, []).append(figures)
    for (train, data), by_name in groups.items():
        ours = rbe.get((train, data))
        title = data if train == "own" else f"{data}, all sets together"
        for name in [name for name in CODES if name in by_name]:
            values = [spread([m[what] for m in by_name[name]]) for what in ("recall", "auc")]
            yield [title, CODES[name][0], by_name[name][0]["bytes"], *values]
        if ours:
            texts = [spread([record[what] for record in ours]) for what in ("recall", "auc")]
            yield [title, "rbe*", round(ours[0]["bytes"]), *texts]

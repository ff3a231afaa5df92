# SPDX-License-Identifier: Apache-2.0
"""Codes that Faiss makes of m_1's item vectors: recall of the clicked item among the best 100, and AUC.

`thresher-bench tower` has written the vectors: of all distinct items, of the test part's queries, and for every query
which item is its own and how good the pair is. Every item's code is scored, so nothing is lost but by the codes.
"""

import glob
import os
import re

import numpy as np

K, NEGATIVES, LEAST_LABEL = 100, 10, 2.0
NAME = re.compile(r"(quick-)?(own|together)\.(\w+)\.m_1\.(\d+)\.items\.fbin$")


class Codes:
    """A way to make codes: a trained Faiss index to which items are added."""

    def __init__(self, name, title, make):
        self.name, self.title, self.make = name, title, make


def itq(faiss, n_dims):
    return faiss.index_factory(n_dims, f"ITQ{n_dims},LSH")  # a bit a dimension is the most that ITQ has


def signs(faiss, n_dims):
    return faiss.IndexLSH(n_dims, 2 * n_dims, True, True)


def rabitq(bits):
    def make(faiss, n_dims):
        codes = faiss.IndexRaBitQ(n_dims, faiss.METRIC_L2, bits)
        codes.qb = 8
        rotation = faiss.RandomRotationMatrix(n_dims, n_dims)
        rotation.init(1)
        return faiss.IndexPreTransform(rotation, codes)

    return make


def product(faiss, n_dims):
    return faiss.index_factory(n_dims, f"OPQ{n_dims // 4},PQ{n_dims // 4}")


def floats(faiss, n_dims):
    return faiss.IndexFlatL2(n_dims)


CODES = [
    Codes("floats", "m_1, floats (Faiss IndexFlat)", floats),
    Codes("itq", "Faiss ITQ", itq),
    Codes("lsh", "Faiss LSH of 2 bits a dimension, rotated", signs),
    Codes("rabitq1", "Faiss RaBitQ of 1 bit", rabitq(1)),
    Codes("rabitq2", "Faiss RaBitQ of 2 bits", rabitq(2)),
    Codes("opq", "Faiss OPQ + PQ, 8 bits for 4 dimensions", product),
]


def read_fbin(path):
    n_rows, n_dims = np.fromfile(path, dtype="<u4", count=2)
    return np.fromfile(path, dtype="<f4", offset=8).reshape(n_rows, n_dims)


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


class Vectors:
    """One file of m_1's vectors, with what belongs to it."""

    def __init__(self, items_path):
        base = items_path[: -len(".items.fbin")]
        self.items, self.queries = unit(read_fbin(items_path)), unit(read_fbin(base + ".queries.fbin"))
        rows = np.loadtxt(base + ".rows.tsv", dtype=np.float64, ndmin=2)
        self.item_of, self.labels = rows[:, 0].astype(np.int64), rows[:, 1]
        self.good = self.labels >= LEAST_LABEL


def found(keep, quick):
    """{(train, data, seed): path} of the vectors in the directory."""
    out = {}
    for path in sorted(glob.glob(os.path.join(keep, "vectors", "*.items.fbin"))):
        name = NAME.search(os.path.basename(path))
        if name and bool(name[1]) == quick:
            out[name[2], name[3], int(name[4])] = path
    return out


def auc(scores, good):
    """The probability that a good pair has more than a bad one, ties counted half."""
    values, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[place]
    n_good = int(good.sum())
    return float((ranks[good].sum() - n_good * (n_good + 1) / 2) / (n_good * (len(scores) - n_good)))


def scored_pairs(n, labelled):
    """(query row, item's row, whether it is the pair's own) as thr_tower_eval has them."""
    n_negatives = 0 if labelled else min(NEGATIVES, n - 1)
    rows = np.arange(n)
    shifts = [j * (n // (n_negatives + 1)) for j in range(n_negatives + 1)]
    return [(rows, (rows + shift) % n, shift == 0) for shift in shifts]


def measure(faiss, codes, vectors, labelled):
    """Recall, AUC and bytes of one kind of codes."""
    index = codes.make(faiss, vectors.items.shape[1])
    index.train(vectors.items)
    index.add(vectors.items)
    best = index.search(vectors.queries[vectors.good], K)[1]
    recall = float((best == vectors.item_of[vectors.good][:, None]).any(axis=1).mean())

    tested, place = np.unique(vectors.item_of, return_inverse=True)
    index.reset()
    index.add(vectors.items[tested])
    distances, ids = index.search(vectors.queries, len(tested))
    scores = np.empty_like(distances)
    np.put_along_axis(scores, ids, -distances, axis=1)
    pairs = scored_pairs(len(vectors.queries), labelled)
    all_scores = np.concatenate([scores[q, place[row]] for q, row, _ in pairs])
    good = vectors.good if labelled else np.concatenate([np.full(len(q), own) for q, _, own in pairs])
    n_bytes = index.sa_code_size() if hasattr(index, "sa_code_size") else index.code_size
    return {"recall": recall, "auc": auc(all_scores, good), "bytes": int(n_bytes)}


def spread(values):
    """(mean, standard deviation over seeds; 0 of one)"""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def rows_of(kept, ours):
    """Table rows of what was measured: {"train data seed code": figures} beside rbe*'s of thresher's JSON."""
    groups = {}
    for key, figures in kept.items():
        train, data, _, name = key.split(" ")
        groups.setdefault((train, data), {}).setdefault(name, []).append(figures)
    rows = []
    for (train, data), by_name in groups.items():
        rbe = ours.get((train, data, "rbe*"))
        for codes in CODES:
            if codes.name not in by_name:
                continue
            measured = by_name[codes.name]
            recall, auc_ = (spread([m[what] for m in measured]) for what in ("recall", "auc"))
            row = [data, train, codes.title, measured[0]["bytes"], mean_text(*recall), mean_text(*auc_)]
            gains = [f"{rbe[w] - m[0]:+.4f}" for w, m in (("recall", recall), ("auc", auc_))] if rbe else ["-", "-"]
            rows.append(row + gains)
        if rbe:
            texts = [mean_text(rbe[w], rbe.get(f"{w}_spread") or 0.0) for w in ("recall", "auc")]
            rows.append([data, train, "rbe*", round(rbe["bytes"]), *texts, "", ""])
    return rows


def mean_text(mean, deviation):
    return f"{mean:.4f} ± {deviation:.4f}" if deviation else f"{mean:.4f}"

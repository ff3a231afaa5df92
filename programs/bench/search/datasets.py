# SPDX-License-Identifier: Apache-2.0
"""The data sets of the comparison: base vectors, queries that are not among them, and the exact answers.

A Dataset holds base (n x d) and queries (q x d) as float32, its metric, and the exact k = 1000 best rows of every query
with the score of each. Higher scores are better: the inner product of unit vectors for "cosine" (all vectors have
length 1, so that a peer without cosine may use the inner product), minus the squared distance for "l2".

What had to be computed is kept in a cache directory, as .npy, and used again.
"""

import gzip
import lzma
import os
from dataclasses import dataclass, replace

import numpy as np
from bench.search import sentences
from bench.shared.common import Missing, public, unit

TRUTH_K = 1000
BLOCK = 50_000  # rows generated or scored at a time
FASHION_FILES = "/usr/share/datasets/fashion-mnist"  # where Debian's dataset-fashion-mnist puts them

# Clustered synthetic data: CENTRES normal centres; an item or a query is a centre drawn at random plus normal noise of
# the centres' own variance, then scaled to length 1. The definition was fixed before anything was measured on it.
CENTRES = 1000
MILLION = 1_000_000
SYNTHETIC_SEED = 20_240_601
SYNTHETIC_QUERIES = {64: 1000, 96: 1000, 200: 1000, 768: 300}  # by dimensions
SMALL_ITEMS, SMALL_QUERIES = 20_000, 200

@dataclass
class Dataset:
    name: str
    title: str  # one line for tables: kind of data, and whether it is synthetic
    metric: str  # "cosine" (unit vectors) or "l2"
    synthetic: bool
    base: np.ndarray
    queries: np.ndarray
    truth_ids: np.ndarray = None  # q x TRUTH_K, best first
    truth_scores: np.ndarray = None

    @property
    def n_dims(self):
        return self.base.shape[1]

    def scores(self, ids):
        """The exact scores (float64) of rows ids[i, j] for query i; -inf where an id is negative, that is missing."""
        out = np.full(ids.shape, -np.inf)
        for i, row in enumerate(ids):
            found = row[row >= 0]
            out[i, row >= 0] = exact_scores(self.metric, self.base[found], self.queries[i])
        return out


def exact_scores(metric, rows, query):
    rows, query = rows.astype(np.float64), query.astype(np.float64)
    return rows @ query if metric == "cosine" else -np.square(rows - query).sum(axis=1)


def read_fvecs_xz(path):
    with lzma.open(path) as file:
        words = np.frombuffer(file.read(), dtype=np.int32)
    n_dims = int(words[0])
    return words.reshape(-1, n_dims + 1)[:, 1:].view(np.float32)


def read_books():
    """(base, queries) with the lengths that they have in the files."""
    return [read_fvecs_xz(public("vectors", f"books100d_{part}.fvecs.xz")) for part in ("base", "query")]


def load_books():
    return [unit(rows) for rows in read_books()]


def read_fashion(part):
    path = os.path.join(FASHION_FILES, f"{part}-images-idx3-ubyte.gz")
    if not os.path.exists(path):
        raise Missing(f"{path} is not there (Debian package dataset-fashion-mnist)")
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), dtype=np.uint8, offset=16).reshape(-1, 784).astype(np.float32)


def load_fashion(reduced):
    base, queries = read_fashion("train"), read_fashion("t10k")[:1000]
    if not reduced:
        return base, queries
    # The 64 directions of greatest variance of the base vectors, which are centred on their mean.
    mean = base.mean(axis=0, dtype=np.float64)
    covariance = np.cov((base - mean).astype(np.float64), rowvar=False)
    axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :64]
    return [((rows - mean) @ axes).astype(np.float32) for rows in (base, queries)]


def synthetic_rows(rng, centres, rows):
    for first in range(0, len(rows), BLOCK):
        block = centres[rng.integers(len(centres), size=min(BLOCK, len(rows) - first))]
        rows[first : first + BLOCK] = unit(block + rng.standard_normal(block.shape, dtype=np.float32))


def make_synthetic(n_dims, shapes, paths):
    streams = [np.random.default_rng([SYNTHETIC_SEED, n_dims, stream]) for stream in range(3)]
    centres = streams[0].standard_normal((CENTRES, n_dims), dtype=np.float32)
    for path, rng, n_rows in zip(paths, streams[1:], shapes):
        rows = np.lib.format.open_memmap(path + ".part", "w+", np.float32, (n_rows, n_dims))
        synthetic_rows(rng, centres, rows)
        rows.flush()
        os.replace(path + ".part", path)


def best_rows(metric, base, queries, k):
    """The k best rows of base for each query and their scores, best first; equal scores by the smaller row.

    A pass in float32 keeps a few more than k, doubles put those in order.
    """
    more = min(len(base), k + 24)
    best, ids = (np.zeros((len(queries), 0), dtype) for dtype in (np.float32, np.int64))
    for first in range(0, len(base), BLOCK):
        block = np.asarray(base[first : first + BLOCK])
        scores = queries @ block.T
        if metric == "l2":
            scores -= np.square(block).sum(axis=1) / 2
        scores = np.concatenate([best, scores], axis=1)
        rows = np.broadcast_to(np.arange(first, first + len(block)), (len(queries), len(block)))
        rows = np.concatenate([ids, rows], axis=1)
        keep = np.argpartition(-scores, min(more, scores.shape[1]) - 1, axis=1)[:, :more]
        best, ids = np.take_along_axis(scores, keep, axis=1), np.take_along_axis(rows, keep, axis=1)
    scores = np.stack([exact_scores(metric, base[row], query) for row, query in zip(ids, queries)])
    order = np.lexsort((ids, -scores))[:, :k]
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(scores, order, axis=1)


def best_of(scores, k):
    """The k best columns of each row, best first."""
    ids = np.argpartition(-scores, k, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, ids, axis=1), axis=1, kind="stable")
    return np.take_along_axis(ids, order, axis=1)


def exact_answers(data, path):
    """Fill data.truth_ids and data.truth_scores, from path if it holds them."""
    if os.path.exists(path):
        kept = np.load(path)
        data.truth_ids, data.truth_scores = kept["ids"], kept["scores"]
        return
    parts = [
        best_rows(data.metric, data.base, data.queries[i : i + 256], TRUTH_K) for i in range(0, len(data.queries), 256)
    ]
    data.truth_ids, data.truth_scores = (np.concatenate(part) for part in zip(*parts))
    np.savez(path, ids=data.truth_ids, scores=data.truth_scores)


def of_rows(data, base, queries, k):
    """Other items and queries, with their own exact answers, the best k."""
    base = np.ascontiguousarray(base)
    ids, scores = best_rows(data.metric, base, queries, k)
    return replace(data, base=base, queries=queries, truth_ids=ids, truth_scores=scores)


REAL = {  # name: (what it is, (base, queries) by the directory of an encoder)
    "books100d": ("fastText word vectors, cosine", lambda _: load_books()),
    "fashion784": ("Fashion-MNIST pixels, L2", lambda _: load_fashion(False)),
    "fashion64": ("Fashion-MNIST reduced by PCA, L2", lambda _: load_fashion(True)),
    "sentences384": ("English sentences, mean word embeddings, cosine", sentences.load),
}


NAMES = [*REAL, *(f"synthetic{n_dims}" for n_dims in SYNTHETIC_QUERIES)]
LARGE_NAMES = ["synthetic96x10"]  # of ten million items; measured only where named


def load(name, cache, small=False, encoder=None):
    """Data set name, one of NAMES, with its exact answers. small: synthetic sets have SMALL_ITEMS.

    encoder: the directory with the word embeddings of sentences384.
    """
    if name not in NAMES + LARGE_NAMES:
        raise Missing(f"there is no data set {name}; there are {', '.join(NAMES + LARGE_NAMES)}")
    synthetic = name.startswith("synthetic")
    label = f"{name}-small" if synthetic and small else name
    paths = [os.path.join(cache, f"{label}.{part}") for part in ("base.npy", "queries.npy", "truth.npz")]
    os.makedirs(cache, exist_ok=True)
    if not all(os.path.exists(path) for path in paths[:2]):
        if synthetic:
            n_dims, _, millions = name.removeprefix("synthetic").partition("x")
            large = int(millions or 1) * MILLION, SYNTHETIC_QUERIES[int(n_dims)]
            make_synthetic(int(n_dims), (SMALL_ITEMS, SMALL_QUERIES) if small else large, paths)
        else:
            for path, rows in zip(paths, REAL[name][1](encoder)):
                np.save(path, rows)
    base, queries = np.load(paths[0], mmap_mode="r"), np.load(paths[1])
    metric = "l2" if name.startswith("fashion") else "cosine"
    title = "synthetic, clustered, cosine" if synthetic else REAL[name][0]
    data = Dataset(label, title, metric, synthetic, base, queries)
    exact_answers(data, paths[2])
    return data

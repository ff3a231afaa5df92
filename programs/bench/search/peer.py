# SPDX-License-Identifier: Apache-2.0
"""A peer builds indexes of vectors, and searches them in one or more settings.

A peer offers variants of its index (bits, clusters, ...), each built once for a data set; an index offers settings of
its search, from the least work to the most. The driver measures every setting of every variant.
"""

import math
from dataclasses import dataclass
from importlib import metadata

import numpy as np

EXACT, CODES, CLUSTERS, GRAPH = "exact", "codes", "clusters", "graph"

# Candidates refined over k. Where recall is too low or as good as 1, the driver leaves the rest out.
REFINE_FACTORS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200)

LARGE_COMPONENTS = 250_000_000  # items x dimensions
HUGE_ITEMS = 5_000_000


@dataclass
class Index:
    search: callable  # (queries, k, **setting) -> ids, queries x k; negative where there is none
    settings: list  # of dicts
    build_s: float
    bytes: int  # scanned or walked, without vectors that only refine
    vector_bytes: int = 0  # those


class Peer:
    name = ""  # as on the command line
    title = ""  # in tables
    family = EXACT  # how it searches; CODES: every item's code is read
    package = ""  # what to install

    def version(self):
        """Of the package; raises ImportError when it is not installed."""
        module = __import__(self.package.replace("-cpu", ""))
        return getattr(module, "__version__", None) or metadata.version(self.package)

    def variants(self, data):
        """What to build for the data set: a list of dicts, arguments of build."""
        return [{}]

    def build(self, data, **variant):
        raise NotImplementedError


def is_large(data):
    """Too large to build a grid of all numbers of bits."""
    return data.base.size > LARGE_COMPONENTS


def is_huge(data):
    """Too large to build more than one or two variants."""
    return len(data.base) > HUGE_ITEMS


def root(data):
    """The power of two near the root of the number of items, a usual number of clusters."""
    return 2 ** round(math.log2(len(data.base)) / 2)


def keep_best(data, queries, ids, k):
    """Refine for peers that do not do it themselves: of the candidates ids, the k with the best exact scores. Ids below 0 are missing."""
    out = np.empty((len(queries), k), dtype=np.int64)
    for i, (query, row) in enumerate(zip(queries, ids)):
        vectors = data.base[row]
        if data.metric == "l2":
            vectors = vectors - query
            scores = np.einsum("ij,ij->i", vectors, vectors)
        else:
            scores = -(vectors @ query)
        scores[row < 0] = np.inf
        out[i] = row[np.argpartition(scores, k - 1)[:k]]
    return out


def sample(base, n_rows):
    """About n_rows rows, evenly spread."""
    return np.ascontiguousarray(base[:: max(1, len(base) // n_rows)])

# SPDX-License-Identifier: Apache-2.0
"""Thresher through its Python package: asked for a recall, not for candidates."""

import os
import tempfile

import numpy as np
from bench.search import measure
from bench.search.datasets import best_rows
from bench.search.peer import CLUSTERS, CODES, EXACT, Index, Peer, is_huge, root
from bench.shared.common import Timer, thresher

PROMISES = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
BITS, CELLS_BITS = (1, 2, 3, 4), (2, 3)
FILTER_SHARES, FILTER_SEED, CHECKED = (0.5, 0.01, 0.0001), 7, 64


def thresher_index(data, peer, **options):
    """Build an index in a directory that lives until the next, and open it, with one thread: (index, seconds)."""
    peer.scratch = tempfile.TemporaryDirectory(prefix="thresher-bench-")
    base, path = np.ascontiguousarray(data.base), os.path.join(peer.scratch.name, "index")
    with Timer() as timer:
        index = thresher.Index.build(path, base, metric=data.metric, threads=1, **options)
    return index, timer.seconds


class Thresher(Peer):
    name, title, family, package = "thresher", "Thresher", CODES, "thresher"

    def variants(self, data):
        return [{"bits": bits} for bits in BITS[:: 2 if is_huge(data) else 1]]

    def build(self, data, **variant):
        index, seconds = thresher_index(data, self, **variant)
        info = index.info

        def search(queries, k, promise):
            return index.search(queries, k, recall=promise)[0].astype(np.int64)

        settings = [{"promise": promise} for promise in PROMISES]
        return Index(search, settings, seconds, info.file_bytes - info.vector_bytes, info.vector_bytes)


class ThresherCells(Thresher):
    name, title, family = "thresher-cells", "Thresher, cells", CLUSTERS

    def variants(self, data):
        """With a number of cells near the root of the number of items, and with a quarter of that."""
        if is_huge(data):
            return [{"bits": CELLS_BITS[-1], "cells": root(data)}]
        return [{"bits": bits, "cells": cells} for cells in (root(data) // 4, root(data)) for bits in CELLS_BITS]


class ThresherExact(Peer):
    name, title, family, package = "thresher-exact", "Thresher, exact scan", EXACT, "thresher"

    def build(self, data):
        index, seconds = thresher_index(data, self)

        def search(queries, k):
            return index.search(queries, k, exact=True)[0].astype(np.int64)

        return Index(search, [{}], seconds, 0, index.info.vector_bytes)


class ThresherRows(Peer):
    """Rows of a separate table: time by k, and by the share of items that a filter passes."""

    name, title, package = "thresher-rows", "Thresher, k and filters", "thresher"

    def rows(self, data, budget):
        n_items = len(data.base)
        codes_only = thresher_index(data, self, keep=None)[0].info.file_bytes
        index, _ = thresher_index(data, self)
        ks = [k for k in (10, 100, 1000, 10_000) if k < n_items]
        rows = [{"what": "k", "k": k, **measured(index, data, budget, k)} for k in ks]
        for share in FILTER_SHARES:
            rng = np.random.default_rng([FILTER_SEED, int(1 / share)])
            allowed = np.sort(rng.choice(n_items, max(1, int(share * n_items)), replace=False))
            rows.append({"what": "filter", "share": share, **filtered(index, data, budget, allowed)})
        return [*rows, {"what": "codes only", "bytes_per_item": codes_only / n_items}]


def measured(index, data, budget, k):
    """The figures of searches for k at the default recall; recall is left out if the truth has fewer than k items."""

    def search(queries, k):
        return index.search(queries, k)[0].astype(np.int64)

    return measure.measure(data, search, budget, k, measure.RECALL_S if k <= data.truth_ids.shape[1] else 0)


def filtered(index, data, budget, allowed):
    """The figures of searches for 10 of the allowed rows; recall of the first CHECKED queries, against exact scores."""
    k, only = min(10, len(allowed)), thresher.Filter(len(data.base), allowed)

    def search(queries, k):
        return index.search(queries, k, filter=only)[0].astype(np.int64)

    out = measure.measure(data, search, budget, k, recall_s=0)
    queries = data.queries[:CHECKED]
    scores = best_rows(data.metric, data.base[allowed], queries, k)[1]
    found = search(queries, k)
    least = scores[:, -1:] - measure.TIE_TOLERANCE * np.abs(scores[:, -1:])
    right = np.isin(found, allowed) & (data.scores(found) >= least)
    return {**out, "recall": float(right.mean())}

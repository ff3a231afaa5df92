# SPDX-License-Identifier: Apache-2.0
"""Thresher through its Python package: asked for a recall, not for candidates."""

import os
import tempfile

from bench.search import measure
import numpy as np
from bench.search.datasets import best_rows
from bench.search.peer import CLUSTERS, CODES, EXACT, Index, Peer, Timer, is_huge, root

PROMISES = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
BITS = (1, 2, 3, 4)
CELLS_BITS = (2, 3)
FILTER_SHARES, FILTER_SEED, CHECKED = (0.5, 0.01, 0.0001), 7, 64


def thresher_index(data, peer, **options):
    """Build an index in a directory that lives until the next, and open it, with one thread: (index, seconds)."""
    import thresher

    peer.scratch = tempfile.TemporaryDirectory(prefix="thresher-bench-")
    base = np.ascontiguousarray(data.base)
    with Timer() as timer:
        index = thresher.Index.build(
            os.path.join(peer.scratch.name, "index"), base, metric=data.metric, threads=1, **options
        )
    return index, timer.seconds


class Thresher(Peer):
    name, title, family, package = "thresher", "Thresher", CODES, "thresher"

    def variants(self, data):
        return [{"bits": bits} for bits in BITS[:: 2 if is_huge(data) else 1]]

    def build(self, data, **variant):
        index, seconds = thresher_index(data, self, **variant)
        info = index.info
        settings = [{"promise": promise} for promise in PROMISES]

        def search(queries, k, promise):
            return index.search(queries, k, recall=promise)[0].astype(np.int64)

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
        info = index.info

        def search(queries, k):
            return index.search(queries, k, exact=True)[0].astype(np.int64)

        return Index(search, [{}], seconds, 0, info.vector_bytes)


class ThresherRows(Peer):
    """Rows of a separate table: time by k, and by the share of items that a filter passes."""

    name, title, package = "thresher-rows", "Thresher, k and filters", "thresher"

    def rows(self, data, budget):
        uncalibrated_s = thresher_index(data, self, calibration_queries=0)[1]
        codes_only = thresher_index(data, self, calibration_queries=0, keep=None)[0].info.file_bytes
        index, _ = thresher_index(data, self)
        n_items = len(data.base)
        plain = measured(index, data, budget, 10)
        rows = [{"what": "k", "k": 10, **plain}]
        rows.append({"what": "planes", "share": planes_read(os.path.join(self.scratch.name, "index"), n_items)})
        for k in (100, 1000, 10_000):
            if k < n_items:
                rows.append({"what": "k", "k": k, **measured(index, data, budget, k)})
        for share in FILTER_SHARES:
            rng = np.random.default_rng([FILTER_SEED, int(1 / share)])
            allowed = np.sort(rng.choice(n_items, max(1, int(share * n_items)), replace=False))
            rows.append({"what": "filter", "share": share, **filtered(index, data, budget, allowed)})
        rows.append({"what": "codes only", "bytes_per_item": codes_only / n_items})
        return [*rows, {"what": "build", "build_s": uncalibrated_s}]


def planes_read(path, n_items, recall="0.990", k_place=1):
    """Share of all plane bytes that a search of k = 10 reads: the leading ones of all items, whole records of survivors."""
    with open(os.path.join(path, "MANIFEST")) as manifest:
        lines = dict(line.rstrip("\n").split(" ", 1) for line in manifest)
        manifest.seek(0)
        counts = next(line.split()[2:] for line in manifest if line.startswith(f"recall {recall} "))
    bits, lead, survivors = int(lines["bits"]), int(lines["lead"]), int(counts[2 * k_place])
    return (lead * n_items + (bits - lead) * survivors) / (bits * n_items) if lead < bits else 1.0


def measured(index, data, budget, k):
    """The figures of searches for k at the default recall; recall is left out if the truth has fewer than k items."""

    def search(queries, k):
        return index.search(queries, k)[0].astype(np.int64)

    return measure.measure(data, search, budget, k, measure.RECALL_S if k <= data.truth_ids.shape[1] else 0)


def filtered(index, data, budget, allowed):
    """The figures of searches for 10 of the allowed rows; recall of the first CHECKED queries, against exact scores."""
    import thresher

    k = min(10, len(allowed))
    only = thresher.Filter(len(data.base), allowed)

    def search(queries, k):
        return index.search(queries, k, filter=only)[0].astype(np.int64)

    out = measure.measure(data, search, budget, k, recall_s=0)
    queries = data.queries[:CHECKED]
    scores = best_rows(data.metric, data.base[allowed], queries, k)[1]
    found = search(queries, k)
    least = scores[:, -1:] - measure.TIE_TOLERANCE * np.abs(scores[:, -1:])
    right = np.isin(found, allowed) & (data.scores(found) >= least)
    return {**out, "recall": float(right.mean()), "n_allowed": len(allowed)}

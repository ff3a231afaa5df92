# SPDX-License-Identifier: Apache-2.0
"""RaBitQ-Library's IVF index: an exhaustive scan of codes if all clusters are probed, else an approximate search."""

import os
import tempfile

import numpy as np
from bench.search.peer import CLUSTERS, CODES, REFINE_FACTORS, Index, Peer, is_huge, is_large, keep_best, root, sample
from bench.shared.common import Timer

GRID = ((16, 1), (16, 2), (256, 1), (256, 3), (256, 4), (256, 7))  # clusters, bits
LARGE_GRID = ((256, 1), (256, 4))
TRAIN_ROWS_A_CLUSTER = 100
PROBES = (0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)  # shares of the clusters
MISSING = 2**32 - 1  # where the probed clusters have fewer rows
PROBE_BITS, PROBE_FACTORS = 4, (2, 5, 10)


class Exhaustive(Peer):
    name, title, family, package = "rabitqlib", "rabitqlib IVF, all clusters, + refine", CODES, "rabitqlib"

    def variants(self, data):
        grid = LARGE_GRID if is_large(data) else GRID
        return [{"clusters": clusters, "bits": bits} for clusters, bits in grid]

    def settings(self, clusters):
        return [{"probes": clusters, "factor": factor} for factor in REFINE_FACTORS]

    def clustering(self, data, clusters):
        """Centroids and the cluster of every row, the same for all numbers of bits."""
        if getattr(self, "clustered", None) != clusters:
            with Timer() as timer:
                self.parts = cluster(data.base, clusters)
            self.clustered, self.cluster_s = clusters, timer.seconds
        return self.parts

    def build(self, data, clusters, bits):
        from rabitqlib import IvfIndex

        centroids, ids = self.clustering(data, clusters)
        with Timer() as timer:
            index = IvfIndex(data.n_dims, len(data.base), clusters, bits, "l2")
            index.build(np.ascontiguousarray(data.base), centroids, ids, 1, False)
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "index")
            index.save(path)
            n_bytes = os.path.getsize(path)

        def search(queries, k, probes, factor):
            found = index.search(queries, k * factor, probes, False, 1)[0].astype(np.int64)
            found[found == MISSING] = -1
            return found if factor == 1 else keep_best(data, queries, found, k)

        return Index(search, self.settings(clusters), timer.seconds + self.cluster_s, n_bytes, data.base.nbytes)


class Probing(Exhaustive):
    name, title, family = "rabitqlib-ivf", "rabitqlib IVF, some clusters, + refine", CLUSTERS

    def variants(self, data):
        """Near the root of the number of items, and a quarter of that, as for Thresher's cells."""
        sizes = [root(data)] if is_huge(data) else [root(data), root(data) // 4]
        return [{"clusters": clusters, "bits": PROBE_BITS} for clusters in sizes]

    def settings(self, clusters):
        return [{"probes": max(1, int(share * clusters)), "factor": f} for f in PROBE_FACTORS for share in PROBES]


def cluster(base, n):
    """The library's own k-means on a sample, then the nearest centroid of every row."""
    from rabitqlib import FinalAssignmentMode, RaBitQKMeans

    kmeans = RaBitQKMeans(base.shape[1], n, num_threads=1, final_assignment=FinalAssignmentMode.Exact)
    kmeans.train(sample(base, n * TRAIN_ROWS_A_CLUSTER))
    return kmeans.centroids, nearest(base, kmeans.centroids)


def nearest(rows, centroids, block=20_000):
    lengths = np.square(centroids).sum(axis=1)
    blocks = range(0, len(rows), block)
    ids = [np.argmin(lengths - 2 * (rows[i : i + block] @ centroids.T), axis=1) for i in blocks]
    return np.concatenate(ids).astype(np.uint32)

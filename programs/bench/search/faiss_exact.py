# SPDX-License-Identifier: Apache-2.0
"""Faiss's exact indexes: flat, and Panorama, which stops early on rows that cannot reach the top k."""

import sys

import numpy as np
from bench.search.peer import EXACT, Index, Peer, Timer

PANORAMA_LEVELS = (4, 8, 16)


def faiss_module():
    import faiss

    faiss.omp_set_num_threads(1)
    return faiss


def faiss_if_there(bench):
    try:
        return faiss_module()
    except ImportError:
        print(f"{bench}: Faiss is left out: it is not installed (faiss-cpu)", file=sys.stderr)
        return None


def metric_of(data):
    faiss = faiss_module()
    return faiss.METRIC_INNER_PRODUCT if data.metric == "cosine" else faiss.METRIC_L2


class Flat(Peer):
    name, title, family, package = "faiss-flat", "Faiss IndexFlat", EXACT, "faiss-cpu"

    def build(self, data):
        faiss = faiss_module()
        with Timer() as timer:
            index = faiss.IndexFlat(data.n_dims, metric_of(data))
            index.add(np.ascontiguousarray(data.base))
        default = faiss.cvar.distance_compute_blas_threshold

        def search(queries, k):
            # Faiss 1.15 uses matrix products only for much larger batches; this low threshold is fastest for 64 queries.
            faiss.cvar.distance_compute_blas_threshold = default if len(queries) == 1 else 20
            return index.search(queries, k)[1]

        return Index(search, [{}], timer.seconds, 0, data.base.nbytes)


class Panorama(Peer):
    name, title, family, package = "faiss-panorama", "Faiss PCA + IndexFlatL2Panorama", EXACT, "faiss-cpu"

    def variants(self, data):
        return [{"levels": levels} for levels in PANORAMA_LEVELS]

    def build(self, data, levels):
        faiss = faiss_module()
        with Timer() as timer:
            # L2 orders unit vectors as cosine does, and is invariant to the mean that PCA subtracts.
            panorama = faiss.IndexFlatL2Panorama(data.n_dims, levels, 512)
            index = faiss.IndexPreTransform(faiss.PCAMatrix(data.n_dims, data.n_dims), panorama)
            base = np.ascontiguousarray(data.base)
            index.train(base[:100_000])
            index.add(base)
        search = lambda queries, k: index.search(queries, k)[1]  # noqa: E731
        search.keep = panorama  # index does not own it
        return Index(search, [{}], timer.seconds, 0, data.base.nbytes + 4 * len(data.base) * (levels + 1))

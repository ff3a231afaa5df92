# SPDX-License-Identifier: Apache-2.0
"""Faiss, on one thread: exact indexes, codes that are scanned exhaustively and refined by exact scores, and the indexes of
other benches.

Cosine is searched as L2 between unit vectors: the order is the same, and product quantisers trained for L2 find far
more of the true neighbours than with METRIC_INNER_PRODUCT.
"""

import sys

import numpy as np
from bench.search.peer import CODES, EXACT, REFINE_FACTORS, Index, Peer, is_large, sample
from bench.shared.common import Timer, seconds_of

TRAIN_ROWS, OPQ_TRAIN_ROWS, OPQ_ROUNDS = 100_000, 20_000, 12
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


# ---------------------------------------------------------------------------------------------------- parts


def rotated(n_dims, index):
    """An index behind a random rotation."""
    rotation = faiss_module().RandomRotationMatrix(n_dims, n_dims)
    rotation.init(1)
    return faiss_module().IndexPreTransform(rotation, index)


def rabitq(n_dims, bits):
    codes = faiss_module().IndexRaBitQ(n_dims, faiss_module().METRIC_L2, bits)
    codes.qb = 8
    return codes


def opq_rotation(n_dims, m):
    """A rotation that is learned for m sub-quantisers."""
    rotation = faiss_module().OPQMatrix(n_dims, m)
    rotation.niter = OPQ_ROUNDS
    return rotation


# ---------------------------------------------------------------------------------------------------- exact


class Flat(Peer):
    name, title, family, package = "faiss-flat", "Faiss IndexFlat", EXACT, "faiss-cpu"

    def build(self, data):
        faiss = faiss_module()
        with Timer() as timer:
            index = faiss.IndexFlat(data.n_dims, faiss.METRIC_INNER_PRODUCT if data.metric == "cosine" else faiss.METRIC_L2)
            index.add(np.ascontiguousarray(data.base))
        default = faiss.cvar.distance_compute_blas_threshold

        def search(queries, k):
            # Faiss 1.15 uses matrix products only for much larger batches; this low threshold is fastest for 64 queries.
            faiss.cvar.distance_compute_blas_threshold = default if len(queries) == 1 else 20
            return index.search(queries, k)[1]

        return Index(search, [{}], timer.seconds, 0, data.base.nbytes)


class Panorama(Peer):
    """It stops early on rows that cannot reach the best k."""

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


# ---------------------------------------------------------------------------------------------------- codes


class Refined(Peer):
    """A code index in an IndexRefine; all variants of a data set share one flat index of the vectors."""

    family, package = CODES, "faiss-cpu"
    flat = None

    # make(data, **variant) -> (the index to fill, the part of it that holds the codes)

    def build(self, data, **variant):
        faiss = faiss_module()
        base = np.ascontiguousarray(data.base)
        if self.flat is None:
            self.flat = faiss.IndexFlatL2(data.n_dims)
            self.flat_s = seconds_of(lambda: self.flat.add(base))
        with Timer() as timer:
            index, codes = self.make(data, **variant)
            index.train(sample(base, OPQ_TRAIN_ROWS if variant.get("opq") else TRAIN_ROWS))
            index.add(base)
        both = faiss.IndexRefine(index, self.flat)

        def search(queries, k, factor):
            if factor == 1:
                return index.search(queries, k)[1]
            return both.search(queries, k, params=faiss.IndexRefineSearchParameters(k_factor=factor))[1]

        search.keep = index, codes  # both does not own them
        settings = [{"factor": factor} for factor in REFINE_FACTORS]
        return Index(search, settings, timer.seconds + self.flat_s, codes.code_size * len(base), base.nbytes)


class PQFastScan(Refined):
    name, title = "faiss-pq", "Faiss PQFastScan + refine"

    def variants(self, data):
        """M sub-quantisers of 4 bits: half a bit to 4 bits per dimension. Rotations are learnt where data is real."""
        parts = (8, 4, 2) if is_large(data) else (8, 4, 2, 1)
        sizes = [data.n_dims // part for part in parts if data.n_dims % part == 0]
        plain = [{"M": m, "opq": False} for m in sizes]
        return plain + [{"M": m, "opq": True} for m in sizes if not data.synthetic and m < data.n_dims]

    def make(self, data, M, opq):
        faiss = faiss_module()
        codes = faiss.IndexPQFastScan(data.n_dims, M, 4, faiss.METRIC_L2)
        if not opq:
            return codes, codes
        rotation = opq_rotation(data.n_dims, M)
        rotation.pq = self.quantiser = faiss.ProductQuantizer(data.n_dims, M, 4)
        return faiss.IndexPreTransform(rotation, codes), codes

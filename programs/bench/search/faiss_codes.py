# SPDX-License-Identifier: Apache-2.0
"""Faiss's code indexes, scanned exhaustively, each with exact scores for the best by code (IndexRefine).

Cosine is searched as L2 between unit vectors: the order is the same, and product quantisers trained for L2 find far
more of the true neighbours than with METRIC_INNER_PRODUCT.
"""

import numpy as np
from bench.search.faiss_exact import faiss_module
from bench.shared.common import seconds_of
from bench.search.peer import CODES, REFINE_FACTORS, Index, Peer, Timer, is_large, refined, sample

TRAIN_ROWS, OPQ_TRAIN_ROWS, OPQ_ROUNDS = 100_000, 20_000, 12


class Refined(Peer):
    """A code index in an IndexRefine; all variants of a data set share one flat index of the vectors."""

    family, package = CODES, "faiss-cpu"
    flat = None
    factors = REFINE_FACTORS

    # make(data, **variant) -> (the index to fill, the part of it that holds the codes)

    def train_rows(self, variant):
        return TRAIN_ROWS

    def build(self, data, **variant):
        faiss = faiss_module()
        base = np.ascontiguousarray(data.base)
        if self.flat is None:
            self.flat = faiss.IndexFlatL2(data.n_dims)
            self.flat_s = seconds_of(lambda: self.flat.add(base))
        with Timer() as timer:
            index, codes = self.make(data, **variant)
            index.train(sample(base, self.train_rows(variant)))
            index.add(base)
        both = faiss.IndexRefine(index, self.flat)

        def search(queries, k, factor):
            if factor == 1:
                return index.search(queries, k)[1]
            return both.search(queries, k, params=faiss.IndexRefineSearchParameters(k_factor=factor))[1]

        search.keep = index, codes  # both does not own them
        settings = [{"factor": factor} for factor in self.factors]
        return Index(search, settings, timer.seconds + self.flat_s, codes.code_size * len(base), base.nbytes)


class PQFastScan(Refined):
    name, title = "faiss-pq", "Faiss PQFastScan + refine"

    def variants(self, data):
        """M sub-quantisers of 4 bits: half a bit to 4 bits per dimension. Rotations are learnt where data is real."""
        sizes = [data.n_dims // part for part in self.parts(data) if data.n_dims % part == 0]
        plain = [{"M": m, "opq": False} for m in sizes]
        return plain + [{"M": m, "opq": True} for m in sizes if not data.synthetic and m < data.n_dims]

    def parts(self, data):
        return (8, 4, 2) if is_large(data) else (8, 4, 2, 1)

    def train_rows(self, variant):
        return OPQ_TRAIN_ROWS if variant["opq"] else TRAIN_ROWS

    def make(self, data, M, opq):
        faiss = faiss_module()
        codes = faiss.IndexPQFastScan(data.n_dims, M, 4, faiss.METRIC_L2)
        if not opq:
            return codes, codes
        rotation = opq_rotation(data.n_dims, M)
        rotation.pq = self.quantiser = faiss.ProductQuantizer(data.n_dims, M, 4)
        return faiss.IndexPreTransform(rotation, codes), codes


class RaBitQFastScan(Refined):
    name, title = "faiss-rabitq", "Faiss RaBitQFastScan + refine"

    def variants(self, data):
        return [{"bits": bits} for bits in ((1, 2) if is_large(data) else (1, 2, 3, 4))]

    def make(self, data, bits):
        faiss = faiss_module()
        codes = faiss.IndexRaBitQFastScan(data.n_dims, faiss.METRIC_L2, 32, bits)
        return rotated(data.n_dims, codes), codes


class ScalarQuantizer(Refined):
    name, title = "faiss-sq", "Faiss IndexScalarQuantizer + refine"
    factors = (1, 2, 5)

    def variants(self, data):
        if is_large(data):
            return []  # seconds per query
        return [{"type": "QT_4bit_tqmse"}, {"type": "QT_8bit"}]

    def make(self, data, type):
        faiss = faiss_module()
        codes = faiss.IndexScalarQuantizer(data.n_dims, getattr(faiss.ScalarQuantizer, type), faiss.METRIC_L2)
        if type == "QT_8bit":
            return codes, codes
        return rotated(data.n_dims, codes), codes  # made for vectors turned at random


class BinaryFlat(Peer):
    name, title, family, package = "faiss-binary", "Faiss IndexBinaryFlat of signs + refine", CODES, "faiss-cpu"

    def build(self, data):
        faiss = faiss_module()
        n_bytes = -(-data.n_dims // 8)
        with Timer() as timer:
            mean = sample(data.base, TRAIN_ROWS).mean(axis=0)
            rotation = rotation_of(data.n_dims, n_bytes * 8)

            def signs(rows):
                return np.packbits(rotation.apply(np.ascontiguousarray(rows - mean)) > 0, axis=1)

            index = faiss.IndexBinaryFlat(n_bytes * 8)
            for first in range(0, len(data.base), TRAIN_ROWS):
                index.add(signs(data.base[first : first + TRAIN_ROWS]))
        search = lambda queries, n: index.search(signs(queries), n)[1]  # noqa: E731
        return refined(data, search, timer.seconds, n_bytes * len(data.base))


def rotation_of(n_dims, n_out):
    rotation = faiss_module().RandomRotationMatrix(n_dims, n_out)
    rotation.init(1)
    return rotation


def rotated(n_dims, index):
    return faiss_module().IndexPreTransform(rotation_of(n_dims, n_dims), index)


def rabitq(n_dims, bits):
    codes = faiss_module().IndexRaBitQ(n_dims, faiss_module().METRIC_L2, bits)
    codes.qb = 8
    return codes


def opq_rotation(n_dims, m):
    """A rotation that is learned for m sub-quantisers."""
    rotation = faiss_module().OPQMatrix(n_dims, m)
    rotation.niter = OPQ_ROUNDS
    return rotation

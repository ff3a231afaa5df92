# SPDX-License-Identifier: Apache-2.0
"""usearch's exact search: of the vectors themselves, of bytes, and of signs, the last two refined."""

import numpy as np
from bench.search.peer import CODES, EXACT, Index, Peer, Timer, refined, sample


def exact_search(base, queries, k, metric):
    from usearch.index import search

    return np.atleast_2d(search(base, queries, k, metric, exact=True, threads=1).keys).astype(np.int64)


class Floats(Peer):
    name, title, family, package = "usearch", "usearch exact", EXACT, "usearch"

    def build(self, data):
        base, metric = np.ascontiguousarray(data.base), "ip" if data.metric == "cosine" else "l2sq"
        return Index(lambda queries, k: exact_search(base, queries, k, metric), [{}], 0.0, 0, base.nbytes)


class Codes(Peer):
    name, title, family, package = "usearch-codes", "usearch exact of codes + refine", CODES, "usearch"

    def variants(self, data):
        return [{"type": "i8"}, {"type": "b1"}]

    def build(self, data, type):
        mean = sample(data.base, 100_000).mean(axis=0)
        scale = 127 / np.abs(sample(data.base, 100_000) - mean).max()

        def encode(rows):
            if type == "b1":
                return np.packbits(rows > mean, axis=1)
            return np.clip(np.round((rows - mean) * scale), -127, 127).astype(np.int8)

        with Timer() as timer:
            blocks = range(0, len(data.base), 100_000)
            codes = np.concatenate([encode(data.base[i : i + 100_000]) for i in blocks])
        metric = "hamming" if type == "b1" else "l2sq"
        search = lambda queries, n: exact_search(codes, encode(queries), n, metric)  # noqa: E731
        return refined(data, search, timer.seconds, codes.nbytes)

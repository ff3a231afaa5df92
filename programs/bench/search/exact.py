# SPDX-License-Identifier: Apache-2.0
"""Exact cosine search by peers, one thread: cells of a table for `thresher-bench scan --peers`.

usage: exact.py BASE.fbin QUERY.fbin TRUTH.u64 K

Each peer answers queries one at a time and in batches of 64, the best of several passes; its answers are compared with ours.
A row is the peer, ms per query one at a time and in batches, and recall, separated by tabs.
"""

import sys
from types import SimpleNamespace

from bench.shared.common import read_fbin, unit  # first: one thread

from bench.search import faiss_exact, measure, usearch_exact
import numpy as np

BUDGET_S = 5.0


def rows(data, queries, truth, k):
    for peer in (faiss_exact.Flat(), usearch_exact.Floats()):
        try:
            name, index = f"{peer.title} {peer.version()}", peer.build(data)
        except ImportError as missing:
            print(f"{peer.title} is left out: {missing.name} is not installed", file=sys.stderr)
            continue
        found = measure.measure(data, index.search, BUDGET_S, k, recall_s=0)
        recall = np.mean([len(set(t) & set(f)) / k for t, f in zip(truth.tolist(), index.search(queries, k).tolist())])
        yield [name, *(f"{1e3 / found[speed]:.3f}" for speed in ("qps", "qps_batch")), f"{recall:.4f}"]


def main():
    base, queries = (unit(read_fbin(path)) for path in sys.argv[1:3])
    k = int(sys.argv[4])
    truth = np.fromfile(sys.argv[3], dtype=np.uint64).reshape(len(queries), k)
    data = SimpleNamespace(base=base, queries=queries, n_dims=base.shape[1], metric="cosine")
    for row in rows(data, queries, truth, k):
        print(*row, sep="\t")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Exact cosine search by peers, one thread: rows of a Markdown table for `thresher-bench scan --peers`.

usage: exact.py BASE.fbin QUERY.fbin TRUTH.u64 K

Each peer answers queries one at a time and in batches of 64, the best of several passes; its answers are compared with ours.
A peer that is not installed gets a row `not installed`.
"""

import sys
from types import SimpleNamespace

from bench.shared.common import read_fbin, table, unit  # first: one thread

from bench.search import faiss_exact, measure, usearch_exact
import numpy as np

BUDGET_S = 5.0


def rows(data, queries, truth, k):
    for peer in (faiss_exact.Flat(), usearch_exact.Floats()):
        try:
            name, index = f"{peer.title} {peer.version()}", peer.build(data)
        except ImportError as missing:
            yield [peer.title, f"not installed ({missing.name})", "", ""]
            continue
        found = measure.measure(data, index.search, BUDGET_S, k, recall_s=0)
        recall = np.mean([len(set(t) & set(f)) / k for t, f in zip(truth.tolist(), index.search(queries, k).tolist())])
        yield [name, *(f"{1e3 / found[speed]:.3f}" for speed in ("qps", "qps_batch")), f"{recall:.4f}"]


def main():
    base, queries = (unit(read_fbin(path)) for path in sys.argv[1:3])
    k = int(sys.argv[4])
    truth = np.fromfile(sys.argv[3], dtype=np.uint64).reshape(len(queries), k)
    columns = ["peer", "ms per query, one at a time", "ms per query, batches of 64"]
    columns += [f"recall@{k} against our exact scan"]
    data = SimpleNamespace(base=base, queries=queries, n_dims=base.shape[1], metric="cosine")
    print(table(columns, list(rows(data, queries, truth, k))), end="")


if __name__ == "__main__":
    main()

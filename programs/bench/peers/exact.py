# SPDX-License-Identifier: Apache-2.0
"""Exact cosine search by peers, one thread: rows of a Markdown table for `thresher-bench scan --peers`.

usage: exact.py BASE.fbin QUERY.fbin TRUTH.u64 K

Each peer answers queries one at a time and in batches of 64, the best of five passes; its answers are compared with ours.
A peer that is not installed is left out, with a word.
"""

import sys
import time
from types import SimpleNamespace

from common import read_fbin, table, unit  # first: one thread

import faiss_exact
import numpy as np
import usearch_exact


def best_time(search, queries, batch):
    best, found = float("inf"), None
    for _ in range(5):
        start = time.perf_counter()
        found = [search(queries[i : i + batch]) for i in range(0, len(queries), batch)]
        best = min(best, (time.perf_counter() - start) / len(queries))
    return best, np.concatenate(found)


def rows(data, queries, truth, k):
    for peer in (faiss_exact.Flat(), usearch_exact.Floats()):
        try:
            name, index = f"{peer.title} {peer.version()}", peer.build(data)
        except ImportError as missing:
            yield [peer.title, f"not installed ({missing.name})", "", ""]
            continue
        one, found = best_time(lambda some, index=index: index.search(some, k), queries, 1)
        many, _ = best_time(lambda some, index=index: index.search(some, k), queries, 64)
        recall = np.mean([len(set(t) & set(f)) / k for t, f in zip(truth.tolist(), found.tolist())])
        yield [name, f"{one * 1e3:.3f}", f"{many * 1e3:.3f}", f"{recall:.4f}"]


def main():
    base, queries = (unit(read_fbin(path)) for path in sys.argv[1:3])
    k = int(sys.argv[4])
    truth = np.fromfile(sys.argv[3], dtype=np.uint64).reshape(len(queries), k)
    columns = ["peer", "ms a query, one at a time", "ms a query, batches of 64", f"recall@{k} against our exact scan"]
    data = SimpleNamespace(base=base, n_dims=base.shape[1], metric="cosine")
    print(table(columns, list(rows(data, queries, truth, k))), end="")


main()

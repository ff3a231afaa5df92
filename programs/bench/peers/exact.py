# SPDX-License-Identifier: Apache-2.0
"""Exact cosine search by peers, one thread: rows of a Markdown table for `thresher-bench scan --peers`.

usage: exact.py BASE.fbin QUERY.fbin TRUTH.u64 K

Each peer answers queries one at a time and in batches of 64, the best of five passes; its answers are compared with ours.
A peer that is not installed is left out, with a word.
"""
import sys
import time

import numpy as np


def read_fbin(path):
    n, d = np.fromfile(path, dtype=np.uint32, count=2)
    return np.fromfile(path, dtype=np.float32, offset=8).reshape(n, d)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def best_time(search, queries, batch):
    best, found = float("inf"), None
    for _ in range(5):
        start = time.perf_counter()
        found = [search(queries[i : i + batch]) for i in range(0, len(queries), batch)]
        best = min(best, (time.perf_counter() - start) / len(queries))
    return best, np.concatenate(found)


def recall(truth, found):
    return np.mean([len(set(t) & set(f)) / len(t) for t, f in zip(truth.tolist(), found.tolist())])


def faiss_flat(base, k):
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(base.shape[1])
    index.add(base)
    return f"Faiss {faiss.__version__} IndexFlatIP", lambda q: index.search(q, k)[1]


def usearch_exact(base, k):
    import usearch
    from usearch.index import search

    return f"usearch {usearch.__version__} exact", lambda q: np.atleast_2d(
        search(base, q, k, "ip", exact=True, threads=1).keys
    )


def main():
    base, queries = (unit(read_fbin(path)) for path in sys.argv[1:3])
    k = int(sys.argv[4])
    truth = np.fromfile(sys.argv[3], dtype=np.uint64).reshape(len(queries), k)
    print("| peer | ms a query, one at a time | ms a query, batches of 64 | recall@10 against our exact scan |")
    print("|---|---|---|---|")
    for make in (faiss_flat, usearch_exact):
        try:
            name, search = make(base, k)
        except ImportError as missing:
            print(f"| {make.__name__} | not installed ({missing.name}) | | |")
            continue
        one, found = best_time(search, queries, 1)
        many, _ = best_time(search, queries, 64)
        print(f"| {name} | {one * 1e3:.3f} | {many * 1e3:.3f} | {recall(truth, found):.4f} |")


main()

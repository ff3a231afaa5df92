# SPDX-License-Identifier: Apache-2.0
"""Time a search: queries one by one and in batches, the best of several passes, within a budget of seconds.

Of each call the fastest pass counts, because other processes disturb single calls.

A pass goes over as many queries as the budget allows, the same ones every time, so that slow peers are measured on
fewer queries and not for hours. Recall is counted on more of them, if not all.
"""

import time

import numpy as np

BATCH = 64
K = 10
TIE_TOLERANCE = 2e-6  # relative; how far below the k-th best exact score an item may be and still count, for float32's rounding
RECALL_S = 2.0
MOST_PASSES = 7
MOST_WAIT = 5  # times the budget, in wall time: others may use the machine; the budget itself is CPU time
LEAST_QUERIES = 16
WARM_UP = 4


def time_passes(answer, n_queries, batch, budget):
    """Call answer(first, end) over the queries; return (seconds [passes, calls], number of queries)."""
    warm_up = []
    while not warm_up or (len(warm_up) < WARM_UP and sum(warm_up) < budget / 3):
        start = time.perf_counter()
        answer(0, min(batch, n_queries))
        warm_up.append(time.perf_counter() - start)
    per_query = min(warm_up) / min(batch, n_queries)
    n = int(min(n_queries, max(LEAST_QUERIES, batch, budget / 3 / per_query)))
    n -= n % batch if n > batch else 0
    firsts = range(0, n, batch)
    times, used, began = [], time.process_time(), time.perf_counter()
    while not times or (
        len(times) < MOST_PASSES
        and (time.process_time() - used) * (1 + 1 / len(times)) < budget
        and time.perf_counter() - began < MOST_WAIT * budget
    ):
        times.append([])
        for first in firsts:
            start = time.perf_counter()
            answer(first, min(first + batch, n))
            times[-1].append(time.perf_counter() - start)
    return np.array(times), n


def recall(data, ids, k=K):
    """Share of the k best found, in the first len(ids) queries; an item as good as the k-th best counts, once."""
    least = data.truth_scores[: len(ids), k - 1 : k]
    ids = np.sort(ids[:, :k], axis=1)
    scores = data.scores(ids)
    scores[:, 1:][ids[:, 1:] == ids[:, :-1]] = -np.inf
    return float((scores >= least - TIE_TOLERANCE * np.abs(least)).sum() / (k * len(ids)))


def measure(data, search, budget, k=K, recall_s=RECALL_S):
    """The figures of search(queries, k) -> ids: one query at a time, and in batches of BATCH.

    cpu_share is 1 on a quiet machine, less where other processes took turns. Recall is that of the batches, on all
    queries that recall_s seconds suffice for; 0: it is left out.
    """
    wall, cpu = time.perf_counter(), time.process_time()
    singles, n_singles = time_passes(lambda a, b: search(data.queries[a:b], k), len(data.queries), 1, budget)
    batches, n_batches = time_passes(lambda a, b: search(data.queries[a:b], k), len(data.queries), BATCH, budget)
    cpu_share = (time.process_time() - cpu) / (time.perf_counter() - wall)
    p50, p99 = np.percentile(singles[singles.sum(axis=1).argmin()], (50, 99)) * 1e6
    out = {"qps": n_singles / singles.min(axis=0).sum(), "p50_us": float(p50), "p99_us": float(p99),
           "qps_batch": n_batches / batches.min(axis=0).sum(), "cpu_share": min(cpu_share, 1.0)}  # fmt: skip
    if recall_s > 0:
        ids = answers(data, search, k, recall_s * out["qps_batch"])
        out.update(recall=recall(data, ids, k), n_recall=len(ids))
    return out


def answers(data, search, k, n):
    """Answers of about the first n queries, at least two batches."""
    n = min(len(data.queries), max(2 * BATCH, int(n)))
    return np.concatenate([search(data.queries[i : min(i + BATCH, n)], k) for i in range(0, n, BATCH)])

# SPDX-License-Identifier: Apache-2.0
"""The recall of vectors kept as float32, float16 and int8, by the vectors as given.

Rows are normal numbers plus an offset, times a scale; queries are rows plus noise of 0.3. The truth is computed in
float64; a found item counts if its true score is one of the best 10. Certified answers are true if they hold the best
10.
"""

import os
import tempfile
import warnings

from bench.shared.common import need_thresher, parser_of, publish, thresher  # first: one thread

import numpy as np
from bench.shared.results import Goal, Report, Table

N, DIMS, QUERIES, K = 5000, 64, 200, 10
OFFSETS, SCALES = (0, 1000), (1e-7, 1, 1e7)
METRICS, KEEPS, RECALLS = ("cosine", "ip", "l2"), ("float32", "float16", "int8"), (0.9, 0.95, 0.99, 1)
SHORT = 0.005  # what a recall may be short by


def true_scores(rows, queries, metric):
    """In float64; for cosine minus half the squared distance of the unit vectors, which orders rows the same way."""
    x, q = rows.astype("d"), queries.astype("d")
    if metric == "ip":
        return q @ x.T
    if metric == "cosine":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        q /= np.linalg.norm(q, axis=1, keepdims=True)
    squares = np.stack([((x - one) ** 2).sum(axis=1) for one in q])
    return -squares / 2 if metric == "cosine" else -squares


def found(truth, ids):
    """Whether each found item is one of the best."""
    kth = np.sort(truth, axis=1)[:, -ids.shape[1]]
    return np.take_along_axis(truth, ids.astype(np.int64), axis=1) >= kth[:, None]


def measure(path, rows, queries, metric, keep):
    """Yield [setting, the share kept, found, certified, and whether certified answers are true] of an index."""
    truth = true_scores(rows, queries, metric)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what int8 loses
        index = thresher.Index.build(path, rows, metric=metric, keep=keep, replace=True)
    with index:
        kept = index.info.kept_recall if keep != "float32" else 1
        if keep != "float32":
            yield ["kept", f"{kept:.4f}", "", "", ""]
        for recall in RECALLS:
            ids, _, certified = index.search(queries, K, recall=recall, certified=True)
            right = found(truth, ids)
            least = (min(recall, kept) if keep == "int8" else recall) - SHORT
            error = right.mean(axis=1).std() / np.sqrt(len(queries))
            cells = [Goal(f"{right.mean():.4f} ± {error:.4f}", least), f"{certified.mean():.4f}"]
            true = Goal(f"{right.all(axis=1)[certified].mean():.4f}", 1) if certified.any() else ""
            yield [f"recall {recall:g}", "", *cells, true]


def report():
    units, tables = ["share", "share found", "share certified", "certified true"], []
    with tempfile.TemporaryDirectory() as scratch:
        for offset in OFFSETS:
            for scale in SCALES:
                rng = np.random.default_rng(1)
                rows = ((offset + rng.standard_normal((N, DIMS))) * scale).astype("f")
                noise = 0.3 * scale * rng.standard_normal((QUERIES, DIMS))
                queries = (rows[:QUERIES] + noise).astype("f")
                for metric in METRICS:
                    path = os.path.join(scratch, "kept.index")
                    measured = [[keep, *row] for keep in KEEPS for row in measure(path, rows, queries, metric, keep)]
                    case = f"offset {offset:g}, scale {scale:g}, {metric}"
                    tables.append(Table(case, ["system", "setting"], units, measured))
    return Report(["## promise-kept\n", *tables])


def main():
    arguments = parser_of("bench promise-kept", __doc__, "docs").parse_args()
    need_thresher("bench promise-kept")
    publish(report(), "promise-kept", arguments.docs)


if __name__ == "__main__":
    main()

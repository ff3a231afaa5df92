#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recall of vectors kept as float32, float16 and int8, by the vectors as given.

Rows are normal numbers plus an offset, times a scale; queries are rows plus noise of 0.3. The truth is computed in
float64; a found item counts if its true score is one of the best 10. Certified answers are true if they hold the best
10. The figures are rows of a CSV file.
"""

import csv
import os
import shutil
import subprocess
import tempfile
import time
import warnings

from bench.shared import common, results
import numpy as np
import thresher

N, DIMS, QUERIES, K = 5000, 64, 200, 10
OFFSETS, SCALES = (0, 10, 1000), (1e-7, 1, 1e7)
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
    """[setting, unit, value, spread, target], a row for each figure of an index."""
    truth, measured = true_scores(rows, queries, metric), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what int8 loses
        index = thresher.Index.build(path, rows, metric=metric, keep=keep, replace=True)
    with index:
        kept = index.info.kept_recall if keep != "float32" else 1
        if keep != "float32":
            measured.append(["kept", "share", kept, "", ""])
        for recall in RECALLS:
            ids, _, certified = index.search(queries, K, recall=recall, certified=True)
            right = found(truth, ids)
            least = (min(recall, kept) if keep == "int8" else recall) - SHORT
            error = right.mean(axis=1).std() / np.sqrt(len(queries))
            measured.append([f"recall {recall:g}", "share found", right.mean(), error, least])
            measured.append([f"recall {recall:g}", "share certified", certified.mean(), "", ""])
            if certified.any():
                measured.append([f"recall {recall:g}", "certified true", right.all(axis=1)[certified].mean(), "", 1])
    return measured


def run(output):
    """Measure all cases, print those that miss a target, and write the CSV file."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    begin = [common.cpu(), time.strftime("%Y-%m-%d"), commit.stdout.strip(), "promise-kept"]
    scratch, lines, missed = tempfile.mkdtemp(), [], 0
    try:
        for offset in OFFSETS:
            for scale in SCALES:
                rng = np.random.default_rng(1)
                rows = ((offset + rng.standard_normal((N, DIMS))) * scale).astype("f")
                noise = 0.3 * scale * rng.standard_normal((QUERIES, DIMS))
                queries = (rows[:QUERIES] + noise).astype("f")
                for metric in METRICS:
                    for keep in KEEPS:
                        case = f"offset {offset:g}, scale {scale:g}, {metric}"
                        for setting, unit, value, spread, target in measure(
                            os.path.join(scratch, "kept.index"), rows, queries, metric, keep
                        ):
                            short = target != "" and value < target
                            missed += short
                            lines.append([*begin, case, keep, setting, unit, f"{value:.4f}",
                                          spread if spread == "" else f"{spread:.4f}",
                                          target if target == "" else f">= {target:g}"])
                            if short:
                                print(f"{case}, {keep}: {setting}: {unit} {value:.4f}, target {target:.4f}", flush=True)
    finally:
        shutil.rmtree(scratch)
    os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
    with open(output, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([results.COLUMNS, *lines])
    targets = sum(line[-1] != "" for line in lines)
    print(f"{targets - missed} of {targets} figures reach their targets; all {len(lines)} are in {output}")

# SPDX-License-Identifier: Apache-2.0
"""./run bench promise: promised and measured recall, for many kinds of queries.

Real vectors: books100d, the 30,000 words of data/words by three metrics, and the features of MQ2007, which are not
negative, by cosine. Each kind of query differs from the items in one way; the calibration used items only. The truth is
the exact scan's; a row counts as found if it scores as much as the k-th best. Each set is measured again without
rotation, after a third of its items was added, shifted by one standard deviation in each dimension, and with cells.
Each cell is the lowest recall over k = 1, 10, 100 and 1000, without a filter and with filters that pass 10 % and 1 % of
the rows, as far as these are at least 4 k rows.

What was measured is kept in build/bench/promise, one file per set and kind; --docs writes results/promise.csv from
them.
"""

import lzma
import os
import tempfile

from bench.shared import common
from bench.shared.common import Missing, public, thresher

import numpy as np
from bench.search.datasets import read_books
from bench.shared.results import Goal, Report, Table, Written

RECALLS = (0.9, 0.95, 0.99, 0.999)
KS = (1, 10, 100, 1000)
SPARSE = (1, 4, 32)
FILTERS = {"no filter": 1.0, "10 % pass": 0.1, "1 % pass": 0.01}
SHORT = 0.005  # the largest shortfall of a measured recall that is not reported as short
WORDS = "data/words/words.npy"
SETS = [("books100d", "cosine"), *(("data/words", metric) for metric in ("cosine", "ip", "l2")), ("MQ2007", "cosine")]
KINDS = {"as-built": "as built", "not-rotated": "--no-rotate", "shifted": "a third added, shifted", "cells": "256 cells"}
KEPT = "build/bench/promise"
QUERIES, CELLS = 400, 256  # of each kind; of the indexes with cells


def kinds_of(base, held_out, other, n, rng):
    """{name: n queries}"""

    def draw(m):
        return base[rng.integers(0, len(base), (n, m))]

    one, two, three = np.moveaxis(draw(3), 1, 0)
    length = np.linalg.norm(base[:1000], axis=1).mean()

    def sparse(n_large):
        rows = np.zeros((n, base.shape[1]))
        for row in rows:
            row[rng.permutation(base.shape[1])[:n_large]] = rng.standard_normal(n_large)
        return rows * (length / np.linalg.norm(rows, axis=1, keepdims=True))

    held_out = held_out[rng.permutation(len(held_out))[:n]]  # in books100d the first are the most frequent words
    kinds = {
        "held-out items": held_out,
        "means of 2 items": draw(2).mean(1),
        "means of 5 items": draw(5).mean(1),
        "means of 20 items": draw(20).mean(1),
        "a - b + c": one - two + three,
        "negated items": -held_out,
        "random directions": rng.standard_normal((n, base.shape[1])) * length / np.sqrt(base.shape[1]),
        "items of another set": other[rng.permutation(len(other))[:n], : base.shape[1]],
        **{f"{m} non-zero dimension{'s' * (m > 1)}": sparse(m) for m in SPARSE},
        "heavy tails (Student, 1 degree)": rng.standard_t(1, (n, base.shape[1])),
    }
    return {name: np.ascontiguousarray(rows, dtype=np.float32) for name, rows in kinds.items()}


def share_found(scores, truth):
    worst = truth[:, -1:]
    return float((scores >= worst - 1e-6 * np.abs(worst)).mean())


def measure(index, queries, rng):
    """{(kind, filter, k, recall): measured recall}"""
    found = {}
    for filter_name, share in FILTERS.items():
        passes = None if share == 1 else index.filter_ids(np.flatnonzero(rng.random(len(index)) < share))
        for k in KS:
            if k > share * len(index) / 4:
                continue
            for kind, rows in queries.items():
                truth = index.search(rows, k, exact=True, filter=passes)[1]
                for recall in RECALLS:
                    scores = index.search(rows, k, recall=recall, filter=passes)[1]
                    found[kind, filter_name, k, recall] = share_found(scores, truth)
    return found


def read_mq2007():
    with lzma.open(public("letor", "mq2007.partial.svm.xz"), "rt") as file:
        rows = [[float(pair.split(":")[1]) for pair in line.split("#")[0].split()[2:]] for line in file]
    features = np.unique(np.array(rows, dtype=np.float32), axis=0)
    return features[np.abs(features).sum(1) > 0]


def split(rows, n, rng):
    order = rng.permutation(len(rows))
    return rows[order[n:]], rows[order[:n]]


def load(name, n, rng):
    """(base, held-out items, items of another set)"""
    words = np.load(WORDS).astype(np.float32)
    if name == "books100d":
        return *read_books(), words
    if name == "MQ2007":
        return *split(read_mq2007(), n, rng), words
    base, held_out = split(words, n, rng)
    try:
        return base, held_out, read_books()[0]
    except Missing:
        return base, held_out, held_out**3


def report(title, index, queries, found):
    rows = []
    for kind in queries:
        least = [min(v for (name, _, _, r), v in found.items() if name == kind and r == recall) for recall in RECALLS]
        rows.append([kind, *(Goal(f"{value:.4f}", r - SHORT) for value, r in zip(least, RECALLS))])
    short = sum(value < recall - SHORT for (_, _, _, recall), value in found.items())
    units = [(f"promised {recall}", "lowest recall") for recall in RECALLS]
    shape = f"{len(index):,} x {next(iter(queries.values())).shape[1]}, {'' if index.info.rotated else 'not '}rotated"
    short_units = [f"cases more than {SHORT} short of the promise"]
    return Report([
        f"{title}: {shape}, {len(next(iter(queries.values())))} queries of each kind.\n",
        Table(title, ["what"], units, rows),
        Table(title, ["what"], short_units, [[f"of {len(found)} cases", Goal(str(short), most=0)]]),
    ])  # fmt: skip


def build(path, base, kind, metric, rng):
    """An index of this kind, open."""
    n_built = len(base) * 2 // 3 if kind == "shifted" else len(base)
    options = {"not-rotated": {"rotate": False}, "cells": {"cells": CELLS}}.get(kind, {})
    thresher.Index.build(path, base[:n_built], metric=metric, replace=True, threads=1, **options).close()
    index = thresher.Index(path, threads=1)
    if kind == "shifted":
        shift = base[:n_built].std(0) * rng.choice([-1, 1], base.shape[1])
        index.add(np.ascontiguousarray(base[n_built:] + shift.astype(np.float32)))
    return index


def measure_set(name, metric, given):
    """Measure one set in each of the given kinds, and keep the reports."""
    rng = np.random.default_rng(1)
    base, *others = load(name, QUERIES, rng)
    base = np.ascontiguousarray(base, dtype=np.float32)
    queries = kinds_of(base, *others, QUERIES, rng)
    for kind in given.kinds:
        title = f"{name}, {metric}, {KINDS[kind]}"
        with tempfile.TemporaryDirectory() as folder:
            with build(os.path.join(folder, "index"), base, kind, metric, rng) as index:
                words = report(title, index, queries, measure(index, queries, rng))
        common.save(kept(name, metric, kind), words.kept())
        if not given.docs:
            print(words, flush=True)


def kept(name, metric, kind):
    return os.path.join(KEPT, f"{name.replace('/', '-')}-{metric}-{kind}.json")


def write_docs():
    paths = [kept(name, metric, kind) for name, metric in SETS for kind in KINDS]
    common.publish(Report(Written(common.load(path, {})) for path in paths if os.path.exists(path)), "promise", True)


def main():
    parser = common.parser_of("bench promise", __doc__.split(": ", 1)[1], "docs")
    names = [f"{name},{metric}" for name, metric in SETS]
    add = parser.add_argument
    add("--sets", nargs="*", metavar="NAME", choices=names, default=names, help=f"{' '.join(names)} (default: all)")
    add("--kinds", nargs="+", metavar="KIND", choices=KINDS, default=list(KINDS), help=f"{' '.join(KINDS)} (default: all)")
    given = parser.parse_args()
    common.need_thresher("bench promise")
    os.makedirs(KEPT, exist_ok=True)
    print(*common.heading("promise", __doc__), sep="\n")
    for name, metric in SETS:
        if f"{name},{metric}" in given.sets:
            try:
                measure_set(name, metric, given)
            except Missing as missing:
                print(f"{name} is left out: {missing}")
    if given.docs:
        write_docs()


if __name__ == "__main__":
    main()

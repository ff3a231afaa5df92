# SPDX-License-Identifier: Apache-2.0
"""How well linear RankSVM ranks, beside other ways to learn a ranking: what `./run bench rank-accuracy` calls.

usage: ./run bench rank-accuracy [--docs] [--data DIR] [--splits N]

Queries are dealt at random, by a seed a split: a fifth of them are the test. Whatever is chosen, C and trees, is chosen
on the rest: C by pairs in order, in cross-validation over its queries, 5 folds; LightGBM's leaves, rate and least rows
per leaf by NDCG@10 of a quarter of them, where it also stops, and then it learns from all of them. Means and standard
deviations are over splits, and differences are taken split by split.

*Pairs in order* is the share of all pairs of the test; equal scores are wrong (RankSVM, eq. 16). NDCG is LETOR's: gain
2^label - 1, discount log2(rank) from the second rank on, and 0 for queries without a relevant row. *All pairs* is
scikit-learn's LinearSVC, which is LIBLINEAR, on the differences of all pairs, in double; its objective is that of ours
to 1e-6. Nothing is timed: a second run with the same versions writes the same.
"""

import itertools
import os
import sys

from bench.shared.common import (  # first: one thread
    heading, left_out, need_thresher, page, parser_of, publish, spread, thresher, versions,
)
from bench.shared.results import Table

import numpy as np

SET, FILE = "MQ2007", os.path.join("letor", "mq2007.partial.svm.xz")
CONVENTION, K = "letor", 10
TEST_SHARE, VALID_SHARE, FOLDS = 0.2, 0.25, 5  # of all queries; of the rest; of the rest
CS = np.logspace(-6, 1, 15)
MOST_TREES, PATIENCE = 1000, 50
GRID = {"num_leaves": (7, 15, 31), "learning_rate": (0.05, 0.1), "min_data_in_leaf": (50, 200)}
SAME = 1e-6  # relative; of the two objectives of RankSVM


class Rows:
    """Rows in the order of their queries, as LightGBM requires."""

    def __init__(self, x, y, qid):
        order = np.argsort(qid, kind="stable")
        self.x, self.y, self.qid = x[order], y[order], qid[order]

    def of(self, queries):
        own = np.isin(self.qid, queries)
        return Rows(self.x[own], self.y[own], self.qid[own])

    def sizes(self):
        return np.unique(self.qid, return_counts=True)[1]

    def judge(self, scores):
        return thresher.rank_quality(scores, self.y, self.qid, k=K, convention=CONVENTION)


def shuffled(qid, seed):
    return np.random.default_rng(seed).permutation(np.unique(qid))


def deal(qid, seed):
    """Queries of the test, and the others, shuffled."""
    queries = shuffled(qid, seed)
    n_test = round(TEST_SHARE * len(queries))
    return queries[:n_test], queries[n_test:]


# ---------------------------------------------------------------------------------------------------- the ways


def choose_c(train, seed):
    shares = thresher.RankSVM().cross_validate(train.x, train.y, train.qid, Cs=CS, folds=FOLDS, seed=seed)
    return float(CS[np.argmax(shares)])


def objective(w, differences, c):
    return 0.5 * w @ w + c * (np.maximum(0, 1 - differences @ w) ** 2).sum()


def pair_differences(rows):
    """x_i - x_j in double for all pairs y_i > y_j of a query."""
    found, starts = [], np.append(0, np.cumsum(rows.sizes()))
    for first, last in zip(starts, starts[1:]):
        x, y = rows.x[first:last].astype(np.float64), rows.y[first:last]
        better, worse = np.nonzero(y[:, None] > y)
        found.append(x[better] - x[worse])
    return np.concatenate(found)


def rank_svm(train, _, seed):
    c = choose_c(train, seed)
    model = thresher.RankSVM(c).fit(train.x, train.y, train.qid)
    return model.predict, f"C {c:.2g}"


def all_pairs(train, _, seed):
    """The same function as a linear SVM of the differences of all pairs; half are negated, because it needs two classes."""
    from sklearn.svm import LinearSVC

    c = choose_c(train, seed)
    differences = pair_differences(train)
    signs = np.where(np.arange(len(differences)) % 2 == 0, 1.0, -1.0)
    svm = LinearSVC(C=c, loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-6, max_iter=10000)
    w = svm.fit(differences * signs[:, None], signs).coef_[0]
    ours = thresher.RankSVM(c).fit(train.x, train.y, train.qid)
    theirs = objective(w, differences, c)
    if abs(theirs / ours.report_.objective - 1) > SAME:
        raise ValueError(f"the objective is {ours.report_.objective}, and {theirs} by all pairs: not the same optimum")
    return lambda x: x.astype(np.float64) @ w, f"C {c:.2g}, {len(differences):,} pairs"


def lambdarank(train, parts, seed):
    """The best of a grid by NDCG of the validation part, where it stops; then learned anew of all rows, as long."""
    import lightgbm

    rest, valid = parts
    fixed = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [K], "seed": seed, "verbosity": -1}
    fixed |= {"deterministic": True, "force_row_wise": True, "num_threads": 1}
    best = None
    for values in itertools.product(*GRID.values()):
        given = {**fixed, **dict(zip(GRID, values))}
        data = lightgbm.Dataset(rest.x, rest.y, group=rest.sizes(), params=given)
        held = lightgbm.Dataset(valid.x, valid.y, group=valid.sizes(), reference=data, params=given)
        stop = lightgbm.early_stopping(PATIENCE, verbose=False)
        model = lightgbm.train(given, data, MOST_TREES, valid_sets=[held], callbacks=[stop])
        reached = model.best_score["valid_0"][f"ndcg@{K}"]
        if best is None or reached > best[0]:
            best = reached, given, model.best_iteration
    _, given, n_trees = best
    data = lightgbm.Dataset(train.x, train.y, group=train.sizes(), params=given)
    words = f"{n_trees} trees of {given['num_leaves']} leaves of {given['min_data_in_leaf']} rows or more, "
    words += f"rate {given['learning_rate']}"
    return lightgbm.train(given, data, n_trees).predict, words


WAYS = {
    "linear RankSVM, Thresher": rank_svm,
    "linear RankSVM, all pairs, LIBLINEAR": all_pairs,
    "LightGBM, lambdarank": lambdarank,
}


# ---------------------------------------------------------------------------------------------------- all


def measure(rows, n_splits):
    """{way: [(pair accuracy, NDCG, words) a split]}, of the ways that Python has; and those it has not."""
    found, missing = {}, []
    for seed in range(1, n_splits + 1):
        test_queries, others = deal(rows.qid, seed)
        n_valid = round(VALID_SHARE * len(others))
        train, test = rows.of(others), rows.of(test_queries)
        parts = rows.of(others[n_valid:]), rows.of(others[:n_valid])
        for name, learn in WAYS.items():
            try:
                predict, words = learn(train, parts, seed)
            except ImportError as error:
                if seed == 1:
                    missing.append(f"{name}: {error.name} is not installed")
                continue
            quality = test.judge(predict(test.x))
            found.setdefault(name, []).append((quality.pair_accuracy, quality.ndcg, words))
            print(f"split {seed}, {name}: {quality.pair_accuracy:.4f}, {quality.ndcg:.4f}; {words}", file=sys.stderr)
    return found, missing


def signed(values, digits):
    text = spread(values, digits)
    if float(text.split()[0]) == 0:
        return text.lstrip("-")
    return text if text.startswith("-") else f"+{text}"


def table_rows(found):
    first = np.array([measured[:2] for measured in next(iter(found.values()))])
    for i, (name, splits) in enumerate(found.items()):
        figures = np.array([measured[:2] for measured in splits])
        less = figures - first
        beside = [signed(100 * less[:, 0], 2), signed(less[:, 1], 4)] if i > 0 else ["", ""]
        yield [name, spread(100 * figures[:, 0], 2), spread(figures[:, 1]), *beside]


def text(rows, found, missing, n_splits):
    pairs = rows.judge(np.zeros(len(rows.y))).n_pairs
    units = ["pairs in order, %", f"NDCG@{K}", "pairs less RankSVM's", "NDCG less RankSVM's"]
    chosen = [f"- {name}: {'; '.join(words for *_, words in splits)}" for name, splits in found.items()]
    about = (
        f"{versions({'sklearn': 'scikit-learn', 'lightgbm': 'lightgbm'})}. {SET}, {len(rows.y):,} rows of {rows.x.shape[1]} "
        f"features, {len(np.unique(rows.qid)):,} queries, {pairs:,} pairs, {n_splits} splits."
    )
    return page(
        *heading("rank-accuracy", __doc__, more=about),
        Table(SET, ["system"], units, table_rows(found)),
        "Chosen, split by split:\n",
        "\n".join(chosen) + "\n",
        *left_out(missing),
    )


def main():
    parser = parser_of("bench rank-accuracy", __doc__, "docs", data={"help": f"where {FILE} is"})
    parser.add_argument("--splits", type=int, default=5, metavar="N", help="how many; 5")
    arguments = parser.parse_args()
    path = os.path.join(arguments.data, FILE)
    need_thresher("bench rank-accuracy")
    if arguments.splits < 1:
        parser.error("--splits: 1 or more are wanted")
    if not os.path.exists(path):
        sys.exit(f"bench rank-accuracy: {path} does not exist: give the directory of the public data by --data")
    rows = Rows(*thresher.read_ranking(path))
    made = text(rows, *measure(rows, arguments.splits), arguments.splits)
    publish(made, "rank-accuracy", arguments.docs)


if __name__ == "__main__":
    main()

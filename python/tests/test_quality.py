# SPDX-License-Identifier: Apache-2.0
"""Rankings judged against a plain model, in any order of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

import thresher
from support import Case


def plain_ndcg(scores: Any, labels: Any, qid: Any, k: int | None, nothing: float, gain: Any) -> float:
    """Of distinct scores: log2 discount, `nothing` for queries without a gain."""
    values = []
    for query in np.unique(qid):
        s, g = scores[qid == query], gain(labels[qid == query])
        discount = 1 / np.log2(np.arange(len(s)) + 2)
        discount[len(s) if k is None else k :] = 0
        best = (np.sort(g)[::-1] * discount).sum()
        values.append((g[np.argsort(-s)] * discount).sum() / best if best else nothing)
    return float(np.mean(values))


def plain_pairs(scores: Any, labels: Any, qid: Any) -> tuple[int, int, int]:
    better = (labels[:, None] > labels) & (qid[:, None] == qid)
    return (
        int(better.sum()),
        int((better & (scores[:, None] > scores)).sum()),
        int((better & (scores[:, None] == scores)).sum()),
    )


class Quality(Case):
    def setUp(self) -> None:
        super().setUp()
        draw = np.random.default_rng(1)
        self.qid = draw.integers(-5, 20, 300)
        self.labels = draw.integers(0, 4, 300) * (self.qid % 4 != 0)
        self.scores = draw.permutation(300).astype(np.float32)

    def test_ndcg_is_that_of_a_plain_model_by_every_convention(self) -> None:
        def exponential(labels: Any) -> Any:
            return 2.0**labels - 1

        for convention, nothing in (("lightgbm", 1), ("xgboost", 1), ("xgboost-minus", 0)):
            for k in (1, 3, 10, None):
                for gain, model in (("exponential", exponential), ("linear", np.float64)):
                    wanted = plain_ndcg(self.scores, self.labels, self.qid, k, nothing, model)
                    got = thresher.ndcg(self.scores, self.labels, self.qid, k=k, convention=convention, gain=gain)
                    self.assertAlmostEqual(got, wanted, 12)
                    quality = thresher.rank_quality(
                        self.scores, self.labels, self.qid, k=k, convention=convention, gain=gain
                    )
                    self.assertEqual(quality.ndcg, got)

    def test_pairs_are_those_of_a_plain_model(self) -> None:
        scores = self.scores // 30
        n, right, tied = plain_pairs(scores, self.labels, self.qid)
        quality = thresher.rank_quality(scores, self.labels, self.qid)
        self.assertEqual((quality.n_pairs, quality.n_pairs_right, quality.n_pairs_tied), (n, right, tied))
        self.assertEqual(quality.pair_accuracy, right / n)
        quality = thresher.rank_quality(scores, self.labels, self.qid, ties="right")
        self.assertEqual(quality.pair_accuracy, (right + tied) / n)
        self.assertEqual(quality.n_rows, 300)
        self.assertEqual(quality.n_queries, len(np.unique(self.qid)))

    def test_without_queries_all_rows_are_one(self) -> None:
        one = thresher.rank_quality([3, 2, 1], [2, 0, 1], 0)
        self.assertEqual(one, thresher.rank_quality([1, 2, 3], [1, 0, 2], [7, 7, 7]))
        self.assertEqual((one.mrr, one.map, one.n_queries), (1, (1 + 2 / 3) / 2, 1))

    def test_what_makes_no_sense_is_refused(self) -> None:
        for arguments, words in (
            (([1.0], [1.0, 2.0]), "labels has 2 values, scores 1"),
            (([1.0], [1.0]), "qid is missing: give the query of each row, or qid=0, or RankSVM.one_query=True., if all"),
            (([[1.0]], [1.0]), r"scores: an array of shape \[1, 1\] was given"),
            (([1.0], [1.0], [1, 2]), r"qid: an array of shape \[2\] was given: expected \[1\]"),
            (([float("nan")], [1.0], 0), "query 0, row 0: the score is not a number"),
            (([1.0], [40.0], 0), "use linear gain"),
            (([1.0], [-1.0], 0), "query 0, row 0: the label is -1"),
            (([], [], 0), "there are no queries"),
        ):
            with self.assertRaisesRegex((thresher.ArgumentError, ValueError), words):
                thresher.ndcg(*arguments)  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "qid: values of type float64"):
            thresher.ndcg([1.0], [1.0], [1.5])
        with self.assertRaisesRegex(ValueError, "convention is 'trec': expected one of 'lightgbm', 'letor'"):
            thresher.ndcg([1.0], [1.0], 0, convention="trec")
        same = [thresher.ndcg([1, 2, 3], [0, 0, 0], 0, convention=f"xgboost{mark}minus") for mark in "-_"]
        self.assertEqual(same, [0, 0])
        with self.assertRaisesRegex(ValueError, "expected one of .*; did you mean 'xgboost-minus'?"):
            thresher.ndcg([1.0], [1.0], 0, convention="XGBoost_Minus")
        with self.assertRaisesRegex(ValueError, "k is 0"):
            thresher.ndcg([1.0], [1.0], 0, k=0)

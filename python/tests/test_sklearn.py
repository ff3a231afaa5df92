# SPDX-License-Identifier: Apache-2.0
"""RankSVM among scikit-learn's tools, where they are installed."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

import numpy as np

import thresher

try:
    import sklearn
    from sklearn.base import clone
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import GridSearchCV, GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
except ImportError:
    VERSION = (0, 0)


@unittest.skipIf(VERSION < (1, 6), "scikit-learn of version 1.6 or later is not there")
class Sklearn(unittest.TestCase):
    def setUp(self) -> None:
        draw = np.random.default_rng(1)
        self.qid = draw.integers(0, 12, 240)
        self.x = draw.standard_normal((240, 4))
        self.y = np.round(self.x[:, 0] + draw.standard_normal(240))
        sklearn.set_config(enable_metadata_routing=True)
        self.addCleanup(sklearn.set_config, enable_metadata_routing=False)

    def test_all_checks_of_estimators(self) -> None:
        from sklearn.utils.estimator_checks import check_estimator

        sklearn.set_config(enable_metadata_routing=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = check_estimator(thresher.RankSVM(one_query=True), on_fail=None)
        bad = [(r["check_name"], r["exception"]) for r in results if r["status"] not in ("passed", "skipped")]
        self.assertEqual(bad, [])
        self.assertGreater(sum(r["status"] == "passed" for r in results), 30)

    def by_hand(self, c: float, judge: Any) -> Any:
        for train, test in GroupKFold(3).split(self.x, self.y, self.qid):
            model = thresher.RankSVM(c).fit(self.x[train], self.y[train], self.qid[train])
            yield judge(model, self.x[test], self.y[test], self.qid[test])

    def test_a_search_over_costs_keeps_queries_together(self) -> None:
        model = thresher.RankSVM().set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(model, {"C": [0.001, 0.1, 10]}, cv=GroupKFold(3))
        search.fit(self.x, self.y, qid=self.qid, groups=self.qid)
        for place, c in enumerate([0.001, 0.1, 10]):
            scores = list(self.by_hand(c, lambda m, x, y, qid: m.score(x, y, qid)))
            found = [search.cv_results_[f"split{i}_test_score"][place] for i in range(3)]
            np.testing.assert_allclose(found, scores, rtol=1e-12)
        np.testing.assert_array_equal(
            search.best_estimator_.coef_, thresher.RankSVM(search.best_params_["C"]).fit(self.x, self.y, self.qid).coef_
        )

    def test_a_scorer_by_query(self) -> None:
        ndcg = make_scorer(lambda y, scores, qid: thresher.ndcg(scores, y - y.min(), qid, gain="linear"))
        model = thresher.RankSVM().set_fit_request(qid=True)
        search = GridSearchCV(model, {"C": [0.1]}, cv=GroupKFold(3), scoring=ndcg.set_score_request(qid=True))
        search.fit(self.x, self.y, qid=self.qid, groups=self.qid)

        def judge(m: Any, x: Any, y: Any, qid: Any) -> float:
            return thresher.ndcg(m.predict(x), y - y.min(), qid, gain="linear")

        self.assertAlmostEqual(search.best_score_, np.mean(list(self.by_hand(0.1, judge))), places=12)

    def test_what_is_not_asked_for_is_an_error(self) -> None:
        search = GridSearchCV(thresher.RankSVM(), {"C": [1]}, cv=GroupKFold(3))
        with self.assertRaisesRegex(Exception, "qid"):
            search.fit(self.x, self.y, qid=self.qid, groups=self.qid)

    def test_groups_alone_are_no_queries(self) -> None:
        model = thresher.RankSVM().set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(model, {"C": [1]}, cv=GroupKFold(3), error_score="raise")
        with self.assertRaisesRegex(ValueError, r"qid is missing: .*fit\(..., qid=qid\); groups= only splits"):
            search.fit(self.x, self.y, groups=self.qid)

    def test_clones_and_pipelines(self) -> None:
        model = thresher.RankSVM(C=3, scale="mean").set_fit_request(qid="query")
        again = clone(model)
        self.assertEqual(again.get_params(), model.get_params())
        self.assertEqual(again.get_metadata_routing().fit.requests, {"qid": "query", "sample_weight": None})
        self.assertFalse(hasattr(clone(model.fit(self.x, self.y, self.qid)), "coef_"))
        pipeline = make_pipeline(StandardScaler(), thresher.RankSVM().set_fit_request(qid=True))
        pipeline.fit(self.x, self.y, qid=self.qid)
        scaled = StandardScaler().fit_transform(self.x)
        alone = thresher.RankSVM().fit(scaled, self.y, self.qid)
        np.testing.assert_array_equal(pipeline.predict(self.x), alone.predict(scaled))

    def test_a_search_over_a_pipeline_scores(self) -> None:
        model = thresher.RankSVM().set_fit_request(qid=True).set_score_request(qid=True)
        pipeline = make_pipeline(StandardScaler(), model)
        search = GridSearchCV(pipeline, {"ranksvm__C": [0.01, 1]}, cv=GroupKFold(3))
        search.fit(self.x, self.y, qid=self.qid, groups=self.qid)
        self.assertTrue(np.isfinite(search.cv_results_["mean_test_score"]).all())
        scaler = StandardScaler().fit(self.x)
        alone = thresher.RankSVM(**search.best_estimator_[-1].get_params()).fit(
            scaler.transform(self.x), self.y, self.qid
        )
        self.assertEqual(
            search.best_estimator_.score(self.x, self.y, qid=self.qid),
            alone.score(scaler.transform(self.x), self.y, self.qid),
        )
        model.set_score_request(sample_weight=True)
        pipeline.fit(self.x, self.y, qid=self.qid)
        weights = np.random.default_rng(3).random(240)
        self.assertEqual(
            pipeline.score(self.x, self.y, qid=self.qid, sample_weight=weights),
            model.score(scaler.transform(self.x), self.y, self.qid, sample_weight=weights),
        )

    def test_weights_of_rows_are_passed_on(self) -> None:
        weights = np.random.default_rng(2).random(240)
        model = thresher.RankSVM().set_fit_request(qid=True).set_fit_request(sample_weight="w")
        pipeline = make_pipeline(StandardScaler(), model).fit(self.x, self.y, qid=self.qid, w=weights)
        scaled = StandardScaler().fit_transform(self.x)
        alone = thresher.RankSVM().fit(scaled, self.y, self.qid, sample_weight=weights)
        np.testing.assert_array_equal(pipeline[-1].coef_, alone.coef_)

    def test_who_is_not_fitted_says_so_as_others_do(self) -> None:
        from sklearn.exceptions import NotFittedError

        with self.assertRaises(NotFittedError):
            thresher.RankSVM().predict(self.x)

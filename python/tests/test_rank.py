# SPDX-License-Identifier: Apache-2.0
"""RankSVM against the sum over all pairs, and the habits of estimators."""

from __future__ import annotations

import copy
import os
import pickle
import unittest
from typing import Any

import numpy as np

import thresher
from support import Case
from thresher._rank.parts import Part, Rows, divide, lead, sizes_of


def objective(w: Any, x: Any, y: Any, qid: Any, c: float) -> tuple[float, Any]:
    """f and its gradient, over all pairs."""
    better, worse = np.nonzero((y[:, None] > y) & (qid[:, None] == qid))
    differences = x[better] - x[worse]
    slack = np.maximum(0, 1 - differences @ w)
    return 0.5 * w @ w + c * (slack**2).sum(), w - 2 * c * slack @ differences


class Csr:
    """What is asked of a scipy CSR matrix."""

    format, has_sorted_indices = "csr", True

    def __init__(self, dense: Any) -> None:
        self.shape = dense.shape
        self.indptr = np.append(0, np.cumsum((dense != 0).sum(1)))
        self.indices = np.nonzero(dense)[1]
        self.data = dense[dense != 0]
        self._dense = dense

    def sort_indices(self) -> None:
        pass

    def astype(self, dtype: Any) -> Any:
        return np.asarray(self._dense, dtype)


class Files(Case):
    LINES = "2 qid:7 1:0.5 3:-1\n0 qid:3 2:1e-3\n1.5 qid:7 3:4 # GX001\n-1 qid:3 1:1\n"

    def write(self, text: str, name: str = "rows.svm") -> str:
        path = self.path(name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_rows_come_back_in_the_order_of_the_file(self) -> None:
        x, y, qid = thresher.read_ranking(self.write(self.LINES))
        wanted = np.array([[0.5, 0, -1], [0, 1e-3, 0], [0, 0, 4], [1, 0, 0]], np.float32)
        np.testing.assert_array_equal(x, wanted)
        np.testing.assert_array_equal(y, [2, 0, 1.5, -1])
        np.testing.assert_array_equal(qid, [7, 3, 7, 3])
        self.assertEqual((x.dtype, y.dtype, qid.dtype), (np.float32, np.float64, np.uint64))

    def test_few_of_many_features(self) -> None:
        wanted = np.zeros((2, 1000), np.float32)
        wanted[0, 999], wanted[1, [4, 5]] = 1, [2, 3]
        few = "1 qid:1 1000:1\n0 qid:1 5:2 6:3\n"
        path = self.write(few)
        np.testing.assert_array_equal(thresher.read_ranking(path).X, wanted)
        try:
            import scipy.sparse
        except ImportError:
            self.skipTest("scipy is not there")
        for name, text in (("few.svm", few), ("all.svm", self.LINES)):
            path = self.write(text, name)
            sparse = thresher.read_ranking(path, sparse=True).X
            self.assertTrue(scipy.sparse.issparse(sparse))
            np.testing.assert_array_equal(sparse.toarray(), thresher.read_ranking(path).X)

    def test_files_without_queries_and_queries_beside_them(self) -> None:
        path = self.write("1 1:1\n0 1:2\n3 1:0\n")
        with self.assertRaisesRegex(thresher.FormatError, "qid"):
            thresher.read_ranking(path)
        self.assertIsNone(thresher.read_ranking(path, queries=False).qid)
        self.write("1\n2\n", "rows.svm.query")
        np.testing.assert_array_equal(thresher.read_ranking(path).qid, [0, 1, 1])

    def test_a_cache_is_of_the_bytes_of_the_file_and_of_its_queries(self) -> None:
        """Of one length and time, as cp -p, rsync -t and reproducible builds leave them."""

        def read(name: str, text: str) -> tuple[list[float], list[int]]:
            os.utime(self.write(text, name), (1000, 1000))
            rows = thresher.read_ranking(self.path("rows.svm"), cache=True)
            return [float(label) for label in rows.y], [int(query) for query in rows.qid]

        self.assertEqual(read("rows.svm", "1 qid:1 1:1\n2 qid:1 1:2\n"), ([1, 2], [1, 1]))
        self.assertEqual(read("rows.svm", "2 qid:1 1:1\n1 qid:1 1:2\n"), ([2, 1], [1, 1]))
        self.write("1 1:1\n2 1:2\n3 1:3\n")
        self.assertEqual(read("rows.svm.query", "1\n2\n"), ([1, 2, 3], [0, 1, 1]))
        self.assertEqual(read("rows.svm.query", "2\n1\n"), ([1, 2, 3], [0, 0, 1]))

    def test_what_cannot_be_read_is_said(self) -> None:
        with self.assertRaisesRegex(thresher.FormatError, "line 2"):
            thresher.read_ranking(self.write("1 qid:1 1:1\n1 qid:1 what\n"))
        with self.assertRaises(thresher.FileMissingError):
            thresher.read_ranking(self.path("none.svm"))


class Rank(Case):
    def setUp(self) -> None:
        super().setUp()
        draw = np.random.default_rng(1)
        self.qid = draw.integers(-3, 6, 200)
        self.x = draw.standard_normal((200, 5)).astype(np.float32) * (draw.random((200, 5)) < 0.7)
        self.y = np.round(self.x[:, 0] + 0.5 * draw.standard_normal(200)) - 1

    def test_fit_finds_the_least_by_every_way(self) -> None:
        x = self.x.astype(np.float64)
        for method in ("line-search", "trust-region", "sweep"):
            for rows in (self.x, x, np.asfortranarray(self.x), Csr(self.x)):
                model = thresher.RankSVM(2, method=method, epsilon=1e-9).fit(rows, self.y, self.qid)
                value, gradient = objective(model.coef_, x, self.y, self.qid, 2)
                self.assertLess(np.abs(gradient).max(), 1e-5)
                self.assertAlmostEqual(model.report_.objective / value, 1, delta=1e-11)
        self.assertEqual(model.n_features_in_, 5)
        self.assertEqual(model.n_iter_, model.report_.n_steps)
        self.assertTrue(model.report_.converged)

    def test_scores_are_products_and_accuracy_is_that_of_pairs(self) -> None:
        model = thresher.RankSVM().fit(self.x, self.y, self.qid)
        scores = model.predict(self.x)
        np.testing.assert_allclose(scores, self.x.astype(np.float64) @ model.coef_, rtol=1e-12)
        np.testing.assert_allclose(model.predict(Csr(self.x)), scores, rtol=1e-12)
        better = (self.y[:, None] > self.y) & (self.qid[:, None] == self.qid)
        right = (better & (scores[:, None] > scores)).sum() / better.sum()
        self.assertAlmostEqual(model.score(self.x, self.y, self.qid), right, delta=1e-12)
        self.assertAlmostEqual(model.report_.pairwise_accuracy, right, delta=1e-12)
        self.assertGreater(right, 0.7)

    def test_a_weight_of_two_is_a_row_that_is_there_twice(self) -> None:
        weights = np.arange(200) % 3
        copies = np.repeat(np.arange(200), weights)
        for qid, repeated in ((self.qid, self.qid[copies]), (0, 0)):
            weighted = thresher.RankSVM(0.2, epsilon=1e-10).fit(self.x, self.y, qid, sample_weight=weights)
            there = thresher.RankSVM(0.2, epsilon=1e-10).fit(self.x[copies], self.y[copies], repeated)
            np.testing.assert_allclose(weighted.coef_, there.coef_, rtol=1e-7, atol=1e-9)
        wrong = ((weights[1:], ValueError), (np.full(200, -1.0), thresher.ArgumentError), (["a"] * 200, TypeError))
        for given, kind in wrong:
            with self.assertRaises(kind):
                thresher.RankSVM().fit(self.x, self.y, self.qid, sample_weight=given)

    def test_one_query_must_be_stated(self) -> None:
        model = thresher.RankSVM().fit(self.x, self.y, self.qid)
        for call in (
            lambda: thresher.RankSVM().fit(self.x, self.y),
            lambda: thresher.RankSVM().fit(self.x, self.y, sample_weight=np.ones(200)),
            lambda: thresher.RankSVM().cross_validate(self.x, self.y, Cs=[1]),
            lambda: model.score(self.x, self.y),
            lambda: model.score(self.x, self.y, sample_weight=np.ones(200)),
        ):
            with self.assertRaisesRegex(ValueError, "qid is missing: give the query of each row, or qid=0, or RankSVM.one_query=True., if"):
                call()
        stated = thresher.RankSVM(0.1, one_query=True).fit(self.x, self.y)
        np.testing.assert_array_equal(stated.coef_, thresher.RankSVM(0.1).fit(self.x, self.y, 3).coef_)
        self.assertEqual(stated.score(self.x, self.y), stated.score(self.x, self.y, 3))
        self.assertEqual(model.score(self.x, self.y, 7), model.score(self.x, self.y, np.full(200, 3)))
        alone = thresher.RankSVM(0.1).fit(self.x, self.y, 0)
        same = thresher.RankSVM(0.1).fit(self.x, self.y, np.zeros(200, int))
        np.testing.assert_array_equal(alone.coef_, same.coef_)

    def test_files_keep_every_bit_and_pickles_do(self) -> None:
        model = thresher.RankSVM(C=3, scale="query").fit(self.x, self.y, self.qid)
        for name in ("m.safetensors", "m.txt"):
            path = f"{self.directory}/{name}"
            model.save(path)
            back = thresher.RankSVM.open(path, C=3)
            np.testing.assert_array_equal(back.coef_, model.coef_)
            np.testing.assert_array_equal(back.predict(self.x), model.predict(self.x))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).coef_, model.coef_)
        with self.assertRaises(thresher.FileMissingError):
            thresher.RankSVM.open(f"{self.directory}/missing")

    def test_the_habits_of_estimators(self) -> None:
        model = thresher.RankSVM(0.5, scale="mean")
        self.assertEqual(repr(model), "RankSVM(C=0.5, scale='mean')")
        again = type(model)(**model.get_params())
        self.assertEqual(again.get_params(), model.get_params())
        self.assertIs(again.set_params(C=2), again)
        self.assertEqual(again.C, 2)
        with self.assertRaisesRegex(ValueError, "no parameter 'gamma'"):
            model.set_params(gamma=1)
        with self.assertRaisesRegex(ValueError, "not fitted"):
            model.predict(self.x)
        self.assertIs(model.fit(self.x, self.y, self.qid), model)
        warm = copy.copy(model).set_params(warm_start=True).fit(self.x, self.y, self.qid)
        self.assertEqual(warm.n_iter_, 0)

    def test_what_cannot_be_learned_is_said(self) -> None:
        fit = thresher.RankSVM().fit
        with self.assertRaisesRegex(thresher.ArgumentError, "no pairs to learn from"):
            fit(self.x, np.ones(200), self.qid)
        with self.assertRaisesRegex(thresher.ArgumentError, "0 is the best model"):
            fit(np.ones((200, 5)), self.y, self.qid)
        with self.assertRaisesRegex(thresher.ArgumentError, "C is -1"):
            thresher.RankSVM(-1).fit(self.x, self.y, self.qid)
        with self.assertRaisesRegex(ValueError, r"y: an array of shape \[3\]"):
            fit(self.x, [1, 2, 3], self.qid)
        with self.assertRaisesRegex(TypeError, "qid"):
            fit(self.x, self.y, self.qid + 0.5)
        with self.assertRaisesRegex(ValueError, r"expected \[n, n_features\]"):
            fit(self.y, self.y, self.qid)
        bad = self.x.copy()
        bad[7, 2] = np.nan
        with self.assertRaisesRegex(thresher.ArgumentError, "7"):
            fit(bad, self.y, self.qid)
        with self.assertRaisesRegex(ValueError, "X has 4 features, but RankSVM is expecting 5"):
            thresher.RankSVM().fit(self.x, self.y, self.qid).predict(self.x[:, :4])

    def test_cross_validation_is_training_without_a_fold(self) -> None:
        model = thresher.RankSVM(epsilon=1e-9)
        shares = model.cross_validate(self.x, self.y, self.qid, Cs=[0.01, 1], folds=len(set(self.qid)))
        wanted = []
        for c in (0.01, 1):
            right = pairs = 0  # as many folds as queries: each is judged by all others
            for query in set(self.qid):
                own = self.qid == query
                fitted = thresher.RankSVM(c, epsilon=1e-9).fit(self.x[~own], self.y[~own], self.qid[~own])
                scores, labels = fitted.predict(self.x[own]), self.y[own]
                better = labels[:, None] > labels
                right, pairs = right + (better & (scores[:, None] > scores)).sum(), pairs + better.sum()
            wanted.append(right / pairs)
        np.testing.assert_allclose(shares, wanted, atol=1e-12)
        self.assertFalse(hasattr(model, "coef_"))
        with self.assertRaisesRegex(thresher.ArgumentError, "give values in ascending order"):
            model.cross_validate(self.x, self.y, self.qid, Cs=[1, 0.1])
        with self.assertRaisesRegex(thresher.ArgumentError, "99 folds of 9 queries"):
            model.cross_validate(self.x, self.y, self.qid, Cs=[1], folds=99)

    def test_what_a_search_found_is_ranked(self) -> None:
        model = thresher.RankSVM().fit(self.x, self.y, self.qid)
        draw = np.random.default_rng(3)
        ids = np.array([draw.permutation(200)[:9] for _ in range(6)], np.uint64)
        ids[2, 7:] = ids[4, :] = thresher.NO_ID
        x = self.x[np.where(ids == thresher.NO_ID, 0, ids).astype(int)]
        x[0, 1] = x[0, 5]  # equal scores
        ranked, scores = model.rerank(ids, x)
        for q in range(6):
            there = [i for i in range(9) if ids[q, i] != thresher.NO_ID]
            own = model.predict(x[q])
            wanted = sorted(there, key=lambda i: (-round(float(own[i]), 12), int(ids[q, i])))
            self.assertEqual(ranked[q].tolist(), [int(ids[q, i]) for i in wanted] + [thresher.NO_ID] * (9 - len(there)))
            np.testing.assert_allclose(scores[q, : len(there)], own[wanted], rtol=1e-9)
            self.assertTrue(np.all(scores[q, len(there) :] == -np.inf))
        alone, first = model.rerank(ids[0], x[0])
        np.testing.assert_array_equal(alone, ranked[0])
        np.testing.assert_array_equal(first, scores[0])
        with self.assertRaisesRegex(thresher.ArgumentError, "candidates of 4 features for a model of 5"):
            model.rerank(ids, x[:, :, :4])
        with self.assertRaisesRegex(ValueError, r"shape \[6, 9\] and \[6, 8, 5\]"):
            model.rerank(ids, x[:, :8])
        x[3, 2, 1] = np.inf
        with self.assertRaisesRegex(thresher.ArgumentError, f"feature 2 of item {ids[3, 2]} is inf"):
            model.rerank(ids, x)

    def test_steps_are_told(self) -> None:
        steps: list[thresher.RankStep] = []
        report = thresher.RankSVM().fit(self.x, self.y, self.qid, on_step=steps.append).report_
        self.assertEqual([step.step for step in steps], list(range(report.n_steps + 1)))
        self.assertEqual(steps[0].gradient_norm, report.first_gradient_norm)
        self.assertEqual((steps[-1].objective, steps[-1].n_products), (report.objective, report.n_products))

        def fail(step: thresher.RankStep) -> None:
            raise KeyError(step.step)

        with self.assertRaisesRegex(KeyError, "0"):
            thresher.RankSVM().fit(self.x, self.y, self.qid, on_step=fail)

    def test_progress_may_stop_it(self) -> None:
        with self.assertRaises(thresher.CanceledError):
            thresher.RankSVM().fit(self.x, self.y, self.qid, progress=lambda *_: False)

    def test_scores_of_weighed_pairs(self) -> None:
        draw = np.random.default_rng(4)
        x, y, qid = draw.integers(0, 4, (50, 3)).astype(float), draw.integers(0, 4, 50), draw.integers(0, 5, 50)
        weights = draw.integers(0, 4, 50)
        model = thresher.RankSVM().fit(x, y, qid)
        scores = model.predict(x)
        pairs = [(i, j) for i in range(50) for j in range(50) if qid[i] == qid[j] and y[i] > y[j]]
        right = sum(weights[i] * weights[j] for i, j in pairs if scores[i] > scores[j])
        total = sum(weights[i] * weights[j] for i, j in pairs)
        self.assertAlmostEqual(model.score(x, y, qid, sample_weight=weights), right / total, places=14)
        self.assertAlmostEqual(
            model.score(x, y, qid, sample_weight=np.ones(50)), model.score(x, y, qid), places=14
        )
        self.assertTrue(np.isnan(model.score(x, y, qid, sample_weight=np.zeros(50))))

    def test_names_of_features_are_kept_and_compared(self) -> None:
        class Frame:  # the attributes of a data frame that RankSVM reads
            def __init__(self, values: Any, columns: list[Any]) -> None:
                self.values, self.columns, self.shape = values, columns, values.shape

            def __array__(self, *_: Any, **__: Any) -> Any:
                return self.values

        draw = np.random.default_rng(4)
        x, y = draw.standard_normal((30, 3)), draw.integers(0, 3, 30)
        model = thresher.RankSVM().fit(Frame(x, ["a", "b", "c"]), y, 0)
        self.assertEqual(model.feature_names_in_.tolist(), ["a", "b", "c"])
        wanted = model.predict(Frame(x, ["a", "b", "c"]))
        for columns, part in (
            (["b", "a", "c"], "must be in the same order"),
            (["a", "b", "d"], "unseen at fit time:\n- d\nFeature names seen at fit time, yet now missing:\n- c"),
        ):
            with self.assertRaisesRegex(ValueError, part):
                model.predict(Frame(x, columns))
        with self.assertWarnsRegex(UserWarning, "X does not have valid feature names, but RankSVM was fitted with"):
            np.testing.assert_array_equal(model.predict(x), wanted)
        with self.assertRaisesRegex(TypeError, "string names"):
            thresher.RankSVM().fit(Frame(x, ["a", 1, "c"]), y, 0)
        model.fit(x, y, 0)
        self.assertFalse(hasattr(model, "feature_names_in_"))
        with self.assertWarnsRegex(UserWarning, "X has feature names, but RankSVM was fitted without"):
            model.predict(Frame(x, ["a", "b", "c"]))


class Parts(unittest.TestCase):
    """Rows of a query in several partitions, whose queries several parts share out, in one process."""

    def test_parts_have_the_bits_of_the_whole(self) -> None:
        rng = np.random.default_rng(5)
        x, qid = rng.standard_normal((400, 6)).astype(np.float32), rng.integers(0, 25, 400)
        y, weights = np.round(x[:, 0] + rng.standard_normal(400)), rng.random(400)
        for given in (None, weights):
            whole = thresher.RankSVM().fit(x, y, qid, sample_weight=given)
            for n_parts in (1, 2, 5):
                cuts = [slice(0, 90), slice(90, 91), slice(91, 400)]
                rows = [Rows.of(x[at], y[at], qid[at], None if given is None else given[at], "rows") for at in cuts]
                layout = divide([sizes_of(own) for own in rows], n_parts)
                self.assertLessEqual(len(layout.first_chunks), n_parts + 1)
                parts, queries = [], [layout.queries(i) for i in range(len(layout.first_chunks) - 1)]
                for i, of in enumerate(queries):
                    pieces = [own.of_queries(layout.qids[of]) for own in rows]
                    parts.append(Part(pieces, layout.starts, *map(int, layout.first_chunks[i : i + 2]), 1))

                def ask(request: Any, state: Any, parts: Any = parts, queries: Any = queries) -> Any:
                    if state is None:
                        return np.concatenate([own.run(request.of_part(of)) for own, of in zip(parts, queries)])
                    for own in parts:
                        state = own.run(request, state)
                    return state

                fitted = thresher.RankSVM()
                lead(fitted, layout, [own.queries() for own in parts], ask, None, None)
                np.testing.assert_array_equal(fitted.coef_, whole.coef_)
                self.assertEqual(fitted.report_.pairwise_accuracy, whole.report_.pairwise_accuracy)

                def broken(_request: Any, _state: Any) -> Any:
                    raise KeyError("a worker")

                with self.assertRaises(KeyError):
                    lead(thresher.RankSVM(), layout, [own.queries() for own in parts], broken, None, None)

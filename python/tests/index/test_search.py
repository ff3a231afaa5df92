# SPDX-License-Identifier: Apache-2.0
"""Searching: shapes, options, and queries of every kind."""

from __future__ import annotations


import numpy as np

import thresher
from support import VectorCase, plain_search, random_vectors

N, DIMS = 3000, 24


class Search(VectorCase):
    shape, options = (N, DIMS, 150), {}

    def test_copies_of_a_query_cost_no_more_than_one(self) -> None:
        rows = random_vectors(20000, 32, seed=5)
        n_read = np.empty(1, np.uint64)
        for metric in ("cosine", "l2"):
            read = []
            for copies in (1, 2000):
                vectors = rows.copy()
                vectors[5000 : 5000 + copies] = rows[0]
                vectors[7], vectors[19000] = rows[0], rows[0]
                with thresher.Index.build(self.path("copies"), vectors, metric=metric, replace=True) as index:
                    ids, scores = index.search(rows[0], 10, n_read_out=n_read)
                    read.append(int(n_read[0]))
                    if copies > 1:
                        self.assertEqual(ids.tolist(), [0, 7, *range(5000, 5008)])
                        self.assertTrue((scores == (1 if metric == "cosine" else 0)).all())
            self.assertLess(read[1], 2 * read[0])

    def test_exact_is_the_truth_for_every_metric(self) -> None:
        for metric in ("cosine", "ip", "l2"):
            with thresher.Index.build(self.path(metric), self.vectors, metric=metric) as index:
                ids, scores = index.search(self.queries, 7, exact=True)
                np.testing.assert_array_equal(ids, plain_search(self.vectors, self.queries, 7, metric))
                self.assertTrue((np.diff(scores, axis=1) <= 0).all())

    def test_shapes_and_types_of_answers(self) -> None:
        ids, scores = self.index.search(self.queries, 7)
        self.assertEqual(
            (ids.shape, ids.dtype, scores.shape, scores.dtype), ((150, 7), np.uint64, (150, 7), np.float32)
        )
        ids, scores = self.index.search(self.queries[0], 7)
        self.assertEqual((ids.shape, scores.shape), ((7,), (7,)))
        ids, scores = self.index.search(self.queries[:0], 7)
        self.assertEqual((ids.shape, scores.shape), ((0, 7), (0, 7)))

    def test_one_query_and_many_give_the_same(self) -> None:
        ids, scores = self.index.search(self.queries, 10)
        for row, query in enumerate(self.queries):
            one_ids, one_scores = self.index.search(query, 10)
            np.testing.assert_array_equal(one_ids, ids[row])
            np.testing.assert_array_equal(one_scores, scores[row])

    def test_the_end_of_a_short_answer(self) -> None:
        with thresher.Index.build(self.path("small"), self.vectors[:3]) as index:
            ids, scores = index.search(self.queries[0], 5, filter=[0, 2])
            self.assertEqual(ids.shape, (3,))
            self.assertEqual(ids[2:].tolist(), [thresher.NO_ID])
            self.assertEqual(scores[2:].tolist(), [-np.inf])

    def test_k_beyond_the_items_takes_no_memory(self) -> None:
        most = 10**8
        with thresher.Index.build(self.path("small"), self.vectors[:3], features=[[1], [1], []], replace=True) as index:
            assert index.hits is not None
            for k in (4, most, 2**48):
                for exact in (False, True):
                    ids, scores, sure = index.search(self.queries[:5], k, exact=exact, certified=True)
                    self.assertEqual((ids.shape, scores.shape, sure.shape), ((5, 3), (5, 3), (5,)))
                    np.testing.assert_array_equal(np.sort(ids), [[0, 1, 2]] * 5)
                ids, _ = index.search(self.queries[0], k, features={1: 1.0})
                self.assertEqual(ids.shape, (3,))
                ids, values = index.hits.search([{1: 1.0}], k)
                self.assertEqual((ids.tolist(), values.shape), ([[0, 1, 2]], (1, 3)))
            ids = np.zeros((1, 7), np.uint64)
            index.search(self.queries[:1], 7, ids_out=ids)
            self.assertEqual((ids[0] == thresher.NO_ID).sum(), 4)
        with thresher.shards.build(self.path("many"), [self.vectors[:2], self.vectors[2:5]]) as many:
            ids, scores, sure = many.search(self.queries[:2], most, certified=True)
            self.assertEqual((ids.shape, scores.shape, sure.shape), ((2, 5), (2, 5), (2,)))
            np.testing.assert_array_equal(np.sort(ids), [[0, 1, 2, 3, 4]] * 2)
            answers = [(index, shard.first_row, None) for shard, index in many.opened()]
            self.assertEqual(thresher.shards.search_shards(answers, self.queries[:2], most)[0].shape, (2, 5))
            parts = [thresher.shards.search_shard(*one[:2], self.queries[:2], most) for one in answers]
            self.assertEqual(thresher.shards.merge(parts, most)[0].shape, (2, 5))
        with thresher.Index.create(self.path("none"), DIMS) as index:
            self.assertEqual([part.shape for part in index.search(self.queries[:2], most)], [(2, 0), (2, 0)])
            self.assertEqual(index.search(self.queries[0], 1)[0].shape, (0,))
        with thresher.Head.build(self.vectors[:3]) as head, self.assertRaises(thresher.ArgumentError):
            head.query(self.queries[:100], 2**32 - 1)

    def test_answers_are_written_where_asked(self) -> None:
        ids, scores = np.zeros((150, 4), np.uint64), np.zeros((150, 4), np.float32)
        got = self.index.search(self.queries, 4, ids_out=ids, scores_out=scores)
        self.assertIs(got[0], ids)
        self.assertIs(got[1], scores)
        wanted = self.index.search(self.queries, 4)
        np.testing.assert_array_equal(ids, wanted[0])
        np.testing.assert_array_equal(scores, wanted[1])

    def test_places_that_do_not_fit(self) -> None:
        search = self.index.search
        with self.assertRaisesRegex(TypeError, "ids_out: values of type int64 were given: expected uint64"):
            search(self.queries, 4, ids_out=np.zeros((150, 4), np.int64))  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, r"ids_out: .* \[150, 5\] was given: expected \[150, 4\]"):
            search(self.queries, 4, ids_out=np.zeros((150, 5), np.uint64))
        with self.assertRaisesRegex(ValueError, "scores_out: the array must be writeable and in C order"):
            search(self.queries, 4, scores_out=np.zeros((4, 150), np.float32).T)
        frozen = np.zeros((150, 4), np.float32)
        frozen.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "writeable"):
            search(self.queries, 4, scores_out=frozen)
        with self.assertRaisesRegex(TypeError, "ids_out: an object of type builtins.list was given"):
            search(self.queries, 4, ids_out=[1])  # type: ignore[arg-type]

    def test_options_reach_the_library(self) -> None:
        truth, _ = self.index.search(self.queries, exact=True)
        few = thresher.recall(truth, self.index.search(self.queries, n_candidates=10)[0])
        many = thresher.recall(truth, self.index.search(self.queries, n_candidates=1000)[0])
        self.assertLess(few, many)
        coarse = thresher.recall(truth, self.index.search(self.queries, n_candidates=10, query_bits=1)[0])
        self.assertLess(coarse, few)

    def test_a_search_explains_its_plan(self) -> None:
        lines = self.index.explain(self.queries, 7, recall=0.9).split("\n")
        self.assertEqual(lines[0], "source: the codes of all rows: the index has no cells")
        self.assertIn("promise: recall 0.9, by error margins of each query", lines)
        self.assertEqual(self.index.explain(len(self.queries), 7, recall=0.9).split("\n"), lines)
        self.assertIn("source: the vectors of all rows: exact scores were requested", self.index.explain(k=7, exact=True))
        self.assertIn(f"filter: 2 of {N} rows pass", self.index.explain(self.queries[0], filter=[1, 2]))
        self.assertIn("certificates: by bounds", self.index.explain(certified=True))
        self.assertIn("promise: no item is missed", self.index.explain(k=None, recall=1))
        for wrong in ({"k": 0}, {"queries": 0}, {"recall": 2}, {"k": None, "n_candidates": 9}):
            with self.assertRaises(thresher.ArgumentError):
                self.index.explain(**wrong)
        with self.assertRaises(thresher.UnsupportedError):
            self.index.explain(features={})

    def test_certified_answers_are_exact(self) -> None:
        truth, _ = self.index.search(self.queries, 5, exact=True)
        ids, scores, certified = self.index.search(self.queries, 5, certified=True)
        self.assertEqual((ids.shape, scores.shape, certified.shape), ((150, 5), (150, 5), (150,)))
        self.assertEqual(certified.dtype, np.bool_)
        np.testing.assert_array_equal(ids[certified], truth[certified])
        for row in (0, 149):
            _, _, one = self.index.search(self.queries[row], 5, certified=True)
            self.assertEqual(bool(one), bool(certified[row]))

    def test_options_without_effect_are_named(self) -> None:
        wanted = self.index.search(self.queries, 5, exact=True)
        for options in ({"recall": 0.9}, {"n_survivors": 20}, {"query_bits": 3}):
            with self.assertWarnsRegex(UserWarning, f"^{next(iter(options))} has no effect with exact=True$") as warned:
                found = self.index.search(self.queries, 5, exact=True, **options)
            self.assertEqual(warned.filename, __file__)
            np.testing.assert_array_equal(found, wanted)
        with self.assertWarnsRegex(UserWarning, "^recall has no effect with exact=True$"):
            self.index.search_radius(self.queries, 0.5, exact=True, recall=0.9)

    def test_any_number_is_a_recall(self) -> None:
        found = self.index.search(self.queries, recall=0.75)
        for recall in (np.float32(0.75), np.float64(0.75), np.array(0.75)):
            for a, b in zip(found, self.index.search(self.queries, recall=recall)):  # type: ignore[arg-type]
                np.testing.assert_array_equal(a, b)

    def test_options_out_of_range(self) -> None:
        q = self.queries[0]
        for arguments, message in (
            ({"k": 0}, "k is 0: 1 to"),
            ({"k": -1}, "k is -1: 1 to"),
            ({"k": 2**64 + 10}, "k is 18446744073709551626"),
            ({"n_candidates": 0}, "n_candidates is 0"),
            ({"n_candidates": -5}, "n_candidates is -5"),
            ({"query_bits": 9}, "query_bits is 9: 1 to 8"),
            ({"n_survivors": 0}, "n_survivors is 0"),
            ({"recall": 0.0}, "recall is 0.0: expected a share above 0 and up to 1"),
            ({"recall": -0.5}, "recall is -0.5"),
            ({"recall": 1.01}, "recall is 1.01"),
            ({"recall": 99}, "recall is 99"),
            ({"recall": float("nan")}, "recall is nan"),
        ):
            with self.subTest(arguments), self.assertRaisesRegex(ValueError, message):
                self.index.search(q, **arguments)  # type: ignore[arg-type]
        for arguments in (
            {"k": 2.5},
            {"k": "10"},
            {"n_candidates": 1.5},
            {"query_bits": "4"},
            {"recall": "all"},
            {"recall": "0.9"},
            {"recall": [0.9]},
            {"recall": 0.9 + 0j},
        ):
            with self.subTest(arguments), self.assertRaises(TypeError):
                self.index.search(q, **arguments)  # type: ignore[arg-type]

    def test_queries_of_every_layout_and_type(self) -> None:
        q = self.queries
        wanted = self.index.search(q, 5)
        wide = np.zeros((150, 2 * DIMS), np.float32)
        wide[:, ::2] = q
        frozen = q.copy()
        frozen.flags.writeable = False
        rowwise = np.zeros((300, DIMS + 3), np.float32)
        rowwise[::2, 1 : DIMS + 1] = q
        for name, queries in {
            "fortran": np.asfortranarray(q),
            "every second value": wide[:, ::2],
            "every second row": rowwise[::2, 1 : DIMS + 1],
            "turned round": q[::-1].copy()[::-1],
            "read-only": frozen,
            "float64": q.astype(np.float64),
            "big-endian": q.astype(">f4"),
            "list": q.tolist(),
        }.items():
            with self.subTest(name):
                ids, scores = self.index.search(queries, 5)
                np.testing.assert_array_equal(ids, wanted[0])
                np.testing.assert_array_equal(scores, wanted[1])
                one = self.index.search(queries[7], 5)
                np.testing.assert_array_equal(one[0], wanted[0][7])

    def test_queries_of_whole_numbers(self) -> None:
        whole = np.random.default_rng(3).integers(-100, 100, (20, DIMS))
        wanted = self.index.search(whole.astype(np.float32), 5)[0]
        for dtype in (np.int8, np.int16, np.int32, np.int64, np.float16):
            with self.subTest(dtype):
                np.testing.assert_array_equal(self.index.search(whole.astype(dtype), 5)[0], wanted)

    def test_queries_that_are_no_vectors(self) -> None:
        for queries, kind, message in (
            (np.float32(1), ValueError, r"queries: .* shape \[\] was given: expected \[n_dims\] or \[n, n_dims\]"),
            (np.zeros((2, 3, DIMS), np.float32), ValueError, r"shape \[2, 3, 24\]"),
            (np.zeros(0, np.float32), ValueError, r"shape \[0\] was given: 1 to 32768 dimensions"),
            (np.zeros((5, 0), np.float32), ValueError, r"shape \[5, 0\]"),
            (np.zeros(DIMS + 1, np.float32), ValueError, "25 dimensions for an index of 24"),
            (np.zeros((2, DIMS - 1), np.float32), ValueError, "23 dimensions for an index of 24"),
            (np.zeros(DIMS, bool), TypeError, "queries: values of type bool were given: expected float32"),
            (np.zeros(DIMS, np.complex64), TypeError, "complex64"),
            (np.array(["a"] * DIMS), TypeError, "<U1"),
            (np.array([None] * DIMS), TypeError, "object"),
            (None, ValueError, r"shape \[\]"),
            ([[1.0, 2.0], [3.0]], TypeError, "cannot be made an array|values of type object"),
            (np.ma.masked_array(np.zeros(DIMS, np.float32)), TypeError, "a masked array was given"),
        ):
            with self.subTest(message), self.assertRaisesRegex(kind, message):
                self.index.search(queries)

    def test_queries_that_are_not_finite(self) -> None:
        for value in (np.nan, np.inf, -np.inf):
            bad = self.queries.copy()
            bad[140, 3] = value
            with self.assertRaisesRegex(thresher.ArgumentError, "query 140 holds NaN or infinity") as raised:
                self.index.search(bad)
            self.assertEqual(raised.exception.status, "ERANGE")
        with self.assertRaises(thresher.ArgumentError):
            self.index.search(np.full(DIMS, 1e300))

    def test_codes_only_cannot_be_exact(self) -> None:
        with thresher.Index.build(self.path("codes"), self.vectors, keep=None) as index:
            self.assertEqual(index.search(self.queries, 3)[0].shape, (150, 3))
            with self.assertRaises(thresher.UnsupportedError):
                index.search(self.queries, exact=True)
            with self.assertRaises(NotImplementedError):
                index.vector(0)

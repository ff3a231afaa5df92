# SPDX-License-Identifier: Apache-2.0
"""All items within a radius."""

from __future__ import annotations

from typing import Any

import numpy as np

import thresher
from support import VectorCase, random_vectors

N, DIMS = 2000, 16


class Radius(VectorCase):
    shape = N, DIMS, 150

    def build(self, name: str = "index", **options: Any) -> thresher.Index:
        index = thresher.Index.build(self.path(name), self.vectors, **options)
        self.addCleanup(index.close)
        return index

    def assert_same(self, found: Any, index: thresher.Index, queries: Any, least: float, **options: Any) -> None:
        """What an exact search for the best of all begins with, down to least less the rounding of scores."""
        rounding = (DIMS / 16 + 16) * 2**-24 * (1 if index.info.metric == "cosine" else abs(least))
        offsets, ids, scores = found[:3]
        best, best_scores = index.search(queries, N, exact=True, **options)
        wanted = [int((row >= np.float32(least - rounding)).sum()) for row in best_scores]
        np.testing.assert_array_equal(offsets, np.cumsum([0, *wanted]))
        np.testing.assert_array_equal(ids, np.concatenate([row[:n] for row, n in zip(best, wanted)]))
        np.testing.assert_array_equal(scores, np.concatenate([row[:n] for row, n in zip(best_scores, wanted)]))

    def test_all_are_found_for_every_metric(self) -> None:
        for metric, least in (("cosine", 0.5), ("ip", -1.0), ("l2", -20.0)):
            index = self.build(metric, metric=metric, ids=np.arange(N)[::-1] * 3)
            found = index.search_radius(self.queries, least, recall=1, certified=True)
            self.assert_same(found, index, self.queries, least)
            self.assertEqual([array.dtype for array in found], [np.uint64, np.uint64, np.float32, np.bool_])
            self.assertTrue(found[3].all())
            self.assert_same(index.search_radius(self.queries, least, exact=True), index, self.queries, least)

    def test_one_query_none_and_nothing_found(self) -> None:
        index = self.build()
        offsets, ids, scores = index.search_radius(self.queries[0], 0.3, recall=1)
        many = index.search_radius(self.queries[:5], 0.3, recall=1)
        np.testing.assert_array_equal(offsets, many[0][:2])
        np.testing.assert_array_equal(ids, many[1][: len(ids)])
        np.testing.assert_array_equal(scores, many[2][: len(scores)])
        offsets, ids, scores = index.search_radius(self.queries[:0], 0.3)
        self.assertEqual((offsets.tolist(), ids.shape, scores.shape), ([0], (0,), (0,)))
        with self.assertWarnsRegex(UserWarning, "least_score: 2 was given, and a cosine is between -1 and 1, so nothing"):
            offsets, ids, scores, certified = index.search_radius(self.queries[:3], 2, certified=True)
        with self.assertWarnsRegex(UserWarning, "so every item is found"):
            self.assertEqual(len(index.search_radius(self.queries[:3], -1.5)[1]), 3 * N)
        self.assertEqual((offsets.tolist(), ids.size, scores.size, certified.shape), ([0] * 4, 0, 0, (3,)))

    def test_steps_of_many_queries_are_one_answer(self) -> None:
        queries = random_vectors(700, DIMS, seed=3).astype(np.float64)[:, ::-1]
        index = self.build()
        found = index.search_radius(queries, 0.4, recall=1, certified=True)
        self.assert_same(found, index, queries, 0.4)
        self.assertEqual(int(found[3].sum()), 700)
        queries[650, 3] = np.nan
        with self.assertRaisesRegex(thresher.ArgumentError, "query 650"):
            index.search_radius(queries, 0.4)

    def assert_finds_itself_and_thrice_itself(self, index: Any, n: int) -> None:
        offsets, ids, scores = index.search_radius(self.vectors[:n], 1.0, recall=1)
        np.testing.assert_array_equal(offsets, 2 * np.arange(n + 1))
        np.testing.assert_array_equal(ids, np.stack([np.arange(n), np.arange(n) + n]).T.ravel())
        self.assertTrue((scores == 1).all())
        best, scores = index.search(self.vectors[:n], 2, recall=1)
        np.testing.assert_array_equal(best.ravel(), ids)
        self.assertTrue((scores == 1).all())

    def test_cells_journals_and_shards_find_every_multiple_of_the_query(self) -> None:
        n = N // 2
        self.vectors[n:] = 3 * self.vectors[:n]
        self.assert_finds_itself_and_thrice_itself(self.build("cells", cells=16), n)
        with thresher.Index.build(self.path("changed"), self.vectors[:-300]) as changed:
            changed.add(self.vectors[-300:-150])
            with changed.writer() as writer:
                writer.add(self.vectors[-150:])
            changed.refresh()
            self.assertGreater(changed.info.n_journal_items, 0)
            self.assert_finds_itself_and_thrice_itself(changed, n)
        thresher.shards.build(self.path("shards"), [self.vectors[:700], self.vectors[700:]])
        with thresher.shards.open(self.path("shards")) as shards:
            self.assert_finds_itself_and_thrice_itself(shards, n)

    def test_filters(self) -> None:
        index = self.build()
        mask = np.arange(N) % 3 == 0
        found = index.search_radius(self.queries, 0.2, recall=1, filter=mask)
        self.assert_same(found, index, self.queries, 0.2, filter=mask)
        self.assertTrue((found[1] % 3 == 0).all())

    def test_arrays_outlive_the_index(self) -> None:
        index = self.build()
        _, ids, scores = index.search_radius(self.vectors[:1], 0.99, recall=1)
        index.close()
        self.assertEqual(ids.tolist(), [0])
        self.assertTrue(ids.flags.owndata and ids.flags.writeable and scores.flags.writeable)
        with self.assertRaises(ValueError):
            index.search_radius(self.vectors[:1], 0.99)

    def test_what_makes_no_sense_is_refused(self) -> None:
        index = self.build("l2", metric="l2")
        with self.assertRaisesRegex(ValueError, "NaN"):
            index.search_radius(self.queries, float("nan"))
        with self.assertRaisesRegex(thresher.ArgumentError, "for all within a distance of 4 give -16"):
            index.search_radius(self.queries, 4)
        with self.assertRaises(thresher.ArgumentError):
            index.search_radius(self.queries[:, 1:], -1)
        with self.assertRaises(ValueError):
            index.search_radius(self.queries, -1, recall=1.5)
        codes = self.build("codes", keep=None)
        with self.assertRaises(thresher.UnsupportedError):
            codes.search_radius(self.queries, 0.5, exact=True)
        self.assertFalse(codes.search_radius(self.queries, 0.5, certified=True)[3].any())

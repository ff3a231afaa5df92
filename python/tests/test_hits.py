# SPDX-License-Identifier: Apache-2.0
"""Posting lists: built from arrays and tables, searched beside numpy, explained, and what is refused."""

from __future__ import annotations

import unittest

import numpy as np
from support import Case

import thresher

N, FEATURES = 3000, 40


class HitsCase(Case):
    def setUp(self) -> None:
        super().setUp()
        rng = np.random.default_rng(1)
        shares = 1 / np.arange(1, FEATURES + 1)
        self.has = rng.random((N, FEATURES)) < shares
        self.offsets = np.concatenate([[0], np.cumsum(self.has.sum(1))])
        self.features = np.nonzero(self.has)[1]
        self.query = {f: float(w) for f, w in zip(range(0, FEATURES, 3), rng.integers(-8, 9, FEATURES) / 4)}
        self.sums = self.has @ np.array([self.query.get(f, 0.0) for f in range(FEATURES)])

    def best(self, values: np.ndarray, k: int) -> np.ndarray:
        return np.lexsort((np.arange(len(values)), -values))[:k]

    def test_arrays_build_what_numpy_adds_up(self) -> None:
        for order in ("features", "rows"):
            path = self.path(f"{order}.hits")
            with thresher.Hits.build(path, (self.offsets, self.features), order=order) as hits:
                self.assertEqual(len(hits), N)
                self.assertEqual(hits.info.n_postings, self.has.sum())
                self.assertEqual(hits.info.order, order)
                hits.verify()
                ids, values = hits.search(self.query, 25)
                np.testing.assert_array_equal(ids, self.best(self.sums, 25))
                np.testing.assert_array_equal(values, self.sums[ids.astype(int)])
                both, _ = hits.search([self.query, [1, 2]], 5)
                np.testing.assert_array_equal(both[0], ids[:5])

    def test_values_filters_and_targets(self) -> None:
        rows = [list(np.nonzero(row)[0]) for row in self.has]
        hits = thresher.Hits.build(self.path("x.hits"), rows, ids=np.arange(N) * 7 + 3)
        bids = np.random.default_rng(2).random(N).astype(np.float32)
        hits.set_values(bids, np.arange(N) % 2)
        allowed = self.has[:, 1] & ~self.has[:, 3]
        target = thresher.HitsTarget(hits, "1 AND NOT 3")
        self.assertEqual(len(target), allowed.sum())
        values = np.where(allowed, np.float32(self.sums) * bids + (np.arange(N) % 2).astype(np.float32), -np.inf)
        for how in ({"target": "1 AND NOT 3"}, {"target": target}, {"filter": allowed}):
            ids, found = hits.search(self.query, 10, **how)
            np.testing.assert_array_equal(ids, self.best(values, 10) * 7 + 3)
            np.testing.assert_allclose(found, np.sort(values)[::-1][:10], rtol=1e-6)

    def test_words_and_names(self) -> None:
        table = self.path("ads.tsv")
        with open(table, "w") as file:
            file.write("chair\tkind=chair colour=red\nrug\tcolour=blue\n")
        hits = thresher.Hits.build(self.path("ads.hits"), table)
        ids, values = hits.search({"colour=red": 2, "kind=chair": 0.5, "size=3": 9}, 2)
        self.assertEqual([hits.name(int(i)) for i in ids], ["chair", "rug"])
        self.assertEqual(list(values), [2.5, 0])
        self.assertEqual(
            hits.explain(hits.find("chair"), {"colour=red": 2, "colour=blue": 1}), {"colour=red": 2.0}
        )
        ids, values = hits.search(["colour=blue"], 1, value="sigmoid")
        self.assertAlmostEqual(float(values[0]), 1 / (1 + np.exp(-1)), 6)
        with self.assertRaises(thresher.NotFoundError):
            hits.find("table")

    def test_what_is_wrong_is_told(self) -> None:
        path = self.path("x.hits")
        hits = thresher.Hits.build(path, (self.offsets, self.features))
        with self.assertRaises(thresher.ExistsError):
            thresher.Hits.build(path, (self.offsets, self.features))
        with self.assertRaises(ValueError):
            thresher.Hits.build(self.path("y.hits"), (self.offsets[:-1], self.features))
        with self.assertRaises(thresher.Error):
            hits.search({1: float("nan")}, 3)
        with self.assertRaises(thresher.Error):
            hits.search({1: 1.0}, 3, target="1 AND")
        with self.assertRaises(ValueError):
            hits.set_values(np.ones(N - 1))
        with self.assertRaises(thresher.Error):
            hits.set_values(np.full(N, np.inf))
        with self.assertRaises(thresher.FileMissingError):
            thresher.Hits(self.path("none.hits"))
        hits.close()
        with self.assertRaises(ValueError):
            hits.search({1: 1.0}, 3)


if __name__ == "__main__":
    unittest.main()

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

    def test_added_and_removed_items_are_as_if_built_anew(self) -> None:
        rng = np.random.default_rng(5)
        more = rng.random((200, FEATURES + 2)) < 0.2
        has = np.pad(self.has, ((0, 0), (0, 2)))
        new_ids = np.concatenate([np.arange(100) * 3, np.arange(100) + N])  # 100 replace others
        gone = np.concatenate([rng.choice(np.arange(N), 300, replace=False), [N + 7, 10**9]])
        bids = rng.integers(0, 4, 200).astype(np.float32)
        hits = thresher.Hits.build(self.path("x.hits"), (self.offsets, self.features))
        before = hits.search(self.query, 20)
        hits.add([list(np.nonzero(row)[0]) for row in more], ids=new_ids, multipliers=bids)
        missing = hits.remove(gone)
        left = np.setdiff1d(np.arange(N), new_ids)
        ids = np.concatenate([left, new_ids])
        self.assertEqual(missing, len(gone) - np.isin(gone, ids).sum())
        kept = ~np.isin(ids, gone)
        rows, worth = np.concatenate([has[left], more]), np.concatenate([np.ones(len(left)), bids])
        query = {**self.query, FEATURES: 1.0, FEATURES + 1: -2.0}
        values = (rows @ np.array([query.get(f, 0.0) for f in range(FEATURES + 2)])) * worth
        wanted = self.best(np.where(kept, values, -np.inf), 50)
        found, scores = hits.search(query, 50)
        np.testing.assert_array_equal(found, ids[wanted])
        np.testing.assert_array_equal(scores, values[wanted])
        self.assertEqual(len(hits), kept.sum())
        self.assertEqual(hits.info.n_rows, N + hits.info.n_added)
        allowed = np.zeros(hits.info.n_rows, bool)
        allowed[N:] = True
        found, _ = hits.search(query, 500, filter=allowed)
        self.assertEqual((found != 2**64 - 1).sum(), hits.info.n_added)
        again = thresher.Hits(self.path("x.hits")).search(self.query, 20)  # the file is as it was
        np.testing.assert_array_equal(before[0], again[0])

    def test_named_items_are_added_and_removed(self) -> None:
        table, more, gone = self.path("ads.tsv"), self.path("new.tsv"), self.path("gone.txt")
        with open(table, "w") as file:
            file.write("chair\tkind=chair colour=red\nrug\tcolour=blue\n")
        with open(more, "w") as file:
            file.write("lamp\tkind=lamp\n")
        with open(gone, "w") as file:
            file.write("chair\nnobody\n")
        hits = thresher.Hits.build(self.path("ads.hits"), table)
        target = thresher.HitsTarget(hits, "colour=red")
        hits.add([["kind=sofa", "colour=red"], ["size=3"]], names=["sofa", "rug"])
        ids, _ = hits.search({"kind=sofa": 2, "colour=red": 1, "size=3": 0.5, "colour=blue": 9}, 4)
        self.assertEqual([hits.name(int(i)) for i in ids[:3]], ["sofa", "chair", "rug"])
        ids, values = hits.search({"colour=red": 1}, 1, target="NOT kind=chair")
        self.assertEqual((hits.name(int(ids[0])), values[0]), ("sofa", 1))
        with self.assertRaises(thresher.Error):
            hits.search({"colour=red": 1}, 1, target=target)
        hits.add(more)
        self.assertEqual(hits.remove(gone), 1)
        self.assertEqual(hits.remove(["sofa"]), 0)
        self.assertEqual(len(hits), 2)
        self.assertEqual(hits.explain(hits.find("lamp"), {"kind=lamp": 3}), {"kind=lamp": 3.0})
        with self.assertRaises(thresher.NotFoundError):
            hits.find("chair")
        with self.assertRaises(ValueError):
            hits.add([["a"]], ids=[1])
        with self.assertRaises(ValueError):
            hits.add([["a"]], names=["b", "c"])
        with self.assertRaises(thresher.Error):
            hits.add([["a"], ["b"]], names=["b", "b"])
        self.assertEqual(len(hits), 2)

    def test_queries_of_another_model_are_refused(self) -> None:
        hits = thresher.Hits.build(self.path("x.hits"), (self.offsets, self.features), model=0xFEED000000000001)
        self.assertEqual(hits.info.model, 0xFEED000000000001)
        hits.search({1: 1.0}, 1)
        hits.search({1: 1.0}, 1, model=0xFEED000000000001)
        with self.assertRaisesRegex(thresher.MismatchError, "feed000000000001.*00000000000000ab"):
            hits.search({1: 1.0}, 1, model=0xAB)

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

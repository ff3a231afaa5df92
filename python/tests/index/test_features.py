# SPDX-License-Identifier: Apache-2.0
"""Vectors and features in one search, beside numpy; models of both that an index carries; and refusals."""

from __future__ import annotations


import numpy as np
from support import Case

import thresher

N, DIMS, FEATURES, QUERIES = 500, 8, 30, 70


class FeaturesCase(Case):
    def setUp(self) -> None:
        super().setUp()
        rng = np.random.default_rng(1)
        self.vectors = (rng.integers(-8, 9, (N, DIMS)) / 8).astype(np.float32)
        self.queries = (rng.integers(-8, 9, (QUERIES, DIMS)) / 8).astype(np.float32)
        self.has = rng.random((N, FEATURES)) < 0.2
        self.rows = [list(np.nonzero(row)[0]) for row in self.has]
        self.weights = rng.integers(-4, 5, (QUERIES, FEATURES)) / 4
        self.asked = [{f: float(w) for f, w in enumerate(row)} for row in self.weights]
        self.sums = self.queries @ self.vectors.T + self.weights @ self.has.T

    def best(self, values: np.ndarray, k: int) -> np.ndarray:
        return np.lexsort((np.arange(N), -values))[:k]

    def test_both_are_added_up(self) -> None:
        bids = np.random.default_rng(2).integers(1, 9, N).astype(np.float32)
        with thresher.Index.build(
            self.path("x.index"), self.vectors, metric="ip", features=self.rows, multipliers=bids
        ) as index:
            self.assertTrue(index.info.has_features)
            ids, values = index.search(self.queries, 5, features=self.asked)
            for q in range(QUERIES):
                np.testing.assert_array_equal(ids[q], self.best(self.sums[q] * bids, 5))
                np.testing.assert_array_equal(values[q], np.sort(self.sums[q] * bids)[::-1][:5])
            assert index.hits is not None
            index.hits.set_values(None, np.arange(N) % 2)
            allowed = self.has[:, 1] & ~self.has[:, 3]
            ids, values = index.search(
                self.queries[0], 5, features=self.asked[0], target="1 AND NOT 3", value="sigmoid", exact=True
            )
            wanted = np.where(allowed, 1 / (1 + np.exp(-self.sums[0])) + np.arange(N) % 2, -np.inf)
            np.testing.assert_allclose(values, np.sort(wanted)[::-1][:5], rtol=1e-5)
            self.assertTrue(allowed[ids.astype(int)].all())
            shares = index.hits.explain(int(ids[0]), self.asked[0])
            self.assertEqual(shares, {f: self.asked[0][f] for f in self.rows[int(ids[0])]})
            plain, _ = index.search(self.queries[0], 5, target=thresher.HitsTarget(index.hits, "1"))
            self.assertTrue(self.has[plain.astype(int), 1].all())
            with self.assertRaises(thresher.UnsupportedError):
                index.hits.remove([1])

    def test_features_follow_the_order_of_cells(self) -> None:
        bids = np.random.default_rng(2).integers(1, 9, N).astype(np.float32)
        given = {"metric": "ip", "features": self.rows, "multipliers": bids, "threads": 2}
        with thresher.Index.build(self.path("c.index"), self.vectors, cells=12, **given) as index:
            self.assertGreater(index.info.n_cells, 6)
            self.check_values(index, self.sums * bids)
            assert index.hits is not None
            shares = index.hits.explain(7, self.asked[0])
            self.assertEqual(shares, {f: self.asked[0][f] for f in self.rows[7]})
            rows = index.rows(np.arange(N))
            self.assertFalse(np.array_equal(rows, np.arange(N)))
            with self.assertRaisesRegex(ValueError, "give ids="):
                index.hits.set_values(None, np.arange(N) % 2)
            index.hits.set_values(None, np.arange(N) % 2, ids=np.arange(N))
            self.check_values(index, self.sums + np.arange(N) % 2)
            ids, _ = index.search(self.queries, 5, target="1 AND NOT 3", recall=0.9)
            self.assertTrue((self.has[ids.astype(int), 1] & ~self.has[ids.astype(int), 3]).all())
            found, _ = index.search(self.queries[0], 5, features=self.asked[0], filter=index.filter_ids([7, 300]))
            self.assertEqual(sorted(found[:2].tolist()), [7, 300])
            index.hits.set_values(bids[::-1], ids=np.arange(N)[::-1])
            self.vectors[7], self.rows[7], bids[7] = -self.vectors[7], [3, 29], 50
            index.upsert(self.vectors[7:8], ids=[7], features=[[3, 29]], multipliers=[50])
            index.remove(np.arange(0, N, 2))
            index.compact()
            self.assertGreater(index.info.n_cells, 2)
            self.has[7] = np.isin(np.arange(FEATURES), [3, 29])
            values = (self.queries @ self.vectors.T + self.weights @ self.has.T) * bids
            values[:, ::2] = -np.inf
            self.check_values(index, values)
            self.assertEqual(index.hits.explain(7, {3: 2.0, 4: 1.0, 29: 1.0}), {3: 2.0, 29: 1.0})
            index.verify()
        with thresher.Index.build(self.path("auto.index"), self.vectors, cells="auto", **given) as index:
            self.assertEqual(index.info.n_cells, 0)
        for wrong in (self.rows[1:], [*self.rows, [1]]):
            with self.assertRaisesRegex(ValueError, "features of"):
                thresher.Index.build(self.path("y.index"), self.vectors, cells=12, features=wrong)

    def test_the_first_features_decide_between_words_and_numbers(self) -> None:
        none: list[list[str]] = [[]]
        for later, target in (([["b"]], "b"), ([[7]], "7"), ([[]], None)):
            x, ids = self.vectors, np.arange(N)
            with thresher.Index.build(self.path("z.index"), x, ids=ids, features=none * N, replace=True) as index:
                index.add(x[:1], ids=[9000], features=none)
                index.add(x[:1], ids=[9001], features=later)
                with index.writer() as writer:
                    writer.add(x[1:2], ids=[9002], features=later)
                index.compact()
                index.verify()
                assert index.hits is not None
                self.assertEqual(index.hits.info.has_words, target == "b")
                if target is not None:
                    found = index.search(x[0], 3, target=target)[0].tolist()
                    self.assertEqual((sorted(found[:2]), found[2]), ([9001, 9002], thresher.NO_ID))
                    with self.assertRaises(thresher.Error):
                        index.add(x[:1], ids=[9003], features=[[3]] if target == "b" else [["b"]])
                self.assertEqual(len(index), N + 3)

    def test_items_come_and_go_with_their_features(self) -> None:
        half, bids = N // 2, np.arange(1, N + 1, dtype=np.float32)
        with thresher.Index.build(
            self.path("x.index"), self.vectors[:half], metric="ip", features=self.rows[:half], multipliers=bids[:half]
        ) as index:
            change = index.add(self.vectors[half:], features=self.rows[half:], multipliers=bids[half:])
            self.assertEqual(change.first_id, half)
            self.check_values(index, self.sums * bids)
            self.vectors[7], self.rows[7], bids[7] = -self.vectors[7], [3, 29], 50
            index.upsert(self.vectors[7:8], ids=[7], features=[[3, 29]], multipliers=[50])
            self.has[7] = np.isin(np.arange(FEATURES), [3, 29])
            self.sums = self.queries @ self.vectors.T + self.weights @ self.has.T
            self.check_values(index, self.sums * bids)
            index.remove(np.arange(0, N, 2))
            values = self.sums * bids
            values[:, ::2] = -np.inf
            self.check_values(index, values)
            before = index.info.file_bytes
            index.compact()
            self.assertLess(index.info.file_bytes, before)
            self.check_values(index, values)
            assert index.hits is not None
            self.assertEqual(index.hits.explain(7, {3: 2.0, 4: 1.0, 29: 1.0}), {3: 2.0, 29: 1.0})
            self.assertNotIn(8, index.hits)
            index.verify()
            wrong = (
                (ValueError, "give those of each", lambda: index.add(self.vectors[:2])),
                (ValueError, "features of 1 items for the 2 rows", lambda: index.add(self.vectors[:2], features=[[1]])),
                (ValueError, "lists of words", lambda: index.add(self.vectors[:1], features=[["red"]])),
                (thresher.FormatError, "no words", lambda: index.add(self.vectors[:1], ids=[9000], features=[["red"]])),
            )
            for kind, text, doing in wrong:
                with self.assertRaisesRegex(kind, text):
                    doing()
            self.check_values(index, values)

    def test_a_writer_takes_features(self) -> None:
        half, bids = N // 2, np.arange(1, N + 1, dtype=np.float32)
        with thresher.Index.build(
            self.path("x.index"), self.vectors[:half], metric="ip", features=self.rows[:half], multipliers=bids[:half]
        ) as index:
            with index.writer() as writer:
                change = writer.add(self.vectors[half:-1], features=self.rows[half:-1], multipliers=bids[half:-1])
                self.assertEqual((change.first_id, change.n_items), (half, N - 1))
                writer.add(self.vectors[-1], ids=N - 1, features=self.rows[-1:], multipliers=bids[-1])
                self.vectors[7], self.rows[7], bids[7] = -self.vectors[7], [3, 29], 50
                self.assertEqual(
                    writer.upsert(self.vectors[7], ids=[7], features=[[3, 29]], multipliers=[50]).n_replaced, 1
                )
                self.has[7] = np.isin(np.arange(FEATURES), [3, 29])
                self.assertEqual(writer.remove([8]).n_removed, 1)
                for wrong in ({}, {"features": [[1], [2]]}, {"multipliers": [1]}, {"features": [["red"]]}):
                    with self.assertRaises(ValueError):
                        writer.add(self.vectors[:1], **wrong)
                values = (self.queries @ self.vectors.T + self.weights @ self.has.T) * bids
                values[:, 8] = -np.inf
                index.refresh()
                self.check_values(index, values)
                writer.compact()
            index.refresh()
            self.check_values(index, values)
            index.verify()
        with thresher.Index.build(self.path("plain.index"), self.vectors) as plain, plain.writer() as writer:
            with self.assertRaisesRegex(ValueError, "without features"):
                writer.add(self.vectors[0], features=[[1]])

    def check_values(self, index: thresher.Index, values: np.ndarray) -> None:
        ids, found = index.search(self.queries, 5, features=self.asked, exact=True)
        for q in range(QUERIES):
            best = np.sort(values[q])[::-1][:5]
            np.testing.assert_array_equal(found[q], best)
            np.testing.assert_array_equal(values[q][ids[q].astype(int)], best)

    def test_words_and_names_of_a_changing_index(self) -> None:
        words = [["red", "big"], ["red"], []]
        names = ["a", "b", "c"]
        with thresher.Index.build(self.path("w.index"), self.vectors[:3], ids=names, features=words) as index:
            with index.writer() as writer:
                writer.upsert(self.vectors[3:5], names=["b", "d"], features=[["blue"], ["big", "blue"]])
            index.refresh()
            assert index.hits is not None
            found, _ = index.search(self.vectors[0], 4, target="blue")
            self.assertEqual(sorted(index.names(found[:2])), ["b", "d"])
            self.assertEqual((found[2], len(found)), (thresher.NO_ID, len(index)))
            self.assertEqual(index.hits.explain(index.find("d"), {"big": 1.0, "red": 1.0}), {"big": 1.0})
            self.assertEqual(index.names(index.search(self.vectors[0], 1, target="red")[0]), ["a"])
            with self.assertRaisesRegex(thresher.ArgumentError, "features are words"):
                index.add(self.vectors[:1], names=["e"], features=[[1]])

    def test_names_and_words_stay_as_they_are(self) -> None:
        texts = ["\ufeffa", '"quoted"', '"', "\\t", "e\u0301", "\u00e9", "#"]
        rows = self.vectors[: len(texts)]
        for features in (None, [[text] for text in texts]):
            path = self.path("texts.index")
            given = {"features": features, "replace": True, "calibration_queries": 0}
            with thresher.Index.build(path, rows, ids=texts, **given) as index:
                self.assertEqual(index.names(index.ids()), texts)
                index.add(rows, names=[f"\ufeff{text}" for text in texts], features=features)
                with index.writer() as writer:
                    writer.add(rows[:2], names=["\ufeffx", '"y'], features=features and features[:2])
                index.refresh()
                for text in (*texts, *(f"\ufeff{text}" for text in texts), "\ufeffx", '"y'):
                    self.assertIn(text, index)
                for text in texts if features else ():
                    best = index.search(rows[0], 1, features={text: 100.0})[0][0]
                    self.assertIn(index.names([best])[0], (text, f"\ufeff{text}", "\ufeffx", '"y'))
                index.verify()

    def test_a_value_needs_features(self) -> None:
        with thresher.Index.build(self.path("bids.index"), self.vectors, features=self.rows) as index:
            for options in ({}, {"recall": 0.9}, {"target": "1"}):
                with self.assertRaisesRegex(ValueError, "value: 'sigmoid' was given without features"):
                    index.search(self.queries, 3, value="sigmoid", **options)

    def test_names_are_removed_only_where_items_have_names(self) -> None:
        with thresher.Index.build(self.path("rows.index"), self.vectors) as index:
            with self.assertRaisesRegex(ValueError, "its items have no names: give ids"):
                index.remove(names=["x"])
            with self.assertRaisesRegex(TypeError, "names="):
                index.remove(["x"])

    def test_what_cannot_be_asked(self) -> None:
        index = thresher.Index.build(self.path("plain.index"), self.vectors, metric="ip")
        self.assertIsNone(index.hits)
        with self.assertRaises(thresher.UnsupportedError):
            index.search(self.queries[0], 5, features={1: 1.0})
        index = thresher.Index.build(self.path("x.index"), self.vectors, metric="ip", features=self.rows)
        with self.assertRaises(ValueError):
            index.search(self.queries, 5, features=self.asked[:3])
        with self.assertRaises(thresher.ArgumentError):
            index.search(self.queries[0], 5, features={1: float("nan")})
        with self.assertRaises(thresher.ArgumentError):
            thresher.Index.build(self.path("y.index"), self.vectors, features=self.rows[1:])
        with self.assertRaises(ValueError):
            thresher.Index.build(self.path("z.index"), self.vectors, features=self.rows, multipliers=[1], offsets=[1, 2])

    def test_a_dual_model_reads_users(self) -> None:
        items, requests = self.path("items.tsv"), self.path("requests.tsv")
        with open(items, "w") as file:
            file.writelines(f"ad{i}\tcategory={i % 5} brand={i // 5}\n" for i in range(40))
        with open(requests, "w") as file:
            for r in range(300):
                ads = " ".join(f"{'~' if a > 1 else ''}ad{(r % 5 + 5 * (r % 8) + a * 7) % 40}:1" for a in range(4))
                file.write(f"click.category={r % 5}\t{ads}\n")
        model = self.path("m.safetensors")
        dual = thresher.Dual.train(requests, items, model, n_dims=6, n_products=2, n_epochs=2, batch=30)
        texts = [f"category={i % 5} brand={i // 5}" for i in range(40)]
        index = thresher.Index.build(self.path("ads.index"), texts, model=dual, features=items)
        self.assertEqual(index.info.metric, "ip")
        self.assertEqual(index.model, dual.info)
        users = ["click.category=1", "click.category=2:3"]
        ids, values = index.search(users, 4, exact=True)
        again, others = index.search(dual.encode(users), 4, features=[dual.hits(u) for u in users], exact=True)
        np.testing.assert_array_equal(ids, again)
        np.testing.assert_array_equal(values, others)
        one, _ = index.search(users[0], 4, exact=True)
        np.testing.assert_array_equal(one, ids[0])
        self.assertEqual(index.name(int(ids[0][0])), f"ad{int(ids[0][0])}")
        cells = thresher.Index.build(self.path("cells.index"), texts, model=dual, features=items, cells=5)
        self.assertGreater(cells.info.n_cells, 1)
        np.testing.assert_array_equal(cells.search(users, 4, exact=True)[1], values)
        np.testing.assert_array_equal(cells.names(cells.search(users[0], 1)[0]), index.names(ids[0][:1]))

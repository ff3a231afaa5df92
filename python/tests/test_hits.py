# SPDX-License-Identifier: Apache-2.0
"""Posting lists: built from arrays and tables, searched beside numpy, explained, and refusals."""

from __future__ import annotations

import warnings

import numpy as np
from support import Case, random_vectors

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
        allowed = np.setdiff1d(new_ids, gone)
        found, _ = hits.search(query, 500, filter=allowed)
        self.assertEqual(sorted(found[found != thresher.NO_ID].tolist()), allowed.tolist())
        for rows in (np.ones(hits.info.n_rows, bool), thresher.Filter(hits.info.n_rows, allowed[:3])):
            with self.assertRaisesRegex(ValueError, "was changed"):
                hits.search(query, 5, filter=rows)
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

    def test_lists_of_words_are_what_a_table_of_them_is(self) -> None:
        rows = [["kind=chair", "colour=red"], [], ["colour=blue"]]
        query = {"colour=red": 2, "colour=blue": 1}
        for ids, known_by in ((None, [0, 2, 1]), ([7, 3, 5], [7, 5, 3]), (["chair", "box", "rug"], [0, 2, 1])):
            hits = thresher.Hits.build(self.path("x.hits"), rows, ids=ids, replace=True)
            self.assertTrue(hits.info.has_words)
            self.assertEqual(hits.search(query, 3)[0].tolist(), known_by)
            vectors = np.zeros((3, 4), np.float32)
            with thresher.Index.build(self.path("x"), vectors, features=rows, ids=ids, replace=True) as index:
                found, values = index.search(np.ones(4, np.float32), 3, features=query)
                self.assertEqual((found.tolist(), values.tolist()), (known_by, [2, 1, 0]))
                self.assertEqual("rug" in index, known_by == [0, 2, 1] and ids is not None)
        self.assertEqual((hits.name(2), hits.explain(2, query)), ("rug", {"colour=blue": 1.0}))
        hits.add([["kind=lamp"]], names=["lamp"])
        for words, ids, part in (
            ([["a b"]], None, "word 0 of item 0 is 'a b'"),
            ([["a", ""]], None, "word 1 of item 0 is ''"),
            ([["a", "b\0c"]], None, "word 1 of item 0: byte 1 of .* is NUL"),
            ([["a", 1]], None, "int was given"),
            ([["a"], ["b"]], [1], "1 for 2 items"),
            ([["a"], ["b"]], ["x", "x"], "^features: .*x"),
        ):
            with self.assertRaisesRegex((ValueError, TypeError), part):
                thresher.Hits.build(self.path("y.hits"), words, ids=ids)

    def test_words_that_no_item_has_are_told(self) -> None:
        table = self.path("ads.tsv")
        with open(table, "w") as file:
            file.write("chair\tkind=chair colour=red\nrug\tcolour=blue\n")
        hits = thresher.Hits.build(self.path("ads.hits"), table)
        with self.assertWarnsRegex(UserWarning, "ads.hits: no item has any of the words of the query") as told:
            hits.search(["kind=rug", "size=3"], 2)
        self.assertEqual(told.filename, __file__)
        with self.assertWarnsRegex(UserWarning, "of query 1"):
            hits.search([["colour=red"], ["color=red"]], 2)
        with self.assertWarnsRegex(UserWarning, "target: no item has 'colour=green'") as warned:
            hits.search(["colour=red"], 2, target="colour=red OR colour=green")
        self.assertEqual(warned.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            hits.search(["colour=red", "size=3"], 2, target="NOT colour=blue")
            hits.search([], 2)
        with thresher.Index.build(self.path("index"), np.eye(2, dtype=np.float32), features=table) as index:
            with self.assertWarnsRegex(UserWarning, "index: no item has any of the words of the query") as told:
                index.search(np.ones(2, np.float32), 1, features=["size=3"])
            self.assertEqual(told.filename, __file__)
            with self.assertWarnsRegex(UserWarning, "target: no item has 'size=3'") as warned:
                index.search(np.ones(2, np.float32), 1, target="size=3")
            self.assertEqual(warned.filename, __file__)

    def test_a_text_is_no_list_of_words(self) -> None:
        hits = thresher.Hits.build(self.path("x.hits"), [["a"], ["b"]], ids=["x", "y"])
        index = thresher.Index.build(self.path("x"), np.eye(2, dtype=np.float32), features=[["a"], ["b"]])
        for call in (
            lambda: hits.search("ab", 1),
            lambda: hits.search(b"ab", 1),
            lambda: hits.search("", 1),
            lambda: hits.search([["a"], "ab"], 1),
            lambda: hits.explain(0, "ab"),
            lambda: index.search(np.ones(2), 1, features="ab"),
        ):
            with self.assertRaisesRegex(TypeError, r"a list of words, \['color=green'\], or a dict, {'color=green'"):
                call()
        for rows in (["color=green"], [["a"], "ab"], [["a"], b"ab"]):
            for add in (
                lambda r: hits.add(r, names=["new", "other"][: len(r)]),
                lambda r: thresher.Hits.build(self.path("y.hits"), r),
                lambda r: thresher.Index.build(self.path("y"), np.eye(len(r), 2), features=r),
            ):
                with self.assertRaisesRegex(TypeError, r"of item [01]: .* give a list of words, \['color=green'\]"):
                    add(rows)
        self.assertEqual(len(hits), 2)

    def test_features_of_items_have_no_weights(self) -> None:
        hits = thresher.Hits.build(self.path("x.hits"), [["a"]], ids=["x"])
        calls = (
            lambda r: hits.add(r, names=[f"new{i}" for i in range(len(r))]),
            lambda r: thresher.Hits.build(self.path("y.hits"), r, replace=True),
            lambda r: thresher.Index.build(self.path("y"), random_vectors(len(r), 4), features=r, replace=True),
        )
        for call in calls:
            for rows in ([{"color=red": 5}], [{3: 1.0}], {"a": 1.0}):
                with self.assertRaisesRegex(TypeError, "items' features have no weights"):
                    call(rows)
            with self.assertWarnsRegex(UserWarning, "features of item 1: .*'w=x:3' is one word") as told:
                call([["a:b", ":3", "a:"], ["v", "w=x:3", "w=x:4"], ["w=x:5"]])
            self.assertEqual((told.filename, len(told.warnings)), (__file__, 1))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                call([["a:b", ":3", "a:", "a:1_0"], [], ["3"]])
        with self.assertWarns(UserWarning):
            hits.add([["w=x:3"]], names=["z"])
        self.assertEqual(hits.search(["w=x:3"], 1)[1][0], 1)

    def test_rows_may_be_of_any_kind(self) -> None:
        class Series:  # as of pandas: it has an array of objects, and is iterated over by value
            def __init__(self, rows: list) -> None:
                self.rows = rows

            def __iter__(self) -> object:
                return iter(self.rows)

            def __array__(self, *_: object, **__: object) -> np.ndarray:
                made = np.empty(len(self.rows), object)
                made[:] = self.rows
                return made

        words, numbers = [["a", "b"], ["b", "c"]], [[1, 2], [2, 3]]
        for n, (rows, query) in enumerate(((words, ["a"]), (numbers, [1]))):
            for name, given in {
                "tuples": tuple(map(tuple, rows)),
                "generator": (iter(row) for row in rows),
                "array": np.array(rows),
                "objects": np.asarray(Series(rows)),
                "list of arrays": [np.array(row) for row in rows],
                "series": Series(rows),
                "sets": [set(row) for row in rows],
            }.items():
                with self.subTest(name, words=n == 0):
                    path = self.path(f"{n}{name}.hits")
                    hits = thresher.Hits.build(path, given)
                    self.assertEqual((hits.info.n_items, hits.info.has_words), (2, n == 0))
                    self.assertEqual([v.tolist() for v in hits.search(query, 2)], [[0, 1], [1, 0]])
        pair = np.array(["a"]), np.array(["b", "c"])
        self.assertEqual(thresher.Hits.build(self.path("pair.hits"), pair).explain(1, ["c"]), {"c": 1.0})
        made = thresher.Index.build(self.path("x"), np.eye(2), features=(iter(row) for row in words))
        self.assertEqual(made.hits.explain(1, ["c"]), {"c": 1.0})
        hits.add((row for row in numbers), ids=[8, 9])
        self.assertIn(9, hits)
        with self.assertRaisesRegex(TypeError, r"expected integers, or words \(str\) for all items"):
            thresher.Hits.build(self.path("y.hits"), [[b"a"]])
        for wrong in (5, [5], [["a"], 5], np.arange(4)):
            with self.assertRaisesRegex(TypeError, r"(features|item [01]): .*[05].* was given: give each"):
                thresher.Hits.build(self.path("y.hits"), wrong)

    def test_other_matrices_of_scipy_are_turned_round(self) -> None:
        class Columns:  # a CSC matrix, whose arrays are by column
            indptr, indices = np.array([0, 2]), np.array([0, 1])

            def tocsr(self) -> object:
                made = Columns()
                made.indptr, made.indices = np.array([0, 1, 2]), np.array([0, 0])
                return made

        self.assertEqual(len(thresher.Hits.build(self.path("x.hits"), Columns())), 2)

    def test_items_are_looked_for_and_removed_by_name(self) -> None:
        hits = thresher.Hits.build(self.path("x.hits"), [["a"], ["b"]], ids=["x", "new"])
        self.assertTrue("new" in hits and 1 in hits)
        self.assertFalse("old" in hits or 2 in hits or -1 in hits or None in hits or "a\0" in hits)
        with self.assertRaisesRegex(FileNotFoundError, "no file 'new': give a list of names, or the name of a file"):
            hits.remove("new")
        self.assertEqual(hits.remove(["new"]), 0)
        self.assertFalse("new" in hits or 1 in hits)

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
        with self.assertRaisesRegex(thresher.ExistsError, r"give replace=True to replace it, or"):
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

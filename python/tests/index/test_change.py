# SPDX-License-Identifier: Apache-2.0
"""Items come and go: add, upsert, remove, compact and refresh, items in bulk, and threads that search meanwhile."""

from __future__ import annotations

import fcntl
import os
import pickle
import threading
import time
from typing import Any

import numpy as np

import test_tower
import thresher
from support import Case, VectorCase, plain_search, random_vectors
from thresher import Index, NotFoundError

N, DIMS = 1000, 16


class Changes(VectorCase):
    shape, options = (N, DIMS, 20), {"threads": 2, "calibration_queries": 0}

    def setUp(self) -> None:
        super().setUp()
        self.more = random_vectors(200, DIMS, seed=3)

    def check(self, index: Index, items: dict[int, Any], newest: bool = True) -> None:
        """The index holds these vectors by id and finds them."""
        ids = np.array(list(items), np.uint64)
        vectors = np.array(list(items.values()), np.float32)
        if newest:
            index.verify()
        self.assertEqual(len(index), len(items))
        self.assertEqual(sorted(index.ids().tolist()), sorted(items))
        np.testing.assert_array_equal(index.vectors(ids), vectors)
        truth = ids[plain_search(vectors, self.queries, 5).astype(int)]
        np.testing.assert_array_equal(index.search(self.queries, 5, exact=True)[0], truth)

    def test_codes_are_learned_from_enough_items_whatever_adds_them(self) -> None:
        rows = random_vectors(400, DIMS, seed=9)
        for name, add in {
            "iterator": lambda index: index.add(iter([rows[0]])),
            "chunks": lambda index: index.add(iter([rows[:1]]), ids=[0]),
            "upsert": lambda index: index.upsert(iter([rows[:1]])),
        }.items():
            with self.subTest(name), Index.create(self.path(name), DIMS) as index:
                add(index)
                self.assertEqual((index.info.n_segments, index.info.n_journal_items), (0, 1))
                index.add(iter([rows[1:100], rows[100:200]]))
                self.assertEqual((index.info.n_segments, index.info.n_journal_items), (0, 200))
                index.add(iter([rows[200:]]))
                self.assertEqual((index.info.n_journal_items, len(index)), (0, 400))
                now, learned = index.code_error()
                self.assertTrue(0.1 < learned < 0.6 and abs(now / learned - 1) < 0.1)
                np.testing.assert_array_equal(index.search(rows, 1, exact=True)[0][:, 0], np.arange(400))
                with self.assertRaisesRegex(thresher.ArgumentError, "ids"):
                    index.add(iter([rows[:1]]), ids=[1000, 1001])

    def test_equal_items_have_an_error_that_later_ones_exceed(self) -> None:
        with Index.create(self.path("equal"), DIMS) as index:
            index.add(np.tile(random_vectors(1, DIMS), (300, 1)))
            index.add(random_vectors(5000, DIMS))
            now, learned = index.code_error()
            self.assertTrue(now > 1.05 * learned > 0)
            index.compact()
            now, learned = index.code_error()
            self.assertTrue(0.1 < now <= 1.05 * learned)

    def test_items_come_and_go(self) -> None:
        items = dict(enumerate(self.vectors))
        other = Index.open(self.path(), threads=2)
        self.addCleanup(other.close)
        change = self.index.add(self.more)
        self.assertEqual(change, (200, 0, 0, 0, N, N + 200, 1, 0, None))
        self.check(other, items, newest=False)
        items.update(enumerate(self.more, N))
        self.check(self.index, items)

        change = self.index.upsert(-self.more, ids=np.arange(1100, 1300))
        self.assertEqual(change[:7], (100, 100, 0, 0, None, N + 300, change.n_commits))
        items.update(enumerate(-self.more, 1100))
        self.check(self.index, items)

        change = self.index.remove([*range(0, 600, 2), 77777])
        self.assertEqual((change.n_removed, change.n_missing), (300, 1))
        for id in range(0, 600, 2):
            del items[id]
        self.check(self.index, items)
        self.assertTrue(other.refresh())
        self.assertFalse(other.refresh())
        self.check(other, items)
        self.assertNotIn(0, other)
        self.assertIn(1, other)

        before = self.index.info.file_bytes
        self.index.compact()
        self.assertLess(self.index.info.file_bytes, before)
        self.assertEqual(self.index.info.n_removed, 0)
        self.check(self.index, items)
        self.assertEqual(self.index.add(self.more).first_id, 1300)  # ids are never used again

    def test_nothing_is_added_removed_found_and_filtered(self) -> None:
        none: tuple[Any, ...] = (np.empty((0, DIMS), np.float32), np.empty((0, DIMS)), np.array([]), np.empty((0, 0)), [], iter(()))
        with Index.build(self.path("named"), self.vectors[:9], ids=[f"n{i}" for i in range(9)]) as named:
            for index in (self.index, named):
                before = len(index), index.info.n_commits
                for nothing in none:
                    self.assertEqual(index.add(nothing, ids=[]).n_added, 0)
                for no_ids in ([], np.array([]), np.empty(0, np.int64), np.array([], str)):
                    self.assertEqual(index.upsert(none[0], ids=no_ids).n_added, 0)
                    self.assertEqual(index.remove(no_ids).n_removed, 0)
                    self.assertTrue((index.search(self.queries, 3, filter=index.filter_ids(no_ids))[0] == thresher.NO_ID).all())
                    self.assertEqual(index.vectors(no_ids).shape, (0, DIMS))
                self.assertEqual([part.shape for part in index.search(none[0], 3)], [(0, 3), (0, 3)])
                self.assertEqual([len(part) for part in index.search_radius(none[0], 0.5)], [1, 0, 0])
                self.assertEqual((len(index), index.info.n_commits), before)
                with self.assertRaisesRegex(thresher.ArgumentError, "2 rows of vectors: give one for every|give a name for each"):
                    index.add(self.vectors[:2], ids=[])

    def test_every_source(self) -> None:
        np.save(self.path("more.npy"), self.more)
        sources: list[Any] = [
            self.more,
            np.asfortranarray(self.more.astype(np.float64)),
            self.path("more.npy"),
            (part for part in np.split(self.more, 4)),
            list(self.more),
        ]
        for number, source in enumerate(sources):
            change = self.index.add(source)
            self.assertEqual(change.n_added, 200)
            assert change.first_id is not None
            np.testing.assert_array_equal(self.index.vectors(np.arange(200) + change.first_id), self.more)
            self.assertEqual(len(self.index), N + 200 * (number + 1))

    def test_names(self) -> None:
        names = [f"word {i}" for i in range(N)]
        with Index.build(self.path("n"), self.vectors, ids=names, threads=2, calibration_queries=0) as index:
            index.add(self.more[:3], names=["a", "b", "c"])
            index.upsert(self.more[3:5], names=["b", "word 7"])
            self.assertEqual(len(index), N + 3)
            np.testing.assert_array_equal(index.vectors(["b", "word 7", "a"]), self.more[[3, 4, 0]])
            np.testing.assert_array_equal(index.rows(["word 3", "word 4"]), [3, 4])
            allowed = index.filter_ids(["a", "word 9"])
            found = index.search(self.more[0], 3, filter=allowed, exact=True)[0]
            self.assertEqual(index.names(found), ["a", "word 9", None])
            change = index.remove(names=["a", "nothing", "word 9"])
            self.assertEqual((change.n_removed, change.n_missing), (2, 1))
            self.assertNotIn("a", index)
            for doing in (
                lambda: index.vectors(["b", "a"]),
                lambda: index.rows(["a"]),
                lambda: index.filter_ids(["a"]),
                lambda: index.remove(names=["b", "a"], strict=True),
            ):
                with self.assertRaisesRegex(NotFoundError, "the name 'a'"):
                    doing()
            self.assertIn("b", index)
            with self.assertRaisesRegex(thresher.ArgumentError, "'b' already"):
                index.add(self.more[:1], names=["b"])
            with self.assertRaisesRegex(thresher.ArgumentError, "give a name for each"):
                index.add(self.more[:1])

    def test_texts_by_the_model_of_the_index(self) -> None:
        test_tower.train(self.path("tower"), 2, 2)
        texts = [f"text number {i} of many words" for i in range(300)]
        with Index.build(self.path("t"), texts[:200], model=self.path("tower"), threads=2) as index:
            index.add(texts[200:250])
            index.add(iter(texts[250:]))
            with Index.build(self.path("all"), texts, model=self.path("tower"), threads=2) as all_of_them:
                np.testing.assert_array_equal(index.vectors(index.ids()), all_of_them.vectors(all_of_them.ids()))

    def test_filters_after_changes(self) -> None:
        self.index.remove(np.arange(0, N, 3))
        self.index.add(self.more)
        n_rows = self.index.info.n_rows
        self.assertGreaterEqual(n_rows, len(self.index))
        rows = self.index.rows([1, 1001])
        by_ids = self.index.filter_ids([1, 1001])
        for allowed in ([1, 1001], np.array([1001, 1], np.uint16), by_ids):
            found = self.index.search(self.queries, 3, filter=allowed)[0]
            self.assertTrue((np.sort(found[:, :2]) == [1, 1001]).all() and (found[:, 2] == thresher.NO_ID).all())
        words = np.full(-(-n_rows // 64), 2**64 - 1, np.uint64)
        hand_made = thresher.Filter(n_rows, rows), thresher.Filter.from_words(n_rows, words)
        for unordered in (np.ones(n_rows, bool), *hand_made):
            for search in (self.index.search, self.index.search_radius):
                with self.assertRaisesRegex(ValueError, "not in the order of its items: give index.filter_ids"):
                    search(self.queries, 1, filter=unordered)
        with self.assertRaises(thresher.NotFoundError):
            self.index.filter_ids([1, 0])
        for given in ([1, 0, 1], np.array([0, 1])):
            known = self.index.filter_ids(given, missing="ignore")
            self.assertEqual(len(known), 1)
            self.assertEqual(self.index.search(self.queries[0], 1, filter=known)[0].tolist(), [1])
        self.index.upsert(self.more[:1], ids=[1])
        with self.assertRaisesRegex(ValueError, "was made for commit [0-9]+ of .*: make it again"):
            self.index.search(self.queries, 3, filter=by_ids)
        with Index.build(self.path("cells"), self.vectors, cells=8, threads=2) as cells:
            with self.assertRaisesRegex(ValueError, "has cells"):
                cells.search(self.queries, 3, filter=np.ones(N, bool))
            self.assertEqual((cells.info.n_cells, cells.info.journal_bytes), (8, 0))
            measured = cells.measure_cells()
            self.assertEqual((measured.n_cells, measured.n_without_cell), (8, 0))
            self.assertTrue(0 < measured.smallest <= N / 8 <= measured.largest)
            self.assertEqual(cells.search(self.queries[0], 1, filter=cells.filter_ids([7]))[0].tolist(), [7])
        with Index.build(self.path("chosen"), self.vectors, cells="auto", threads=2) as chosen:
            self.assertEqual(chosen.info.n_cells, 0)  # few items
            self.assertEqual(chosen.measure_cells(), (0, 0, 0, 0, 0.0, 0.0, 0.0))
            with self.assertRaisesRegex(TypeError, r"or a list of names: \['seven'\]"):
                chosen.vectors("seven")
        for wrong, kind, words in (
            ("many", ValueError, "cells is 'many': expected"),
            (True, TypeError, 'cells is True: expected a whole number or "auto"'),
            (False, TypeError, "cells is False: expected"),
            (0, ValueError, "cells is 0: 1 to 65536 are possible"),
        ):
            with self.assertRaisesRegex(kind, words):
                Index.build(self.path("many"), self.vectors, cells=wrong)

    def test_recall_is_kept_where_added_items_have_no_cells(self) -> None:
        root = os.path.join(os.path.dirname(__file__), "..", "..", "..", "data", "words")
        words, queries = (np.load(os.path.join(root, name)).astype(np.float32) for name in ("words.npy", "queries.npy"))
        for metric in ("cosine", "l2", "ip"):
            with Index.build(self.path(metric), words[:12000], metric=metric, cells=128, threads=2) as index:
                index.add(words[12000:13000])
                for k, recall in ((1, 0.99), (1, 0.999), (10, 0.9)):
                    least = index.search(queries, k, exact=True)[1][:, -1:]
                    found = index.search(queries, k, recall=recall)[1] >= least
                    self.assertGreaterEqual(found.mean(), recall - 0.005, f"{metric}, k = {k}, recall {recall}")

    def test_a_filter_of_an_index_that_was_replaced(self) -> None:
        ids = np.arange(N)
        Index.build(self.path("b"), self.vectors, ids=ids, threads=2).close()
        with Index.open(self.path("b"), threads=2) as index:
            allowed = index.filter_ids([1, 2])
            Index.build(self.path("b"), self.vectors[::-1], ids=ids[::-1], replace=True, threads=2).close()
            self.assertTrue(index.refresh())
            found = index.search(self.queries[0], 3, filter=allowed)[0]
            self.assertEqual(sorted(found[:2].tolist()), [1, 2])

    def test_an_index_that_refreshes_itself(self) -> None:
        with Index.open(self.path(), threads=2, refresh="auto") as auto:
            allowed = auto.filter_ids([3])
            self.index.upsert(self.more[:2], ids=[3, 5000])
            self.assertEqual(auto.search(self.more[1], 1, exact=True)[0].tolist(), [5000])
            self.assertIn(5000, auto)
            np.testing.assert_array_equal(auto.vector(3), self.more[0])
            self.assertEqual((len(auto), auto.info.n_items), (N + 1, N + 1))
            found = auto.search(self.more[0], 1, filter=allowed, exact=True)
            self.assertEqual(found[0].tolist(), [3])
            np.testing.assert_allclose(found[1], [1], rtol=1e-5)  # the new vector: a filter follows the commits
            self.index.remove([3])
            self.assertEqual(auto.search(self.more[0], 1, filter=allowed)[0].tolist(), [thresher.NO_ID])
            self.index.add(self.more[:1], ids=[3])
            again = pickle.loads(pickle.dumps(auto))
            self.index.remove([5000])
            self.assertNotIn(5000, again)
            again.close()
        with self.assertRaisesRegex(ValueError, "refresh"):
            Index.open(self.path(), refresh="often")

    def test_a_search_during_which_files_change_is_repeated(self) -> None:
        """The index is opened before the queries are converted, which here touches its files, as a copy over them."""

        class Queries:
            def __init__(self, test: Any, times: int) -> None:
                self.test, self.times, self.asked = test, times, 0

            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                self.asked += 1
                if self.asked <= self.times:
                    for name in os.listdir(self.test.path()):
                        os.utime(os.path.join(self.test.path(), name))
                    time.sleep(0.02)
                return self.test.queries

        expected = self.index.search(self.queries, 3)[0]
        with Index.open(self.path(), threads=2, refresh="auto") as auto:
            queries = Queries(self, 3)
            np.testing.assert_array_equal(auto.search(queries, 3)[0], expected)
            self.assertEqual(queries.asked, 4)
            queries = Queries(self, 1)
            self.assertEqual(auto.search_radius(queries, 0.99)[0][0], 0)
            self.assertEqual(queries.asked, 2)
            with self.assertRaisesRegex(thresher.FileError, "written or touched .* open it again, or refresh the index"):
                auto.search(Queries(self, 1000), 3)
        with Index.open(self.path(), threads=2) as manual, self.assertRaises(thresher.FileError):
            manual.search(Queries(self, 1), 3)

    def test_a_refresh_closes_files_that_were_deleted(self) -> None:
        """Not at once, but in a thread of its own."""

        def is_mapped() -> bool:
            with open("/proc/self/maps") as maps:
                return f"{self.path()}/{deleted} (deleted)" in maps.read()

        other = Index.open(self.path(), threads=2)
        self.addCleanup(other.close)
        (deleted,) = (name for name in os.listdir(self.path()) if name.endswith(".seg"))
        self.index.remove(range(0, N, 2))  # and a compaction, unless that has written the segment again
        self.index.compact()
        self.assertTrue(is_mapped())
        other.refresh()
        until = time.monotonic() + 30
        while is_mapped() and time.monotonic() < until:
            time.sleep(0.001)
        self.assertFalse(is_mapped())

    def test_threads_see_what_was_acknowledged(self) -> None:
        acknowledged, done, wrong = [0], threading.Event(), list[str]()
        with Index.open(self.path(), threads=1, refresh="auto") as auto, self.index.writer() as writer:

            def search() -> None:
                while not done.is_set():
                    n = acknowledged[0]
                    if n and auto.search(self.more[n - 1], 1, exact=True)[0].tolist() != [7000 + n - 1]:
                        wrong.append(f"item {n - 1} is not found")

            threads = [threading.Thread(target=search) for _ in range(3)]
            for thread in threads:
                thread.start()
            for i in range(60):
                writer.add(self.more[i], ids=7000 + i)
                acknowledged[0] = i + 1
            done.set()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])

    def test_wrong_input_changes_nothing(self) -> None:
        bad = self.more.copy()
        bad[3, 3] = np.nan
        index = self.index
        wrong: list[tuple[type[Exception], str, Any]] = [
            (ValueError, "8 dimensions", lambda: index.add(self.more[:, :8])),
            (ValueError, "row 3", lambda: index.add(bad)),
            (ValueError, "id 5 is repeated", lambda: index.upsert(self.more[:2], ids=[5, 5])),
            (ValueError, "id 5 already", lambda: index.add(self.more[:2], ids=[5000, 5])),
            (ValueError, "one for every row", lambda: index.add(self.more[:2], ids=[5000])),
            (ValueError, "give only one of them", lambda: index.add(self.more[:2], ids=[1, 2], names=["a", "b"])),
            (ValueError, "no names", lambda: index.add(self.more[:2], names=["a", "b"])),
            (ValueError, "negative", lambda: index.remove([-1])),
            (TypeError, "expected integers", lambda: index.remove([1.5])),
            (ValueError, "give ids or names", lambda: index.remove()),
            (TypeError, "sequence of str", lambda: index.remove(names=[1, 2])),
            (NotFoundError, "the id 5000", lambda: index.remove([1, 5000], strict=True)),
            (FileNotFoundError, "nowhere.npy", lambda: index.add("nowhere.npy")),
        ]
        for kind, text, doing in wrong:
            with self.assertRaisesRegex(kind, text):
                doing()
        self.assertEqual(index.info.n_commits, 0)
        self.assertFalse(index.refresh())
        index.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            index.add(self.more)

    def test_codes_are_learned_anew(self) -> None:
        self.index.add(self.more + 3)
        before, items = self.index.code_error(), {**dict(enumerate(self.vectors)), **dict(enumerate(self.more + 3, N))}
        self.index.compact(recode=True)
        now, learned = self.index.code_error()
        self.assertLess(now, before[0])
        self.assertAlmostEqual(now, learned, delta=0.05 * learned)
        self.check(self.index, items)

    def test_a_second_writer_is_refused(self) -> None:
        directory = os.open(self.path(), os.O_RDONLY)
        self.addCleanup(os.close, directory)
        fcntl.flock(directory, fcntl.LOCK_EX)
        for doing in (lambda: self.index.add(self.more), lambda: self.index.remove([1]), self.index.compact):
            with self.assertRaisesRegex(thresher.BusyError, "another writer"):
                doing()
        fcntl.flock(directory, fcntl.LOCK_UN)
        self.index.add(self.more)

    def test_progress_stops_an_addition(self) -> None:
        with self.assertRaises(thresher.CanceledError):
            self.index.add((random_vectors(20_000, DIMS) for _ in range(50)), progress=lambda *_: False)
        self.assertFalse(self.index.refresh())
        self.check(self.index, dict(enumerate(self.vectors)))


class Threads(Case):
    def test_searches_while_another_thread_changes(self) -> None:
        """Every answer is that of one commit: item i of generation g has the vector g * base[i]."""
        base = np.abs(random_vectors(2000, DIMS)) + 0.1
        index = Index.build(self.path(), base, metric="ip", threads=2, calibration_queries=0)
        self.addCleanup(index.close)
        order = np.random.default_rng(5).permutation(2000).astype(np.uint64)
        query = np.ones(DIMS, np.float32)
        ends = threading.Event()
        failures: list[str] = []

        def search() -> None:
            while not ends.is_set():
                ids, scores = index.search(query, 10, exact=True)
                if len(set(ids.tolist())) != 10 or thresher.NO_ID in ids.tolist():
                    failures.append(f"ids {ids}")
                generations = scores / base[ids.astype(int)].sum(1)
                if np.abs(generations - np.round(generations)).max() > 1e-3:
                    failures.append(f"generations {generations}")

        threads = [threading.Thread(target=search) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for generation in range(2, 5):
                for part in np.split(order, 8):
                    index.upsert(generation * base[part.astype(int)], ids=part)
                index.compact()
        finally:
            ends.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])
        np.testing.assert_allclose(index.vectors(np.arange(2000)), 4 * base, rtol=1e-6)

    def test_many_threads_add_by_one_object(self) -> None:
        index = Index.build(self.path(), random_vectors(500, DIMS), threads=2, calibration_queries=0)
        self.addCleanup(index.close)
        threads = [
            threading.Thread(target=lambda seed=seed: index.add(random_vectors(50, DIMS, seed))) for seed in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(index), 900)
        self.assertEqual(sorted(index.ids().tolist()), list(range(900)))

    def test_an_index_is_verified_while_it_changes(self) -> None:
        Index.build(self.path(), random_vectors(500, DIMS), calibration_queries=0).close()
        ending = threading.Event()

        def change() -> None:
            with Index.open(self.path()) as other, other.writer() as writer:
                while not ending.is_set():
                    writer.add(random_vectors(3, DIMS))
                    writer.flush()

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(30):
                with Index.open(self.path()) as index:
                    time.sleep(0.01)
                    index.verify()
        finally:
            ending.set()
            thread.join()

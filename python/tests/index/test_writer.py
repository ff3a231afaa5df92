# SPDX-License-Identifier: Apache-2.0
"""Empty indexes, and writers: durable single changes, of several threads, that other objects see after refresh()."""

from __future__ import annotations

import os
import threading

import numpy as np

from support import VectorCase, plain_search, random_vectors
from thresher import ArgumentError, BusyError, ExistsError, Index, IndexWriter

N, DIMS = 600, 16


class Writers(VectorCase):
    shape = N, DIMS, 20

    def setUp(self) -> None:
        super().setUp()
        self.index = Index.create(self.path(), DIMS)
        self.addCleanup(self.index.close)

    def check(self, ids: list[int], vectors: np.ndarray) -> None:
        """The index holds these items, and finds them."""
        self.index.refresh()
        self.index.verify()
        self.assertEqual(sorted(self.index.ids().tolist()), sorted(ids))
        np.testing.assert_array_equal(self.index.vectors(ids), vectors)
        truth = np.array(ids, np.uint64)[plain_search(vectors, self.queries, 5).astype(int)]
        np.testing.assert_array_equal(self.index.search(self.queries, 5, exact=True)[0], truth)

    def check_journal(self, n_items: int) -> None:
        """The journal holds so many items, in a file of so many bytes."""
        files = [name for name in os.listdir(self.path()) if name.startswith("journal-")]
        at_most = sum(os.path.getsize(os.path.join(self.path(), name)) for name in files)
        info = self.index.info
        self.assertEqual(info.n_journal_items, n_items)
        self.assertGreaterEqual(info.journal_bytes, n_items * DIMS * 4)
        self.assertLessEqual(info.journal_bytes, at_most)
        self.assertEqual(info.journal_bytes > 0, bool(files))

    def test_an_empty_index_finds_nothing(self) -> None:
        ids, scores = self.index.search(self.queries, 3)
        self.assertEqual((len(self.index), ids.shape), (0, (20, 0)))
        self.assertEqual(scores.shape, (20, 0))

    def test_items_are_there_before_and_after_codes_are_learned(self) -> None:
        with self.index.writer() as writer:
            change = writer.add(self.vectors[0])
            self.assertEqual((change.n_added, change.first_id, change.n_items), (1, 0, 1))
            writer.add(self.vectors[1:20])
            self.check(list(range(20)), self.vectors[:20])
            self.check_journal(20)
            writer.remove([19])
            self.check(list(range(19)), self.vectors[:19])
            self.check_journal(19)
            writer.add(self.vectors[19], ids=[19])
            writer.add(self.vectors[20:])
            writer.flush()
            self.check(list(range(N)), self.vectors)
            self.check_journal(0)
            change = writer.upsert(-self.vectors[:5], ids=[0, 1, 2, 3, N])
            self.assertEqual((change.n_added, change.n_replaced, change.first_id), (1, 4, None))
            change = writer.remove([4, 5, 99999])
            self.assertEqual((change.n_removed, change.n_missing), (2, 1))
            kept = [*range(4), N, *range(6, N)]
            now = np.concatenate([-self.vectors[:5], self.vectors[6:]])
            self.check(kept, now)
            writer.compact()
            self.check(kept, now)
        self.assertEqual(self.index.info.n_removed, 0)

    def test_a_journal_makes_searches_read_all_cells(self) -> None:
        """Additions and removals alike: measure_cells() warns until flush() or compact()."""
        vectors = random_vectors(20_000, DIMS, 3)
        with Index.build(self.path("cells"), vectors, cells=64) as cells, cells.writer() as writer:
            self.assertGreater(cells.measure_cells().speed, 0)
            for change, finish in (
                (lambda: writer.remove([7]), writer.flush),
                (lambda: writer.add(self.vectors[0]), writer.flush),
                (lambda: writer.remove([8]), writer.compact),
            ):
                change()
                cells.refresh()
                with self.assertWarnsRegex(UserWarning, r"read all cells until compact\(\), or flush\(\)"):
                    measured = cells.measure_cells()
                self.assertEqual((measured.n_cells > 0, measured.read, measured.speed), (True, 0.0, 0.0))
                finish()
                cells.refresh()
                self.assertGreater(cells.measure_cells().speed, 0)

    def test_the_object_itself_may_change_an_empty_index(self) -> None:
        self.assertEqual(self.index.add(self.vectors[:7]).n_items, 7)
        self.index.remove([3])
        self.check([0, 1, 2, 4, 5, 6], self.vectors[[0, 1, 2, 4, 5, 6]])

    def test_names(self) -> None:
        with Index.create(self.path("names"), DIMS, names=True, metric="l2") as index:
            with index.writer() as writer:
                writer.add(self.vectors[0], names="one")
                writer.add(self.vectors[1:3], names=["two", "three"])
                with self.assertRaisesRegex(ValueError, "two"):
                    writer.add(self.vectors[4], names=["two"])
                self.assertEqual(writer.upsert(self.vectors[4], names=["two"]).n_replaced, 1)
                with self.assertRaisesRegex(ValueError, "names"):
                    writer.add(self.vectors[0])
                with self.assertRaisesRegex(ValueError, "empty"):
                    writer.add(self.vectors[0], names=[""])
                with self.assertRaisesRegex(ValueError, "line break"):
                    writer.add(self.vectors[0], names=["a\nb"])
                with self.assertRaisesRegex(ValueError, "line break"):
                    writer.add(self.vectors[0], names=["end\r"])
                writer.add(self.vectors[5:7], names=["four", "five"])
                change = writer.remove(names=["four", "nobody"])
                self.assertEqual((change.n_removed, change.n_missing), (1, 1))
                self.assertEqual(writer.remove(names="five").n_removed, 1)
                self.assertEqual(writer.add(self.vectors[:0], names=[]).n_added, 0)
                with self.assertRaisesRegex(ValueError, "ids or names"):
                    writer.remove()
            self.assertTrue(index.refresh())
            self.assertIn("three", index)
            np.testing.assert_array_equal(index.vectors(["two"]), self.vectors[4:5])

    def test_adding_nothing_does_nothing(self) -> None:
        self.index.add(self.vectors)
        n_commits = self.index.info.n_commits
        for known_by in ({}, {"ids": []}, {"ids": np.zeros(0, np.uint64)}):
            self.assertEqual(self.index.add(self.vectors[:0], **known_by).n_added, 0)
        self.assertEqual(self.index.upsert(self.vectors[:0], ids=[]).n_items, N)
        self.assertEqual(self.index.info.n_commits, n_commits)

    def test_items_are_removed_where_a_filter_holds(self) -> None:
        self.index.add(self.vectors)
        self.index.remove([5])
        change = self.index.remove(where=self.index.filter_ids([3, 7, 599]))
        self.assertEqual((change.n_removed, change.n_missing, change.n_items), (3, 0, N - 4))
        self.assertNotIn(3, self.index)
        with self.assertRaisesRegex(ValueError, "one of"):
            self.index.remove([1], where=self.index.filter_ids([2]))
        self.assertEqual(self.index.remove(where=[1, 2]).n_removed, 2)  # integers are ids
        self.assertNotIn(1, self.index)

    def test_threads_share_a_writer(self) -> None:
        with self.index.writer() as writer:

            def add(first: int) -> None:
                for i in range(first, first + 50):
                    writer.add(self.vectors[i], ids=i)

            threads = [threading.Thread(target=add, args=(first,)) for first in range(0, 400, 50)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.check(list(range(400)), self.vectors[:400])

    def test_an_exception_that_is_kept_does_not_keep_the_lock(self) -> None:
        for doing in (
            lambda writer: writer.add(np.full(DIMS, np.nan, np.float32)),
            lambda writer: writer.remove(names=["there are none"]),
        ):
            try:
                with self.index.writer() as writer:
                    doing(writer)
            except ArgumentError:
                self.index.add(self.vectors[:3])
            else:
                self.fail("the call is refused")

    def test_wrong_input(self) -> None:
        with self.index.writer() as writer:
            with self.assertRaises(BusyError):
                IndexWriter(self.path())
            with self.assertRaises(BusyError):
                self.index.add(self.vectors)
            with self.assertRaisesRegex(ValueError, "8 dimensions"):
                writer.add(random_vectors(2, 8))
            with self.assertRaisesRegex(ValueError, "2 were given for 3"):
                writer.add(self.vectors[:3], ids=[1, 2])
            with self.assertRaisesRegex(ValueError, "give only one of them"):
                writer.add(self.vectors[:1], ids=[1], names=["a"])
            with self.assertRaises(ValueError):
                writer.add(np.full((1, DIMS), np.nan, np.float32))
            with self.assertRaises(ValueError):
                writer.add(self.vectors[:2], ids=[7, 7])
        with self.assertRaisesRegex(ValueError, "closed"):
            writer.add(self.vectors[:1])
        with self.assertRaises(ExistsError):
            Index.create(self.path(), DIMS)
        with self.assertRaises(ValueError):
            Index.create(self.path("none"), 0)
        self.assertEqual(len(self.index), 0)

# SPDX-License-Identifier: Apache-2.0
"""Changes count in the newest commit, whatever another object made meanwhile; and once made, nothing fails the call."""

from __future__ import annotations

import os
import signal
import threading
import unittest
import warnings
from typing import Any
from unittest import mock

import numpy as np

import thresher
from support import Case, random_vectors
from thresher import Index, NotFoundError, shards
from thresher._core import jobs
from thresher._index_info import IndexHandle

N, DIMS = 600, 16


class Meanwhile(Case):
    """Two objects of one index: what the second does, the first has not seen."""

    def setUp(self) -> None:
        super().setUp()
        self.names = [f"n{i}" for i in range(N)]
        self.vectors = random_vectors(N, DIMS)

    def two(self, **options: Any) -> tuple[Index, Index]:
        first = Index.build(self.path(), self.vectors, calibration_queries=0, replace=True, **options)
        other = Index.open(self.path())
        for index in (first, other):
            self.addCleanup(index.close)
        return first, other

    def test_a_name_that_was_replaced_meanwhile_is_removed(self) -> None:
        for cells in (None, 8):
            index, other = self.two(ids=self.names, cells=cells)
            other.upsert(self.vectors[:2], names=["n7", "fresh"])
            change = index.remove(names=["n7", "fresh", "gone"])
            self.assertEqual((change.n_removed, change.n_missing, change.n_items), (2, 1, N - 1))
            for name in ("n7", "fresh"):
                self.assertNotIn(name, index)

    def test_ids_that_were_added_or_removed_meanwhile_count(self) -> None:
        index, other = self.two(ids=np.arange(N) + 5)
        other.add(self.vectors[:2], ids=[7000, 7001])
        other.remove([5])
        change = index.remove([7000, 7000, 5, 6])
        self.assertEqual((change.n_removed, change.n_missing, change.n_items), (2, 1, N - 1))

    def test_strict_means_the_newest_commit(self) -> None:
        index, other = self.two(ids=self.names)
        other.upsert(self.vectors[:2], names=["n7", "fresh"])
        other.remove(names=["n8"])
        before = other.info.n_commits
        with self.assertRaisesRegex(NotFoundError, "no item with the name 'n8'; nothing was removed"):
            index.remove(names=["n7", "n8"], strict=True)
        other.refresh()
        self.assertEqual(other.info.n_commits, before)
        change = index.remove(names=["n7", "fresh"], strict=True)
        self.assertEqual((change.n_removed, change.n_missing), (2, 0))

    def test_where_removes_the_items_of_these_names(self) -> None:
        index, other = self.two(ids=self.names)
        other.upsert(self.vectors[:1], names=["n7"])
        mask = np.zeros(N, bool)
        mask[[7, 9]] = True
        change = index.remove(where=mask)
        self.assertEqual((change.n_removed, change.n_missing), (2, 0))
        self.assertEqual([name in index for name in ("n7", "n8", "n9")], [False, True, False])

    def test_a_writer_counts_missing_items_once(self) -> None:
        for features in (None, [["a"]] * N):
            index, _ = self.two(ids=self.names, features=features)
            with index.writer() as writer:
                change = writer.remove(names=["n1", "n1", "gone"])
                self.assertEqual((change.n_removed, change.n_missing), (1, 1))

    def test_a_writer_reports_first_id_of_named_items(self) -> None:
        for features in (None, [["a"]] * N):
            index, _ = self.two(ids=self.names, features=features)
            some = None if features is None else [["b"]] * 2
            with index.writer() as writer:
                change = writer.add(self.vectors[:2], names=["x", "y"], features=some)
            self.assertEqual([index.find("x"), index.find("y")], [change.first_id, change.first_id + 1])
        index, _ = self.two()
        with index.writer() as writer:
            self.assertEqual(writer.add(self.vectors[:2]).first_id, N)
            self.assertIsNone(writer.add(self.vectors[:1], ids=[99999]).first_id)
        self.assertEqual(index.upsert(self.vectors[:1]).first_id, 100000)

    def test_an_index_shows_the_changes_of_its_writer(self) -> None:
        index, other = self.two()
        with index.writer() as writer:
            writer.add(2 * self.vectors[:3])
            self.assertEqual((len(index), index.info.n_items), (N + 3, N + 3))
            writer.remove([0])
            self.assertNotIn(0, index)
            self.assertEqual(index.search(self.vectors[0], 1)[0].tolist(), [N])
            writer.upsert(self.vectors[5:6], ids=[1])
            np.testing.assert_array_equal(index.vector(1), self.vectors[5])
        writer.close()
        self.assertEqual((len(index), len(other)), (N + 2, N))


class Late(Case):
    """What fails after the commit is a warning."""

    def setUp(self) -> None:
        super().setUp()
        self.vectors = random_vectors(N, DIMS)
        self.index = Index.build(self.path(), self.vectors, calibration_queries=0, cells=4)
        self.addCleanup(self.index.close)

    def check(self, change: Any, n: int, *words: str) -> None:
        self.assertEqual(change.n_items, n)
        for word in ("the change is made", *words):
            self.assertIn(word, change.warning or "")
        with Index.open(self.path()) as other:
            self.assertEqual(len(other), n)
            other.verify()

    def late(self, call: Any, *words: str) -> Any:
        with self.assertWarnsRegex(UserWarning, "the change is made"):
            change = call()
        self.check(change, change.n_items, *words)
        return change

    def test_a_stopped_merge_is_a_warning(self) -> None:
        half = np.arange(0, N, 2)
        more = self.vectors[: N // 2] + 1
        change = self.late(
            lambda: self.index.upsert(more, ids=half, progress=lambda what, *_: what == "add"), "stopped on request"
        )
        self.assertEqual((change.n_replaced, len(self.index)), (N // 2, N))
        np.testing.assert_array_equal(self.index.vectors(half), more)

    def test_an_exception_of_progress_after_the_commit_is_a_warning(self) -> None:
        for kind in (KeyboardInterrupt, MemoryError, SystemExit, ZeroDivisionError):

            def progress(what: str, *_: int, kind: Any = kind) -> None:
                if what != "add":
                    raise kind("late")

            half = np.arange(0, N, 2)
            self.late(lambda: self.index.upsert(self.vectors[: N // 2], ids=half, progress=progress), kind.__name__)
            self.index.compact()

    def test_before_the_commit_it_is_raised_and_nothing_is_changed(self) -> None:
        def progress(*_: Any) -> None:
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.index.add(self.vectors, progress=progress)
        self.assertEqual(len(Index.open(self.path())), N)
        self.assertEqual(self.index.add(self.vectors[:1]).n_items, N + 1)

    def test_a_failed_refresh_is_a_warning(self) -> None:
        for kind in (MemoryError, thresher.FileError, KeyboardInterrupt):
            with mock.patch.object(IndexHandle, "refreshed", side_effect=kind("no room")):
                n = len(Index.open(self.path()))
                self.check(self.late(lambda: self.index.add(self.vectors[:2]), kind.__name__), n + 2)
                self.check(self.late(lambda: self.index.remove([int(self.index.ids()[0])]), kind.__name__), n + 1)
                self.late(lambda: self.index.compact(recode=True), kind.__name__)
            self.index.refresh()
            self.assertEqual(len(self.index), n + 1)

    def test_a_filter_that_makes_warnings_errors_fails_no_change(self) -> None:
        with warnings.catch_warnings(), mock.patch.object(IndexHandle, "refreshed", side_effect=MemoryError):
            warnings.simplefilter("error")
            self.check(self.index.add(self.vectors[:2]), N + 2, "MemoryError")

    @unittest.skipUnless(threading.current_thread() is threading.main_thread(), "signals come to the main thread")
    def test_ctrl_c_after_the_commit_is_raised_by_the_next_change(self) -> None:
        finish = jobs.Change.finish

        def interrupted(job: Any, status: int, **options: Any) -> None:
            finish(job, status, **options)
            os.kill(os.getpid(), signal.SIGINT)

        with self.index.writer() as writer:
            for n, add in ((N + 2, writer.add), (N + 4, writer.add)):
                with mock.patch.object(jobs.Change, "finish", interrupted):
                    self.check(self.late(lambda: add(self.vectors[:2]), "KeyboardInterrupt"), n)
                with self.assertRaises(KeyboardInterrupt):
                    writer.add(self.vectors[:2])
        with mock.patch.object(jobs.Change, "finish", interrupted):
            self.check(self.late(lambda: self.index.add(self.vectors[:2]), "KeyboardInterrupt"), N + 6)
        with self.assertRaises(KeyboardInterrupt):
            self.index.add(self.vectors[:2])
        self.check(self.index.add(self.vectors[:2])._replace(warning="the change is made"), N + 8)


class LateInShards(Case):
    def test_what_fails_after_the_list_is_published_is_a_warning(self) -> None:
        vectors, ids = random_vectors(200, DIMS), np.arange(200) + 5
        parts = [(vectors[:100], ids[:100]), (vectors[100:], ids[100:])]
        shards.build(self.path(), parts, calibration_queries=0).close()
        for kind in (KeyboardInterrupt, MemoryError):
            with mock.patch("thresher.shards._publish.clean", side_effect=kind("late")):
                with self.assertWarnsRegex(UserWarning, f"the change is made, .* {kind.__name__}: late"):
                    made = shards.add(self.path(), vectors[:1], ids=[9000 + len(kind.__name__)], calibration_queries=0)
                with self.assertWarnsRegex(UserWarning, "the change is made"):
                    gone = shards.remove(self.path(), [9000 + len(kind.__name__)])
            self.assertEqual((made.n_items, gone.n_items), (201, 200))
            shards.verify(self.path())

# SPDX-License-Identifier: Apache-2.0
"""Many Python threads on one index, closing under them, and forks."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import thresher
from support import Case, random_vectors
from thresher import Index

N, DIMS = 20_000, 32


class Threads(Case):
    def setUp(self) -> None:
        super().setUp()
        self.queries = random_vectors(200, DIMS, seed=2)
        self.index = Index.build(self.path(), random_vectors(N, DIMS), threads=2, calibration_queries=0)
        self.addCleanup(self.index.close)
        self.wanted = self.index.search(self.queries, 5)

    def test_searches_at_the_same_time(self) -> None:
        def one(row: int) -> bool:
            ids, scores = self.index.search(self.queries[row], 5)
            return ids.tolist() == self.wanted[0][row].tolist() and scores.tolist() == self.wanted[1][row].tolist()

        def all_of_them(_: int) -> bool:
            return bool((self.index.search(self.queries, 5)[0] == self.wanted[0]).all())

        with ThreadPoolExecutor(8) as pool:
            self.assertTrue(all(pool.map(one, range(200))))
            self.assertTrue(all(pool.map(all_of_them, range(16))))

    def test_errors_belong_to_their_thread(self) -> None:
        def wrong(n_dims: int) -> str:
            try:
                self.index.search(np.ones(n_dims, np.float32))
            except ValueError as failure:
                return str(failure)
            return ""

        with ThreadPoolExecutor(8) as pool:
            for n_dims, text in enumerate(pool.map(wrong, range(1, 31)), 1):
                self.assertIn(f"queries of {n_dims} dimensions", text)

    def test_closing_while_others_search(self) -> None:
        for _ in range(20):
            index = Index.open(self.path(), threads=2)
            started = threading.Barrier(4)

            def search(index: Index = index, started: threading.Barrier = started) -> str:
                started.wait()
                for _ in range(1000):
                    try:
                        index.search(self.queries, 5)
                    except ValueError as failure:
                        return str(failure)
                return ""

            with ThreadPoolExecutor(3) as pool:
                answers = [pool.submit(search) for _ in range(3)]
                started.wait()
                index.close()
                for answer in answers:
                    self.assertIn("closed", answer.result())

    def test_python_runs_while_the_library_works(self) -> None:
        counted = 0
        ending = threading.Event()

        def count() -> None:
            nonlocal counted
            while not ending.is_set():
                counted += 1

        thread = threading.Thread(target=count)
        thread.start()
        before = counted
        for _ in range(5):
            self.index.search(self.queries[:64], 5, exact=True)
        after = counted
        ending.set()
        thread.join()
        self.assertGreater(after - before, 1000)

    def test_a_build_in_another_thread(self) -> None:
        with ThreadPoolExecutor(2) as pool:
            built = [
                pool.submit(Index.build, self.path(f"i{i}"), (self.queries for _ in range(9)), threads=2)
                for i in range(4)
            ]
            self.assertEqual([len(index.result()) for index in built], [1800] * 4)


class Forks(Case):
    def setUp(self) -> None:
        super().setUp()
        self.queries = random_vectors(200, DIMS, seed=2)
        self.index = Index.build(self.path(), random_vectors(N, DIMS), threads=2, calibration_queries=0)
        self.wanted = self.index.search(self.queries, 5)[0]

    def fork(self, work: str | Callable[[], object]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of threads
            child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(60)
                if callable(work):
                    work()
                    status = 0
                elif work == "search":
                    status = int(not (self.index.search(self.queries, 5)[0] == self.wanted).all())
                elif work == "build":
                    status = int(len(Index.build(self.path("b"), self.queries, threads=2)) != 200)
                elif work == "drop":
                    del self.index
                    gc.collect()
                    status = int(thresher.info().threads < 1)
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_child_searches_the_index_of_its_parent(self) -> None:
        self.fork("search")
        np.testing.assert_array_equal(self.index.search(self.queries, 5)[0], self.wanted)

    def test_a_child_builds(self) -> None:
        self.fork("build")

    def test_a_child_drops_what_it_cannot_free(self) -> None:
        self.fork("drop")
        np.testing.assert_array_equal(self.index.search(self.queries, 5)[0], self.wanted)

    def fork_beside_threads(self, work: Callable[[], object], child: Callable[[], object], times: int) -> None:
        """Fork while three threads do work; each child does its part, and ends in time."""
        ending = threading.Event()

        def loop() -> None:
            while not ending.is_set():
                work()

        with ThreadPoolExecutor(3) as pool:
            workers = [pool.submit(loop) for _ in range(3)]
            try:
                for _ in range(times):
                    self.fork(child)
            finally:
                ending.set()
            for worker in workers:
                worker.result()

    def test_a_child_of_searching_threads_searches_a_fresh_index(self) -> None:
        with Index.open(self.path(), refresh="auto") as index:
            self.fork_beside_threads(
                lambda: index.search(self.queries[:3], 5),
                lambda: np.testing.assert_array_equal(index.search(self.queries, 5)[0], self.wanted),
                12,
            )

    def test_a_child_of_refreshing_threads_refreshes(self) -> None:
        self.fork_beside_threads(self.index.refresh, lambda: self.assertFalse(self.index.refresh()), 12)

    def test_a_child_of_changing_threads_changes(self) -> None:
        lists = thresher.Hits.build(self.path("h"), [[1], [2]])

        def change_in_child() -> None:
            lists.add([[3]], ids=[7])
            self.assertEqual(len(lists), 3)

        self.fork_beside_threads(lambda: lists.remove([9]), change_in_child, 12)

    def test_a_childs_length_and_searches_are_of_one_snapshot(self) -> None:
        lists = thresher.Hits.build(self.path("h"), [[1], [2]])
        lists.add([[1]], ids=[7])
        with Index.open(self.path()) as other:
            other.add(self.queries)

        def check() -> None:
            found = self.index.search(self.queries[0], 2 * N)[0]
            self.assertEqual(len(self.index), (found != thresher.NO_ID).sum())
            self.assertEqual(len(self.index), N + len(self.queries))
            self.assertEqual(len(lists), 2)  # changes of lists are their process's own

        self.fork(check)
        self.assertEqual(len(self.index), N)

    def test_processes_that_share_nothing_get_the_path(self) -> None:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.assertEqual(pool.apply(len, (self.index,)), N)

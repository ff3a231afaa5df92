# SPDX-License-Identifier: Apache-2.0
"""Calibration: in a build, and anew with a user's queries."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

import thresher
from support import Case, random_vectors
from thresher import Index

N, DIMS = 5_000, 32


class Tune(Case):
    def setUp(self) -> None:
        super().setUp()
        self.index = Index.build(self.path(), random_vectors(N, DIMS), bits=2, calibration_queries=0)
        self.addCleanup(self.index.close)
        self.queries = random_vectors(400, DIMS, seed=2)

    def manifest(self) -> bytes:
        with open(os.path.join(self.path(), "MANIFEST"), "rb") as file:
            return file.read()

    def test_a_build_calibrates_unless_told_not_to(self) -> None:
        said: list[tuple[str, int, int]] = []
        with Index.build(
            self.path("b"),
            self.queries.repeat(20, 0),
            calibration_queries=200,
            progress=lambda *told: said.append(told),
        ) as index:
            self.assertEqual(index.info.tuned_queries, 200)
        self.assertEqual(said[-1], ("calibrate", 200, 200))
        with Index.build(self.path("c"), self.queries.repeat(20, 0), calibration_queries=0) as index:
            self.assertEqual(index.info.tuned_queries, 0)

    def test_queries_that_were_not_used_get_the_recall_they_ask_for(self) -> None:
        self.index.tune(self.queries)
        self.assertEqual(self.index.info.tuned_queries, 400)
        self.assertEqual(Index.open(self.path()).info.tuned_queries, 400)
        others = random_vectors(1000, DIMS, seed=3)
        truth, _ = self.index.search(others, exact=True)
        got = [
            thresher.recall(truth, self.index.search(others, recall=wanted)[0]) for wanted in (0.8, 0.9, 0.99, 0.999)
        ]
        for recall, wanted in zip(got, (0.8, 0.9, 0.99, 0.999)):
            self.assertGreaterEqual(recall, wanted - 0.005)
        self.assertEqual(got, sorted(got))

    def test_queries_of_every_layout(self) -> None:
        wide = np.zeros((400, 2 * DIMS), np.float32)
        wide[:, ::2] = self.queries
        for queries in (np.asfortranarray(self.queries), wide[:, ::2], self.queries.astype(np.float64)):
            self.index.tune(queries)
            self.assertEqual(self.index.info.tuned_queries, 400)

    def test_others_search_meanwhile(self) -> None:
        wanted = self.index.search(self.queries, exact=True)[0]
        ending = threading.Event()
        wrong: list[Any] = []

        def search() -> None:
            while not ending.is_set():
                if not (self.index.search(self.queries, exact=True)[0] == wanted).all():
                    wrong.append(1)

        thread = threading.Thread(target=search)
        thread.start()
        try:
            for _ in range(3):
                self.index.tune(self.queries[:100])
        finally:
            ending.set()
            thread.join()
        self.assertEqual(wrong, [])

    def test_what_cannot_be_tuned_with(self) -> None:
        before = self.manifest()
        for queries, kind, message in (
            (self.queries[:1], ValueError, "1 quer"),
            (self.queries[:0], ValueError, "0 quer"),
            (self.queries[0], ValueError, r"queries: an array of shape \[32\] was given: expected \[n, n_dims\]"),
            (self.queries[:, :5], ValueError, "5 dimensions"),
            (np.full_like(self.queries, np.nan), ValueError, "NaN"),
            (self.queries.astype(complex), TypeError, "complex"),
        ):
            with self.subTest(message), self.assertRaisesRegex(kind, message):
                self.index.tune(queries)
        with self.assertRaises(thresher.CanceledError):
            self.index.tune(self.queries, progress=lambda *_: False)
        with self.assertRaises(ZeroDivisionError):
            self.index.tune(self.queries, progress=lambda *_: 1 // 0)
        self.assertEqual(self.manifest(), before)
        self.index.search(self.queries)

    def test_few_and_equal_items(self) -> None:
        for vectors in (self.queries[:10], np.ones((300, DIMS), np.float32), np.zeros((300, DIMS), np.float32)):
            with Index.build(self.path("b"), vectors, replace=True) as index:
                ids, _ = index.search(self.queries, 5)
                np.testing.assert_array_equal(ids, index.search(self.queries, 5, exact=True)[0])

    def test_an_index_that_was_replaced(self) -> None:
        Index.build(self.path(), self.queries, replace=True).close()
        with self.assertRaisesRegex(thresher.FileError, "replaced") as raised:
            self.index.tune(self.queries)
        self.assertEqual(raised.exception.status, "ECHANGED")

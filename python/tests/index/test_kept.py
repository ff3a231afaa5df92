# SPDX-License-Identifier: Apache-2.0
"""Vectors kept as float16 and int8, compared in float64 with the vectors as given."""

from __future__ import annotations

import os
import sys
import tempfile
import unittest
import warnings
from typing import Any

import numpy as np

from thresher import Index

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "programs"))
from bench.search import kept  # noqa: E402

N, DIMS, QUERIES, K = 3000, 32, 60, 10


def share_found(truth: Any, ids: Any) -> float:
    """The share of found items whose true scores are among the best."""
    return float(kept.found(truth, ids).mean())


def make(offset: float, scale: float, seed: int = 1) -> tuple[Any, Any]:
    g = np.random.default_rng(seed)
    rows = ((offset + g.standard_normal((N, DIMS))) * scale).astype("f")
    return rows, (rows[:QUERIES] + 0.3 * scale * g.standard_normal((QUERIES, DIMS))).astype("f")


class Kept(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "kept.index")

    def build(self, rows: Any, metric: str, keep: str) -> Index:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what int8 loses
            return Index.build(self.path, rows, metric=metric, keep=keep, replace=True)

    def test_neither_offsets_nor_scales_lose_neighbours(self) -> None:
        cases = [(0, 1), (10, 1e-7), (10, 1e7), (1000, 1)]
        for metric in ("cosine", "ip", "l2"):
            for offset, scale in cases if metric != "cosine" else cases[:3]:
                rows, queries = make(offset, scale)
                truth = kept.true_scores(rows, queries, metric)
                for keep, least in ("float16", 0.99), ("int8", 0.9):
                    with self.subTest(metric=metric, offset=offset, scale=scale, keep=keep):
                        with self.build(rows, metric, keep) as index:
                            ids, _, certified = index.search(queries, K, recall=1, certified=True)
                            self.assertGreaterEqual(share_found(truth, ids), least)
                            kth = np.sort(truth, axis=1)[:, -K]
                            worst = np.take_along_axis(truth, ids.astype(np.int64), axis=1).min(axis=1)
                            self.assertTrue((worst >= kth)[certified].all())

    def test_two_dimensions_far_from_zero(self) -> None:
        u = np.random.default_rng(3).standard_normal((N, 2)).astype("f")
        rows = (np.float32([48, 16]) + np.float32(0.5) * u).astype("f")
        truth = kept.true_scores(rows, rows[:QUERIES], "l2")
        for keep, least in ("float16", 0.98), ("int8", 0.8):
            with self.build(rows, "l2", keep) as index:
                ids, _, certified = index.search(rows[:QUERIES], K, recall=1, certified=True)
            self.assertGreaterEqual(share_found(truth, ids), least, keep)
            kth = np.sort(truth, axis=1)[:, -K]
            worst = np.take_along_axis(truth, ids.astype(np.int64), axis=1).min(axis=1)
            self.assertTrue((worst >= kth)[certified].all(), keep)

    def test_a_radius_of_recall_1_loses_no_item_within_it(self) -> None:
        rows, queries = make(5, 1)
        for metric in ("cosine", "ip", "l2"):
            truth = kept.true_scores(rows, queries, metric) + (1 if metric == "cosine" else 0)
            least = float(np.sort(truth, axis=1)[:, -20].mean())
            for keep in ("float16", "int8"):
                with self.subTest(metric=metric, keep=keep), self.build(rows, metric, keep) as index:
                    offsets, ids, _, certified = index.search_radius(queries, least, recall=1, certified=True)
                    for q in range(QUERIES):
                        found = set(ids[offsets[q] : offsets[q + 1]].tolist())
                        within = set(np.flatnonzero(truth[q] >= least).tolist())
                        self.assertLessEqual(within, found)
                        self.assertTrue(not certified[q] or found == within)

    def test_float32_answers_are_certified_only_where_rounding_cannot_exchange_items(self) -> None:
        for metric in ("cosine", "ip"):
            for offset, least in (0, 0.95), (10, 0), (30, 0), (100, 0), (1000, 0):
                rows, queries = make(offset, 1)
                away = np.random.default_rng(5).standard_normal((QUERIES, DIMS)).astype("f")
                queries = np.concatenate([queries, rows[QUERIES:1500], away])
                truth = kept.true_scores(rows, queries, metric)
                kth = np.sort(truth, axis=1)[:, -K]
                with self.subTest(metric=metric, offset=offset), self.build(rows, metric, "float32") as index:
                    ids, _, certified = index.search(queries, K, recall=1, certified=True)
                    np.testing.assert_array_equal(ids, index.search(queries, K, recall=1)[0])
                    worst = np.take_along_axis(truth, ids.astype(np.int64), axis=1).min(axis=1)
                    self.assertTrue((worst >= kth)[certified].all())
                    self.assertGreaterEqual(certified.mean(), least)

    def test_items_in_a_journal_are_certified_alike(self) -> None:
        rows, queries = make(1000, 1)
        with Index.create(self.path, DIMS, metric="cosine", keep="float32") as index, index.writer() as writer:
            writer.add(rows[:1000])
            with Index(self.path) as reader:
                ids, _, certified = reader.search(queries, K, exact=True, certified=True)
        truth = kept.true_scores(rows[:1000], queries, "cosine")
        worst = np.take_along_axis(truth, ids.astype(np.int64), axis=1).min(axis=1)
        self.assertTrue((worst >= np.sort(truth, axis=1)[:, -K])[certified].all())

    def test_certificates_do_not_change_the_items_found(self) -> None:
        rows, queries = make(1, 1)
        for metric in ("cosine", "ip", "l2"):
            truth = kept.true_scores(rows, queries, metric) + (1 if metric == "cosine" else 0)
            radius = float(np.sort(truth, axis=1)[:, -30].mean())
            for keep in ("float16", "int8"):
                with self.subTest(metric=metric, keep=keep), self.build(rows, metric, keep) as index:
                    for recall in 0.5, 0.9, 0.99, 1:
                        plain = index.search(queries, K, recall=recall)
                        certified = index.search(queries, K, recall=recall, certified=True)
                        np.testing.assert_array_equal(plain[0], certified[0])
                        np.testing.assert_array_equal(plain[1], certified[1])
                        plain = index.search_radius(queries, radius, recall=recall)
                        certified = index.search_radius(queries, radius, recall=recall, certified=True)
                        np.testing.assert_array_equal(plain[1], certified[1])

    def test_the_build_measures_what_the_kept_type_finds(self) -> None:
        rows, _ = make(3, 1)
        for keep, least, most in ("float32", 0, 0), ("float16", 0.99, 1), ("int8", 0.9, 0.9999):
            with self.build(rows, "l2", keep) as index:
                self.assertGreaterEqual(index.info.kept_recall, least)
                self.assertLessEqual(index.info.kept_recall, most)

    def test_a_long_row_does_not_spoil_the_others(self) -> None:
        rows, queries = make(0, 1)
        rows[7] *= np.float32(1e9)
        truth = kept.true_scores(rows, queries, "l2")
        with self.build(rows, "l2", "int8") as index:
            self.assertGreaterEqual(share_found(truth, index.search(queries, K, exact=True)[0]), 0.9)

    def test_changes_do_not_round_again(self) -> None:
        rows, _ = make(100, 1)
        for keep in ("float16", "int8"):
            with self.subTest(keep=keep), self.build(rows, "l2", keep) as index:
                before = index.vectors(np.arange(N))
                more = rows[:700] + np.float32(0.25)
                index.add(more)
                index.remove(np.arange(5, 400, 7))
                index.compact(recode=True)
                alive = np.setdiff1d(np.arange(N), np.arange(5, 400, 7))
                np.testing.assert_array_equal(index.vectors(alive), before[alive])
                index.verify()
                step = 0.004 if keep == "float16" else 0.06
                self.assertLess(np.abs(index.vectors(np.arange(N, N + 700)) - more).max(), step)

    def test_an_index_begun_empty_keeps_offsets(self) -> None:
        rows, queries = make(1000, 1)
        truth = kept.true_scores(rows, queries, "l2")
        with Index.create(self.path, DIMS, metric="l2", keep="int8") as index:
            for first in range(0, N, 500):
                index.add(rows[first : first + 500])
            self.assertGreaterEqual(share_found(truth, index.search(queries, K, exact=True)[0]), 0.9)
            index.verify()

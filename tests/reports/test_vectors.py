# SPDX-License-Identifier: Apache-2.0
"""Reports of recall, precision and radius searches: answers against the vectors as they were given."""

from __future__ import annotations

import os
import re
import time
import unittest
import warnings
from typing import Any

import numpy as np
from case import SOURCES, ReportCase, best, found, normal

import thresher
from thresher import Filter, Index

F32 = np.float32


class Precision(ReportCase):
    def shares(self, metric: str, x: Any, keep: str, n: int = 100) -> tuple[float, float]:
        """The shares of the true ten found by exact searches and with recall 1, for queries near items."""
        x = np.asarray(x, F32)
        noise = 0.3 * (x - x.mean(0)).std() * normal(n, x.shape[1], 8)
        queries = (x[:n] + noise).astype(F32)
        truth = best(x, queries, 10, metric)
        with Index.build(self.path(), x, metric=metric, keep=keep, replace=True, threads=1) as index:
            exact = index.search(queries, 10, exact=True)[0]
            return found(truth, exact), found(truth, index.search(queries, 10, recall=1)[0])

    def test_a_common_offset_costs_kept_vectors_nothing(self) -> None:
        x = 1000 + normal(3000, 32, 1)
        for keep, least in (("float32", 0.995), ("float16", 0.995), ("int8", 0.9)):
            with self.subTest(keep):
                self.assertGreaterEqual(min(self.shares("l2", x, keep)), least)

    def test_small_vectors_keep_their_digits_in_float16(self) -> None:
        self.assertGreaterEqual(min(self.shares("cosine", 1e-7 * normal(3000, 32, 1), "float16")), 0.99)

    def test_cosines_near_one_are_told_apart(self) -> None:
        x = 50 + 0.05 * normal(2000, 64, 1)
        for keep in ("float32", "float16"):
            with self.subTest(keep), warnings.catch_warnings(record=True) as noted:
                warnings.simplefilter("always")
                shares = self.shares("cosine", x, keep)
                self.assertTrue(min(shares) >= 0.95 or noted, shares)


    def test_rounded_words_lose_what_is_promised(self) -> None:
        folder = os.path.join(SOURCES, "data", "words")
        x = np.load(os.path.join(folder, "words.npy"))[:20000].astype(F32)
        queries = np.load(os.path.join(folder, "queries.npy"))[:200].astype(F32)
        truth = best(x, queries, 10, "cosine")
        for keep in ("float32", "float16"):
            with Index.build(self.path(keep), x, keep=keep, threads=1) as index:
                self.assertGreaterEqual(found(truth, index.search(queries, 10, recall=0.99)[0]), 0.985, keep)

    def test_doubles_of_any_scale_have_the_same_neighbours_or_are_refused(self) -> None:
        x = normal(500, 16, 1)
        wanted: Any = None
        for scale in (1.0, 1e-20, 1e-28, 1e-31, 1e-45, 1e-200, 1e200):
            with self.subTest(scale):
                try:
                    with Index.build(self.path(), x * scale, replace=True, threads=1) as index:
                        ids = index.search(x[:5] * scale, 5)[0].tolist()
                except thresher.ArgumentError as refused:
                    self.assertRegex(str(refused), "row 0")
                    self.assertNotEqual(scale, 1.0)
                    continue
                wanted = wanted or ids
                self.assertEqual(ids, wanted)

    def test_zeros_are_counted_where_they_outrank_items(self) -> None:
        x = normal(1000, 8, 1)
        x[:900, 0], x[900:] = -np.abs(x[:900, 0]) - 0.1, 0
        self.save("x.npy", x.astype(F32))
        built = self.shell("index", "build", "x.npy", "-o", "i")
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assertRegex(built.stdout + built.stderr, r"\b100\b.*zero")
        self.assertRegex(self.shelled("index", "info", "i"), r"(?m)zero.*\b100\b|\b100\b.*zero")

    def test_zeros_appended_to_l2_vectors_change_no_distance(self) -> None:
        x = (1e4 + normal(500, 7, 1)).astype(F32)
        wide = np.hstack([x, np.zeros((500, 57), F32)])
        for keep in ("float32", "float16", "int8"):
            answers = []
            for rows in (x, wide):
                with Index.build(self.path(), rows, metric="l2", keep=keep, replace=True, threads=1) as index:
                    answers.append([index.search(rows[:20], 5, exact=True), index.search(rows[:20], 5, recall=1)])
            for narrow, padded in zip(*answers):
                np.testing.assert_array_equal(narrow[0], padded[0], keep)
                np.testing.assert_allclose(narrow[1], padded[1], rtol=1e-6, err_msg=keep)


class Radius(ReportCase):
    def test_items_and_their_multiples_are_within_a_cosine_of_one(self) -> None:
        x = normal(1000, 100, 1).astype(F32)
        with Index.build(self.path(), np.concatenate([x, 3 * x]), threads=1) as index:
            offsets, ids, scores = index.search_radius(x, 1.0, recall=1)
            self.assertEqual(np.diff(offsets.astype(int)).tolist(), [2] * 1000)
            self.assertEqual(np.sort(ids.reshape(-1, 2)).tolist(), [[i, i + 1000] for i in range(1000)])
            self.assertTrue((scores == 1).all())
            scores = index.search(x, 5, exact=True)[1]
            self.assertLessEqual(float(scores.max()), 1)
            self.assertFalse(np.isnan(np.arccos(scores)).any())

    def test_a_looser_radius_finds_what_a_tighter_one_found(self) -> None:
        x = normal(3000, 32, 1).astype(F32)
        with Index.build(self.path(), x, threads=1) as index:
            earlier: list[set[int]] = [set() for _ in range(50)]
            for least in (0.6, 0.5, 0.4, 0.3):
                offsets, ids, _ = index.search_radius(x[:50], least)
                now = [set(ids[a:b].tolist()) for a, b in zip(offsets[:-1].astype(int), offsets[1:].astype(int))]
                lost = sum(len(old - new) for old, new in zip(earlier, now))
                self.assertLessEqual(lost, 0.01 * sum(map(len, earlier)))
                earlier = now


class Recall(ReportCase):
    def test_lengths_of_any_spread_keep_the_promise_of_ip(self) -> None:
        draw = np.random.default_rng(1)
        x = (draw.standard_normal((4000, 64)) * draw.lognormal(0, 1.5, (4000, 1))).astype(F32)
        queries = draw.standard_normal((100, 64)).astype(F32)
        with Index.build(self.path(), x, metric="ip", threads=1) as index:
            for k in (10, 400):
                truth = best(x, queries, k, "ip")
                for recall in (0.95, 0.99):
                    share = found(truth, index.search(queries, k, recall=recall)[0])
                    self.assertGreaterEqual(share, recall - 0.01, (k, recall))

    def test_items_unlike_the_first_ones_keep_the_promise(self) -> None:
        first, later = normal(300, 32, 1), 20 + 30 * normal(6000, 32, 2)
        queries = (later[:100] + 9 * normal(100, 32, 3)).astype(F32)
        with Index.create(self.path(), 32, metric="l2", threads=1) as index:
            with index.writer() as writer:
                writer.add(first.astype(F32))
                for rows in np.split(later.astype(F32), 6):
                    writer.add(rows)
            index.refresh()
            truth = best(np.concatenate([first, later]).astype(F32), queries, 10, "l2")
            for recall in (0.9, 0.95, 0.99):
                share = found(truth, index.search(queries, 10, recall=recall)[0])
                self.assertGreaterEqual(share, recall - 0.01, recall)

    def test_filters_of_far_items_keep_the_promise_in_every_form(self) -> None:
        x, queries, shares = normal(5000, 32, 1).astype(F32), normal(40, 32, 2).astype(F32), []
        with Index.build(self.path(), x, threads=1) as index:
            for one in queries:
                cosines = x @ one / np.linalg.norm(x, axis=1)
                mask = cosines <= np.quantile(cosines, 0.1)
                rows = np.flatnonzero(mask)
                forms = (mask, rows, Filter(len(index), mask), index.filter_ids(rows))
                answers = [index.search(one, 10, recall=0.95, filter=form) for form in forms]
                for ids, scores in answers:
                    np.testing.assert_array_equal(ids, answers[0][0])
                    np.testing.assert_array_equal(scores, answers[0][1])
                wanted = rows[np.argsort(-cosines[rows], kind="stable")[:10]]
                shares.append(len(set(wanted.tolist()) & set(answers[0][0].tolist())) / 10)
        self.assertGreaterEqual(float(np.mean(shares)), 0.94)

    def test_copies_of_one_vector_hide_nothing_and_cost_little(self) -> None:
        x = normal(10000, 32, 1).astype(F32)
        x[:1000] = x[0]
        near = (x[:1] + 0.2 * normal(20, 32, 2)).astype(F32)
        with Index.build(self.path(), x, threads=1) as index:
            ids, _ = index.search(x[:1], 1200, recall=0.99)
            self.assertEqual(ids[0, :1000].tolist(), list(range(1000)))
            truth = best(x, near, 1200, "cosine")
            self.assertGreaterEqual(found(truth, index.search(near, 1200, recall=0.95)[0]), 0.94)
            times = []
            for queries in (near, x[5000:5020]):
                index.search(queries, 10)
                start = time.perf_counter()
                for _ in range(5):
                    index.search(queries, 10)
                times.append(time.perf_counter() - start)
            self.assertLess(times[0], 20 * times[1])


class Table(unittest.TestCase):
    def test_every_report_has_a_test(self) -> None:
        folder = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(folder, "README.md")) as file:
            rows = re.findall(r"^\| (\d+) \|.*\| `([\w./]+)`: `(\w+)` \|$", file.read(), re.MULTILINE)
        self.assertEqual([int(number) for number, _, _ in rows], list(range(1, 47)))
        for _, name, test in rows:
            with open(os.path.join(SOURCES, name)) as file:
                self.assertRegex(file.read(), rf"\b{test}\b", name)


if __name__ == "__main__":
    unittest.main()

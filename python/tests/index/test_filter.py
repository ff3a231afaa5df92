# SPDX-License-Identifier: Apache-2.0
"""Filters of every kind against the plain way."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

import thresher
from support import VectorCase, plain_search

N, DIMS, K = 1003, 16, 6  # not a whole number of words


def roaring(rows: list[int]) -> bytes:
    """Rows below 2^16, sorted and fewer than 4,097, in the portable format: one array container."""
    if not rows:
        return struct.pack("<II", 12346, 0)
    return struct.pack(f"<IIHHI{len(rows)}H", 12346, 1, 0, len(rows) - 1, 16, *rows)


class Serializable:
    """An object that is a Roaring bitmap for callers of its serialize method."""

    def __init__(self, octets: bytes) -> None:
        self.octets = octets

    def serialize(self) -> bytes:
        return self.octets


class Filters(VectorCase):
    shape, options = (N, DIMS, 20), {}

    def setUp(self) -> None:
        super().setUp()
        self.mask = np.random.default_rng(3).random(N) < 0.3
        self.rows = np.flatnonzero(self.mask)
        self.truth = self.rows[plain_search(self.vectors[self.mask], self.queries, K).astype(int)]
        self.words = np.zeros(16, np.uint64)
        for row in self.rows.tolist():
            self.words[row // 64] |= np.uint64(1 << row % 64)

    def search(self, allowed: Any) -> Any:
        return self.index.search(self.queries, K, exact=True, filter=allowed)[0]

    def test_every_kind_gives_the_same(self) -> None:
        spaced = np.zeros(2 * N, bool)
        spaced[::2] = self.mask
        for name, allowed in {
            "mask": self.mask,
            "mask with gaps": spaced[::2],
            "list of bool": self.mask.tolist(),
            "rows": self.rows,
            "rows as uint64": self.rows.astype(np.uint64),
            "rows as int32, shuffled and twice": np.random.default_rng(1)
            .permutation(np.tile(self.rows, 2))
            .astype("i4"),
            "list of rows": self.rows.tolist(),
            "Filter": thresher.Filter(N, self.mask),
            "words": thresher.Filter.from_words(N, self.words),
        }.items():
            with self.subTest(name):
                np.testing.assert_array_equal(self.search(allowed), self.truth)

    def test_words_are_not_copied_and_bits_past_the_end_do_not_count(self) -> None:
        self.words[-1] |= np.uint64(1 << 63)
        made = thresher.Filter.from_words(N, self.words)
        self.assertTrue(np.shares_memory(made.words, self.words))
        self.assertEqual(len(made), len(self.rows))
        np.testing.assert_array_equal(self.search(made), self.truth)

    def test_a_filter_knows_its_size(self) -> None:
        for n_items in (1, 63, 64, 65, 1000):
            for mask in (np.ones(n_items, bool), np.zeros(n_items, bool), np.arange(n_items) % 3 == 0):
                self.assertEqual(len(thresher.Filter(n_items, mask)), mask.sum())
        self.assertEqual(repr(thresher.Filter(70, [69])), "<thresher.Filter of 1 of 70 items>")

    def test_nothing_allowed(self) -> None:
        for allowed in (np.zeros(N, bool), [], np.zeros(0, np.int64)):
            self.assertTrue((self.search(allowed) == thresher.NO_ID).all())

    def test_roaring_bitmaps(self) -> None:
        try:
            import pyroaring
        except ImportError:
            self.skipTest("pyroaring is not installed")
        for kind in (pyroaring.BitMap, pyroaring.FrozenBitMap):
            np.testing.assert_array_equal(self.search(kind(self.rows.tolist())), self.truth)
            self.assertTrue((self.search(kind()) == thresher.NO_ID).all())
        np.testing.assert_array_equal(self.search(pyroaring.BitMap64(self.rows.tolist())), self.truth)
        np.testing.assert_array_equal(self.search(pyroaring.BitMap(self.rows.tolist()).serialize()), self.truth)
        with self.assertRaisesRegex(ValueError, "1003"):
            self.search(pyroaring.BitMap([5, N]))

    def test_bytes_of_a_roaring_bitmap(self) -> None:
        np.testing.assert_array_equal(self.search(roaring(self.rows.tolist())), self.truth)
        np.testing.assert_array_equal(self.search(Serializable(roaring(self.rows.tolist()))), self.truth)
        self.assertTrue((self.search(roaring([])) == thresher.NO_ID).all())
        with self.assertRaisesRegex(ValueError, "1003"):
            self.search(roaring([5, N]))
        with self.assertRaises(thresher.FormatError):
            self.search(roaring(self.rows.tolist())[:-1])
        with self.assertRaises(thresher.FormatError):
            self.search(b"no bitmap at all")

    def test_ids(self) -> None:
        given = np.random.default_rng(7).permutation(10 * N)[:N]
        with thresher.Index.build(self.path("ids"), self.vectors, ids=given) as index:
            wanted = given[self.truth]
            allowed = given[self.rows]
            for ids in (allowed, allowed[::-1].tolist(), allowed.astype("u2"), roaring(sorted(allowed.tolist()))):
                made = index.filter_ids(ids)
                self.assertEqual(len(made), len(self.rows))
                np.testing.assert_array_equal(index.search(self.queries, K, exact=True, filter=made)[0], wanted)
            self.assertEqual(len(index.filter_ids([])), 0)
            missing = next(i for i in range(10 * N) if i not in set(given.tolist()))
            for ids in ([int(given[0]), missing], roaring([missing])):
                with self.assertRaisesRegex(KeyError, str(missing)):
                    index.filter_ids(ids)
            with self.assertRaisesRegex(ValueError, "-1 is negative"):
                index.filter_ids([-1])
            with self.assertRaisesRegex(TypeError, "float64"):
                index.filter_ids([0.5])
        np.testing.assert_array_equal(self.search(self.index.filter_ids(self.rows)), self.truth)

    def test_what_does_not_fit(self) -> None:
        for allowed, kind, message in (
            (self.mask[:-1], ValueError, r"filter: a mask of shape \[1002\] was given: expected \[1003\]"),
            (np.zeros((N, 2), bool), ValueError, r"a mask of shape \[1003, 2\]"),
            ([0, N], ValueError, "filter: row 1003 does not exist: the index has 1003 items"),
            ([-1], ValueError, "filter: row number -1 is negative"),
            (self.words, ValueError, r"Filter\.from_words"),
            ([[1, 2]], ValueError, r"filter: row numbers of shape \[1, 2\]"),
            (self.rows.astype(float), TypeError, "filter: values of type float64 were given"),
            ("all", TypeError, "<U3"),
            (object(), TypeError, "object"),
            (thresher.Filter(N - 1, [0]), ValueError, "filter: one of 1002 items was given for an index of 1003"),
        ):
            with self.subTest(message), self.assertRaisesRegex(kind, message):
                self.search(allowed)
        with self.assertRaisesRegex(ValueError, r"words of shape \[15\] were given: 1003 items need 16 of 64 bits"):
            thresher.Filter.from_words(N, self.words[:-1])
        with self.assertRaisesRegex(TypeError, "words of type int64"):
            thresher.Filter.from_words(N, self.words.astype(np.int64))


class QueriesOfOneComponent(VectorCase):
    """Queries without margins: an index that is not rotated takes their errors as unknown."""

    shape, options = (3000, 200, 1), {"metric": "ip", "rotate": False}

    def test_few_rows_allowed_keep_the_recall(self) -> None:
        units = np.eye(200, dtype=np.float32)
        for n_allowed in (106, 606, 1482):
            rows = np.sort(np.random.default_rng(1).choice(3000, n_allowed, False))
            truth = self.index.search(units, 10, exact=True, filter=rows)[0]
            for recall in (0.9, 0.99, 0.999):
                found = self.index.search(units, 10, recall=recall, filter=rows)[0]
                hits = sum(len(np.intersect1d(a, b)) for a, b in zip(found, truth))
                self.assertGreaterEqual(hits / truth.size, recall, (n_allowed, recall))

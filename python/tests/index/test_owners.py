# SPDX-License-Identifier: Apache-2.0
"""Filters find the items that they were made of, or are refused: integers are ids, and rows are those of one snapshot."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

import thresher
from support import Case, random_vectors
from thresher import Filter, Index, shards

N, DIMS, K = 512, 16, 20
REMEDY = "filter_ids"


def roaring(numbers: list[int]) -> bytes:
    """A Roaring bitmap of numbers below 2^16, in the portable format."""
    return struct.pack(f"<IIHHI{len(numbers)}H", 12346, 1, 0, len(numbers) - 1, 16, *sorted(numbers))


class Bitmap:
    """As pyroaring's."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers

    def serialize(self) -> bytes:
        return roaring(self.numbers)


class Owners(Case):
    def setUp(self) -> None:
        super().setUp()
        self.vectors = random_vectors(N, DIMS)
        self.mask = np.arange(N) < 64
        self.words = np.zeros(N // 64, np.uint64)
        self.words[0] = 2**64 - 1

    def build(self, name: str, **options: Any) -> Index:
        index = Index.build(self.path(name), self.vectors, calibration_queries=0, replace=True, **options)
        self.addCleanup(index.close)
        return index

    def found(self, index: Any, allowed: Any, **options: Any) -> set[int]:
        """All ids that searches for one item after the other find."""
        ids = index.search(self.vectors[::32], K, filter=allowed, **options)[0]
        within = index.search_radius(self.vectors[0], -1.0, filter=allowed)[1]
        return set(ids[ids < thresher.NO_ID].tolist()) | set(within.tolist())

    def test_integers_are_ids(self) -> None:
        ids = np.random.default_rng(7).permutation(N) + 3
        for options in ({}, {"cells": 8}, {"features": [[1]] * N}):
            with self.build("ids", ids=ids, **options) as index:
                for want in ([3, 5, 8], np.array([3, 5, 8], np.int32), Bitmap([3, 5, 8]), roaring([3, 5, 8])):
                    self.assertEqual(self.found(index, want), {3, 5, 8})
                with self.assertRaises(thresher.NotFoundError):
                    index.search(self.vectors[0], filter=[3, 2])
                if index.hits is not None:
                    self.assertEqual(set(index.hits.search({1: 1.0}, 3, filter=[3, 5, 8])[0].tolist()), {3, 5, 8})
                change = index.remove(where=[3, 5])
                self.assertEqual((change.n_removed, 3 in index, 5 in index, 8 in index), (2, False, False, True))
                index.remove(where=Bitmap([8]))
                self.assertNotIn(8, index)
                self.assertEqual(len(index), N - 3)

    def test_names_are_taken_as_ids_are(self) -> None:
        with self.build("names", ids=[f"n{i}" for i in range(N)]) as index:
            self.assertEqual(self.found(index, ["n3", "n5"]), {3, 5})
            index.remove(where=["n3"])
            self.assertNotIn("n3", index)

    def test_row_numbers_are_refused_where_items_have_ids(self) -> None:
        with self.build("ids", ids=np.arange(N) + 1) as index:
            for rows in ([1, 2], Bitmap([1, 2])):
                made = Filter(N, rows)
                for call in (lambda: index.search(self.vectors[0], filter=made), lambda: index.remove(where=made)):
                    with self.assertRaisesRegex(ValueError, f"made of row numbers, .* have ids: give .*{REMEDY}"):
                        call()
            self.assertEqual(self.found(index, Filter(N, self.mask)), set(range(1, 65)))
            self.assertEqual(len(index), N)

    def refused(self, index: Index, filters: Any) -> None:
        before = set(index.ids().tolist())
        for made in filters:
            for call in (
                lambda: index.search(self.vectors[0], K, filter=made),
                lambda: index.search(self.vectors[0], K, filter=made, exact=True),
                lambda: index.search_radius(self.vectors[0], 0.1, filter=made),
                lambda: index.remove(where=made),
            ):
                with self.assertRaisesRegex(ValueError, REMEDY):
                    call()
        self.assertEqual(set(index.ids().tolist()), before)

    def test_hand_made_filters_are_refused_where_rows_are_not_in_order(self) -> None:
        with self.build("cells", cells=32) as index:
            n = index.info.n_rows
            self.refused(index, [Filter(n, np.resize(self.mask, n)), Filter(n, [0, 1]), Filter(n, roaring([0, 1]))])
        for change in ("upsert", "remove and add", "writer"):
            with self.build("changed") as index:
                made = Filter(N, self.mask), Filter.from_words(N, self.words), Filter(N, [5]), self.mask
                for one in made:
                    self.assertLessEqual(self.found(index, one), set(range(64)))
                if change == "upsert":
                    index.upsert(self.vectors[:256] + 1, ids=np.arange(256))
                elif change == "remove and add":
                    index.remove(np.arange(64))
                    index.add(self.vectors[:64])
                else:
                    with index.writer() as writer:
                        writer.upsert(self.vectors[:64], ids=np.arange(64))
                        writer.flush()
                index.compact(recode=True)
                self.assertEqual(index.info.n_rows, N)  # so lengths do not differ
                self.refused(index, made)

    def test_filters_of_ids_are_for_one_snapshot(self) -> None:
        for auto in ("manual", "auto"):
            self.build("a", ids=np.arange(N)).close()
            with Index.open(self.path("a"), refresh=auto) as index:
                made = index.filter_ids(np.arange(64))
                bitmap = index.filter_ids(Bitmap([1, 2]))
                index.upsert(self.vectors[:256] + 1, ids=np.arange(256))
                index.compact(recode=True)
                if auto == "auto":
                    self.assertLessEqual(self.found(index, made), set(range(64)))
                else:
                    with self.assertRaisesRegex(ValueError, "make it again"):
                        index.search(self.vectors[0], filter=made)
                with self.assertRaisesRegex(ValueError, "make it again"):
                    index.remove(where=bitmap)
                self.assertEqual(len(index), N)


class OfShards(Case):
    def setUp(self) -> None:
        super().setUp()
        self.vectors = random_vectors(400, DIMS)

    def test_integers_are_ids_and_old_filters_are_refused(self) -> None:
        ids = np.arange(400) + 1000
        for names in (False, True):
            given = [f"n{i}" for i in range(400)] if names else ids
            parts = [(self.vectors[a : a + 100], given[a : a + 100]) for a in range(0, 400, 100)]
            mask = np.arange(400) < 8
            with shards.build(self.path(str(names)), parts, calibration_queries=0) as many:
                want = given[:3]
                expected = set(many._find(thresher.shards._collection.as_items(want))[1].tolist()) if names else {*want}
                found = many.search(self.vectors[0], 5, filter=want)[0]
                self.assertEqual(set(found[found < thresher.NO_ID].tolist()), set(map(int, expected)))
                self.assertEqual(len(many.search(self.vectors[0], 5, filter=mask)[0]), 5)
                old = [many.filter_ids(want), thresher.Filter(400, mask), mask]
                with self.assertRaisesRegex(ValueError, "made of row numbers"):
                    many.search(self.vectors[0], 5, filter=thresher.Filter(400, [1]))
            shards.remove(self.path(str(names)), given[:4])
            fresh = ["x0", "x1", "x2", "x3"] if names else [7, 8, 9, 10]
            shards.add(self.path(str(names)), self.vectors[:4] + 1, ids=fresh, calibration_queries=0)
            with shards.open(self.path(str(names))) as many:
                self.assertEqual(len(many), 400)
                for made in old:
                    for search in (many.search, lambda q, k, **o: many.search_radius(q, 0.5, **o)):
                        with self.assertRaisesRegex(ValueError, f"make it again|{REMEDY}"):
                            search(self.vectors[0], 5, filter=made)
                self.assertTrue(many.info.has_removed)

    def test_ids_that_are_rows_are_taken_as_either(self) -> None:
        with shards.build(self.path(), np.split(self.vectors, 4), calibration_queries=0) as many:
            for allowed in (np.arange(4), np.arange(400) < 4, thresher.Filter(400, [0, 1, 2, 3]), many.filter_ids(range(4))):
                found = many.search(self.vectors[9], 9, filter=allowed)[0]
                self.assertEqual(set(found[found < thresher.NO_ID].tolist()), {0, 1, 2, 3})


class OfHits(Case):
    def test_integers_are_ids(self) -> None:
        features, ids = [[1]] * 50, np.arange(50) + 7
        with thresher.Hits.build(self.path("ids"), features, ids=ids) as hits:
            self.assertEqual(sorted(hits.search({1: 1.0}, 2, filter=[7, 9])[0].tolist()), [7, 9])
            with self.assertRaises(thresher.NotFoundError):
                hits.search({1: 1.0}, 2, filter=[3])
            for wrong in (thresher.Filter(50, [3]), roaring([9])):
                with self.assertRaisesRegex(ValueError, "ids"):
                    hits.search({1: 1.0}, 2, filter=wrong)
            self.assertEqual(hits.search({1: 1.0}, 1, filter=np.arange(50) == 3)[0].tolist(), [10])
            hits.remove([7])
            hits.add([[1]], ids=[8])
            self.assertEqual(sorted(hits.search({1: 1.0}, 2, filter=[8, 9])[0].tolist()), [8, 9])

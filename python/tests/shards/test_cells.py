# SPDX-License-Identifier: Apache-2.0
"""Collections whose shards have cells: exact answers stay, a promised recall is kept, and changes keep cells and items."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import thresher
from support import Case, random_vectors
from thresher import shards
from thresher.shards import _manifest

N, DIMS, K, CELLS = 4000, 16, 10, 64
CUTS = [1500, 1510, 2600]
NAMES = [f"item {i}" for i in range(N)]
IDS: Any = np.random.default_rng(1).permutation(9 * N)[:N]


def clustered(n: int, dims: int, seed: int) -> Any:
    """Vectors in groups of about 100, some closer together than others."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n // 100, dims)) * 2
    spread = rng.uniform(0.2, 1, (n, 1))
    return (centres[rng.integers(0, len(centres), n)] + rng.standard_normal((n, dims)) * spread).astype(np.float32)


def parts_of(x: Any, ids: Any = None, cuts: Any = CUTS) -> list[Any]:
    """Parts of vectors, with their ids or names."""
    ends = [0, *cuts, len(x)]
    pairs = zip(ends, ends[1:])
    return np.split(x, cuts) if ids is None else [(x[a:b], ids[a:b]) for a, b in pairs]


def held(path: str) -> list[int]:
    """The cells of each shard."""
    with shards.open(path) as collection:
        return [index.info.n_cells for _, index in collection.opened()]


class WithCells(Case):
    n_sure = 0

    def same(self, one: Any, many: Any) -> None:
        for a, b in zip(one, many):
            np.testing.assert_array_equal(a, b)

    def check(self, one: Any, many: Any, queries: Any, allowed: Any = None) -> None:
        """Searches that read all cells have the bits of one index."""
        own: dict[str, Any] = {} if allowed is None else {"filter": one.filter_ids(allowed)}
        whole: dict[str, Any] = {} if allowed is None else {"filter": many.filter_ids(allowed)}
        for options in ({"exact": True}, {"recall": 1.0}, {"exact": True, "certified": True}):
            n = 3 if one.info.keep == "float32" else 2  # rounded vectors are never certified over shards
            found = one.search(queries, K, **options, **own), many.search(queries, K, **options, **whole)
            self.same(found[0][:n], found[1][:n])
        least = float(np.median(one.search(queries, 3, exact=True, **own)[1][:, -1]))
        found = [i.search_radius(queries, least, recall=1.0, filter=f.get("filter")) for i, f in ((one, own), (many, whole))]
        self.assertGreater(int(found[0][0][-1]), 10)
        if one.info.keep == "float32":
            self.same(*found)
        else:  # rounded vectors: other items that may be within the radius are found, too
            inside = [[part[f[2] >= least] for part in f[1:3]] for f in found]
            self.same(*inside)
        sure = [i.search(queries, 1, certified=True, query_bits=8, **f) for i, f in ((one, own), (many, whole))]
        both = sure[0][2] & sure[1][2]
        self.n_sure += int(both.sum())
        self.same([part[both] for part in sure[0]], [part[both] for part in sure[1]])


class SameBits(WithCells):
    """Searches that read all cells have the answers of one index without cells."""

    def test_exact_answers(self) -> None:
        x = clustered(N, DIMS, 1)
        queries = np.concatenate([x[:20] + np.float32(0.01), random_vectors(10, DIMS, 3)])
        for metric in ("cosine", "ip", "l2"):
            for keep, ids in (("float32", None), ("float16", IDS), ("int8", NAMES)):
                options: Any = {"metric": metric, "keep": keep, "replace": True}
                with thresher.Index.build(self.path("one"), x, ids=ids, **options) as one:
                    with shards.build(self.path("many"), parts_of(x, ids), cells=CELLS, **options) as many:
                        self.assertGreater(many.info.n_cells, CELLS // 2)
                        self.assertEqual(many.info.quantiser, one.quantiser_fingerprint)
                        self.check(one, many, queries)
                        some = range(0, N, 7)
                        self.check(one, many, queries, [i if ids is None else ids[i] for i in some])
        self.assertGreater(self.n_sure, 30)

    def test_features_follow_the_order_of_cells(self) -> None:
        x = clustered(N, DIMS, 1)
        words = [[f"category={i % 7}", f"brand={i % 11}"] for i in range(N)]
        bids = np.linspace(0.5, 2, N, dtype=np.float32)
        ends = [0, *CUTS, N]
        own: Any = [(words[a:b], bids[a:b]) for a, b in zip(ends, ends[1:])]
        asked = [{f"category={q % 7}": 1.5, f"brand={q % 4}": -0.25} for q in range(19)] + [{}]
        given: Any = {"features": [part[0] for part in own], "multipliers": [part[1] for part in own]}
        with thresher.Index.build(self.path("one"), x, features=words, multipliers=bids) as one:
            with shards.build(self.path("many"), parts_of(x), cells=CELLS, **given) as many:
                self.assertGreater(many.info.n_cells, CELLS // 2)
                for options in ({"exact": True}, {"n_survivors": N, "n_candidates": N}):
                    found = [i.search(x[:20], K, features=asked, **options) for i in (one, many)]
                    self.same(*found)
                targeted = [i.search(x[:20], K, target="brand=3", exact=True) for i in (one, many)]
                self.same(*targeted)
                some, _ = many.search(x[:20], K, target="brand=3", recall=0.9)
                self.assertTrue((some % 11 == 3).all())

    def test_items_by_id_and_name(self) -> None:
        x = clustered(N, DIMS, 1)
        numbers = [0, 1, 1499, 1505, 2000, N - 1]
        for ids in (None, IDS, NAMES):
            items: Any = numbers if ids is None else [ids[i] for i in numbers]
            with shards.build(self.path(), parts_of(x, ids), cells=CELLS, replace=True) as many:
                np.testing.assert_array_equal(many.vectors(items), x[numbers])
                self.assertTrue(all(item in many for item in items))
                self.assertEqual((many.info.has_ids, many.info.has_names), (ids is not NAMES, ids is NAMES))
                if ids is NAMES:  # ids are the rows of the build
                    self.assertEqual(many.names(numbers), items)
                    self.assertEqual([many.find(name) for name in items], numbers)
                    self.assertEqual(many.search(x[numbers], 1, exact=True)[0][:, 0].tolist(), numbers)
                else:
                    self.assertEqual(many.search(x[numbers], 1, exact=True)[0][:, 0].tolist(), [int(i) for i in items])

    def test_a_calibration_keeps_the_cells(self) -> None:
        x = clustered(N, DIMS, 1)
        with shards.build(self.path(), parts_of(x), cells=CELLS, tune=x[:300]) as many:
            self.assertEqual([index.info.tuned_queries for _, index in many.opened()][0], 300)
            self.assertGreater(many.info.n_cells, CELLS // 2)
        shards.verify(self.path())


class Numbers(WithCells):
    """How many cells the shards get, and what the list has about them."""

    def test_cells_are_of_all_shards(self) -> None:
        x = clustered(N, DIMS, 1)
        info = shards.build(self.path(), parts_of(x), cells=CELLS).info
        counts = held(self.path())
        self.assertEqual(counts[1], 0)  # of 10 items
        self.assertEqual((info.cells, info.n_cells), (CELLS, sum(counts)))
        for n, items in zip(counts, (1500, 10, 1090, 1400)):
            self.assertLessEqual(abs(n - CELLS * items / N), 5)
        self.assertEqual(shards.read(self.path()), info)

    def test_auto(self) -> None:
        x = clustered(N, DIMS, 1)
        info = shards.build(self.path(), parts_of(x), cells="auto").info
        self.assertEqual((info.cells, info.n_cells, info.has_ids), ("auto", 0, True))  # so few are searched in no time
        self.assertEqual(shards.add(self.path(), x[:50], ids=np.arange(N, N + 50)).cells, "auto")
        self.assertEqual(shards.compact(self.path(), least_items=1000).cells, "auto")
        shards.verify(self.path())

    def test_one_cell_is_none(self) -> None:
        x = clustered(N, DIMS, 1)
        for cells in (None, 1):
            info = shards.build(self.path(), parts_of(x), cells=cells, replace=True).info
            self.assertEqual((info.cells, info.n_cells, info.has_ids), (None, 0, False))

    def test_what_does_not_fit_is_refused(self) -> None:
        x = clustered(N, DIMS, 1)
        for cells, kind, words in (
            ("Auto", ValueError, 'cells is .Auto.: expected a whole number or "auto"'),
            (True, TypeError, 'cells is True: expected a whole number or "auto"'),
            (False, TypeError, "cells is False: expected"),
            (0, ValueError, "cells is 0: 1 to 65536 for each shard are possible"),
            (-1, ValueError, "cells is -1: 1 to 65536 for each shard are possible"),
            (2**32, ValueError, f"cells is {2**32}: 1 to 65536 for each shard are possible"),
            (2.5, TypeError, "cells"),
            (N + 1, ValueError, f"cells {N + 1} exceeds the number of items, {N}"),
        ):
            with self.assertRaisesRegex(kind, words):
                shards.build(self.path(), parts_of(x), cells=cells)
        with self.assertRaisesRegex(thresher.UnsupportedError, "^part 0: .*cells"):
            shards.build(self.path(), parts_of(x), cells=CELLS, keep=None)
        self.assertFalse(os.path.exists(self.path()))
        with shards.build(self.path(), parts_of(x), cells=np.int64(CELLS)) as many:  # type: ignore[arg-type]
            for allowed in (np.ones(N, bool), thresher.Filter(N, np.ones(N, bool)), thresher.Filter(N, [1, 2])):
                with self.assertRaisesRegex(ValueError, "has cells, so its rows are not in the order of its items"):
                    many.search(x[:2], K, filter=allowed)
                with self.assertRaisesRegex(ValueError, "has cells"):
                    many.search_radius(x[:2], 0.9, filter=allowed)

    def test_the_list_counts_the_cells_of_the_shards(self) -> None:
        info = shards.build(self.path(), parts_of(clustered(N, DIMS, 1)), cells=CELLS).info
        for n in (0, info.n_cells + 1):
            _manifest.write(self.path(), info._replace(n_cells=n))
            with self.assertRaisesRegex(thresher.FormatError, "shards.json: has another n_cells") as refused:
                shards.verify(self.path())
            self.assertEqual(refused.exception.status, "ECORRUPT")


class Promise(Case):
    def test_a_promised_recall_is_kept_by_the_whole(self) -> None:
        """Of clustered vectors and others, in shards of the same kind of rows and in shards of one topic each."""
        n, dims = 12_000, 16
        for x in (clustered(n, dims, 2), random_vectors(n, dims, 3)):
            for by_topic in (False, True):
                rows = x[np.argsort(x[:, 0])] if by_topic else x
                self.keeps(rows, ("cosine", "ip") if by_topic else ("l2",))

    def test_the_best_of_items_of_various_lengths(self) -> None:
        rng = np.random.default_rng(1)
        x = (clustered(24_000, 32, 1) * rng.lognormal(0, 0.5, (24_000, 1))).astype(np.float32)
        queries = (x[rng.integers(0, len(x), 500)] + rng.standard_normal((500, 32)) * 0.3).astype(np.float32)
        with shards.build(self.path(), np.array_split(x, 4), metric="ip", cells=160, calibration_queries=100) as many:
            for k in (1, 2):
                truth, _ = many.search(queries, k, exact=True)
                for recall in (0.9, 0.99):
                    found, _ = many.search(queries, k, recall=recall)
                    reached = float(np.mean([np.isin(a, b).mean() for a, b in zip(truth, found)]))
                    self.assertGreaterEqual(reached, recall - 0.01, f"{k} {recall}")

    def keeps(self, x: Any, metrics: Any) -> None:
        rng = np.random.default_rng(4)
        near = x[rng.integers(0, len(x), 200)] + rng.standard_normal((200, x.shape[1])) * 0.2
        queries = np.concatenate([near, random_vectors(100, x.shape[1], 5), -x[rng.integers(0, len(x), 100)]])
        queries = queries.astype(np.float32)
        tenth = rng.permutation(len(x))[: len(x) // 10]
        for metric in metrics:
            options: Any = {"metric": metric, "replace": True, "calibration_queries": 100}
            with shards.build(self.path("c"), np.array_split(x, 3), cells=128, **options) as many:
                for allowed in (None, many.filter_ids(tenth)):
                    for k in (1, 10, 100):
                        truth, _ = many.search(queries, k, exact=True, filter=allowed)
                        for recall in (0.9, 0.99):
                            found, _ = many.search(queries, k, recall=recall, filter=allowed)
                            reached = float(np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(found, truth)]))
                            self.assertGreaterEqual(reached, recall - 0.005, f"{metric} {k} {recall}")

    def test_cells_are_skipped(self) -> None:
        x = clustered(20_000, 24, 2)
        with shards.build(self.path(), np.array_split(x, 2), metric="l2", cells=200) as many:
            for _, index in many.opened():
                measured = index.measure_cells()
                self.assertEqual(measured.n_cells, index.info.n_cells)
                self.assertTrue(0 < measured.read < 0.9, str(measured))
                self.assertGreater(measured.speed, 0)
            parts = [index.measure_cells() for _, index in many.opened()]
            whole = many.measure_cells()
            self.assertEqual(whole.n_cells, many.info.n_cells)
            self.assertEqual(whole.smallest, min(cells.smallest for cells in parts))
            self.assertEqual(whole.largest, max(cells.largest for cells in parts))
            self.assertEqual(whole.n_without_cell, 0)
            self.assertAlmostEqual(whole.read, sum(cells.read for cells in parts) / 2)
            self.assertAlmostEqual(whole.speed, 2 / sum(1 / cells.speed for cells in parts))
        parts = [x[:8], x[8:]]
        with shards.build(self.path(), parts, metric="l2", cells=200, replace=True) as many:
            (_, few), (_, rest) = many.opened()
            whole, cells = many.measure_cells(), rest.measure_cells()
            self.assertEqual((few.info.n_cells, whole.n_without_cell), (0, 8))
            self.assertEqual(whole[:3], cells[:3])
            self.assertTrue(cells.read < whole.read < 0.9, str(whole))
            self.assertLess(whole.speed, max(cells.speed, 1))
        with shards.build(self.path("none"), parts) as many:
            self.assertEqual(many.measure_cells(), (0, 0, 0, 0, 0.0, 0.0, 0.0))

    def test_items_below_a_given_score_are_left_out(self) -> None:
        """The score of other shards makes a search with cells read no more, and drop nothing that reaches it."""
        x = clustered(20_000, 24, 2)
        queries = x[::100] + np.float32(0.01)
        with shards.build(self.path(), [x], metric="l2", cells=200) as many:
            ((_, index),) = many.opened()
            ids, scores = index.search(queries, K, recall=0.9)
            least = scores[:, 4].copy()
            reach = scores >= least[:, None]
            found = index.search(queries, K, recall=0.9, least_scores=least)
            np.testing.assert_array_equal(found[0], np.where(reach, ids, thresher.NO_ID))


class Changes(WithCells):
    """Changes of a collection keep its cells, and all items that they should."""

    def equals(self, x: Any, ids: Any, metric: str) -> None:
        queries = np.concatenate([x[::80], random_vectors(10, DIMS, 3)])
        with thresher.Index.build(self.path("one"), x, ids=ids, metric=metric, replace=True) as one:
            with shards.open(self.path("many")) as many:
                self.assertEqual(len(many), len(x))
                self.same(one.search(queries, K, exact=True), many.search(queries, K, exact=True))
                all_of = [np.sort(i.search(queries[:5], len(x) + 1, exact=True)[0]) for i in (one, many)]
                np.testing.assert_array_equal(*all_of)  # items of equal scores may change places
                self.assertLessEqual(abs(many.info.n_cells - CELLS * len(x) / N), 15)
                truth, _ = one.search(queries, K, exact=True)
                found, _ = many.search(queries, K, recall=0.9)
                self.assertGreater(np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(found, truth)]), 0.89)
        info = shards.verify(self.path("many"))
        self.assertEqual(info.n_cells, sum(held(self.path("many"))))
        self.assertLessEqual(abs(int(info.cells or 0) - CELLS * len(x) / N), 1)

    def test_items_are_added_removed_and_joined(self) -> None:
        x = clustered(N, DIMS, 1)
        for metric, n_first in (("l2", 2600), ("ip", 4000)):
            cells = CELLS * n_first // N
            parts = parts_of(x[:n_first], IDS[:n_first], CUTS[:2])
            shards.build(self.path("many"), parts, metric=metric, cells=cells, replace=True).close()
            if n_first < N:
                shards.add(self.path("many"), x[n_first:], ids=IDS[n_first:])
            self.equals(x, IDS, metric)
            gone = np.concatenate([np.arange(3, 900, 2), np.arange(1500, 1510), [2700]])
            left = np.setdiff1d(np.arange(N), gone)
            shards.remove(self.path("many"), IDS[gone])
            self.equals(x[left], IDS[left], metric)
            shards.compact(self.path("many"), least_items=1400)
            self.equals(x[left], IDS[left], metric)
            self.assertEqual(len(shards.compact(self.path("many")).shards), 1)
            self.equals(x[left], IDS[left], metric)

    def test_items_with_names(self) -> None:
        x = clustered(N, DIMS, 1)
        parts = parts_of(x[:2600], NAMES[:2600], CUTS[:2])
        shards.build(self.path("many"), parts, metric="l2", cells=CELLS * 2600 // N).close()
        np.save(self.path("more.npy"), x[2600:])
        shards.add(self.path("many"), self.path("more.npy"), ids=NAMES[2600:])
        self.equals(x, NAMES, "l2")
        gone = [7, *range(1500, 1510), 2700, 2702]
        left = np.setdiff1d(np.arange(N), gone)
        shards.remove(self.path("many"), [NAMES[i] for i in gone])
        names = [NAMES[i] for i in left]
        self.equals(x[left], names, "l2")
        shards.compact(self.path("many"))
        self.equals(x[left], names, "l2")
        with shards.open(self.path("many")) as many:
            self.assertEqual(many.names(np.arange(len(left))), names)  # rows are in the order of the build

    def test_rows_become_given_ids(self) -> None:
        x = clustered(N, DIMS, 1)
        shards.build(self.path("many"), parts_of(x[:3000]), metric="l2", cells=CELLS * 3000 // N).close()
        with self.assertRaisesRegex(ValueError, "give ids"):
            shards.add(self.path("many"), x[3000:])
        shards.add(self.path("many"), x[3000:], ids=np.arange(3000, N))
        self.equals(x, None, "l2")
        shards.compact(self.path("many"))
        self.equals(x, None, "l2")
        shards.remove(self.path("many"), [0, 5])
        left = np.setdiff1d(np.arange(N), [0, 5])
        self.equals(x[left], left, "l2")

    def test_a_damaged_shard_is_not_copied(self) -> None:
        x = clustered(N, DIMS, 1)
        shards.build(self.path("many"), parts_of(x, IDS), cells=CELLS).close()
        shard = os.path.join(self.path("many"), shards.read(self.path("many")).shards[0].directory)
        place = max((os.path.join(shard, name) for name in os.listdir(shard)), key=os.path.getsize)
        with open(place, "r+b") as file:
            file.seek(os.path.getsize(place) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        for change in (
            lambda: shards.remove(self.path("many"), IDS[:1]),
            lambda: shards.compact(self.path("many")),
            lambda: shards.verify(self.path("many")),
        ):
            with self.assertRaises(thresher.FormatError):
                change()

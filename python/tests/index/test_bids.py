# SPDX-License-Identifier: Apache-2.0
"""Values that were set stay with their items at every commit, also of another process, or the call is refused."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

import thresher
from support import Case, random_vectors
from thresher import Hits, Index

N, DIMS, BEST = 600, 16, 321


class Bids(Case):
    def setUp(self) -> None:
        super().setUp()
        self.vectors = random_vectors(N, DIMS)
        self.bids, self.pacing = np.ones(N, np.float32), np.zeros(N, np.float32)
        self.bids[BEST] = 1e4

    def build(self, name: str = "index", **options: Any) -> Index:
        options = {"metric": "ip", "calibration_queries": 0, "replace": True, "features": [[1]] * N, **options}
        index = Index.build(self.path(name), self.vectors, **options)
        self.addCleanup(index.close)
        return index

    def best(self, index: Index, k: int = 1) -> list[int]:
        ids: list[int] = index.search(self.vectors[0], k, features={1: 100.0}, exact=True)[0].tolist()
        return ids

    def more(self, n: int = 2) -> dict[str, Any]:
        return {"features": [[1]] * n}

    def test_values_of_an_index_outlive_every_commit(self) -> None:
        x = self.vectors
        changes: list[Callable[[Index], Any]] = [
            lambda index: index.add(x[:2], **self.more()),
            lambda index: index.upsert(x[5:7], ids=[5, 6], **self.more()),
            lambda index: index.upsert(x[:N:2], ids=np.arange(0, N, 2), **self.more(N // 2)),
            lambda index: index.remove([0, 1]),
            lambda index: index.compact(),
            lambda index: index.compact(recode=True),
            lambda index: index.writer().add(x[:2], **self.more()),
            lambda index: [index.add(x[i : i + 1], **self.more(1)) for i in range(12)],
            lambda index: index.tune(x[:40]),
            lambda index: index.upsert(x[BEST : BEST + 1] * 1.1, ids=[BEST], **self.more(1)),
        ]
        for cells in (None, 8):
            for given in ({}, {"multipliers": np.ones(N), "offsets": np.zeros(N)}):
                for auto in ("manual", "auto"):
                    for number, change in enumerate(changes):
                        self.build(cells=cells, **given).close()
                        index, other = Index.open(self.path(), refresh=auto), Index.open(self.path())
                        index.hits.set_values(self.bids, ids=np.arange(N))
                        with self.subTest(cells=cells, given=len(given), auto=auto, change=number):
                            self.assertEqual(self.best(index), [BEST])
                            change(other)  # as another process would
                            index.refresh()
                            self.assertEqual(self.best(index), [BEST])
                            change(index)
                            self.assertEqual(self.best(index), [BEST])
                        index.close()
                        other.close()

    def test_offsets_outlive_a_commit(self) -> None:
        index = self.build()
        self.pacing[7] = 1e5
        index.hits.set_values(offsets=self.pacing)
        index.add(self.vectors[:2], **self.more())
        index.compact()
        self.assertEqual(self.best(index), [7])

    def test_values_that_a_change_gives_hold(self) -> None:
        for given in ({}, {"multipliers": np.ones(N)}):
            index, other = self.build(**given), Index.open(self.path())
            index.hits.set_values(self.bids)
            other.upsert(self.vectors[BEST : BEST + 1], ids=[BEST], multipliers=[1.0], **self.more(1))
            other.upsert(self.vectors[9:10], ids=[9], multipliers=[1e5], **self.more(1))
            other.add(self.vectors[:1], ids=[7000], multipliers=[1e6], **self.more(1))
            other.compact()
            index.refresh()
            self.assertEqual(self.best(index, 2), [7000, 9])
            self.assertNotIn(BEST, self.best(index, 3))
            index.compact(recode=True)
            self.assertEqual(self.best(index, 2), [7000, 9])
            other.close()

    def test_names_keep_their_values(self) -> None:
        index = self.build(ids=[f"n{i}" for i in range(N)])
        index.hits.set_values(self.bids)
        index.upsert(self.vectors[BEST : BEST + 1] * 1.1, names=[f"n{BEST}"], **self.more(1))
        self.assertEqual(index.name(self.best(index)[0]), f"n{BEST}")
        names = [f"n{i}" for i in range(N)][::-1]
        index.hits.set_values(self.bids, ids=names)
        self.assertEqual(index.name(self.best(index)[0]), f"n{N - 1 - BEST}")

    def test_values_are_by_item_or_refused(self) -> None:
        index = self.build(cells=8)
        self.assertGreater(index.info.n_rows, 0)
        for values in (self.bids, np.ones(index.info.n_rows + 1)):
            with self.assertRaisesRegex(ValueError, r"give ids=|expected \[600\], one an item"):
                index.hits.set_values(values)
        index.hits.set_values(self.bids, ids=np.arange(N))
        self.assertEqual(self.best(index), [BEST])
        for wrong, words in (([1, 2], "2 items were named: give all 600"), ([1] * N, "1 items were named")):
            with self.assertRaisesRegex(ValueError, words):
                index.hits.set_values(self.bids, ids=wrong)
        with self.assertRaises(thresher.NotFoundError):
            index.hits.set_values(self.bids, ids=np.arange(N) + 1)
        plain = self.build("plain")
        plain.hits.set_values(self.bids)
        self.assertEqual(self.best(plain), [BEST])
        plain.upsert(self.vectors[:300], ids=np.arange(300), **self.more(300))
        plain.compact()
        with self.assertRaisesRegex(ValueError, "give ids="):
            plain.hits.set_values(self.bids)
        self.assertEqual(self.best(plain), [BEST])

    def test_a_child_and_a_pickle_do_not_have_them_and_say_so(self) -> None:
        index = self.build()
        index.hits.set_values(self.bids)
        with self.assertRaisesRegex(ValueError, "a pickle holds its path only"):
            pickle.dumps(index)
        with Hits.build(self.path("hits"), [[1]] * 5) as hits:
            hits.set_values([1, 2, 3, 9, 4])
            child = os.fork()
            if child == 0:
                refused = 0
                for search in (lambda: self.best(index), lambda: hits.search({1: 1.0}, 1)):
                    try:
                        search()
                    except ValueError as failure:
                        refused += "open it again, and set them" in str(failure)
                os._exit(refused)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 2)

    def test_values_of_hits_alone(self) -> None:
        with Hits.build(self.path("hits"), [[1]] * 5, ids=[10, 11, 12, 13, 14]) as hits:
            hits.set_values([1, 2, 3, 9, 4])
            hits.add([[1]], ids=[20], multipliers=[8])
            self.assertEqual(hits.search({1: 1.0}, 2)[0].tolist(), [13, 20])
            hits.set_values([1, 2, 3, 4, 5, 6])
            self.assertEqual(hits.search({1: 1.0}, 2)[0].tolist(), [20, 14])
            hits.remove([11])
            self.assertEqual(hits.search({1: 1.0}, 2)[0].tolist(), [20, 14])
            for values in ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]):
                with self.assertRaisesRegex(ValueError, r"give ids=|expected \[5\]"):
                    hits.set_values(values)
            hits.set_values([1, 9, 3, 4, 5], ids=[20, 10, 12, 13, 14])
            self.assertEqual(hits.search({1: 1.0}, 2)[0].tolist(), [10, 14])

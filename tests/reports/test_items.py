# SPDX-License-Identifier: Apache-2.0
"""Reports of filters, ids, names, changes and snapshots: each item keeps its own vector, name, value and number."""

from __future__ import annotations

import contextlib
import json
import os
import unittest
from pathlib import Path
from typing import Any

import numpy as np
from case import ReportCase, normal

import thresher
from thresher import Filter, Index

F32 = np.float32


class Filters(ReportCase):
    def test_a_filter_of_ids_finds_these_ids_in_python_and_the_shell(self) -> None:
        n = 400
        x, ids, wanted = normal(n, 16, 1).astype(F32), np.random.default_rng(2).permutation(n), [3, 5, 8]
        with Index.build(self.path("i"), x, ids=ids, threads=1) as index:
            for given in (wanted, index.filter_ids(wanted)):
                found, _ = index.search(x[:1], 3, filter=given)
                self.assertEqual(sorted(found[0].tolist()), wanted)
        self.save("q.npy", x[:1])
        Path(self.path("f.txt")).write_text("3\n5\n8\n")
        printed = self.shelled("index", "search", "i", "q.npy", "-k", "3", "--filter", "f.txt", "--json")
        self.assertEqual(sorted(json_ids(printed)), wanted)

    def test_a_filter_of_rows_that_moved_is_refused(self) -> None:
        n = 1024
        x, mask = normal(n, 16, 1).astype(F32), np.arange(n) < 64
        with Index.build(self.path("cells"), x, cells=8, threads=1) as index:
            made = Filter(index.info.n_rows, np.resize(mask, index.info.n_rows))
            self.refuses(index, x[:5], made)
            self.assertEqual(len(index), n)
        with Index.build(self.path("changed"), x, threads=1) as index:
            made = Filter(len(index), mask)
            index.upsert(x[:500] + 1, ids=np.arange(500))
            index.compact(recode=True)
            self.refuses(index, x[700:705], made)
            self.assertEqual(sorted(index.ids().tolist()), list(range(n)))

    def refuses(self, index: Index, queries: Any, made: Filter) -> None:
        for use in (lambda: index.search(queries, 20, filter=made), lambda: index.remove(where=made)):
            with self.assertRaisesRegex(thresher.ArgumentError, "filter: .*give .*filter_ids"):
                use()


def json_ids(printed: str) -> list[int]:
    return [int(one) for line in printed.splitlines() for one in json.loads(line)["ids"]]


class Values(ReportCase):
    def test_bids_in_the_order_of_the_build_stay_with_their_items(self) -> None:
        n = 2000
        x, bids = normal(n, 16, 1).astype(F32), np.ones(n, F32)
        bids[1321] = 1e4
        own = {"features": [[1]] * n, "multipliers": bids}
        with Index.build(self.path(), x, metric="ip", cells=16, threads=1, **own) as index:
            for _ in range(2):
                self.assertEqual(index.search(x[:1], 1, features=[{1: 100.0}])[0].tolist(), [[1321]])
                with contextlib.suppress(thresher.Error):
                    index.hits.set_values(bids)


class Names(ReportCase):
    def test_strings_of_variable_width_are_names(self) -> None:
        if not hasattr(np.dtypes if hasattr(np, "dtypes") else np, "StringDType"):
            self.skipTest("numpy 2 has StringDType")
        names = np.array([f"n{i}" for i in range(100)], dtype=np.dtypes.StringDType())
        x = normal(100, 16, 1).astype(F32)
        with Index.build(self.path(), x, ids=names, threads=1) as index:
            self.assertEqual(index.name(5), "n5")
            self.assertEqual(index.remove(names=names[:3]).n_removed, 3)
            self.assertEqual(index.search(x[:1], 6, filter=index.filter_ids(names[3:9]))[0].shape, (1, 6))
            index.add(x[:3], names=names[:3])
            self.assertEqual(len(index), 100)

    def test_absent_ids_and_names_are_not_found_and_repeat_nothing(self) -> None:
        x = normal(3, 4, 1).astype(F32)
        for metric in ("cosine", "ip", "l2"):
            with Index.build(self.path(), x, metric=metric, ids=[10, 20, 30], replace=True, threads=1) as index:
                for call in (lambda: index.vectors([10, 11]), lambda: index.rows([31]), lambda: index.row(0)):
                    with self.assertRaises(thresher.NotFoundError):
                        call()
                self.assertIsNone(index.name(11))
                self.assertEqual([one in index for one in (10, 11, 30)], [True, False, True])
                allowed = index.filter_ids([10, 30])
                self.assertEqual(sorted(index.search(x[1], 2, filter=allowed, exact=True)[0].tolist()), [10, 30])
                ids, scores = index.search(x[1], 3, filter=allowed, exact=True)
                self.assertEqual((ids[2], scores[2]), (thresher.NO_ID, -np.inf))


class Changes(ReportCase):
    def test_items_keep_their_vectors_through_changes_of_every_kind(self) -> None:
        n = 1200
        x, names = normal(n, 16, 1).astype(F32), [f"n{i}" for i in range(n)]
        model = dict(zip(names, x))
        words = [[f"w={i % 7}"] for i in range(n)]
        with Index.build(self.path(), x, ids=names, cells=8, features=words, threads=1) as index:
            for round_ in range(3):
                some = names[round_::9]
                model.update(zip(some, rows := normal(len(some), 16, 10 + round_).astype(F32)))
                index.upsert(rows, names=some, features=[["w=1"]] * len(some))
                gone = [names[round_], names[-1 - round_]]
                self.assertEqual(index.remove(names=gone).n_removed, 2)
                for name in gone:
                    del model[name]
                index.add(x[round_ : round_ + 1], names=[f"new{round_}"], features=[["w=1"]])
                model[f"new{round_}"] = x[round_]
                index.compact(recode=round_ == 1)
            index.verify()
            self.assertEqual(len(index), len(model))
            listed = list(model)
            np.testing.assert_array_equal(index.vectors(listed), np.stack([model[name] for name in listed]))
            own = index.names(index.search(np.stack([model[name] for name in listed[:200]]), 1, exact=True)[0])
            self.assertEqual([one for one, in own], listed[:200])

    def test_a_key_that_occurs_twice_in_a_batch_is_refused_whole(self) -> None:
        x = normal(20, 8, 1).astype(F32)
        with Index.build(self.path("ids"), x, ids=np.arange(20), threads=1) as index:
            with index.writer() as writer, self.assertRaisesRegex(thresher.ArgumentError, "5"):
                writer.upsert(x[:2], ids=[5, 5])
            with self.assertRaisesRegex(thresher.ArgumentError, "5.*rows? 0 and 1|5 .*repeated|5.*twice"):
                index.upsert(x[:2], ids=[5, 5])
            np.testing.assert_array_equal(index.vector(5), x[5])
        with Index.build(self.path("names"), x, ids=[f"a{i}" for i in range(20)], threads=1) as index:
            with self.assertRaisesRegex(thresher.ArgumentError, "a1"):
                index.upsert(x[:2], names=["a1", "a1"])
            self.assertEqual(len(index), 20)

    def test_removed_items_never_come_back(self) -> None:
        x = normal(2000, 16, 1).astype(F32)
        with Index.build(self.path(), x, threads=1) as index, Index.open(self.path(), refresh="auto") as other:
            order = index.search(x[0], 100, exact=True)[0]
            index.remove(order[:50])
            for step in (lambda: None, lambda: index.add(normal(5, 16, 9).astype(F32) - 10 * x[0]), index.compact):
                step()
                for reader in (index, other):
                    self.assertEqual(reader.search(x[0], 50, exact=True)[0].tolist(), order[50:].tolist())
                    self.assertFalse(set(reader.search(x[0], 50)[0].tolist()) & set(order[:50].tolist()))


class Snapshots(ReportCase):
    def test_a_forked_child_agrees_with_itself_on_its_snapshot(self) -> None:
        x = normal(100, 8, 1).astype(F32)
        with Index.build(self.path(), x, threads=1) as index, Index.open(self.path()) as changer:
            changer.add(5 * x[:1])
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    found = index.search(x[:1], 200)[0][0]
                    agrees = len(index) == int((found != thresher.NO_ID).sum()) == index.info.n_items
                    os.write(writer, b"1" if agrees else b"0")
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            self.assertEqual(os.read(reader, 1), b"1")
            self.assertEqual(len(index), 100)
            os.close(reader)
            os.close(writer)

    def test_a_link_that_names_another_index_is_followed(self) -> None:
        old, new = normal(50, 8, 1).astype(F32), normal(80, 12, 2).astype(F32)
        Index.build(self.path("v1"), old, threads=1).close()
        Index.build(self.path("v2"), new, threads=1).close()
        os.symlink("v1", self.path("cur"))
        with Index.open(self.path("cur"), refresh="auto") as index:
            self.assertEqual(index.search(old[3], 1)[0].tolist(), [3])
            os.symlink("v2", self.path("next"))
            os.replace(self.path("next"), self.path("cur"))
            self.assertEqual(index.search(new[7], 1)[0].tolist(), [7])
            self.assertEqual(len(index), 80)
            with self.assertRaisesRegex(thresher.ArgumentError, "8.*12|12.*8"):
                index.search(old[3], 1)

    def test_what_does_not_belong_together_is_refused(self) -> None:
        x, wide = normal(200, 8, 1).astype(F32), normal(200, 12, 1).astype(F32)
        with Index.build(self.path("a"), x, threads=1) as index:
            with self.assertRaisesRegex(thresher.ArgumentError, "12"):
                index.search(wide[:1], 1)
            with self.assertRaises(thresher.ArgumentError):
                index.add(wide)
        with self.assertRaises(thresher.Error):
            Index.build(self.path("b"), wide, quantiser_from=self.path("a"), threads=1)
        Index.build(self.path("c"), wide, threads=1).close()
        names = {name.split(".")[-1]: name for name in os.listdir(self.path("c"))}
        own = next(name for name in os.listdir(self.path("a")) if name.endswith(".seg"))
        os.replace(self.path(os.path.join("c", names["seg"])), self.path(os.path.join("a", own)))
        with self.assertRaises(thresher.FormatError):
            Index.open(self.path("a")).search(x[:1], 1)


if __name__ == "__main__":
    unittest.main()

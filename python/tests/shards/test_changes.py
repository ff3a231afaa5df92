# SPDX-License-Identifier: Apache-2.0
"""Collections that are changed, beside readers and by processes that are stopped."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

import thresher
from support import Case
from shards.test_shards import KILLS, K, shifted
from thresher import shards
from thresher.shards import _manifest, _publish


@contextmanager
def damaged_vectors(path: str) -> Iterator[None]:
    """The last byte of the largest file of the first shard is another one."""
    shard = os.path.join(path, shards.read(path).shards[0].directory)
    place = max((os.path.join(shard, name) for name in os.listdir(shard)), key=os.path.getsize)
    with open(place, "r+b") as file:
        whole = file.read()
        file.seek(len(whole) // 2)
        file.write(bytes([whole[len(whole) // 2] ^ 1]))
    try:
        yield
    finally:
        with open(place, "r+b") as file:
            file.write(whole)


class Changes(Case):
    """Collections that are changed have the answers of one index over the rows that are there then."""

    def same(self, rows: Any, ids: Any, **options: Any) -> None:
        if "keep" in options:  # residuals are from the centre of the collection
            first = shards.read(self.path("many")).shards[0].directory
            options["quantiser_from"] = os.path.join(self.path("many"), first)
        with shards.open(self.path("many")) as many, thresher.Index.build(
            self.path("one"), rows, ids=ids, replace=True, **options
        ) as one:
            self.assertEqual(len(many), len(rows))
            for found in ({}, {"certified": True}):
                pairs = zip(one.search(rows[:25], K, exact=True, **found), many.search(rows[:25], K, exact=True, **found))
                for a, b in list(pairs)[: 2 if "keep" in options and options["keep"] != "float32" else 3]:
                    np.testing.assert_array_equal(a, b)
        self.assertEqual(shards.verify(self.path("many")).n_items, len(rows))
        self.assertEqual(len(os.listdir(self.path("many"))), len(shards.read(self.path("many")).shards) + 1)

    def test_items_are_added_removed_and_joined(self) -> None:
        for metric, keep in (("cosine", "float32"), ("l2", "float16"), ("ip", "float32")):
            x, ids = shifted(900), np.random.default_rng(4).permutation(5000)[:900]
            cuts = [300, 310, 600]
            parts = list(zip(np.split(x[:800], cuts), np.split(ids[:800], cuts)))
            shards.build(self.path("many"), parts, metric=metric, keep=keep, replace=True).close()
            self.assertEqual(shards.add(self.path("many"), x[800:], ids=ids[800:]).n_items, 900)
            self.same(x, ids, metric=metric, keep=keep)
            gone = np.concatenate([np.arange(5, 15), np.arange(300, 310), [850]])
            left = np.setdiff1d(np.arange(900), gone)
            self.assertEqual(len(shards.remove(self.path("many"), ids[gone]).shards), 4)  # one had no other items
            self.same(x[left], ids[left], metric=metric, keep=keep)
            self.assertEqual(len(shards.compact(self.path("many"), least_items=250).shards), 3)
            self.same(x[left], ids[left], metric=metric, keep=keep)
            self.assertEqual(len(shards.compact(self.path("many")).shards), 1)
            self.same(x[left], ids[left], metric=metric, keep=keep)

    def test_a_copied_shard_is_on_the_disk_before_the_list_that_names_it(self) -> None:
        x, ids = shifted(300), np.arange(300)
        shards.build(self.path("many"), [(x[:150], ids[:150]), (x[150:], ids[150:])]).close()
        old = [shard.directory for shard in shards.read(self.path("many")).shards]
        flushed: set[str] = set()
        fsync = os.fsync

        def flush(fd: int) -> None:
            flushed.add(os.readlink(f"/proc/self/fd/{fd}"))
            fsync(fd)

        def publish(path: str, manifest: shards.Manifest) -> None:
            for shard in {one.directory for one in manifest.shards} - set(old):
                made = os.path.join(path, shard)
                self.assertLessEqual({made, *(os.path.join(made, name) for name in os.listdir(made))}, flushed)
            self.assertLessEqual(set(old), set(os.listdir(path)))
            _manifest.write(path, manifest)

        with mock.patch("os.fsync", flush), mock.patch("thresher.shards._publish.write", publish):
            shards.remove(self.path("many"), [3, 200])
        left = np.setdiff1d(ids, [3, 200])
        self.same(x[left], left)

    def test_a_file_system_that_cannot_be_written_is_a_file_error_with_the_path(self) -> None:
        x, ids = shifted(300), np.arange(300)
        shards.build(self.path("many"), [(x[:150], ids[:150]), (x[150:], ids[150:])]).close()
        before = shards.read(self.path("many"))
        for what in ("mkdir", "fsync"):
            for number, text in ((errno.EROFS, "Read-only file system"), (errno.ENOSPC, "No space left on device")):
                failure = OSError(number, os.strerror(number))
                with mock.patch(f"os.{what}", side_effect=failure), self.assertRaises(thresher.FileError) as raised:
                    shards.remove(self.path("many"), [3])
                self.assertEqual(raised.exception.errno, number)
                self.assertEqual(raised.exception.status, "ENOSPACE" if number == errno.ENOSPC else "EIO")
                self.assertRegex(str(raised.exception), f"^{self.path('many')}.*: {text}$")
                self.assertEqual(shards.read(self.path("many")), before)
        shards.remove(self.path("many"), [3])
        left = np.setdiff1d(ids, [3])
        self.same(x[left], left)

    def test_nothing_is_added_and_removed(self) -> None:
        x, ids = shifted(300), np.arange(300)
        shards.build(self.path("many"), [(x[:150], ids[:150]), (x[150:], ids[150:])]).close()
        before = shards.read(self.path("many"))
        for nothing in ([], np.array([]), np.empty(0, np.int64)):
            self.assertEqual(shards.add(self.path("many"), x[:0], ids=nothing), before)
            self.assertEqual(shards.remove(self.path("many"), nothing), before)
        with self.assertRaisesRegex(TypeError, "give ids="):
            shards.add(self.path("many"), (x[:3], [900, 901, 902]), ids=[900, 901, 902])

    def test_ids_in_a_row_are_removed_again_and_again(self) -> None:
        x, ids = shifted(300), np.arange(300)
        shards.build(self.path("many"), [(x, ids)], metric="l2").close()
        left = ids
        for gone in ([0], [3, 5, 9], [299], [100, 7]):
            shards.remove(self.path("many"), gone)
            left = np.setdiff1d(left, gone)
            self.same(x[left], left, metric="l2")

    def test_a_removal_keeps_the_quantiser(self) -> None:
        rng = np.random.default_rng(6)
        spread = rng.standard_normal((17000, 16)).astype(np.float32)
        spread[:6000] = np.eye(16)[0] * 4 + spread[:6000] / 50  # without these, compacting learns codes anew
        ids = rng.permutation(20000)[:17000]
        parts = list(zip(np.split(spread, [12000]), np.split(ids, [12000])))
        words = [[f"third={i % 3}"] for i in range(17000)]
        for options in ({}, {"keep": "int8"}, {"features": [words[:12000], words[12000:]]}):
            shards.build(self.path("many"), parts, metric="l2", replace=True, **options).close()
            before = shards.read(self.path("many")).quantiser
            self.assertEqual(shards.remove(self.path("many"), ids[:6000]).quantiser, before)
            if options:
                options[next(iter(options))] = options.get("keep", words[6000:])
            self.same(spread[6000:], ids[6000:], metric="l2", **options)

    def test_rows_and_names(self) -> None:
        x = shifted(500)
        shards.build(self.path("many"), [x[:200], x[200:400]]).close()
        shards.add(self.path("many"), x[400:])
        self.same(x, None)
        shards.compact(self.path("many"))
        self.same(x, None)
        with self.assertRaisesRegex(thresher.UnsupportedError, "ids are row numbers"):
            shards.remove(self.path("many"), [3])
        with self.assertRaisesRegex(ValueError, "built without ids"):
            shards.add(self.path("many"), x, ids=np.arange(500))
        names = [f"item {i}" for i in range(500)]
        shards.build(self.path("many"), [(x[:400], names[:400])], replace=True).close()
        shards.add(self.path("many"), x[400:], ids=names[400:])
        for change in (
            lambda: shards.add(self.path("many"), x[:3], ids=["new", names[451], names[3]]),
            lambda: shards.build(self.path("new"), [(x[:400], names[:400]), (x[400:], ["a", *names[301:400]])]),
        ):
            with self.assertRaisesRegex(thresher.ArgumentError, "name 'item 3"):
                change()
        self.assertFalse(os.path.exists(self.path("new")))
        shards.verify(self.path("many"))
        shards.compact(self.path("many"))
        with shards.open(self.path("many")) as many:
            self.assertEqual(many.name(int(many.search(x[451], 1, exact=True)[0][0])), "item 451")

    def test_items_are_removed_by_name(self) -> None:
        x, names = shifted(500), [f"item {i}" for i in range(500)]
        parts = [(x[:200], names[:200]), (x[200:400], names[200:400]), (x[400:], names[400:])]
        shards.build(self.path("many"), parts).close()
        gone = [7, 199, *range(200, 400), 450]
        shards.remove(self.path("many"), [names[i] for i in gone])
        left = np.setdiff1d(np.arange(500), gone)
        self.same(x[left], [names[i] for i in left])
        with self.assertRaisesRegex(thresher.NotFoundError, "no item with the name 'item 7'"):
            shards.remove(self.path("many"), ["item 7", "item 8"])
        self.assertEqual(shards.remove(self.path("many"), ["item 7"], missing="ignore").n_items, len(left))
        with self.assertRaisesRegex(ValueError, "items have names: give names"):
            shards.remove(self.path("many"), [1])

    def test_ids_that_become_rows_are_still_given(self) -> None:
        x = shifted(400)
        shards.build(self.path("many"), [(x, np.arange(400))]).close()
        shards.remove(self.path("many"), np.arange(200, 400))
        shards.remove(self.path("many"), [3])
        with self.assertRaisesRegex(ValueError, "give ids"):
            shards.add(self.path("many"), x[200:])
        shards.add(self.path("many"), x[200:], ids=np.arange(500, 700))
        left = np.setdiff1d(np.arange(400), [3])
        self.same(x[left], np.where(left < 200, left, left + 300))

    def test_a_change_is_made_whatever_fails_after_its_commit(self) -> None:
        x, ids = shifted(400), np.arange(400)
        parts = [(x[:200], ids[:200]), (x[200:], ids[200:])]
        for change, left in (
            (lambda: shards.remove(self.path("many"), [5, 300]), np.setdiff1d(ids, [5, 300])),
            (lambda: shards.compact(self.path("many")), ids),
        ):
            shards.build(self.path("many"), parts, replace=True).close()
            interrupted = iter([KeyboardInterrupt])

            def clean(*arguments: Any, once: Any = interrupted, clean: Any = _publish.clean) -> None:
                for kind in once:
                    raise kind
                clean(*arguments)

            with mock.patch.object(_publish, "clean", clean), self.assertWarnsRegex(UserWarning, "the change is made"):
                change()
            shards.verify(self.path("many"))
            with shards.open(self.path("many")) as many:
                self.assertEqual(len(many), len(left))
            self.same(x[left], left)

    def test_verify_beside_changes(self) -> None:
        x = shifted(300)
        shards.build(self.path("many"), [(x[:200], 2 * np.arange(200)), (x[200:], 2 * np.arange(100) + 1)]).close()
        changed = threading.Event()
        failed = []

        def verify_again() -> None:
            while not changed.is_set():
                try:
                    shards.verify(self.path("many"))
                except Exception as error:
                    failed.append(error)

        thread = threading.Thread(target=verify_again)
        thread.start()
        for number in range(30):
            shards.remove(self.path("many"), [2 * number, 2 * number + 1])
        changed.set()
        thread.join()
        self.assertEqual(failed, [])
        self.assertEqual(shards.verify(self.path("many")).n_items, 240)

    def test_damage_is_not_copied(self) -> None:
        x = shifted(400)
        shards.build(self.path("many"), [(x[:200], np.arange(200)), (x[200:], np.arange(200, 400))]).close()
        for change in (
            lambda: shards.remove(self.path("many"), [5]),
            lambda: shards.compact(self.path("many")),
        ):
            with damaged_vectors(self.path("many")), self.assertRaisesRegex(thresher.FormatError, "checksum"):
                change()
        with thresher.Index(os.path.join(self.path("many"), shards.read(self.path("many")).shards[1].directory)) as index:
            index.remove(ids=[300])
        for change in (
            lambda: shards.remove(self.path("many"), [5]),
            lambda: shards.remove(self.path("many"), [301]),
            lambda: shards.compact(self.path("many")),
        ):
            with self.assertRaisesRegex(thresher.FormatError, "changed or replaced since the collection was published"):
                change()

    def test_items_with_features(self) -> None:
        x, rows = shifted(300), [[i % 7, 10 + i % 3] for i in range(300)]
        parts = [(x[:150], np.arange(150)), (x[150:250], np.arange(150, 250))]
        shards.build(self.path("many"), parts, features=[rows[:150], rows[150:250]]).close()
        with self.assertRaisesRegex(ValueError, "has features"):
            shards.add(self.path("many"), x[250:], ids=np.arange(250, 300))
        shards.add(self.path("many"), x[250:], ids=np.arange(250, 300), features=rows[250:])
        shards.remove(self.path("many"), np.arange(140, 160))
        with self.assertRaisesRegex(thresher.UnsupportedError, "with features are not rebuilt"):
            shards.compact(self.path("many"))
        left = np.setdiff1d(np.arange(300), np.arange(140, 160))
        weights = [{3: 0.5, 11: 0.25}] * 20
        with shards.open(self.path("many")) as many, thresher.Index.build(
            self.path("one"), x[left], ids=left, features=[rows[i] for i in left]
        ) as one:
            for a, b in zip(*(i.search(x[:20], K, exact=True, features=weights) for i in (one, many))):
                np.testing.assert_array_equal(a, b)

    def test_what_does_not_fit_leaves_the_collection(self) -> None:
        x = shifted(300)
        shards.build(self.path("many"), [(x[:100], np.arange(100)), (x[100:200], np.arange(100, 200))]).close()
        for kind, words, change in (
            (thresher.ArgumentError, "the id 7 is in shard 0 .* and in shard 2", lambda p: shards.add(p, x[:1], ids=[7])),
            (ValueError, "give ids", lambda p: shards.add(p, x[:1])),
            (thresher.ArgumentError, "rows of 3 dimensions", lambda p: shards.add(p, x[:1, :3], ids=[300])),
            (thresher.NotFoundError, "no item with the id 999", lambda p: shards.remove(p, [3, 999])),
            (thresher.ArgumentError, "no item would be left", lambda p: shards.remove(p, np.arange(200))),
            (ValueError, "missing is", lambda p: shards.remove(p, [3], missing="")),
        ):
            with self.assertRaisesRegex(kind, words):
                change(self.path("many"))
            self.same(x[:200], np.arange(200))
        shards.remove(self.path("many"), [999, 3], missing="ignore")
        self.same(np.delete(x[:200], 3, 0), np.delete(np.arange(200), 3))
        with self.assertRaises(thresher.FileMissingError):
            shards.add(self.path("none"), x)
        self.assertFalse(os.path.exists(self.path("none")))
        with shards.build(self.path("codes"), [(x, np.arange(300)), (x, np.arange(300, 600))], keep=None):
            with self.assertRaisesRegex(thresher.UnsupportedError, "keeps none"):
                shards.compact(self.path("codes"))

    def test_open_collections_go_on(self) -> None:
        x = shifted(300)
        with shards.build(self.path("many"), [(x[:200], np.arange(200)), (x[200:], np.arange(200, 300))]) as before:
            wanted = before.search(x[:20], K, exact=True)
            shards.remove(self.path("many"), wanted[0][:, 0], missing="ignore")
            shards.compact(self.path("many"))
            for a, b in zip(wanted, before.search(x[:20], K, exact=True)):
                np.testing.assert_array_equal(a, b)
            with shards.open(self.path("many")) as after:
                self.assertFalse(np.isin(wanted[0][:, 0], after.search(x[:20], K, exact=True)[0]).any())

    def test_a_change_that_is_killed_changes_nothing_or_all(self) -> None:
        x = shifted(400)
        shards.build(self.path("many"), [(x[:300], np.arange(300))]).close()
        os.mkdir(self.path("many") + "/parts-wz_unu84")  # what a search for ids given twice leaves when it is killed
        code = (
            "import sys, numpy as np\nfrom thresher import shards\nsys.path.append(sys.argv[2])\n"
            "from shards.test_shards import shifted\nx, path = shifted(400), sys.argv[1]\nprint(flush=True)\nwhile True:\n"
            "    shards.add(path, x[300:], ids=np.arange(300, 400))\n    shards.remove(path, np.arange(300, 400))\n"
            "    shards.remove(path, [5])\n    shards.add(path, x[5:6], ids=[5])\n"
            "    shards.compact(path)\n    shards.remove(path, np.arange(300, 400), missing='ignore')\n"
        )
        for i in range(KILLS):
            tests = os.path.dirname(os.path.dirname(__file__))
            words = [sys.executable, "-c", code, self.path("many"), tests]
            child = subprocess.Popen(words, stdout=subprocess.PIPE)
            self.addCleanup(child.stdout.close)  # type: ignore[union-attr]
            child.stdout.readline()  # type: ignore[union-attr]
            time.sleep(0.02 + 0.3 * i / KILLS)
            child.send_signal(signal.SIGKILL)
            self.assertEqual(child.wait(), -signal.SIGKILL)
            n = shards.verify(self.path("many")).n_items
            self.assertIn(n, (299, 300, 400))
            shards.remove(self.path("many"), np.arange(300, 400), missing="ignore")
            if n == 299:
                shards.add(self.path("many"), x[5:6], ids=[5])
            self.assertEqual(shards.read(self.path("many")).n_items, 300)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Opening, verifying and closing; errors as exceptions; recall; info."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import unittest

import numpy as np

import thresher
from support import SOURCES, Case, random_vectors
from thresher import Index

DIMS = 16


class Open(Case):
    def build(self, n: int = 500) -> Index:
        return Index.build(self.path(), random_vectors(n, DIMS), keep="float16")

    def test_info_and_repr(self) -> None:
        index = self.build()
        info = index.info
        self.assertEqual(
            (info.n_items, info.n_dims, info.metric, info.bits, info.keep), (500, DIMS, "cosine", 3, "float16")
        )
        self.assertEqual(info.file_bytes, sum(entry.stat().st_size for entry in os.scandir(self.path())))
        self.assertEqual(len(index), 500)
        self.assertEqual(repr(index), f"<thresher.Index {self.path()!r}: 500 x 16, cosine, 3 bits, float16 kept>")
        index.close()
        self.assertIn("float16 kept, closed>", repr(index))

    def test_collections_are_imported_when_they_are_used(self) -> None:
        code = (
            "import sys, thresher; assert 'thresher.shards' not in sys.modules and 'shards' in dir(thresher); "
            "assert thresher.shards.Shards and not hasattr(thresher, 'nothing')"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_what_cannot_be_opened(self) -> None:
        with self.assertRaises(FileNotFoundError) as missing:
            Index.open(self.path("nothing"))
        self.assertEqual((missing.exception.status, missing.exception.errno), ("ENOTFOUND", 2))  # type: ignore[attr-defined]
        self.assertIn("nothing", str(missing.exception))
        os.mkdir(self.path("empty"))
        with self.assertRaises(thresher.Error) as empty:
            Index.open(self.path("empty"))
        self.assertIsInstance(empty.exception, OSError)
        with self.assertRaises(TypeError):
            Index.open(5)  # type: ignore[arg-type]
        with self.assertRaises(ValueError):
            Index.open("a\0b")

    def test_golden_indexes_are_opened(self) -> None:
        golden = os.path.join(SOURCES, "tests", "golden", "index")
        names = [name for name in sorted(os.listdir(golden)) if not name.endswith(".answers")]
        self.assertNotEqual(names, [])
        for name in names:
            with self.subTest(name), Index.open(os.path.join(golden, name)) as index:
                index.verify()

    def test_damage_is_found(self) -> None:
        index = self.build()
        said: list[tuple[str, int, int]] = []
        index.verify(progress=lambda *told: said.append(told))
        self.assertEqual(said[-1], ("verify", 500, 500))
        index.close()
        (segment,) = (name for name in os.listdir(self.path()) if name.endswith(".seg"))
        with open(os.path.join(self.path(), segment), "r+b") as file:
            file.seek(5000)
            octet = file.read(1)[0]
            file.seek(5000)
            file.write(bytes([octet ^ 1]))
        with self.assertRaisesRegex(thresher.FormatError, "checksum") as raised:
            Index.open(self.path()).verify()
        self.assertEqual(raised.exception.status, "ECORRUPT")

    def test_vectors_come_back(self) -> None:
        index = self.build()
        np.testing.assert_allclose(index.vector(7), random_vectors(500, DIMS)[7], atol=1e-3)
        with self.assertRaises(KeyError) as raised:
            index.vector(500)
        self.assertNotIn('"', str(raised.exception)[:1])  # the sentence, not its repr
        for wrong, kind in ((-1, ValueError), (2**64, ValueError), (1.0, TypeError), ("1", TypeError)):
            with self.assertRaises(kind):
                index.vector(wrong)  # type: ignore[arg-type]

    def test_a_closed_index(self) -> None:
        with self.build() as index:
            pass
        index.close()
        for use in (lambda: index.search(np.zeros(DIMS)), lambda: index.vector(0), index.verify, lambda: index.threads):
            with self.assertRaisesRegex(ValueError, "the index is closed"):
                use()

    def test_the_directory_may_change_after_opening(self) -> None:
        index = self.build()
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.directory)
        relative = Index.open("index")
        os.chdir("/")
        again = pickle.loads(pickle.dumps(relative))
        q = random_vectors(3, DIMS, seed=9)
        np.testing.assert_array_equal(again.search(q)[0], index.search(q)[0])
        self.assertEqual(again.path, self.path())

    def test_an_index_that_is_deleted_while_open(self) -> None:
        index = self.build()
        shutil.rmtree(self.path())
        self.assertEqual(index.search(np.ones(DIMS), 3)[0].shape, (3,))

    def test_threads(self) -> None:
        self.build().close()
        for threads in (1, 3):
            self.assertEqual(Index.open(self.path(), threads=threads).threads, threads)
        self.assertEqual(Index.open(self.path()).threads, thresher.info().threads)

    def test_info_of_the_library(self) -> None:
        info = thresher.info()
        self.assertEqual(info.version, thresher.__version__)
        self.assertIn(info.isa, ("scalar", "avx2", "avx512-vnni", "avx512", "neon", "neon-dot"))
        self.assertTrue(os.path.exists(info.library))


class Recall(unittest.TestCase):
    def test_against_counting(self) -> None:
        r = np.random.default_rng(1)
        truth = np.stack([r.permutation(50)[:10] for _ in range(30)])
        result = np.stack([r.permutation(50)[:12] for _ in range(30)])
        for k in (1, 5, 10):
            wanted = np.mean([len(set(t[:k]) & set(a[:k])) / k for t, a in zip(truth.tolist(), result.tolist())])
            for dtype in (np.int64, np.uint64, np.int32, np.uint8, ">i8"):
                self.assertAlmostEqual(thresher.recall(truth.astype(dtype), result, k), float(wanted))
        self.assertEqual(thresher.recall(truth, truth), 1.0)
        self.assertEqual(thresher.recall(truth[0], np.asfortranarray(truth)[0]), 1.0)

    def test_filling_does_not_count(self) -> None:
        self.assertEqual(thresher.recall([[1, 2, 3, 4]], [[1, -1, -1, -1]]), 0.25)
        self.assertEqual(thresher.recall([[1, -1]], [[1, thresher.NO_ID]], 2), 1.0)

    def test_ties_count_where_scores_say_so(self) -> None:
        scores = [[3.0, 2.0, 2.0]]
        self.assertEqual(thresher.recall([[1, 2, 3]], [[1, 3]], 2), 0.5)
        self.assertEqual(thresher.recall([[1, 2, 3]], [[1, 3]], 2, truth_scores=scores), 1.0)

    def test_what_does_not_fit(self) -> None:
        for truth, result, k, kind, message in (
            ([[1, 2]], [[1, 2], [3, 4]], None, ValueError, "truth has 1 rows, result 2"),
            ([[1, 2]], [[1, 2]], 3, ValueError, "recall@3"),
            ([[1, 2]], [[1, 2]], 0, ValueError, "k is 0"),
            ([[1.5, 2]], [[1, 2]], None, TypeError, "truth: values of type float64 were given: expected integers"),
            (np.zeros((1, 1, 1), int), [[1]], None, ValueError, r"truth: an array of shape \[1, 1, 1\]"),
        ):
            with self.subTest(message), self.assertRaisesRegex(kind, message):
                thresher.recall(truth, result, k)
        with self.assertRaisesRegex(ValueError, "truth_scores has 1 values, truth 2"):
            thresher.recall([[1, 2]], [[1, 2]], truth_scores=[1.0])

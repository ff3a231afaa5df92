# SPDX-License-Identifier: Apache-2.0
"""Building: vectors of every kind, ids and names, options, and refusals."""

from __future__ import annotations

import contextlib
import importlib
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import thresher
from support import VectorCase, plain_search, random_vectors
from thresher import Index

N, DIMS = 1000, 20


class Build(VectorCase):
    shape = N, DIMS, 10

    def setUp(self) -> None:
        super().setUp()
        self.truth = plain_search(self.vectors, self.queries, 5)

    def assert_same_answers(self, vectors: Any, **options: Any) -> None:
        with Index.build(self.path(), vectors, replace=True, **options) as index:
            self.assertEqual((len(index), index.info.n_dims), (N, DIMS))
            np.testing.assert_array_equal(index.search(self.queries, 5, exact=True)[0], self.truth)

    def test_arrays_of_every_layout(self) -> None:
        v = self.vectors
        wide = np.zeros((N, 2 * DIMS), np.float32)
        wide[:, ::2] = v
        padded = np.zeros((N, DIMS + 5), np.float32)
        padded[:, 2 : DIMS + 2] = v
        frozen = v.copy()
        frozen.flags.writeable = False
        for name, vectors in {
            "C": v,
            "fortran": np.asfortranarray(v),
            "every second value": wide[:, ::2],
            "padded rows": padded[:, 2 : DIMS + 2],
            "turned round": v[::-1].copy()[::-1],
            "read-only": frozen,
            "unaligned": np.frombuffer(b"x" + v.tobytes(), np.float32, offset=1).reshape(v.shape),
            "float64": v.astype(np.float64),
            "big-endian": v.astype(">f4"),
            "lists": v.tolist(),
        }.items():
            with self.subTest(name):
                self.assert_same_answers(vectors)

    def test_short_vectors_are_refused_with_the_row(self) -> None:
        tiny = self.vectors.astype(np.float64)
        for scale in (1e-33, 1e-45, 1e-200, 1e-320):
            tiny[77] = self.vectors[77].astype(np.float64) * scale
            said = "row 77 is shorter than 2\\^-100 but not zero"
            for name, rows in {"array": tiny, "layout": np.asfortranarray(tiny), "chunks": iter([tiny])}.items():
                with self.subTest(name, scale=scale), self.assertRaisesRegex(thresher.ArgumentError, said):
                    Index.build(self.path("tiny"), rows, replace=True)
            with self.assertRaisesRegex(thresher.ArgumentError, said):
                thresher.shards.build(self.path("shards"), [tiny], replace=True)
            with Index.build(self.path(), self.vectors, replace=True) as index:
                for add in (index.add, index.upsert):
                    with self.assertRaisesRegex(thresher.ArgumentError, said):
                        add(tiny)
                with index.writer() as writer, self.assertRaisesRegex(thresher.ArgumentError, "row 0 is shorter"):
                    writer.add(tiny[77:79])
                with self.assertRaisesRegex(thresher.ArgumentError, "query 77 is shorter"):
                    index.search(tiny, 3)
                with self.assertRaisesRegex(thresher.ArgumentError, "query 0 is shorter"):
                    index.search_radius(tiny[77], 0.5)
            with Index.create(self.path("empty"), DIMS, replace=True) as index:
                with self.assertRaisesRegex(thresher.ArgumentError, "row 7 is shorter"):
                    index.add(tiny[70:80])
        for metric in ("ip", "l2"):
            with self.assertRaisesRegex(thresher.ArgumentError, "row 77 is shorter"):
                Index.build(self.path(metric), tiny, metric=metric)

    def test_a_wide_common_offset_is_noted(self) -> None:
        for metric in ("cosine", "ip"):
            with self.assertWarnsRegex(UserWarning, "are nearly equal.*subtract their mean"):
                Index.build(self.path(), 50 + 0.05 * self.vectors, metric=metric, replace=True).close()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for rows, metric in ((50 + 0.05 * self.vectors, "l2"), (10 + self.vectors, "cosine")):
                Index.build(self.path(), rows, metric=metric, replace=True).close()

    def test_sparse_vectors_with_cells_keep_the_promise(self) -> None:
        """8 of 256 values are not 0."""
        rng = np.random.default_rng(3)
        rows = np.zeros((12000, 256), np.float32)
        np.put_along_axis(rows, np.argsort(rng.random(rows.shape), axis=1)[:, :8], rng.exponential(1, (12000, 8)), 1)
        rows, queries = rows[:-200], rows[-200:]
        for cells in (48, "auto"):
            with Index.build(self.path(), rows, cells=cells, replace=True) as index:
                self.assertLessEqual(index.measure_cells().short_by, 0.005)
                for k in (10, 100):
                    truth = index.search(queries, k, exact=True)[1]
                    for recall in (0.9, 0.95, 0.99):
                        scores = index.search(queries, k, recall=recall)[1]
                        self.assertGreaterEqual((scores >= truth[:, -1:]).mean(), recall - 0.005)

    def test_zero_vectors_are_counted_and_noted(self) -> None:
        self.vectors[5:300] = 0
        for metric, n in (("cosine", 295), ("ip", 295)):
            for cells in (1, 16):
                with self.assertWarnsRegex(UserWarning, "295 of the vectors are zero"):
                    index = Index.build(self.path(), self.vectors, metric=metric, cells=cells, replace=True)
                self.assertEqual(index.info.n_zero, n)
                with self.assertWarnsRegex(UserWarning, "3 of the vectors are zero"):
                    self.assertEqual(index.add(self.vectors[297:303]).n_zero, 3)
                with index.writer() as writer:
                    self.assertEqual(writer.add(self.vectors[299:301]).n_zero, 1)
                    self.assertEqual(writer.add(self.vectors[:5]).n_zero, 0)
                index.refresh()
                self.assertEqual(index.info.n_zero, n + 4)
                index.compact()
                self.assertEqual(index.info.n_zero, n + 4)
                index.close()
        with Index.build(self.path(), self.vectors, metric="l2", replace=True) as index:
            self.assertEqual(index.info.n_zero, 0)

    def test_a_row_that_is_repeated_without_memory(self) -> None:
        same = np.broadcast_to(self.vectors[0], (N, DIMS))
        with Index.build(self.path(), same) as index:
            self.assertEqual(index.search(self.vectors[0], 3)[0].tolist(), [0, 1, 2])

    def test_arrays_of_every_type(self) -> None:
        whole = np.random.default_rng(5).integers(0, 100, (N, DIMS))
        with Index.build(self.path("f4"), whole.astype(np.float32), metric="l2") as index:
            wanted = index.search(whole[:10], 5)
        for dtype in ["f2", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", ">f8"]:
            with self.subTest(dtype), Index.build(self.path(), whole.astype(dtype), metric="l2", replace=True) as index:
                ids, scores = index.search(whole[:10], 5)
                np.testing.assert_array_equal(ids, wanted[0])
                np.testing.assert_array_equal(scores, wanted[1])

    def test_iterables(self) -> None:
        v = self.vectors

        def pieces() -> Iterator[Any]:
            yield v[:1]
            yield v[1:700]
            yield v[700:700]  # nothing
            yield np.asfortranarray(v[700:998].astype(np.float64))
            yield v[998].tolist()  # a row
            yield v[999]

        self.assert_same_answers(pieces())
        self.assert_same_answers([v[:500], v[500:]])
        self.assert_same_answers(iter(v))

    def test_a_long_iterable(self) -> None:
        n, dims = 50, 1000  # chunks, larger and smaller than the library requests at once
        chunks = [random_vectors(100 * (1 + i % 7), dims, seed=i) for i in range(n)]
        with Index.build(self.path(), iter(chunks), bits=1, keep="float16", calibration_queries=0) as index:
            self.assertEqual(len(index), sum(map(len, chunks)))
            rows = np.cumsum([0] + [len(chunk) for chunk in chunks])
            ids, _ = index.search(np.stack([chunk[-1] for chunk in chunks]), 1)
            np.testing.assert_array_equal(ids[:, 0], rows[1:] - 1)

    def test_files(self) -> None:
        name = self.path("v.npy")
        np.save(name, self.vectors)
        self.assert_same_answers(name)
        self.assert_same_answers(Path(name))
        self.assert_same_answers(np.load(name, mmap_mode="r"))
        with self.assertRaises(FileNotFoundError):
            Index.build(self.path("b"), self.path("no.npy"))
        with self.assertRaises(FileNotFoundError):
            Index.build(self.path("b"), "v.xyz")
        Path(self.path("v.xyz")).touch()
        with self.assertRaisesRegex(ValueError, r"\.xyz"):
            Index.build(self.path("b"), self.path("v.xyz"))

    def test_what_is_no_vectors(self) -> None:
        def wrong_later() -> Iterator[Any]:
            yield self.vectors
            yield self.vectors[:, :7]

        for vectors, kind, message in (
            (
                np.zeros(5, np.float32),
                ValueError,
                r"vectors: an array of shape \[5\] was given: expected \[n, n_dims\]",
            ),
            (np.zeros((2, 3, 4), np.float32), ValueError, r"shape \[2, 3, 4\]"),
            (np.zeros((0, 4), np.float32), thresher.ArgumentError, "holds no rows"),
            (np.zeros((4, 0), np.float32), ValueError, r"shape \[4, 0\] was given: 1 to 32768 dimensions"),
            (np.zeros((2, 32769), np.float32), ValueError, r"shape \[2, 32769\]"),
            (
                np.zeros((4, 4), bool),
                TypeError,
                "values of type bool were given: expected float32, float16, float64 or integers",
            ),
            (np.zeros((4, 4), complex), TypeError, "complex128"),
            (np.zeros((4, 4), "M8[s]"), TypeError, "datetime64"),
            (np.array([["a"]]), TypeError, "<U1"),
            (np.array([[None]]), TypeError, "object"),
            (np.ma.masked_array(np.zeros((4, 4))), TypeError, "a masked array"),
            (None, TypeError, "vectors: an object of type NoneType was given: expected an array, a file name"),
            (5, TypeError, "type int"),
            ([], ValueError, "vectors: holds no rows: an index needs at least one"),
            ([[]], ValueError, r"chunk 0: an array of shape \[0\]"),
            (["v.npy"], ValueError, r"chunk 0: an array of shape \[\]"),
            (wrong_later(), ValueError, "vectors: chunk 1: 7 dimensions after chunks of 20"),
            ([self.vectors, None], ValueError, r"chunk 1: an array of shape \[\]"),
        ):
            with self.subTest(message), self.assertRaisesRegex(kind, message):
                Index.build(self.path("b"), vectors)
            self.assertFalse(os.path.exists(os.path.join(self.path("b"), "MANIFEST")))

    def test_values_that_are_not_finite_are_named(self) -> None:
        for vectors in (self.vectors.copy(), np.asfortranarray(self.vectors), self.vectors.astype(np.float64)):
            vectors[777, 3] = np.nan if vectors.dtype == np.float32 else 1e300
            with self.assertRaisesRegex(thresher.ArgumentError, "row 777, dimension 3") as raised:
                Index.build(self.path(), vectors)
            self.assertEqual(raised.exception.status, "ERANGE")

    def test_what_an_iterable_raises_comes_out_and_nothing_is_left(self) -> None:
        Index.build(self.path(), self.vectors[:9]).close()

        class Mishap(Exception):
            pass

        def pieces() -> Iterator[Any]:
            for _ in range(100):
                yield self.vectors
            raise Mishap("no more")

        before = sorted(os.listdir(self.path()))
        with self.assertRaisesRegex(Mishap, "no more"):
            Index.build(self.path(), pieces(), replace=True)
        self.assertEqual(sorted(os.listdir(self.path())), before)
        self.assertEqual(len(Index.open(self.path())), 9)

    def test_ids(self) -> None:
        given = np.arange(N, dtype=np.int64)[::-1] * 7 + 2**40
        for ids in (given, given.astype(np.uint64), given.tolist(), given.astype(">i8"), np.repeat(given, 2)[::2]):
            with Index.build(self.path(), self.vectors, ids=ids, replace=True) as index:
                self.assertTrue(index.info.has_ids)
                got = index.search(self.queries, 5, exact=True)[0]
                np.testing.assert_array_equal(got, given[self.truth.astype(int)])
                self.assertEqual(index.row(int(given[17])), 17)
                np.testing.assert_array_equal(index.rows(got), self.truth)
                self.assertIn(int(given[3]), index)
                self.assertNotIn(3, index)
                np.testing.assert_allclose(index.vector(int(given[5])), self.vectors[5], rtol=1e-6)
                with self.assertRaisesRegex(KeyError, "no item with the id 3"):
                    index.row(3)

    def test_small_and_large_ids_in_one_list(self) -> None:
        with Index.build(self.path(), self.vectors[:2], ids=[1, 2**64 - 2]) as index:
            self.assertEqual(index.search(self.vectors[1], 1)[0].tolist(), [2**64 - 2])
            self.assertEqual(index.rows([2**64 - 2, 1]).tolist(), [1, 0])

    def test_ids_that_do_not_fit(self) -> None:
        for ids, kind, message in (
            (np.arange(N - 1), ValueError, "999 ids"),
            (np.zeros(N, int), ValueError, "id 0 is repeated|0"),
            (np.arange(N) - 1, ValueError, "ids: -1 is negative"),
            (np.arange(N) + 0.5, TypeError, "ids: values of type float64 were given: expected integers"),
            (np.zeros((N, 2), int), ValueError, r"ids: an array of shape \[1000, 2\] was given: expected \[n\]"),
            (["a\nb"] + ["x"] * (N - 1), ValueError, r"ids: name 0 is 'a\\nb'"),
            ([""] + ["x"] * (N - 1), ValueError, "ids: name 0 is ''"),
            ("no.txt", FileNotFoundError, "no.txt"),
        ):
            with self.subTest(message), self.assertRaisesRegex(kind, message):
                Index.build(self.path("b"), self.vectors, ids=ids)

    def test_columns_of_lists_are_vectors(self) -> None:
        rows = list(self.vectors)
        column = np.empty(len(rows), object)
        column[:] = rows
        columns: list[Any] = [column]
        with contextlib.suppress(ImportError):
            columns.append(importlib.import_module("pandas").Series(rows))
        with contextlib.suppress(ImportError):
            columns.append(importlib.import_module("pyarrow").array(rows))
        with Index.build(self.path("rows"), self.vectors) as index:
            wanted, _ = index.search(self.vectors[:9], 3)
        for given in columns:
            with Index.build(self.path(), given, replace=True) as index:
                np.testing.assert_array_equal(index.search(given[:9], 3)[0], wanted)
        column[5] = column[5][:-1]
        with self.assertRaisesRegex(thresher.ArgumentError, "vectors: lists of .* to .* numbers were given"):
            Index.build(self.path(), column, replace=True)

    def test_names(self) -> None:
        names = [f"wörd {i}" for i in range(N)]
        for given in (names, np.array(names), iter_file(self.path("names.txt"), names)):
            with Index.build(self.path(), self.vectors, ids=given, replace=True) as index:
                self.assertTrue(index.info.has_names)
                self.assertEqual(index.name(42), "wörd 42")
                self.assertIsNone(index.name(N))
                self.assertEqual(index.find("wörd 999"), 999)
                self.assertEqual(index.names([[1, 2], [3, thresher.NO_ID]]), [["wörd 1", "wörd 2"], ["wörd 3", None]])
                self.assertEqual(index.names(np.array([7], np.uint64)), ["wörd 7"])
                with self.assertRaises(KeyError):
                    index.find("nothing")
                with self.assertRaisesRegex(ValueError, "NUL"):
                    index.find("wörd 1\0")

    def test_options_and_what_is_kept(self) -> None:
        for metric in ("cosine", "ip", "l2"):
            for bits in (1, 8):
                for keep, bytes_a_value in (("float32", 4), ("float16", 2), ("int8", 1), (None, 0), ("none", 0)):
                    with Index.build(
                        self.path(),
                        self.vectors,
                        metric=metric,
                        bits=bits,
                        keep=keep,
                        replace=True,
                        calibration_queries=0,
                    ) as index:
                        info = index.info
                        self.assertEqual((info.metric, info.bits, info.keep), (metric, bits, keep or "none"))
                        self.assertGreaterEqual(info.vector_bytes, N * DIMS * bytes_a_value)
                        self.assertLessEqual(info.vector_bytes, N * (DIMS * bytes_a_value + (8 if keep else 0)))
        with Index.build(self.path(), self.vectors, segment_rows=128, sample_rows=64, replace=True) as index:
            self.assertEqual(index.info.n_segments, 8)
        with Index.build(self.path(), self.vectors, bits=4, lead_bits=1, rotate=True, replace=True) as index:
            self.assertEqual((index.info.lead_bits, index.info.rotated), (1, True))
        with Index.build(self.path(), self.vectors, calibration_queries=0, rotate=False, replace=True) as index:
            self.assertEqual((index.info.tuned_queries, index.info.rotated), (0, False))

    def test_a_scale_that_cuts_off_most_components_finds_fewer(self) -> None:
        found = []
        for scale in (None, 100):
            options = {"scale": scale, "calibration_queries": 0, "replace": True}
            with Index.build(self.path(), self.vectors, metric="cosine", bits=4, **options) as index:  # type: ignore[arg-type]
                truth, _ = index.search(self.vectors, exact=True)
                found.append(thresher.recall(truth, index.search(self.vectors, n_candidates=10)[0]))
        self.assertLess(found[1], found[0] - 0.1)
        with self.assertRaisesRegex(thresher.ArgumentError, "a scale of 0.5: give 1 to 1e\\+06"):
            Index.build(self.path(), self.vectors, scale=0.5, replace=True)

    def test_options_out_of_range(self) -> None:
        for arguments, kind, message in (
            ({"metric": "euclid"}, ValueError, r"'euclid': expected one of 'cosine', 'ip', 'l2'; did you mean 'l2'\?"),
            ({"metric": "dot"}, ValueError, r"; did you mean 'ip'\?$"),
            ({"keep": "float"}, ValueError, "expected one of"),
            ({"metric": 3}, ValueError, "metric is 3"),
            ({"metric": []}, ValueError, r"metric is \[\]"),
            ({"bits": 0}, ValueError, "bits is 0: 1 to 8"),
            ({"bits": 9}, ValueError, "bits is 9"),
            ({"bits": 2.0}, TypeError, "bits is 2.0: expected a whole number"),
            ({"keep": "f64"}, ValueError, "keep is 'f64': expected one of 'float32'"),
            ({"threads": 0}, ValueError, "threads is 0: 1 to 1024"),
            ({"threads": "all"}, TypeError, "threads is 'all'"),
            ({"sample_rows": 0}, ValueError, "sample_rows is 0"),
            ({"segment_rows": -1}, ValueError, "segment_rows is -1"),
            ({"lead_bits": 4}, ValueError, "lead_bits is 4: 1 to 3"),
            ({"rotate": "no"}, ValueError, "rotate is 'no': expected one of None, True, False"),
            ({"calibration_queries": -1}, ValueError, "calibration_queries is -1"),
            ({"cells": "Auto"}, ValueError, 'cells is .Auto.: expected a whole number or "auto"'),
            ({"cells": True}, TypeError, 'cells is True: expected a whole number or "auto"'),
        ):
            with self.subTest(arguments), self.assertRaisesRegex(kind, message):
                Index.build(self.path("b"), self.vectors, **arguments)  # type: ignore[arg-type]
        for path, kind in (("", ValueError), ("a\0b", ValueError), (3, TypeError), (None, TypeError)):
            with self.subTest(path), self.assertRaisesRegex(kind, "^path: "):
                Index.build(path, self.vectors)  # type: ignore[arg-type]

    def test_an_index_is_not_overwritten_unasked(self) -> None:
        Index.build(self.path(), self.vectors).close()
        with self.assertRaisesRegex(FileExistsError, r"give replace=True to replace it, or choose another"):
            Index.build(self.path(), self.vectors[:5])
        self.assertEqual(len(Index.open(self.path())), N)
        self.assertEqual(len(Index.build(self.path(), self.vectors[:5], replace=True)), 5)

    def test_progress(self) -> None:
        said: list[tuple[str, int, int]] = []
        Index.build(self.path(), self.vectors, progress=lambda *told: said.append(told)).close()
        self.assertIn(("build", N, N), said)
        with self.assertRaises(thresher.CanceledError) as raised:
            Index.build(self.path("b"), self.vectors, progress=lambda *_: False)
        self.assertEqual(raised.exception.status, "ECANCELED")
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            Index.build(self.path("b"), self.vectors, progress=lambda *_: 1 // 0)
        self.assertFalse(os.path.exists(os.path.join(self.path("b"), "MANIFEST")))

    def test_an_index_built_inside_the_progress_of_another(self) -> None:
        def inner(*_: Any) -> None:
            Index.build(self.path("inner"), self.vectors, replace=True).close()

        with Index.build(self.path(), self.vectors, progress=inner) as index:
            self.assertEqual(len(index), N)
        self.assertEqual(len(Index.open(self.path("inner"))), N)


def iter_file(path: str, names: list[str]) -> str:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(name + "\n" for name in names)
    return path

    def test_sentences_have_python_s_words(self) -> None:
        vectors = random_vectors(30, 8)
        codes = Index.build(self.path(), vectors, keep=None)
        large, small, holed = vectors.copy(), vectors.copy(), vectors.copy()
        large[7], small[7], holed[7, 3] = 1e6, 1e-20, np.nan
        for call, part in (
            (lambda: Index.build(self.path(), vectors), "holds an index of 30 items: give replace=True to replace it"),
            (lambda: Index.build(self.path("x"), holed), "vectors: row 7"),
            (lambda: Index.build(self.path("x"), iter([holed])), "vectors: row 7"),
            (lambda: Index.build(self.path("x"), large, keep="float16"), "vectors: row 7: .* keep float32"),
            (lambda: Index.build(self.path("x"), small, keep="float16"), "vectors: row 7: .* keep float32"),
            (lambda: Index.build(self.path("x"), vectors, ids=["a"] * 30), "^ids: the name 'a' is repeated"),
            (lambda: Index.build(self.path("x"), vectors, ids=["a", "b"]), "^ids: 2 names for the 30 rows"),
            (lambda: Index.build(self.path("x"), vectors, features=[["a"]] * 29), "features of 29 items|29 ids"),
            (lambda: codes.search(vectors, 1, exact=True), "build it with vectors kept"),
            (lambda: codes.vector(0), "build it with vectors kept"),
        ):
            with self.assertRaisesRegex(thresher.Error, part) as raised:
                call()
            self.assertNotRegex(str(raised.exception), "--|thresher-[^t]")

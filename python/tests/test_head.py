# SPDX-License-Identifier: Apache-2.0
"""Heads: made, saved and opened, queried beside a naive head, measured; and refusals."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import unittest
from typing import Any

import numpy as np

import thresher
from support import Case, random_vectors

N_WORDS, N_DIMS, N_STATES, K = 900, 24, 200, 7


def plain_query(weights: Any, bias: Any, states: Any, k: int) -> tuple[Any, Any, Any]:
    """The best k words of all, their logits and log-probabilities, in float64."""
    logits = np.asarray(states, np.float64) @ np.asarray(weights, np.float64).T + np.asarray(bias, np.float64)
    words = np.argsort(-logits, axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(logits, words, 1)
    largest = best[:, :1]
    return words, best, best - largest - np.log(np.exp(logits - largest).sum(1, keepdims=True))


def write_safetensors(path: str, tensors: dict[str, Any]) -> None:
    header: dict[str, Any] = {}
    at = 0
    kinds = {"float32": "F32", "float16": "F16", "uint16": "BF16"}
    for name, array in tensors.items():
        header[name] = {
            "dtype": kinds[array.dtype.name],
            "shape": array.shape,
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in tensors.values():
            file.write(array.tobytes())


def query_in_child(head: thresher.Head) -> list[int]:
    return [int(word) for word in head.query(random_vectors(1, N_DIMS, 9)[0], 3)[0]]


class Heads(Case):
    def setUp(self) -> None:
        super().setUp()
        self.weights = random_vectors(N_WORDS, N_DIMS)
        self.bias = random_vectors(1, N_WORDS, 2)[0]
        self.states = random_vectors(N_STATES, N_DIMS, 3)

    def build(self, **options: Any) -> thresher.Head:
        return thresher.Head.build(self.weights, bias=self.bias, **options)

    def assert_same(self, a: Any, b: Any) -> None:
        for x, y in zip(a, b):
            np.testing.assert_array_equal(x, y)

    def test_the_best_words_are_those_of_the_plain_way(self) -> None:
        words, logits, log_probs = self.build().query(self.states, K)
        assert log_probs is not None
        self.assertEqual((words.dtype, logits.dtype, log_probs.dtype), (np.uint32, np.float32, np.float32))
        wanted = plain_query(self.weights, self.bias, self.states, K)
        np.testing.assert_array_equal(words, wanted[0])
        np.testing.assert_allclose(logits, wanted[1], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(log_probs, wanted[2], rtol=1e-4, atol=1e-4)

    def test_one_state_is_a_row_of_many(self) -> None:
        head = self.build()
        many = head.query(self.states, K)
        one = head.query(self.states[5], K)
        self.assertEqual(one[0].shape, (K,))
        self.assert_same(one, [a[5] for a in many])
        self.assert_same(head.query(self.states.astype(np.float64)[:, ::-1][:, ::-1], K), many)
        self.assertEqual([a.shape for a in head.query(self.states[:0], K) if a is not None], [(0, K)] * 3)

    def test_words_that_are_always_in_are(self) -> None:
        head = self.build()
        words, _, _ = head.query(self.states, 3, screen="frequent", n_frequent=0, always=[899, 5, 77], normaliser=None)
        np.testing.assert_array_equal(np.sort(words, 1), [[5, 77, 899]] * N_STATES)
        self.assertIsNone(head.query(self.states, 3, normaliser=None)[2])

    def padded(self) -> tuple[Any, Any, Any]:
        """1,000 words whose logits are negative, and 300 rows that pad the vocabulary; states, and the best words."""
        weights = np.zeros((1300, 32), np.float32)
        weights[:1000] = -np.abs(random_vectors(1000, 32))
        states = np.abs(random_vectors(20, 32, 3))
        return weights, states, plain_query(weights[:1000], np.zeros(1000), states, K)[0]

    def test_rows_of_padding_are_not_answered(self) -> None:
        weights, states, best = self.padded()
        padding = np.arange(1000, 1300)
        bias = np.zeros(1300, np.float32)
        heads = {"never": thresher.Head.build(weights, n_planes=8), "words": thresher.Head.build(weights, n_words=1000)}
        for low in (-np.inf, np.finfo(np.float32).min, -1e9, -1e4):
            bias[1000:] = low
            heads[str(low)] = thresher.Head.build(weights, bias=bias, n_planes=8)
        self.assertEqual(heads["words"].info.n_words, 1000)
        self.assertTrue((heads["never"].query(states, K)[0] >= 1000).all())  # what padding does
        for name, head in heads.items():
            for screen in ("full", "frequent", "wta", "planes", "align"):
                options: dict[str, Any] = {"lists": [padding] * 20} if screen == "align" and name != "words" else {}
                if screen == "align" and not options:
                    continue
                options |= {"never": padding} if name == "never" else {}
                options |= {"n_frequent": 1000} if screen in ("frequent", "wta", "align") else {"n_shortlist": 600}
                proofs = np.zeros(20, bool)
                words, logits, log_probs = head.query(states, K, screen=screen, certified=proofs, **options)
                with self.subTest(name=name, screen=screen):
                    self.assertEqual(words.tolist(), best.tolist())
                    self.assertTrue(np.isfinite(logits).all() and np.isfinite(log_probs).all())
                    self.assertTrue(screen not in ("full", "planes") or name == "words" or proofs.all())
                    self.assertEqual(head.measure(states, K, screen=screen, **options).recall, 1)
        path = self.path("padded.head")
        heads["-inf"].save(path)
        self.assertEqual(thresher.Head.open(path).query(states, K)[0].tolist(), best.tolist())
        full, without = heads["-inf"].query(states, K)[2], thresher.Head.build(weights[:1000]).query(states, K)[2]
        np.testing.assert_allclose(full, without, rtol=1e-6)

    def test_words_that_may_not_be_answered_are_refused_where_none_is_left(self) -> None:
        head = self.build()
        with self.assertRaisesRegex(ValueError, "of which 895 are never answered: ask for no more than are left"):
            head.query(self.states, K, never=np.arange(895))
        with self.assertRaisesRegex(ValueError, "never-answered word number 1 is 900, and the head has 900 words"):
            head.query(self.states, K, never=[3, 900])
        self.assertEqual(head.query(self.states, 5, never=np.arange(895))[0].min(), 895)
        with self.assertRaisesRegex(ValueError, "no word of the head may be answered"):
            thresher.Head.build(self.weights, bias=np.full(N_WORDS, -np.inf))
        with self.assertRaisesRegex(ValueError, "the first 901 words of weights that have 900"):
            thresher.Head.build(self.weights, n_words=901)
        short = thresher.Head.build(self.weights, bias=self.bias, n_words=500)
        self.assert_same(
            short.query(self.states, K), thresher.Head.build(self.weights[:500], bias=self.bias[:500]).query(self.states, K)
        )

    def test_lists_are_the_candidates_of_groups(self) -> None:
        head = self.build()
        lists = [[i, (7 * i) % N_WORDS, 3][: 1 + i % 3] for i in range(N_STATES)]
        words, _, _ = head.query(self.states, 1, screen="align", n_frequent=0, lists=lists)
        for i, some in enumerate(lists):
            want = head.query(self.states[i], 1, screen="frequent", n_frequent=0, always=some)[0]
            self.assertEqual(int(words[i, 0]), int(want[0]))
        by_twos = head.query(self.states[:9], 2, screen="align", n_frequent=0, group=2, lists=[[4, 5]] * 4 + [[8, 9]])
        self.assertEqual({int(word) for word in by_twos[0][8]}, {8, 9})
        found = head.measure(self.states, 1, screen="align", n_frequent=0, lists=[range(N_WORDS)] * N_STATES)
        self.assertEqual((found.recall, found.candidates), (1, N_WORDS))
        with self.assertRaisesRegex(thresher.ArgumentError, "the screen align has 2 lists of words for 3 groups"):
            head.query(self.states[:3], 1, screen="align", lists=[[1], [2]])
        with self.assertRaisesRegex(ValueError, "list 1: "):
            head.query(self.states[:2], 1, screen="align", lists=[[1], [-2]])

    def test_groups_are_not_cut(self) -> None:
        """Answers of states that share candidates are those of one call a group, however many states there are."""
        head = self.build(n_places=8)
        how: dict[str, Any] = {"screen": "wta", "n_frequent": 0, "threshold": 3, "combine": "sum"}
        for group in (3, 70, 150):
            whole = head.query(self.states, K, group=group, **how)
            for first in range(0, N_STATES, group):
                part = head.query(self.states[first : first + group], K, group=0, **how)
                self.assert_same(part, [a[first : first + group] for a in whole])
        alone = head.query(self.states, K, **how)
        self.assertFalse(np.array_equal(alone[2], whole[2]))  # type: ignore[arg-type]

    def test_what_is_certified_is_the_full_head_s(self) -> None:
        head = self.build(n_planes=8)
        full, proofs = head.query(self.states, K)[0], np.zeros(N_STATES, np.bool_)
        head.query(self.states, K, certified=proofs)
        self.assertTrue(proofs.all())
        found = head.query(self.states, K, screen="planes", n_shortlist=300, certified=proofs)[0]
        np.testing.assert_array_equal(found[proofs], full[proofs])
        self.assertTrue(proofs.any())
        head.query(self.states, K, screen="frequent", certified=proofs)
        self.assertFalse(proofs.any())
        with self.assertRaisesRegex(ValueError, f"expected a writable array of {N_STATES} bools"):
            head.query(self.states, K, certified=proofs[1:])

    def test_a_measurement_is_that_of_the_answers(self) -> None:
        head = self.build(n_planes=2)
        full = head.query(self.states, K)[0]
        found = head.query(self.states, K, screen="planes", n_shortlist=20)[0]
        shares = [len(set(a.tolist()) & set(b.tolist())) / K for a, b in zip(full, found)]
        measured = head.measure(self.states, K, screen="planes", n_shortlist=20)
        self.assertAlmostEqual(measured.recall, float(np.mean(shares)), 12)
        self.assertAlmostEqual(measured.worst, min(shares), 12)
        self.assertTrue(20 <= measured.candidates <= 20 + N_WORDS // 64)
        self.assertGreater(measured.recall, 0.5)
        self.assertLess(measured.recall, 1)

    def test_a_saved_head_is_the_same(self) -> None:
        head = self.build(frequent=range(899, 799, -1), dtype="float16")
        self.assertEqual((head.path, head.info.file_bytes), ("", 0))
        head.save(self.path("small.head"))
        self.assertEqual(head.path, self.path("small.head"))
        with thresher.Head.open(self.path("small.head")) as opened:
            opened.verify()
            self.assertEqual(opened.info._replace(file_bytes=0), head.info)
            self.assertEqual(opened.info[:5], (N_WORDS, N_DIMS, "float16", True, True))
            self.assertEqual(opened.info.weight_bytes, N_WORDS * N_DIMS * 2)
            for screen in ("full", "frequent", "wta", "planes"):
                self.assert_same(opened.query(self.states, K, screen=screen), head.query(self.states, K, screen=screen))
            self.assertIn("900 words of 24 dimensions, float16>", repr(opened))
        with self.assertRaisesRegex(thresher.ExistsError, r"exists already: give replace=True to replace it"):
            head.save(self.path("small.head"))
        head.save(self.path("small.head"), replace=True)
        with self.assertRaisesRegex(ValueError, "the head is closed"):
            opened.query(self.states, K)

    def test_files_are_read_by_the_name_of_the_tensor(self) -> None:
        tensors = {
            "lm_head.weight": self.weights,
            "lm_head.bias": self.bias,
            "other": self.weights[:10].astype(np.float16),
        }
        write_safetensors(self.path("m.safetensors"), tensors)
        np.save(self.path("w.npy"), self.weights)
        self.assert_same(
            thresher.Head.build(self.path("m.safetensors")).query(self.states, K), self.build().query(self.states, K)
        )
        other = thresher.Head.build(self.path("m.safetensors"), tensor="other", n_places=4)
        self.assertEqual(other.info[:4], (10, N_DIMS, "float16", False))
        self.assert_same(
            thresher.Head.build(self.path("w.npy"), bias=self.bias).query(self.states, K),
            self.build().query(self.states, K),
        )
        with self.assertRaisesRegex(thresher.NotFoundError, "has no tensor none: of 3 it has, the first matrices are "):
            thresher.Head.build(self.path("m.safetensors"), tensor="none")
        with self.assertRaises(thresher.FileMissingError):
            thresher.Head.build(self.path("none.npy"))
        with self.assertRaisesRegex(ValueError, "only files have named tensors"):
            self.build(tensor="lm_head.weight")

    def test_embeddings_are_taken_only_where_they_are_tied(self) -> None:
        write_safetensors(self.path("m.safetensors"), {"shared.weight": self.weights})
        with self.assertRaisesRegex(thresher.NotFoundError, "no index or config.json beside it states that"):
            thresher.Head.build(self.path("m.safetensors"))
        for text, tied in (('{"tie_word_embeddings": true}', True), ('{"tie_word_embeddings": false}', False)):
            with open(self.path("config.json"), "w", encoding="utf-8") as file:
                file.write(text)
            if tied:
                source = thresher.Head.build(self.path("m.safetensors")).source
                self.assertEqual(source, (self.path("m.safetensors"), "shared.weight", None, True))
                continue
            with self.assertRaisesRegex(thresher.NotFoundError, "config.json states that they are not tied"):
                thresher.Head.build(self.path("m.safetensors"))
        write_safetensors(
            self.path("m.safetensors"), {"decoder.final_proj.weight": self.weights, "shared.weight": self.weights}
        )
        with self.assertRaisesRegex(ValueError, r"may be any of decoder.final_proj.weight \[900, 24\], shared.weight"):
            thresher.Head.build(self.path("m.safetensors"))

    def test_bfloat16_is_kept(self) -> None:
        """The upper halves of floats, from a file; and floats rounded to them."""
        upper = self.weights.view(np.uint32) >> 16
        write_safetensors(self.path("m.safetensors"), {"lm_head.weight": upper.astype(np.uint16)})
        cut = (upper << 16).view(np.float32)
        head = thresher.Head.build(self.path("m.safetensors"))
        self.assertEqual((head.info.dtype, head.info.weight_bytes), ("bfloat16", N_WORDS * N_DIMS * 2))
        wanted = thresher.Head.build(cut).query(self.states, K)
        self.assert_same(head.query(self.states, K), wanted)
        self.assert_same(thresher.Head.build(cut, dtype="bfloat16").query(self.states, K), wanted)
        self.assertFalse(np.array_equal(self.build(dtype="bfloat16").query(self.states, K)[1], wanted[1]))

        for module in ("ml_dtypes", "torch"):
            with self.subTest(module):
                try:
                    made = __import__(module)
                except ImportError:
                    continue
                if module == "torch":
                    tensor: Any = made.from_numpy(cut.copy()).to(made.bfloat16)
                else:
                    tensor = cut.astype(made.bfloat16)
                head = thresher.Head.build(tensor)
                self.assertEqual(head.info.dtype, "bfloat16")
                self.assert_same(head.query(self.states, K), wanted)

    def test_bytes_are_the_nearest_and_what_they_lose_is_told(self) -> None:
        head, truth = self.build(dtype="int8"), self.build()
        self.assertEqual((head.info.dtype, head.info.weight_bytes), ("int8", N_WORDS * (N_DIMS + 4)))
        self.assertTrue(0.9 < head.measure(self.states, K, against=truth).recall < 1)
        self.assertEqual(truth.measure(self.states, K, against=truth), (1, 1, 1, N_WORDS, 0))
        with self.assertRaisesRegex(thresher.ArgumentError, "compare heads of the same words and dimensions"):
            head.measure(self.states, 3, against=thresher.Head.build(self.weights[:10]))

    def test_children_open_the_file_again(self) -> None:
        head = self.build()
        with self.assertRaisesRegex(ValueError, "cannot be pickled: save it first"):
            pickle.dumps(head)
        head.save(self.path("m.head"))
        wanted = query_in_child(head)
        self.assertEqual(query_in_child(pickle.loads(pickle.dumps(head))), wanted)
        with multiprocessing.get_context("fork").Pool(1) as pool:
            self.assertEqual(pool.apply(query_in_child, (head,)), wanted)

    def test_what_is_wrong_is_told(self) -> None:
        head = self.build(n_bands=0, n_planes=0)
        bad = self.states.copy()
        bad[150, 3] = np.nan
        cases: list[tuple[type[Exception], str, Any]] = [
            (ValueError, r"states: an array of shape \[2, 3, 4\]", lambda: head.query(np.zeros((2, 3, 4)), 1)),
            (ValueError, "screen is 'some'", lambda: head.query(self.states, 1, screen="some")),
            (ValueError, "normaliser is 'all'", lambda: head.query(self.states, 1, normaliser="all")),
            (ValueError, "combine is 'mean'", lambda: head.query(self.states, 1, combine="mean")),
            (ValueError, "k is 0", lambda: head.query(self.states, 0)),
            (ValueError, "group is -1", lambda: head.query(self.states, 1, group=-1)),
            (ValueError, "always: -1 to 3: words are numbered from 0", lambda: head.query(bad, 1, always=[3, -1])),
            (TypeError, "always: values of type float64", lambda: head.query(bad, 1, always=[0.5])),
            (thresher.ArgumentError, "always-in word number 0 is 900", lambda: head.query(bad, 1, always=[900])),
            (thresher.ArgumentError, "the best 901 words of a head that has 900", lambda: head.query(self.states, 901)),
            (thresher.ArgumentError, "state 150 holds NaN or infinity", lambda: head.query(bad, 1)),
            (thresher.ArgumentError, "3 dimensions for a head of 24", lambda: head.query(np.zeros((2, 3)), 1)),
            (thresher.UnsupportedError, "has no hashes", lambda: head.query(self.states, 1, screen="wta")),
            (thresher.UnsupportedError, "has no codes", lambda: head.measure(self.states, 1, screen="planes")),
            (ValueError, "expected at least one to measure", lambda: head.measure(self.states[:0], 1, screen="full")),
            (ValueError, "dtype is 'int32'", lambda: self.build(dtype="int32")),
            (ValueError, "numbers, one per word", lambda: thresher.Head.build(self.weights, bias=np.zeros((2, 2)))),
            (thresher.ArgumentError, "2 biases for 900 words", lambda: thresher.Head.build(self.weights, bias=[1, 2])),
            (thresher.ArgumentError, "row 150 of the weights holds NaN", lambda: thresher.Head.build(bad)),
            (thresher.ArgumentError, "frequent word number 1, 4, is repeated", lambda: self.build(frequent=[4, 4])),
        ]
        for kind, text, wrong in cases:
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                wrong()
        with self.assertRaisesRegex(thresher.FormatError, "is no head"):
            np.save(self.path("w.npy"), self.weights)
            thresher.Head.open(self.path("w.npy"))

    def test_weights_of_few_columns_need_no_word_of_hashes(self) -> None:
        for n_dims in (1, 2, 7, 16):
            weights = random_vectors(50, n_dims)
            with thresher.Head.build(weights) as head:
                self.assertEqual(head.info.n_places, 2 if n_dims > 1 else 0)
                words, logits, _ = head.query(weights, 3)
                np.testing.assert_array_equal(words, np.argsort(-logits_of(weights), 1, kind="stable")[:, :3])
        with self.assertRaisesRegex(ValueError, "17 components"):
            thresher.Head.build(random_vectors(50, 7), n_places=17)


def logits_of(weights: Any) -> Any:
    return weights.astype(np.float64) @ weights.T.astype(np.float64)

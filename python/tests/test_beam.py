# SPDX-License-Identifier: Apache-2.0
"""Beam search with decoders in Python: beside a naive search, exceptions of decoders, and refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import thresher
from support import Case, random_vectors

N_WORDS, N_DIMS, END = 40, 6, 3


class Recurrent:
    """state' = tanh(A state + embedding of the word)"""

    def __init__(self, seed: int = 5) -> None:
        self.matrix = random_vectors(N_DIMS, N_DIMS, seed).astype(np.float32) / 2
        self.words = random_vectors(N_WORDS, N_DIMS, seed + 1).astype(np.float32)
        self.firsts = random_vectors(8, N_DIMS, seed + 2).astype(np.float32)
        self.calls: list[str] = []

    def next(self, state: Any, word: int) -> Any:
        return np.tanh((self.matrix * state).sum(1, dtype=np.float32) + self.words[word])

    def start(self, n_sentences: int) -> None:
        self.calls.append("start")
        self.states = self.firsts[:n_sentences]

    def step(self, words: Any) -> Any:
        self.calls.append("step")
        self.states = np.array([self.next(state, word) for state, word in zip(self.states, words)], np.float32)
        return self.states

    def reorder(self, rows: Any) -> None:
        self.calls.append("reorder")
        self.states = self.states[rows]


class TestBeam(Case):
    def setUp(self) -> None:
        super().setUp()
        self.head = thresher.Head.build(random_vectors(N_WORDS, N_DIMS), n_bands=0, n_planes=0)

    def greedy(self, decoder: Recurrent, sentence: int, max_length: int) -> tuple[list[int], float]:
        state, word, words, total = decoder.firsts[sentence], 0, [], 0.0
        while len(words) < max_length and word != END:
            state = decoder.next(state, word)
            found, _, log_probs = self.head.query(state, 1)
            assert log_probs is not None
            word = int(found[0])
            words.append(word)
            total += float(log_probs[0])
        return words, total

    def test_a_beam_of_one_is_greedy(self) -> None:
        decoder = Recurrent()
        options: dict[str, Any] = {"beam": 1, "max_length": 12, "stop": "enough"}
        found = thresher.beam_search(self.head, decoder, 5, start_word=0, end_word=END, **options)
        self.assertEqual(len(found), 5)
        for s, sequences in enumerate(found):
            words, total = self.greedy(decoder, s, 12)
            best = sequences[0]
            if best.words.tolist() == words:
                self.assertEqual(best.log_prob, total)
            else:  # an ending that was better than going on, and met on the way
                self.assertEqual(best.words.tolist()[:-1], words[: len(best.words) - 1])
                self.assertTrue(best.ended)
            self.assertAlmostEqual(float(np.sum(best.word_log_probs, dtype=np.float64)), best.log_prob, places=9)
            self.assertEqual(best.ended, best.words[-1] == END)

    def test_only_step_is_needed(self) -> None:
        class Bigrams:
            def step(self, words: Any) -> list[list[float]]:
                return [[math.log(p) for p in ((0.5, 0.25, 0.25) if word else (0.1, 0.6, 0.3))] for word in words]

        head = thresher.Head.build(np.eye(3, dtype=np.float32), n_bands=0, n_planes=0)
        best = thresher.beam_search(head, Bigrams(), 1, start_word=0, end_word=0, n_best=2)[0]
        self.assertEqual([x.words.tolist() for x in best], [[1, 0], [2, 0]])
        self.assertAlmostEqual(best[0].log_prob, math.log(0.3), places=6)
        with self.assertRaisesRegex(ValueError, "the end word, 0, is never answered by the head: no sequence could end"):
            bias = np.zeros(head.info.n_words)
            bias[0] = -np.inf
            silent = thresher.Head.build(np.eye(head.info.n_words, head.info.n_dims), bias=bias, n_bands=0)
            thresher.beam_search(silent, Bigrams(), 1, start_word=0, end_word=0)
        never = thresher.beam_search(head, Bigrams(), 1, start_word=0, end_word=0, never=[1], min_length=3)[0]
        self.assertEqual(never[0].words.tolist(), [2, 2, 0])
        cut = thresher.beam_search(head, Bigrams(), 1, start_word=0, end_word=None, max_length=2)[0][0]
        self.assertEqual((cut.words.tolist(), cut.ended), ([1, 0], False))

    def test_what_a_decoder_raises_goes_through(self) -> None:
        class Broken(Recurrent):
            at = ""

            def start(self, n_sentences: int) -> None:
                super().start(n_sentences)
                self.fail_at("start")

            def step(self, words: Any) -> Any:
                self.fail_at("step")
                return super().step(words)

            def reorder(self, rows: Any) -> None:
                self.fail_at("reorder")
                super().reorder(rows)

            def fail_at(self, place: str) -> None:
                if place == self.at:
                    raise KeyError(f"no {place}")

        for place in ("start", "step", "reorder"):
            decoder = Broken()
            decoder.at = place
            with self.assertRaisesRegex(KeyError, f"no {place}"):
                thresher.beam_search(self.head, decoder, 2, start_word=0, end_word=END)
        with self.assertRaises(thresher.CanceledError):
            thresher.beam_search(self.head, Recurrent(), 2, start_word=0, end_word=END, progress=lambda *_: False)

    def test_what_is_wrong_is_told(self) -> None:
        class Constant:
            def __init__(self, states: Any) -> None:
                self.states = states

            def step(self, words: Any) -> Any:
                return self.states

        def search(decoder: Any, **options: Any) -> Any:
            return thresher.beam_search(self.head, decoder, 2, **{"start_word": 0, "end_word": END, **options})

        good = Recurrent()
        with self.assertRaisesRegex(TypeError, "decoder: int was given"):
            search(3)
        with self.assertRaisesRegex(ValueError, r"shape \[2, 5\] came of 2 rows: expected \[2, 6\]"):
            search(Constant(np.zeros((2, 5), np.float32)))
        with self.assertRaisesRegex(thresher.ArgumentError, "sentence 1, step 1: the decoder's state of row 0 holds"):
            search(Constant([[0.0] * 6, [math.nan] * 6]))
        with self.assertRaisesRegex(thresher.ArgumentError, "the end word is 40, and the head has 40 words"):
            search(good, end_word=40)
        with self.assertRaisesRegex(ValueError, "penalty is 'gnmt'"):
            search(good, penalty="gnmt")
        with self.assertRaisesRegex(ValueError, "max_length has 3 values for 2 sentences"):
            search(good, max_length=[1, 2, 3])
        with self.assertRaisesRegex(thresher.ArgumentError, "alpha is nan"):
            search(good, alpha=math.nan)
        with self.assertRaisesRegex(thresher.UnsupportedError, "the head has no hashes"):
            search(good, screen="wta")
        self.assertEqual(thresher.beam_search(self.head, good, 0, start_word=0, end_word=END), [])

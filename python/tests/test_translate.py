# SPDX-License-Identifier: Apache-2.0
"""Translations by a small dictionary as a model."""

from __future__ import annotations

import json
import pickle
import struct
import threading
import time
from typing import Any

import numpy as np

import thresher
from support import Case

SOURCE = ["le", "chat", "chien", "."]
TARGET = ["the", "cat", "dog", "\uffed."]
V = 7


def write_tensors(path: str, tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    header: dict[str, Any] = {"__metadata__": metadata}
    data = b""
    for name, array in tensors.items():
        raw = array.tobytes()
        dtype = {"f": "F", "u": "U"}[array.dtype.kind] + str(8 * array.itemsize)
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def dictionary(path: str, dtype: Any = np.float32) -> None:
    """One word of a text is translated, then comes the end: vectors are units, gates hand them on as they are."""
    tensors: dict[str, Any] = {}

    def lstm(side: str, direction: str, units: int) -> None:
        weights, bias = np.zeros((4, units, V)), np.zeros((4, units))
        weights[2, :V] = 2 * np.eye(V)
        bias[:] = np.array([20, -20, 0, 20])[:, None]
        tensors[f"{side}.lstm.weight_ih_l0{direction}"] = weights.reshape(-1, V)
        tensors[f"{side}.lstm.weight_hh_l0{direction}"] = np.zeros((4 * units, units))
        tensors[f"{side}.lstm.bias_ih_l0{direction}"] = bias.reshape(-1)
        tensors[f"{side}.lstm.bias_hh_l0{direction}"] = np.zeros(4 * units)

    for side in ("encoder", "decoder"):
        tensors[f"{side}.embedding.weight"] = np.eye(V)
    lstm("encoder", "", V)
    lstm("encoder", "_reverse", V)
    lstm("decoder", "", 2 * V)
    combine, output = np.zeros((2 * V, 4 * V)), np.zeros((V, 2 * V))
    combine[:V, :V] = combine[V:, 2 * V : 3 * V] = 4 * np.eye(V)
    output[:, :V] = 10 * np.eye(V)
    output[2, 2] = 0
    output[:, V:] = np.where((np.arange(V)[:, None] == 2) == (np.arange(V) != 1), 10, -10)
    tensors["attention.weight"] = np.zeros((2 * V, 2 * V))
    tensors["attention.weight"][1, 0] = 40  # attention begins at the unknown word
    tensors["combine.weight"], tensors["output.weight"], tensors["output.bias"] = combine, output, np.zeros(V)
    tensors = {name: array.astype(dtype) for name, array in tensors.items()}
    for name, words in (("source.words", SOURCE), ("target.words", TARGET)):
        text = "".join(word + "\n" for word in ["<unk>", "<s>", "</s>", *words])
        tensors[name] = np.frombuffer(text.encode(), np.uint8)
    write_tensors(path, tensors, {"format": "thresher.seq2seq", "version": "1"})


class Translate(Case):
    def setUp(self) -> None:
        super().setUp()
        self.model = self.path("small.safetensors")
        dictionary(self.model)

    def test_texts_of_a_list_are_distinct(self) -> None:
        """The unknown word becomes the word that another translation has; the better one stays."""
        translator = thresher.Translator(self.model, n_best=10, beam=10, replace_unk=True)
        made = translator.n_best(".")[0]
        self.assertEqual(len({one.text for one in made}), len(made))
        self.assertGreater(len(made), 5)
        self.assertEqual(made[0].words, ["\uffed."])
        self.assertEqual(sorted((-one.score for one in made)), [-one.score for one in made])

    def test_texts_are_translated_in_their_order(self) -> None:
        with thresher.Translator(self.model, threads=1) as translator:
            self.assertIn("small.safetensors': beam 5, screen full>", repr(translator))
            self.assertEqual(translator.translate("Chat"), "cat")
            self.assertEqual(translator.translate(["le", "", ".", "chien"]), ["the", "", ".", "dog"])
            self.assertEqual(translator.translate([]), [])
            (best,) = translator.n_best("chat")
            self.assertEqual((best[0].text, best[0].words, best[0].ended), ("cat", ["cat"], True))
            self.assertAlmostEqual(best[0].log_prob, 2 * best[0].score)
            self.assertEqual(translator.n_best(".")[0][0].words, ["\uffed."])
        with self.assertRaises(ValueError):
            translator.translate("chat")

    def test_screens_and_f16_say_the_same(self) -> None:
        dictionary(self.model, np.float16)
        for screen in ("full", "frequent", "wta", "planes"):
            translator = thresher.Translator(self.model, screen=screen, normaliser="exact", n_best=2, beam=3)
            made = translator.n_best(["chat le", "chien"])
            self.assertEqual([len(some) for some in made], [2, 2])
            self.assertEqual([one.text for one in made[0]], ["the", "cat"])
            self.assertEqual(made[1][0].text, "dog")

    def test_an_alignment_is_learned_and_gives_candidates(self) -> None:
        source, target, table = self.path("a.fr"), self.path("a.en"), self.path("fr-en.lex")
        for path, lines in ((source, "le chat\nle chien\nchat\nle\n"), (target, "the cat\nthe dog\ncat\nthe\n")):
            with open(path, "w") as file:
                file.write(lines)
        learned = thresher.train_alignment(source, target, table, n_best=1, n_iterations=20)
        self.assertEqual((learned.n_pairs, learned.n_source_words, learned.n_written), (4, 3, 3))
        with thresher.Translator(
            self.model, screen="align", alignment=table, aligned=1, frequent=0, beam=1
        ) as translator:
            self.assertEqual(translator.translate(["chat", "chien", "le"]), ["cat", "dog", "the"])
            again = pickle.loads(pickle.dumps(translator))
            self.assertEqual(again.translate("chien"), "dog")
        with self.assertRaisesRegex(thresher.ArgumentError, "the screen align needs an alignment"):
            thresher.Translator(self.model, screen="align")
        thresher.train_alignment(target, source, table)
        with self.assertRaisesRegex(thresher.MismatchError, "learn it of the model's words"):
            thresher.Translator(self.model, screen="align", alignment=table)
        with self.assertRaises(thresher.ArgumentError):
            thresher.train_alignment(source, target, table, n_iterations=0)

    def test_parts_of_the_time_add_up_to_less_than_all(self) -> None:
        with thresher.Translator(self.model, batch=1, beam=2) as translator:
            self.assertEqual(sum(translator.times), 0)
            begin = time.perf_counter()
            translator.translate(["chat", "chien"] * 20)
            seconds, times = time.perf_counter() - begin, translator.times
            self.assertLessEqual(sum(times), seconds)
            for name, part in times._asdict().items():
                self.assertGreater(part, 0, name)
            translator.translate("")
            self.assertEqual(sum(translator.times), 0)

    def test_unknown_words_are_left_out_or_said_or_replaced(self) -> None:
        self.assertNotIn("unk", thresher.Translator(self.model).translate("Zebra"))
        self.assertEqual(thresher.Translator(self.model, unknown=True).translate("Zebra"), "<unk>")
        self.assertEqual(thresher.Translator(self.model, replace_unk=True).translate("le Zebra"), "zebra")

    def test_threads_and_pickles_share_a_model(self) -> None:
        translator = thresher.Translator(self.model, batch=1, n_best=1, length_penalty=0.5)
        again = pickle.loads(pickle.dumps(translator))
        self.assertEqual(again.n_best("chat"), translator.n_best("chat"))
        made: list[Any] = []
        workers = [
            threading.Thread(target=lambda: made.append(translator.translate(["chat", "le"] * 20))) for _ in range(4)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(made, [["cat", "the"] * 20] * 4)

    def test_what_is_wrong_is_told(self) -> None:
        with self.assertRaises(thresher.FileMissingError):
            thresher.Translator(self.model + "x")
        with self.assertRaisesRegex(ValueError, "screen is 'all'"):
            thresher.Translator(self.model, screen="all")
        with self.assertRaises(thresher.ArgumentError):
            thresher.Translator(self.model, beam=0)
        with self.assertRaises(TypeError):
            thresher.Translator(self.model).translate([b"chat"])  # type: ignore[list-item]
        with self.assertRaisesRegex(thresher.ArgumentError, "text 1 has 3 words: a text may have 2"):
            thresher.Translator(self.model, max_source=2).translate(["le chat", "le chat ."])
        with self.assertRaisesRegex(ValueError, "text 1: byte 1 of .* is NUL"):
            thresher.Translator(self.model).translate(["le", "a\0b"])
        write_tensors(self.model, {"a": np.zeros(3, np.float32)}, {})
        with self.assertRaises(thresher.FormatError):
            thresher.Translator(self.model)

# SPDX-License-Identifier: Apache-2.0
"""Models of texts, and indexes that carry one."""

from __future__ import annotations

import multiprocessing
import pickle
from typing import Any

import numpy as np

import thresher
from support import Case

VERBS = ["edit", "view", "play", "convert", "search", "send", "read", "write", "draw", "print", "backup", "monitor"]
THINGS = ["pdf", "photo", "music", "video", "mail", "chess", "network", "disk", "font", "text", "audio", "calendar"]
TEXTS = [f"{VERBS[i % 12]} {THINGS[i // 12 % 12]} number {i}" for i in range(400)]


def write_pairs(path: str) -> str:
    """Pairs of TEXTS: two words of one, and all."""
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{' '.join(text.split()[:2])}\t{text}\n" for text in TEXTS)
    return path


SMALL: dict[str, Any] = {"n_dims": 32, "n_pooled": 24, "batch": 64, "n_negatives": 10, "n_epochs": 2, "threads": 1}


def train(path: str, query_bits: int, item_bits: int) -> None:
    """A small model of TEXTS."""
    thresher.Tower.train(write_pairs(path + ".tsv"), path, query_bits=query_bits, item_bits=item_bits, **SMALL)


def cosines(queries: np.ndarray, items: np.ndarray) -> np.ndarray:
    q, x = queries.astype(np.float64), items.astype(np.float64)
    return (q / np.linalg.norm(q, axis=1, keepdims=True)) @ (x / np.linalg.norm(x, axis=1, keepdims=True)).T


def encode_in_child(model: thresher.Tower) -> list[float]:
    return [float(x) for x in model.encode("edit pdf")]


class Towers(Case):
    def setUp(self) -> None:
        super().setUp()
        self.model = self.path("model.safetensors")
        train(self.model, 3, 2)

    def test_a_model_says_what_it_is(self) -> None:
        with thresher.Tower.open(self.model, threads=2) as tower:
            self.assertEqual((tower.info.n_dims, tower.info.query_bits, tower.info.item_bits), (32, 3, 2))
            self.assertEqual(tower.path, self.model)
            self.assertIn("32 dimensions, 3 and 2 bits", repr(tower))
        with self.assertRaisesRegex(ValueError, "closed"):
            tower.encode("edit")
        with self.assertRaises(thresher.FileMissingError):
            thresher.Tower(self.path("none"))
        with open(self.path("text.txt"), "w") as file:
            file.write("no model\n")
        with self.assertRaises(thresher.FormatError):
            thresher.Tower(self.path("text.txt"))

    def test_texts_become_sums_of_planes(self) -> None:
        tower = thresher.Tower(self.model)
        one = tower.encode("Edit PDF!")
        self.assertEqual((one.shape, one.dtype), ((32,), np.float32))
        self.assertTrue(np.isin(one, [-1.75, -1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 1.75]).all())
        many = tower.encode(["edit pdf", "naïve ☃", ""], side="item")
        self.assertEqual(many.shape, (3, 32))
        self.assertTrue(np.isin(many, [-1.5, -0.5, 0.5, 1.5]).all())
        self.assertTrue((tower.encode(["edit pdf"])[0] == one).all())
        self.assertEqual(tower.encode([]).shape, (0, 32))
        several = [len(chunk) for chunk in tower.chunks(str(i) for i in range(5000))]
        self.assertEqual(sum(several), 5000)
        for wrong in (b"edit", ["edit", 3], [b"edit"]):
            with self.assertRaisesRegex(TypeError, "expected str"):
                tower.encode(wrong)
        with self.assertRaisesRegex(ValueError, "side is 'both'"):
            tower.encode("edit", side="both")

    def test_a_device_may_be_named_to_train_on(self) -> None:
        pairs, other = write_pairs(self.path("pairs.tsv")), self.path("other.safetensors")
        tower = thresher.Tower.train(pairs, other, query_bits=3, item_bits=2, device="auto", **SMALL)
        with thresher.Tower.open(self.model) as wanted:  # so short a training is the CPU's
            self.assertEqual(tower.info.fingerprint, wanted.info.fingerprint)
        with self.assertRaisesRegex(thresher.ArgumentError, "no device gpu"):
            thresher.Tower.train(pairs, other, device="gpu", **SMALL)

    def test_models_go_through_forks_and_pickles(self) -> None:
        tower = thresher.Tower(self.model)
        wanted = encode_in_child(tower)
        self.assertEqual(encode_in_child(pickle.loads(pickle.dumps(tower))), wanted)
        with multiprocessing.get_context("fork").Pool(1) as pool:
            self.assertEqual(pool.map(encode_in_child, [tower])[0], wanted)


class Indexes(Case):
    def setUp(self) -> None:
        super().setUp()
        self.model = self.path("model.safetensors")

    def build(self, vectors: object, **options: object) -> thresher.Index:
        return thresher.Index.build(self.path(), vectors, model=self.model, replace=True, **options)  # type: ignore

    def test_texts_are_found_by_texts_with_their_true_cosines(self) -> None:
        for bits in ((3, 2), (1, 1), (32, 2), (32, 32), (2, 32)):
            train(self.model, *bits)
            tower = thresher.Tower(self.model)
            with self.build(TEXTS) as index:
                asked = ["edit pdf", "play music", "x"]
                ids, scores = index.search(asked, k=5)
                wanted = cosines(tower.encode(asked), tower.encode(TEXTS, side="item"))
                found = np.take_along_axis(wanted, ids.astype(np.int64), 1)
                np.testing.assert_allclose(found, scores, atol=1e-6 if bits[0] < 32 or bits[1] == 32 else 0.02)
                one, _ = index.search("edit pdf", 5)
                self.assertEqual(one.tolist(), ids[0].tolist())
                offsets, near, _ = index.search_radius(asked, float(scores[0, 0]))
                self.assertIn(ids[0, 0], near[: int(offsets[1])])
                assert index.model is not None
                self.assertEqual((index.model.query_bits, index.model.item_bits), bits)
                self.assertEqual(index.model.fingerprint, tower.info.fingerprint)
                self.assertEqual(index.info.keep, "none" if bits[1] < 32 else "float32")
                index.verify()

    def test_all_ways_to_give_texts_make_the_same_index(self) -> None:
        train(self.model, 3, 2)
        tower = thresher.Tower(self.model)
        with open(self.path("texts.txt"), "w", encoding="utf-8") as file:
            file.writelines(text + "\n" for text in TEXTS)
        with open(self.path("texts.tsv"), "w", encoding="utf-8") as file:
            file.writelines(f"{i}\t{text}\n" for i, text in enumerate(TEXTS))
        answers = []
        sources = [
            TEXTS,
            iter(TEXTS),
            (text for text in TEXTS),
            self.path("texts.txt"),
            self.path("texts.tsv") + ":2",
            tower.encode(TEXTS, side="item"),
            list(tower.encode(TEXTS, side="item")),
        ]
        for source in sources:
            with self.build(source, ids=TEXTS) as index:
                answers.append([a.tolist() for a in index.search(["edit pdf", "play music"], 7)])
                self.assertEqual(index.name(3), TEXTS[3])
        for answer in answers:
            self.assertEqual(answer, answers[0])
        with thresher.Index.build(self.path("b"), TEXTS, model=tower, ids=TEXTS) as index:
            self.assertEqual([a.tolist() for a in index.search(["edit pdf", "play music"], 7)], answers[0])

    def test_what_does_not_fit_is_refused(self) -> None:
        train(self.model, 3, 2)
        with self.assertRaisesRegex(thresher.MismatchError, "row 0, dimension 0"):
            self.build(np.zeros((5, 32), np.float32))
        with self.assertRaisesRegex(thresher.ArgumentError, "dimensions"):
            self.build(np.ones((5, 31), np.float32))
        with self.assertRaisesRegex(TypeError, "text 1"):
            self.build(["edit", 3])
        with self.assertRaises(thresher.FileMissingError):
            thresher.Index.build(self.path(), TEXTS, model=self.path("none"))
        with self.assertRaisesRegex(thresher.ArgumentError, "cosine"):
            self.build(TEXTS, metric="l2")
        with thresher.Index.build(self.path("plain"), np.ones((5, 32), np.float32)) as index:
            self.assertIsNone(index.model)
            with self.assertRaisesRegex(thresher.UnsupportedError, "no model"):
                index.search("edit pdf")

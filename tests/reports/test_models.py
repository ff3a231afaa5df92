# SPDX-License-Identifier: Apache-2.0
"""Reports of heads, rankings, metrics, translations and posting lists, and of the files that commands write."""

from __future__ import annotations

import json
import os
import struct
import unittest
from pathlib import Path
from typing import Any

import numpy as np
from case import ReportCase, normal

import thresher
from thresher import Head, Hits

F32 = np.float32


def write_tensors(path: str, tensors: dict[str, Any]) -> None:
    """A .safetensors file of float32."""
    header, data = {}, b""
    for name, array in tensors.items():
        raw = np.ascontiguousarray(array, "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


class Heads(ReportCase):
    def test_a_sharded_model_gives_its_output_layer(self) -> None:
        embeddings, output = normal(200, 16, 1), normal(200, 16, 2)
        first, second = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
        os.mkdir(self.path("m"))
        write_tensors(self.path("m/" + first), {"model.embed_tokens.weight": embeddings})
        write_tensors(self.path("m/" + second), {"lm_head.weight": output})
        places = {"model.embed_tokens.weight": first, "lm_head.weight": second}
        Path(self.path("m/model.safetensors.index.json")).write_text(json.dumps({"weight_map": places}))
        self.save("q.npy", output[:3].astype(F32))
        for given in ("m", "m/" + first):
            done = self.shell("head", "build", given, "-o", "h.head", "--force")
            if done.returncode != 0:
                self.assertNotEqual(given, "m", done.stderr)
                self.assertRegex(done.stderr, "lm_head|index.json|shard")
                continue
            words = Head.open(self.path("h.head")).query(output[:3].astype(F32), 1)[0]
            self.assertEqual(words.ravel().tolist(), [0, 1, 2])

    def test_more_words_than_there_are_is_refused(self) -> None:
        head = Head.build(normal(5, 8, 1).astype(F32), threads=1)
        with self.assertRaisesRegex(thresher.ArgumentError, "6.*5"):
            head.query(np.ones((1, 8), F32), 6)


class Ranking(ReportCase):
    def test_a_cache_of_other_rows_is_read_again(self) -> None:
        path = self.path("t.svm")
        for name, text in (("a", "1 qid:1 1:1\n2 qid:1 1:2\n"), ("b", "2 qid:1 1:1\n1 qid:1 1:2\n")):
            Path(path).write_text(text)
            os.utime(path, (1000, 1000))
            self.shelled("rank", "train", "t.svm", "--cache", "-o", name + ".model", "-q")
            ranking = thresher.read_ranking(path, cache=True)
            self.assertEqual(np.asarray(ranking.y).tolist(), [float(line[0]) for line in text.splitlines()])
        self.shelled("rank", "train", "t.svm", "-o", "c.model", "-q")
        self.assertEqual(Path(self.path("b.model")).read_bytes(), Path(self.path("c.model")).read_bytes())

    def test_an_output_through_a_link_to_stdout_is_printed(self) -> None:
        Path(self.path("t.svm")).write_text("1 qid:1 1:1\n2 qid:1 1:2\n")
        os.symlink("/proc/self/fd/1", self.path("stdout"))
        self.shelled("rank", "train", "t.svm", "-o", "m.model", "-q")
        done = self.shell("rank", "predict", "m.model", "t.svm", "-o", "stdout", ">scores.txt")
        self.assertTrue(os.path.islink(self.path("stdout")))
        if done.returncode == 0:
            self.assertEqual(len(Path(self.path("scores.txt")).read_text().splitlines()), 2)
        else:
            self.assertRegex(done.stderr, "stdout")

    def test_ndcg_of_equal_scores_is_noted(self) -> None:
        labels = np.tile(np.repeat([4, 3, 2, 1], 5), 20)
        rows = "".join(f"{label} qid:{i // 20} 1:1\n" for i, label in enumerate(labels))
        Path(self.path("sorted.svm")).write_text(rows)
        Path(self.path("zeros.txt")).write_text("0\n" * 400)
        done = self.shell("eval", "ndcg", "zeros.txt", "sorted.svm")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout + done.stderr, "(?i)tie|equal score")

    def test_values_that_are_glued_or_apart_are_read_or_refused_by_line_and_column(self) -> None:
        for text, wanted in (("0 21:1.00 63: .50\n", None), ("0 21:1.0063:.50\n", None), ("0 qid:1 1:.5\n", 1)):
            Path(self.path("x.svm")).write_text("1 qid:1 1:1\n" + text)
            try:
                self.assertEqual(thresher.read_ranking(self.path("x.svm")).X.shape[0], 2)
            except thresher.FormatError as refused:
                self.assertIsNone(wanted)
                self.assertRegex(str(refused), r"line 2")

    def test_ndcg_is_at_most_one_and_large_labels_are_refused(self) -> None:
        draw = np.random.default_rng(1)
        scores, labels, qid = draw.standard_normal(400), draw.integers(0, 60, 400), np.arange(400) // 20
        for convention in ("letor", "lightgbm", "xgboost", "xgboost_minus"):
            found = thresher.ndcg(scores, labels, qid, convention=convention, gain="linear")
            self.assertTrue((np.asarray(found[0] if isinstance(found, tuple) else found) <= 1).all())
            with self.assertRaisesRegex(thresher.ArgumentError, "31"):
                thresher.ndcg(scores, labels, qid, convention=convention, gain="exponential")


class Lists(ReportCase):
    def test_weights_of_both_signs_find_what_a_plain_sum_finds(self) -> None:
        n, n_features = 5000, 30
        draw = np.random.default_rng(1)
        has = draw.random((n, n_features)) < 1 / (1 + np.arange(n_features))
        has[:50] = False
        multipliers = draw.standard_normal(n).astype(F32)
        with Hits.build(self.path("h"), [np.flatnonzero(row) for row in has], threads=1) as hits:
            hits.set_values(multipliers)
            for k in (5, n):
                weights = draw.standard_normal(n_features).astype(F32)
                ids, values = hits.search(dict(enumerate(weights.tolist())), k)
                sums = has @ weights.astype(np.float64) * multipliers
                np.testing.assert_allclose(values, np.sort(sums)[::-1][:k], atol=1e-4)
                np.testing.assert_allclose(sums[ids.astype(int)], values, atol=1e-4)


class Translations(ReportCase):
    def setUp(self) -> None:
        super().setUp()
        from test_translate import dictionary

        self.model = self.path("small.safetensors")
        dictionary(self.model)

    def test_the_texts_of_an_n_best_list_differ(self) -> None:
        for replace in (False, True):
            with thresher.Translator(self.model, beam=10, n_best=10, replace_unk=replace, threads=1) as translator:
                for text in ("le chat", "xyz zyx", "chat .", "le"):
                    texts = [one.text for one in translator.n_best(text)[0]]
                    self.assertEqual(len(texts), len(set(texts)), texts)

    def test_a_translation_does_not_depend_on_its_batch(self) -> None:
        texts = ["le chat", "chien", ".", "le", "", "chat chien le .", "xyz"]
        alone: Any = None
        for batch, order in ((1, 1), (32, 1), (32, -1), (3, 1)):
            with thresher.Translator(self.model, batch=batch, beam=3, n_best=2, threads=1) as translator:
                made = translator.n_best(texts[::order])[::order]
            alone = alone or made
            self.assertEqual(made, alone)
        with thresher.Translator(self.model, beam=50, n_best=50, max_length=3, threads=1) as translator:
            self.assertLessEqual(len(translator.n_best("chat")[0]), 50)

    def test_odd_line_ends_count_the_same_in_the_shell_and_in_python(self) -> None:
        hypotheses = ["the cat\x0csat on the mat", "a b\u2028c d e", "non\u00a0breaking space here", "", "x\u0085y z w"]
        references = ["the cat sat on the mat", "a b c d e", "non breaking space here", "empty before", ""]
        for name, lines in (("h.txt", hypotheses), ("r.txt", references)):
            Path(self.path(name)).write_bytes("".join(line + "\n" for line in lines).encode())
        wanted = thresher.bleu(hypotheses, references).bleu
        self.assertIn(f"{wanted:.2f}", self.shelled("eval", "bleu", "h.txt", "r.txt"))
        Path(self.path("cr.txt")).write_bytes(b"a b c d\re f g h\n" + b"x\n" * 4)
        done = self.shell("eval", "bleu", "cr.txt", "r.txt")
        text = ["a b c d\re f g h", *["x"] * 4]
        if done.returncode == 0:
            self.assertIn(f"{thresher.bleu(text, references).bleu:.2f}", done.stdout)
        else:
            self.assertRegex(done.stderr, "line 1")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Learning models, stopping and going on, judging them."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from typing import Any

import numpy as np

import thresher
from support import TrainingCase
from test_tower import SMALL, TEXTS, write_pairs

INTERRUPTED = """
import sys
import thresher

def ready(epoch):
    print("epoch", epoch.epoch, flush=True)

try:
    small = {"n_dims": 32, "n_pooled": 24, "batch": 64, "threads": 1}
    thresher.Tower.train(sys.argv[1], sys.argv[2], n_epochs=10**6, patience=0, on_epoch=ready, **small)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


class Train(TrainingCase):
    def setUp(self) -> None:
        super().setUp()
        self.pairs = write_pairs(self.path("pairs.tsv"))

    def train(self, path: str | None = None, **options: Any) -> thresher.Tower:
        return thresher.Tower.train(self.pairs, path or self.model, **{**SMALL, **options})

    def test_a_model_is_learned_and_opened(self) -> None:
        epochs: list[thresher.TowerEpoch] = []
        words: list[str] = []

        def progress(what: str, done: int, total: int) -> None:
            self.assertLessEqual(0, done)
            self.assertLessEqual(done, total or done)
            words.append(what)

        with self.train(n_epochs=3, patience=0, on_epoch=epochs.append, progress=progress) as tower:
            self.assertEqual((tower.info.n_dims, tower.info.query_bits, tower.info.item_bits), (32, 3, 2))
            report = tower.report
            assert report is not None
            self.assertEqual([epoch.epoch for epoch in epochs], [1, 2, 3])
            self.assertEqual((report.n_epochs, report.n_refused), (3, 0))
            self.assertEqual(report.n_pairs + report.n_valid, len(TEXTS))
            self.assertEqual([epoch.as_floats for epoch in epochs], [True, False, False])
            best = epochs[report.best_epoch - 1]
            self.assertTrue(best.best)
            self.assertEqual((best.valid_loss, best.valid_quality), (report.valid_loss, report.valid_quality))
            self.assertEqual(min(epoch.valid_loss for epoch in epochs[1:]), report.valid_loss)
            self.assertIn("epoch 1 of 3", words)
            self.assertEqual(tower.encode(["edit pdf"]).shape, (1, 32))
        self.assertIsNone(thresher.Tower(self.model).report)

    def test_threads_and_times_change_nothing_and_options_do(self) -> None:
        changes: list[dict[str, Any]] = [
            {"seed": 2},
            {"rate": 0.01},
            {"gamma": 5},
            {"word_dropout": 0},
            {"float_share": 0},
            {"estimator": "tanh", "query_bits": 1},
            {"n_negatives": 5},
            {"batch": 50},
            {"n_epochs": 1},
            {"shared_words": True},
            {"shared_steps": True, "query_bits": 4},
            {"plain_weights": True},
            {"max_grams": 100},
            {"max_words": 3},
            {"n_pooled": 25},
            {"item_bits": 32},
            {"valid_share": 0.3},
            {"query_column": 2},
        ]
        self.check_changes([{}, {"threads": 3}], changes)

    def test_stopping_leaves_a_checkpoint_and_resuming_gives_the_same_model(self) -> None:
        class Stop(Exception):
            pass

        def raise_at_two(epoch: thresher.TowerEpoch) -> None:
            if epoch.epoch == 2:
                raise Stop

        self.train(n_epochs=4, patience=0).close()
        other = self.path("other")
        with self.assertRaises(Stop):
            self.train(other, n_epochs=4, patience=0, on_epoch=raise_at_two)
        self.assertTrue(os.path.exists(other + ".checkpoint"))
        with self.assertRaises(thresher.CanceledError):
            self.train(other, n_epochs=4, patience=0, resume=True, progress=lambda what, *_: "epoch" not in what)
        with self.assertRaises(thresher.MismatchError):
            self.train(other, n_epochs=4, patience=0, resume=True, seed=7)
        self.train(other, n_epochs=4, patience=0, resume=True).close()
        self.assertEqual(self.content(other), self.content(self.model))
        self.assertFalse(os.path.exists(other + ".checkpoint"))
        with self.assertRaises(thresher.FileMissingError):
            self.train(other, resume=True)

    def test_ctrl_c_leaves_a_checkpoint(self) -> None:
        with subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED, self.pairs, self.model], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            try:
                self.assertEqual(process.stdout.readline(), "epoch 1\n")
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.stdout.read().split("\n")[-2], "interrupted")
                self.assertEqual(process.wait(60), 0)
            finally:
                process.kill()
        self.assertTrue(os.path.exists(self.model + ".checkpoint"))

    def test_what_cannot_be_learned_is_refused(self) -> None:
        with self.assertRaisesRegex(thresher.ArgumentError, "9 query bits"):
            self.train(query_bits=9)
        with self.assertRaisesRegex(thresher.FormatError, "two batches"):
            self.train(batch=1024)
        with self.assertRaisesRegex(thresher.FormatError, "right columns"):
            self.train(item_column=3)
        with self.assertRaises(thresher.FileMissingError):
            thresher.Tower.train(self.path("none.tsv"), self.model)
        with self.assertRaises(thresher.FileMissingError):
            self.train(valid=self.path("none.tsv"))
        with self.assertRaises(thresher.FileMissingError):
            self.train(self.path("no/such/model"))
        with self.assertRaisesRegex(ValueError, "estimator is 'x'"):
            self.train(estimator="x")
        with self.assertRaisesRegex(ValueError, "query_column is 0"):
            self.train(query_column=0)
        with self.assertRaisesRegex(TypeError, "rate is 'fast'"):
            self.train(rate="fast")
        with self.assertRaisesRegex(TypeError, "n_epochs is 1.5"):
            self.train(n_epochs=1.5)
        with self.assertRaisesRegex(TypeError, "expected a path"):
            thresher.Tower.train([("a", "b")], self.model)  # type: ignore[arg-type]
        self.assertFalse(os.path.exists(self.model))

    def test_a_model_is_judged(self) -> None:
        judged = self.path("judged.csv")
        with open(judged, "w", encoding="utf-8") as file:
            file.write("label,query,item\n")
            for i, text in enumerate(TEXTS):
                query = " ".join(text.split()[:2])
                file.write(f"2,{query},{text}\n0,{query},{TEXTS[(i + 77) % len(TEXTS)]}\n")
        columns: dict[str, Any] = {"query_column": 2, "item_column": 3, "header": True}
        with self.train() as tower:
            quality = tower.eval(judged, label_column=1, least_label=1, **columns)
            self.assertEqual((quality.n_good, quality.n_bad, quality.n_refused), (len(TEXTS), len(TEXTS), 0))
            self.assertTrue(math.isnan(quality.loss))
            queries = tower.encode([" ".join(text.split()[:2]) for text in TEXTS])
            items = tower.encode(TEXTS, side="item")
            self.assertAlmostEqual(quality.auc, auc(queries, items, np.roll(items, -77, axis=0)), places=4)
            sampled = tower.eval(self.pairs)
            self.assertEqual((sampled.n_good, sampled.n_bad), (len(TEXTS), 10 * len(TEXTS)))
            self.assertGreater(sampled.loss, 0)
            with self.assertRaises(thresher.ArgumentError):
                tower.eval(judged, label_column=1, least_label=3, **columns)
            with self.assertRaises(thresher.FileMissingError):
                tower.eval(self.path("none.tsv"))
            with self.assertRaises(thresher.CanceledError):
                tower.eval(self.pairs, progress=lambda *_: False)
        with self.assertRaisesRegex(ValueError, "closed"):
            tower.eval(self.pairs)


def auc(queries: Any, good: Any, bad: Any) -> float:
    def cosines(items: Any) -> Any:
        q, x = queries.astype(np.float64), items.astype(np.float64)
        return ((q * x).sum(1) / np.linalg.norm(q, axis=1) / np.linalg.norm(x, axis=1)).astype(np.float32)

    better = cosines(good)[:, None] - cosines(bad)[None, :]
    return float((better > 0).mean() + (better == 0).mean() / 2)

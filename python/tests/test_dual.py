# SPDX-License-Identifier: Apache-2.0
"""Models of ad requests: learned, opened again, scored beside the definition, judged, and refusals."""

from __future__ import annotations

import multiprocessing
import pickle
from typing import Any

import numpy as np

import thresher
from support import TrainingCase

N_ITEMS, N_REQUESTS, N_ADS = 60, 300, 8
SMALL: dict[str, Any] = {
    "n_embedding": 6,
    "n_hidden": 12,
    "n_dims": 8,
    "n_products": 4,
    "batch": 30,
    "n_epochs": 4,
    "patience": 0,
    "threads": 1,
}


def item_words(item: int) -> list[str]:
    return [f"category={item % 7}", f"brand={item % 5}", f"item={item}"]


def user_words(request: int) -> str:
    taste = request % 7
    return f"age={request % 3} click.category={taste}:2 click.brand={request % 5}:0.5 seen.category={taste}"


def write_log(items: str, requests: str) -> None:
    """A user clicked on a category before, and the best ad is of it; the others are of any."""
    rng = np.random.default_rng(1)
    with open(items, "w") as file:
        file.writelines(f"ad{i}\t{' '.join(item_words(i))}\n" for i in range(N_ITEMS))
    with open(requests, "w") as file:
        for r in range(N_REQUESTS):
            best = r % 7 + 7 * int(rng.integers(N_ITEMS // 7))
            others = [int(i) for i in rng.permutation(N_ITEMS) if i != best][: N_ADS - 1]
            ads = [f"ad{best}:3"] + [f"{'~' if place else ''}ad{i}:1" for place, i in enumerate(others)]
            file.write(f"{user_words(r)}\t{' '.join(ads)}\n")


def encode_in_child(model: thresher.Dual) -> list[float]:
    return [float(x) for x in model.encode(user_words(0))]


class Duals(TrainingCase):
    def setUp(self) -> None:
        super().setUp()
        self.items, self.requests = self.path("items.tsv"), self.path("requests.tsv")
        write_log(self.items, self.requests)

    def train(self, path: str | None = None, **options: Any) -> thresher.Dual:
        return thresher.Dual.train(self.requests, self.items, path or self.model, **{**SMALL, **options})

    def test_a_model_is_learned_and_says_what_it_is(self) -> None:
        epochs: list[thresher.TowerEpoch] = []
        with self.train(on_epoch=epochs.append) as dual:
            report, info = dual.report, dual.info
            assert report is not None
            self.assertEqual([epoch.epoch for epoch in epochs], [1, 2, 3, 4])
            self.assertEqual(report.n_epochs, 4)
            self.assertEqual(report.n_pairs + report.n_valid, N_REQUESTS)
            self.assertEqual(min(epoch.valid_loss for epoch in epochs), report.valid_loss)
            self.assertEqual((info.n_vector, info.n_dims, info.n_products, info.hits), (12, 8, 4, True))
            self.assertEqual((info.n_user_fields, info.n_item_fields), (4, 3))
            self.assertEqual(dual.path, self.model)
            self.assertIn("8 and 4 dimensions, with hits", repr(dual))
        with self.assertRaisesRegex(ValueError, "closed"):
            dual.encode("age=1")
        with thresher.Dual.open(self.model) as again:
            self.assertIsNone(again.report)
            self.assertEqual(again.info, info)

    def test_threads_change_nothing_and_options_do(self) -> None:
        changes: list[dict[str, Any]] = [
            {"seed": 2},
            {"rate": 0.01},
            {"optimiser": "adam"},
            {"embedding_rate": 0.3},
            {"hits_rate": 0.5},
            {"loss": "sum"},
            {"loss": "sum", "value": "difference"},
            {"l2": 0.1},
            {"min_count": 50},
            {"valid_share": 0.4},
            {"valid": self.requests},
        ]
        self.check_changes([{}, {"threads": 3}], changes)

    def test_evaluation_is_what_vectors_and_hits_say(self) -> None:
        dual = self.train(n_epochs=8)
        quality = dual.eval(self.requests, self.items)
        self.assertEqual((quality.n_requests, quality.n_ads), (N_REQUESTS, N_REQUESTS * N_ADS))
        self.assertGreater(quality.gauc, 0.8)
        items = dual.encode([" ".join(item_words(i)) for i in range(N_ITEMS)], side="item")
        self.assertEqual((items.shape, items.dtype), ((N_ITEMS, 12), np.float32))
        first, total = 0, 0.0
        with open(self.requests) as file:
            for line in file:
                user, ads = line.rstrip("\n").split("\t")
                numbers = [int(ad.lstrip("~ad").split(":")[0]) for ad in ads.split()]
                hits = dual.hits(user)
                scores = items[numbers] @ dual.encode(user)
                scores += [sum(hits.get(word, 0.0) for word in item_words(i)) for i in numbers]
                total += float((scores[0] > scores[1:]).mean())
                first += int((scores[1:] > scores[0]).sum() < 5)
        self.assertAlmostEqual(quality.gauc, total / N_REQUESTS, 4)
        self.assertAlmostEqual(quality.recall_5, first / N_REQUESTS, 2)

    def test_hits_are_a_query_of_posting_lists(self) -> None:
        dual = self.train()
        hits = dual.hits(user_words(3))
        self.assertEqual(set(hits), {"category=3", "brand=3"})
        self.assertNotEqual(hits["category=3"], 0)
        halves = dual.hits("click.category=3:2"), dual.hits("seen.category=3")
        self.assertAlmostEqual(hits["category=3"], sum(half["category=3"] for half in halves), 5)
        self.assertEqual(dual.hits(""), {})
        lists = thresher.Hits.build(self.path("ads.hits"), self.items)
        ids, values = lists.search({"category=3": hits["category=3"]}, 3)
        self.assertEqual(len(ids), 3)
        self.assertAlmostEqual(float(values[0]), max(0.0, hits["category=3"]), 5)
        self.assertEqual(self.train(hits=False).hits(user_words(3)), {})

    def test_a_training_that_was_stopped_goes_on(self) -> None:
        self.train(n_epochs=5).close()
        whole = self.content(self.model)
        stopped = self.path("stopped.safetensors")
        with self.assertRaises(thresher.CanceledError):
            self.train(stopped, n_epochs=5, progress=lambda what, done, total: not what.startswith("epoch 3"))
        with self.assertRaises(thresher.MismatchError):
            self.train(stopped, n_epochs=5, seed=7, resume=True)
        self.train(stopped, n_epochs=5, resume=True).close()
        self.assertEqual(self.content(stopped), whole)

    def test_a_pickle_is_a_path(self) -> None:
        dual = self.train()
        again = pickle.loads(pickle.dumps(dual))
        self.assertEqual(again.encode(user_words(0)).tolist(), dual.encode(user_words(0)).tolist())
        with multiprocessing.get_context("fork").Pool(1) as pool:
            self.assertEqual(pool.apply(encode_in_child, (dual,)), encode_in_child(dual))

    def test_what_is_wrong_is_told(self) -> None:
        dual = self.train()
        for wrong in (b"age=1", ["age=1", 3]):
            with self.assertRaisesRegex(TypeError, "expected str"):
                dual.encode(wrong)  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            dual.hits(b"age=1")  # type: ignore[arg-type]
        with self.assertRaises(thresher.FormatError):
            dual.encode("=3")
        with self.assertRaises(thresher.ArgumentError):
            dual.hits("click.category=3:1e99")
        with self.assertRaisesRegex(ValueError, "side is 'both'"):
            dual.encode("age=1", side="both")
        with self.assertRaisesRegex(ValueError, "loss is 'best'"):
            self.train(loss="best")
        with self.assertRaises(thresher.ArgumentError):
            self.train(n_embedding=1000)
        with self.assertRaises(thresher.FormatError):
            self.train(batch=10000)
        with self.assertRaises(thresher.FileMissingError):
            dual.eval(self.path("none.tsv"), self.items)
        with self.assertRaises(thresher.FormatError):
            thresher.Tower(self.model)

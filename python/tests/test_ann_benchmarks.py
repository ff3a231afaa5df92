# SPDX-License-Identifier: Apache-2.0
"""The module for ann-benchmarks, in a tree laid out like theirs and called the way their runner calls it."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import unittest
from itertools import product
from typing import Any

import numpy as np

from support import SOURCES, Case, plain_search, random_vectors

BASE = "class BaseANN(object):\n    def done(self):\n        pass\n"
METRICS = {"angular": "cosine", "euclidean": "l2"}
K = 10


def read_config() -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        raise unittest.SkipTest("PyYAML is not installed") from None
    with open(os.path.join(SOURCES, "python", "ann_benchmarks", "config.yml")) as file:
        config: dict[str, Any] = yaml.safe_load(file)["float"]["any"][0]
    return config


class AnnBenchmarks(Case):
    def setUp(self) -> None:
        super().setUp()
        algorithms = self.path("ann_benchmarks/algorithms")
        os.makedirs(os.path.join(algorithms, "base"))
        with open(os.path.join(algorithms, "base", "module.py"), "w") as file:
            file.write(BASE)
        shutil.copytree(os.path.join(SOURCES, "python", "ann_benchmarks"), os.path.join(algorithms, "thresher"))
        sys.path.insert(0, self.directory)
        self.addCleanup(sys.path.remove, self.directory)
        self.addCleanup(lambda: [sys.modules.pop(name) for name in list(sys.modules) if "ann_benchmarks.alg" in name])
        self.vectors, self.queries = random_vectors(3000, 24), random_vectors(70, 24, seed=2)

    def make(self, *arguments: Any, module: str = "ann_benchmarks.algorithms.thresher", name: str = "Thresher") -> Any:
        algorithm = getattr(importlib.import_module(module + ".module"), name)(*arguments)
        self.addCleanup(algorithm.done)
        return algorithm

    def recall(self, answers: list[Any], metric: str) -> float:
        truth = plain_search(self.vectors, self.queries, K, METRICS[metric]).tolist()
        for answer in answers:
            self.assertEqual(len(answer), len(set(answer)))
            self.assertLessEqual(len(answer), K)
        return float(np.mean([len(set(t) & {int(i) for i in a}) / K for t, a in zip(truth, answers)]))

    def test_a_run(self) -> None:
        for metric, cells in product(METRICS, (1, 40, "auto")):
            algorithm = self.make(metric, {"bits": 3, "keep": "float32", "cells": cells})
            algorithm.fit(self.vectors)
            for recall in (0.9, 0.99, 1.0):
                algorithm.set_query_arguments(recall)
                self.assertIn(f"recall={recall}", str(algorithm))
                one = self.recall([algorithm.query(query, K) for query in self.queries], metric)
                algorithm.batch_query(self.queries, K)
                self.assertEqual(self.recall(algorithm.get_batch_results(), metric), one)
                self.assertGreaterEqual(one, recall - 0.02)  # 70 queries only
            self.assertGreater(algorithm.get_additional()["code_bytes"], 0)
            directory = algorithm._directory
            algorithm.done()
            self.assertFalse(os.path.exists(directory))

    def test_fewer_items_than_are_asked_for(self) -> None:
        algorithm = self.make("angular", {"bits": 2, "keep": "float16", "cells": 1})
        algorithm.fit(self.vectors[:4])
        algorithm.batch_query(self.queries, K)
        self.assertEqual({len(answer) for answer in algorithm.get_batch_results()}, {4})

    def test_an_unknown_metric(self) -> None:
        with self.assertRaisesRegex(ValueError, "thresher has no metric hamming"):
            self.make("hamming", {"bits": 2, "keep": "float32"})

    def test_every_combination_of_the_configuration(self) -> None:
        config = read_config()
        self.assertEqual(config["base_args"], ["@metric"])
        for group in config["run_groups"].values():
            for values in product(*group["args"].values()):
                algorithm = self.make(
                    "angular", dict(zip(group["args"], values)), module=config["module"], name=config["constructor"]
                )
                algorithm.fit(self.vectors)
                for arguments in product(*group["query_args"]):
                    algorithm.set_query_arguments(*arguments)
                    self.assertEqual(len(algorithm.query(self.queries[0], K)), K)

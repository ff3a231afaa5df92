# SPDX-License-Identifier: Apache-2.0
"""What all tests share: a directory that is deleted, vectors from a seed, and the plain way to search them."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import threading
import time
import unittest
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

import thresher

SOURCES = os.environ.get("THR_SOURCE_DIR") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)
Floats = npt.NDArray[np.float32]


def random_vectors(n: int, n_dims: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).standard_normal((n, n_dims)).astype(np.float32)


def plain_search(vectors: Any, queries: Any, k: int, metric: str = "cosine") -> npt.NDArray[np.uint64]:
    """The k best rows for each query, in float64; ties go to the smaller row."""
    x, q = np.asarray(vectors, np.float64), np.asarray(queries, np.float64)
    if metric == "cosine":
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        q = q / np.linalg.norm(q, axis=1, keepdims=True)
    scores = q @ x.T
    if metric == "l2":
        scores = -(np.square(q).sum(1)[:, None] - 2 * scores + np.square(x).sum(1))
    return np.argsort(-scores, axis=1, kind="stable")[:, :k].astype(np.uint64)


class Kills:
    """
    Kills processes in the middle of work, n of them (THR_KILLS, or few), at moments from a seed that is printed after a
    failure. With THR_KILLS also prints how many the work outlived.
    """

    def __init__(self, what: str, few: int) -> None:
        self.what, self.n = what, int(os.environ.get("THR_KILLS", few))
        self.seed = random.randrange(1 << 32)
        self._random, self._start, self._shortest = random.Random(self.seed), time.monotonic(), 10.0
        self._done = self._in_the_middle = 0

    def __enter__(self) -> Kills:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None or "THR_KILLS" in os.environ:
            took = time.monotonic() - self._start
            words = f"{self._done} killed, {self._in_the_middle} of them before the work's end, in {took:.0f} s"
            print(f"{self.what}: {words}; seed {self.seed}", file=sys.stderr)

    def left(self) -> bool:
        """Whether there are processes still to be killed."""
        return self._done < self.n

    def timed(self, work: Callable[[], Any]) -> Any:
        """What work returns. Kills come within the shortest time that it took."""
        start = time.monotonic()
        done = work()
        self._shortest = min(self._shortest, time.monotonic() - start)
        return done

    def during(self, kill: Callable[[], bool], work: Callable[[], Any]) -> Any:
        """What work returns, while kill runs, which returns whether there was a process to kill."""
        killed, ended = threading.Event(), threading.Event()

        def kill_now() -> None:
            while not (killed.is_set() or ended.is_set()):
                if kill():
                    killed.set()
                time.sleep(0.005)

        killer = threading.Timer(self._random.uniform(0, self._shortest), kill_now)
        killer.start()
        try:
            return self.timed(work)
        finally:
            self._in_the_middle += killed.is_set()
            ended.set()
            killer.join()
            self._done += killed.is_set()


class Case(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="thresher-test-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name: str = "index") -> str:
        return os.path.join(self.directory, name)


class TrainingCase(Case):
    """A test with a method train(path, **options), which writes a model to path, by default self.model."""

    train: Callable[..., Any]

    def setUp(self) -> None:
        super().setUp()
        self.model = self.path("model.safetensors")

    def content(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def trained(self, options: dict[str, Any]) -> bytes:
        """The bytes of the model that options give."""
        self.train(**options).close()
        return self.content(self.model)

    def check_changes(self, same: list[dict[str, Any]], changes: list[dict[str, Any]]) -> None:
        """All options of `same` give one model, and each change another one."""
        seen = {self.trained(options) for options in same}
        self.assertEqual(len(seen), 1)
        for n, change in enumerate(changes, 2):
            seen.add(self.trained(change))
            self.assertEqual(len(seen), n, change)


class VectorCase(Case):
    """A test with random vectors and queries, and, if there are options for it, an index of the vectors."""

    shape: tuple[int, int, int]  # vectors, dimensions, queries
    options: dict[str, Any] | None = None
    index: thresher.Index

    def setUp(self) -> None:
        super().setUp()
        n, n_dims, n_queries = self.shape
        self.vectors, self.queries = random_vectors(n, n_dims), random_vectors(n_queries, n_dims, seed=2)
        if self.options is not None:
            self.index = thresher.Index.build(self.path(), self.vectors, **self.options)
            self.addCleanup(self.index.close)

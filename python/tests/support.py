# SPDX-License-Identifier: Apache-2.0
"""What all tests share: a directory that is deleted, vectors from a seed, and the plain way to search them."""

from __future__ import annotations

import os
import tempfile
import unittest
from typing import Any

import numpy as np
import numpy.typing as npt

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


class Case(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="thresher-test-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name: str = "index") -> str:
        return os.path.join(self.directory, name)

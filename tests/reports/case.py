# SPDX-License-Identifier: Apache-2.0
"""What the tests of reports share: float64 answers, the share found, the program, and a Python of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from typing import Any

import numpy as np

SOURCES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCES, "python", "tests"))

from support import Case  # noqa: E402

__all__ = ["SOURCES", "ReportCase", "best", "found", "normal"]


def normal(n: int, n_dims: int, seed: int) -> Any:
    """Standard normal numbers, float64 [n, n_dims]."""
    return np.random.default_rng(seed).standard_normal((n, n_dims))


def best(x: Any, queries: Any, k: int, metric: str) -> Any:
    """The rows of the best k of each query in float64, by explicit differences for l2."""
    x, q = np.asarray(x, np.float64), np.asarray(queries, np.float64)
    if metric == "cosine":
        x, q = x / np.linalg.norm(x, axis=1, keepdims=True), q / np.linalg.norm(q, axis=1, keepdims=True)
    scores = np.array([-np.square(x - one).sum(1) if metric == "l2" else x @ one for one in q])
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def found(truth: Any, ids: Any) -> float:
    """The share of the true ids that were found."""
    return float(np.mean([len(set(a.tolist()) & set(b.tolist())) / len(a) for a, b in zip(truth, ids)]))


class ReportCase(Case):
    def shell(self, *arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
        """thresher ARGUMENTS in the test's directory, through a shell; before: shell words before the program."""
        program = os.environ.get("THRESHER")
        if not program:
            raise unittest.SkipTest("THRESHER does not name the program")
        line = f'{before} "{program}" {" ".join(arguments)}'
        return subprocess.run(["sh", "-c", line], cwd=self.directory, capture_output=True, text=True, timeout=60)

    def shelled(self, *arguments: str) -> str:
        """What a command prints; it has to succeed."""
        done = self.shell(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def python(self, script: str, *arguments: str, flags: tuple[str, ...] = (), **options: Any) -> str:
        """What a script prints in a new interpreter in the test's directory; it has to succeed."""
        command = [sys.executable, *flags, "-c", script, *arguments]
        done = subprocess.run(
            command, cwd=self.directory, capture_output=True, text=True, timeout=60, check=False, **options
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def save(self, name: str, array: Any) -> str:
        np.save(self.path(name), array)
        return name

# SPDX-License-Identifier: Apache-2.0
"""Thresher for ann-benchmarks: configured by a recall, nothing else. README.md has the places of these files."""

import shutil
import tempfile

import numpy as np

import thresher

from ..base.module import BaseANN

METRICS = {"angular": "cosine", "euclidean": "l2", "ip": "ip"}


class Thresher(BaseANN):
    """Codes of `bits` bits per dimension, in `cells` cells (or "auto"); exact scores from vectors kept as `keep`."""

    def __init__(self, metric, parameters):
        if metric not in METRICS:
            raise ValueError(f"thresher has no metric {metric}: one of {', '.join(METRICS)} is wanted")
        self._metric = METRICS[metric]
        self._bits = parameters["bits"]
        self._keep = parameters["keep"]
        self._cells = parameters["cells"]
        self._recall = None
        self._directory = tempfile.mkdtemp(prefix="thresher-")
        self._index = None
        self._ids = None

    def fit(self, X):
        how = {"metric": self._metric, "bits": self._bits, "keep": self._keep, "cells": self._cells}
        self._index = thresher.Index.build(self._directory + "/index", X, replace=True, **how)

    def set_query_arguments(self, recall):
        self._recall = recall

    def query(self, v, n):
        return self._index.search(v, n, recall=self._recall)[0]

    def batch_query(self, X, n):
        self._ids, _ = self._index.search(X, n, recall=self._recall)

    def get_batch_results(self):
        return [row[row != np.uint64(thresher.NO_ID)] for row in self._ids]

    def get_additional(self):
        info = self._index.info
        return {"code_bytes": info.code_bytes, "vector_bytes": info.vector_bytes, "isa": thresher.info().isa}

    def done(self):
        if self._index is not None:
            self._index.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def __str__(self):
        return f"Thresher(bits={self._bits}, keep={self._keep}, cells={self._cells}, recall={self._recall})"

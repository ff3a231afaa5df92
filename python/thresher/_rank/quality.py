# SPDX-License-Identifier: Apache-2.0
"""Quality of rankings."""

from __future__ import annotations

from ctypes import byref
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _errors
from .._core import abi, arrays
from .._core.checks import choice, whole
from .._core.library import lib, read
from .rows import queries_of


class RankQuality(NamedTuple):
    """
    Means over queries: NDCG@k, MAP over all ranks, MRR, expected reciprocal rank and precision at k; and the share of
    all pairs of rows of one query with different labels in the right order. NaN if nothing counts.
    """

    ndcg: float
    map: float
    mrr: float
    err: float
    precision: float
    pair_accuracy: float
    n_pairs: int
    n_pairs_right: int
    n_pairs_tied: int
    n_rows: int
    n_queries: int
    n_queries_without_gain: int


def _numbers(thing: Any, what: str) -> npt.NDArray[np.float64]:
    array = arrays.numbers(thing, what, np.float64)
    if array.ndim != 1:
        raise _errors.ArgumentError(f"{what}: an array of shape {list(array.shape)} was given: expected [n]")
    return array


class _Judged:
    """A thr_judged and the arrays it points to: rows grouped by query, by a stable sort if necessary."""

    def __init__(self, scores: Any, labels: Any, qid: Any) -> None:
        self.scores, self.labels = _numbers(scores, "scores"), _numbers(labels, "labels")
        n = len(self.scores)
        if len(self.labels) != n:
            raise _errors.ArgumentError(f"labels has {len(self.labels)} values, scores {n}: expected one a row")
        ends = np.array([n] if n else [], np.uint64)
        queries = queries_of(qid, n)
        order = np.argsort(queries, kind="stable")
        queries, self.scores, self.labels = queries[order], self.scores[order], self.labels[order]
        ends = np.append(np.flatnonzero(queries[1:] != queries[:-1]) + 1, ends).astype(np.uint64)
        self.offsets = np.append(np.zeros(1, np.uint64), ends)
        self.struct = abi.Judged(
            len(ends), arrays.address(self.offsets), arrays.address(self.scores), arrays.address(self.labels)
        )


def _options(k: Any, convention: Any, gain: Any, ties: Any) -> abi.QualityOptions:
    options = abi.QualityOptions()
    options.convention = choice(convention, "convention", abi.CONVENTION)
    options.k = 0 if k is None else whole(k, "k", 1, 2**48)
    options.gain = choice(gain, "gain", abi.GAIN)
    options.ties_are_right = bool(choice(ties, "ties", {"wrong": 0, "right": 1}))
    return options


def rank_quality(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    qid: npt.ArrayLike | None = None,
    *,
    k: int | None = 10,
    convention: str = "lightgbm",
    gain: str = "exponential",
    ties: str = "wrong",
) -> RankQuality:
    """
    Measure how well scores rank the rows of queries by their labels.

    scores      numbers [n], larger is better; of equal ones the first row ranks first
    labels      numbers [n] of 0 or more, larger is better; rows with labels from 1 on are relevant
    qid         integers [n], the query of each row, in any order; one integer: all rows belong to that query
    k           ranks that count in NDCG, ERR and precision; None: all
    convention  "letor", "lightgbm", "xgboost" or "xgboost-minus": the tool whose NDCG to compute
    gain        "exponential", 2^label - 1 for labels up to 31, or "linear", the label
    ties        how pairs of equal scores count: "wrong" or "right"

    Raises ArgumentError for wrong shapes, values or words.
    """
    judged, options = _Judged(scores, labels, qid), _options(k, convention, gain, ties)
    answer = abi.Quality()
    _errors.call(lib.thr_rank_quality, byref(judged.struct), byref(options), byref(answer))
    pairs = answer.pairs
    return read(
        RankQuality,
        answer,
        pairs,
        n_pairs_right=pairs.n_right,
        n_pairs_tied=pairs.n_tied,
        n_queries_without_gain=answer.n_without_gain,
    )


def ndcg(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    qid: npt.ArrayLike | None = None,
    *,
    k: int | None = 10,
    convention: str = "lightgbm",
    gain: str = "exponential",
) -> float:
    """
    NDCG@k, mean over queries, with the arguments of rank_quality.
    """
    return rank_quality(scores, labels, qid, k=k, convention=convention, gain=gain).ndcg

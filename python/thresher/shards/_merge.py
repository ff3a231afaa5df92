# SPDX-License-Identifier: Apache-2.0
"""
Merge the answers of shards.

An answer of a shard is sorted by score, and ties by row. Shards are given in the order of their rows. So a stable sort
by score alone orders ties by the row in the collection, which is the order of one index over all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from .. import _errors
from .._core import abi

Ids = npt.NDArray[np.uint64]
Scores = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Answer = tuple[Ids, Scores, Optional[Flags]]
"""ids and scores [n, k], filled up with NO_ID and -inf, and certified [n] or None."""
RadiusAnswer = tuple[Ids, Ids, Scores, Optional[Flags]]
"""offsets [n + 1], ids [m] and scores [m], and certified [n] or None."""


def no_answer(n_queries: int, k: int, certified: bool) -> Answer:
    """The answer of no items at all, which is certainly complete."""
    ids = np.full((n_queries, k), abi.NO_ID, np.uint64)
    return ids, np.full((n_queries, k), -np.inf, np.float32), np.ones(n_queries, np.bool_) if certified else None


def _join(flags: Sequence[Any]) -> Flags | None:
    """A merged answer is certainly exact if all of its parts are."""
    return None if any(flag is None for flag in flags) else np.logical_and.reduce(flags)


class Best:
    """The k best of answers (ids [n, k_i], scores [n, k_i], certified [n] or None), which come in the order of rows."""

    def __init__(self, n_queries: int, k: int, certified: bool) -> None:
        self._k = k
        self.answer = no_answer(n_queries, 0, certified)

    def add(self, answer: Answer) -> None:
        self.answer = _merge_two(self.answer, answer, self._k)

    def scores_at(self, rank: int) -> Scores:
        """float32 [n]: the scores so far at a rank from 1; -inf where there are fewer items."""
        scores = self.answer[1]
        return scores[:, rank - 1].copy() if rank <= scores.shape[1] else np.full(len(scores), -np.inf, np.float32)

    @property
    def least_scores(self) -> Scores:
        """float32 [n]: the k-th best scores so far, which items of other shards must reach."""
        return self.scores_at(self._k)


def merge(answers: Iterable[Answer], k: int) -> Answer:
    """
    The k best, or all if there are fewer, of the answers (ids [n, k_i], scores [n, k_i], certified [n] or None) of
    shards, which come in the order of their rows. Answers are merged as they come, so two are in memory at a time.
    """
    return best_of(answers, k).answer


def best_of(answers: Iterable[Answer], k: int) -> Best:
    """As merge."""
    best: Best | None = None
    for answer in answers:
        best = best or Best(len(answer[0]), k, answer[2] is not None)
        best.add(answer)
    if best is None:
        raise _errors.ArgumentError("merge: no answers were given")
    return best


def _merge_two(one: Answer, two: Answer, k: int) -> Answer:
    ids = np.concatenate([one[0], two[0]], axis=1)
    scores = np.concatenate([one[1], two[1]], axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    places = order + np.arange(len(order))[:, None] * scores.shape[1]  # take_along_axis takes longer for one query
    return ids.reshape(-1)[places], scores.reshape(-1)[places], _join([one[2], two[2]])


def merge_radius(answers: Iterable[RadiusAnswer]) -> RadiusAnswer:
    """All items of the answers (offsets [n + 1], ids, scores, certified [n] or None) of shards, in order of rows."""
    listed = list(answers)
    if not listed:
        raise _errors.ArgumentError("merge_radius: no answers were given")
    n_queries = len(listed[0][0]) - 1
    counts: list[Any] = [np.diff(answer[0].astype(np.int64)) for answer in listed]
    queries = np.concatenate([np.repeat(np.arange(n_queries), count) for count in counts])
    ids, scores = (np.concatenate([answer[i] for answer in listed]) for i in (1, 2))
    order = np.lexsort((-scores, queries))  # stable
    offsets = np.zeros(n_queries + 1, np.uint64)
    offsets[1:] = np.cumsum(np.sum(counts, axis=0))
    return offsets, ids[order], scores[order], _join([answer[3] for answer in listed])

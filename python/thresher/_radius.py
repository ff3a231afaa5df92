# SPDX-License-Identifier: Apache-2.0
"""Radius searches: some queries at a time, with results copied into arrays."""

from __future__ import annotations

import ctypes
import math
from ctypes import byref, c_void_p
from typing import Any

import numpy as np

from . import _errors
from ._core import abi, arrays
from ._core.checks import number
from ._core.library import lib
from ._core.notes import note
from ._core.steps import in_steps
from ._index_info import IndexHandle
from ._search import IdArray, ScoreArray, is_exact


def note_radius(metric: str, least_score: float) -> None:
    """Warn of a least score that no item, or every item, reaches."""
    least = number(least_score, "least_score")
    if metric == "cosine" and abs(least) > 1:
        found = "nothing" if least > 0 else "every item"
        note(f"least_score: {least:g} was given, and a cosine is between -1 and 1, so {found} is found")


def search_radius(
    handle: IndexHandle, queries: Any, least_score: float, options: abi.SearchOptions, certified: bool
) -> tuple[Any, ...]:
    """thr_index_search_radius: (offsets, ids, scores), or (offsets, ids, scores, certified)."""
    least = number(least_score, "least_score")
    if math.isnan(least):
        raise _errors.ArgumentError("least_score is NaN: expected a number")
    queries = arrays.vectors(queries, "queries", one_row=True)
    queries = arrays.plain(queries.reshape(-1, queries.shape[-1]))
    n_queries = len(queries)
    flags = np.zeros(n_queries, np.uint8)
    if certified:
        options.certified = arrays.address(flags)
    offsets = np.zeros(n_queries + 1, np.uint64)
    pieces: list[tuple[IdArray, ScoreArray]] = []

    def ask(piece: abi.Matrix, first: int) -> int:
        result = c_void_p()
        err = byref(_errors.slot.error)
        status: int = lib.thr_index_search_radius(
            handle.pointer, byref(piece), least, byref(options), byref(result), err
        )
        if status == abi.OK:
            try:
                pieces.append(_copy(result, offsets[first : first + piece.n_rows + 1]))
            finally:
                lib.thr_radius_result_free(result)
            if certified:
                options.certified += piece.n_rows
        return status

    threads = handle.threads
    in_steps(arrays.matrix(queries), threads if is_exact(options) else 16 * threads, ask)
    ids = np.concatenate([np.empty(0, np.uint64), *(ids for ids, _ in pieces)])
    scores = np.concatenate([np.empty(0, np.float32), *(scores for _, scores in pieces)])
    found = (offsets, ids, scores)
    return (*found, flags.astype(np.bool_)) if certified else found


def _copy(result: c_void_p, offsets: Any) -> tuple[IdArray, ScoreArray]:
    """Copy the ids and scores of a result; its offsets are appended to offsets, relative to offsets[0]."""
    assert result.value is not None
    given = abi.RadiusResult.from_address(result.value)
    own = np.empty(given.n_queries + 1, np.uint64)
    ctypes.memmove(own.ctypes.data, given.offsets, own.nbytes)
    offsets[1:] = own[1:] + offsets[0]
    ids, scores = np.empty(int(own[-1]), np.uint64), np.empty(int(own[-1]), np.float32)
    ctypes.memmove(ids.ctypes.data, given.ids, ids.nbytes)
    ctypes.memmove(scores.ctypes.data, given.scores, scores.nbytes)
    return ids, scores

# SPDX-License-Identifier: Apache-2.0
"""Quality of search results."""

from __future__ import annotations

from ctypes import byref, c_double
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _errors
from ._core import abi, arrays
from ._core.checks import whole
from ._core.library import lib


def _ids(thing: Any, what: str) -> npt.NDArray[np.uint64]:
    array = arrays.integers(thing, what)
    if array.ndim == 1:
        array = array[np.newaxis]
    if array.ndim != 2:
        raise _errors.ArgumentError(f"{what}: an array of shape {list(array.shape)} was given: expected [k] or [n, k]")
    # A negative id, as other libraries fill up with, becomes NO_ID.
    return np.ascontiguousarray(
        array if array.dtype.kind == "u" else np.where(array < 0, -1, array).astype(np.int64).view(np.uint64), np.uint64
    )


def recall(truth: npt.ArrayLike, result: npt.ArrayLike, k: int | None = None, *, truth_scores: Any = None) -> float:
    """
    recall@k: the share of the true first k ids among the first k of the result, mean over queries.

    truth         integers [n, >= k], or [>= k] for one query
    result        the same shape for the answers; a repeated id counts once, NO_ID and negative ids never count
    k             None: the smaller number of columns
    truth_scores  of truth's shape, larger is better: ids with the score of the k-th one then count, too

    Raises ArgumentError for wrong shapes, types or k.
    """
    true_ids, result_ids = _ids(truth, "truth"), _ids(result, "result")
    if len(true_ids) != len(result_ids):
        raise _errors.ArgumentError(
            f"truth has {len(true_ids)} rows, result {len(result_ids)}: expected one a query in both"
        )
    wanted = min(true_ids.shape[1], result_ids.shape[1]) if k is None else whole(k, "k", 1, 2**48)
    scores = None
    if truth_scores is not None:
        scores = arrays.numbers(truth_scores, "truth_scores", np.float32)
        if scores.size != true_ids.size:
            raise _errors.ArgumentError(
                f"truth_scores has {scores.size} values, truth {true_ids.size}: expected one an id"
            )
    answer = c_double()
    right = abi.RecallRows(
        arrays.address(true_ids), None if scores is None else arrays.address(scores), true_ids.shape[1]
    )
    found = abi.RecallRows(arrays.address(result_ids), None, result_ids.shape[1])
    _errors.call(lib.thr_recall, byref(right), byref(found), len(true_ids), wanted, byref(answer))
    return answer.value

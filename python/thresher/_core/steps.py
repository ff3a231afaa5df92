# SPDX-License-Identifier: Apache-2.0
"""Run many queries in steps of about a quarter of a second, between which Python handles Ctrl-C."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from ctypes import addressof, byref
from typing import Any

from .. import _errors
from . import abi
from .library import lib

FEW = 64
"""So many queries are searched in one call: kernels that work on many at once have enough of them."""

_SECONDS = 0.25
_PER_QUERY = (("certified", 1), ("least_scores", 4), ("n_read", 8))  # arrays of the options, and the bytes of a query
_QUERY = re.compile(r"\b(query|state) (\d+)")  # in messages, counted from the first of a call


def in_steps(
    queries: abi.Matrix, smallest: int, call: Callable[[abi.Matrix, int], int], multiple: int = 1
) -> None:
    """
    Call call(some of the queries, number of queries before them), which returns a status, until all are done. smallest:
    queries per call that use every thread; multiple: a divisor of their number, except in the last call.
    """
    err = _errors.slot.error
    n_queries, first, step = queries.n_rows, 0, max(FEW, smallest)
    while first < n_queries:
        n = min(max(step // multiple, 1) * multiple, n_queries - first)
        piece = abi.Matrix(queries.data + first * queries.stride, n, queries.n_dims, queries.dtype, queries.stride)
        started = time.perf_counter()
        status = call(piece, first)
        taken = time.perf_counter() - started
        if status != abi.OK:
            raise _counted_from(_errors.failure(status, err), first)
        if taken < _SECONDS / 2:
            step *= 2
        elif taken > _SECONDS * 2:
            step = max(step // 2, smallest)
        first += n


def search_in_steps(
    handle: Any,
    queries: abi.Matrix,
    k: int,
    options: abi.SearchOptions | None,
    ids: int,
    scores: int,
    smallest: int,
) -> None:
    """thr_index_search; ids and scores are addresses."""
    err = byref(_errors.slot.error)

    def call(piece: abi.Matrix, first: int) -> int:
        given = None if options is None else byref(options)
        if options is not None and options.features is not None:
            asked = options.asked.queries(first, piece.n_rows)
            options.features = addressof(asked)
        status: int = lib.thr_index_search(
            handle.pointer, byref(piece), k, given, ids + first * k * 8, scores + first * k * 4, err
        )
        for name, size in _PER_QUERY if options is not None else ():
            if getattr(options, name) is not None:
                setattr(options, name, getattr(options, name) + piece.n_rows * size)
        return status

    in_steps(queries, smallest, call)


def _counted_from(failure: _errors.Error, first: int) -> _errors.Error:
    """The exception of a call whose query 0 is query first."""
    failure.args = (_QUERY.sub(lambda found: f"{found[1]} {int(found[2]) + first}", str(failure)),)
    return failure

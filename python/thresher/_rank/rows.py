# SPDX-License-Identifier: Apache-2.0
"""Labelled rows of features by query, from arrays and files."""

from __future__ import annotations

import os
from ctypes import byref, c_void_p, memmove
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _errors
from .._core import abi, arrays
from .._core.checks import encoded_path, whole
from .._core.context import shared_context
from .._core.jobs import Job
from .._core.library import lib
from .._core.progress import Progress


def features_of(x: Any) -> Any:
    """A dense array [n, n_features] of finite numbers, or a scipy CSR matrix unchanged."""
    if hasattr(x, "indptr") or hasattr(x, "tocsr"):
        return x if hasattr(x, "indptr") and getattr(x, "format", "csr") == "csr" else x.tocsr()
    array = arrays.as_numpy(x, "X")
    if array.ndim != 2:
        raise _errors.ArgumentError(
            f"X: an array of shape {list(array.shape)} was given: expected [n, n_features]. Reshape your data"
        )
    if array.shape[1] == 0:
        raise _errors.ArgumentError(f"X has 0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    if array.dtype.kind == "O":
        array = array.astype(np.float64)
    if array.dtype.kind == "c":
        raise _errors.ArgumentError(f"Complex data not supported: X has values of type {array.dtype}")
    if array.dtype.kind not in "fiub":
        raise _errors.ArgumentTypeError(f"X: values of type {array.dtype} were given: expected numbers")
    check_finite(array)
    return array


def check_finite(array: Any) -> None:
    """Raise an error for NaN or infinity. A finite sum proves all numbers finite; else each number is checked."""
    with np.errstate(all="ignore"):
        if array.dtype.kind != "f" or np.isfinite(array.sum(dtype=np.float64)):
            return
    for row in np.flatnonzero(~np.isfinite(array).all(1))[:1]:
        raise _errors.ArgumentError(f"X: row {row} holds NaN or infinity: numbers must be finite", "ERANGE")


def column(thing: Any, what: str, n: int) -> Any:
    array = arrays.as_numpy(thing, what)
    if array.shape != (n,):
        raise _errors.ArgumentError(
            f"{what}: an array of shape {list(array.shape)} was given: expected [{n}], one a row of X"
        )
    return array


def queries_of(qid: Any, n: int) -> Any:
    """The query of each row. One integer: that of all rows."""
    if qid is None:
        raise _errors.ArgumentError(
            "qid is missing: give the query of each row, or qid=0, or RankSVM(one_query=True), if all rows belong to one "
            "query and all their pairs count. In scikit-learn's searches and pipelines: set_fit_request(qid=True), "
            "set_score_request(qid=True) and fit(..., qid=qid); groups= only splits"
        )
    if isinstance(qid, (int, np.integer)) and not isinstance(qid, bool):
        return np.full(n, whole(qid, "qid", 0, 2**64 - 1), np.uint64)
    return column(arrays.integers(qid, "qid"), "qid", n)


class Ranking:
    """A thr_ranking during a training: it has copies of all rows. part: it is one of several of a training."""

    def __init__(self, context: Any, x: Any, y: Any, qid: Any, *, part: bool = False) -> None:
        self.pointer: int | None = None
        made, err = c_void_p(), _errors.slot.error
        if y is None:
            raise _errors.ArgumentError("RankSVM requires y to be passed, but the target y is None")
        if x.shape[0] == 1 and not part:
            raise _errors.ArgumentError("X has 1 sample: a ranking is learned from pairs of rows")
        labels = column(y, "y", x.shape[0])
        labels = arrays.numbers(labels.tolist() if labels.dtype.kind == "O" else labels, "y", np.float64)
        queries = queries_of(qid, x.shape[0]).astype(np.uint64)
        rest = arrays.address(labels), arrays.address(queries), byref(made), byref(err)
        if hasattr(x, "indptr"):
            x = x.copy() if not x.has_sorted_indices else x
            x.sort_indices()
            starts = np.ascontiguousarray(x.indptr, np.uint64)
            columns = np.ascontiguousarray(x.indices, np.uint32)
            values = np.ascontiguousarray(x.data, np.float32)
            rows = abi.Csr(arrays.address(starts), arrays.address(columns), arrays.address(values), *x.shape)
            status = lib.thr_ranking_from_csr(context.pointer, byref(rows), *rest)
        else:
            with np.errstate(over="ignore"):  # the library names the row whose value is not a finite float32
                dense = np.ascontiguousarray(x, np.float32)
            status = lib.thr_ranking_from_matrix(context.pointer, byref(arrays.matrix(dense)), *rest)
        if status != abi.OK:
            raise _errors.failure(status, err)
        self.pointer = made.value

    def __enter__(self) -> Ranking:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        lib.thr_ranking_free(self.pointer)
        self.pointer = None


class RankingRows(NamedTuple):
    """
    The result of read_ranking: features [n, n_features], labels, and the query of each row, in file order. qid is None
    if the file has no queries.
    """

    X: Any
    y: npt.NDArray[np.float64]
    qid: npt.NDArray[np.uint64] | None


def _copied(pointer: Any, n: int, dtype: Any) -> Any:
    made = np.empty(n, dtype)
    if n:
        memmove(arrays.address(made), pointer, made.nbytes)
    return made


def _dense(view: Any, n: int) -> Any:
    """The rows of a view, of which either dense or sparse is set."""
    if view.dense:
        return _copied(view.dense, n * view.n_features, np.float32).reshape(n, view.n_features)
    starts, columns, values = _csr(view, n)
    made = np.zeros((n, view.n_features), np.float32)
    made[np.repeat(np.arange(n), np.diff(starts)), columns] = values
    return made


def _csr(view: Any, n: int) -> tuple[Any, Any, Any]:
    starts = _copied(view.sparse.starts, n + 1, np.uint64).astype(np.int64)
    written = int(starts[-1])
    columns = _copied(view.sparse.columns, written, np.uint32).astype(np.int32)
    return starts, columns, _copied(view.sparse.values, written, np.float32)


def _sparse(view: Any, n: int) -> Any:
    from scipy.sparse import csr_matrix

    if view.dense:
        return csr_matrix(_dense(view, n))
    starts, columns, values = _csr(view, n)
    return csr_matrix((values, columns, starts), (n, view.n_features))


def read_ranking(
    path: str | os.PathLike[str],
    *,
    sparse: bool = False,
    queries: bool = True,
    cache: bool = False,
    progress: Progress | None = None,
    threads: int | None = None,
) -> RankingRows:
    """
    Read a file of lines "label qid:N index:value ...", plain, .gz or .xz: (X, y, qid), for RankSVM.fit.

    sparse    X is a scipy CSR matrix (needs scipy) instead of an array; both are float32
    queries   False: rows need no queries
    cache     read FILE.thr-cache if it was made from the file as it is, else write it

    If no line has a qid, FILE.query gives the number of rows of each query, as for LightGBM. Raises FileMissingError,
    FormatError (with line and column), FileError, ArgumentError, CanceledError.
    """
    options = abi.RankingOptions()
    options.without_queries, options.without_comments, options.cache = not queries, True, bool(cache)
    context, made, err = shared_context(threads), c_void_p(), _errors.slot.error
    with Job(progress) as job:
        status = lib.thr_ranking_open(
            context.pointer, encoded_path(path, "path"), byref(options), byref(made), byref(err)
        )
        job.finish(status, files=True)
    try:
        view = lib.thr_ranking_get_view(made)
        n, n_queries = view.n_rows, view.n_queries
        x = _sparse(view, n) if sparse else _dense(view, n)
        y = _copied(view.labels, n, np.float64)
        offsets = _copied(view.offsets, n_queries + 1, np.uint64).astype(np.int64)
        qid = np.repeat(_copied(view.queries, n_queries, np.uint64), np.diff(offsets)) if view.has_queries else None
        if view.rows:  # grouped by query: restore the input order
            places = np.empty(n, np.int64)
            places[_copied(view.rows, n, np.uint64).astype(np.int64)] = np.arange(n)
            x, y, qid = x[places], y[places], None if qid is None else qid[places]
    finally:
        lib.thr_ranking_free(made)
    return RankingRows(x, y, qid)

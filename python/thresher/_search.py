# SPDX-License-Identifier: Apache-2.0
"""Searches: converts arguments for the library, and its answers. Takes some microseconds a query: do nothing twice."""

from __future__ import annotations

from ctypes import addressof, byref, c_uint8, create_string_buffer
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from . import _errors
from ._core import abi, arrays
from ._core.arrays import numbers, output
from ._core.checks import choice, number, refuse_keywords, share_of, whole
from ._core.feature_queries import Asked
from ._core.library import lib
from ._core.notes import note
from ._core.steps import FEW, search_in_steps
from ._filters import as_filter
from ._hits import HitsTarget
from ._index_info import IndexHandle

IdArray = npt.NDArray[np.uint64]
ScoreArray = npt.NDArray[np.float32]
CertifiedArray = npt.NDArray[np.bool_]


class RadiusOptions(TypedDict, total=False):
    """The arguments of Index.search_radius() that do not change what it returns."""

    recall: float | None
    exact: bool
    filter: Any
    query_bits: int | None


class Effort(TypedDict, total=False):
    """Arguments of Index.search() that choose what is read and scored."""

    recall: float | None
    exact: bool
    n_candidates: int | None
    n_survivors: int | None
    query_bits: int | None


class SearchOptions(Effort, total=False):
    """The arguments of Index.search() that do not change what it returns."""

    filter: Any
    features: Any
    value: str
    target: str | HitsTarget | None
    least_scores: Any
    ids_out: IdArray | None
    scores_out: ScoreArray | None
    n_read_out: IdArray | None


# Found faster as globals.
_search = lib.thr_index_search
_address = arrays.address
_codes = arrays.CODES
_Matrix = abi.Matrix
_slot = _errors.slot
_ndarray = np.ndarray
_empty = np.empty
_uint64 = np.dtype(np.uint64)
_float32 = np.dtype(np.float32)

_DEFAULTS = abi.SearchOptions()
setattr(abi.SearchOptions, "is_shared", False)  # True: several searches use the options, so none may change them


def note_unused(**arguments: Any) -> None:
    """Warn of arguments that are given but have no effect with exact=True."""
    for name, value in arguments.items():
        if value is not None:
            note(f"{name} has no effect with exact=True")


def search_options(
    n_items: int,
    recall: float | None,
    n_candidates: int | None,
    n_survivors: int | None,
    exact: bool,
    query_bits: int | None,
    allowed: Any,
) -> abi.SearchOptions:
    """thr_search_options of the arguments."""
    options = abi.SearchOptions.from_buffer_copy(_DEFAULTS)
    options.exact = bool(exact)
    if exact:
        note_unused(recall=recall, n_survivors=n_survivors, query_bits=query_bits)
    if recall is not None:
        options.recall = share_of(recall, "recall")
    if n_candidates is not None:
        options.n_candidates = whole(n_candidates, "n_candidates", 1, 2**48)
    if n_survivors is not None:
        options.n_survivors = whole(n_survivors, "n_survivors", 1, 2**48)
    if query_bits is not None:
        options.query_bits = whole(query_bits, "query_bits", 1, 8)
    if allowed is not None:
        made = as_filter(n_items, allowed)
        options.filter = made.pointer
        options.filter_bits = made.n_items
        options.kept = made  # lives as long as the options
    return options


_of_recall: dict[float, abi.SearchOptions] = {}
_MOST_OF_RECALL = 64


def options_of_recall(recall: float) -> abi.SearchOptions:
    """Options with nothing but a recall. Searches share them and do not change them."""
    known = type(recall) is float  # others may have no hash
    options = _of_recall.get(recall) if known else None
    if options is None:
        options = search_options(0, recall, None, None, False, None, None)
        options.is_shared = True
        if known and len(_of_recall) < _MOST_OF_RECALL:
            _of_recall[recall] = options
    return options


def ask_for_features(options: abi.SearchOptions, asked: Asked | None, value: str, target: HitsTarget | None) -> None:
    """Set feature queries and the target in the options."""
    if target is not None:
        options.target = target.opened()
        options.kept_target = target
    if asked is None:
        return
    options.asked = asked
    options.queries = asked.queries(0, len(asked))
    options.features = addressof(options.queries)
    options.value = choice(value, "value", abi.HITS_VALUE)


def search(
    handle: IndexHandle,
    queries: Any,
    k: int,
    options: abi.SearchOptions | None,
    certified: bool,
    ids_out: Any,
    scores_out: Any,
) -> tuple[IdArray, ScoreArray] | tuple[IdArray, ScoreArray, CertifiedArray]:
    """
    thr_index_search: (ids, scores), or (ids, scores, certified). New arrays have min(k, items) columns: memory for more
    would hold nothing.
    """
    if type(queries) is not _ndarray:
        queries = arrays.vectors(queries, "queries", one_row=True)
    if type(k) is not int or not 1 <= k <= 2**48:
        k = whole(k, "k", 1, 2**48)
    is_empty = False
    if k > handle.n_items and ids_out is None and scores_out is None:
        is_empty = handle.n_items == 0  # the library checks the arguments also then
        k = handle.n_items or 1
    code = _codes.get(queries.dtype)
    shape: Any
    n_axes = queries.ndim
    if (n_axes == 1 or n_axes == 2) and code is not None and queries.flags.c_contiguous and queries.size:
        n_dims = queries.shape[-1]
        n_rows = 1 if n_axes == 1 else len(queries)
        matrix = _Matrix(_address(queries), n_rows, n_dims, code, n_dims * queries.itemsize)
        shape = k if n_axes == 1 else (n_rows, k)
    else:
        queries = arrays.vectors(queries, "queries", one_row=True)
        shape = (*queries.shape[:-1], k)
        queries = arrays.plain(queries.reshape(-1, queries.shape[-1]))
        matrix = arrays.matrix(queries)
    ids = _empty(shape, _uint64) if ids_out is None else output(ids_out, _uint64, shape, "ids_out")
    scores = _empty(shape, _float32) if scores_out is None else output(scores_out, _float32, shape, "scores_out")
    if options is not None and not options.is_shared:
        if options.features is not None and len(options.asked) != matrix.n_rows:
            raise _errors.ArgumentError(
                f"features: {len(options.asked)} queries for {matrix.n_rows} vectors: give one for each"
            )
        _per_query(options, matrix.n_rows)
    if certified:
        assert options is not None
        flags = np.zeros(matrix.n_rows, np.uint8)
        options.certified = _address(flags)
    at, scores_at = _address(ids), _address(scores)
    if matrix.n_rows > FEW:
        threads = handle.threads
        search_in_steps(handle, matrix, k, options, at, scores_at, threads if is_exact(options) else 16 * threads)
    else:
        err = _slot.error
        given = options if options is None else byref(options)
        status = _search(handle.pointer, byref(matrix), k, given, at, scores_at, byref(err))
        if status != 0:
            raise _errors.failure(status, err)
    if is_empty:
        ids, scores = ids[..., :0], scores[..., :0]
    if not certified:
        return ids, scores
    sure = flags.astype(np.bool_)
    return ids, scores, sure if ids.ndim == 2 else sure[0]


def explain(index: Any, handle: IndexHandle, queries: Any, k: int | None, allowed: Any, given: dict[str, Any]) -> str:
    """thr_index_explain for the arguments of Index.search(); k None: of a search by radius."""
    if not isinstance(queries, (int, np.integer)):
        one = isinstance(queries, str) or getattr(queries, "ndim", 2) == 1
        queries = 1 if one else len(queries)
    n_queries = whole(queries, "queries", 1, 2**48)
    certified, exact, value = given.pop("certified", False), given.pop("exact", False), given.pop("value", "sum")
    features, target = given.pop("features", None), given.pop("target", None)
    effort = {name: given.pop(name, None) for name in ("recall", "n_candidates", "n_survivors", "query_bits")}
    refuse_keywords(given, index.search)
    options = search_options(handle.n_rows, exact=exact, allowed=allowed, **effort)
    if features is not None or target is not None:
        index._ask_for_features(handle, options, features, value, target, False)
    text, flag = create_string_buffer(abi.EXPLAIN_SIZE), c_uint8()
    if certified:
        options.certified = addressof(flag)
    err = _slot.error
    wanted = 0 if k is None else whole(k, "k", 1, 2**48)
    status = lib.thr_index_explain(handle.pointer, n_queries, wanted, byref(options), text, byref(err))
    if status != 0:
        raise _errors.failure(status, err)
    return text.value.decode().rstrip("\n")


def _per_query(options: abi.SearchOptions, n_queries: int) -> None:
    """Set the options that are arrays with one number per query."""
    least, n_read = getattr(options, "kept_least", None), getattr(options, "kept_read", None)
    if least is not None:
        options.kept_least = least = np.atleast_1d(numbers(least, "least_scores", np.float32))
        if least.shape != (n_queries,):
            raise _errors.ArgumentError(
                f"least_scores: of shape {least.shape} for {n_queries} queries: give one score for each"
            )
        options.least_scores = _address(least)
    if n_read is not None:
        options.n_read = _address(output(n_read, _uint64, (n_queries,), "n_read_out"))


def is_exact(options: abi.SearchOptions | None) -> bool:
    """Whether a search scores vectors instead of codes, which takes longer per query."""
    return options is not None and bool(options.exact or options.recall > 0.999)

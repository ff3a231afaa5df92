# SPDX-License-Identifier: Apache-2.0
"""An index: a directory that is built once, opened without being read, and searched."""

from __future__ import annotations

import os
from ctypes import byref, c_uint64, c_void_p
from types import TracebackType
from typing import Any, Callable, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _abi, _arrays, _errors
from ._arrays import output
from ._build import Ids, build
from ._checks import encoded_path, whole
from ._context import Context, own, shared_context
from ._filters import as_filter
from ._jobs import Job, Progress
from ._library import defaults, lib
from ._readers import Vectors
from ._steps import FEW, search_in_steps

IdArray = npt.NDArray[np.uint64]
ScoreArray = npt.NDArray[np.float32]

# What a search of one query looks up, where it is found fastest.
_search = lib.thr_index_search
_address = _arrays.address
_codes = _arrays.CODES
_Matrix = _abi.Matrix
_slot = _errors.slot
_ndarray = np.ndarray
_empty = np.empty
_uint64 = np.dtype(np.uint64)
_float32 = np.dtype(np.float32)

_DEFAULTS = defaults("thr_search_options_init")
_METRICS = {code: name for name, code in _abi.METRIC.items()}
_DTYPES = {code: name for name, code in _abi.DTYPE.items()}


class IndexInfo(NamedTuple):
    """What an index is made of; bytes are those of its files."""

    n_items: int
    n_dims: int
    metric: str
    bits: int
    keep: str
    n_segments: int
    format_version: int
    code_bytes: int
    vector_bytes: int
    file_bytes: int
    has_ids: bool
    has_names: bool


class _Handle:
    """A thr_index. Searches hold a reference while they run, so closing never takes it from under them."""

    __slots__ = ("__weakref__", "_context", "_free", "pointer")

    def __init__(self, path: bytes, threads: int | None) -> None:
        self.pointer: int | None = None
        self._free: Callable[[int], None] = lib.thr_index_free
        self._context: Context = shared_context(threads)
        made = c_void_p()
        err = _errors.slot.error
        status = lib.thr_index_open(self._context.pointer, path, byref(made), byref(err))
        if status != _abi.OK:
            raise _errors.failure(status, err, files=True)
        self.pointer = made.value
        own(self)

    @property
    def threads(self) -> int:
        return int(lib.thr_context_threads(self._context.pointer))

    def __del__(self) -> None:
        if self.pointer is not None:
            self._free(self.pointer)
            self.pointer = None


class Index:
    """
    An open index. Make one with Index.build or Index.open; close it with close() or a with statement, or let it go.

    An index does not change while it is open, and may be searched from several threads at once. After a fork the child
    opens it again by itself. Scores are always "larger is better": the cosine, the inner product, or minus the squared
    distance; equal scores are ordered by the smaller row.
    """

    def __init__(self, path: str | os.PathLike[str], *, threads: int | None = None) -> None:
        self._path = os.path.abspath(encoded_path(path, "path"))
        self._threads = threads
        self._closed = False
        self._handle: _Handle | None = _Handle(self._path, threads)
        info = lib.thr_index_get_info(self._handle.pointer)
        self.info = IndexInfo(
            info.n_items,
            info.n_dims,
            _METRICS[info.metric],
            info.item_bits,
            _DTYPES[info.keep],
            info.n_segments,
            info.format_version,
            info.code_bytes,
            info.vector_bytes,
            info.file_bytes,
            info.has_ids,
            info.has_names,
        )

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, threads: int | None = None) -> Index:
        """
        Open the index in directory path; nothing but headers is read. threads: how many work on a search (None: as
        many as the process may use).

        Raises FileMissingError, FormatError (a directory that is no index, is damaged, or too new) or FileError.
        """
        return cls(path, threads=threads)

    @classmethod
    def build(
        cls,
        path: str | os.PathLike[str],
        vectors: Vectors,
        *,
        metric: str = "cosine",
        bits: int = 3,
        keep: str | None = "float32",
        ids: Ids | None = None,
        replace: bool = False,
        sample_rows: int | None = None,
        segment_rows: int | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Index:
        """
        Build an index in directory path, and open it.

        vectors       [n, n_dims], any real type, order and stride, or a CPU tensor; an iterable of such arrays (for
                      more than memory holds); or the name of a file (.npy, .fvecs, .fbin, .hdf5:DATASET, ...)
        metric        "cosine", "ip" or "l2"
        bits          planes a dimension, 1 to 8
        keep          the copy that exact scores come from: "float32", "float16", "int8", or None for codes only
        ids           integers [n], each once, names (a sequence of str), or a file of either; None: row numbers
        replace       an index that is there already is replaced, at the moment the new one is complete
        sample_rows   rows the codes' scale is calibrated on
        segment_rows  at most so many items a file
        threads       None: as many as the process may use
        progress      called with ("build", items done, all items or 0); False stops the build

        Nothing is visible at path before the end: an error, Ctrl-C or a kill leaves what was there.

        Raises ArgumentError, ValueError or TypeError for wrong vectors, ids or options; ExistsError; FileError;
        CanceledError; and what progress or the iterable raise.
        """
        build(
            path,
            vectors,
            metric=metric,
            bits=bits,
            keep=keep,
            ids=ids,
            replace=replace,
            sample_rows=sample_rows,
            segment_rows=segment_rows,
            threads=threads,
            progress=progress,
        )
        return cls(path, threads=threads)

    # ------------------------------------------------------------------------------------------- search

    def search(
        self,
        queries: Any,
        k: int = 10,
        *,
        n_candidates: int | None = None,
        extra: float | None = None,
        exact: bool = False,
        query_bits: int | None = None,
        filter: Any = None,
        ids_out: IdArray | None = None,
        scores_out: ScoreArray | None = None,
    ) -> tuple[IdArray, ScoreArray]:
        """
        The k best items for each query, best first: (ids uint64 [n, k], scores float32 [n, k]), or both [k] for a
        single query [n_dims]. Where fewer than k items exist or may be returned, a row ends with thresher.NO_ID and
        -inf.

        queries       [n, n_dims] or [n_dims], any real type, order and stride, or a CPU tensor
        n_candidates  how many of the best by code get exact scores; None: enough for recall 0.99 on most data
        extra         instead: all whose estimated score is within extra of the k-th best estimate
        exact         score every kept vector, without the codes
        query_bits    1 to 8, bits a dimension of the query's code
        filter        what may be returned, by row: bool [n_items], row numbers [m], a Roaring bitmap, or a Filter
        ids_out, scores_out   arrays to write into and return, of the shapes above, in C order

        Raises ArgumentError, ValueError or TypeError for wrong queries or options; UnsupportedError for exact on an
        index of codes only; FileError when its files were changed.
        """
        handle = self._handle
        if handle is None or handle.pointer is None:
            handle = self._opened()
        if type(queries) is not _ndarray:
            queries = _arrays.vectors(queries, "queries", one_row=True)
        options: Any = None
        if not (n_candidates is extra is query_bits is filter is None and exact is False):
            options = byref(self._options(n_candidates, extra, exact, query_bits, filter))
        if type(k) is not int or not 1 <= k <= 2**48:
            k = whole(k, "k", 1, 2**48)
        code = _codes.get(queries.dtype)
        if queries.ndim == 1 and code is not None and queries.flags.c_contiguous and queries.size:
            n_dims = queries.size
            matrix = _Matrix(_address(queries), 1, n_dims, code, n_dims * queries.itemsize)
            shape: Any = k
        else:
            queries = _arrays.vectors(queries, "queries", one_row=True)
            shape = (*queries.shape[:-1], k)
            queries = _arrays.plain(queries.reshape(-1, queries.shape[-1]))
            matrix = _arrays.matrix(queries)
        ids = _empty(shape, _uint64) if ids_out is None else output(ids_out, _uint64, shape, "ids_out")
        scores = _empty(shape, _float32) if scores_out is None else output(scores_out, _float32, shape, "scores_out")
        at, scores_at = _address(ids), _address(scores)
        if matrix.n_rows > FEW:
            search_in_steps(handle, matrix, k, options, at, scores_at, handle.threads * (1 if exact else 16))
            return ids, scores
        err = _slot.error
        status = _search(handle.pointer, byref(matrix), k, options, at, scores_at, byref(err))
        if status != 0:
            raise _errors.failure(status, err)
        return ids, scores

    def _options(
        self,
        n_candidates: int | None,
        extra: float | None,
        exact: bool,
        query_bits: int | None,
        allowed: Any,
    ) -> _abi.SearchOptions:
        options = _abi.SearchOptions.from_buffer_copy(_DEFAULTS)
        options.exact = bool(exact)
        if n_candidates is not None:
            options.n_candidates = whole(n_candidates, "n_candidates", 1, 2**48)
        if extra is not None:
            if not extra >= 0:
                raise ValueError(f"extra is {extra}: a number of at least 0 is wanted, or None")
            options.extra = extra
        if query_bits is not None:
            options.query_bits = whole(query_bits, "query_bits", 1, 8)
        if allowed is not None:
            made = as_filter(self.info.n_items, allowed)
            options.filter = made.pointer
            options.filter_bits = made.n_items
            options.keep = made  # lives as long as the options
        return options

    # ------------------------------------------------------------------------------------------- items

    def vector(self, id: int) -> ScoreArray:
        """
        The vector of the item with this id, float32 [n_dims], as it was given up to the rounding of what was kept.

        Raises NotFoundError; UnsupportedError for an index of codes only.
        """
        out = np.empty(self.info.n_dims, np.float32)
        err = _errors.slot.error
        handle = self._opened()
        status = lib.thr_index_vector(handle.pointer, whole(id, "id", 0, _abi.NO_ID), _arrays.address(out), byref(err))
        if status != _abi.OK:
            raise _errors.failure(status, err)
        return out

    def name(self, id: int) -> str | None:
        """The name of the item with this id; None when there is none, or when the index has no names."""
        found = lib.thr_index_name(self._opened().pointer, whole(id, "id", 0, _abi.NO_ID))
        return None if found is None else str(found, "utf-8", "replace")

    def names(self, ids: npt.ArrayLike) -> list[Any]:
        """The names of ids [k] or [n, k], as (nested) lists of name(id)."""

        def named(values: Any) -> Any:
            return [named(value) for value in values] if isinstance(values, list) else self.name(values)

        listed: list[Any] = named(np.asarray(ids, object).tolist())
        return listed

    def find(self, name: str) -> int:
        """The id of the item with this name. Raises NotFoundError."""
        encoded = name.encode()
        if b"\0" in encoded:
            raise ValueError(f"name is {name!r}: a name holds no NUL character")
        found = c_uint64()
        err = _errors.slot.error
        status = lib.thr_index_find(self._opened().pointer, encoded, byref(found), byref(err))
        if status != _abi.OK:
            raise _errors.failure(status, err)
        return found.value

    def row(self, id: int) -> int:
        """The row of the item with this id: what filters are made of. Raises NotFoundError."""
        row = self._row(whole(id, "id", 0, _abi.NO_ID))
        if row is None:
            raise _errors.NotFoundError(f"{self.path}: holds no item with the id {id}", "ENOTFOUND")
        return row

    def rows(self, ids: npt.ArrayLike) -> IdArray:
        """row(id) of every id, uint64 of the same shape."""
        array = np.asarray(ids, object)  # numpy makes floats of a list of small and large integers
        return np.fromiter((self.row(id) for id in array.ravel().tolist()), np.uint64, array.size).reshape(array.shape)

    def _row(self, id: int) -> int | None:
        row = c_uint64()
        return row.value if lib.thr_index_row(self._opened().pointer, id, byref(row)) else None

    def __contains__(self, id: object) -> bool:
        """Is there an item with this id?"""
        try:
            return self._row(whole(id, "id", 0, _abi.NO_ID)) is not None
        except (TypeError, ValueError):
            return False

    def __len__(self) -> int:
        """The number of items."""
        return self.info.n_items

    # ------------------------------------------------------------------------------------------- the rest

    def verify(self, *, progress: Progress | None = None) -> None:
        """
        Read every byte and compare all checksums; progress is called with ("verify", items done, all items).

        Raises FormatError naming the file, section and offset; FileError; CanceledError.
        """
        handle = self._opened()
        with Job(progress) as job:
            job.finish(lib.thr_index_verify(handle.pointer, byref(_errors.slot.error)))

    @property
    def path(self) -> str:
        """The directory, as an absolute path."""
        return os.fsdecode(self._path)

    @property
    def threads(self) -> int:
        """How many threads work on a search."""
        return self._opened().threads

    def close(self) -> None:
        """Close it, when the last search that is still running has ended. Closing twice is allowed."""
        self._closed = True
        self._handle = None

    def _opened(self) -> _Handle:
        """The open index; opened again in a process that was forked from the one that opened it."""
        handle = self._handle
        if self._closed:
            raise ValueError(f"{self.path}: the index is closed")
        if handle is None or handle.pointer is None:
            handle = self._handle = _Handle(self._path, self._threads)
        return handle

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds the path: the process that loads it opens the index again."""
        return (_open_again, (self.path, self._threads))

    def __repr__(self) -> str:
        i = self.info
        kept = "codes only" if i.keep == "none" else f"{i.keep} kept"
        state = ", closed" if self._closed else ""
        return f"<thresher.Index {self.path!r}: {i.n_items} x {i.n_dims}, {i.metric}, {i.bits} bits, {kept}{state}>"


def _open_again(path: str, threads: int | None) -> Index:
    return Index(path, threads=threads)

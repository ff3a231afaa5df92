# SPDX-License-Identifier: Apache-2.0
"""Many items of an index at once: their ids, rows and vectors, by id or by name."""

from __future__ import annotations

from ctypes import c_char_p
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _errors
from ._core import abi, arrays
from ._core.checks import encoded
from ._core.library import lib
from ._core.tables import as_names
from ._index_info import IndexHandle

IdArray = npt.NDArray[np.uint64]

_AT_ONCE = 1 << 16


def find_names(handle: IndexHandle, names: list[str]) -> IdArray:
    """thr_index_find_many: the ids of the items with these names, NO_ID where there is none."""
    ids = np.empty(len(names), np.uint64)
    pointers = (c_char_p * len(names))(*(encoded(name, f"name {number}") for number, name in enumerate(names)))
    _errors.call(lib.thr_index_find_many, handle.pointer, pointers, len(names), arrays.address(ids))
    return ids


def find_rows(handle: IndexHandle, ids: IdArray) -> IdArray:
    """thr_index_rows: the rows of the items with these ids, NO_ID where there is none."""
    rows = np.empty(len(ids), np.uint64)
    _errors.call(lib.thr_index_rows, handle.pointer, arrays.address(ids), len(ids), arrays.address(rows))
    return rows


def as_ids(items: Any, what: str) -> IdArray:
    """Ids of any shape as uint64, contiguous."""
    array = np.asarray(items) if isinstance(items, list) and not items else arrays.integers(items, what)
    if array.dtype.kind == "i" and array.size and int(array.min()) < 0:
        raise ValueError(f"{what}: {int(array.min())} is negative: ids are 0 to 2^64 - 2")
    return np.ascontiguousarray(array, np.uint64)


def missing(path: str, item: object) -> _errors.Error:
    """The exception for an id or name that no item has."""
    word = f"the name {item!r}" if isinstance(item, str) else f"the id {item}"
    return _errors.NotFoundError(f"{path}: holds no item with {word}", "ENOTFOUND")


def ids_of(handle: IndexHandle, path: str, items: Any, what: str) -> IdArray:
    """The ids of items that are given by ids, of any shape, or by names; raises NotFoundError for an unknown name."""
    names = as_names(items)
    if names is None:
        return as_ids(items, what)
    ids = find_names(handle, names)
    unknown = np.flatnonzero(ids == abi.NO_ID)
    if unknown.size:
        raise missing(path, names[int(unknown[0])])
    return ids


def rows_of(handle: IndexHandle, path: str, items: Any) -> IdArray:
    """The rows of items that are given by ids, of any shape, or by names."""
    ids = ids_of(handle, path, items, "ids")
    rows = find_rows(handle, ids.reshape(-1))
    unknown = np.flatnonzero(rows == abi.NO_ID)
    if unknown.size:
        raise missing(path, int(ids.reshape(-1)[unknown[0]]))
    return rows.reshape(ids.shape)


def vectors_of(handle: IndexHandle, path: str, n_dims: int, items: Any) -> npt.NDArray[np.float32]:
    """The vectors of items that are given by ids, of any shape, or by names."""
    ids = ids_of(handle, path, items, "ids")
    out = np.empty((*ids.shape, n_dims), np.float32)
    _errors.call(lib.thr_index_vectors, handle.pointer, arrays.address(ids), ids.size, arrays.address(out))
    return out


def all_ids(handle: IndexHandle, allowed: Any = None) -> IdArray:
    """The ids of all items, or of those in a Filter, in the order of their rows."""
    pieces = []
    for first in range(0, handle.n_rows, _AT_ONCE):
        piece = np.empty(min(_AT_ONCE, handle.n_rows - first), np.uint64)
        _errors.call(lib.thr_index_row_ids, handle.pointer, first, len(piece), arrays.address(piece))
        there = piece != abi.NO_ID
        if allowed is not None:
            words = allowed.words[first // 64 : -(-(first + len(piece)) // 64)]
            there &= np.unpackbits(words.view(np.uint8), bitorder="little")[: len(piece)].astype(bool)
        pieces.append(piece[there])
    return np.concatenate(pieces) if pieces else np.empty(0, np.uint64)

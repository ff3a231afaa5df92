# SPDX-License-Identifier: Apache-2.0
"""Many items of an index at once: their ids, rows and vectors, by id or by name."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_char_p
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from . import _errors
from ._core import abi, arrays
from ._core.checks import encoded, whole
from ._core.library import lib
from ._core.tables import as_names
from ._filters import SHARE, Filter, check_hand_made, filter_of_rows, refuse_mask
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
    if array.dtype.kind == "i" and array.size and (array.item() if array.size == 1 else array.min()) < 0:
        raise _errors.ArgumentError(f"{what}: {int(array.min())} is negative: ids are 0 to 2^64 - 2")
    return np.asarray(array, np.uint64, order="C")


Items = Union[IdArray, "list[str]"]
"""Ids of any shape, or names."""


def as_items(items: Any) -> Items:
    """Items as they were given: by ids, of any shape, or by names."""
    if isinstance(items, str):
        raise _errors.ArgumentTypeError(
            f"ids: the text {items!r} was given: expected integers, or a list of names: [{items!r}]"
        )
    names = as_names(items)
    return as_ids(items, "ids") if names is None else names


def find_items(handle: IndexHandle, items: Items, first_id: int = 0) -> tuple[IdArray, IdArray]:
    """The ids and the rows of items [m], NO_ID where there is none. first_id is subtracted from ids that are given."""
    ids = find_names(handle, items) if isinstance(items, list) else items.reshape(-1) - np.uint64(first_id)
    return ids, find_rows(handle, ids)


def missing(path: str, item: object, remedy: str = "") -> _errors.Error:
    """The exception for an id or name that no item has."""
    word = f"the name {item!r}" if isinstance(item, str) else f"the id {item}"
    return _errors.NotFoundError(f"{path}: holds no item with {word}{remedy}", "ENOTFOUND")


def check_found(path: str, items: Items, found: IdArray, remedy: str = "") -> None:
    """Raise NotFoundError for the first item that find_items or find_names did not find."""
    unknown = np.flatnonzero(found == abi.NO_ID)
    if unknown.size:
        first = int(unknown[0])
        raise missing(path, items[first] if isinstance(items, list) else int(items.reshape(-1)[first]), remedy)


def shaped(items: Items, rows: IdArray) -> IdArray:
    """Rows in the shape of the items."""
    return rows if isinstance(items, list) else rows.reshape(items.shape)


def filter_of_items(path: str, n_rows: int, items: Items, rows: IdArray, unknown: str) -> Filter:
    """A Filter of the rows of items. unknown: what to do with items that were not found, "raise" or "ignore"."""
    if not isinstance(items, list) and items.ndim != 1:
        raise _errors.ArgumentError(f"ids: an array of shape {list(items.shape)} was given: expected [m]")
    if unknown == "raise":
        if not isinstance(items, list):
            refuse_mask(items, n_rows)
        check_found(path, items, rows, ': missing="ignore" leaves out such items')
    return filter_of_rows(n_rows, rows[rows != abi.NO_ID])


def is_of_handle(path: str, handle: IndexHandle, filter: Filter, auto: bool) -> bool:
    """
    Whether the rows of a Filter are the handle's; False: make it again of its ids, for an index that refreshes itself
    (auto), or one of the same commit, which may be another index. Raises ArgumentError if it is stale.
    """
    made_for = filter.snapshot
    if made_for is handle or made_for == SHARE:
        return True
    if made_for is None:
        check_hand_made(path, filter, handle.rows_in_order, not handle.rows_are_ids, "index.filter_ids(ids)")
        return True
    if not isinstance(made_for, IndexHandle):
        raise _errors.ArgumentError(f"filter: was made for a collection of shards, not for {path}: make it again")
    same = (made_for.n_commits, made_for.n_rows) == (handle.n_commits, handle.n_rows)
    if filter.ids is not None and (auto or same):
        return False
    raise _errors.ArgumentError(
        f"filter: was made for commit {made_for.n_commits} of this or another index, and {path} shows commit "
        f"{handle.n_commits}: make it again"
    )


def each_name(name: Callable[[Any], str | None], ids: Any) -> str | None | list[Any]:
    """name(id) of one id, or (nested) lists of it of ids of any shape."""
    several = isinstance(ids, (list, tuple)) or getattr(ids, "ndim", 0) > 0
    return [each_name(name, one) for one in ids] if several else name(ids)


def names_of(handle: IndexHandle, ids: Any) -> str | None | list[Any]:
    """each_name() of the items of an index."""

    def name(one: Any) -> str | None:
        found = lib.thr_index_name(handle.pointer, whole(one, "id", 0, abi.NO_ID))
        return None if found is None else str(found, "utf-8", "replace")

    return each_name(name, ids)


def vectors_of(handle: IndexHandle, path: str, n_dims: int, items: Any) -> npt.NDArray[np.float32]:
    """The vectors of items that are given by ids, of any shape, or by names."""
    items = as_items(items)
    if isinstance(items, list):
        check_found(path, items, ids := find_names(handle, items))
    else:
        ids = items
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

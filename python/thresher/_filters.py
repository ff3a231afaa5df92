# SPDX-License-Identifier: Apache-2.0
"""Filters: the rows that a search may return, as the library's bitmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _errors
from ._core import arrays
from ._core.checks import whole
from ._core.library import lib

Words = npt.NDArray[np.uint64]

_MOST_ITEMS = 2**48


class Filter:
    """
    A set of rows, one bit per item. Make one to share it among searches; a search converts other arguments itself.

    Index.filter_ids(ids) makes one of ids or names, for any index. Filter(n_items, allowed) takes a mask (bool
    [n_items]), row numbers (integers [m], in any order), or a Roaring bitmap of row numbers: an object with
    serialize(), as of pyroaring, or its bytes. Filter.from_words takes packed bits. These are of rows in the order of
    the build: an index that was changed or has cells refuses them, and one that has ids refuses row numbers.

    Integers that are all 0 or 1, with a repetition, raise an error, because they are almost certainly a mask.
    """

    __slots__ = ("_n_items", "_pointer", "_words", "ids", "of_rows", "snapshot")
    snapshot: Any
    """What the rows are of, an open index or the manifest of a collection, if filter_ids made it; else None."""
    ids: Any
    """What Index.filter_ids made it from; else None."""
    of_rows: bool
    """Whether it was made of row numbers."""

    def __init__(self, n_items: int, allowed: Any) -> None:
        n = whole(n_items, "n_items", 0, _MOST_ITEMS)
        self._set(n, _bits(n, allowed))
        self.of_rows = not is_mask(allowed)

    @classmethod
    def from_words(cls, n_items: int, words: Any) -> Filter:
        """Wrap uint64 [ceil(n_items / 64)] without a copy: row r is in the set if bit r % 64 of word r // 64 is set."""
        array = arrays.as_numpy(words, "filter")
        wanted = -(-whole(n_items, "n_items", 0, _MOST_ITEMS) // 64)
        if array.dtype != np.uint64:
            raise _errors.ArgumentTypeError(f"filter: words of type {array.dtype} were given: expected uint64")
        if array.shape != (wanted,):
            raise _errors.ArgumentError(
                f"filter: words of shape {list(array.shape)} were given: {n_items} items need {wanted} of 64 bits"
            )
        made = cls.__new__(cls)
        made._set(n_items, np.ascontiguousarray(array))
        return made

    def _set(self, n_items: int, words: Words) -> None:
        self.snapshot = self.ids = None
        self.of_rows = False
        self._n_items = n_items
        self._words = words
        self._pointer = arrays.address(words)

    @property
    def n_items(self) -> int:
        """The number of items of the index."""
        return self._n_items

    @property
    def words(self) -> Words:
        """The words of the bitmap, read-only."""
        view = self._words.view()
        view.flags.writeable = False
        return view

    @property
    def pointer(self) -> int:
        """The address of the words, valid while the filter lives."""
        return self._pointer

    def __len__(self) -> int:
        """The number of rows in the set."""
        return int(lib.thr_bitmap_count(self._pointer, self._n_items))

    def __repr__(self) -> str:
        return f"<thresher.Filter of {len(self)} of {self._n_items} items>"


def _no_words(n_items: int) -> Words:
    return np.zeros(-(-n_items // 64), np.uint64)


def roaring_bytes(thing: Any) -> bytes | None:
    """The bytes of a Roaring bitmap; None for other things."""
    if type(thing) is np.ndarray:
        return None
    if isinstance(thing, (bytes, bytearray, memoryview)):
        return bytes(thing)
    if hasattr(thing, "serialize") and not arrays.is_array(thing):
        return bytes(thing.serialize())
    return None


def _numbers(array: arrays.AnyArray, what: str) -> Words:
    """Integers [m], none negative, as uint64."""
    if array.dtype.kind not in "iu":
        if array.size:
            raise _errors.ArgumentTypeError(
                f"filter: values of type {array.dtype} were given: expected a mask of bool, row numbers, "
                "a Roaring bitmap or a thresher.Filter"
            )
        array = array.astype(np.uint64)
    if array.ndim != 1:
        raise _errors.ArgumentError(f"filter: {what}s of shape {list(array.shape)} were given: expected [m]")
    if array.dtype.kind == "i" and array.size and int(array.min()) < 0:
        raise _errors.ArgumentError(f"filter: {what} {int(array.min())} is negative")
    return np.ascontiguousarray(array, np.uint64)


def refuse_mask(numbers: Words, n_items: int) -> None:
    """Refuse integers that are all 0 or 1, with a repetition: almost certainly a mask."""
    if numbers.size > 1 and int(numbers.max()) <= 1 and len(np.unique(numbers)) < numbers.size:
        raise _errors.ArgumentError(
            f"filter: {numbers.size} integers of 0 and 1 were given for {n_items} items: integers are item numbers; "
            "for a mask, one value per item, give mask.astype(bool)"
        )


def _bits(n_items: int, allowed: Any) -> Words:
    words = _no_words(n_items)
    at = arrays.address(words)
    roaring = roaring_bytes(allowed)
    if roaring is not None:
        _errors.call(lib.thr_bitmap_from_roaring, roaring, len(roaring), n_items, at)
        return words
    array = arrays.as_numpy(allowed, "filter")
    if array.dtype.kind == "b":
        if array.shape != (n_items,):
            raise _errors.ArgumentError(
                f"filter: a mask of shape {list(array.shape)} was given: expected [{n_items}], one an item"
            )
        packed = np.packbits(array, bitorder="little")
        words.view(np.uint8)[: packed.size] = packed
        return words
    rows = _numbers(array, "row number")
    refuse_mask(rows, n_items)
    if rows.size and int(rows.max()) >= n_items:
        raise _errors.ArgumentError(
            f"filter: row {int(rows.max())} does not exist: the index has {n_items} items "
            "(packed words are given with thresher.Filter.from_words)"
        )
    _errors.call(lib.thr_bitmap_from_rows, arrays.address(rows), rows.size, n_items, at)
    return words


def filter_of_rows(n_items: int, rows: Words) -> Filter:
    """Make a Filter of these rows, which exist."""
    words = _no_words(n_items)
    _errors.call(lib.thr_bitmap_from_rows, arrays.address(rows), rows.size, n_items, arrays.address(words))
    return Filter.from_words(n_items, words)


def filter_of_roaring_ids(pointer: int | None, n_items: int, roaring: bytes) -> Filter:
    """Make a Filter of the items with the ids of a Roaring bitmap (pointer: the thr_index)."""
    words = _no_words(n_items)
    _errors.call(lib.thr_bitmap_from_roaring_ids, pointer, roaring, len(roaring), arrays.address(words))
    return Filter.from_words(n_items, words)


SHARE = "the share of a shard"
"""The snapshot of a collection's Filter that was cut to a shard: the collection has checked it."""


def is_mask(allowed: Any) -> bool:
    """Whether allowed has a bool for each item."""
    if type(allowed) is np.ndarray:
        return allowed.dtype.kind == "b"
    if isinstance(allowed, (str, bytes, bytearray, memoryview)) or hasattr(allowed, "serialize"):
        return False
    return bool(arrays.as_numpy(allowed, "filter").dtype == np.bool_)


def check_hand_made(path: str, filter: Filter, rows_in_order: bool, has_ids: bool, remedy: str) -> None:
    """Raise ArgumentError for a Filter without snapshot whose rows may be other items."""
    if not rows_in_order:
        raise refuse_rows(path, remedy)
    if filter.of_rows and has_ids:
        raise _errors.ArgumentError(f"filter: made of row numbers, but the items of {path} have ids: give {remedy}")


def refuse_rows(path: str, remedy: str) -> _errors.Error:
    """The exception for a mask, where rows are not the items as they were given."""
    return _errors.ArgumentError(
        f"filter: {path} was changed or has cells, so its rows are not in the order of its items: give {remedy}"
    )


def refuse_values(path: str) -> _errors.ArgumentError:
    """The exception for values in the order of the build, where rows are not in that order."""
    return _errors.ArgumentError(
        f"values: {path} was changed or has cells, so its rows are not in the order of its items: give ids=, those of "
        "the items"
    )


def as_filter(n_items: int, allowed: Any) -> Filter:
    """Convert allowed to a Filter of n_items."""
    if not isinstance(allowed, Filter):
        return Filter(n_items, allowed)
    if allowed.n_items != n_items:
        raise _errors.ArgumentError(f"filter: one of {allowed.n_items} items was given for an index of {n_items}")
    return allowed

# SPDX-License-Identifier: Apache-2.0
"""Which items a search may return, as the bits the library reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _arrays

Words = npt.NDArray[np.uint64]


class Filter:
    """
    A set of rows, one bit an item. Make one where many searches share it; a search makes its own from an array.

    Filter(n_items, allowed) takes a mask (bool [n_items]), row numbers (integers [m], in any order), or a Roaring
    bitmap of row numbers (any object with serialize(), as of pyroaring). Filter.from_words takes packed bits.
    """

    __slots__ = ("n_items", "pointer", "words")

    def __init__(self, n_items: int, allowed: Any) -> None:
        self._set(n_items, _bits(n_items, allowed))

    @classmethod
    def from_words(cls, n_items: int, words: Any) -> Filter:
        """From uint64 [ceil(n_items / 64)], not copied: row r may be returned when word r // 64 has bit r % 64 set."""
        array = _arrays.as_numpy(words, "filter")
        wanted = -(-n_items // 64)
        if array.dtype != np.uint64:
            raise TypeError(f"filter: words of type {array.dtype} were given: uint64 is wanted")
        if array.shape != (wanted,):
            raise ValueError(
                f"filter: words of shape {list(array.shape)} were given: {n_items} items need {wanted} of 64 bits"
            )
        made = cls.__new__(cls)
        made._set(n_items, np.ascontiguousarray(array))
        return made

    def _set(self, n_items: int, words: Words) -> None:
        self.n_items = n_items
        self.words = words
        self.pointer = _arrays.address(words)

    def __len__(self) -> int:
        """How many items may be returned."""
        whole = self.words[: self.n_items // 64].view(np.uint8)
        count = int(_COUNTS[whole].sum())
        if self.n_items % 64:
            count += bin(int(self.words[-1]) & (1 << self.n_items % 64) - 1).count("1")
        return count

    def __repr__(self) -> str:
        return f"<thresher.Filter of {len(self)} of {self.n_items} items>"


_COUNTS = np.array([bin(byte).count("1") for byte in range(256)], np.int64)


def _pack(mask: npt.NDArray[np.bool_]) -> Words:
    octets = np.zeros(-(-mask.size // 64) * 8, np.uint8)
    packed = np.packbits(mask, bitorder="little")
    octets[: packed.size] = packed
    return octets.view(np.uint64)


def _bits(n_items: int, allowed: Any) -> Words:
    if hasattr(allowed, "serialize") and not _arrays.is_array(allowed):
        array: _arrays.AnyArray = np.fromiter(allowed, np.uint64)
    else:
        array = _arrays.as_numpy(allowed, "filter")
    if array.dtype == np.bool_:
        if array.shape != (n_items,):
            raise ValueError(
                f"filter: a mask of shape {list(array.shape)} was given: [{n_items}] is wanted, one an item"
            )
        return _pack(array)
    if array.size == 0 and array.ndim == 1:
        return _pack(np.zeros(n_items, np.bool_))
    if array.dtype.kind not in "iu":
        raise TypeError(
            f"filter: values of type {array.dtype} were given: a mask of bool, row numbers, a Roaring bitmap "
            "or a thresher.Filter is wanted"
        )
    if array.ndim != 1:
        raise ValueError(f"filter: row numbers of shape {list(array.shape)} were given: [m] is wanted")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= n_items:
        raise ValueError(
            f"filter: row {low if low < 0 else high} is not there: the index has {n_items} items "
            "(packed words are given with thresher.Filter.from_words)"
        )
    mask = np.zeros(n_items, np.bool_)
    mask[array] = True
    return _pack(mask)


def as_filter(n_items: int, allowed: Any) -> Filter:
    """allowed as a Filter of n_items."""
    if not isinstance(allowed, Filter):
        return Filter(n_items, allowed)
    if allowed.n_items != n_items:
        raise ValueError(f"filter: one of {allowed.n_items} items was given for an index of {n_items}")
    return allowed

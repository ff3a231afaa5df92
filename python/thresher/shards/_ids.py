# SPDX-License-Identifier: Apache-2.0
"""The ids and names of a shard's items."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import c_char_p

import numpy as np
import numpy.typing as npt

from .. import _errors
from .._core.library import lib
from .._index import Index


def has_given_ids(index: Index) -> bool:
    """Whether its items' ids were given. An index with cells also stores ids of items with names: rows of its build."""
    return index.info.has_ids and not index.info.has_names


def ids_of(index: Index, first_row: int = 0) -> npt.NDArray[np.uint64]:
    """The ids of all items, in order of rows: given ones, or row numbers of the build counted from first_row."""
    ids = index.ids()
    return ids if has_given_ids(index) else ids + np.uint64(first_row)


_AT_ONCE = 1 << 16


def names_of(index: Index) -> Iterator[list[bytes | None]]:
    """The names of all items, in UTF-8 and in order of rows, some rows at a time."""
    handle = index.handle()  # keeps it open
    for first in range(0, handle.n_rows, _AT_ONCE):
        names = (c_char_p * min(_AT_ONCE, handle.n_rows - first))()
        _errors.call(lib.thr_index_row_names, handle.pointer, first, len(names), names)
        yield list(names)

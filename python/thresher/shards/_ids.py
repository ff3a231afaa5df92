# SPDX-License-Identifier: Apache-2.0
"""The ids of a shard's items."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import _errors
from .._core import arrays
from .._core.library import lib
from .._index import Index


def ids_of(index: Index, first_row: int = 0) -> npt.NDArray[np.uint64]:
    """The ids of all items, in order of rows: the shard's own, or row numbers counted from first_row."""
    out = np.empty(len(index), np.uint64)
    _errors.call(lib.thr_index_row_ids, index.handle().pointer, 0, out.size, arrays.address(out))
    return out if index.info.has_ids else out + np.uint64(first_row)

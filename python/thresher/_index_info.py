# SPDX-License-Identifier: Apache-2.0
"""A thr_index, and its description."""

from __future__ import annotations

from typing import NamedTuple

from . import _abi
from ._handle import Handle
from ._library import lib, read

_METRICS = {code: name for name, code in _abi.METRIC.items()}


class IndexInfo(NamedTuple):
    """
    The properties of an index; bytes are those of its files. lead_bits is the number of leading planes; rotated and
    centred are whether vectors were, before coding; tuned_queries is the number of queries of the last calibration.
    """

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
    lead_bits: int
    rotated: bool
    centred: bool
    tuned_queries: int
    has_features: bool


class IndexHandle(Handle):
    """A thr_index."""

    __slots__ = ()
    opens, frees = "thr_index_open", "thr_index_free"

    @property
    def threads(self) -> int:
        return int(lib.thr_context_threads(self._context.pointer))

    def info(self) -> IndexInfo:
        i = lib.thr_index_get_info(self.pointer).info
        return read(IndexInfo, i, metric=_METRICS[i.metric], bits=i.item_bits, keep=_abi.DTYPE_NAME[i.keep])

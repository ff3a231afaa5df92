# SPDX-License-Identifier: Apache-2.0
"""A thr_index that is freed when nobody uses it any more, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_void_p
from typing import NamedTuple

from . import _abi, _errors
from ._context import Context, own, shared_context
from ._library import lib

_METRICS = {code: name for name, code in _abi.METRIC.items()}
_DTYPES = {code: name for name, code in _abi.DTYPE.items()}


class IndexInfo(NamedTuple):
    """
    What an index is made of; bytes are those of its files. lead_bits planes are screened by themselves; rotated and
    centred tell what was done to vectors before they were coded; tuned_queries calibrated the index.
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


class Handle:
    """A thr_index. Searches hold a reference while they run, so closing never takes it from under them."""

    __slots__ = ("__weakref__", "_context", "_free", "pointer")

    def __init__(self, path: bytes, threads: int | None, device: str | None) -> None:
        self.pointer: int | None = None
        self._free: Callable[[int], None] = lib.thr_index_free
        self._context: Context = shared_context(threads, device)
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

    @property
    def device(self) -> str:
        return self._context.device

    def __del__(self) -> None:
        if self.pointer is not None:
            self._free(self.pointer)
            self.pointer = None

    def info(self) -> IndexInfo:
        i = lib.thr_index_get_info(self.pointer).info
        return IndexInfo(
            n_items=i.n_items,
            n_dims=i.n_dims,
            metric=_METRICS[i.metric],
            bits=i.item_bits,
            keep=_DTYPES[i.keep],
            n_segments=i.n_segments,
            format_version=i.format_version,
            code_bytes=i.code_bytes,
            vector_bytes=i.vector_bytes,
            file_bytes=i.file_bytes,
            has_ids=i.has_ids,
            has_names=i.has_names,
            lead_bits=i.lead_bits,
            rotated=i.rotated,
            centred=i.centred,
            tuned_queries=i.tuned_queries,
        )

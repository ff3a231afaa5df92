# SPDX-License-Identifier: Apache-2.0
"""The source of an index as a thr_reader: a file, an array of any layout, or an iterable of arrays."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from ctypes import byref, c_void_p
from itertools import chain
from typing import Any, Callable, Protocol, Union

import numpy as np

from .. import _errors
from . import abi, arrays
from .arrays import AnyArray
from .checks import encoded_path
from .context import Context
from .jobs import call_back
from .library import lib

Vectors = Union[str, "os.PathLike[str]", AnyArray, Iterable[Any]]
"""
A file name; an array [n, n_dims] of any order, stride and real type; or an iterable of such arrays, or of rows. With a
model also a file of lines, or an iterable of texts.
"""

_FAILED = 2**64 - 1  # more rows than requested: the library stops with an error


_NO_ROWS = np.empty((0, 1), np.float32)  # without rows, the number of dimensions is not compared


class Encoder(Protocol):
    """A model that encodes texts as items: a Tower, a Dual, or that of an index."""

    lines_reader: str
    """The function that makes a reader of encoded lines."""

    @property
    def reads_vectors(self) -> bool: ...

    @property
    def encodes_vectors(self) -> bool: ...

    def handle(self) -> Any: ...

    def chunks(self, texts: Iterable[str]) -> Iterable[AnyArray]: ...


class Reader:
    """
    A thr_reader of source, for a with statement. Exceptions while rows are made go to the current job. tower encodes
    texts as items, or vectors if it is a model of them.
    """

    def __init__(self, context: Context, source: Vectors, tower: Encoder | None = None) -> None:
        self.pointer = c_void_p()
        self._texts = c_void_p()  # the lines that pointer encodes
        self._keep: object = None  # what must live as long as the reader
        made, err = byref(self.pointer), byref(_errors.slot.error)
        if isinstance(source, (str, bytes, os.PathLike)):
            status = lib.thr_reader_open(context.pointer, encoded_path(source, "vectors"), made, err)
            if status == abi.OK and tower is not None and not tower.reads_vectors:
                status = self._encode_lines(tower)
        elif arrays.is_array(source):
            array = arrays.as_numpy(source, "vectors")
            array = _NO_ROWS if array.shape in ((0,), (0, 0)) else arrays.vectors(array, "vectors", one_row=False)
            if array.dtype in arrays.CODES and arrays.rows_are_plain(array):
                view = arrays.matrix(array)
                self._keep = array
                status = lib.thr_reader_from_matrix(context.pointer, byref(view), made, err)
            else:
                status = self._from_function(context, len(array), array.shape[1], _array_rows(array))
        else:
            chunks = _Chunks(source if tower is None or tower.reads_vectors else _encoded(source, tower))
            if chunks.is_empty:
                status = lib.thr_reader_from_matrix(context.pointer, byref(arrays.matrix(_NO_ROWS)), made, err)
            else:
                status = self._from_function(context, abi.ROWS_UNKNOWN, chunks.n_dims, chunks.rows)
        if status == abi.OK and tower is not None and tower.encodes_vectors:
            status = self._encode(tower)
        if status != abi.OK:
            failure = _errors.failure(status, _errors.slot.error, files=True)
            self.__exit__()
            raise failure

    def _encode_lines(self, tower: Encoder) -> int:
        if lib.thr_reader_get_shape(self.pointer).dtype != abi.DTYPE["none"]:
            return abi.OK
        return self._encode(tower)

    def _encode(self, tower: Encoder) -> int:
        self._texts, self.pointer = self.pointer, c_void_p()
        handle = tower.handle()
        self._keep = self._keep, handle
        made, err = byref(self.pointer), byref(_errors.slot.error)
        return int(getattr(lib, tower.lines_reader)(handle.pointer, abi.SIDE["item"], self._texts, made, err))

    def _from_function(self, context: Context, n_rows: int, n_dims: int, rows: Callable[[int, AnyArray], int]) -> int:
        def write_rows(_user: int | None, first: int, max_rows: int, out: int) -> int:
            def write() -> int:
                room = (ctypes.c_float * (max_rows * n_dims)).from_address(out)
                return rows(first, np.frombuffer(memoryview(room), np.float32).reshape(max_rows, n_dims))

            return int(call_back(write, _FAILED))

        self._keep = callback = abi.RowsFn(write_rows)
        return int(
            lib.thr_reader_from_function(
                context.pointer,
                n_rows,
                n_dims,
                callback,
                None,
                byref(self.pointer),
                byref(_errors.slot.error),
            )
        )

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        lib.thr_reader_free(self.pointer)
        lib.thr_reader_free(self._texts)
        self.pointer, self._texts = c_void_p(), c_void_p()
        self._keep = None


def _encoded(source: Iterable[Any], tower: Encoder) -> Iterable[Any]:
    """The arrays of an iterable, with texts encoded by tower as items."""
    things = iter(source)
    first = next(things, None)
    if isinstance(first, str):
        return tower.chunks(chain([first], things))
    return chain([] if first is None else [first], things)


def _array_rows(array: AnyArray) -> Callable[[int, AnyArray], int]:
    """Rows of an array that a thr_matrix cannot describe: transposed, strided, or of another type."""

    def rows(first: int, out: AnyArray) -> int:
        arrays.narrow(out, array[first : first + len(out)])
        return len(out)

    return rows


class _Chunks:
    """The arrays of an iterable, in order."""

    def __init__(self, source: Iterable[Any]) -> None:
        try:
            self._iterator = iter(source)
        except TypeError:
            raise _errors.ArgumentTypeError(
                f"vectors: an object of type {type(source).__name__} was given: "
                "expected an array, a file name or an iterable of arrays"
            ) from None
        self._number = 0
        self.n_dims = 0  # not known yet
        self._chunk: AnyArray | None = self._next()
        self.is_empty = self._chunk is None

    def _next(self) -> AnyArray | None:
        """The next chunk with rows, [n, n_dims]; None at the end."""
        for thing in self._iterator:
            what = f"vectors: chunk {self._number}"
            self._number += 1
            chunk = arrays.vectors(thing, what, one_row=True)
            if chunk.ndim == 1:
                chunk = chunk[np.newaxis]
            if self.n_dims not in (0, chunk.shape[1]):
                raise _errors.ArgumentError(f"{what}: {chunk.shape[1]} dimensions after chunks of {self.n_dims}")
            self.n_dims = int(chunk.shape[1])
            if len(chunk):
                return chunk
        return None

    def rows(self, _first: int, out: AnyArray) -> int:
        n = 0
        while n < len(out) and self._chunk is not None:
            part = self._chunk[: len(out) - n]
            arrays.narrow(out[n : n + len(part)], part)
            n += len(part)
            self._chunk = self._chunk[len(part) :] if len(part) < len(self._chunk) else self._next()
        return n

# SPDX-License-Identifier: Apache-2.0
"""Convert arrays of any kind to numpy arrays, and to views for the library."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _errors
from . import abi

AnyArray = npt.NDArray[Any]

# Types that the library reads directly and converts to float32.
CODES: dict[np.dtype[Any], int] = {
    np.dtype(name): code for name, code in abi.DTYPE.items() if name not in ("none", "bfloat16")
}
_SMALL = (np.dtype(np.int16), np.dtype(np.uint16))  # integers up to this are exact in float32
_READABLE = "float32, float16, float64 or integers"
_byte_at: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer
_address = ctypes.addressof


def address(array: AnyArray) -> int:
    """The address of an array's first value. (array.ctypes.data takes four times as long.)"""
    try:
        return _address(_byte_at(array))
    except (TypeError, ValueError, BufferError):  # read-only, not contiguous, or empty
        return int(array.__array_interface__["data"][0])


def is_array(thing: object) -> bool:
    """Whether thing is an array, rather than a list or another collection of arrays."""
    return isinstance(thing, np.ndarray) or any(
        hasattr(thing, name) for name in ("__dlpack__", "__array__", "__array_interface__", "__cuda_array_interface__")
    )


def may_be_texts(array: AnyArray) -> bool:
    """Whether an array's type has str: of one width, of any width (numpy 2), or objects."""
    return array.dtype.kind in "UTO"


def as_numpy(thing: Any, what: str) -> AnyArray:
    """
    Convert thing to a numpy array, if possible without a copy: numpy arrays, CPU tensors that support DLPack, objects
    with __array__, and nested lists. what is its name in messages.
    """
    if isinstance(thing, np.ma.MaskedArray):
        raise _errors.ArgumentTypeError(f"{what}: a masked array was given: fill or drop its masked values first")
    if isinstance(thing, np.ndarray):
        return np.asarray(thing)
    if hasattr(thing, "__dlpack__"):
        try:
            return np.asarray(np.from_dlpack(thing))
        except (BufferError, RuntimeError, TypeError, ValueError, AssertionError) as failure:
            if not hasattr(thing, "__array__"):
                raise _errors.ArgumentTypeError(
                    f"{what}: {_kind(thing)} cannot be read through DLPack: {failure}"
                ) from failure
    try:
        return np.asarray(thing)
    except (TypeError, ValueError, RuntimeError) as failure:
        raise _errors.ArgumentTypeError(f"{what}: {_kind(thing)} cannot be made an array: {failure}") from failure


def _stacked(column: AnyArray, what: str) -> AnyArray:
    """A column of lists, as numpy gives those of Arrow and pandas, as [n, n_dims]; other columns unchanged."""
    rows = [np.asarray(row) for row in column]
    if any(row.ndim != 1 for row in rows):
        return column
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise _errors.ArgumentError(
            f"{what}: lists of {min(lengths)} to {max(lengths)} numbers were given: expected lists of equal length"
        )
    return np.stack(rows)


def vectors(thing: Any, what: str, *, one_row: bool) -> AnyArray:
    """
    Convert thing to an array [n, n_dims] of real numbers, or [n_dims] if one_row allows it, of any order and type,
    without a copy.
    """
    array = as_numpy(thing, what)
    if array.dtype == object and array.ndim == 1 and array.size:
        array = _stacked(array, what)
    if array.ndim != 2 and not (one_row and array.ndim == 1):
        wanted = "[n_dims] or [n, n_dims]" if one_row else "[n, n_dims]"
        raise _errors.ArgumentError(f"{what}: an array of shape {list(array.shape)} was given: expected {wanted}")
    if not 1 <= array.shape[-1] <= abi.MAX_DIMS:
        raise _errors.ArgumentError(
            f"{what}: an array of shape {list(array.shape)} was given: 1 to {abi.MAX_DIMS} dimensions are possible"
        )
    native = array.dtype.newbyteorder("=")
    if native not in CODES and native not in _SMALL:
        raise _errors.ArgumentTypeError(f"{what}: values of type {array.dtype} were given: expected {_READABLE}")
    return array


def bfloat16(thing: Any) -> AnyArray | None:
    """
    The bits, uint16, of an array of bfloat16 (ml_dtypes, or a CPU tensor of torch), a type that numpy lacks; else None.
    """
    kind = str(getattr(thing, "dtype", ""))
    if kind == "bfloat16" and isinstance(thing, np.ndarray):
        return thing.view(np.uint16)
    if kind == "torch.bfloat16":
        return np.asarray(thing.detach().view(sys.modules["torch"].int16).numpy()).view(np.uint16)
    return None


def integers(thing: Any, what: str) -> AnyArray:
    """
    Convert thing to an array of integers, also a list of small and large ones, which numpy would convert to floats.
    """
    array = as_numpy(thing, what)
    if array.size == 0:  # numpy makes floats of nothing
        return array.astype(np.uint64)
    if array.dtype.kind == "f" and not is_array(thing):
        values = np.asarray(thing, object)
        if all(isinstance(value, int) and -(2**63) <= value < 2**64 for value in values.ravel().tolist()):
            array = np.array([value % 2**64 for value in values.ravel().tolist()], np.uint64).reshape(values.shape)
    if array.dtype.kind not in "iu":
        kind = "texts" if array.dtype.kind in "SUT" else f"values of type {array.dtype}"
        raise _errors.ArgumentTypeError(f"{what}: {kind} were given: expected integers")
    return array


def numbers(thing: Any, what: str, dtype: Any) -> AnyArray:
    """Convert thing to an array of dtype, float32 or float64, contiguous; what it cannot hold becomes infinite."""
    array = as_numpy(thing, what)
    if array.dtype.kind not in "fiub":
        raise _errors.ArgumentTypeError(f"{what}: values of type {array.dtype} were given: expected numbers")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype)


def ids(thing: Any, what: str) -> npt.NDArray[np.uint64]:
    """Convert thing to ids of items, [n], contiguous."""
    array = integers(thing, what)
    if array.ndim != 1:
        raise _errors.ArgumentError(
            f"{what}: an array of shape {list(array.shape)} was given: expected [n], one an item"
        )
    if array.dtype.kind == "i" and array.size and int(array.min()) < 0:
        raise _errors.ArgumentError(f"{what}: {int(array.min())} is negative: ids are 0 to 2^64 - 2")
    return np.ascontiguousarray(array, np.uint64)


def narrow(out: AnyArray, rows: AnyArray) -> None:
    """
    Copy rows [n, n_dims] of any type to out, float32. Values that are too large become infinity. A row whose
    values are all too small gets one that is not 0. So the library refuses both, and names the row.
    """
    with np.errstate(over="ignore", under="ignore"):
        np.copyto(out, rows, casting="same_kind")
    if rows.dtype.kind == "f" and rows.dtype.itemsize > 4:
        lost = np.flatnonzero(~out.any(axis=1))
        out[lost[rows[lost].any(axis=1)], :1] = 2.0**-120


def floats(rows: AnyArray) -> AnyArray:
    """Rows as a contiguous array of float32, as narrow() makes it."""
    if rows.dtype == np.float32:
        return np.ascontiguousarray(rows)
    out = np.empty(rows.shape, np.float32)
    narrow(out, rows)
    return out


def plain(array: AnyArray) -> AnyArray:
    """The array [n, n_dims] in a layout that matrix() can describe: itself, or a copy."""
    array = array if array.dtype in CODES else floats(array)
    return array if rows_are_plain(array) else np.ascontiguousarray(array)


def rows_are_plain(array: AnyArray) -> bool:
    """Whether a thr_matrix can describe it: values of a row are adjacent, rows are in order and do not overlap."""
    (n_rows, n_dims), (row, value), size = array.shape, array.strides, array.itemsize
    return bool((value == size or n_dims == 1) and (row >= n_dims * size or n_rows < 2))


def matrix(array: AnyArray) -> abi.Matrix:
    """A view of a plain array [n, n_dims], which must outlive it."""
    n_rows, n_dims = array.shape
    stride = array.strides[0] if n_rows > 1 else n_dims * array.itemsize
    return abi.Matrix(address(array) if n_rows else None, n_rows, n_dims, CODES[array.dtype], stride)


def output(thing: object, dtype: Any, shape: tuple[int, ...], what: str) -> AnyArray:
    """Check an array that the caller gave to write into."""
    if not isinstance(thing, np.ndarray):
        raise _errors.ArgumentTypeError(f"{what}: {_kind(thing)} was given: expected a numpy array")
    if thing.dtype != dtype:
        raise _errors.ArgumentTypeError(f"{what}: values of type {thing.dtype} were given: expected {np.dtype(dtype)}")
    if thing.shape != shape:
        raise _errors.ArgumentError(f"{what}: an array of shape {list(thing.shape)} was given: expected {list(shape)}")
    if not thing.flags.c_contiguous or not thing.flags.writeable:
        raise _errors.ArgumentError(f"{what}: the array must be writeable and in C order without gaps")
    return thing


def _kind(thing: object) -> str:
    return f"an object of type {type(thing).__module__}.{type(thing).__qualname__}"

# SPDX-License-Identifier: Apache-2.0
"""Building an index: options checked, ids and names handed over, the library called."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import Structure, addressof, byref, c_bool
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from . import _abi, _arrays, _errors
from ._checks import choice, encoded_path, whole
from ._context import shared_context
from ._dual import Dual
from ._hits import csr
from ._jobs import Job, Progress
from ._library import defaults, lib
from ._readers import Reader, Vectors
from ._tower import Tower

Ids = Union[str, "os.PathLike[str]", npt.ArrayLike, Sequence[str]]
"""Integers [n], names (a sequence of str), or a file of either."""

Model = Union[str, "os.PathLike[str]", Tower, Dual]
"""The file of a model, or an open one."""

_KEEP: dict[Any, int] = {name: _abi.DTYPE[name] for name in ("float32", "float16", "int8", "none")}
_KEEP[None] = _abi.DTYPE["none"]
_ROTATE = {None: _abi.ROTATE["auto"], True: _abi.ROTATE["on"], False: _abi.ROTATE["off"]}


@contextmanager
def _with_ids(options: Structure, ids: Ids | None) -> Iterator[None]:
    """Put ids into the options for as long as the with statement runs."""
    if ids is None:
        yield
        return
    if isinstance(ids, (str, bytes, os.PathLike)):
        options.ids_path = encoded_path(ids, "ids")
        yield
        return
    array = _arrays.as_numpy(ids, "ids")
    if array.ndim != 1:
        raise ValueError(f"ids: an array of shape {list(array.shape)} was given: [n] is wanted, one an item")
    if array.dtype.kind in "iuf":
        array = _arrays.integers(ids, "ids")
        numbers = np.ascontiguousarray(array, np.uint64)
        if array.dtype.kind == "i" and array.size and int(array.min()) < 0:
            raise ValueError(f"ids: {int(array.min())} is negative: ids are 0 to 2^64 - 2")
        options.ids = _arrays.address(numbers)
        options.n_ids = len(numbers)
        yield
        del numbers  # lived until here
        return
    names = array.tolist()
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"ids: values of type {array.dtype} were given: integers or names (str) are wanted")
    with tempfile.TemporaryDirectory(prefix="thresher-") as directory:
        path = os.path.join(directory, "names.txt")
        _write_names(path, names)
        options.ids_path = os.fsencode(path)
        yield


def _write_names(path: str, names: list[str]) -> None:
    for row, name in enumerate(names):
        if "\n" in name or "\r" in name or "\0" in name or not name:
            raise ValueError(f"ids: name {row} is {name!r}: a name is a line of text, not empty")
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(name + "\n" for name in names)


def _open_model(model: Any, threads: int | None) -> Tower | Dual:
    """Of one kind or the other."""
    is_dual = c_bool()
    context = shared_context(threads)
    err = _errors.slot.error
    status = lib.thr_dual_probe(context.pointer, encoded_path(model, "model"), byref(is_dual), byref(err))
    if status != _abi.OK:
        raise _errors.failure(status, err, files=True)
    return Dual(model, threads=threads) if is_dual.value else Tower(model, threads=threads)


def _put_features(options: Structure, features: Any, multipliers: Any, offsets: Any) -> None:
    """Put what items have into the options, which keep the memory."""
    if isinstance(features, (str, bytes, os.PathLike)):
        options.features_path = encoded_path(features, "features")
    elif features is not None:
        starts, numbers = csr(features)
        items = _abi.ItemFeatures(_arrays.address(starts), _arrays.address(numbers), starts.size - 1)
        options.features = addressof(items)
        options.kept_features = starts, numbers, items
    for name, values in (("multipliers", multipliers), ("offsets", offsets)):
        if values is not None:
            array = np.ascontiguousarray(_arrays.as_numpy(values, name), np.float32).reshape(-1)
            if options.n_values not in (0, array.size):
                raise ValueError(f"{name}: {array.size} numbers were given, and {options.n_values} multipliers")
            setattr(options, name, _arrays.address(array))
            setattr(options, "kept_" + name, array)
            options.n_values = array.size


def build(
    path: str | os.PathLike[str],
    vectors: Vectors,
    *,
    metric: str | None,
    bits: int,
    keep: Any,
    ids: Ids | None,
    replace: bool,
    sample_rows: int | None,
    segment_rows: int | None,
    lead_bits: int | None,
    rotate: bool | None,
    calibration_queries: int | None,
    model: Model | None,
    features: Any,
    multipliers: Any,
    offsets: Any,
    threads: int | None,
    device: str | None,
    progress: Progress | None,
) -> None:
    """thr_index_build."""
    directory = encoded_path(path, "path")
    options = defaults("thr_index_build_options_init")
    tower: Tower | Dual | None = None
    if model is not None:
        tower = model if isinstance(model, (Tower, Dual)) else _open_model(model, threads)
        options.model = encoded_path(tower.path, "model")
    if metric is None:
        metric = "ip" if isinstance(tower, Dual) else "cosine"
    options.metric = choice(metric, "metric", _abi.METRIC)
    options.item_bits = whole(bits, "bits", 1, 8)
    options.keep = choice(keep, "keep", _KEEP)
    options.replace = bool(replace)
    if sample_rows is not None:
        options.sample_rows = whole(sample_rows, "sample_rows", 1, 2**32 - 1)
    if segment_rows is not None:
        options.segment_rows = whole(segment_rows, "segment_rows", 1, 2**63)
    if lead_bits is not None:
        options.lead_bits = whole(lead_bits, "lead_bits", 1, options.item_bits)
    options.rotate = choice(rotate, "rotate", _ROTATE)
    if calibration_queries is not None:
        options.calibration_queries = whole(calibration_queries, "calibration_queries", 0, 2**48)
    _put_features(options, features, multipliers, offsets)
    context = shared_context(threads, device)  # of the index too, so that a device that is not there fails now
    with _with_ids(options, ids), Reader(context, vectors, tower) as reader, Job(progress) as job:
        status = lib.thr_index_build(
            context.pointer, directory, reader.pointer, byref(options), byref(_errors.slot.error)
        )
        job.finish(status, files=True)

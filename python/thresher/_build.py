# SPDX-License-Identifier: Apache-2.0
"""Build an index: check options, pass ids, names and features, call the library."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from ctypes import Structure, addressof, byref, c_bool
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from . import _errors
from ._core import abi, arrays
from ._core.checks import MOST_CELLS, check_cells, choice, encoded_path, number, whole
from ._core.context import shared_context
from ._core.jobs import Job
from ._core.library import lib
from ._core.notes import note
from ._core.progress import Progress
from ._core.readers import Reader, Vectors
from ._core.tables import are_words, as_names, names_file, note_weighed, rows_of, words_table
from ._dual import Dual
from ._hits import csr
from ._tower import Tower

Ids = Union[str, "os.PathLike[str]", npt.ArrayLike, Sequence[str]]
"""Integers [n], names (a sequence of str), or a file of either."""

Model = Union[str, "os.PathLike[str]", Tower, Dual]
"""The file of a model, or an open one."""

KEEP: dict[Any, int] = {name: abi.DTYPE[name] for name in ("float32", "float16", "int8", "none")}
KEEP[None] = abi.DTYPE["none"]
_CELLS_AUTO = 2**32 - 1  # THR_CELLS_AUTO
_ROTATE = {None: abi.ROTATE["auto"], True: abi.ROTATE["on"], False: abi.ROTATE["off"]}


@contextmanager
def with_ids(options: Structure, ids: Ids | None) -> Iterator[None]:
    """Set ids in the options while the with statement runs."""
    if ids is None:
        yield
        return
    if isinstance(ids, (str, bytes, os.PathLike)):
        options.ids_path = encoded_path(ids, "ids")
        yield
        return
    names = as_names(ids)
    if names is not None:
        with names_file(names) as path:
            options.ids_path = path
            yield
        return
    array = arrays.as_numpy(ids, "ids")
    if array.ndim != 1:
        raise _errors.ArgumentError(f"ids: an array of shape {list(array.shape)} was given: expected [n], one an item")
    if array.dtype.kind not in "iuf" and array.size != 0:
        raise _errors.ArgumentTypeError(
            f"ids: values of type {array.dtype} were given: expected integers or names (str)"
        )
    numbers = arrays.ids(ids, "ids")
    options.ids = arrays.address(numbers)
    options.n_ids = len(numbers)
    yield
    del numbers  # kept alive until here


def open_model(model: Any, threads: int | None) -> Tower | Dual:
    """Open a Tower or a Dual."""
    is_dual = c_bool()
    context = shared_context(threads)
    _errors.call(lib.thr_dual_probe, context.pointer, encoded_path(model, "model"), byref(is_dual), files=True)
    return Dual(model, threads=threads) if is_dual.value else Tower(model, threads=threads)


def checked_features(features: Any) -> Any:
    """A file, or the result of rows_of, with a warning where words look weighed."""
    if features is not None and not isinstance(features, (str, bytes, os.PathLike)):
        features = rows_of(features)
        if are_words(features):
            note_weighed(features)
    return features


def with_features(options: Structure, features: Any, ids: Any) -> AbstractContextManager[None]:
    """Set features, a file or the result of rows_of, in the options while the with statement runs."""
    return _NOTHING if features is None else _with_features(options, features, ids)


_NOTHING = nullcontext()


@contextmanager
def _with_features(options: Structure, features: Any, ids: Any) -> Iterator[None]:
    if are_words(features):
        if isinstance(ids, (str, bytes, os.PathLike)):
            raise _errors.ArgumentError("features: lists of words need the ids or names themselves, not a file of them")
        with words_table(features, ids) as path:
            options.features_path = path
            yield
        return
    if isinstance(features, (str, bytes, os.PathLike)):
        options.features_path = encoded_path(features, "features")
    else:
        starts, numbers = csr(features)
        items = abi.ItemFeatures(arrays.address(starts), arrays.address(numbers), starts.size - 1)
        options.features = addressof(items)
        options.kept_features = starts, numbers, items
    yield


def put_values(options: Structure, multipliers: Any, offsets: Any) -> None:
    """Set the initial multipliers and offsets in the options, which keep the memory."""
    for name, values in (("multipliers", multipliers), ("offsets", offsets)):
        if values is not None:
            array = arrays.numbers(values, name, np.float32).reshape(-1)
            if options.n_values not in (0, array.size):
                raise _errors.ArgumentError(
                    f"{name}: {array.size} numbers were given, and {options.n_values} multipliers"
                )
            setattr(options, name, arrays.address(array))
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
    cells: int | str | None,
    lead_bits: int | None,
    scale: float | None,
    rotate: bool | None,
    calibration_queries: int | None,
    model: Model | None,
    features: Any,
    multipliers: Any,
    offsets: Any,
    quantiser_from: str | os.PathLike[str] | None,
    threads: int | None,
    device: str | None,
    progress: Progress | None,
) -> None:
    """thr_index_build."""
    directory = encoded_path(path, "path")
    options = abi.IndexBuildOptions()
    tower: Tower | Dual | None = None
    if model is not None:
        tower = model if isinstance(model, (Tower, Dual)) else open_model(model, threads)
        options.model = encoded_path(tower.path, "model")
    if quantiser_from is not None:
        options.quantiser_from = encoded_path(quantiser_from, "quantiser_from")
    if metric is None:
        metric = "ip" if isinstance(tower, Dual) else "cosine"
    options.metric = choice(metric, "metric", abi.METRIC)
    options.item_bits = whole(bits, "bits", 1, 8)
    options.keep = choice(keep, "keep", KEEP)
    options.codes_only = options.keep == abi.DTYPE["none"]
    options.replace = bool(replace)
    if sample_rows is not None:
        options.sample_rows = whole(sample_rows, "sample_rows", 1, 2**32 - 1)
    if segment_rows is not None:
        options.segment_rows = whole(segment_rows, "segment_rows", 1, 2**63)
    if cells is not None:
        check_cells(cells)
        options.cells = _CELLS_AUTO if cells == "auto" else whole(cells, "cells", 1, MOST_CELLS)
    measured = abi.CellsChoice()
    options.cells_choice = addressof(measured)
    if lead_bits is not None:
        options.lead_bits = whole(lead_bits, "lead_bits", 1, options.item_bits)
    if scale is not None:
        options.scale = number(scale, "scale")
    options.rotate = choice(rotate, "rotate", _ROTATE)
    if calibration_queries is not None:
        asked = whole(calibration_queries, "calibration_queries", 0, 2**48)
        options.calibration_queries = asked or abi.NO_CALIBRATION
    put_values(options, multipliers, offsets)
    features = checked_features(features)
    context = shared_context(threads, device)  # also checks the device before the build
    given = with_ids(options, ids), with_features(options, features, ids)
    with given[0], given[1], Reader(context, vectors, tower) as reader, Job(progress) as job:
        status = lib.thr_index_build(
            context.pointer, directory, reader.pointer, byref(options), byref(_errors.slot.error)
        )
        job.finish(status, files=True)
    if measured.short_by > abi.CELLS_SHORT and options.cells != _CELLS_AUTO:
        note(
            f"searches with these cells are up to {measured.short_by:.3f} below their recall: give a higher one, or "
            "build without cells"
        )

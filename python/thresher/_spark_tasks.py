# SPDX-License-Identifier: Apache-2.0
"""Functions as Spark tasks whose own errors end the job at once, and the rows of a DataFrame in files."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

try:
    import pyarrow
    import pyarrow.ipc
    from pyspark import TaskContext, cloudpickle
    from pyspark.sql import DataFrame, Window
    from pyspark.sql import functions as F
    from pyspark.sql import types as T
except ImportError as missing:
    raise ImportError(f"thresher.spark needs pyspark 4 and pyarrow: pip install pyspark pyarrow ({missing})") from missing

from . import _errors
from ._core import arrays

__all__ = ["DataFrame", "F", "Spooled", "T", "Window", "need_columns", "pyarrow", "run_tasks", "spooled", "vectors_of"]

_RESULT = "number long, result binary"


# ------------------------------------------------------------------------------------------------ tasks


def _unpacked(found: Any) -> Any:
    """The result of a task, or the exception that it has returned: Spark does not repeat those."""
    result = cloudpickle.loads(bytes(found))
    if isinstance(result, Exception):
        raise result
    return result


def _attempt(function: Callable[..., Any], *arguments: Any) -> bytes:
    try:
        result = function(*arguments)
    except _errors.Error as raised:
        result = raised
    packed: bytes = cloudpickle.dumps(result)
    return packed


def _batch(number: int, result: bytes) -> pyarrow.RecordBatch:
    columns = [pyarrow.array([number], pyarrow.int64()), pyarrow.array([result], pyarrow.binary())]
    return pyarrow.RecordBatch.from_arrays(columns, ["number", "result"])


def run_tasks(session: Any, function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
    """function of each call's arguments, one task each."""

    def run(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _batch(number, _attempt(function, *calls[number]))

    done = session.range(0, len(calls), 1, max(len(calls), 1)).mapInArrow(run, _RESULT).collect()
    return [_unpacked(row.result) for row in sorted(done, key=lambda row: row.number)]


# ------------------------------------------------------------------------------------------------ columns


def _has_lengths(kind: Any) -> bool:
    """Whether it is a type of lists whose lengths differ. Spark's are large with spark.sql.execution.arrow.useLargeVarTypes."""
    return bool(pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind))


def _is_text(kind: Any) -> bool:
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def vectors_of(column: Any, what: str) -> Any:
    """Vectors [n, n_dims] of a column of lists of numbers; what names the partition and rows in messages."""
    if not (_has_lengths(column.type) or pyarrow.types.is_fixed_size_list(column.type)):
        raise _errors.ArgumentTypeError(
            f"{what}: a column of {column.type} was given: expected arrays of numbers; convert vectors of pyspark.ml by "
            "pyspark.ml.functions.vector_to_array"
        )
    values = column.flatten()
    if column.null_count or values.null_count:
        raise _errors.ArgumentError(f"{what}: holds null: drop these rows first")
    lengths = np.diff(column.offsets.to_numpy()) if _has_lengths(column.type) else np.array([])
    if len(column) and len(lengths) and (lengths != lengths[0]).any():
        raise _errors.ArgumentError(
            f"{what}: holds vectors of {lengths.min()} and of {lengths.max()} numbers: give all rows as many, or drop rows"
        )
    return values.to_numpy(zero_copy_only=False).reshape(len(column), -1)


def need_columns(df: DataFrame, *names: str | None) -> None:
    for name in names:
        if name is not None and name not in df.columns:
            raise _errors.ArgumentError(f"the DataFrame has no column {name!r}: it has {', '.join(df.columns)}")


def _numbers_of(column: Any, what: str, kind: str) -> Any:
    """
    One number per row: kind "ids" is whole ones from 0, as uint64; "whole" whole ones, as int64; "numbers" any, as
    float64.
    """
    types = pyarrow.types
    if not (types.is_integer(column.type) or (kind == "numbers" and types.is_floating(column.type))):
        wanted = "numbers" if kind == "numbers" else "whole numbers"
        raise _errors.ArgumentTypeError(
            f"{what}: {kind if kind == 'ids' else 'values'} of type {column.type}: expected {wanted}"
        )
    if column.null_count:
        raise _errors.ArgumentError(
            f"{what}: {'an id' if kind == 'ids' else 'a number'} is null: drop these rows first"
        )
    values = column.to_numpy(zero_copy_only=False)
    if kind == "ids" and len(values) and values.min() < 0:
        raise _errors.ArgumentError(f"{what}: the id {values.min()} is below 0: ids are whole numbers from 0")
    return np.ascontiguousarray(values, _TYPES[kind])


def _check_features(column: Any, what: str) -> None:
    types = pyarrow.types
    inner = column.type.value_type if _has_lengths(column.type) else column.type
    if inner is column.type or not (_is_text(inner) or types.is_integer(inner)):
        raise _errors.ArgumentTypeError(
            f"{what}: features of type {column.type}: expected arrays of words, or of whole numbers"
        )
    if column.null_count or column.flatten().null_count:
        raise _errors.ArgumentError(f"{what}: a feature is null, or an item's features are: give empty arrays for none")


def _features_of(file: str) -> Any:
    """The features of a file of Arrow batches: lists of words, or offsets and numbers."""
    with pyarrow.memory_map(file) as mapped:
        chunks = pyarrow.ipc.open_stream(mapped).read_all().column(0).chunks
        if _is_text(chunks[0].type.value_type):
            return [words for chunk in chunks for words in chunk.to_pylist()]
        lengths = np.concatenate([[0], *(np.diff(chunk.offsets.to_numpy().astype(np.int64)) for chunk in chunks)])
        return np.cumsum(lengths), np.concatenate([chunk.flatten().to_numpy() for chunk in chunks])


# ------------------------------------------------------------------------------------------------ rows in files

_TYPES = {"vectors": np.float32, "ids": np.uint64, "whole": np.int64, "numbers": np.float64}


class Spooled(NamedTuple):
    """The rows of a partition in files, one a column."""

    files: list[str]
    kinds: Sequence[str]
    n_rows: int
    n_dims: int

    def column(self, number: int) -> Any:
        """A column: mapped, or features. There must be rows."""
        name, kind = self.files[number], self.kinds[number]
        if kind == "features":
            return _features_of(name)
        shape = (self.n_rows, self.n_dims) if kind == "vectors" else (self.n_rows,)
        return np.memmap(name, _TYPES[kind], "r", shape=shape)

    def columns(self) -> list[Any]:
        """All columns."""
        return [self.column(number) for number in range(len(self.kinds))]


def _spool(batches: Iterator[Any], number: int, place: str, kinds: Sequence[str]) -> Spooled:
    if not os.path.isdir(place):
        raise _errors.FileMissingError(
            f"{place}: this directory does not exist on an executor: give one on storage that all machines mount",
            "ENOTFOUND",
        )
    attempt = os.path.join(place, f"{number:06d}-{secrets.token_hex(4)}")  # every attempt has its own files
    names = [f"{attempt}.{column}" for column in range(len(kinds))]
    files: list[Any] = []
    writers: dict[str, Any] = {}
    n_rows = n_dims = 0
    try:
        files.extend(open(name, "wb") for name in names)
        for batch in batches:
            if batch.num_rows == 0:
                continue
            what = f"partition {number}, rows from {n_rows}"
            for file, kind, column in zip(files, kinds, batch.columns):
                if kind == "features":
                    _check_features(column, what)
                    rows = pyarrow.RecordBatch.from_arrays([column], ["features"])
                    if kind not in writers:
                        writers[kind] = pyarrow.ipc.new_stream(file, rows.schema)
                    writers[kind].write_batch(rows)
                    continue
                if kind == "vectors":
                    values = arrays.floats(vectors_of(column, what))
                    if n_rows and values.shape[1] != n_dims:
                        raise _errors.ArgumentError(
                            f"{what}: vectors of {values.shape[1]} numbers, and those before have {n_dims}"
                        )
                    n_dims = values.shape[1]
                else:
                    values = _numbers_of(column, what, kind)
                file.write(values)
            n_rows += batch.num_rows
        for writer in writers.values():
            writer.close()
    finally:
        for file in files:
            file.close()
    return Spooled(names, kinds, n_rows, n_dims)


@contextmanager
def spooled(df: DataFrame, directory: str, kinds: Sequence[str]) -> Iterator[list[Spooled]]:
    """
    Compute a DataFrame once, into files in a directory that all executors see: it may give other rows, or in another
    order, each time. The columns are of these kinds. The files are deleted at the end.
    """
    place = os.path.join(directory, f"parts-{secrets.token_hex(4)}")
    os.mkdir(place)

    def spool(batches: Iterator[Any]) -> Iterator[pyarrow.RecordBatch]:
        number = TaskContext.get().partitionId()
        yield _batch(number, _attempt(_spool, batches, number, place, kinds))

    try:
        done = sorted(df.mapInArrow(spool, _RESULT).collect(), key=lambda row: row.number)
        yield [_unpacked(row.result) for row in done]
    finally:
        shutil.rmtree(place, ignore_errors=True)

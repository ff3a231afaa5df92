# SPDX-License-Identifier: Apache-2.0
"""
Collections of shards from Spark DataFrames, and searches of them by Spark.

    from thresher import spark

    spark.build(items, vector="embedding", id="id", path="/shared/my.shards")  # a shard a partition
    found = spark.search(queries, "/shared/my.shards", k=10)  # query, item, score, rank

The directory is on storage that the driver and all executors see. They write a collection of thresher.shards.
Every step is a mapInArrow. The driver holds the sample that the quantiser learns from, of at most 32 MiB, and a line a
partition. Needs pyspark 4 with pyarrow, in classic mode or Spark Connect.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

try:
    import pyarrow
    from pyspark import TaskContext, cloudpickle
    from pyspark.sql import DataFrame, Window
    from pyspark.sql import functions as F
    from pyspark.sql import types as T
except ImportError as missing:
    raise ImportError(f"thresher.spark needs pyspark 4 and pyarrow: pip install pyspark pyarrow ({missing})") from missing

from . import _errors
from ._build import open_model
from ._core import abi
from .shards import Manifest, read, search_shard
from .shards import open as open_collection
from .shards._build import build_by
from .shards._collection import open_shard
from .shards._publish import build_directory
from .shards._sample import SAMPLE_ROWS

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
    except (_errors.Error, ValueError, TypeError) as raised:
        result = raised
    packed: bytes = cloudpickle.dumps(result)
    return packed


def _batch(number: int, result: bytes) -> pyarrow.RecordBatch:
    columns = [pyarrow.array([number], pyarrow.int64()), pyarrow.array([result], pyarrow.binary())]
    return pyarrow.RecordBatch.from_arrays(columns, ["number", "result"])


def _on(session: Any, function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
    """function of each call's arguments, a task each."""

    def run(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _batch(number, _attempt(function, *calls[number]))

    done = session.range(0, len(calls), 1, max(len(calls), 1)).mapInArrow(run, _RESULT).collect()
    return [_unpacked(row.result) for row in sorted(done, key=lambda row: row.number)]


# ------------------------------------------------------------------------------------------------ columns


def _vectors_of(column: Any, what: str) -> Any:
    """Vectors [n, n_dims] of a column of lists of numbers; what names the partition and rows in messages."""
    if not (pyarrow.types.is_list(column.type) or pyarrow.types.is_fixed_size_list(column.type)):
        raise TypeError(
            f"{what}: a column of {column.type} was given: expected arrays of numbers; convert vectors of pyspark.ml by "
            "pyspark.ml.functions.vector_to_array"
        )
    values = column.flatten()
    if column.null_count or values.null_count:
        raise ValueError(f"{what}: holds null: drop these rows first")
    lengths = np.diff(column.offsets.to_numpy()) if pyarrow.types.is_list(column.type) else np.array([])
    if len(column) and len(lengths) and (lengths != lengths[0]).any():
        raise ValueError(f"{what}: holds vectors of {lengths.min()} and of {lengths.max()} numbers")
    return values.to_numpy(zero_copy_only=False).reshape(len(column), -1)


def _need_columns(df: DataFrame, *names: str | None) -> None:
    for name in names:
        if name is not None and name not in df.columns:
            raise ValueError(f"the DataFrame has no column {name!r}: it has {', '.join(df.columns)}")


# ------------------------------------------------------------------------------------------------ build


def _spool(batches: Iterator[Any], number: int, place: str, with_ids: bool) -> tuple[str, Any, int, int]:
    """
    Write the rows of a partition to files: a build reads them three times, and a DataFrame may give other rows, or in
    another order, each time. (name, name of the ids' file or None, rows, dimensions)
    """
    if not os.path.isdir(place):
        raise _errors.FileMissingError(f"{place}: an executor does not see this directory", "ENOTFOUND")
    name = os.path.join(place, f"{number:06d}-{secrets.token_hex(4)}")  # every attempt has its own
    n_rows = n_dims = 0
    with open(name + ".f32", "wb") as vectors_file, open(name + ".u64", "wb") as ids_file:
        for batch in batches:
            if batch.num_rows == 0:
                continue
            what = f"partition {number}, rows from {n_rows}"
            vectors = _vectors_of(batch.column(0), what)
            if n_rows and vectors.shape[1] != n_dims:
                raise ValueError(f"{what}: vectors of {vectors.shape[1]} numbers, and those before have {n_dims}")
            vectors_file.write(np.ascontiguousarray(vectors, np.float32))
            if with_ids:
                ids_file.write(_ids_of(batch.column(1), what))
            n_rows, n_dims = n_rows + len(vectors), vectors.shape[1]
    return name + ".f32", name + ".u64" if with_ids else None, n_rows, n_dims


def _ids_of(column: Any, what: str) -> Any:
    if not pyarrow.types.is_integer(column.type):
        raise TypeError(f"{what}: ids of type {column.type}: expected whole numbers")
    if column.null_count:
        raise ValueError(f"{what}: an id is null")
    ids = column.to_numpy(zero_copy_only=False)
    if len(ids) and ids.min() < 0:
        raise ValueError(f"{what}: the id {ids.min()} is below 0")
    return np.ascontiguousarray(ids, np.uint64)


class _Part:
    """The files of a partition, which a task reads as a part."""

    def __init__(self, vectors: str, ids: str | None, n_rows: int, n_dims: int) -> None:
        self.files, self.shape = (vectors, ids), (n_rows, n_dims)

    def given(self) -> Any:
        if self.shape[0] == 0:
            vectors, ids = np.empty((0, 1), np.float32), np.empty(0, np.uint64)
        else:
            vectors = np.memmap(self.files[0], np.float32, "r", shape=self.shape)
            ids = None if self.files[1] is None else np.memmap(self.files[1], np.uint64, "r", shape=self.shape[:1])
        return vectors if self.files[1] is None else (vectors, ids)


def _with_part(function: Callable[..., Any], part: _Part, *arguments: Any) -> Any:
    return function(part.given(), *arguments)


def build(
    df: DataFrame,
    *,
    path: str | os.PathLike[str],
    vector: str = "embedding",
    id: str | None = None,
    metric: str = "cosine",
    bits: int = 3,
    keep: str | None = "float32",
    lead_bits: int | None = None,
    rotate: bool | None = None,
    sample_rows: int = SAMPLE_ROWS,
    calibration_queries: int | None = None,
    tune: Any = None,
    replace: bool = False,
    threads: int = 1,
) -> Manifest:
    """
    Build a collection of shards in directory path, a shard for each partition of df that has rows.

    vector    the column of vectors: arrays of numbers
    id        the column of distinct whole numbers; None: items are numbered in the order of the partitions
    threads   of the build of a shard; executors build as many shards at once as they have cores
    the others, and what is returned, as for thresher.shards.build and thresher.shards.read

    df is computed once, and written to files in the directory, which are deleted at the end: it needs space for the
    vectors as float32 in addition to that of the shards. Tasks that are lost or speculated are computed again by Spark;
    what they left is deleted. Nothing is visible at path until all shards are complete.

    Raises as thresher.shards.build, naming the partition.
    """
    directory = os.path.abspath(os.fspath(path))
    _need_columns(df, vector, id)
    given = df.select(*(F.col(name) for name in (vector, id) if name is not None))
    common = {"metric": metric, "keep": keep, "calibration_queries": calibration_queries, "tune": tune, "threads": threads}
    quantiser_options = {"bits": bits, "lead_bits": lead_bits, "rotate": rotate}
    with build_directory(directory, replace):
        place = os.path.join(directory, f"parts-{secrets.token_hex(4)}")
        os.mkdir(place)
        try:

            def spool(batches: Iterator[Any]) -> Iterator[pyarrow.RecordBatch]:
                number = TaskContext.get().partitionId()  # type: ignore[union-attr]
                yield _batch(number, _attempt(_spool, batches, number, place, id is not None))

            done = sorted(given.mapInArrow(spool, _RESULT).collect(), key=lambda row: row.number)
            found = [_unpacked(row.result) for row in done]
            build_by(
                lambda function, calls: _on(df.sparkSession, _with_part, [(function, *call) for call in calls]),
                directory,
                [_Part(*one) for one in found],
                common,
                quantiser_options,
                sample_rows,
            )
        finally:
            shutil.rmtree(place, ignore_errors=True)
    return read(directory)


# ------------------------------------------------------------------------------------------------ search


def _rows_found(ids: Any, scores: Any) -> tuple[Any, Any, Any, Any]:
    """Query, item, score and rank, from 0, of the places that hold an item."""
    query, rank = np.nonzero(ids != abi.NO_ID)
    items = ids[query, rank]
    if len(items) and items.max() > np.uint64(2**63 - 1):
        raise ValueError(f"the id {items.max()} does not fit Spark's whole numbers")
    return query, items.astype(np.int64), scores[query, rank], rank.astype(np.int32)


def _table(query_ids: Any, columns: list[Any], names: list[str]) -> pyarrow.RecordBatch:
    query = columns[0]
    arrays = [query_ids.take(pyarrow.array(query)), *(pyarrow.array(column) for column in columns[1:])]
    return pyarrow.RecordBatch.from_arrays(arrays, names)


def search(
    queries: DataFrame,
    path: str | os.PathLike[str],
    k: int = 10,
    *,
    vector: str = "embedding",
    id: str = "id",
    by: str = "queries",
    recall: float | None = None,
    exact: bool = False,
) -> DataFrame:
    """
    Find the best k items of every query: a DataFrame of `query` (the column id of queries), `item` (long), `score`
    (float) and `rank` (1 to k). It is computed where it is used, as every DataFrame.

    queries   with a column of vectors, and one of ids, of any type
    by        "queries": a task searches all shards for its partition of the queries, so its machine reads all of the
              collection. "shards": a task searches one shard for all queries, and Spark merges the answers: for few
              queries and collections larger than a machine's memory
    recall, exact   as for thresher.shards.Shards.search

    Raises as thresher.shards.open. An executor that cannot open the collection fails the job.
    """
    place = os.path.abspath(os.fspath(path))
    manifest = read(place)
    _need_columns(queries, vector, id)
    if by not in ("queries", "shards"):
        raise ValueError(f'by is {by!r}: expected "queries" or "shards"')
    given = queries.select(F.col(id).alias("query"), F.col(vector).alias("vector"))
    query = T.StructField("query", given.schema["query"].dataType)
    found = [T.StructField("item", T.LongType()), T.StructField("score", T.FloatType())]
    options = {"recall": recall, "exact": exact}
    rank = T.StructField("rank", T.IntegerType())
    if by == "queries":

        def search_all(batches: Iterator[Any]) -> Iterator[pyarrow.RecordBatch]:
            with open_collection(place, threads=1) as collection:
                for batch in batches:
                    if batch.num_rows == 0:
                        continue
                    ids, scores = collection.search(_vectors_of(batch.column(1), "queries"), k, **options)
                    at, items, values, ranks = _rows_found(ids, scores)
                    yield _table(batch.column(0), [at, items, values, ranks + np.int32(1)], ["query", "item", "score", "rank"])

        return given.mapInArrow(search_all, T.StructType([query, *found, rank]))

    def search_shards(batches: Iterator[Any]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            numbers = batch.column(2).to_numpy()
            for number in np.unique(numbers):
                some = batch.filter(pyarrow.array(numbers == number))
                shard = manifest.shards[number]
                with open_shard(place, manifest, int(number), 1, None) as index:
                    ids, scores, _ = search_shard(
                        index, manifest.first_id(shard), _vectors_of(some.column(1), "queries"), k, **options
                    )
                at, items, values, ranks = _rows_found(ids, scores)
                where = np.full(len(at), number, np.int32)
                yield _table(some.column(0), [at, items, values, where, ranks], ["query", "item", "score", "shard", "place"])

    n = len(manifest.shards)
    shards = queries.sparkSession.range(0, n, 1, n).select(F.col("id").cast("int").alias("shard"))
    places = [T.StructField("shard", T.IntegerType()), T.StructField("place", T.IntegerType())]
    answers = (
        given.crossJoin(shards)
        .repartitionByRange(n, "shard")
        .mapInArrow(search_shards, T.StructType([query, *found, *places]))
    )
    # Ties are ordered by the row in the collection: by shard, and by the place in its answer.
    order = Window.partitionBy("query").orderBy(F.desc("score"), "shard", "place")
    ranked = answers.withColumn("rank", F.row_number().over(order))
    return ranked.where(F.col("rank") <= k).select("query", "item", "score", "rank")


# ------------------------------------------------------------------------------------------------ encode


def encode(
    df: DataFrame,
    model: str | os.PathLike[str],
    *,
    text: str = "text",
    side: str = "item",
    output: str = "embedding",
) -> DataFrame:
    """
    df with one more column: the vectors, arrays of float, that a model makes of a column of texts, as the model's
    encode() does. model is a file of a text or dual tower that all executors see; each task opens it once.

    Raises as thresher.Tower.open; ValueError for columns that are not there, or are there already.
    """
    place = os.path.abspath(os.fspath(model))
    open_model(place, 1)  # that it is one
    _need_columns(df, text)
    if output in df.columns:
        raise ValueError(f"the DataFrame has a column {output!r} already")
    columns = [*df.columns, output]
    column = columns.index(text)
    schema = T.StructType([*df.schema.fields, T.StructField(output, T.ArrayType(T.FloatType()))])

    def encoded(batches: Iterator[Any]) -> Iterator[pyarrow.RecordBatch]:
        opened = open_model(place, 1)
        for batch in batches:
            texts = ["" if one is None else one for one in batch.column(column).to_pylist()]
            vectors = np.asarray(opened.encode(texts, side), np.float32)
            offsets = np.arange(len(texts) + 1, dtype=np.int32) * np.int32(vectors.shape[1] if len(texts) else 0)
            made = pyarrow.ListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(vectors.reshape(-1)))
            yield pyarrow.RecordBatch.from_arrays([*batch.columns, made], columns)

    return df.mapInArrow(encoded, schema)

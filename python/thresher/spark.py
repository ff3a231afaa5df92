# SPDX-License-Identifier: Apache-2.0
"""
Collections of shards from Spark DataFrames, and searches of them by Spark.

    from thresher import spark

    spark.build(items, vector="embedding", id="id", path="/shared/my.shards")  # one shard per partition
    found = spark.search(queries, "/shared/my.shards", k=10)  # query, item, score, rank

The directory is on storage that the driver and all executors see. They write a collection of thresher.shards.
Every step is a mapInArrow. The driver holds the sample that the quantiser learns from, of at most 32 MiB, and one line
per partition. Needs pyspark 4 with pyarrow, in classic mode or Spark Connect.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _errors
from ._build import open_model
from ._core import abi
from ._core.checks import path_of
from ._core.notes import held_notes
from ._rank.spark import RankSVM
from ._spark_tasks import DataFrame, F, Spooled, T, Window, need_columns, pyarrow, run_tasks, spooled, vectors_of
from .shards import Manifest, read, search_shard
from .shards import open as open_collection
from .shards._build import BuildOptions, build_by, with_defaults
from .shards._collection import open_shard
from .shards._publish import build_directory

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["RankSVM", "build", "encode", "search"]

# ------------------------------------------------------------------------------------------------ build


class _Part:
    """The files of a partition, which a task reads as a part."""

    def __init__(self, rows: Spooled) -> None:
        self.rows = rows

    def given(self) -> Any:
        """Vectors, and ids if there are some."""
        has_ids = "ids" in self.rows.kinds
        vectors: Any = np.empty((0, 1), np.float32)
        ids: Any = np.empty(0, np.uint64)
        if self.rows.n_rows > 0:
            vectors, ids = self.rows.column(0), self.rows.column(1) if has_ids else None
        return (vectors, ids) if has_ids else vectors


class _Column(NamedTuple):
    """A column of a partition's files, which a task reads as an option."""

    rows: Spooled
    number: int


def _with_part(function: Callable[..., Any], part: _Part, *arguments: Any) -> Any:
    def read(options: Any) -> Any:
        if not isinstance(options, dict):
            return options
        return {key: own.rows.column(own.number) if isinstance(own, _Column) else own for key, own in options.items()}

    return function(part.given(), *map(read, arguments))


def build(
    df: DataFrame,
    *,
    path: str | os.PathLike[str],
    vector: str = "embedding",
    id: str | None = None,
    features: str | None = None,
    multipliers: str | None = None,
    offsets: str | None = None,
    replace: bool = False,
    threads: int = 1,
    **options: Unpack[BuildOptions],
) -> Manifest:
    """
    Build a collection of shards in directory path, a shard for each partition of df that has rows.

    vector    the column of vectors: arrays of numbers
    id        the column of distinct whole numbers; None: items are numbered in the order of the partitions
    features  the column of the items' features: arrays of words, or of whole numbers
    multipliers, offsets   columns of numbers, the items' bids and pacing; they need features
    threads   of the build of a shard; executors build as many shards at once as they have cores
    metric, bits, keep, lead_bits, rotate, scale, sample_rows, cells, calibration_queries, tune
              as for thresher.shards.build; what is returned as for thresher.shards.read

    df is computed once, and written to files in the directory, which are deleted at the end: it needs space for the
    vectors as float32 in addition to that of the shards. Tasks that are lost or speculated are computed again by Spark;
    what they left is deleted. Nothing is visible at path until all shards are complete.

    Raises as thresher.shards.build, naming the partition.
    """
    arguments = {**with_defaults(options), "threads": threads}
    directory = os.path.abspath(path_of(path))
    own = {"features": features, "multipliers": multipliers, "offsets": offsets}
    names = {"vectors": vector, "ids": id, **own}
    taken = {key: name for key, name in names.items() if name is not None}
    need_columns(df, *taken.values())
    given = df.select(*(F.col(name).alias(key) for key, name in taken.items()))
    kinds = [key if key in ("vectors", "ids", "features") else "numbers" for key in taken]
    with build_directory(directory, replace):
        with spooled(given, directory, kinds) as found:
            build_by(
                lambda function, calls: run_tasks(df.sparkSession, _with_part, [(function, *call) for call in calls]),
                directory,
                [_Part(rows) for rows in found],
                arguments,
                {key: [_Column(rows, number) for rows in found] for number, key in enumerate(taken) if key in own},
            )
    return read(directory)


# ------------------------------------------------------------------------------------------------ search


def _rows_found(ids: Any, scores: Any) -> tuple[Any, Any, Any, Any]:
    """Query, item, score and rank, from 0, of the places that hold an item."""
    query, rank = np.nonzero(ids != abi.NO_ID)
    items = ids[query, rank]
    if len(items) and items.max() > np.uint64(2**63 - 1):
        raise _errors.ArgumentError(f"the id {items.max()} does not fit Spark's whole numbers")
    return query, items.astype(np.int64), scores[query, rank], rank.astype(np.int32)


def _features_asked(column: Any) -> list[Any]:
    """The features of each query, of a column of maps or arrays."""
    is_map = pyarrow.types.is_map(column.type)
    return [dict(own or ()) if is_map else own or [] for own in column.to_pylist()]


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
    features: str | None = None,
    value: str = "sum",
    target: str | None = None,
) -> DataFrame:
    """
    Find the best k items of every query: a DataFrame of `query` (the column id of queries), `item` (long), `score`
    (float) and `rank` (1 to k). It is computed where it is used, as every DataFrame.

    queries   with a column of vectors, and one of ids, of any type
    by        "queries": a task searches all shards for its partition of the queries, so its machine reads all of the
              collection. "shards": a task searches one shard for all queries, and Spark merges the answers: for few
              queries and collections larger than a machine's memory
    features  the column of the queries' features, in a collection with features: maps of words, or whole numbers, to
              weights, or arrays of them, which weigh 1 each; null for none
    recall, exact, value, target   as for thresher.shards.Shards.search

    Raises as thresher.shards.open. An executor that cannot open the collection fails the job.
    """
    place = os.path.abspath(path_of(path))
    manifest = read(place)
    need_columns(queries, vector, id, features)
    if by not in ("queries", "shards"):
        raise _errors.ArgumentError(f'by is {by!r}: expected "queries" or "shards"')
    taken = {"query": id, "vector": vector} | ({} if features is None else {"features": features})
    given = queries.select(*(F.col(name).alias(key) for key, name in taken.items()))
    query = T.StructField("query", given.schema["query"].dataType)
    found = [T.StructField("item", T.LongType()), T.StructField("score", T.FloatType())]
    common: dict[str, Any] = {"recall": recall, "exact": exact}
    if features is not None or target is not None:
        common |= {"value": value, "target": target}

    def options(batch: Any) -> dict[str, Any]:
        return common if features is None else {**common, "features": _features_asked(batch.column(2))}

    rank = T.StructField("rank", T.IntegerType())
    if by == "queries":

        def search_all(batches: Iterator[Any]) -> Iterator[pyarrow.RecordBatch]:
            with open_collection(place, threads=1) as collection:
                for batch in batches:
                    if batch.num_rows == 0:
                        continue
                    ids, scores = collection.search(vectors_of(batch.column(1), "queries"), k, **options(batch))
                    at, items, values, ranks = _rows_found(ids, scores)
                    yield _table(batch.column(0), [at, items, values, ranks + np.int32(1)], ["query", "item", "score", "rank"])

        return given.mapInArrow(search_all, T.StructType([query, *found, rank]))

    def search_shards(batches: Iterator[Any]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            numbers = batch.column(batch.num_columns - 1).to_numpy()
            for number in np.unique(numbers):
                some = batch.filter(pyarrow.array(numbers == number))
                shard = manifest.shards[number]
                # held: notes of features that this shard lacks, and others may have
                with open_shard(place, manifest, int(number), 1, None) as index, held_notes():
                    ids, scores, _ = search_shard(
                        index, manifest.first_id(shard), vectors_of(some.column(1), "queries"), k, **options(some)
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

    Raises as thresher.Tower.open; ArgumentError for columns that are not there, or are there already.
    """
    place = os.path.abspath(path_of(model, "model"))
    open_model(place, 1)  # that it is one
    need_columns(df, text)
    if output in df.columns:
        raise _errors.ArgumentError(f"the DataFrame has a column {output!r} already")
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


def __dir__() -> list[str]:
    return __all__

# SPDX-License-Identifier: Apache-2.0
"""Build a collection in one process, part by part."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _errors
from .._build import Model, open_model
from .._dual import Dual
from .._jobs import Progress
from .._tower import Tower
from ._collection import Shards
from ._manifest import Shard
from ._part import build_part
from ._parts import load, spooled
from ._publish import build_directory, publish
from ._sample import SAMPLE_ROWS, build_quantiser, sample, sampled_rows


class PartShape(NamedTuple):
    """The rows, dimensions and bytes a value of a part, whether it has ids, and its name in messages."""

    n_rows: int
    n_dims: int
    value_bytes: int
    has_ids: bool
    what: str


_FLOATS = 32
"""Bits of an item of a model whose item side is not binary."""


def is_binary(model: Tower | Dual | None) -> bool:
    """Whether the items of a model are codes, which no quantiser makes."""
    return isinstance(model, Tower) and model.info.item_bits != _FLOATS


def shape_of(part: Any, number: int) -> PartShape:
    """The shape of a part, before its rows are read."""
    vectors, ids, what = load(part, number)
    return PartShape(len(vectors), vectors.shape[1], vectors.itemsize, ids is not None, what)


def common_sizes(shapes: Sequence[PartShape]) -> tuple[list[int], int]:
    """The rows of each part, and the bytes of a row of the first that has some; parts must be alike."""
    filled = [shape for shape in shapes if shape.n_rows > 0]
    if not filled:
        raise ValueError(f"parts: {len(shapes)} parts hold no rows: a collection needs at least one")
    first = filled[0]
    for shape in filled:
        if shape.n_dims != first.n_dims:
            raise ValueError(f"{shape.what}: rows of {shape.n_dims} dimensions, and {first.what} has {first.n_dims}")
        if shape.has_ids != first.has_ids:
            raise ValueError(f"{shape.what}: has {'' if shape.has_ids else 'no '}ids, unlike {first.what}")
    return [shape.n_rows for shape in shapes], first.n_dims * first.value_bytes


def rows_by_part(sizes: Sequence[int], rows: Any) -> list[Any]:
    """Rows of the whole, split by part, as offsets within the part."""
    ends = np.cumsum(sizes)
    return [rows[(rows >= end - n) & (rows < end)] - (end - n) for n, end in zip(sizes, ends)]


def build(
    path: str | os.PathLike[str],
    parts: Iterable[Any],
    *,
    metric: str | None = None,
    bits: int = 3,
    keep: str | None = "float32",
    lead_bits: int | None = None,
    rotate: bool | None = None,
    sample_rows: int = SAMPLE_ROWS,
    calibration_queries: int | None = None,
    tune: Any = None,
    model: Model | None = None,
    replace: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Shards:
    """
    Build a collection in directory path, a shard for each part that has rows, and open it.

    parts         vectors [n, n_dims], the name of a .npy file of them, or a pair (vectors, ids). A list, or another
                  sequence, is read three times, a part at a time; the parts of another iterable are written to the
                  directory first. ids are distinct integers, or names; without them an item's id is its row, counted
                  over all parts
    sample_rows   rows, spread over all parts, from which the quantiser learns
    calibration_queries   items of a shard that calibrate it, as for Index.build
    model         the model whose item side produced the vectors, as for Index.build; every shard stores a copy, and
                  queries may be texts
    tune          queries [m, n_dims] that calibrate every shard instead
    replace       replace a collection that is there, at the moment the new one is complete
    progress      called with ("build", items done, all items); returns False to stop the build
    the others    as for Index.build

    The quantiser is that of one index over all rows (Index.build of the same rows with the same options), so scores are
    the same bits. Readers of path see nothing until the end: after an error, Ctrl-C or a kill the old content remains.

    Raises as Index.build, naming the part and its file; ExistsError; ArgumentError also for an id in two parts.
    """
    directory = os.fspath(path)
    if model is not None and not isinstance(model, (Tower, Dual)):
        model = open_model(model, threads)
    if metric is None:
        metric = "ip" if isinstance(model, Dual) else "cosine"
    common = {
        "metric": metric,
        "keep": keep,
        "model": model,
        "calibration_queries": calibration_queries,
        "tune": tune,
        "threads": threads,
    }
    made = [os.path.join(directory, f"{what}-{secrets.token_hex(4)}") for what in ("parts", "quantiser")]
    with build_directory(directory, replace):
        try:
            listed = spooled(parts, made[0])
            sizes, row_bytes = common_sizes([shape_of(part, number) for number, part in enumerate(listed)])
            quantiser = None
            if not is_binary(model):
                quantiser = made[1]
                wanted = rows_by_part(sizes, sampled_rows(sum(sizes), row_bytes, sample_rows))
                samples = []
                for number, rows in enumerate(wanted):
                    if len(rows):
                        vectors, _, what = load(listed[number], number)
                        samples.append(sample(vectors, rows, what))
                build_quantiser(
                    quantiser,
                    samples,
                    metric=metric,
                    bits=bits,
                    lead_bits=lead_bits,
                    rotate=rotate,
                    threads=threads,
                )
            shards = _build_parts(directory, listed, sizes, quantiser, common, progress, made.append)
            publish(directory, shards)
        except BaseException:
            for name in made:
                shutil.rmtree(name, ignore_errors=True)
            raise
    return Shards(directory, threads=threads)


def _build_parts(
    directory: str,
    parts: Sequence[Any],
    sizes: Sequence[int],
    quantiser: str | None,
    common: dict[str, Any],
    progress: Progress | None,
    note: Callable[[str], None],
) -> list[Shard]:
    shards: list[Shard] = []
    first_row = 0
    for number, n in enumerate(sizes):
        if n == 0:
            continue
        vectors, ids, what = load(parts[number], number)
        if len(vectors) != n:
            raise ValueError(f"{what}: has {len(vectors)} rows, and had {n} when the build began")
        shard = build_part(
            directory, number, vectors, quantiser_from=quantiser, first_row=first_row, ids=ids, what=what, **common
        )
        shards.append(shard)
        note(os.path.join(directory, shard.directory))
        first_row += n
        if progress is not None and progress("build", first_row, sum(sizes)) is False:
            raise _errors.CanceledError(f"{directory}: the build was stopped", "ECANCELED")
    return shards

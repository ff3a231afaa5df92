# SPDX-License-Identifier: Apache-2.0
"""Build a collection in one process, part by part."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import _errors
from .._build import Model
from .._dual import Dual
from .._jobs import Progress
from .._tower import Tower
from ._collection import Shards
from ._manifest import Shard
from ._part import build_part
from ._parts import load, spooled
from ._publish import build_directory, publish
from ._sample import SAMPLE_ROWS, build_quantiser, sample, sampled_rows

_FLOATS = 32
"""Bits of an item of a model whose item side is not binary."""


def is_binary(model: Model | None) -> bool:
    """Whether the items of a model are codes, which no quantiser makes."""
    if model is None or isinstance(model, Dual):
        return False
    if isinstance(model, Tower):
        return model.info.item_bits != _FLOATS
    try:
        with Tower(model) as tower:
            return is_binary(tower)
    except _errors.FormatError:  # a dual model, or none: the build reports that
        return False


def sizes_of(parts: Sequence[Any]) -> tuple[list[int], int]:
    """The rows of each part, and the bytes of a row of the first part that has some."""
    n_dims, row_bytes, sizes = 0, 0, []
    for number, part in enumerate(parts):
        vectors, ids, what = load(part, number)
        n, dims = vectors.shape
        if n > 0 and n_dims not in (0, dims):
            raise ValueError(f"{what}: rows of {dims} dimensions, and parts before have {n_dims}")
        if n > 0 and n_dims == 0:
            n_dims, row_bytes = dims, dims * vectors.itemsize
            with_ids = ids is not None
        if n > 0 and with_ids != (ids is not None):
            raise ValueError(f"{what}: {'has ids' if ids is not None else 'has no ids'}, unlike parts before")
        sizes.append(n)
    if sum(sizes) == 0:
        raise ValueError(f"parts: {len(sizes)} parts hold no rows: a collection needs at least one")
    return sizes, row_bytes


def rows_by_part(sizes: Sequence[int], rows: Any) -> list[Any]:
    """For each part those of the rows, which count over all parts, that are in it, counted from its first."""
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
    tune          queries [m, n_dims] that calibrate every shard instead
    replace       replace a collection that is there, at the moment the new one is complete
    progress      called with ("build", items done, all items); returns False to stop the build
    the others    as for Index.build

    The quantiser is that of one index over all rows (Index.build of the same rows with the same options), so scores are
    the same bits. Readers of path see nothing until the end: after an error, Ctrl-C or a kill the old content remains.

    Raises as Index.build, naming the part and its file; ExistsError; ArgumentError also for an id in two parts.
    """
    directory = os.fspath(path)
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
            sizes, row_bytes = sizes_of(listed)
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
                    metric="ip" if metric is None and _is_dual(model) else metric,
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


def _is_dual(model: Model | None) -> bool:
    return isinstance(model, Dual)


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

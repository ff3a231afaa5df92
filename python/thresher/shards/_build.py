# SPDX-License-Identifier: Apache-2.0
"""Build a collection part by part: the steps, for any engine, and all of them in one process."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np

from .. import _errors
from .._build import Model, open_model
from .._core.checks import MOST_CELLS, check_cells, check_names, whole
from .._core.progress import Progress, end_report, report_of
from .._dual import Dual
from .._tower import Tower
from ._collection import Shards
from ._manifest import Shard, cells_of_share
from ._parts import Loaded, directory_of, load, spooled
from ._publish import build_directory, forget, publish
from ._sample import SAMPLE_ROWS, build_quantiser, sample, sampled_rows
from ._shard import build_shard


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
        raise _errors.ArgumentError(f"parts: {len(shapes)} parts hold no rows: a collection needs at least one")
    first = filled[0]
    for shape in filled:
        if shape.n_dims != first.n_dims:
            raise _errors.ArgumentError(
                f"{shape.what}: rows of {shape.n_dims} dimensions, and {first.what} has {first.n_dims}"
            )
        if shape.has_ids != first.has_ids:
            raise _errors.ArgumentError(f"{shape.what}: has {'' if shape.has_ids else 'no '}ids, unlike {first.what}")
    return [shape.n_rows for shape in shapes], first.n_dims * first.value_bytes


def _checked_cells(cells: Any) -> int | str | None:
    """cells, if a collection can have so many; None for 1."""
    check_cells(cells)
    if cells is None or isinstance(cells, str):
        return cells
    try:
        n = whole(cells, "cells", 1, 2**32 - 1)
    except _errors.ArgumentTypeError:
        raise
    except _errors.ArgumentError:
        raise _errors.ArgumentError(f"cells is {cells}: 1 to {MOST_CELLS} for each shard are possible") from None
    return n if n > 1 else None


def rows_by_part(sizes: Sequence[int], rows: Any) -> list[Any]:
    """Rows of the whole, split by part, as offsets within the part."""
    ends = np.cumsum(sizes)
    return [rows[(rows >= end - n) & (rows < end)] - (end - n) for n, end in zip(sizes, ends)]


# ------------------------------------------------------------------------------------------------ steps, of any engine

Run = Callable[[Callable[..., Any], list[tuple[Any, ...]]], Iterable[Any]]
"""run(function, calls): what function returns for the arguments of each call, in their order, wherever it runs."""


def _shape(part: Any, number: int, path: str) -> tuple[PartShape, str]:
    """The shape of a part, and the version of this package."""
    from .. import __version__

    if not os.path.isdir(path):
        raise _errors.FileMissingError(
            f"{path}: this directory does not exist on {socket.gethostname()}: give one on storage that all workers mount",
            "ENOTFOUND",
        )
    return shape_of(part, number), __version__


def _again(part: Any, number: int, before: PartShape) -> Loaded:
    """Read a part again, which must have the rows, dimensions and ids that it had before."""
    loaded = load(part, number)
    had, has = (before.n_rows, before.n_dims), loaded.vectors.shape
    if has != had or (loaded.ids is not None) != before.has_ids:
        now, then = (f"{n_rows} rows of {n_dims} dimensions" for n_rows, n_dims in (has, had))
        what = f"has {now}, and had {then}" if has != had else "has ids in one pass, and none in another"
        raise _errors.ArgumentError(f"{loaded.what}: {what} when the build began: give the same part every time")
    return loaded


def _sampled(part: Any, number: int, shape: PartShape, rows: Any) -> Any:
    vectors, _, what = _again(part, number, shape)
    return sample(vectors, rows, what)


def _built(part: Any, number: int, path: str, shape: PartShape, options: dict[str, Any]) -> Shard:
    vectors, ids, what = _again(part, number, shape)
    return build_shard(path, number, vectors, ids=ids, what=what, **options)


def _same_version(found: Iterable[tuple[PartShape, str]]) -> Iterator[PartShape]:
    from .. import __version__

    for shape, version in found:
        if version != __version__:
            raise _errors.MismatchError(
                f"a worker has version {version} of thresher, and the client {__version__}: install the same",
                "EMISMATCH",
            )
        yield shape


_OF_SHARDS = ("metric", "keep", "model", "calibration_queries", "tune", "threads")
_OF_QUANTISER = ("metric", "keep", "threads", "bits", "lead_bits", "rotate", "scale")


def build_by(
    run: Run,
    directory: str,
    parts: Sequence[Any],
    given: Mapping[str, Any],
    by_part: Mapping[str, Sequence[Any]],
) -> None:
    """
    Build shards of the parts by run(), and publish them; the caller has build_directory(). given: the arguments of a
    build(), of which the options of build_quantiser() and build_shard() are used; by_part: those of which each part has
    its own, a list each. This process holds the sample and one line per shard. After an error all that was written is
    deleted, also by workers that were lost.
    """
    common = {name: given.get(name) for name in _OF_SHARDS}
    quantiser = os.path.join(directory, f"quantiser-{secrets.token_hex(4)}")
    learned = not is_binary(common.get("model"))
    n_sample = whole(given["sample_rows"], "sample_rows", 1, 2**32 - 1)
    try:
        cells = _checked_cells(given.get("cells"))
        shapes = list(_same_version(run(_shape, [(part, number, directory) for number, part in enumerate(parts)])))
        sizes, row_bytes = common_sizes(shapes)
        if isinstance(cells, int) and cells > sum(sizes):
            raise _errors.ArgumentError(f"cells {cells} exceeds the number of items, {sum(sizes)}")
        if learned:
            wanted = rows_by_part(sizes, sampled_rows(sum(sizes), row_bytes, n_sample))
            some = [number for number, rows in enumerate(wanted) if len(rows)]
            samples = list(run(_sampled, [(parts[number], number, shapes[number], wanted[number]) for number in some]))
            build_quantiser(quantiser, samples, **{name: given[name] for name in _OF_QUANTISER})
        calls: list[tuple[Any, ...]] = []
        first_row = 0
        for number, n in enumerate(sizes):
            options = {**common, "quantiser_from": quantiser if learned else None, "first_row": first_row}
            options.update({name: values[number] for name, values in by_part.items()})
            if n:
                options["cells"] = cells_of_share(cells, n, sum(sizes))
                calls.append((parts[number], number, directory, shapes[number], options))
            first_row += n
        publish(directory, list(run(_built, calls)), cells=cells)
    except BaseException:
        forget(directory)
        raise


def options_by_part(n_parts: int, **given: Sequence[Any] | None) -> dict[str, Sequence[Any]]:
    """The options that are given, of which each part has its own."""
    by_part = {name: values for name, values in given.items() if values is not None}
    for name, values in by_part.items():
        if isinstance(values, (str, Mapping)) or not hasattr(values, "__len__") or not hasattr(values, "__getitem__"):
            kind = type(values).__name__
            raise _errors.ArgumentTypeError(f"{name}: a {kind} was given: expected a list with those of each part")
        if len(values) != n_parts:
            raise _errors.ArgumentError(f"{name}: {len(values)} are given for {n_parts} parts: give one for each")
    return by_part


# ------------------------------------------------------------------------------------------------ in one process


class BuildOptions(TypedDict, total=False):
    """The arguments of build() that are the same wherever the parts are."""

    metric: str | None
    bits: int
    keep: str | None
    lead_bits: int | None
    rotate: bool | None
    scale: float | None
    sample_rows: int
    cells: int | str | None
    calibration_queries: int | None
    tune: Any


def with_defaults(options: BuildOptions) -> dict[str, Any]:
    """The arguments of a build(): options, and defaults of the others."""
    check_names(options, BuildOptions)
    return {**(build.__kwdefaults__ or {}), **options}


def build(
    path: str | os.PathLike[str],
    parts: Iterable[Any],
    *,
    metric: str | None = None,
    bits: int = 3,
    keep: str | None = "float32",
    lead_bits: int | None = None,
    rotate: bool | None = None,
    scale: float | None = None,
    sample_rows: int = SAMPLE_ROWS,
    cells: int | str | None = None,
    calibration_queries: int | None = None,
    tune: Any = None,
    model: Model | None = None,
    features: Sequence[Any] | None = None,
    multipliers: Sequence[Any] | None = None,
    offsets: Sequence[Any] | None = None,
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
    cells         store the items in about so many cells of neighbours, counted over all shards; each shard gets a share
                  in proportion to its items. "auto": decided for each shard, as Index.build does. Without ids the
                  items' rows become given ids; make filters with filter_ids()
    calibration_queries   items of a shard that calibrate it, as for Index.build
    model         the model whose item side produced the vectors, as for Index.build; every shard stores a copy, and
                  queries may be texts
    features, multipliers, offsets   a list each, with those of each part's items, as for Index.build
    tune          queries [m, n_dims] that calibrate every shard instead
    replace       replace a collection that is there, at the moment the new one is complete
    progress      called with ("build", items done, all items); returns False to stop the build
    the others    as for Index.build

    The quantiser is that of one index over all rows (Index.build of the same rows with the same options), so scores are
    the same bits. Readers of path see nothing until the end: after an error, Ctrl-C or a kill the old content remains.

    Raises as Index.build, naming the part and its file; ExistsError; BusyError; ArgumentError also for an id or a name
    in two parts.
    """
    directory, report = directory_of(path), report_of(progress)
    if model is not None and not isinstance(model, (Tower, Dual)):
        model = open_model(model, threads)
    if metric is None:
        metric = "ip" if isinstance(model, Dual) else "cosine"
    options = locals()

    def run(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> Iterator[Any]:
        n_done, n_items = 0, sum(call[3].n_rows for call in calls) if function is _built else 0
        for call in calls:
            result = function(*call)
            yield result
            n_done += result.n_items if function is _built else 0
            if function is _built and report is not None and report("build", n_done, n_items) is False:
                raise _errors.CanceledError(f"{directory}: the build was stopped", "ECANCELED")

    with build_directory(directory, replace):
        try:
            listed = spooled(parts, os.path.join(directory, f"parts-{secrets.token_hex(4)}"))
            by_part = options_by_part(len(listed), features=features, multipliers=multipliers, offsets=offsets)
        except BaseException:
            forget(directory)
            raise
        build_by(run, directory, listed, options, by_part)
        end_report(report)
    return Shards(directory, threads=threads)

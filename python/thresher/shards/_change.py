# SPDX-License-Identifier: Apache-2.0
"""
Change a collection: add a shard, remove items, join small shards.

A change makes new shards and publishes them with the unchanged ones by one rename, as a build does. Readers see all of
it or nothing; open collections go on with the old shards.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import _errors
from .._build import open_model
from .._core import abi, arrays
from .._core.checks import choice, path_of, whole
from .._core.tables import as_names
from .._index import Index
from .._items import IdArray, Items, check_found, find_names
from ._build import is_binary
from ._collection import open_shard
from ._ids import ids_of
from ._manifest import Manifest, Shard, read
from ._parts import load
from ._publish import build_directory, flush_shard, forget, publish
from ._shard import build_shard, described, new_name

SMALL = 100_000
"""Shards with fewer items take longer for each of them (docs/many-machines.md)."""


@contextmanager
def _changing(path: str | os.PathLike[str]) -> Iterator[tuple[str, Manifest]]:
    """Lock the collection against other changes and builds; delete what a change that fails has made."""
    directory = path_of(path)
    read(directory)
    with _errors.os_errors(directory), build_directory(directory, True):
        manifest = read(directory)
        try:
            yield directory, manifest
        except BaseException:
            forget(directory)
            raise


def _publish(directory: str, manifest: Manifest, shards: Sequence[Shard]) -> Manifest:
    """
    Publish shards in place of a manifest's with new first rows: each shard's follow those of the one before. Without
    ids, rows are ids.
    """
    moved, row = [], 0
    for shard in shards:
        end = row + shard.n_items
        moved.append(shard._replace(first_row=row))
        if not manifest.has_ids:
            moved[-1] = moved[-1]._replace(least_id=row, greatest_id=end - 1)
        row = end
    return publish(
        directory,
        moved,
        distinct_names=True,
        given_ids=manifest.has_ids,
        cells=manifest.cells_of(row),
        has_removed=manifest.has_removed or row < manifest.n_items,
    )


def _part_like(directory: str, manifest: Manifest, number: int, vectors: Any, **options: Any) -> Shard:
    """build_shard() with the quantiser and model of the collection."""
    first = os.path.join(directory, manifest.shards[0].directory)
    with Index(first) as index:
        with_features = index.hits is not None
        models = [name for name in os.listdir(first) if name.startswith("model-")] if index.model is not None else []
        model = open_model(os.path.join(first, models[0]), options.get("threads")) if models else None
        if with_features != (options.get("features") is not None):
            wanted = "has features: give features=" if with_features else "has no features: give none"
            raise _errors.ArgumentError(f"{directory}: {wanted}")
        return build_shard(
            directory,
            number,
            vectors,
            quantiser_from=None if is_binary(model) else first,
            metric=manifest.metric,
            keep=manifest.keep,
            cells=manifest.cells_of(len(vectors)),
            model=model,
            **options,
        )


def _check_names(directory: str, manifest: Manifest, ids: Any) -> None:
    """Raise an error if ids are names of which an item of the collection has one."""
    names = None if ids is None else as_names(ids)
    if names is None:
        return
    for number, shard in enumerate(manifest.shards):
        with Index(os.path.join(directory, shard.directory)) as index:
            there = np.flatnonzero(find_names(index.handle(), names) != abi.NO_ID)
        if len(there):
            raise _errors.ArgumentError(
                f"{directory}: the name {names[there[0]]!r} is in shard {number} ({shard.directory}) already: names of a "
                "collection are distinct",
                "EDUPLICATE",
            )


def add(
    path: str | os.PathLike[str],
    vectors: Any,
    *,
    ids: Any = None,
    features: Any = None,
    multipliers: Any = None,
    offsets: Any = None,
    calibration_queries: int | None = None,
    tune: Any = None,
    threads: int | None = None,
) -> Manifest:
    """
    Add items to the collection in directory path, as one more shard with the collection's quantiser; returns the new
    manifest. compact() joins small shards.

    vectors   [n, n_dims], as for build; without rows nothing changes
    ids       distinct integers [n] that no item of the collection has, or names; None in a collection without ids: rows
              are counted on
    features, multipliers, offsets   of the items, in a collection with features, as for Index.build
    the others   as for build

    Raises as build; ArgumentError for an id or name that the collection has already; FormatError or FileMissingError for
    no collection.
    """
    with _changing(path) as (directory, manifest):
        if (ids is None) == (manifest.has_ids or manifest.has_names):
            raise _errors.ArgumentError(
                f"{directory}: "
                + ("was built without ids: give none" if ids is not None else "items have ids or names: give ids")
            )
        _check_names(directory, manifest, ids)
        vectors, pair, _ = load(vectors, len(manifest.shards))
        if pair is not None:
            raise _errors.ArgumentTypeError("vectors: a pair of vectors and ids was given: give ids=")
        if len(vectors) == 0:
            return manifest
        made = _part_like(
            directory,
            manifest,
            len(manifest.shards),
            vectors,
            first_row=manifest.n_items,
            ids=ids,
            features=features,
            multipliers=multipliers,
            offsets=offsets,
            calibration_queries=calibration_queries,
            tune=tune,
            threads=threads,
            what="vectors",
        )
        return _publish(directory, manifest, [*manifest.shards, made])


def _sound(directory: str, manifest: Manifest, number: int) -> Index:
    """A shard to be copied, every byte verified: a copy has new checksums, which would hide what is damaged."""
    index = open_shard(directory, manifest, number, None, None)
    try:
        index.verify()
    except BaseException:
        index.close()
        raise
    return index


def _without(directory: str, manifest: Manifest, number: int, ids: Any) -> Shard:
    """A copy of a shard without some items. Its rows follow each other again."""
    name = new_name(number)
    target = os.path.join(directory, name)
    with _sound(directory, manifest, number) as index:
        os.mkdir(target)
        for own in os.listdir(index.path):
            shutil.copyfile(os.path.join(index.path, own), os.path.join(target, own))
    with Index(target) as index:
        index.remove(ids=ids)
        index._rewrite()
        flush_shard(target)
        return described(index, name, 0)


def _rebuilt(
    directory: str, manifest: Manifest, run: Sequence[int], gone: Collection[str] = (), threads: int | None = None
) -> Shard:
    """One shard built from the vectors of neighbouring ones, without the items of these names. Rows follow each other."""
    if manifest.keep not in ("float32", "float16"):
        raise _errors.UnsupportedError(
            f"{directory}: keeps {manifest.keep} vectors, and shards are rebuilt from float32 or float16: build the "
            "collection again",
            "EUNSUPPORTED",
        )
    vectors, ids, names = [], [], []
    for number in run:
        with _sound(directory, manifest, number) as index:
            if index.hits is not None:
                why = "shards with features are not rebuilt: build the collection again"
                raise _errors.UnsupportedError(f"{index.path}: {why}", "EUNSUPPORTED")
            own = ids_of(index)
            if not manifest.has_ids:
                own = np.sort(own)  # cells reorder items
            held = index.name(own) if manifest.has_names else []
            if gone:
                own = own[[name not in gone for name in held]]
            vectors.append(index.vectors(own))
            ids.append(own)
            names += [name for name in held if name not in gone]
    given: Any = names if manifest.has_names else np.concatenate(ids) if manifest.has_ids else None
    first_row = manifest.shards[run[0]].first_row
    rows = np.concatenate(vectors)
    return _part_like(directory, manifest, run[0], rows, first_row=first_row, ids=given, threads=threads)


def _wanted(directory: str, manifest: Manifest, ids: Any) -> Items:
    """Distinct ids or names, whichever the collection has."""
    names = as_names(ids)
    if (names is not None) != manifest.has_names:
        raise _errors.ArgumentError(
            f"{directory}: items have {'names: give names' if manifest.has_names else 'no names: give ids'}"
        )
    if names is not None:
        return list(dict.fromkeys(names))
    if not manifest.has_ids:
        raise _errors.UnsupportedError(
            f"{directory}: ids are row numbers, which removing would change: build it with ids or names", "EUNSUPPORTED"
        )
    wanted: IdArray = np.unique(arrays.ids(ids, "ids"))
    return wanted


def _held(index: Index, wanted: Items) -> Any:
    """Which of the items an index holds: bool [m]."""
    return find_names(index.handle(), wanted) != abi.NO_ID if isinstance(wanted, list) else np.isin(wanted, ids_of(index))


def remove(path: str | os.PathLike[str], ids: Any, *, missing: str = "raise") -> Manifest:
    """
    Remove the items with these integer ids [m], or names, from the collection in directory path; returns the new
    manifest. Shards that hold some of them are written again, a shard at a time, after every byte was verified; shards
    that hold no other items are left out. In a collection with names the rows of later items change.

    missing   "raise" for an id or name that no item has, or "ignore"

    Raises NotFoundError (an unknown id or name); UnsupportedError for a collection whose ids are row numbers, and for names
    where no float vectors are kept, or with features; ArgumentError if no item would be left; FormatError or FileMissingError.
    """
    choice(missing, "missing", {"raise": 0, "ignore": 1})
    with _changing(path) as (directory, manifest):
        wanted = _wanted(directory, manifest, ids)
        kept: list[Shard] = []
        found = np.zeros(len(wanted), bool)
        for number, shard in enumerate(manifest.shards):
            with open_shard(directory, manifest, number, None, None) as index:
                here = _held(index, wanted)
            found |= here
            if not here.any():
                kept.append(shard)
            elif here.sum() < shard.n_items:
                if isinstance(wanted, list):
                    kept.append(_rebuilt(directory, manifest, [number], set(wanted)))
                else:
                    kept.append(_without(directory, manifest, number, wanted[here]))
        if missing == "raise":
            unknown = np.where(found, np.uint64(0), np.uint64(abi.NO_ID))
            check_found(directory, wanted, unknown, ': missing="ignore" leaves out such items')
        if not kept:
            raise _errors.ArgumentError(f"{directory}: no item would be left: delete the directory", "EINVAL")
        return _publish(directory, manifest, kept) if tuple(kept) != manifest.shards else manifest


def _runs(shards: Sequence[Shard], least_items: int) -> list[list[int]]:
    """Neighbouring shards to join: each run reaches least_items, and the last one takes what is left."""
    runs: list[list[int]] = [[]]
    for number, shard in enumerate(shards):
        held = sum(shards[n].n_items for n in runs[-1])
        if runs[-1] and held >= least_items:
            runs.append([])
        runs[-1].append(number)
        if shard.n_items >= least_items and len(runs[-1]) > 1:
            runs.append([runs[-1].pop()])
    return runs


def compact(
    path: str | os.PathLike[str], *, least_items: int = SMALL, threads: int | None = None
) -> Manifest:
    """
    Join neighbouring shards that hold fewer than least_items items, in the memory of one joined shard; returns the new
    manifest. Rows, ids and exact scores stay.

    Raises UnsupportedError for a collection that keeps no vectors, keeps int8, or has features; FormatError or
    FileMissingError.
    """
    whole(least_items, "least_items", 1, 2**63)
    with _changing(path) as (directory, manifest):
        runs = _runs(manifest.shards, least_items)
        if len(runs) == len(manifest.shards):
            return manifest
        shards = manifest.shards
        made = [shards[run[0]] if len(run) == 1 else _rebuilt(directory, manifest, run, threads=threads) for run in runs]
        return _publish(directory, manifest, made)

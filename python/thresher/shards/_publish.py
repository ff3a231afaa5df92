# SPDX-License-Identifier: Apache-2.0
"""Publish the shards of a build: check that they belong together, and rename shards.json into place."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from .. import _errors
from .._core import abi
from .._core.checks import path_of
from .._core.jobs import Change
from .._index import Index
from ._duplicates import check_ids
from ._manifest import NAME, Manifest, Shard, checksum_of, describe, read, write

_OURS = re.compile(r"(\d{6}|quantiser)-[0-9a-f]{8}|parts-[0-9a-z_]{8}|shards\.json|\.shards\.json\.[0-9a-f]{16}\.tmp")


def is_shard_name(name: str) -> bool:
    """Whether a shard may have this directory: six decimal and eight hexadecimal digits."""
    return re.fullmatch(r"\d{6}-[0-9a-f]{8}", name) is not None


def _claim(path: str, lock: int, replace: bool) -> None:
    """Lock the directory against other builds, if a collection may be built there."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _errors.BusyError(
            f"{path}: another build is at work in this directory: wait until it has ended", "EBUSY"
        ) from None
    others = [name for name in os.listdir(path) if not _OURS.fullmatch(name)]
    if others:
        raise _errors.ExistsError(f"{path}: holds other files, such as {others[0]}: name a new directory", "EEXIST")
    if os.path.exists(os.path.join(path, NAME)) and not replace:
        raise _errors.ExistsError(f"{path}: holds a collection already: give replace=True to replace it", "EEXIST")


@contextmanager
def build_directory(path: str, replace: bool) -> Iterator[None]:
    """Make the directory, and lock it against other builds; remove it again if it was made and nothing is in it."""
    place = os.path.realpath(path)  # of a link, what it names
    with _errors.os_errors(path):
        made = not os.path.lexists(place)
        try:
            os.makedirs(place, exist_ok=True)
        except FileExistsError:
            raise _errors.ExistsError(f"{path}: is a file, not a directory: choose another name", "EEXIST") from None
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with _errors.os_errors(path):
            _claim(path, lock, replace)
        yield
    finally:
        os.close(lock)
        if made:
            with suppress(OSError):
                os.rmdir(place)


def _differ(path: str, number: int, shard: Shard, key: str, one: object, other: object) -> _errors.MismatchError:
    shown = (f"{one:016x}", f"{other:016x}") if key in ("quantiser", "model") else (one, other)
    return _errors.MismatchError(
        f"{os.path.join(path, shard.directory)}: shard {number} has {key} {shown[1]}, and shard 0 has {shown[0]}: "
        f"shards of one collection have the same{': texts of digits alone are ids' * (key == 'has_names')}",
        "EMISMATCH",
    )


def publish(
    path: str | os.PathLike[str],
    shards: Sequence[Shard],
    *,
    distinct_names: bool = False,
    given_ids: bool = False,
    cells: int | str | None = None,
    has_removed: bool = False,
) -> Manifest:
    """
    Make the shards that build_shard() has described, in the order of their rows, the collection in directory path. This
    replaces a collection that is there; searches that are open go on with the old one. Directories of shards that are
    not in it are deleted, also those of builds that were stopped. distinct_names: the caller has checked that no name is
    in two shards, which takes a microsecond a name. given_ids: ids were given, although no shard may store any, because
    they are 0, 1, 2, ... cells: as for build(), kept for later changes; None: as many as the shards have. has_removed: an
    item of the collection was removed once.

    Raises MismatchError (shards of different metric, dimensions, quantiser, model or format); FormatError (rows of
    shards that overlap or leave a gap, or a shard twice); ArgumentError (an id or a name in two shards); FileError. Then nothing
    is published.
    """
    directory = path_of(path)
    if not shards:
        raise _errors.ArgumentError("publish: a collection needs at least one shard")
    common: dict[str, Any] = {}
    has_ids = []
    n_cells = 0
    for number, shard in enumerate(shards):
        with Index(os.path.join(directory, shard.directory)) as index:
            found = describe(index)
            n_cells += index.info.n_cells
            if len(index) != shard.n_items or checksum_of(index.path) != shard.checksum:
                raise _errors.FormatError(f"{index.path}: shard {number} was changed since it was built", "ECHANGED")
        has_ids.append(found.pop("has_ids"))
        common = common or found
        for key, value in found.items():
            if value != common[key]:
                raise _differ(directory, number, shard, key, common[key], value)
    cells = cells or n_cells or None
    given_ids = given_ids or any(has_ids) or (cells is not None and not common["has_names"])
    for number, shard in enumerate(shards):  # an index whose ids are 0, 1, 2, ... stores none
        if has_ids[number] != given_ids and shard.least_id != 0:
            raise _differ(directory, number, shard, "has_ids", not has_ids[number], has_ids[number])
    n_items = sum(shard.n_items for shard in shards)
    manifest = Manifest(**common, has_ids=given_ids, n_items=n_items, shards=tuple(shards), cells=cells, n_cells=n_cells)
    manifest = manifest._replace(has_removed=has_removed)
    with _errors.os_errors(directory):
        if manifest.has_ids:
            check_ids(directory, manifest.shards, scratch=directory)
        if manifest.has_names and not distinct_names:
            check_ids(directory, manifest.shards, names=True, scratch=directory)
        with Change() as job:
            write(directory, manifest)
            job.finish(abi.OK)
            try:
                clean(directory, {shard.directory for shard in shards})
            except BaseException:
                forget(directory)
                raise
    job.warn(directory)
    return manifest


def flush(place: str) -> None:
    """Write a file or directory to the disk."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_shard(place: str) -> None:
    """Write a shard that was copied to the disk; the library does so with what it writes."""
    for name in os.listdir(place):
        flush(os.path.join(place, name))
    flush(place)


def clean(directory: str, named: set[str]) -> None:
    """Delete what builds have left in directory, except shards.json and the names that it lists. The next build deletes the rest."""
    for name in os.listdir(directory):
        if _OURS.fullmatch(name) and name not in named and name != NAME:
            place = os.path.join(directory, name)
            if os.path.isdir(place) and not os.path.islink(place):
                shutil.rmtree(place, ignore_errors=True)
            else:
                with suppress(OSError):
                    os.unlink(place)


def forget(directory: str) -> None:
    """Delete what a build or change that failed, before or after its commit, has left beside the collection, if there is one."""
    try:
        flush(directory)  # the list may have been renamed, but not be on the disk
        named = {shard.directory for shard in read(directory).shards}
    except (_errors.Error, OSError):
        if os.path.lexists(os.path.join(directory, NAME)):
            return  # a damaged list may name what would be deleted
        named = set()
    clean(directory, named)

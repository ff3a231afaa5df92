# SPDX-License-Identifier: Apache-2.0
"""Verify a collection: every byte of every shard, and that the shards are those of shards.json."""

from __future__ import annotations

import os

from .._core.checks import path_of
from .._core.progress import Progress
from ._collection import of_current, open_shard
from ._duplicates import check_ids
from ._ids import ids_of
from ._manifest import Manifest, check_cells, describe, wrong


def verify(
    path: str | os.PathLike[str], *, threads: int | None = None, progress: Progress | None = None
) -> Manifest:
    """
    Verify the collection in directory path: its list of shards, every byte of every shard, one shard at a time, and
    that no id or name is in two of them. Returns its manifest. progress as for Index.verify.

    Raises FormatError or MismatchError naming the shard and the file; FileMissingError; ArgumentError (an id or name twice);
    CanceledError.
    """
    directory = path_of(path)
    return of_current(directory, lambda manifest: _verify(directory, manifest, threads, progress))


def _verify(directory: str, manifest: Manifest, threads: int | None, progress: Progress | None) -> None:
    found = []
    n_cells = 0
    for number in range(len(manifest.shards)):
        with open_shard(directory, manifest, number, threads, None) as index:
            index.verify(progress=progress)
            found.append(describe(index))
            n_cells += index.info.n_cells
            shard = manifest.shards[number]
            ids = ids_of(index, manifest.first_id(shard))
            if (int(ids.min()), int(ids.max())) != (shard.least_id, shard.greatest_id):
                raise wrong(
                    directory, f"has wrong ids of shard {number}: they are from {ids.min()} to {ids.max()}"
                )
    stored = {
        "has_ids": manifest.has_ids or any(own["has_ids"] for own in found),
        "has_names": all(own["has_names"] for own in found),
    }
    for key, value in stored.items():
        if getattr(manifest, key) != value:
            raise wrong(directory, f"has {key} {getattr(manifest, key)}, and the shards have {value}")
    check_cells(directory, manifest, n_cells)
    if manifest.has_ids:
        check_ids(directory, manifest.shards)
    if manifest.has_names:
        check_ids(directory, manifest.shards, names=True)

# SPDX-License-Identifier: Apache-2.0
"""Verify a collection: every byte of every shard, and that the shards are those of shards.json."""

from __future__ import annotations

import os

from .._core.jobs import Progress
from ._collection import open_shard
from ._duplicates import check_ids
from ._ids import ids_of
from ._manifest import Manifest, read, wrong


def verify(
    path: str | os.PathLike[str], *, threads: int | None = None, progress: Progress | None = None
) -> Manifest:
    """
    Verify the collection in directory path: its list of shards, every byte of every shard, one shard at a time, and
    that no id or name is in two of them. Returns its manifest. progress as for Index.verify.

    Raises FormatError or MismatchError naming the shard and the file; FileMissingError; ArgumentError (an id or name twice);
    CanceledError.
    """
    directory = os.fspath(path)
    manifest = read(directory)
    for number in range(len(manifest.shards)):
        with open_shard(directory, manifest, number, threads, None) as index:
            index.verify(progress=progress)
            shard = manifest.shards[number]
            ids = ids_of(index, manifest.first_id(shard))
            if (int(ids.min()), int(ids.max())) != (shard.least_id, shard.greatest_id):
                raise wrong(
                    directory, f"has wrong ids of shard {number}: they are from {ids.min()} to {ids.max()}"
                )
    if manifest.has_ids:
        check_ids(directory, manifest.shards)
    if manifest.has_names:
        check_ids(directory, manifest.shards, names=True)
    return manifest

# SPDX-License-Identifier: Apache-2.0
"""Verify a collection: every byte of every shard, and that the shards are those of shards.json."""

from __future__ import annotations

import os
from ctypes import byref

from .. import _errors
from .._core.checks import path_of
from .._core.jobs import Job
from .._core.library import lib
from .._core.progress import Progress
from ._collection import of_current
from ._duplicates import check_ids
from ._manifest import Manifest, Opened


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
    opened = Opened(directory, threads=threads)
    with Job(progress) as job:
        job.finish(lib.thr_shards_verify(opened.pointer, byref(_errors.slot.error)))
    if manifest.has_ids:
        check_ids(directory, manifest.shards)
    if manifest.has_names:
        check_ids(directory, manifest.shards, names=True)

# SPDX-License-Identifier: Apache-2.0
"""Copy a collection from an object store to local disk."""

from __future__ import annotations

import os
import secrets
from typing import Any

from .. import _errors
from .._core.checks import path_of
from ._collection import open_shard
from ._manifest import NAME, Manifest, Shard, parse, write
from ._publish import build_directory, clean, flush_shard, forget, is_shard_name


def _copy(fs: Any, source: str, directory: str, number: int, shard: Shard) -> str:
    """Copy the files of a shard into a directory of another name, which is returned."""
    name = f"parts-{secrets.token_hex(4)}"
    files = fs.find(f"{source}/{shard.directory}")
    if not files:
        place = os.path.join(directory, shard.directory)
        raise _errors.FormatError(f"{place}: shard {number} of the collection is missing at the source", "ECORRUPT")
    with _errors.os_errors(directory):
        os.mkdir(os.path.join(directory, name))
    for file in files:
        own = os.path.basename(file)
        if own in ("", ".", "..") or not file.endswith(f"/{shard.directory}/{own}"):
            raise _errors.FormatError(f"{file}: is in a folder of shard {number}: a shard has none", "ECORRUPT")
        place = os.path.join(directory, name, own)
        fs.get_file(file, place)
    flush_shard(os.path.join(directory, name))
    return name


def _is_there(directory: str, manifest: Manifest, number: int) -> bool:
    try:
        open_shard(directory, manifest, number, None, None).close()
    except (_errors.Error, OSError):
        return False
    return True


def _put(directory: str, copied: dict[str, str]) -> None:
    """Rename shards that were copied, in place of what has their names."""
    for name, copy in copied.items():
        target = os.path.join(directory, name)
        if os.path.lexists(target):
            os.rename(target, os.path.join(directory, f"parts-{secrets.token_hex(4)}"))
        os.rename(os.path.join(directory, copy), target)


def fetch(
    url: str, path: str | os.PathLike[str], *, storage_options: dict[str, Any] | None = None, replace: bool = False
) -> Manifest:
    """
    Copy the collection at url, such as "s3://bucket/my.shards", to directory path, and return its manifest. fsspec reads
    url with storage_options; needs fsspec and its package for the store.

    replace   replace a collection that is there. Shards that both have are not copied again, unless they cannot be opened

    Readers of path see nothing until all shards are there and are those of the list: after an error the old content
    remains. Headers and checksums of lists are checked; verify() reads everything. To write a collection to a store, copy its shards first and shards.json last.

    Raises FileMissingError (no collection at url); FormatError or MismatchError (a shard is missing or not the one of the
    list); ExistsError; BusyError; and what fsspec raises.
    """
    try:
        import fsspec
    except ModuleNotFoundError:
        raise ModuleNotFoundError("shards.fetch needs fsspec: pip install fsspec, and its package for the store") from None

    directory = path_of(path)
    fs, source = fsspec.core.url_to_fs(url, **(storage_options or {}))
    try:
        if fs.info(f"{source}/{NAME}")["type"] in ("directory", "other"):  # reading a pipe would wait for a writer
            raise _errors.FormatError(f"{url}/{NAME}: is no file", "ECORRUPT")
        text = fs.cat_file(f"{source}/{NAME}")
    except FileNotFoundError:
        raise _errors.FileMissingError(f"{url}: is no collection of shards, there is no {NAME} in it", "ENOTFOUND") from None
    manifest = parse(url, text)
    for shard in manifest.shards:
        if not is_shard_name(shard.directory):
            raise _errors.FormatError(f"{url}: {shard.directory!r} is no name of a shard", "ECORRUPT")
    with build_directory(directory, replace):
        try:
            copied = {
                shard.directory: _copy(fs, source, directory, number, shard)
                for number, shard in enumerate(manifest.shards)
                if not _is_there(directory, manifest, number)
            }
            names = [shard._replace(directory=copied.get(shard.directory, shard.directory)) for shard in manifest.shards]
            for number in range(len(names)):
                open_shard(directory, manifest._replace(shards=tuple(names)), number, None, None).close()
            with _errors.os_errors(directory):
                _put(directory, copied)
                write(directory, manifest)
        except BaseException:
            forget(directory)
            raise
        clean(directory, {shard.directory for shard in manifest.shards})
    return manifest

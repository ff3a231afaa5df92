# SPDX-License-Identifier: Apache-2.0
"""Copy a collection from an object store to local disk."""

from __future__ import annotations

import os
import secrets
import shutil
from typing import Any

from .. import _errors
from ._build import forget
from ._collection import open_shard
from ._manifest import NAME, Manifest, checksum_of, parse
from ._publish import build_directory, clean, write


def _copy(fs: Any, source: str, directory: str, name: str) -> None:
    """Copy the files of a shard into a directory of another name, and rename it."""
    place = os.path.join(directory, f"parts-{secrets.token_hex(4)}")
    for file in fs.find(f"{source}/{name}"):
        own = os.path.basename(file)
        if own in ("", ".", "..") or not file.endswith(f"/{name}/{own}"):
            raise _errors.FormatError(f"{file}: is in a folder of shard {name}: a shard has none", "ECORRUPT")
        os.makedirs(place, exist_ok=True)
        fs.get_file(file, os.path.join(place, own))
    if os.path.isdir(place):
        os.rename(place, os.path.join(directory, name))


def fetch(
    url: str, path: str | os.PathLike[str], *, storage_options: dict[str, Any] | None = None, replace: bool = False
) -> Manifest:
    """
    Copy the collection at url, such as "s3://bucket/my.shards", to directory path, and return its manifest. fsspec reads
    url with storage_options; needs fsspec and its package for the store.

    replace   replace a collection that is there. Shards that both have are not copied again

    Readers of path see nothing until all shards are there and are those of the list: after an error the old content
    remains. To write a collection to a store, copy its shards first and shards.json last.

    Raises FileMissingError (no collection at url); FormatError or MismatchError (a shard is missing or not the one of the
    list); ExistsError; BusyError; and what fsspec raises.
    """
    import fsspec

    directory = os.fspath(path)
    fs, source = fsspec.core.url_to_fs(url, **(storage_options or {}))
    try:
        text = fs.cat_file(f"{source}/{NAME}").decode("utf-8", "replace")
    except FileNotFoundError:
        raise _errors.FileMissingError(f"{url}: is no collection of shards, there is no {NAME} in it", "ENOTFOUND") from None
    manifest = parse(url, text)
    with build_directory(directory, replace):
        try:
            for number, shard in enumerate(manifest.shards):
                target = os.path.join(directory, shard.directory)
                if os.path.isdir(target) and checksum_of(target) != shard.checksum:
                    shutil.rmtree(target)
                if not os.path.isdir(target):
                    _copy(fs, source, directory, shard.directory)
                open_shard(directory, manifest, number, None, None).close()
            write(directory, text)
        except BaseException:
            forget(directory)
            raise
        clean(directory, {shard.directory for shard in manifest.shards})
    return manifest

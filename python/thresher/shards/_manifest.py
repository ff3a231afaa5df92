# SPDX-License-Identifier: Apache-2.0
"""
DIR/shards.json: the shards of a collection, in the order of their rows, and what they have in common.

The library reads and writes it (thresher/shards.h). Its rename is the commit of a build: a directory without it is no
collection, and directories of shards that it does not name are left from a build that was stopped.
"""

from __future__ import annotations

import os
from ctypes import POINTER, byref, c_void_p, cast
from typing import Any, NamedTuple

from .. import _errors
from .._core import abi
from .._core.checks import encoded_path
from .._core.context import shared_context
from .._core.library import lib, read as of_structs
from .._index import Index
from ._ids import has_given_ids

NAME = "shards.json"
_METRIC_NAME = {number: name for name, number in abi.METRIC.items()}


class Shard(NamedTuple):
    """
    One shard. Its rows are first_row to first_row + n_items - 1 of the collection. Where ids are row numbers, an item's
    id is first_row plus its row in the shard; else the shard holds the ids. checksum is that of its MANIFEST, as the
    last line there has it.
    """

    directory: str
    first_row: int
    n_items: int
    least_id: int
    greatest_id: int
    checksum: str


class Manifest(NamedTuple):
    """
    A collection. quantiser is Index.quantiser_fingerprint of every shard; model is that of their model, or 0. cells is
    what build() was given, scaled to the items that there are now; n_cells counts the cells of all shards. has_removed:
    items were removed, so rows are not the places of the build.
    """

    metric: str
    n_dims: int
    bits: int
    lead_bits: int
    keep: str
    quantiser: int
    model: int
    has_ids: bool
    has_names: bool
    n_items: int
    shards: tuple[Shard, ...]
    cells: int | str | None = None
    n_cells: int = 0
    has_removed: bool = False

    @property
    def rows_in_order(self) -> bool:
        """Whether rows are the places of items as the collection was built, and added to."""
        return self.n_cells == 0 and not self.has_removed

    def first_id(self, shard: Shard) -> int:
        """What is added to the ids that the index of a shard returns, where no ids were given."""
        return 0 if self.has_ids else shard.first_row

    def cells_of(self, n_items: int) -> int | str | None:
        """The cells of a new shard with this many items, for build_shard()."""
        return cells_of_share(self.cells, n_items, self.n_items)


def cells_of_share(cells: int | str | None, n_items: int, n_all: int) -> int | str | None:
    """The cells of n_items items, if n_all items have `cells`; 1 means none. None and "auto" are returned unchanged."""
    return cells if cells is None or isinstance(cells, str) else min(max(round(cells * n_items / n_all), 1), n_items)


def checksum_of(directory: str) -> str:
    """The checksum in the last line of an index's MANIFEST; "" if it has no such line."""
    with open(os.path.join(directory, "MANIFEST"), "rb") as file:
        last = file.read().splitlines()[-1:]
    return last[0][9:].decode("ascii", "replace") if last and last[0].startswith(b"checksum ") else ""


def describe(index: Index) -> dict[str, Any]:
    """What all shards of a collection have in common, as this index has it."""
    info, model = index.info, index.model
    return {
        "metric": info.metric,
        "n_dims": info.n_dims,
        "bits": info.bits,
        "lead_bits": info.lead_bits,
        "keep": info.keep,
        "quantiser": index.quantiser_fingerprint,
        "model": 0 if model is None else int(model.fingerprint),
        "has_ids": has_given_ids(index),
        "has_names": info.has_names,
    }


def _manifest(pointer: Any) -> Manifest:
    """The manifest that the library holds."""
    info = lib.thr_shards_get_info(pointer)
    listed = cast(lib.thr_shards_list(pointer), POINTER(abi.Shard))
    shards = tuple(
        Shard(
            one.directory.decode(), one.first_row, one.n_items, one.least_id, one.greatest_id, f"{one.checksum:016x}"
        )
        for one in listed[: info.n_shards]
    )
    return of_structs(
        Manifest,
        info,
        metric=_METRIC_NAME[info.metric],
        bits=info.item_bits,
        keep=abi.DTYPE_NAME[info.keep],
        shards=shards,
        cells="auto" if info.cells == abi.CELLS_AUTO else info.cells or None,
    )


class Opened:
    """The library's handle of a collection, freed with its last reference."""

    def __init__(self, path: str | os.PathLike[str], text: bytes | None = None, threads: int | None = None) -> None:
        """text: a list that shards.json shall become; None: read the file."""
        self._context, self._made = shared_context(threads), c_void_p()
        place = encoded_path(path, "path")
        if text is None:
            _errors.call(lib.thr_shards_open, self._context.pointer, place, byref(self._made), files=True)
        else:
            _errors.call(lib.thr_shards_parse, self._context.pointer, place, text, len(text), byref(self._made))
        self.manifest = _manifest(self._made)

    @property
    def pointer(self) -> Any:
        return self._made

    def __del__(self) -> None:
        if getattr(self, "_made", None):
            lib.thr_shards_free(self._made)


def read(path: str | os.PathLike[str]) -> Manifest:
    """
    Read the manifest of the collection in directory path.

    Raises FileMissingError; FormatError (no collection, damaged, or too new); FileError (it cannot be read).
    """
    return Opened(path).manifest


def parse(path: str, text: bytes) -> Manifest:
    """The manifest in the text of path/shards.json."""
    return Opened(path, text).manifest


def write(path: str, manifest: Manifest) -> None:
    """Publish a manifest, after the names of its shards are on the disk. Raises FormatError if read() would refuse it."""
    info = abi.ShardsInfo(
        metric=abi.METRIC[manifest.metric],
        keep=abi.DTYPE[manifest.keep],
        n_dims=manifest.n_dims,
        item_bits=manifest.bits,
        lead_bits=manifest.lead_bits,
        quantiser=manifest.quantiser,
        model=manifest.model,
        n_items=manifest.n_items,
        cells=abi.CELLS_AUTO if manifest.cells == "auto" else manifest.cells or 0,
        n_cells=manifest.n_cells,
        has_ids=manifest.has_ids,
        has_names=manifest.has_names,
        has_removed=manifest.has_removed,
    )
    n = len(manifest.shards)
    shards = (abi.Shard * n)(
        *((one.directory.encode(), *one[1:5], int(one.checksum or "0", 16)) for one in manifest.shards)
    )
    context = shared_context(None)
    _errors.call(lib.thr_shards_write, context.pointer, os.fsencode(path), byref(info), shards, n)

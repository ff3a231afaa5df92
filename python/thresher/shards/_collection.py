# SPDX-License-Identifier: Apache-2.0
"""An open collection of shards, searched in one process."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from .. import _errors
from .._core import abi, arrays
from .._core.checks import choice, encoded, path_of, whole
from .._filters import Filter, roaring_bytes
from .._index import Index
from .._index_info import IndexCells
from .._items import IdArray, as_items, check_found, each_name, filter_of_items, find_items, shaped
from ._manifest import Manifest, Shard, checksum_of, describe, read
from ._searcher import Searcher
from ._shard import filter_shard, search_shard_radius, search_shards

_TRIES = 10
_BY_CHANGES = ("has_ids", "has_names")  # also differ in a shard that was changed, as its checksum does


def open_shard(path: str, manifest: Manifest, number: int, threads: int | None, device: str | None) -> Index:
    """
    Open shard number of a collection, and check that it is the one that the manifest names.

    Raises FormatError (missing, damaged, or changed since the collection was published), MismatchError (of another
    collection), FileError (the collection has other shards now).
    """
    try:
        return _open_shard(path, manifest, number, threads, device)
    except _errors.FormatError:
        if _is_current(path, manifest):
            raise
        why = "the collection was changed since it was opened: open it again"
        raise _errors.FileError(f"{path}: {why}", "ECHANGED") from None


def _is_current(path: str, manifest: Manifest) -> bool:
    try:
        return read(path) == manifest
    except _errors.Error:
        return True


def of_current(path: str, work: Callable[[Manifest], None]) -> Manifest:
    """Call work with the collection's manifest, again if another build or change replaces it meanwhile; returns the last one."""
    for attempt in range(_TRIES):
        manifest = read(path)
        try:
            work(manifest)
            return manifest
        except _errors.Error:
            if attempt + 1 == _TRIES or _is_current(path, manifest):
                raise
    raise AssertionError("unreachable")


def _open_shard(path: str, manifest: Manifest, number: int, threads: int | None, device: str | None) -> Index:
    shard = manifest.shards[number]
    place = os.path.join(path, shard.directory)
    try:
        before = checksum_of(place)
        index = Index(place, threads=threads, device=device)
        try:
            _check(place, manifest, number, shard, index, before)
        except BaseException:
            index.close()
            raise
        return index
    except OSError as raised:
        if isinstance(raised, _errors.Error) and not isinstance(raised, FileNotFoundError):
            raise
        if raised.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise _errors.of_os(raised, place) from None
        raise _errors.FormatError(
            f"{place}: shard {number} of the collection is missing: restore it or build the collection again",
            "ECORRUPT",
        ) from None


def _check(place: str, manifest: Manifest, number: int, shard: Shard, index: Index, before: str) -> None:
    for key, value in describe(index).items():
        wanted = getattr(manifest, key)
        if value != wanted and key not in _BY_CHANGES:
            raise _errors.MismatchError(
                f"{place}: shard {number} has {key} {value}, and the collection has {wanted}: it is another "
                "collection's: restore it or build the collection again",
                "EMISMATCH",
            )
    if len(index) != shard.n_items or before != shard.checksum or checksum_of(place) != shard.checksum:
        raise _errors.FormatError(
            f"{place}: shard {number} was changed or replaced since the collection was published: restore it or build "
            "the collection again",
            "ECORRUPT",
        )


class Shards(Searcher):
    """
    An open collection, from thresher.shards.build or thresher.shards.open. close(), the end of a with statement or
    garbage collection closes it. Searches take and return what those of Index do, and search one shard after the other.
    Several threads may search at once.

    A collection is a snapshot: it goes on with its shards when another build replaces them.
    """

    def __init__(self, path: str | os.PathLike[str], *, threads: int | None = None, device: str | None = None) -> None:
        self.path = os.path.abspath(path_of(path))
        self._threads, self._device = threads, device
        self._closed = False
        self._indexes: list[Index] = []
        self.info: Manifest = of_current(self.path, self._open)

    def _open(self, manifest: Manifest) -> None:
        """Open all shards."""
        try:
            for number in range(len(manifest.shards)):
                self._indexes.append(open_shard(self.path, manifest, number, self._threads, self._device))
        except BaseException:
            self._close_indexes()
            raise

    def _close_indexes(self) -> None:
        for index in self._indexes:
            index.close()
        self._indexes = []

    def close(self) -> None:
        """Close it. A search in progress ends in ArgumentError at its next shard. May be called twice."""
        self._closed = True
        self._close_indexes()

    def __repr__(self) -> str:
        return self._described("thresher.Shards", ", closed" if self._closed else "")

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds the path; loading it opens the collection again."""
        return (open_shards, (self.path,))

    def opened(self) -> Iterator[tuple[Shard, Index]]:
        """Each shard and its index, in the order of the rows."""
        if self._closed:
            raise _errors.ArgumentError(f"{self.path}: the collection is closed")
        return zip(self.info.shards, self._indexes)

    def measure_cells(self) -> IndexCells:
        """
        The cells of all shards, from Index.measure_cells() of each, which searches for 10 items of that shard with
        recall 0.95. n_cells and n_without_cell are sums; smallest and largest are those of all shards. read is the
        mean, and speed the harmonic mean, weighted by items. A shard whose searches skip no cells counts as read whole,
        at speed 1. If no shard's searches skip cells, read and speed are 0. short_by is the largest.
        """
        parts = [(shard.n_items, index.measure_cells()) for shard, index in self.opened()]
        some = [cells for _, cells in parts if cells.n_cells > 0] or [cells for _, cells in parts]
        skips = any(cells.speed > 0 for _, cells in parts)
        return IndexCells(
            sum(cells.n_cells for _, cells in parts),
            min(cells.smallest for cells in some),
            max(cells.largest for cells in some),
            sum(cells.n_without_cell if cells.n_cells > 0 else n for n, cells in parts) if self.info.n_cells > 0 else 0,
            sum(n * (cells.read or 1) for n, cells in parts) / len(self) if skips else 0.0,
            len(self) / sum(n / (cells.speed or 1) for n, cells in parts) if skips else 0.0,
            max(cells.short_by for _, cells in parts),
        )

    # ------------------------------------------------------------------------------------------- search

    def _searched(self, allowed: Filter | None) -> Iterator[tuple[Index, int, Filter | None]]:
        """Each shard's index, first row, and share of a filter."""
        for shard, index in self.opened():
            yield index, self.info.first_id(shard), filter_shard(allowed, shard.first_row, shard.n_items)

    def _best(self, rows: arrays.AnyArray, k: int, allowed: Filter | None, options: dict[str, Any]) -> Any:
        return search_shards(self._searched(allowed), rows, k, **options)

    def _within(
        self, rows: arrays.AnyArray, least_score: float, allowed: Filter | None, options: dict[str, Any]
    ) -> Any:
        for index, first_row, own in self._searched(allowed):
            yield search_shard_radius(index, first_row, rows, least_score, filter=own, **options)

    def _encoded(self, texts: Any) -> Any:
        _, first = next(self.opened())
        return first._encoded(first.handle(), texts)

    def filter_ids(self, ids: Any, *, missing: str = "raise") -> Filter:
        """
        Make a Filter of the items with these ids, integers [m], or names, for search(), as Index.filter_ids. search()
        takes these directly, too, and makes the filter each time. It is for the shards that the collection has now.

        missing       "raise" for an id or name that no item has, or "ignore"

        Raises NotFoundError (an unknown id or name); ArgumentError.
        """
        choice(missing, "missing", {"raise": 0, "ignore": 1})
        roaring = roaring_bytes(ids)
        if roaring is not None:
            raise _errors.ArgumentError("ids: a Roaring bitmap was given: give list(bitmap)")
        items = as_items(ids)
        made = filter_of_items(self.path, self.info.n_items, items, self._find(items)[1], missing)
        made.snapshot = self.info
        return made

    def _filter_of_ids(self, ids: Any, remedy: str) -> Filter:
        return self.filter_ids(ids)

    # ------------------------------------------------------------------------------------------- items

    def _find(self, items: Any) -> tuple[IdArray, IdArray]:
        """find_items() in all shards: ids in the items' shards, and rows of the collection."""
        ids = np.full(len(items) if isinstance(items, list) else items.size, abi.NO_ID, np.uint64)
        rows = ids.copy()
        for shard, index in self.opened():
            own, here = find_items(index.handle(), items, self.info.first_id(shard))
            there = here != abi.NO_ID
            ids[there], rows[there] = own[there], here[there] + np.uint64(shard.first_row)
        return ids, rows

    def rows(self, ids: Any) -> IdArray:
        """The rows of items by ids of any shape, or by names, in the collection. Raises NotFoundError."""
        items = as_items(ids)
        _, rows = self._find(items)
        check_found(self.path, items, rows)
        return shaped(items, rows)

    def vectors(self, ids: Any) -> npt.NDArray[np.float32]:
        """The stored vectors of items by ids of any shape, or by names: float32 [..., n_dims], as Index.vectors."""
        items = as_items(ids)
        own, rows = self._find(items)
        check_found(self.path, items, rows)
        out = np.empty((rows.size, self.info.n_dims), np.float32)
        for shard, index in self.opened():
            at = np.flatnonzero((rows >= shard.first_row) & (rows < shard.first_row + shard.n_items))
            out[at] = index.vectors(own[at])
        return out.reshape(*shaped(items, rows).shape, self.info.n_dims)

    def vector(self, id: int) -> npt.NDArray[np.float32]:
        """The stored vector of the item with this id, as Index.vector."""
        vector: npt.NDArray[np.float32] = self.vectors(np.uint64(whole(id, "id", 0, abi.NO_ID)))
        return vector

    @overload
    def name(self, id: int) -> str | None: ...

    @overload
    def name(self, id: Sequence[Any] | npt.NDArray[Any]) -> list[Any]: ...

    def name(self, id: Any) -> str | None | list[Any]:
        """
        The name of the item with this id; None if there is no such item, or the collection has no names. Of ids [k] or
        [n, k] the names, as (nested) lists.
        """

        def name(one: Any) -> str | None:
            number = whole(one, "id", 0, abi.NO_ID)
            for shard, index in self.opened():
                if shard.least_id <= number <= shard.greatest_id and self.info.has_names:
                    found = index.name(number - self.info.first_id(shard))
                    if found is not None:
                        return found
            return None

        return each_name(name, id)

    names = name

    def find(self, name: str) -> int:
        """The id of the item with this name. Raises NotFoundError."""
        encoded(name, "name")
        ids, rows = self._find([name])
        check_found(self.path, [name], rows)
        first_ids = [self.info.first_id(shard) for shard, _ in self.opened() if shard.first_row <= rows[0]]
        return int(ids[0]) + first_ids[-1]

    def __contains__(self, item: object) -> bool:
        """Whether there is an item with this id, or with this name."""
        try:
            given = [item] if isinstance(item, str) else [whole(item, "id", 0, abi.NO_ID)]
            return bool(self._find(as_items(given))[1][0] != abi.NO_ID)
        except (TypeError, ValueError):
            return False


def open_shards(path: str | os.PathLike[str], *, threads: int | None = None, device: str | None = None) -> Shards:
    """
    Open the collection in directory path; reads headers only. threads and device are those of every search.

    Raises FileMissingError; FormatError (no collection, a shard missing, damaged or changed); MismatchError (a shard of
    another collection).
    """
    return Shards(path, threads=threads, device=device)

# SPDX-License-Identifier: Apache-2.0
"""Empty indexes, and writers, which change an index item by item."""

from __future__ import annotations

import os
from collections.abc import Sequence
from ctypes import byref, c_void_p
from typing import Any

import numpy as np

from . import _errors
from ._build import KEEP, checked_features, put_values, with_features
from ._core import abi, arrays
from ._core.checks import as_list, choice, encoded_path, whole
from ._core.context import shared_context
from ._core.jobs import Change
from ._core.library import lib
from ._core.tables import are_words, name_pointers
from ._handle import Handle
from ._index_change import IndexChange, NewItems, changed, compacted, parts_of, removed
from ._items import as_ids


def create(
    path: str | os.PathLike[str],
    n_dims: int,
    *,
    metric: str,
    bits: int,
    keep: str,
    lead_bits: int | None,
    names: bool,
    replace: bool,
    threads: int | None,
) -> None:
    """thr_index_create."""
    options = abi.IndexCreateOptions()
    options.n_dims = whole(n_dims, "n_dims", 1, 2**15)
    options.metric = choice(metric, "metric", abi.METRIC)
    options.item_bits = whole(bits, "bits", 1, 8)
    options.keep = choice(keep, "keep", KEEP)
    if lead_bits is not None:
        options.lead_bits = whole(lead_bits, "lead_bits", 1, options.item_bits)
    options.names, options.replace = bool(names), bool(replace)
    context = shared_context(threads)
    _errors.call(lib.thr_index_create, context.pointer, encoded_path(path, "path"), byref(options), files=True)


class _WriterHandle(Handle):
    """A thr_index_writer."""

    __slots__ = ()
    frees = "thr_index_writer_free"

    def __init__(self, path: bytes, threads: int | None) -> None:
        self._begin(shared_context(threads))
        made = c_void_p()
        _errors.call(lib.thr_index_writer_open, self._context.pointer, path, None, byref(made), files=True)
        self._hold(made.value)


class IndexWriter:
    """
    Changes an index item by item, and holds the lock of its directory until close() or the end of a with statement.

    A small change is appended to a journal and survives a crash once the call has returned; threads that call at the
    same time share the disk's flush. The Index that made it with writer() shows each change once the call has returned,
    other ones after their refresh(). No change is lost by close(). In an index with features, and in one that keeps no
    vectors, each call is a commit, which costs several flushes.

    Raises BusyError (another writer is at work), and as Index.open.
    """

    def __init__(self, path: str | os.PathLike[str], *, threads: int | None = None) -> None:
        directory = os.path.abspath(encoded_path(path, "path"))
        self.path = os.fsdecode(directory)
        self._committed = lambda: None
        """Called after each commit."""
        self._handle: _WriterHandle | None = _WriterHandle(directory, threads)

    def _pointer(self) -> _WriterHandle:
        handle = self._handle
        if handle is None or handle.pointer is None:
            raise _errors.ArgumentError(
                f"{self.path}: the writer is closed, or was opened by the parent of this process"
            )
        return handle

    def _call(self, function: Any, *arguments: Any, change: abi.IndexChange | None = None, result: Any = None) -> Any:
        """Call a function of the writer; result makes what it returns of the change."""
        handle = self._pointer()
        try:
            with Change() as job:
                more = () if change is None else (byref(change),)
                error = _errors.slot.error
                job.finish(function(handle.pointer, *arguments, *more, byref(error)), files=True)
                if change is not None:
                    job.result = result(change)
                    job.note_unmerged(change.unmerged)
                self._committed()
            return job.report(self.path)
        finally:
            del handle  # an exception keeps this frame, and would keep the lock after close()

    def add(
        self,
        vectors: Any,
        *,
        ids: Any = None,
        names: Sequence[str] | None = None,
        features: Any = None,
        multipliers: Any = None,
        offsets: Any = None,
    ) -> IndexChange:
        """
        Add items: vectors [n, n_dims] or [n_dims], and ids [n] or names, a sequence of str. Without either the index
        chooses ids. features, multipliers and offsets are those of the items, as for Index.add.

        Raises ArgumentError (other dimensions, NaN, an id or name that is repeated or that the
        index has already, no features for an index with features); FileError. Then nothing is added.
        """
        items = NewItems(ids=ids, names=names, features=features, multipliers=multipliers, offsets=offsets)
        return self._add(False, vectors, items)

    def upsert(
        self,
        vectors: Any,
        *,
        ids: Any = None,
        names: Sequence[str] | None = None,
        features: Any = None,
        multipliers: Any = None,
        offsets: Any = None,
    ) -> IndexChange:
        """
        Add items; those with the id or name of an item take its place, in the same commit. Otherwise as add(): without
        ids and names all items are new.
        """
        items = NewItems(ids=ids, names=names, features=features, multipliers=multipliers, offsets=offsets)
        return self._add(True, vectors, items)

    def _add(self, replace: bool, vectors: Any, items: NewItems) -> IndexChange:
        ids, names, (features, multipliers, offsets) = parts_of(**items)
        rows = arrays.plain(np.atleast_2d(arrays.vectors(vectors, "vectors", one_row=True)))
        options, pointers = abi.IndexAddOptions(), None
        options.replace = replace
        given = ids if names is None else names
        if ids is not None and names is not None:
            raise _errors.ArgumentError("ids and names were given: give only one of them")
        if ids is not None:
            given = numbers = np.atleast_1d(as_ids(ids, "ids"))
            options.ids, options.n_ids = arrays.address(numbers), len(numbers)
        elif names is not None:
            given = [names] if isinstance(names, str) else as_list(names, "names", "a sequence of str")
            pointers = name_pointers(given)
        if given is not None and len(given) != len(rows):
            what = "ids" if ids is not None else "names"
            raise _errors.ArgumentError(f"{what}: {len(given)} were given for {len(rows)} vectors")
        features = checked_features(features)
        if given is None and are_words(features):
            raise _errors.ArgumentError(
                "features: lists of words need the ids or names of their items: give ids= or names="
            )
        put_values(options, multipliers, offsets)
        change, matrix = abi.IndexChange(), arrays.matrix(rows)
        with with_features(options, features, given):
            given = byref(matrix), pointers, byref(options)
            made: IndexChange = self._call(lib.thr_index_writer_write, *given, change=change, result=changed)
        return made

    def remove(self, ids: Any = None, *, names: Sequence[str] | None = None) -> IndexChange:
        """
        Remove items by ids, an integer or integers [m], or by names, a str or a sequence of str. Those that no item has
        are skipped and counted.
        """
        if (ids is None) == (names is None):
            raise _errors.ArgumentError("remove: give ids or names")
        if names is not None:
            pointers = name_pointers(names)
            n, function, address = len(pointers), lib.thr_index_writer_remove_names, pointers
        else:
            numbers = as_ids(ids, "ids").reshape(-1)
            n, function, address = numbers.size, lib.thr_index_writer_remove, arrays.address(numbers)
        made: IndexChange = self._call(function, address, n, change=abi.IndexChange(), result=removed)
        return made

    def flush(self) -> None:
        """Turn the journal into a segment, so that its items are searched by codes. The writer does so now and then."""
        self._call(lib.thr_index_writer_flush)

    def compact(self, *, recode: bool = False) -> IndexChange:
        """Write the index again without its removed items (Index.compact)."""
        function = lib.thr_index_writer_recode if recode else lib.thr_index_writer_compact
        made: IndexChange = self._call(function, change=abi.IndexChange(), result=compacted)
        return made

    def close(self) -> None:
        """Release the lock, when calls of other threads have ended."""
        self._handle = None

    def __enter__(self) -> IndexWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

# SPDX-License-Identifier: Apache-2.0
"""Posting lists: score every item by the query's features that it has."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from ctypes import addressof, byref, c_char_p, c_uint64, c_void_p
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _errors
from ._core import abi, arrays
from ._core.checks import as_list, choice, encoded, encoded_path, need_kind, shown, whole
from ._core.context import shared_context
from ._core.feature_queries import Asked, Queries, Query, is_one_query
from ._core.jobs import Job
from ._core.library import lib, read
from ._core.locks import Lock
from ._core.notes import note
from ._core.tables import are_words, note_weighed, rows_of, words_table
from ._filters import Filter, as_filter, check_hand_made, is_mask, refuse_rows, refuse_values, roaring_bytes
from ._handle import Handle, Opened
from ._items import Items, as_items, check_found, filter_of_items, find_items


class HitsInfo(NamedTuple):
    """
    The properties of posting lists: n_ids postings are stored singly, the others in n_runs runs and n_bitmaps bitmap
    blocks. n_items counts live items; n_rows includes removed ones. model is the fingerprint of the model that must
    weigh the queries, or 0.
    """

    n_items: int
    n_features: int
    n_postings: int
    n_ids: int
    n_runs: int
    n_bitmaps: int
    list_bytes: int
    file_bytes: int
    order: str
    has_ids: bool
    has_names: bool
    has_words: bool
    n_rows: int
    n_added: int
    n_removed: int
    model: int


def csr(rows: Any) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
    """Offsets and feature numbers of a result of rows_of."""
    if isinstance(rows, tuple):
        offsets = arrays.integers(rows[0], "offsets")
        numbers = arrays.integers(rows[1], "features")
    else:
        lists = [_numbers_of(row, f"features of item {i}") for i, row in enumerate(rows)]
        offsets = np.cumsum([0, *map(len, lists)])
        numbers = np.concatenate(lists) if lists else np.empty(0, np.int64)
    if offsets.ndim != 1 or numbers.ndim != 1 or offsets.size < 1 or int(offsets[-1]) != numbers.size:
        raise _errors.ArgumentError(
            f"features: {offsets.size} offsets of {numbers.size} features: the last one must be their number"
        )
    if numbers.size and (int(numbers.min()) < 0 or int(numbers.max()) > abi.HITS_MAX_FEATURE):
        raise _errors.ArgumentError(f"features: numbers must be 0 to {abi.HITS_MAX_FEATURE}")
    return np.ascontiguousarray(offsets, np.uint64), np.ascontiguousarray(numbers, np.uint32)


def _numbers_of(row: Any, what: str) -> npt.NDArray[Any]:
    try:
        numbers = arrays.integers(row, what) if len(row) else np.empty(0, np.int64)
    except TypeError as failure:
        raise _errors.ArgumentTypeError(f"{failure}, or words (str) for all items") from None
    if numbers.ndim != 1:
        raise _errors.ArgumentError(f"{what}: an array of shape {list(numbers.shape)} was given: expected [n]")
    return numbers


def _floats(values: Any, what: str, n: int) -> npt.NDArray[np.float32] | None:
    if values is None:
        return None
    array = arrays.numbers(values, what, np.float32)
    if array.shape != (n,):
        raise _errors.ArgumentError(
            f"{what}: an array of shape {list(array.shape)} was given: expected [{n}], one an item"
        )
    return array


def _at(array: Any) -> int | None:
    return None if array is None else arrays.address(array)


class HitsHandle(Handle):
    """A thr_hits."""

    __slots__ = ()
    opens, frees = "thr_hits_open", "thr_hits_free"

    def info(self) -> HitsInfo:
        i = lib.thr_hits_get_info(self.pointer)
        orders = {code: name for name, code in abi.HITS_ORDER.items()}
        return read(HitsInfo, i, order=orders[i.order])


class Hits(Opened):
    """
    An open file of posting lists, with the items added and removed since. Several threads may search it at once, also
    while it changes. close() or garbage collection closes it. The file does not change. A forked child opens the file
    again, without changes. If set_values() was called, it raises ArgumentError instead.

    device, where lists are searched, is as for Index.open: "cpu" (None), "cuda", which uses the first GPU, or "auto".
    Lists with changes are searched on the CPU.
    """

    _kind, _noun = HitsHandle, "the posting lists are"

    def __init__(self, path: str | os.PathLike[str], *, threads: int | None = None, device: str | None = None) -> None:
        super().__init__(path, threads=threads, device=device)
        self._changing = Lock(f"{self.path}: the posting lists are being changed")

    @classmethod
    def build(
        cls,
        path: str | os.PathLike[str],
        features: Any,
        *,
        ids: Any = None,
        order: str = "features",
        replace: bool = False,
        model: int = 0,
        threads: int | None = None,
        device: str | None = None,
    ) -> Hits:
        """
        Build the file path, and open it.

        features  the items' features, without weights: a .tsv file of names and words (see thresher hits build); a
                  scipy CSR matrix; a pair of arrays, offsets [n + 1] and features; or an iterable with a list or array
                  for each item, all of numbers, or all of words without white space
        ids       distinct integers [n], one an item; None: row numbers. Names (a sequence of str) if features are
                  words. Not for a .tsv file, which has its own
        order     internal numbering: "features", items with the same frequent features are neighbours, or "rows"
        replace   replace an existing file of posting lists
        model     fingerprint of the model that weighs the queries, as thresher info prints it; 0: any
        device    device of the opened lists; the CPU builds

        Raises ArgumentError, ExistsError, FormatError, FileMissingError.
        """
        name = encoded_path(path, "path")
        context = shared_context(threads, device)
        options = abi.HitsBuildOptions()
        options.order = choice(order, "order", abi.HITS_ORDER)
        options.replace = bool(replace)
        options.model = whole(model, "model", 0, abi.NO_ID)
        err = byref(_errors.slot.error)
        with Job() as job:
            if isinstance(features, (str, bytes, os.PathLike)):
                if ids is not None:
                    raise _errors.ArgumentError("ids: the items of a .tsv file have their own")
                table = encoded_path(features, "features")
                status = lib.thr_hits_build_table(context.pointer, name, table, byref(options), err)
            elif are_words(rows := rows_of(features)):
                note_weighed(rows)
                with words_table(rows, ids) as table:
                    job.finish(lib.thr_hits_build_table(context.pointer, name, table, byref(options), err), files=True)
                status = abi.OK
            else:
                offsets, numbers = csr(rows)
                if ids is not None:
                    kept = arrays.ids(ids, "ids")
                    options.ids, options.n_ids = arrays.address(kept), kept.size
                items = abi.ItemFeatures(arrays.address(offsets), arrays.address(numbers), offsets.size - 1)
                status = lib.thr_hits_build(context.pointer, name, byref(items), byref(options), err)
            job.finish(status, files=True)
        return cls(path, threads=threads, device=device)

    def search(
        self,
        query: Query | Sequence[Query],
        k: int,
        *,
        value: str = "sum",
        filter: Any = None,
        target: str | HitsTarget | None = None,
        model: int = 0,
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float32]]:
        """
        Find the best k items. Returns ids uint64 [m] and values float32 [m], or [n, m] for a list of n queries, where m
        is k, or n_rows if that is less. If fewer items may be returned, a row ends with thresher.NO_ID and -inf.

        query   {feature: weight, ...}, or [feature, ...] with weights of 1, or a list of such queries. Features are
                words if the file has words, else numbers. Unknown features are ignored; a query of unknown features
                gives a warning
        value   "sum": multiplier x sum + offset, or "sigmoid": multiplier / (1 + exp(-sum)) + offset
        filter  items that may be returned: ids [m] (integers, or names), a Roaring bitmap of ids, or, in lists without
                changes, a mask, bool [n] in the order of the build, or a Filter of one
        target  items that may be returned, by their features, such as "category=12 AND NOT brand=7"
        model   fingerprint of the model of the weights; 0: unchecked

        Raises ArgumentError (weights that are not finite, a wrong target, or one made before a change), MismatchError
        (weights of another model than the lists').
        """
        made = as_target(self, target)
        handle = made.handle if isinstance(target, str) and made is not None else self.handle()
        one = is_one_query(query)
        some: Sequence[Any] = [query] if one else query  # type: ignore[assignment]
        asked = self.asked(handle, Queries.of(some))
        asked.warn(self.path)
        queries = asked.queries(0, len(some))
        n_rows = handle.info().n_rows
        wanted = max(min(whole(k, "k", 1, 2**48), n_rows), 1)
        ids = np.empty((len(some), wanted), np.uint64)
        values = np.empty((len(some), wanted), np.float32)
        options = abi.HitsSearchOptions()
        options.value = choice(value, "value", abi.HITS_VALUE)
        if filter is not None:
            kept = self._allow(handle, filter)
            options.filter, options.filter_bits = kept.pointer, kept.n_items
        options.model = whole(model, "model", 0, abi.NO_ID)
        if made is not None:
            options.target = made.opened()
        _errors.call(
            lib.thr_hits_search,
            handle.pointer,
            byref(queries),
            wanted,
            byref(options),
            arrays.address(ids),
            arrays.address(values),
        )
        ids, values = ids[:, :n_rows], values[:, :n_rows]
        return (ids[0], values[0]) if one else (ids, values)

    def _allow(self, handle: Any, filter: Any) -> Filter:
        """The filter as one of the rows. Integers are ids."""
        info = handle.info()
        in_order = info.n_added + info.n_removed == 0
        has_ids = info.has_ids or info.has_names or not in_order
        if isinstance(filter, Filter):
            if filter.snapshot is not None:
                raise _errors.ArgumentError(f"filter: was made for an index, not for {self.path}: give ids")
            check_hand_made(self.path, filter, in_order, has_ids, "ids")
            return as_filter(info.n_rows, filter)
        if has_ids and roaring_bytes(filter) is not None:
            raise _errors.ArgumentError(
                f"filter: the items of {self.path} have ids: give list(bitmap) for a Roaring bitmap of them"
            )
        if has_ids and not is_mask(filter):
            items = as_items(filter)
            return filter_of_items(self.path, info.n_rows, items, self._rows(handle, items), "raise")
        if not in_order:
            raise refuse_rows(self.path, "ids")
        return Filter(info.n_rows, filter)

    def _rows(self, handle: Any, items: Items) -> npt.NDArray[np.uint64]:
        """The rows of items by ids, or by names; NO_ID where there is none."""
        given = items if isinstance(items, list) else items.reshape(-1).tolist()
        rows, id, row = np.full(len(given), abi.NO_ID, np.uint64), c_uint64(), c_uint64()
        for i, item in enumerate(given):
            if isinstance(item, str):
                there = lib.thr_hits_find(handle.pointer, encoded(item, f"name {i}"), byref(id))
            else:
                there, id.value = True, item
            if there and lib.thr_hits_row(handle.pointer, id, byref(row)):
                rows[i] = row.value
        return rows

    def explain(self, id: int, query: Query) -> dict[Any, float]:
        """The query's features that the item with this id has, and the weight of each."""
        handle = self.handle()
        listed = Queries.of([query])
        query = dict(query) if isinstance(query, Mapping) else list(query)
        queries = self.asked(handle, listed).queries(0, 1)
        shares, matched = np.empty(len(query), np.float32), np.empty(len(query), np.uint8)
        _errors.call(
            lib.thr_hits_explain,
            handle.pointer,
            whole(id, "id", 0, abi.NO_ID),
            byref(queries),
            0,
            arrays.address(shares),
            arrays.address(matched),
        )
        return {name: float(share) for name, share, has in zip(query, shares, matched) if has}

    def set_values(self, multipliers: Any = None, offsets: Any = None, *, ids: Any = None) -> None:
        """
        Set every item's multiplier (bid) and offset (pacing), float32 [n_items]; None: 1, and 0. Running searches finish
        with the old values.

        ids     the items' ids, integers [n_items], or names, in the order of the values; None: the values are in the
                order of the build, which lists with removed items, and an index that was changed or has cells, refuse

        Of an index they are set in this object, and stay with their items when it refreshes: by id, or by name. Items
        that are added later, and those that a change gives others, have those of the change. A forked child and a pickle
        do not have them, and refuse to go on.

        Raises ValueError or TypeError; NotFoundError (an unknown id or name).
        """
        handle = self.handle()
        info = handle.info()
        given = [_floats(multipliers, "multipliers", info.n_items), _floats(offsets, "offsets", info.n_items)]
        rows = self._rows_of_values(handle, info.n_items, ids)
        if rows is not None:
            placed = [np.ones(info.n_rows, np.float32), np.zeros(info.n_rows, np.float32)]
            for values, own in zip(placed, given):
                if own is not None:
                    values[rows] = own
            given = [None if own is None else values for values, own in zip(placed, given)]
        _errors.call(lib.thr_hits_set_values, handle.pointer, _at(given[0]), _at(given[1]), info.n_rows)
        self._unsaved = True

    def _rows_of_values(self, handle: Any, n_items: int, ids: Any) -> Any:
        """The row of each value; None: they are in the order of rows."""
        if ids is None:
            if not self._rows_in_order(handle):
                raise refuse_values(self.path)
            return None
        items = as_items(ids)
        rows = self._rows(handle, items)
        check_found(self.path, items, rows)
        if rows.size != n_items or np.unique(rows).size != n_items:
            raise _errors.ArgumentError(
                f"ids: {np.unique(rows).size} items were named: give all {n_items} items once"
            )
        return rows

    def _rows_in_order(self, handle: Any) -> bool:
        """Whether rows are the items in the order of building and adding."""
        return bool(handle.info().n_removed == 0)

    def add(
        self,
        features: Any,
        *,
        ids: Any = None,
        names: Sequence[str] | None = None,
        multipliers: Any = None,
        offsets: Any = None,
    ) -> None:
        """
        Add items, or replace existing ones. Answers equal those of lists rebuilt with the added items at the end. A
        running search sees all of the change or none. thr_hits_update has the limits.

        features     a .tsv file; or each item's words if the lists have words; or numbers, as in build
        ids          integers [n] if items have ids; names if items have names
        multipliers  the items' bids, float32 [n]; None: 1 each. offsets: None, 0 each

        Raises ArgumentError, FormatError, FileMissingError.
        """
        with self._changing():
            handle = self.handle()
            self._replace(UpdatedHandle(handle, added(handle.info(), features, ids, names, multipliers, offsets)))

    def remove(self, items: Any) -> int:
        """
        Remove items by id, by name if they have names, or by a text file with either, one per line. Returns the number
        of items that did not exist, which is no error.
        """
        with self._changing():
            handle = self.handle()
            info = handle.info()
            changes = removed(info, items)
            try:
                self._replace(UpdatedHandle(handle, changes))
            except _errors.Error:
                if not isinstance(items, (str, bytes, os.PathLike)) or _errors.file_is_there(os.fsdecode(items)):
                    raise
                wanted = f"a list of {'names' if info.has_names else 'ids'}, or the name of a file"
                raise _errors.FileMissingError(
                    f"items: there is no file {shown(items)}: give {wanted}", "ENOTFOUND"
                ) from None
            return changes.n_missing

    @property
    def info(self) -> HitsInfo:
        """What the lists hold."""
        info: HitsInfo = self._current_info()
        return info

    def _replace(self, handle: HitsHandle) -> None:
        self._handle = self._measured(handle)
        if self._closed:  # meanwhile
            self._handle = None

    def name(self, id: int) -> str | None:
        """The name of the item with this id, None if there is none."""
        handle = self.handle()  # keeps the lists alive during the call
        found = lib.thr_hits_name(handle.pointer, whole(id, "id", 0, abi.NO_ID))
        return None if found is None else str(found, "utf-8", "replace")

    def find(self, name: str) -> int:
        """The id of the item with this name. Raises NotFoundError."""
        found = c_uint64()
        handle = self.handle()
        if not lib.thr_hits_find(handle.pointer, encoded(name, "name"), byref(found)):
            raise _errors.NotFoundError(f"{self.path}: holds no item with the name {name!r}")
        return found.value

    def verify(self) -> None:
        """Read every byte and compare all checksums. Raises FormatError for a damaged file."""
        handle = self.handle()
        with Job() as job:
            job.finish(lib.thr_hits_verify(handle.pointer, byref(_errors.slot.error)))

    def asked(self, handle: HitsHandle, queries: Queries) -> Asked:
        """Queries of these features, with the numbers that words have in these lists."""
        return queries.asked(handle.pointer, self._info.has_words)

    def __len__(self) -> int:
        return self.info.n_items

    def __contains__(self, item: object) -> bool:
        """Whether there is an item with this id, or with this name."""
        handle, found = self.handle(), c_uint64()
        try:
            if isinstance(item, str):
                return bool(lib.thr_hits_find(handle.pointer, encoded(item, "name"), byref(found)))
            return bool(lib.thr_hits_row(handle.pointer, whole(item, "id", 0, abi.NO_ID), byref(found)))
        except (TypeError, ValueError):
            return False

    def __repr__(self) -> str:
        i = self.info
        state = ", closed" if self._closed else ""
        return f"<thresher.Hits {self.path!r}: {i.n_items} items, {i.n_features} features{state}>"


class IndexHits(Hits):
    """The posting lists of an index, which also searches them with its vectors. Close the index instead of them."""

    def __init__(self, index: Any, handle: Any, *, of_one_search: bool = False) -> None:
        self._index = index
        self._pinned = handle if of_one_search else None
        self._path = os.fsencode(index.path)
        self._closed = False
        self._measured(HitsView(handle))

    def _current_info(self) -> HitsInfo:
        return self.handle().info()

    def handle(self) -> HitsHandle:
        """The lists of the index's current handle, or of the one that a search uses."""
        return HitsView(self._index.handle() if self._pinned is None else self._pinned)

    def _allow(self, handle: Any, filter: Any) -> Filter:
        allowed: Filter = self._index._allow(handle._index, filter)
        return allowed

    def _rows(self, handle: Any, items: Items) -> npt.NDArray[np.uint64]:
        return find_items(handle._index, items)[1]

    def _rows_in_order(self, handle: Any) -> bool:
        return bool(handle._index.rows_in_order)

    def set_values(self, multipliers: Any = None, offsets: Any = None, *, ids: Any = None) -> None:
        """As Hits.set_values."""
        self._index.handle()  # of the newest commit, if the index refreshes itself
        with self._index._refreshing():  # a refresh takes over the values that were set before it
            super().set_values(multipliers, offsets, ids=ids)
        self._index._unsaved = True

    def _replace(self, handle: HitsHandle) -> None:
        raise _errors.UnsupportedError(
            f"{self.path}: the lists of an index change with its vectors: Index.add, Index.upsert, Index.remove",
            "EUNSUPPORTED",
        )

    def add(self, *_: Any, **__: Any) -> None:
        """Raises UnsupportedError: Index.add, Index.upsert and Index.remove do it."""
        self._replace(self.handle())

    def remove(self, *_: Any, **__: Any) -> int:
        """Raises UnsupportedError: Index.add, Index.upsert and Index.remove do it."""
        self._replace(self.handle())
        return 0


class _TargetHandle(Handle):
    """A thr_hits_target, and the lists it belongs to."""

    __slots__ = ("hits",)
    frees = "thr_hits_target_free"

    def __init__(self, hits: HitsHandle, expression: str) -> None:
        self._begin(hits._context)
        self.hits = hits
        made = c_void_p()
        wanted = encoded(expression, "target")
        _errors.call(lib.thr_hits_target_create, hits.pointer, wanted, byref(made))
        self._hold(made.value)


class HitsTarget:
    """
    An expression that selects items by their features, for any number of searches of these lists. Warns of words that
    no item has.
    """

    __slots__ = ("_made",)

    def __init__(self, hits: Hits, expression: str) -> None:
        need_kind(hits, Hits, "hits")
        self._made = _TargetHandle(hits.handle(), expression)
        i, more = 0, True
        while more and (word := lib.thr_hits_target_unknown(self._made.pointer, i)) is not None:
            i, more = i + 1, note(f"target: no item has {word.decode('utf-8', 'replace')!r}")

    @property
    def handle(self) -> HitsHandle:
        """The lists it belongs to."""
        return self._made.hits

    def opened(self) -> int:
        """Its pointer; raises ArgumentError in a forked child."""
        pointer = self._made.pointer
        if pointer is None:
            raise _errors.ArgumentError(
                "target: it belongs to the process that this one was forked from: make it again"
            )
        return pointer

    def __len__(self) -> int:
        """The number of items it selects."""
        return int(lib.thr_hits_target_count(self.opened()))


def as_target(hits: Hits, target: Any) -> HitsTarget | None:
    """A target of the lists, from its expression; a HitsTarget and None are returned."""
    return target if target is None or isinstance(target, HitsTarget) else HitsTarget(hits, target)


class UpdatedHandle(HitsHandle):
    """Lists with changes in memory, made from other lists, which do not change."""

    __slots__ = ()

    def __init__(self, before: HitsHandle, changes: Changes) -> None:
        self._begin(before._context)
        made = c_void_p()
        err = _errors.slot.error
        with Job() as job:
            status = lib.thr_hits_update(before.pointer, byref(changes.options), byref(made), byref(err))
            self._hold(made.value)
            job.finish(status, files=True)


class Changes:
    """A thr_hits_changes, and the memory it points to."""

    def __init__(self) -> None:
        self.options = abi.HitsChanges()
        self._kept: list[Any] = []
        self._missing = c_uint64()
        self.options.n_missing = addressof(self._missing)

    @property
    def n_missing(self) -> int:
        """The number of removals of items that did not exist; known after the changes are applied."""
        return self._missing.value

    def keep(self, array: npt.NDArray[Any] | None) -> int | None:
        """The address of an array, which this object keeps alive."""
        self._kept.append(array)
        return _at(array)

    def texts(self, texts: Sequence[str], what: str) -> int:
        """The same for strings; what is their name in messages."""
        array = (c_char_p * len(texts))(*(encoded(text, f"{what} {i}") for i, text in enumerate(texts)))
        self._kept.append(array)
        return addressof(array)

    def put(self, options: Any, field: str, items: Any, what: str) -> int:
        """Set names or ids of items in the field of that name; returns their number."""
        if field.endswith("names"):
            if isinstance(items, np.ndarray) and items.ndim != 1:
                raise _errors.ArgumentError(
                    f"{what}: an array of shape {list(items.shape)} was given: expected [n], one an item"
                )
            names = as_list(items, what, "a sequence of str")  # which nobody else changes
            setattr(options, field, self.texts(names, what))
            return len(names)
        ids = arrays.ids(items, what)
        setattr(options, field, self.keep(ids))
        return len(ids)


def added(info: HitsInfo, features: Any, ids: Any, names: Any, multipliers: Any, offsets: Any) -> Changes:
    """Items to add; see Hits.add."""
    changes = Changes()
    o = changes.options
    if isinstance(features, (str, bytes, os.PathLike)):
        if any(given is not None for given in (ids, names, multipliers, offsets)):
            raise _errors.ArgumentError("add: the items of a .tsv file have their own ids or names, and no values")
        o.added_path = encoded_path(features, "features")
        return changes
    rows = rows_of(features)
    if info.has_words:
        if not isinstance(rows, list):
            raise _errors.ArgumentTypeError(
                "features: arrays of numbers were given, but these lists have words: give each item's"
            )
        note_weighed(rows)
        ends = np.cumsum([0, *map(len, rows)]).astype(np.uint64)
        o.words = changes.texts([word for row in rows for word in row], "word")
    else:
        ends, numbers = csr(rows)
        o.features = changes.keep(numbers)
    n = ends.size - 1
    what, known_by, other = ("names", names, ids) if info.has_names else ("ids", ids, names)
    if known_by is None or other is not None:
        raise _errors.ArgumentError(f"add: these items have {what}: give those of the added ones")
    o.n_added, o.offsets = n, changes.keep(ends)
    n_known = changes.put(o, "names" if info.has_names else "ids", known_by, what)
    if n_known != n:
        raise _errors.ArgumentError(f"{what}: {n_known} for {n} items")
    o.multipliers = changes.keep(_floats(multipliers, "multipliers", n))
    o.item_offsets = changes.keep(_floats(offsets, "offsets", n))
    return changes


def removed(info: HitsInfo, items: Any) -> Changes:
    """Items to remove; see Hits.remove."""
    changes = Changes()
    o = changes.options
    if isinstance(items, (str, bytes, os.PathLike)):
        o.removed_path = encoded_path(items, "items")
        return changes
    o.n_removed = changes.put(o, "removed_names" if info.has_names else "removed_ids", items, "items")
    return changes


class HitsView(HitsHandle):
    """The thr_hits of an index, which is freed with it."""

    __slots__ = ("_index",)

    def __init__(self, index: Any) -> None:
        self._index = index  # lives as long
        self._context = index._context
        self.pointer = lib.thr_index_hits(index.pointer)

    def __del__(self) -> None:
        pass

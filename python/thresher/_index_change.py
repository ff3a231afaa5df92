# SPDX-License-Identifier: Apache-2.0
"""Changes of an index: add, replace and remove items, and compact; each call is one commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ctypes import addressof, byref
from typing import Any, NamedTuple, TypedDict

from . import _errors
from ._build import checked_features, put_values, with_features, with_ids
from ._core import abi, arrays
from ._core.jobs import Change
from ._core.library import lib
from ._core.notes import note
from ._core.readers import Reader
from ._core.tables import are_words, as_names, name_pointers
from ._core.texts import VectorArray, encode_texts, in_lists
from ._dual import dual_info
from ._index_info import IndexHandle
from ._items import as_ids
from ._tower import encode, encodes_vectors, tower_info


class NewItems(TypedDict, total=False):
    """Arguments of add() and upsert(): of the items, besides their vectors."""

    ids: Any
    names: Any
    features: Any
    multipliers: Any
    offsets: Any


def parts_of(
    ids: Any = None, names: Any = None, features: Any = None, multipliers: Any = None, offsets: Any = None
) -> tuple[Any, Any, tuple[Any, Any, Any]]:
    """Ids, names and values of NewItems."""
    return ids, names, (features, multipliers, offsets)


class IndexChange(NamedTuple):
    """
    What a change did. n_added counts new items, n_replaced those that took the place of others; added items whose ids
    the index chose have first_id, first_id + 1, ..., and first_id is None if it chose none. n_missing is the number of
    ids and names to remove that no item has; n_items and n_commits are those of the index now. n_zero is the number of
    zero vectors among the added ones. warning: what failed
    after the commit was made, such as a merge of files, also issued as a UserWarning; None: nothing.
    """

    n_added: int
    n_replaced: int
    n_removed: int
    n_missing: int
    first_id: int | None
    n_items: int
    n_commits: int
    n_zero: int = 0
    warning: str | None = None


class _Encoder:
    """The model of an open index, for a Reader."""

    def __init__(self, handle: IndexHandle) -> None:
        self._index = handle  # owns the model
        self._dual = lib.thr_dual_of_index(handle.pointer)
        self._tower = lib.thr_tower_of_index(handle.pointer)
        self.reads_vectors = self._tower is not None and tower_info(self._tower).n_inputs != 0
        self.encodes_vectors = self._tower is not None and encodes_vectors(self._tower)
        self.lines_reader = "thr_tower_reader" if self._dual is None else "thr_dual_reader"

    def is_there(self) -> bool:
        return self._dual is not None or self._tower is not None

    @property
    def pointer(self) -> int:
        return int(self._tower if self._dual is None else self._dual)

    def handle(self) -> _Encoder:
        return self

    def chunks(self, texts: Iterable[str]) -> Iterator[VectorArray]:
        side = abi.SIDE["item"]
        for some in in_lists(texts):
            if self._dual is None:
                yield encode(self._tower, side, some)
            else:
                yield encode_texts(lib.thr_dual_encode, self._dual, side, dual_info(self._dual).n_vector, some)


def changed(change: abi.IndexChange) -> IndexChange:
    """The result of adding."""
    return IndexChange(
        n_added=change.n_added - change.n_removed,
        n_replaced=change.n_removed,
        n_removed=0,
        n_missing=0,
        first_id=None if change.first_id == abi.NO_ID else change.first_id,
        n_items=change.n_items,
        n_commits=change.n_commits,
        n_zero=change.n_zero,
    )


def note_spread(spread: float, n_items: int) -> None:
    """Warn of vectors that are nearly equal."""
    if spread < abi.LEAST_SPREAD and n_items > 1:
        note(
            "the vectors are nearly equal, so float32 rounds many scores to equal ones: subtract their "
            'mean from them and from queries, or use metric="l2"'
        )


def note_zero_vectors(n_zero: int) -> None:
    """Warn of the zero vectors among given ones."""
    if n_zero > 0:
        note(f"{n_zero} of the vectors are zero: they score 0 for every query, and rank before items of negative scores")


def _known_by(ids: Any, names: Any) -> Any:
    if ids is not None and names is not None:
        raise _errors.ArgumentError("ids and names were given: give only one of them")
    return ids if names is None else names


def add(handle: IndexHandle, path: bytes, vectors: Any, items: NewItems, replace: bool, job: Change) -> None:
    """thr_index_add."""
    ids, names, values = parts_of(**items)
    options = abi.IndexAddOptions()
    options.replace = replace
    features = checked_features(values[0])
    put_values(options, *values[1:])
    known_by = _known_by(ids, names)
    if known_by is None and are_words(features):
        raise _errors.ArgumentError(
            "features: lists of words need the ids or names of their items: give ids= or names="
        )
    encoder = _Encoder(handle)
    change = abi.IndexChange()
    context = handle.context
    model = encoder if encoder.is_there() else None
    given = with_ids(options, known_by), with_features(options, features, known_by)
    with given[0], given[1], Reader(context, vectors, model) as reader:
        status = lib.thr_index_add(
            context.pointer, path, reader.pointer, byref(options), byref(change), byref(_errors.slot.error)
        )
        job.finish(status, files=True)
        job.result = changed(change)
        job.note_unmerged(change.unmerged)


def remove(
    handle: IndexHandle, directory: bytes, ids: Any, names: Any, strict: bool, job: Change
) -> None:
    """thr_index_remove_items."""
    items = _known_by(ids, names)
    if items is None:
        raise _errors.ArgumentError("remove: give ids or names")
    removal = abi.IndexRemoval()
    removal.strict = bool(strict)
    if names is not None:
        pointers = name_pointers(items)
        removal.names, removal.n_names = addressof(pointers), len(pointers)
    elif as_names(items) is not None:
        raise _errors.ArgumentTypeError("ids: names were given: expected integers, or names=")
    else:
        numbers = as_ids(items, "ids")
        removal.ids, removal.n_ids = arrays.address(numbers), numbers.size
    change = abi.IndexChange()
    err = byref(_errors.slot.error)
    status = lib.thr_index_remove_items(handle.context.pointer, directory, byref(removal), byref(change), err)
    job.finish(status, files=True)
    job.result = removed(change)
    job.note_unmerged(change.unmerged)


def removed(change: abi.IndexChange) -> IndexChange:
    """The result of a removal."""
    return IndexChange(0, 0, change.n_removed, change.n_missing, None, change.n_items, change.n_commits)


def compact(handle: IndexHandle, directory: bytes, how: str, job: Change) -> None:
    """how: "thr_index_compact", "thr_index_recode" or "thr_index_rewrite"."""
    change = abi.IndexChange()
    function = getattr(lib, how)
    status = function(handle.context.pointer, directory, byref(change), byref(_errors.slot.error))
    job.finish(status, files=True)
    job.result = compacted(change)


def compacted(change: abi.IndexChange) -> IndexChange:
    """The result of a compaction."""
    return IndexChange(0, 0, 0, 0, None, change.n_items, change.n_commits)

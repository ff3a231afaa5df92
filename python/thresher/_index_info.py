# SPDX-License-Identifier: Apache-2.0
"""A thr_index, and its description."""

from __future__ import annotations

import _thread
from ctypes import byref, c_float, c_void_p
from typing import NamedTuple

from . import _errors
from ._core import abi
from ._core.context import Context
from ._core.library import lib, read
from ._core.notes import note
from ._handle import Handle
from ._tower import encodes_vectors

_METRICS = {code: name for name, code in abi.METRIC.items()}


class IndexInfo(NamedTuple):
    """
    The properties of an index; bytes are those of its files. lead_bits is the number of leading planes; rotated and
    centred are whether vectors were, before coding; relative_codes is whether codes are relative to the centroids of
    cells; tuned_queries is the number of queries of the last calibration. n_rows is the number of rows, which filters
    have a bit for: n_items, unless the index was changed; n_commits the number of changes, and n_removed the number of
    removed items that still take room in the files. n_cells is 0 without cells. has_ids: ids are stored, either given
    ones or, with cells, which reorder items, row numbers of the build's rows. The journal holds the newest small
    changes; journal_bytes is 0 without one. n_zero is the number of zero vectors that were given, removed ones
    included; by cosine and inner product they score 0 for every query. kept_recall is the share of the nearest 10 by
    the vectors as given that float16 or int8 vectors find, as the build has measured it; 0 if it has not.
    """

    n_items: int
    n_dims: int
    metric: str
    bits: int
    keep: str
    n_segments: int
    code_bytes: int
    vector_bytes: int
    file_bytes: int
    has_ids: bool
    has_names: bool
    lead_bits: int
    rotated: bool
    centred: bool
    relative_codes: bool
    tuned_queries: int
    has_features: bool
    n_rows: int
    n_commits: int
    n_removed: int
    n_cells: int
    n_journal_items: int
    journal_bytes: int
    n_zero: int
    kept_recall: float


def note_kept(info: IndexInfo, spread: float) -> None:
    """
    Report a kept type with which searches cannot keep their default promise, a recall of .99. A larger type mends that
    unless the scores of the vectors are at fault (note_spread).
    """
    if 0 < info.kept_recall < abi.KEPT_RECALL:
        note(
            f"{info.keep} vectors keep at most {info.kept_recall:.3f} of the nearest 10 of the vectors as given: the default"
            f" recall of .99 cannot be reached{', keep a larger type to reach it' if spread >= abi.LEAST_SPREAD else ''}"
        )


class IndexCells(NamedTuple):
    """
    The cells of an index, from Index.measure_cells(): their number, items in the smallest and the largest, and the
    number of items that have none until compact(). read is the share of the items that a search for 10 items with recall
    0.95 reads, and speed the time of such a search without cells divided by that with them, by a model; both are 0 where
    such searches skip no cells: if there are none, while the journal has changes, or if scoring all items costs less.
    short_by is the most by which searches for 10 and 100 items find less than recalls of .9, .95 and .99; cells="auto"
    makes no cells with more than .005.
    """

    n_cells: int
    smallest: int
    largest: int
    n_without_cell: int
    read: float
    speed: float
    short_by: float = 0.0


def _free_in_thread(pointer: int) -> None:
    try:
        _thread.start_new_thread(lib.thr_index_free, (pointer,))
    except RuntimeError:  # no more threads
        lib.thr_index_free(pointer)


class IndexHandle(Handle):
    """A thr_index."""

    __slots__ = ("encodes_vectors", "n_cells", "n_commits", "n_items", "n_rows", "rows_are_ids", "rows_in_order")
    opens, frees = "thr_index_open", "thr_index_free"

    def __init__(self, path: bytes, threads: int | None, device: str | None = None) -> None:
        super().__init__(path, threads, device)
        self._measure()

    def _measure(self) -> None:
        self.n_items = int(lib.thr_index_get_info(self.pointer).n_items)
        self.n_rows = int(lib.thr_index_n_rows(self.pointer))
        self.n_commits = int(lib.thr_index_n_commits(self.pointer))
        self.n_cells = int(lib.thr_index_get_cells(self.pointer).n_cells)
        #: Whether rows are the places of items in the build's source.
        self.rows_in_order = self.n_commits == 0 and self.n_cells == 0
        info = lib.thr_index_get_info(self.pointer)
        #: Whether ids are row numbers, and items have no names.
        self.rows_are_ids = not info.has_ids and not info.has_names and self.n_commits == 0
        tower = lib.thr_tower_of_index(self.pointer)
        #: Whether queries as vectors must be encoded first; a search encodes them for codes of a model.
        self.encodes_vectors = tower is not None and encodes_vectors(tower)

    @property
    def context(self) -> Context:
        return self._context

    def refreshed(self) -> IndexHandle | None:
        """A handle of the newest commit; None if this is one."""
        made, error = c_void_p(), _errors.slot.error
        status = lib.thr_index_refresh(self.pointer, byref(made), byref(error))
        if status != abi.OK:
            raise _errors.failure(status, error, files=True)
        return None if made.value is None else RefreshedHandle(self, made.value)

    def free_later(self) -> None:
        """
        Free it in a thread of its own when the last search ends. Its files may be deleted, and the system takes
        milliseconds to close one.
        """
        self._free = _free_in_thread

    @property
    def threads(self) -> int:
        return int(lib.thr_context_threads(self._context.pointer))

    def code_error(self) -> tuple[float, float]:
        now, learned = c_float(), c_float()
        _errors.call(lib.thr_index_code_error, self.pointer, byref(now), byref(learned), files=True)
        return now.value, learned.value

    def spread(self) -> float:
        spread = c_float()
        _errors.call(lib.thr_index_spread, self.pointer, byref(spread), files=True)
        return spread.value

    def measure_cells(self) -> IndexCells:
        cells, choice = lib.thr_index_get_cells(self.pointer), abi.CellsChoice()
        _errors.call(lib.thr_index_measure_cells, self.pointer, byref(choice), files=True)
        n_items = lib.thr_index_get_info(self.pointer).n_items + lib.thr_index_n_removed(self.pointer)
        n_without_cell = max(n_items - cells.n_items, 0) if cells.n_cells else 0
        return read(IndexCells, cells, choice, n_without_cell=n_without_cell)

    def info(self) -> IndexInfo:
        i, journal = lib.thr_index_get_info(self.pointer), lib.thr_index_get_journal(self.pointer)
        return read(
            IndexInfo,
            i,
            metric=_METRICS[i.metric],
            bits=i.item_bits,
            keep=abi.DTYPE_NAME[i.keep],
            n_rows=self.n_rows,
            n_commits=self.n_commits,
            n_removed=int(lib.thr_index_n_removed(self.pointer)),
            n_cells=self.n_cells,
            n_journal_items=journal.n_items,
            journal_bytes=journal.n_bytes,
        )


class RefreshedHandle(IndexHandle):
    """A newer commit of an open index."""

    __slots__ = ()

    def __init__(self, before: IndexHandle, pointer: int) -> None:
        self._begin(before.context)
        self._hold(pointer)
        self._measure()

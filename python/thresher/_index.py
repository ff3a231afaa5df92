# SPDX-License-Identifier: Apache-2.0
"""Indexes: built in a directory, opened by mmap, searched, and changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from ctypes import byref, c_uint64
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from . import _errors
from ._build import Ids, Model, build
from ._core import abi, arrays
from ._core.checks import choice, encoded, refuse_keywords, whole
from ._core.feature_queries import Queries, is_one_query
from ._core.jobs import Change, Job
from ._core.library import lib
from ._core.locks import Lock
from ._core.notes import note
from ._core.progress import Progress
from ._core.readers import Vectors
from ._dual import DualInfo, dual_info, encode_users, hits_of
from ._filters import Filter, as_filter, filter_of_roaring_ids, is_mask, refuse_rows, roaring_bytes
from ._handle import Opened, again_if_changed
from ._hits import HitsTarget, IndexHits, as_target
from ._index_change import IndexChange, NewItems, note_spread, note_zero_vectors
from ._index_change import add as change_add, compact as change_compact, remove as change_remove
from ._index_info import IndexCells, IndexHandle, IndexInfo, note_kept
from ._items import all_ids, as_items, check_found, filter_of_items, find_items, is_of_handle
from ._items import missing, names_of, shaped, vectors_of
from ._radius import note_radius, search_radius
from ._search import (
    CertifiedArray,
    IdArray,
    RadiusOptions,
    ScoreArray,
    SearchOptions,
    ask_for_features,
    explain,
    options_of_recall,
    search,
    search_options,
)
from ._tower import TowerInfo, are_texts, encode, tower_info
from ._writer import IndexWriter, create

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Index(Opened):
    """
    An open index, from Index.build or Index.open. close(), the end of a with statement or garbage collection closes it.

    An open index is a snapshot: it keeps its items until refresh(), or until a change that this object or its writer()
    makes. With refresh="auto" every call sees the newest commit; finding that there is none costs microseconds. Several
    threads may search an
    index at once, also while one changes it: a search that is running ends on the items that it began with. A forked
    child opens the index again when it first uses it.

    Larger scores are better in every metric: the cosine, the inner product, or minus the squared distance. Equal scores
    are ordered by the smaller row.
    """

    _kind, _noun = IndexHandle, "the index is"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        threads: int | None = None,
        device: str | None = None,
        refresh: str = "manual",
    ) -> None:
        self._behind = False  # its writer has made a change since the last refresh
        self._auto = choice(refresh, "refresh", {"manual": False, "auto": True})
        super().__init__(path, threads=threads, device=device)
        self._changing = Lock(f"{self.path}: the index is being changed")
        self._refreshing = Lock(f"{self.path}: the index is being refreshed")

    @property
    def info(self) -> IndexInfo:
        """What the index holds and how it was built."""
        info: IndexInfo = self._current_info()
        return info

    def handle(self) -> Any:
        """The open handle, of the newest commit if the index refreshes itself, or its writer has made one."""
        if (self._auto or self._behind) and not self._refreshing.is_mine:  # else a signal handler interrupts refresh()
            self.refresh()
        return super().handle()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        threads: int | None = None,
        device: str | None = None,
        refresh: str = "manual",
    ) -> Index:
        """
        Open the index in directory path; reads headers only.

        refresh       "manual": refresh() moves to a newer commit; "auto": every call does
        threads       threads of a search; None: as many as the process may use
        device        where search() screens the codes: "cpu" (None); "cuda", all GPUs, or "cuda:0" or "cuda:0,2",
                      these; or "auto", GPUs once searches are worth copying the codes there, and the CPU if they fail.
                      Answers are the same, bit for bit

        Raises FileMissingError; FormatError (not an index, damaged, or too new); FileError; ArgumentError (an unknown
        device or GPU number); DeviceError ("cuda", and no GPU can be used).
        """
        return cls(path, threads=threads, device=device, refresh=refresh)

    @classmethod
    def build(
        cls,
        path: str | os.PathLike[str],
        vectors: Vectors,
        *,
        metric: str | None = None,
        bits: int = 3,
        keep: str | None = "float32",
        ids: Ids | None = None,
        replace: bool = False,
        sample_rows: int | None = None,
        segment_rows: int | None = None,
        cells: int | str | None = None,
        lead_bits: int | None = None,
        scale: float | None = None,
        rotate: bool | None = None,
        calibration_queries: int | None = None,
        model: Model | None = None,
        features: Any = None,
        multipliers: Any = None,
        offsets: Any = None,
        quantiser_from: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        device: str | None = None,
        progress: Progress | None = None,
    ) -> Index:
        """
        Build an index in directory path, and open it.

        vectors       [n, n_dims] of any real type, order and stride, or a CPU tensor; an iterable of such arrays, for
                      data larger than memory; or a file (.npy, .fvecs, .fbin, .hdf5:DATASET, ...). With model also
                      texts: an iterable of str, or a file (.txt, or FILE.tsv:COLUMN)
        metric        "cosine", "ip" or "l2"; None: the metric of model, else "cosine"
        bits          bits per dimension of the codes, 1 to 8
        keep          type of the stored vectors: "float32", "float16", "int8", or None: codes only
        ids           distinct integers [n], names (a sequence of str), or a file of either; None: row numbers
        replace       replace an existing index, at the moment the new one is complete
        sample_rows   rows from which the quantiser learns its ranges
        segment_rows  most items in one segment file
        cells         store items in about so many cells of neighbours: searches with a recall of at most 0.999 then
                      read only cells that are likely to hold answers. Those with features, n_candidates or
                      n_survivors read all cells. Needs kept vectors.
                      Rows are then in the order of cells; the id of an item without one is still its row in vectors.
                      None or 1: no cells; "auto": cells where the build expects faster searches with them, else none,
                      and none with features
        lead_bits     planes that the screen reads, 1 to bits (bits: codes are not nested); None: chosen
        scale         components of unit vectors beyond 1 / scale are cut off in codes; 1 to 1e6; None: what codes the
                      sample best
        rotate        rotate vectors before coding; None: unless the codes of a sample get less accurate
        calibration_queries   items used as queries to calibrate recall; 0: no calibration
        model         a Tower, a Dual or the file of one, whose item side encodes the texts, or produced the vectors.
                      The index stores a copy, and queries may be texts. If the item side is binary, its codes are
                      stored as they are, and bits, lead_bits, rotate, keep and calibration_queries are ignored. Texts
                      of a Dual are features
        features      features of the items in row order, as for Hits.build: a .tsv file, whose names become the items'
                      names, a scipy CSR matrix, each item's words, ...; search() can then add feature weights
        multipliers, offsets   with features: initial values, [n] each (Hits.set_values)
        quantiser_from   an index whose quantiser codes the rows, for parts of a collection that are searched as one.
                      bits, lead_bits, rotate and sample_rows are ignored
        threads       threads of the build and of searches; None: as many as the process may use
        device        device of the opened index, as for open(); the CPU builds
        progress      called with ("build", items done, all items or 0), then with ("calibrate", queries done, all
                      queries); returns False to stop the build

        Readers of path see nothing until the end: after an error, Ctrl-C or a kill the old content remains.

        Raises ArgumentError (vectors, ids or options); MismatchError (vectors are not codes of
        the model); ExistsError; FileError; DeviceError, before the build; CanceledError; and exceptions of progress and
        of the iterable.
        """
        build(**{name: value for name, value in locals().items() if name != "cls"})
        built = cls(path, threads=threads, device=device)
        note_zero_vectors(built.info.n_zero)
        spread = built.handle().spread()
        note_kept(built.info, spread)
        note_spread(spread, len(built))
        return built

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        n_dims: int,
        *,
        metric: str = "cosine",
        bits: int = 3,
        keep: str = "float32",
        lead_bits: int | None = None,
        names: bool = False,
        replace: bool = False,
        threads: int | None = None,
        device: str | None = None,
    ) -> Index:
        """
        Create an index without items in directory path, and open it. add(), upsert() and writer() fill it. Its codes are
        learned when it has enough items; until then all are scored exactly.

        names         items have names
        the others    as for build(); keep is not None

        Raises ArgumentError; ExistsError; FileError.
        """
        options: dict[str, Any] = {"metric": metric, "bits": bits, "keep": keep, "lead_bits": lead_bits, "names": names}
        create(path, n_dims, **options, replace=replace, threads=threads)
        return cls(path, threads=threads, device=device)

    # ------------------------------------------------------------------------------------------- search

    @overload
    def search(
        self, queries: Any, k: int = ..., *, certified: Literal[False] = ..., **options: Unpack[SearchOptions]
    ) -> tuple[IdArray, ScoreArray]: ...

    @overload
    def search(
        self, queries: Any, k: int = ..., *, certified: Literal[True], **options: Unpack[SearchOptions]
    ) -> tuple[IdArray, ScoreArray, CertifiedArray]: ...

    @again_if_changed
    def search(
        self,
        queries: Any,
        k: int = 10,
        *,
        recall: float | None = None,
        exact: bool = False,
        filter: Any = None,
        certified: bool = False,
        n_candidates: int | None = None,
        n_survivors: int | None = None,
        query_bits: int | None = None,
        features: Any = None,
        value: str = "sum",
        target: str | HitsTarget | None = None,
        least_scores: Any = None,
        ids_out: IdArray | None = None,
        scores_out: ScoreArray | None = None,
        n_read_out: IdArray | None = None,
        **unknown: Any,
    ) -> tuple[IdArray, ScoreArray] | tuple[IdArray, ScoreArray, CertifiedArray]:
        """
        Find the best k items of each query, best first. Returns (ids uint64 [n, m], scores float32 [n, m]), or both [m]
        for a single query [n_dims], where m is k, or len(index) if that is less and no ids_out or scores_out is given.
        If fewer than m items may be returned, a row ends with thresher.NO_ID and -inf.

        queries       [n, n_dims] or [n_dims] of any real type, order and stride, or a CPU tensor; in an index with a
                      model also a str or a list of str
        recall        wanted share of the true best k on average over queries, above 0 and up to 1; None: 0.99. Above
                      0.999 the search is exact. With features, without kept vectors, for flat cosine codes
                      without a centre, and for codes of a model of vectors it holds for queries like those of the
                      calibration. With cells, recalls below 0.9 may be missed by far
        exact         score stored vectors, without codes: recall, n_survivors and query_bits then have no effect
        filter        items that may be returned: ids [m] (integers, or names), a Roaring bitmap of ids, or a Filter;
                      in an index that was not changed and has no cells also a mask, bool [n] in the order of the build
        certified     also return bool [n]: whether each answer is proven to be the exact one
        n_candidates  items that get exact scores, instead of what recall requires
        n_survivors   items whose other planes are read after the leading ones, instead of what recall requires
        query_bits    bits per dimension of the query's code, 1 to 8; None: 4, or those of a model's queries
        features      in an index with features: feature weights of each query, {"category=12": 1.5, ...} as for
                      Hits.search, or a list of them, one a query. Items are ranked by value: the multipliers and offsets
                      count only with features, of an empty query too ({}). With a Dual model, queries as texts bring
                      the weights of their histories
        value         "sum": multiplier x s + offset, or "sigmoid": multiplier / (1 + exp(-s)) + offset, where s is the
                      item's score plus the weights of its features
        target        items that may be returned, by their features, such as "category=12 AND NOT brand=7"
        least_scores  [n]: items that score less are left out of a query's answer. For answers that are merged with
                      others: with the k-th best score of the others fewer items are read
        ids_out, scores_out   arrays to fill and return, of the shapes above, in C order
        n_read_out    uint64 [n], filled with the number of items whose records or vectors were read

        Raises ArgumentError (queries or options); UnsupportedError (exact on an index of codes only); FileError (its
        files were changed); with device="cuda" DeviceError (a GPU failed) and MemoryLimitError (it lacks memory).
        """
        if unknown:
            refuse_keywords(unknown, self.search)
        handle = self._handle
        if self._auto or self._behind or handle is None or handle.pointer is None:
            handle = self.handle()
        if filter is not None:
            filter = self._allow(handle, filter)
        options: Any = None
        if (
            n_candidates is None
            and n_survivors is None
            and query_bits is None
            and filter is None
            and features is None
            and target is None
            and least_scores is None
            and n_read_out is None
            and value == "sum"
            and not exact
            and not certified
        ):
            options = None if recall is None else options_of_recall(recall)
            if type(queries) is np.ndarray and not handle.encodes_vectors:
                return search(handle, queries, k, options, False, ids_out, scores_out)
        else:
            options = search_options(handle.n_rows, recall, n_candidates, n_survivors, exact, query_bits, filter)
            options.kept_least, options.kept_read = least_scores, n_read_out
        by_model = features is None
        if handle.encodes_vectors and not are_texts(queries):
            queries = self._encoded(handle, queries)
        elif are_texts(queries):
            if features is None:
                features = self._hits_of(handle, queries)
            queries = self._encoded(handle, queries)
        if features is not None or target is not None:
            if options is None or options.is_shared:
                options = search_options(handle.n_rows, recall, None, None, False, None, None)
            self._ask_for_features(handle, options, features, value, target, by_model)
        if features is None and value != "sum":
            raise _errors.ArgumentError(
                f"value: {value!r} was given without features: give features=, also if all queries are empty"
            )
        return search(handle, queries, k, options, certified, ids_out, scores_out)

    @overload
    def search_radius(
        self, queries: Any, least_score: float, *, certified: Literal[False] = ..., **options: Unpack[RadiusOptions]
    ) -> tuple[IdArray, IdArray, ScoreArray]: ...

    @overload
    def search_radius(
        self, queries: Any, least_score: float, *, certified: Literal[True], **options: Unpack[RadiusOptions]
    ) -> tuple[IdArray, IdArray, ScoreArray, CertifiedArray]: ...

    @again_if_changed
    def search_radius(
        self,
        queries: Any,
        least_score: float,
        *,
        recall: float | None = None,
        exact: bool = False,
        filter: Any = None,
        certified: bool = False,
        query_bits: int | None = None,
    ) -> tuple[IdArray, IdArray, ScoreArray] | tuple[IdArray, IdArray, ScoreArray, CertifiedArray]:
        """
        Find all items whose score is at least least_score. Returns (offsets uint64 [n + 1], ids uint64 [m], scores
        float32 [m]): query q's answer, best first, is ids[offsets[q]:offsets[q + 1]], and scores alike. n is 1 for a
        single query [n_dims]. The caller owns the arrays.

        queries       [n, n_dims] or [n_dims] of any real type, order and stride, or a CPU tensor; in an index with a
                      model also a str or a list of str
        least_score   the least cosine or inner product; for "l2" -r * r finds all items within a distance of r
        recall        the probability to find an item whose score equals least_score; better ones are found more often.
                      None: 0.99. With 1 nothing is missed
        exact         score stored vectors, without codes: recall and query_bits then have no effect
        filter        items that may be returned, as for search()
        certified     also return bool [n]: whether each answer is proven to be complete
        query_bits    bits per dimension of the query's code, 1 to 8

        Exact scores decide which items are returned, or estimates in an index of codes only.

        Raises ArgumentError (queries or options, such as a least_score above 0 for "l2");
        UnsupportedError (exact on an index of codes only); FileError (its files were changed).
        """
        handle = self.handle()
        note_radius(self._info.metric, least_score)
        filter = self._allow(handle, filter)
        options = search_options(handle.n_rows, recall, None, None, exact, query_bits, filter)
        if handle.encodes_vectors or are_texts(queries):
            queries = self._encoded(handle, queries)
        return search_radius(handle, queries, least_score, options, certified)

    @again_if_changed
    def explain(self, queries: Any = 1, k: int | None = 10, **options: Any) -> str:
        """What search() with these arguments reads, and why, as text. k None: search_radius(); queries: or a number."""
        handle = self.handle()
        return explain(self, handle, queries, k, self._allow(handle, options.pop("filter", None)), options)

    @property
    def model(self) -> TowerInfo | DualInfo | None:
        """The TowerInfo or DualInfo of the index's model; None without a model."""
        handle = self.handle()
        tower = lib.thr_tower_of_index(handle.pointer)
        dual = lib.thr_dual_of_index(handle.pointer)
        return tower_info(tower) if tower is not None else dual_info(dual) if dual is not None else None

    @property
    def quantiser_fingerprint(self) -> int:
        """Equal for two indexes if the same vector has the same code in both."""
        return int(lib.thr_index_quantiser_fingerprint(self.handle().pointer))

    @property
    def hits(self) -> IndexHits | None:
        """The posting lists of the items' features, with words, values and explanations; None without features."""
        handle = self.handle()
        return IndexHits(self, handle) if lib.thr_index_hits(handle.pointer) is not None else None

    def _allow(self, handle: IndexHandle, filter: Any) -> Filter | None:
        """The filter as one of the handle's rows. Integers and Roaring bitmaps are of ids, which may be rows."""
        if filter is None:
            return None
        if isinstance(filter, Filter):
            return as_filter(handle.n_rows, self._of_handle(handle, filter))
        if not handle.rows_are_ids and not is_mask(filter):
            return self._filter_of(handle, filter, "raise")
        if not handle.rows_in_order:
            raise refuse_rows(self.path, "index.filter_ids(ids)")
        return Filter(handle.n_rows, filter)

    def _of_handle(self, handle: IndexHandle, filter: Filter) -> Filter:
        """A Filter that is of the handle's rows, or is made again of its ids."""
        if is_of_handle(self.path, handle, filter, self._auto):
            return filter
        return self._filter_of(handle, filter.ids, "ignore" if self._auto else "raise")

    def _ask_for_features(
        self, handle: IndexHandle, options: Any, features: Any, value: str, target: Any, by_model: bool
    ) -> None:
        if lib.thr_index_hits(handle.pointer) is None:
            raise _errors.UnsupportedError(
                f"{self.path}: was built without features: build it with features=", "EUNSUPPORTED"
            )
        hits = IndexHits(self, handle, of_one_search=True)
        asked = None
        if features is not None:
            if not isinstance(features, Queries):
                features = Queries.of([features] if is_one_query(features) else features)
            asked = hits.asked(hits.handle(), features)
            if not by_model:
                asked.warn(self.path)
        ask_for_features(options, asked, value, as_target(hits, target))

    def _hits_of(self, handle: IndexHandle, users: Any) -> Any:
        """The hits of users' histories, if the index has a dual model and features."""
        dual = lib.thr_dual_of_index(handle.pointer)
        if dual is None or lib.thr_index_hits(handle.pointer) is None:
            return None
        return hits_of(dual, users) if isinstance(users, str) else [hits_of(dual, user) for user in users]

    def _encoded(self, handle: IndexHandle, texts: Any) -> ScoreArray:
        dual = lib.thr_dual_of_index(handle.pointer)
        if dual is not None:
            return encode_users(dual, texts)
        tower = lib.thr_tower_of_index(handle.pointer)
        if tower is None:
            raise _errors.UnsupportedError(
                f"{self.path}: has no model to encode texts: search it with vectors, or build it with model=",
                "EUNSUPPORTED",
            )
        return encode(tower, abi.SIDE["query"], texts)

    def filter_ids(self, ids: Any, *, missing: str = "raise") -> Filter:
        """
        Make a Filter of the items with these ids: integers [m], names (a sequence of str), or a Roaring bitmap of ids
        (an object with serialize(), or its bytes). search() takes all of these directly, too, and makes the filter each
        time. The filter is for the items that the index holds now: make it again after a change, or a search raises
        ArgumentError. With refresh="auto" searches do that themselves, unless it is a Roaring bitmap; ids and names that
        were removed meanwhile are left out.

        missing       "raise" for an id or name that no item has, or "ignore"; of a Roaring bitmap always "raise"

        Raises NotFoundError (an unknown id or name); FormatError (bytes that are not a Roaring bitmap); ArgumentError.
        """
        choice(missing, "missing", {"raise": 0, "ignore": 1})
        return self._filter_of(self.handle(), ids, missing)

    def _filter_of(self, handle: IndexHandle, ids: Any, missing: str) -> Filter:
        roaring = roaring_bytes(ids)
        if roaring is not None:
            made = filter_of_roaring_ids(handle.pointer, handle.n_rows, roaring)
        else:
            items = as_items(ids)
            made = filter_of_items(self.path, handle.n_rows, items, find_items(handle, items)[1], missing)
            made.ids = items if isinstance(items, list) else items.copy()
        made.snapshot = handle
        return made

    def tune(self, queries: Any, *, progress: Progress | None = None) -> None:
        """
        Calibrate the index by queries [n, n_dims], a sample of expected queries (30 at least, better a thousand), and
        store the result in it: searches for queries like these get faster, or, where recall is calibrated only (see
        search), keep it. A build does the same with some of its items. Cost: an exact search of all queries.
        progress is called with ("calibrate", queries done, all). Other threads may search meanwhile.

        Raises ArgumentError (wrong or too few queries); UnsupportedError (the index is so
        small that searches are exact); BusyError (a build is running in its directory); FileError; CanceledError.
        """
        self.handle()
        array = arrays.plain(arrays.vectors(queries, "queries", one_row=False))
        tuned = IndexHandle(self._path, self._threads, self._device)  # no other thread searches this one
        if _untuned(tuned.info()) != _untuned(self.info):
            raise _errors.FileError(f"{self.path}: was replaced since it was opened: open it again", "ECHANGED")
        matrix = arrays.matrix(array)
        with Change(progress) as job:
            status = lib.thr_index_tune(tuned.pointer, byref(matrix), byref(_errors.slot.error))
            job.finish(status, files=True)
            self.refresh()
        job.warn(self.path)

    # ------------------------------------------------------------------------------------------- changes

    def add(
        self,
        vectors: Vectors,
        *,
        ids: Ids | None = None,
        names: Any = None,
        features: Any = None,
        multipliers: Any = None,
        offsets: Any = None,
        progress: Progress | None = None,
    ) -> IndexChange:
        """
        Add items, in one commit that survives a crash once this returns.

        vectors       as for build(): an array, an iterable of arrays, a file, or, in an index with a model, texts
        ids           distinct integers [n], or a file of them; None: the index chooses ids above all it ever had
        names         a sequence of str, or a file of names: required if the items of the index have names
        features      features of the items, as for build(): required by an index with features, and by no other. Lists
                      of words need ids or names; a .tsv file has them
        multipliers, offsets   with features: values of the items, [n] each; None: 1, and 0
        progress      called with ("add", items done, all items or 0); returns False to stop. With features then with
                      ("build", ...) for the posting lists of the added items, and sometimes of all items

        Every call writes a file, so add many items at once. This object sees the new items, other ones after their
        refresh(). Small files are merged now and then.

        Raises ArgumentError (other dimensions, NaN, an id or name that is repeated or that the
        index has already); MismatchError; BusyError (another writer is at work); FileError; CanceledError; and exceptions of progress and of the iterable. Then nothing is added.
        """
        items = NewItems(ids=ids, names=names, features=features, multipliers=multipliers, offsets=offsets)
        return self._add(vectors, items, False, progress)

    def upsert(
        self,
        vectors: Vectors,
        *,
        ids: Any = None,
        names: Any = None,
        features: Any = None,
        multipliers: Any = None,
        offsets: Any = None,
        progress: Progress | None = None,
    ) -> IndexChange:
        """
        Add items; those with the id or name of an item take its place, in the same commit. Otherwise as add(): without
        ids and names all items are new.
        """
        items = NewItems(ids=ids, names=names, features=features, multipliers=multipliers, offsets=offsets)
        return self._add(vectors, items, True, progress)

    def _add(self, vectors: Any, items: NewItems, replace: bool, progress: Progress | None) -> IndexChange:
        return self._change(lambda job: change_add(self.handle(), self._path, vectors, items, replace, job), progress)

    def _change(self, change: Callable[[Change], None], progress: Progress | None) -> IndexChange:
        """Make a change, then refresh. Nothing fails once its commit is made."""
        with self._changing(), Change(progress) as job:
            change(job)
            self.refresh()
        made: IndexChange = job.report(self.path)
        note_zero_vectors(made.n_zero)
        return made

    def remove(self, ids: Any = None, *, names: Any = None, where: Any = None, strict: bool = False) -> IndexChange:
        """
        Remove items by ids, integers [m], by names, a sequence of str, or where a filter holds, as search() takes it,
        in one commit. Unknown items are counted; with strict it raises NotFoundError, and nothing is removed. The bytes
        come back with compact(), or when files are merged.

        Raises ArgumentError; BusyError (another writer is at work); FileError.
        """
        if where is not None and (ids is not None or names is not None):
            raise _errors.ArgumentError("remove: give one of ids, names and where")

        def change(job: Change) -> None:
            handle = self.handle()
            some = (ids, names) if where is None else self._selected(handle, where)
            change_remove(handle, self._path, *some, strict, job)

        return self._change(change, None)

    def _selected(self, handle: IndexHandle, where: Any) -> tuple[Any, Any]:
        """The ids, or the names where items have some, of the items that a filter selects."""
        ids = all_ids(handle, self._allow(handle, where))
        return (None, names_of(handle, ids)) if handle.info().has_names else (ids, None)

    def compact(self, *, recode: bool = False, progress: Progress | None = None) -> IndexChange:
        """
        Write the index again without its removed items, in as few files as possible. Ids and scores stay the same.
        Needs disk space for a second copy. Searches may run meanwhile. With recode the quantiser, all codes and the
        calibration are learned anew from the items that there are, which makes searches faster where these have become
        unlike those of the build (code_error()).

        Raises BusyError (another writer is at work); UnsupportedError (recode without kept vectors); FileError;
        CanceledError.
        """
        how = "thr_index_recode" if recode else "thr_index_compact"
        return self._change(lambda job: change_compact(self.handle(), self._path, how, job), progress)

    def _rewrite(self) -> None:
        """Write the index again without rows of removed items, and with the same quantiser."""
        self._change(lambda job: change_compact(self.handle(), self._path, "thr_index_rewrite", job), None)

    def code_error(self) -> tuple[float, float]:
        """
        How much the codes lose of the items' spread around their mean: now, measured on some of the items, and when the
        quantiser was learned; 0.0 where unknown. If the first exceeds the second by a twentieth, compact(recode=True) is
        likely to make searches faster.

        Raises FileError (the index was replaced, or its files were changed).
        """
        errors: tuple[float, float] = self.handle().code_error()
        return errors

    def measure_cells(self) -> IndexCells:
        """
        Return what `thresher index info` prints about cells: n_cells, smallest, largest, n_without_cell, and for recall
        .95 read, the share of the items read, and speed, the expected speed over that without cells.
        While the journal has changes, searches read all cells: read and speed are 0, and a warning names the remedy,
        compact() or the writer's flush().
        """
        cells: IndexCells = self.handle().measure_cells()
        if cells.n_cells > 0 and cells.speed == 0 and self._info.journal_bytes > 0:
            note("the journal has changes, so searches read all cells until compact(), or flush() of the writer")
        return cells

    def writer(self) -> IndexWriter:
        """An IndexWriter of the index, for many small changes. This object shows each once the call has returned."""
        writer = IndexWriter(os.fsdecode(self._path), threads=self._threads)
        writer._committed = self._fall_behind
        return writer

    def _fall_behind(self) -> None:
        self._behind = True

    def refresh(self) -> bool:
        """
        Move to the newest commit; returns whether there was a newer one. Searches that are running end on the old one.

        Raises FileMissingError, FormatError or FileError; the index then stays as it is.
        """
        with self._refreshing():
            older = super().handle()
            before, self._behind = self._behind, False
            try:
                newer = older.refreshed()
            except BaseException:
                self._behind = before
                raise
            if newer is None:
                return False
            older.free_later()
            self._handle, self._info = newer, newer.info()
            if self._closed:  # meanwhile
                self._handle = None
            return True

    # ------------------------------------------------------------------------------------------- items

    def ids(self) -> IdArray:
        """The ids of all items in the order of their rows, uint64 [n_items]."""
        return all_ids(self.handle())

    @again_if_changed
    def vectors(self, ids: Any) -> ScoreArray:
        """
        The stored vectors of items by ids of any shape, or by names: float32 [..., n_dims], as vector() for each.

        Raises NotFoundError; UnsupportedError for an index of codes only.
        """
        return vectors_of(self.handle(), self.path, self._info.n_dims, ids)

    def vector(self, id: int) -> ScoreArray:
        """
        The stored vector of the item with this id, float32 [n_dims], rounded to the type it is stored as.

        Raises NotFoundError; UnsupportedError for an index of codes only.
        """
        return self.vectors(whole(id, "id", 0, abi.NO_ID))

    @overload
    def name(self, id: int) -> str | None: ...

    @overload
    def name(self, id: Sequence[Any] | npt.NDArray[Any]) -> list[Any]: ...

    def name(self, id: Any) -> str | None | list[Any]:
        """
        The name of the item with this id; None if there is no such item, or the index has no names. Of ids [k] or
        [n, k] the names, as (nested) lists.
        """
        return names_of(self.handle(), id)

    names = name

    def find(self, name: str) -> int:
        """The id of the item with this name. Raises NotFoundError."""
        found = c_uint64()
        handle = self.handle()
        _errors.call(lib.thr_index_find, handle.pointer, encoded(name, "name"), byref(found))
        return found.value

    def row(self, id: int) -> int:
        """The row of the item with this id, for filters. Raises NotFoundError."""
        row = self._row(whole(id, "id", 0, abi.NO_ID))
        if row is None:
            raise missing(self.path, id)
        return row

    def rows(self, ids: Any) -> IdArray:
        """The rows of items by ids of any shape, or by names: uint64 of the same shape. Raises NotFoundError."""
        items = as_items(ids)
        _, rows = find_items(self.handle(), items)
        check_found(self.path, items, rows)
        return shaped(items, rows)

    def _row(self, id: int) -> int | None:
        row = c_uint64()
        handle = self.handle()
        return row.value if lib.thr_index_row(handle.pointer, id, byref(row)) else None

    def __contains__(self, item: object) -> bool:
        """Whether there is an item with this id, or with this name."""
        try:
            if isinstance(item, str):
                return self.find(item) is not None
            return self._row(whole(item, "id", 0, abi.NO_ID)) is not None
        except (_errors.NotFoundError, TypeError, ValueError):
            return False

    def __len__(self) -> int:
        """The number of items."""
        return self.info.n_items

    # ------------------------------------------------------------------------------------------- the rest

    def verify(self, *, progress: Progress | None = None) -> None:
        """
        Read every byte and compare all checksums; progress is called with ("verify", items done, all items).

        If newer commits are made meanwhile, the newest one is verified.

        Raises FormatError naming the file, section and offset; FileError; CanceledError.
        """
        handle = self.handle()
        for tries in range(_VERIFY_TRIES):
            try:
                with Job(progress) as job:
                    job.finish(lib.thr_index_verify(handle.pointer, byref(_errors.slot.error)))
                return
            except _errors.FileError as failure:
                newer = handle.refreshed() if failure.status == "ECHANGED" else None
                if newer is None or newer.n_commits == handle.n_commits or tries + 1 == _VERIFY_TRIES:
                    raise  # not a newer commit, but other files
                handle = newer

    @property
    def threads(self) -> int:
        """The number of threads of a search."""
        return int(self.handle().threads)

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds the path; loading it opens the index again. ValueError if hits.set_values() was called."""
        if self._unsaved:
            raise _errors.ArgumentError(
                f"{self.path}: has values that were set, and a pickle holds its path only: set them where it is loaded"
            )
        return (_open_again, (self.path, self._threads, self._device, "auto" if self._auto else "manual"))

    def __repr__(self) -> str:
        i = self.info
        kept = "codes only" if i.keep == "none" else f"{i.keep} kept"
        state = ", closed" if self._closed else ""
        return f"<thresher.Index {self.path!r}: {i.n_items} x {i.n_dims}, {i.metric}, {i.bits} bits, {kept}{state}>"


_VERIFY_TRIES = 20


def _untuned(info: IndexInfo) -> IndexInfo:
    return info._replace(tuned_queries=0, file_bytes=0)


def _open_again(path: str, threads: int | None, device: str | None = None, refresh: str = "manual") -> Index:
    return Index(path, threads=threads, device=device, refresh=refresh)

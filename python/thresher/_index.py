# SPDX-License-Identifier: Apache-2.0
"""An index: a directory that is built once, opened without being read, and searched."""

from __future__ import annotations

import os
from ctypes import byref, c_uint64
from types import TracebackType
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from . import _abi, _arrays, _errors
from ._build import Ids, Model, build
from ._checks import encoded, encoded_path, whole
from ._dual import DualInfo, dual_info, encode_users, hits_of
from ._filters import Filter, filter_of_ids
from ._hits import HitsTarget, IndexHits, is_one_query
from ._index_info import IndexHandle, IndexInfo
from ._jobs import Job, Progress
from ._library import lib
from ._radius import search_radius
from ._readers import Vectors
from ._search import IdArray, ScoreArray, ask_for_features, search, search_options
from ._tower import TowerInfo, are_texts, encode, tower_info

CertifiedArray = npt.NDArray[np.bool_]


class Index:
    """
    An open index. Make one with Index.build or Index.open; close it with close() or a with statement, or let it go.

    An index does not change while it is open, and may be searched from several threads at once. After a fork the child
    opens it again by itself. Scores are always "larger is better": the cosine, the inner product, or minus the squared
    distance; equal scores are ordered by the smaller row.
    """

    def __init__(self, path: str | os.PathLike[str], *, threads: int | None = None, device: str | None = None) -> None:
        self._path = os.path.abspath(encoded_path(path, "path"))
        self._threads = threads
        self._device = device
        self._closed = False
        self._handle: IndexHandle | None = IndexHandle(self._path, threads, device)
        self.info = self._handle.info()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, threads: int | None = None, device: str | None = None) -> Index:
        """
        Open the index in directory path; nothing but headers is read.

        threads       how many work on a search; None: as many as the process may use
        device        what screens the codes of search(): "cpu" (None); "cuda", all GPUs together, or "cuda:0" or
                      "cuda:0,2", those; or "auto", the GPUs from the search on that is worth copying the codes there,
                      as long as that works, else the CPU. Answers are the same, bit for bit

        Raises FileMissingError, FormatError (a directory that is no index, is damaged, or too new) or FileError;
        ArgumentError for other words as device, or a GPU number that is not there; DeviceError for "cuda" where no
        GPU can be used.
        """
        return cls(path, threads=threads, device=device)

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
        lead_bits: int | None = None,
        rotate: bool | None = None,
        calibration_queries: int | None = None,
        model: Model | None = None,
        features: Any = None,
        multipliers: Any = None,
        offsets: Any = None,
        threads: int | None = None,
        device: str | None = None,
        progress: Progress | None = None,
    ) -> Index:
        """
        Build an index in directory path, and open it.

        vectors       [n, n_dims], any real type, order and stride, or a CPU tensor; an iterable of such arrays (for
                      more than memory holds); or the name of a file (.npy, .fvecs, .fbin, .hdf5:DATASET, ...); with a
                      model also texts: an iterable of str, or a file (.txt, or FILE.tsv:COLUMN)
        metric        "cosine", "ip" or "l2"; None: "cosine", or what a model is learned for
        bits          planes a dimension, 1 to 8
        keep          the copy that exact scores come from: "float32", "float16", "int8", or None for codes only
        ids           integers [n], each once, names (a sequence of str), or a file of either; None: row numbers
        replace       an index that is there already is replaced, at the moment the new one is complete
        sample_rows   rows the codes' scale is calibrated on
        segment_rows  at most so many items a file
        lead_bits     planes that are screened by themselves, 1 to bits (bits: codes are not nested); None: chosen
        rotate        vectors are rotated before they are coded; None: where a sample's codes get better by it
        calibration_queries   so many items serve as queries to find out what a recall takes; 0: none
        model         the file of a model, or a Tower, that encodes the texts as items, or has made the vectors: the index
                      carries a copy, and its queries may be texts. Codes of a binary item side are kept as they are:
                      bits, lead_bits, rotate, keep and calibration_queries do not count then. Or a Dual one, whose
                      texts are features
        features      what the items have, in the order of their vectors, as Hits.build takes it: a .tsv file, whose names
                      are the items' then, a scipy CSR matrix, each item's words, ...; search() may add what they
                      weigh
        multipliers, offsets   with features: what searches that weigh them begin with, [n] each (Hits.set_values)
        threads       None: as many as the process may use
        device        what screens the codes when the index is searched, as for open(); the CPU builds
        progress      called with ("build", items done, all items or 0), later with ("calibrate", queries done, all of
                      them); False stops the build

        Nothing is visible at path before the end: an error, Ctrl-C or a kill leaves what was there.

        Raises ArgumentError, ValueError or TypeError for wrong vectors, ids or options; MismatchError for vectors that
        are no codes of the model; ExistsError; FileError; DeviceError, before anything is built; CanceledError; and what progress or the iterable raise.
        """
        build(
            path,
            vectors,
            metric=metric,
            bits=bits,
            keep=keep,
            ids=ids,
            replace=replace,
            sample_rows=sample_rows,
            segment_rows=segment_rows,
            lead_bits=lead_bits,
            rotate=rotate,
            calibration_queries=calibration_queries,
            model=model,
            features=features,
            multipliers=multipliers,
            offsets=offsets,
            threads=threads,
            device=device,
            progress=progress,
        )
        return cls(path, threads=threads, device=device)

    # ------------------------------------------------------------------------------------------- search

    @overload
    def search(
        self,
        queries: Any,
        k: int = ...,
        *,
        recall: float | None = ...,
        exact: bool = ...,
        filter: Any = ...,
        certified: Literal[False] = ...,
        n_candidates: int | None = ...,
        n_survivors: int | None = ...,
        extra: float | None = ...,
        query_bits: int | None = ...,
        features: Any = ...,
        value: str = ...,
        target: str | HitsTarget | None = ...,
        ids_out: IdArray | None = ...,
        scores_out: ScoreArray | None = ...,
    ) -> tuple[IdArray, ScoreArray]: ...

    @overload
    def search(
        self,
        queries: Any,
        k: int = ...,
        *,
        recall: float | None = ...,
        exact: bool = ...,
        filter: Any = ...,
        certified: Literal[True],
        n_candidates: int | None = ...,
        n_survivors: int | None = ...,
        extra: float | None = ...,
        query_bits: int | None = ...,
        features: Any = ...,
        value: str = ...,
        target: str | HitsTarget | None = ...,
        ids_out: IdArray | None = ...,
        scores_out: ScoreArray | None = ...,
    ) -> tuple[IdArray, ScoreArray, CertifiedArray]: ...

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
        extra: float | None = None,
        query_bits: int | None = None,
        features: Any = None,
        value: str = "sum",
        target: str | HitsTarget | None = None,
        ids_out: IdArray | None = None,
        scores_out: ScoreArray | None = None,
    ) -> Any:
        """
        The k best items for each query, best first: (ids uint64 [n, k], scores float32 [n, k]), or both [k] for a
        single query [n_dims]. Where fewer than k items exist or may be returned, a row ends with thresher.NO_ID and
        -inf.

        queries       [n, n_dims] or [n_dims], any real type, order and stride, or a CPU tensor; a str or a list of them
                      in an index with a model
        recall        the share of the true best k that is wanted, above 0 and up to 1; None: 0.99. The index knows from
                      its calibration what that takes; above 0.999 all kept vectors are scored
        exact         score all kept vectors, without the codes
        filter        what may be returned, by row: bool [n_items], row numbers [m], a Roaring bitmap, or a Filter
        certified     a third array is returned, bool [n]: where the answer is certainly the exact one
        n_candidates  so many of the best by code get exact scores, whatever recall says
        n_survivors   so many of the best by the leading planes have their other planes read, whatever recall says
        extra         instead: all whose estimated score is within extra of the k-th best estimate get exact scores
        query_bits    1 to 8, bits a dimension of the query's code; None: 4, or what a model's queries have
        features      in an index with features: what each query weighs them, {"category=12": 1.5, ...} as Hits.search takes
                      it, or a list of these, one for each of the queries. Items are ranked by what value makes of their
                      scores and weights. A user's words that a dual model reads bring their own
        value         "sum": multiplier x s + offset, or "sigmoid": multiplier / (1 + exp(-s)) + offset
        target        which items may be found by what they have, such as "category=12 AND NOT brand=7"
        ids_out, scores_out   arrays to write into and return, of the shapes above, in C order

        Raises ArgumentError, ValueError or TypeError for wrong queries or options; UnsupportedError for exact on an
        index of codes only; FileError when its files were changed; with device="cuda" DeviceError when a GPU fails and
        MemoryLimitError when its memory does not hold the codes.
        """
        handle = self._handle
        if handle is None or handle.pointer is None:
            handle = self.opened()
        options: Any = None
        if not (
            recall is n_candidates is n_survivors is extra is query_bits is filter is features is target is None
            and exact is certified is False
        ):
            options = search_options(
                self.info.n_items, recall, n_candidates, n_survivors, extra, exact, query_bits, filter
            )
        by_model = features is None
        if are_texts(queries):
            if features is None:
                features = self._hits_of(handle, queries)
            queries = self._encoded(handle, queries)
        if features is not None or target is not None:
            if options is None:
                options = search_options(self.info.n_items, None, None, None, None, False, None, None)
            self._ask_for_features(options, features, value, target, by_model)
        return search(handle, queries, k, options, certified, ids_out, scores_out)

    @overload
    def search_radius(
        self,
        queries: Any,
        least_score: float,
        *,
        recall: float | None = ...,
        exact: bool = ...,
        filter: Any = ...,
        certified: Literal[False] = ...,
        query_bits: int | None = ...,
    ) -> tuple[IdArray, IdArray, ScoreArray]: ...

    @overload
    def search_radius(
        self,
        queries: Any,
        least_score: float,
        *,
        recall: float | None = ...,
        exact: bool = ...,
        filter: Any = ...,
        certified: Literal[True],
        query_bits: int | None = ...,
    ) -> tuple[IdArray, IdArray, ScoreArray, CertifiedArray]: ...

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
    ) -> Any:
        """
        All items whose score is at least least_score: (offsets uint64 [n + 1], ids uint64 [m], scores float32 [m]). The
        answer to query q, best first, is ids[offsets[q]:offsets[q + 1]], with the same places of scores. n is 1 for a
        single query [n_dims]. All arrays are the caller's own.

        queries       [n, n_dims] or [n_dims], any real type, order and stride, or a CPU tensor; a str or a list of them
                      in an index with a model
        least_score   the least cosine or inner product; for "l2" -r * r for all items within a distance of r
        recall        how surely an item is found: one whose score is just least_score is missed with a probability of
                      1 - recall, better ones less; None: 0.99. With 1 none is missed
        exact         score all kept vectors, without the codes
        filter        what may be returned, as for search()
        certified     a fourth array is returned, bool [n]: where certainly nothing is missed
        query_bits    1 to 8, bits a dimension of the query's code

        Nothing that does not belong into an answer is in it, but of an index of codes only, whose estimates decide.

        Raises ArgumentError, ValueError or TypeError for wrong queries or options (a least_score above 0 for "l2");
        UnsupportedError for exact on an index of codes only; FileError when its files were changed.
        """
        handle = self.opened()
        options = search_options(self.info.n_items, recall, None, None, None, exact, query_bits, filter)
        if are_texts(queries):
            queries = self._encoded(handle, queries)
        return search_radius(handle, queries, least_score, options, certified)

    @property
    def model(self) -> TowerInfo | DualInfo | None:
        """What the model is that the index carries; None when it has none."""
        handle = self.opened()
        tower = lib.thr_index_tower(handle.pointer)
        dual = lib.thr_index_dual(handle.pointer)
        return tower_info(tower) if tower is not None else dual_info(dual) if dual is not None else None

    @property
    def hits(self) -> IndexHits | None:
        """The posting lists of what items have: words, bids, explanations; None in an index without features."""
        handle = self.opened()
        return IndexHits(self, handle) if lib.thr_index_hits(handle.pointer) is not None else None

    def _lists(self) -> IndexHits:
        hits = self.hits
        if hits is None:
            raise _errors.UnsupportedError(
                f"{self.path}: was built without features: build it with features=", "EUNSUPPORTED"
            )
        return hits

    def _ask_for_features(self, options: Any, features: Any, value: str, target: Any, by_model: bool) -> None:
        hits = self._lists()
        asked = None
        if features is not None:
            queries = [features] if is_one_query(features) else features
            asked = hits.asked(hits.handle(), queries)
            if not by_model:
                asked.warn(self.path)
        ask_for_features(options, asked, value, HitsTarget(hits, target) if isinstance(target, str) else target)

    def _hits_of(self, handle: IndexHandle, users: Any) -> Any:
        """What a dual model makes of users' histories, where the index has one and features."""
        dual = lib.thr_index_dual(handle.pointer)
        if dual is None or lib.thr_index_hits(handle.pointer) is None:
            return None
        return hits_of(dual, users) if isinstance(users, str) else [hits_of(dual, user) for user in users]

    def _encoded(self, handle: IndexHandle, texts: Any) -> ScoreArray:
        dual = lib.thr_index_dual(handle.pointer)
        if dual is not None:
            return encode_users(dual, texts)
        tower = lib.thr_index_tower(handle.pointer)
        if tower is None:
            raise _errors.UnsupportedError(
                f"{self.path}: carries no model to read texts with: search it with vectors, or build it with model=",
                "EUNSUPPORTED",
            )
        return encode(tower, _abi.SIDE["query"], texts)

    def filter_ids(self, ids: Any) -> Filter:
        """
        A Filter of the items with these ids: integers [m], or a Roaring bitmap of ids (any object with serialize(), or
        its bytes). In an index that was built without ids, rows are ids, and search() takes them as they are.

        Raises NotFoundError for an id that is not there; FormatError for bytes that are no Roaring bitmap; ValueError
        or TypeError for other things.
        """
        handle = self.opened()
        return filter_of_ids(handle.pointer, self.info.n_items, ids)

    def tune(self, queries: Any, *, progress: Progress | None = None) -> None:
        """
        Learn anew what a recall takes, from queries [n, n_dims] like those that will be asked (30 at least, better a
        thousand), and keep it in the index. A build does the same with some of its items. It takes an exact search of
        all queries; progress is called with ("calibrate", queries done, all). Other threads may go on searching.

        Raises ArgumentError, ValueError or TypeError for wrong or too few queries; UnsupportedError for an index so
        small that it is searched exactly; ExistsError while a build is at work there; FileError; CanceledError.
        """
        self.opened()
        array = _arrays.plain(_arrays.vectors(queries, "queries", one_row=False))
        tuned = IndexHandle(self._path, self._threads, self._device)  # nobody searches this one
        if _untuned(tuned.info()) != _untuned(self.info):
            raise _errors.FileError(f"{self.path}: was replaced since it was opened: open it again", "ECHANGED")
        matrix = _arrays.matrix(array)
        with Job(progress) as job:
            status = lib.thr_index_tune(tuned.pointer, byref(matrix), byref(_errors.slot.error))
            job.finish(status, files=True)
        self._handle = tuned
        self.info = tuned.info()

    # ------------------------------------------------------------------------------------------- items

    def vector(self, id: int) -> ScoreArray:
        """
        The vector of the item with this id, float32 [n_dims], as it was given up to the rounding of what was kept.

        Raises NotFoundError; UnsupportedError for an index of codes only.
        """
        out = np.empty(self.info.n_dims, np.float32)
        err = _errors.slot.error
        handle = self.opened()
        status = lib.thr_index_vector(handle.pointer, whole(id, "id", 0, _abi.NO_ID), _arrays.address(out), byref(err))
        if status != _abi.OK:
            raise _errors.failure(status, err)
        return out

    def name(self, id: int) -> str | None:
        """The name of the item with this id; None when there is none, or when the index has no names."""
        handle = self.opened()  # a name of its own: it must not be closed meanwhile
        found = lib.thr_index_name(handle.pointer, whole(id, "id", 0, _abi.NO_ID))
        return None if found is None else str(found, "utf-8", "replace")

    def names(self, ids: npt.ArrayLike) -> list[Any]:
        """The names of ids [k] or [n, k], as (nested) lists of name(id)."""

        def named(values: Any) -> Any:
            return [named(value) for value in values] if isinstance(values, list) else self.name(values)

        listed: list[Any] = named(np.asarray(ids, object).tolist())
        return listed

    def find(self, name: str) -> int:
        """The id of the item with this name. Raises NotFoundError."""
        found = c_uint64()
        err = _errors.slot.error
        handle = self.opened()
        status = lib.thr_index_find(handle.pointer, encoded(name, "name"), byref(found), byref(err))
        if status != _abi.OK:
            raise _errors.failure(status, err)
        return found.value

    def row(self, id: int) -> int:
        """The row of the item with this id: what filters are made of. Raises NotFoundError."""
        row = self._row(whole(id, "id", 0, _abi.NO_ID))
        if row is None:
            raise _errors.NotFoundError(f"{self.path}: holds no item with the id {id}", "ENOTFOUND")
        return row

    def rows(self, ids: npt.ArrayLike) -> IdArray:
        """row(id) of every id, uint64 of the same shape."""
        array = np.asarray(ids, object)  # numpy makes floats of a list of small and large integers
        return np.fromiter((self.row(id) for id in array.ravel().tolist()), np.uint64, array.size).reshape(array.shape)

    def _row(self, id: int) -> int | None:
        row = c_uint64()
        handle = self.opened()
        return row.value if lib.thr_index_row(handle.pointer, id, byref(row)) else None

    def __contains__(self, item: object) -> bool:
        """Is there an item with this id, or with this name?"""
        try:
            if isinstance(item, str):
                return self.find(item) is not None
            return self._row(whole(item, "id", 0, _abi.NO_ID)) is not None
        except (_errors.NotFoundError, TypeError, ValueError):
            return False

    def __len__(self) -> int:
        """The number of items."""
        return self.info.n_items

    # ------------------------------------------------------------------------------------------- the rest

    def verify(self, *, progress: Progress | None = None) -> None:
        """
        Read every byte and compare all checksums; progress is called with ("verify", items done, all items).

        Raises FormatError naming the file, section and offset; FileError; CanceledError.
        """
        handle = self.opened()
        with Job(progress) as job:
            job.finish(lib.thr_index_verify(handle.pointer, byref(_errors.slot.error)))

    @property
    def path(self) -> str:
        """The directory, as an absolute path."""
        return os.fsdecode(self._path)

    @property
    def threads(self) -> int:
        """How many threads work on a search."""
        return self.opened().threads

    @property
    def device(self) -> str:
        """
        What screens the codes: "cpu"; "cuda:0 (NVIDIA H200)"; or, with device="auto", "cpu" until a search is worth a
        GPU, and "cpu; ..." with the reason where a GPU was wanted and could not be used; "cuda:0 (...); ..." where
        something else that shares its context gave the GPU up.
        """
        return self.opened().device

    def close(self) -> None:
        """Close it, when the last search that is still running has ended. Closing twice is allowed."""
        self._closed = True
        self._handle = None

    def opened(self) -> IndexHandle:
        """The open index; opened again in a process that was forked from the one that opened it."""
        handle = self._handle
        if self._closed:
            raise ValueError(f"{self.path}: the index is closed")
        if handle is None or handle.pointer is None:
            handle = self._handle = IndexHandle(self._path, self._threads, self._device)
        return handle

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds the path: the process that loads it opens the index again."""
        return (_open_again, (self.path, self._threads, self._device))

    def __repr__(self) -> str:
        i = self.info
        kept = "codes only" if i.keep == "none" else f"{i.keep} kept"
        state = ", closed" if self._closed else ""
        return f"<thresher.Index {self.path!r}: {i.n_items} x {i.n_dims}, {i.metric}, {i.bits} bits, {kept}{state}>"


def _untuned(info: IndexInfo) -> IndexInfo:
    return info._replace(tuned_queries=0, file_bytes=0)


def _open_again(path: str, threads: int | None, device: str | None = None) -> Index:
    return Index(path, threads=threads, device=device)

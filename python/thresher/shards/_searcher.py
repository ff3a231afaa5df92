# SPDX-License-Identifier: Apache-2.0
"""The searches of a collection, wherever its shards are: arguments in, merged answers out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np

from .. import _errors
from .._core import abi, arrays
from .._core.checks import as_list, check_names, whole
from .._filters import Filter, as_filter, check_hand_made, is_mask, refuse_rows
from .._radius import note_radius
from .._search import CertifiedArray, Effort, IdArray, RadiusOptions, ScoreArray, note_unused
from .._tower import are_texts
from ._manifest import Manifest
from ._merge import Answer, RadiusAnswer, merge_radius

if TYPE_CHECKING:
    from typing_extensions import Unpack

_Self = TypeVar("_Self", bound="Searcher")


class CollectionOptions(Effort, total=False):
    """The arguments of Searcher.search() that do not change what it returns."""

    filter: Any
    features: Any
    value: str
    target: str | None


class Searcher:
    """A collection. A subclass has the shards' answers, in the order of their rows."""

    path: str
    info: Manifest

    def _best(
        self, rows: arrays.AnyArray, k: int, allowed: Filter | None, options: dict[str, Any]
    ) -> Answer:
        """The merged answer of all shards."""
        raise NotImplementedError

    def _within(
        self, rows: arrays.AnyArray, least_score: float, allowed: Filter | None, options: dict[str, Any]
    ) -> Iterable[RadiusAnswer]:
        """search_shard_radius of every shard."""
        raise NotImplementedError

    def _encoded(self, texts: Any) -> Any:
        """Texts encoded by the collection's model."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the shards."""
        raise NotImplementedError

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _described(self, what: str, state: str = "") -> str:
        i = self.info
        return f"<{what} {self.path!r}: {i.n_items} x {i.n_dims} in {len(i.shards)} shards, {i.metric}{state}>"

    def __len__(self) -> int:
        """The number of items."""
        return self.info.n_items

    @overload
    def search(
        self, queries: Any, k: int = ..., *, certified: Literal[False] = ..., **options: Unpack[CollectionOptions]
    ) -> tuple[IdArray, ScoreArray]: ...

    @overload
    def search(
        self, queries: Any, k: int = ..., *, certified: Literal[True], **options: Unpack[CollectionOptions]
    ) -> tuple[IdArray, ScoreArray, CertifiedArray]: ...

    def search(
        self,
        queries: Any,
        k: int = 10,
        *,
        filter: Any = None,
        certified: bool = False,
        features: Any = None,
        value: str = "sum",
        target: str | None = None,
        **effort: Unpack[Effort],
    ) -> tuple[IdArray, ScoreArray] | tuple[IdArray, ScoreArray, CertifiedArray]:
        """
        Find the best k items of each query, best first: (ids uint64 [n, m], scores float32 [n, m]), as Index.search;
        ties are ordered by the row in the collection. Every shard is searched with the same options, for k items or, by
        a promised recall, for its share of them and some more, and the answers are merged.

        recall        the share of the true best k of the whole collection, on average over queries, as for Index.search
        filter        items that may be returned: ids [m] (integers, or names), or a Filter of filter_ids(). Without
                      cells, and if no items were removed, also a mask, bool [n_items] in the order of the build; without
                      ids a Roaring bitmap of row numbers
        certified     also return bool [n]: whether every shard's answer is proven to be the exact one; never with
                      vectors kept as float16 or int8
        exact, n_candidates, n_survivors, query_bits   of every shard
        features, value, target   in a collection with features, as for Index.search; with them a promised recall holds
                      for queries like those of the calibration
        """
        k = whole(k, "k", 1, 2**48)
        rows, single = self._rows(queries)
        check_names(effort, Effort)
        options: dict[str, Any] = {**effort, "certified": certified}
        if features is not None:
            one = isinstance(features, Mapping)
            options["features"] = [features] if one else as_list(features, "features", "a list of queries")
            if len(options["features"]) != len(rows):
                raise _errors.ArgumentError(f"features: {len(options['features'])} are given for {len(rows)} queries")
        elif value != "sum":
            raise _errors.ArgumentError(
                f"value: {value!r} was given without features: give features=, also if all queries are empty"
            )
        if features is not None or target is not None:
            options.update(value=value, target=target)
        n_found = min(k, len(self))
        ids, scores, sure = self._best(rows, n_found, self._filter(filter), options)
        if ids.shape[1] < n_found:  # shards were left out
            fill = ((0, 0), (0, n_found - ids.shape[1]))
            ids = np.pad(ids, fill, constant_values=abi.NO_ID)
            scores = np.pad(scores, fill, constant_values=-np.inf)
        kept: Any = (ids, scores, sure) if certified else (ids, scores)
        found: tuple[IdArray, ScoreArray] = tuple(part[0] for part in kept) if single else kept
        return found

    @overload
    def search_radius(
        self, queries: Any, least_score: float, *, certified: Literal[False] = ..., **options: Unpack[RadiusOptions]
    ) -> tuple[IdArray, IdArray, ScoreArray]: ...

    @overload
    def search_radius(
        self, queries: Any, least_score: float, *, certified: Literal[True], **options: Unpack[RadiusOptions]
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
    ) -> tuple[IdArray, IdArray, ScoreArray] | tuple[IdArray, IdArray, ScoreArray, CertifiedArray]:
        """Find all items whose score is at least least_score, as Index.search_radius; ties are ordered by row."""
        rows, _ = self._rows(queries)
        note_radius(self.info.metric, least_score)
        if exact:
            note_unused(recall=recall, query_bits=query_bits)
        options: dict[str, Any] = {"recall": recall, "exact": exact, "certified": certified, "query_bits": query_bits}
        found = merge_radius(self._within(rows, least_score, self._filter(filter), options))
        answer: tuple[IdArray, IdArray, ScoreArray] = found if certified else found[:3]  # type: ignore[assignment]
        return answer

    def _rows(self, queries: Any) -> tuple[arrays.AnyArray, bool]:
        """Queries [n, n_dims], texts encoded, and whether one query was given."""
        if are_texts(queries):
            queries = self._encoded(queries)
        array = arrays.vectors(queries, "queries", one_row=True)
        return array.reshape(-1, array.shape[-1]), array.ndim == 1

    def _filter(self, allowed: Any) -> Filter | None:
        """The filter as one of the collection's rows. Integers are ids, which may be rows."""
        remedy = "filter_ids(ids) of thresher.shards.open of it"
        has_ids = self.info.has_ids or self.info.has_names
        if isinstance(allowed, Filter):
            if allowed.snapshot is None:
                check_hand_made(self.path, allowed, self.info.rows_in_order, has_ids, remedy)
            elif allowed.snapshot != self.info:
                raise _errors.ArgumentError(
                    f"filter: was not made for the shards that {self.path} has now: make it again"
                )
        elif allowed is not None and is_mask(allowed):
            if not self.info.rows_in_order:
                raise refuse_rows(self.path, remedy)
        elif allowed is not None and has_ids:
            return self._filter_of_ids(allowed, remedy)
        return None if allowed is None else as_filter(self.info.n_items, allowed)

    def _filter_of_ids(self, ids: Any, remedy: str) -> Filter:
        """A Filter of items by ids or names."""
        raise _errors.ArgumentError(f"filter: the items of {self.path} have ids: give {remedy}")

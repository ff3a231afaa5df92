# SPDX-License-Identifier: Apache-2.0
"""Queries of features: read once, then looked up in the posting lists of an index or of each shard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ctypes import byref, c_uint32
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from .. import _errors
from . import abi, arrays
from .checks import as_list, encoded, number, shown, whole
from .library import lib
from .notes import note

Query = Union[Mapping[Any, float], Sequence[Any]]
"""Features and their weights, or features that weigh 1 each; a feature is a word or a number."""

_WANTED = "give a list of words, ['color=green'], or a dict, {'color=green': 1}"

UNKNOWN = 2**32 - 1
"""What a word that no item has is asked for as."""


def is_one_query(query: Any) -> bool:
    """Whether query is a single query, not a list of queries."""
    if isinstance(query, Mapping):
        return True
    if not hasattr(query, "__len__") or not hasattr(query, "__getitem__"):
        raise _errors.ArgumentTypeError(f"features: {shown(query)} was given: {_WANTED}, or a list of queries")
    return not len(query) or not isinstance(query[0], (Mapping, list, tuple))


class Queries:
    """
    Feature queries before their words are looked up. Feature i of all is words[places[i]], or the number numbers[i]
    where places[i] is -1; each word is in words once. Query q has the features offsets[q] to offsets[q + 1] - 1.
    """

    def __init__(self, offsets: Any, places: Any, numbers: Any, weights: Any, words: list[bytes]) -> None:
        self._offsets, self._places, self._numbers, self._weights, self._words = offsets, places, numbers, weights, words

    @classmethod
    def of(cls, queries: Sequence[Query]) -> Queries:
        """Read queries."""
        places: list[int] = []
        numbers: list[int] = []
        weights: list[float] = []
        offsets, seen = [0], dict[str, int]()
        for query in as_list(queries, "features", "a list of queries"):
            if isinstance(query, (str, bytes)) or not isinstance(query, Iterable):
                raise _errors.ArgumentTypeError(f"a query is {shown(query)}: {_WANTED}")
            listed = list(query)
            if isinstance(query, Mapping):
                weights.extend(number(query[feature], f"the weight of {feature!r}") for feature in listed)
            else:
                weights.extend([1.0] * len(listed))
            for feature in listed:
                is_word = isinstance(feature, str)
                places.append(seen.setdefault(feature, len(seen)) if is_word else -1)
                numbers.append(UNKNOWN if is_word else whole(feature, "feature", 0, UNKNOWN))
            offsets.append(len(places))
        made = cls(
            np.array(offsets, np.uint64),
            np.array(places, np.int64),
            np.array(numbers, np.uint32),
            np.fromiter(weights, np.float32, len(weights)),
            [encoded(word, "feature") for word in seen],
        )
        wrong = np.flatnonzero(~np.isfinite(made._weights))
        if wrong.size:
            at = int(wrong[0])
            feature = numbers[at] if places[at] < 0 else list(seen)[places[at]]
            raise _errors.ArgumentError(f"feature {feature!r} of a query weighs {weights[at]:g}", "ERANGE")
        return made

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def take(self, rows: Any) -> Queries:
        """Some of the queries."""
        first, n = self._offsets[:-1][rows].astype(np.int64), np.diff(self._offsets.astype(np.int64))[rows]
        offsets = np.cumsum([0, *n])
        at = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], n)
        return Queries(offsets.astype(np.uint64), self._places[at], self._numbers[at], self._weights[at], self._words)

    def asked(self, pointer: int | None, has_words: bool) -> Asked:
        """The queries of a thr_hits. has_words: its features are words, not numbers."""
        found, known = c_uint32(), np.full(len(self._words) + 1, UNKNOWN, np.uint32)
        for i in np.unique(self._places):
            if i >= 0 and lib.thr_hits_feature(pointer, self._words[i], byref(found)):
                known[i] = found.value
        features = known[self._places]  # the last one is UNKNOWN, of place -1
        if not has_words:
            features = np.where(self._places < 0, self._numbers, features)
        return Asked(self._offsets, features, self._weights)


class Asked:
    """Feature queries in the form that the library takes."""

    def __init__(self, offsets: Any, features: npt.NDArray[np.uint32], weights: npt.NDArray[np.float32]) -> None:
        self._offsets, self._features, self._weights = offsets, features, weights

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def warn(self, path: str) -> None:
        """Warn of the first query with features that no item has."""
        if not (self._features == UNKNOWN).any():
            return
        for query, (first, end) in enumerate(zip(self._offsets[:-1], self._offsets[1:])):
            if first < end and (self._features[first:end] == UNKNOWN).all():
                which = "the query" if len(self) == 1 else f"query {query}"
                if not note(f"no item has any of the words of {which}", about=f"{path}: "):
                    return

    def queries(self, first: int, n: int) -> abi.HitsQueries:
        """thr_hits_queries of n of them, a view of this object."""
        begin = int(self._offsets[first])
        offsets = self._offsets[first : first + n + 1] - np.uint64(begin)
        made = abi.HitsQueries(
            n,
            arrays.address(offsets),
            arrays.address(self._features) + begin * 4,
            arrays.address(self._weights) + begin * 4,
        )
        made.kept = offsets, self  # live as long
        return made

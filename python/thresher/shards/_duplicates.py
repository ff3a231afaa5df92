# SPDX-License-Identifier: Apache-2.0
"""
Find an id that two shards have, in the memory of one shard's ids.

Shards whose ranges of ids overlap write their ids, sorted, to files. A range of ids is cut in halves until the files
hold few enough of it to be sorted at once.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _errors
from .._index import Index
from ._ids import ids_of
from ._manifest import Shard

_AT_ONCE = 1 << 22


def _overlapping(shards: Sequence[Shard]) -> list[int]:
    """The shards whose ranges of ids overlap another's."""
    order = sorted(range(len(shards)), key=lambda s: shards[s].least_id)
    found: set[int] = set()
    reach = -1
    furthest = -1
    for s in order:
        if shards[s].least_id <= reach:
            found.update((s, furthest))
        if shards[s].greatest_id > reach:
            reach, furthest = shards[s].greatest_id, s
    return sorted(found)


def _first_twice(files: Sequence[Any], low: int, high: int, most: int) -> int | None:
    """An id from low to high that is in two of the sorted arrays, or None."""
    ends = np.array([low, high], np.uint64)
    cuts = [(np.searchsorted(ids, ends[0], "left"), np.searchsorted(ids, ends[1], "right")) for ids in files]
    held = [ids[first:end] for ids, (first, end) in zip(files, cuts) if end > first]
    if len(held) < 2:
        return None
    if sum(map(len, held)) > most and low < high:
        middle = (low + high) // 2
        left = _first_twice(held, low, middle, most)
        return left if left is not None else _first_twice(held, middle + 1, high, most)
    together = np.sort(np.concatenate(held))
    twice = np.flatnonzero(together[1:] == together[:-1])
    return int(together[twice[0]]) if len(twice) else None


def check_ids(path: str, shards: Sequence[Shard], most: int = _AT_ONCE) -> None:
    """Raise an error if two shards hold the same id. Each shard's own ids are distinct: its build has checked that."""
    numbers = _overlapping(shards)
    with tempfile.TemporaryDirectory(dir=path, prefix="parts-", suffix="") as scratch:
        files = []
        for number in numbers:
            with Index(os.path.join(path, shards[number].directory)) as index:
                name = os.path.join(scratch, f"{number}.npy")
                np.save(name, np.sort(ids_of(index)))
            files.append(np.load(name, mmap_mode="r"))
        twice = _first_twice(files, 0, 2**64 - 1, most)
        if twice is not None:
            ids = np.array([twice], np.uint64)
            both = [n for n, held in zip(numbers, files) if np.isin(ids, held)[0]]
            raise _errors.ArgumentError(
                f"{path}: the id {twice} is in shard {both[0]} ({shards[both[0]].directory}) and in shard {both[1]} "
                f"({shards[both[1]].directory}): ids of a collection are distinct",
                "EDUPLICATE",
            )

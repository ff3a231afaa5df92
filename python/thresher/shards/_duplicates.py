# SPDX-License-Identifier: Apache-2.0
"""
Find an id or a name that two shards have, in the memory of one shard's.

Shards whose ranges of ids overlap write their ids, sorted, to one file. A range of ids is cut in halves until few
enough of it are held to be sorted at once. Of names, 64-bit hashes are compared.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from .. import _errors
from .._index import Index
from ._ids import ids_of, names_of
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


def _twice(files: Sequence[Any], low: int, high: int, most: int) -> Iterator[int]:
    """The numbers from low to high that are in two of the sorted arrays, in ascending order."""
    ends = np.array([low, high], np.uint64)
    cuts = [(np.searchsorted(ids, ends[0], "left"), np.searchsorted(ids, ends[1], "right")) for ids in files]
    held = [ids[first:end] for ids, (first, end) in zip(files, cuts) if end > first]
    if len(held) < 2:
        return
    if sum(map(len, held)) > most and low < high:
        middle = (low + high) // 2
        yield from _twice(held, low, middle, most)
        yield from _twice(held, middle + 1, high, most)
        return
    together = np.sort(np.concatenate([np.unique(ids) for ids in held]))
    yield from np.unique(together[1:][together[1:] == together[:-1]]).tolist()


def _hashes(index: Index) -> Any:
    return np.array([_hash(name) for some in names_of(index) for name in some if name is not None], np.uint64)


def _hash(name: bytes) -> int:
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "little")


def _same_name(path: str, shards: Sequence[Shard], both: Sequence[int], wanted: int) -> str | None:
    """A name with this hash that both shards have."""
    found = []
    for number in both:
        with Index(os.path.join(path, shards[number].directory)) as index:
            own = (name for some in names_of(index) for name in some if name is not None)
            found.append({name for name in own if _hash(name) == wanted})
    same = found[0] & found[1]
    return str(same.pop(), "utf-8", "replace") if same else None


def check_ids(
    path: str, shards: Sequence[Shard], *, names: bool = False, most: int = _AT_ONCE, scratch: str | None = None
) -> None:
    """
    Raise an error if two shards hold the same id or, with names=True, the same name. Each shard's own are distinct: its
    build has checked that. scratch: where to put files of sorted ids; None: where the system has temporary files.
    """
    numbers = list(range(len(shards))) if names else _overlapping(shards)
    with tempfile.TemporaryDirectory(dir=scratch, prefix="parts-", suffix="") as folder:
        together = os.path.join(folder, "sorted")  # one file, since maps hold a descriptor each
        ends = [0]
        with _errors.os_errors(together), open(together, "wb") as file:
            for number in numbers:
                with Index(os.path.join(path, shards[number].directory)) as index:
                    own = np.sort(_hashes(index) if names else ids_of(index))
                own.tofile(file)
                ends.append(ends[-1] + len(own))
        whole = np.memmap(together, np.uint64, "r") if ends[-1] else np.empty(0, np.uint64)
        files = [whole[first:end] for first, end in zip(ends, ends[1:])]
        for twice in _twice(files, 0, 2**64 - 1, most):
            value = np.array([twice], np.uint64)
            both = [n for n, held in zip(numbers, files) if np.isin(value, held)[0]][:2]
            word: Any = _same_name(path, shards, both, twice) if names else twice
            if word is not None:
                first, second = (f"shard {n} ({shards[n].directory})" for n in both)
                kind = "name" if names else "id"
                raise _errors.ArgumentError(
                    f"{path}: the {kind} {word!r} is in {first} and in {second}: {kind}s of a collection are distinct",
                    "EDUPLICATE",
                )

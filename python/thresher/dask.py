# SPDX-License-Identifier: Apache-2.0
"""
Collections of shards on a Dask cluster: built from a Dask collection, searched by workers that keep shards open.

    from dask.distributed import Client
    from thresher import dask

    client = Client("tcp://scheduler:8786")
    with dask.build("/shared/my.shards", array, metric="cosine") as collection:  # a shard a chunk of rows
        ids, scores = collection.search(queries, k=10)

The directory is on storage that the client and all workers see. The result is a collection of thresher.shards, which that module searches too. Needs dask and distributed 2025.4 or newer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

try:
    from dask.delayed import delayed
    from distributed import Client, get_client, get_worker
except ImportError as missing:
    raise ImportError(f"thresher.dask needs dask and distributed: pip install distributed ({missing})") from missing

from . import _errors
from ._core import arrays
from ._filters import Filter
from .shards import (
    Manifest,
    filter_part,
    merge_radius,
    read,
    search_part_radius,
    search_parts,
)
from .shards._build import build_by
from .shards._collection import open_shard
from .shards._merge import Best
from .shards._publish import build_directory
from .shards._sample import SAMPLE_ROWS
from .shards._searcher import Searcher

PATIENCE_S = 60.0
"""How long a search waits for a worker that takes the shards of a lost one."""
_POLL_S = 0.5
"""How often a search that waits for a worker checks whether the worker is still there."""


class ShardsLostError(_errors.Error, RuntimeError):
    """Shards that no worker could search; partial=True returns without them."""


# ------------------------------------------------------------------------------------------------ build


def _frame_part(frame: Any, vector: str, ids: str | None) -> Any:
    """Vectors, and ids if there is a column of them, of one partition of a DataFrame."""
    column = frame[vector].to_numpy()
    if len(column) and isinstance(column[0], str):
        raise TypeError(
            f"the column {vector!r} holds text. Dask makes text of objects: build the DataFrame under "
            'dask.config.set({"dataframe.convert-string": False})'
        )
    vectors = np.stack(column) if len(column) else np.empty((0, 1), np.float32)
    return vectors if ids is None else (vectors, frame[ids].to_numpy())


def _parts_of(collection: Any, vector: str | None, ids: str | None) -> list[Any]:
    """The parts of a collection: Delayed objects, or what thresher.shards.build takes."""
    if hasattr(collection, "to_delayed") and hasattr(collection, "rechunk"):
        if collection.ndim != 2:
            raise ValueError(f"collection: an array of {collection.ndim} dimensions was given: expected [n, n_dims]")
        return list(collection.rechunk({1: -1}).to_delayed().reshape(-1))
    if hasattr(collection, "to_delayed"):
        if vector is None:
            raise ValueError("vector: name the column of the DataFrame that holds the vectors")
        frames = collection[[vector] if ids is None else [vector, ids]].to_delayed()
        return [delayed(_frame_part)(frame, vector, ids) for frame in frames]
    if isinstance(collection, Sequence) and not isinstance(collection, (str, bytes)):
        return list(collection)
    raise TypeError(
        f"collection: an object of type {type(collection).__name__} was given: expected a Dask array or DataFrame, or "
        "a list of .npy files, arrays, pairs (vectors, ids) or Delayed objects"
    )


def _run(client: Any, function: Any, calls: list[tuple[Any, ...]]) -> list[Any]:
    """function of each call's arguments, on the workers."""
    tasks = [delayed(function, pure=False)(*arguments) for arguments in calls]
    done: list[Any] = client.gather(client.compute(tasks))
    return done


def build(
    path: str | os.PathLike[str],
    collection: Any,
    *,
    client: Client | None = None,
    vector: str | None = None,
    ids: str | None = None,
    metric: str | None = None,
    bits: int = 3,
    keep: str | None = "float32",
    lead_bits: int | None = None,
    rotate: bool | None = None,
    sample_rows: int = SAMPLE_ROWS,
    calibration_queries: int | None = None,
    tune: Any = None,
    replace: bool = False,
    threads: int = 1,
) -> DaskShards:
    """
    Build a collection of shards in directory path, a shard for each part that has rows, and open it on the workers.

    collection    a Dask array [n, n_dims], a part a chunk of rows; a Dask DataFrame, a part a partition; or a list of
                  .npy files, arrays, pairs (vectors, ids), or Delayed objects of these. Each part is computed three
                  times, for its size, the sample and the shard: persist() what is expensive
    client        None: the current one
    vector, ids   columns of a DataFrame: of vectors (lists or arrays), and of distinct integers or names
    threads       of the build of a shard; workers build as many shards at once as they have threads
    the others    as for thresher.shards.build

    The client holds the sample and a line a shard. A shard whose worker is lost is built again by another one; what a
    lost worker has left is deleted at the end. Nothing is visible at path until all shards are complete.

    Raises as thresher.shards.build, and MismatchError for a worker with another version of this package.
    """
    directory = os.path.abspath(os.fspath(path))
    client = client or get_client()
    parts = _parts_of(collection, vector, ids)
    common = {
        "metric": metric,
        "keep": keep,
        "calibration_queries": calibration_queries,
        "tune": tune,
        "threads": threads,
    }
    quantiser_options = {"bits": bits, "lead_bits": lead_bits, "rotate": rotate}
    with build_directory(directory, replace):
        build_by(partial(_run, client), directory, parts, common, quantiser_options, sample_rows)
    return DaskShards(directory, client=client)


# ------------------------------------------------------------------------------------------------ workers


class _Holder:
    """On a worker, as an actor: neighbouring shards, open."""

    def __init__(self, path: str, manifest: Manifest, numbers: list[int]) -> None:
        self._shards = [manifest.shards[number] for number in numbers]
        self._first_row = self._shards[0].first_row
        threads = get_worker().state.nthreads
        self._indexes = [open_shard(path, manifest, number, threads, None) for number in numbers]

    def ready(self) -> bool:
        return True

    def run(self, radius: bool, rows: Any, wanted: Any, words: Any, options: dict[str, Any]) -> Any:
        """
        The merged answer of the shards, or the exception of a search: what fails otherwise is the worker. words: those
        of a filter over the rows of these shards, or None.
        """
        try:
            n_rows = sum(shard.n_items for shard in self._shards)
            allowed = None if words is None else Filter.from_words(n_rows, words)
            parts = self._parts(allowed)
            if not radius:
                return search_parts(parts, rows, wanted, **options)
            return merge_radius(search_part_radius(*part[:2], rows, wanted, filter=part[2], **options) for part in parts)
        except Exception as raised:
            return raised

    def _parts(self, allowed: Filter | None) -> Iterator[Any]:
        for shard, index in zip(self._shards, self._indexes):
            yield index, shard.first_row, filter_part(allowed, shard.first_row - self._first_row, shard.n_items)


def groups_of(sizes: Sequence[int], n_groups: int) -> list[list[int]]:
    """Neighbouring shards in at most n_groups groups of about as many items."""
    ends = np.cumsum(sizes)
    middles = ends - np.asarray(sizes) / 2
    places = np.minimum((middles * n_groups / ends[-1]).astype(int), n_groups - 1)
    return [list(map(int, np.flatnonzero(places == group))) for group in np.unique(places)]


class _Group:
    """Neighbouring shards, and the actor that holds them; None before it is placed, or after its worker was lost."""

    def __init__(self, numbers: list[int], shards: Sequence[Any]) -> None:
        self.numbers = numbers
        self.first_row = shards[numbers[0]].first_row
        self.n_items = sum(shards[number].n_items for number in numbers)
        self.worker = ""
        self.actor: Any = None


class DaskShards(Searcher):
    """
    An open collection whose shards are open on the workers of a Dask cluster. Searches take vectors, not
    texts, and return what those of Index do: they go to all workers at once, and the client merges an answer a worker. If a worker is lost, its shards
    are opened on another one and the search goes on.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, client: Client | None = None, patience: float = PATIENCE_S
    ) -> None:
        self._patience = patience
        self.path = os.path.abspath(os.fspath(path))
        self.info = read(self.path)
        self._client = client or get_client()
        try:
            self._client.wait_for_workers(1, timeout=patience)
        except TimeoutError:
            raise ShardsLostError(f"{self.path}: the cluster has no workers", "EIO") from None
        workers = self._alive()
        sizes = [shard.n_items for shard in self.info.shards]
        self._groups = [_Group(numbers, self.info.shards) for numbers in groups_of(sizes, max(len(workers), 1))]
        for group in self._groups:
            self._retry(group, partial(self._place, group))

    def close(self) -> None:
        """Close the shards on all workers."""
        for group in self._groups:
            group.actor = None

    def __enter__(self) -> DaskShards:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        i = self.info
        shape = f"{i.n_items} x {i.n_dims} in {len(i.shards)} shards, {i.metric}"
        return f"<thresher.dask.DaskShards {self.path!r}: {shape}>"

    def workers(self) -> dict[str, list[str]]:
        """The shards that each worker holds."""
        held: dict[str, list[str]] = {}
        for group in self._groups:
            if group.actor is not None:
                held.setdefault(group.worker, []).extend(self._names(group))
        return held

    def _alive(self) -> list[str]:
        return list(self._client.scheduler_info(n_workers=-1)["workers"])

    def _place(self, group: _Group) -> None:
        """Open a group's shards on the live worker with the fewest items."""
        load = dict.fromkeys(self._alive(), 0)
        for other in self._groups:
            if other.actor is not None and other.worker in load:
                load[other.worker] += other.n_items
        if not load:
            raise OSError("no worker is left")
        worker = min(load, key=lambda name: load[name])
        made = self._client.submit(
            _Holder, self.path, self.info, group.numbers, actor=True, workers=[worker], pure=False, retries=0
        )
        group.worker = worker
        group.actor = self._wait(group, made)

    def _wait(self, group: _Group, future: Any) -> Any:
        """The result of a future; OSError if the worker that makes it is lost."""
        while True:
            try:
                return future.result(timeout=_POLL_S)
            except TimeoutError:
                if group.worker not in self._alive():
                    raise OSError(f"worker {group.worker} was lost") from None

    def _start(self, group: _Group, call: tuple[Any, ...], allowed: Filter | None) -> Any:
        radius, rows, wanted, options = call
        part = filter_part(allowed, group.first_row, group.n_items)
        return group.actor.run(radius, rows, wanted, None if part is None else part.words, options)

    def _retry(self, group: _Group, step: Callable[[], Any]) -> Any:
        """What step returns; again, as long as workers are lost in it and patience lasts. Then ShardsLostError."""
        end = time.monotonic() + self._patience
        while True:
            try:
                return step()
            except _errors.Error:
                raise  # of opening a shard
            except Exception as lost:  # distributed raises many kinds for a lost worker
                group.actor = None
                if time.monotonic() >= end:
                    names = ", ".join(self._names(group))
                    raise ShardsLostError(
                        f"{self.path}: no worker could search {names} within {self._patience:g} s: add workers, or "
                        "give partial=True to search without them",
                        "EIO",
                    ) from lost
                time.sleep(_POLL_S)

    def _finish(self, group: _Group, running: Any, call: tuple[Any, ...], allowed: Filter | None) -> Any:
        """A group's answer, of the search that is running, or of another one if its worker is lost."""

        def step() -> Any:
            nonlocal running
            started, running = running, None
            if group.actor is None:
                self._place(group)
                started = None
            return self._wait(group, started if started is not None else self._start(group, call, allowed))

        answer = self._retry(group, step)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _ask(
        self,
        call: tuple[Any, ...],
        allowed: Filter | None,
        missing: list[str] | None,
        groups: Sequence[_Group] | None = None,
    ) -> Iterator[Any]:
        """
        Groups (None: all) and their answers; they work at the same time. Names of shards without answer go to missing.
        """
        running, groups = [], self._groups if groups is None else groups
        for group in groups:
            try:
                running.append(None if group.actor is None else self._start(group, call, allowed))
            except Exception:
                group.actor = None
                running.append(None)
        for group, started in zip(groups, running):
            try:
                yield group, self._finish(group, started, call, allowed)
            except (ShardsLostError, _errors.FileError):
                if missing is None:
                    raise
                missing.extend(self._names(group))

    def _names(self, group: _Group) -> list[str]:
        return [self.info.shards[number].directory for number in group.numbers]

    def search(self, queries: Any, k: int = 10, *, partial: bool = False, **options: Any) -> Any:
        """
        As Shards.search. With partial=True shards that no worker can open, or whose files are missing or damaged, are left out, and the answer has a list of
        their names at its end: (ids, scores, missing), or (ids, scores, certified, missing). A worker's shards are left
        out together.
        """
        if not partial:
            return super().search(queries, k, **options)
        asked = _Partial(self)
        return (*asked.search(queries, k, **options), asked.missing)

    def _answer(self, rows: Any, k: int, allowed: Filter | None, options: Any, missing: list[str] | None) -> Any:
        best, unsure = Best(len(rows), k, options["certified"]), []
        options = {**options, "least_scores": None}
        for group, answer in self._ask((False, rows, k, options), allowed, missing):
            best.add(answer)
            options["least_scores"] = best.least_scores  # for a search that starts again on another worker
            if answer[2] is not None and not answer[2].all():
                unsure.append(group)
        ids, scores, sure = best.answer
        if unsure and sure is not None:
            again = np.flatnonzero(~sure)
            options["least_scores"] = best.least_scores[again]
            proven = [answer for _, answer in self._ask((False, rows[again], k, options), allowed, missing, unsure)]
            sure[again] = np.logical_and.reduce([flags for _, _, flags in proven]) if len(proven) == len(unsure) else False
        return ids, scores, sure

    def _best(self, rows: arrays.AnyArray, k: int, allowed: Filter | None, options: dict[str, Any]) -> Any:
        return self._answer(rows, k, allowed, options, None)

    def _within(
        self, rows: arrays.AnyArray, least_score: float, allowed: Filter | None, options: dict[str, Any]
    ) -> Any:
        return (answer for _, answer in self._ask((True, rows, least_score, options), allowed, None))

    def _encoded(self, texts: Any) -> Any:
        why = "search vectors: encode texts with the model first"
        raise _errors.UnsupportedError(f"{self.path}: {why}", "EUNSUPPORTED")


class _Partial(Searcher):
    """One search that may leave shards out."""

    def __init__(self, whole: DaskShards) -> None:
        self.path, self.info, self._whole = whole.path, whole.info, whole
        self.missing: list[str] = []

    def _best(self, rows: arrays.AnyArray, k: int, allowed: Filter | None, options: dict[str, Any]) -> Any:
        return self._whole._answer(rows, k, allowed, options, self.missing)


def open(
    path: str | os.PathLike[str], *, client: Client | None = None, patience: float = PATIENCE_S
) -> DaskShards:
    """
    Open the collection in directory path on the workers of client (None: the current one). Each worker opens
    neighbouring shards of about as many items, and keeps them open. patience is how many seconds a search waits for a
    worker that takes the shards of a lost one.

    Raises as thresher.shards.open; ShardsLostError if there are no workers.
    """
    return DaskShards(path, client=client, patience=patience)

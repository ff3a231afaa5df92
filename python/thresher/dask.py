# SPDX-License-Identifier: Apache-2.0
"""
Collections of shards on a Dask cluster: built from a Dask collection, searched by workers that keep shards open.

    from dask.distributed import Client
    from thresher import dask

    client = Client("tcp://scheduler:8786")
    with dask.build("/shared/my.shards", array, metric="cosine") as collection:  # a shard a chunk of rows
        ids, scores = collection.search(queries, k=10)

The directory is on storage that the client and all workers see. The result is a collection that thresher.shards can
search, too. RankSVM trains on rows that are spread over the workers. Needs dask and distributed 2025.4 or newer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    from dask.delayed import delayed
    from distributed import Client, get_client, get_worker
except ImportError as missing:
    raise ImportError(f"thresher.dask needs dask and distributed: pip install distributed ({missing})") from missing

from . import _errors
from ._actors import Actors, Held, Slot, begin
from ._core import arrays
from ._core.checks import path_of
from ._core.progress import Progress
from ._filters import Filter
from ._rank import OnStep
from ._rank import RankSVM as _RankSVM
from ._rank.parts import EVALUATE, Layout, Part, Request, Rows, divide, lead, sizes_of
from .shards import (
    Manifest,
    filter_shard,
    merge_radius,
    read,
    search_shard_radius,
    search_shards,
)
from .shards._build import BuildOptions, build_by, options_by_part, with_defaults
from .shards._collection import open_shard
from .shards._merge import Best
from .shards._parts import directory_of
from .shards._publish import build_directory
from .shards._searcher import Searcher

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["DaskShards", "RankSVM", "ShardsLostError", "WorkersLostError", "build", "open"]

PATIENCE_S = 60.0
"""How long a search or a training waits for a worker that takes what a lost one held."""


class ShardsLostError(_errors.Error, RuntimeError):
    """Shards that no worker could search; partial=True returns without them."""


def _current_client() -> Any:
    try:
        return get_client()
    except ValueError:
        raise _errors.ArgumentError(
            "client: Dask has no client yet: create one before, distributed.Client(ADDRESS) of your scheduler, or "
            "distributed.Client() for workers on this machine"
        ) from None


# ------------------------------------------------------------------------------------------------ build


def _frame_part(frame: Any, vector: str, ids: str | None) -> Any:
    """Vectors, and ids if there is a column of them, of one partition of a DataFrame."""
    column = frame[vector].to_numpy()
    if len(column) and isinstance(column[0], str):
        raise _errors.ArgumentTypeError(
            f"the column {vector!r} holds text. Dask makes text of objects: build the DataFrame under "
            'dask.config.set({"dataframe.convert-string": False})'
        )
    shapes = [np.shape(row) for row in column]
    if len(set(shapes)) > 1:
        row = next(number for number, shape in enumerate(shapes) if shape != shapes[0])
        raise _errors.ArgumentError(
            f"the column {vector!r}: row {row} of a partition has other dimensions than row 0, or one is null"
        )
    vectors = np.stack(column) if len(column) else np.empty((0, 1), np.float32)
    return vectors if ids is None else (vectors, frame[ids].to_numpy())


def _parts_of(collection: Any, vector: str | None, ids: str | None) -> list[Any]:
    """The parts of a collection: Delayed objects, or what thresher.shards.build takes."""
    if hasattr(collection, "to_delayed") and hasattr(collection, "rechunk"):
        if collection.ndim != 2:
            raise _errors.ArgumentError(
                f"collection: an array of {collection.ndim} dimensions was given: expected [n, n_dims]"
            )
        return list(collection.rechunk({1: -1}).to_delayed().reshape(-1))
    if hasattr(collection, "to_delayed"):
        if vector is None:
            raise _errors.ArgumentError("vector: name the column of the DataFrame that holds the vectors")
        frames = collection[[vector] if ids is None else [vector, ids]].to_delayed()
        return [delayed(_frame_part)(frame, vector, ids) for frame in frames]
    if isinstance(collection, Sequence) and not isinstance(collection, (str, bytes)):
        return list(collection)
    raise _errors.ArgumentTypeError(
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
    features: Sequence[Any] | None = None,
    multipliers: Sequence[Any] | None = None,
    offsets: Sequence[Any] | None = None,
    replace: bool = False,
    threads: int = 1,
    **options: Unpack[BuildOptions],
) -> DaskShards:
    """
    Build a collection of shards in directory path, a shard for each part that has rows, and open it on the workers.

    collection    a Dask array [n, n_dims], a part a chunk of rows; a Dask DataFrame, a part a partition; or a list of
                  .npy files, arrays, pairs (vectors, ids), or Delayed objects of these. Each part is computed three
                  times, for its size, the sample and the shard: persist() what is expensive
    client        None: the current one
    vector, ids   columns of a DataFrame: of vectors (lists or arrays), and of distinct integers or names
    features, multipliers, offsets   a list each, with those of each part's items, or Delayed objects of these
    threads       of the build of a shard; workers build as many shards at once as they have threads
    metric, bits, keep, lead_bits, rotate, scale, sample_rows, cells, calibration_queries, tune
                  as for thresher.shards.build

    The client holds the sample and one line per shard. A shard whose worker is lost is built again by another one; what
    a lost worker has left is deleted at the end. Nothing is visible at path until all shards are complete.

    Raises as thresher.shards.build, and MismatchError for a worker with another version of this package.
    """
    directory = os.path.abspath(directory_of(path))
    client = client or _current_client()
    parts = _parts_of(collection, vector, ids)
    by_part = options_by_part(len(parts), features=features, multipliers=multipliers, offsets=offsets)
    with build_directory(directory, replace):
        given = {**with_defaults(options), "threads": threads}
        build_by(partial(_run, client), directory, parts, given, by_part)
    return DaskShards(directory, client=client)


# ------------------------------------------------------------------------------------------------ workers


class _Holder(Held):
    """On a worker, as an actor: neighbouring shards, open."""

    def __init__(self, path: str, manifest: Manifest, numbers: list[int]) -> None:
        self._manifest, self._shards = manifest, [manifest.shards[number] for number in numbers]
        self._first_row = self._shards[0].first_row
        threads = get_worker().state.nthreads
        self._indexes = [open_shard(path, manifest, number, threads, None) for number in numbers]

    def run(self, radius: bool, rows: Any, wanted: Any, words: Any, options: dict[str, Any]) -> Any:
        """The merged answer of the shards. words: those of a filter over the rows of these shards, or None."""
        n_rows = sum(shard.n_items for shard in self._shards)
        allowed = None if words is None else Filter.from_words(n_rows, words)
        shards = self._searched(allowed)
        if not radius:
            return search_shards(shards, rows, wanted, **options)
        return merge_radius(
            search_shard_radius(index, first, rows, wanted, filter=own, **options) for index, first, own in shards
        )

    def _searched(self, allowed: Filter | None) -> Iterator[Any]:
        for shard, index in zip(self._shards, self._indexes):
            own = filter_shard(allowed, shard.first_row - self._first_row, shard.n_items)
            yield index, self._manifest.first_id(shard), own


def groups_of(sizes: Sequence[int], n_groups: int) -> list[list[int]]:
    """Neighbouring shards in at most n_groups groups of about as many items."""
    ends = np.cumsum(sizes)
    middles = ends - np.asarray(sizes) / 2
    places = np.minimum((middles * n_groups / ends[-1]).astype(int), n_groups - 1)
    return [list(map(int, np.flatnonzero(places == group))) for group in np.unique(places)]


class _Group(Slot):
    """Neighbouring shards, which an actor holds."""

    def __init__(self, numbers: list[int], shards: Sequence[Any]) -> None:
        super().__init__([shards[n].directory for n in numbers], sum(shards[n].n_items for n in numbers))
        self.numbers = numbers
        self.first_row = shards[numbers[0]].first_row


class DaskShards(Searcher):
    """
    An open collection whose shards are open on the workers of a Dask cluster. Searches take vectors, not texts, and
    return what those of Index do. A search goes to all workers at once; the client merges their answers. If a worker is
    lost, its shards are opened on another one and the search goes on.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, client: Client | None = None, patience: float = PATIENCE_S
    ) -> None:
        self.path = os.path.abspath(path_of(path))
        self.info = read(self.path)
        self._closed = False
        client = client or _current_client()
        try:
            client.wait_for_workers(1, timeout=patience)
        except TimeoutError:
            raise ShardsLostError(f"{self.path}: the cluster has no workers", "EIO") from None

        def make(group: _Group, worker: str) -> Any:
            return client.submit(
                _Holder, self.path, self.info, group.numbers, actor=True, workers=[worker], pure=False, retries=0
            )

        def lost(group: _Group) -> Exception:
            return ShardsLostError(
                f"{self.path}: no worker could search {', '.join(group.names)} within {patience:g} s: add workers, or "
                "give partial=True to search without them",
                "EIO",
            )

        self._actors = Actors(client, patience, make, lost)
        sizes = [shard.n_items for shard in self.info.shards]
        groups = groups_of(sizes, max(len(self._actors.alive()), 1))
        self._actors.place_all([_Group(numbers, self.info.shards) for numbers in groups])

    def close(self) -> None:
        """Close the shards on all workers."""
        self._closed = True
        self._actors.close()

    def __repr__(self) -> str:
        return self._described("thresher.dask.DaskShards")

    def workers(self) -> dict[str, list[str]]:
        """The shards that each worker holds."""
        held: dict[str, list[str]] = {}
        for group in self._actors.slots:
            if group.actor is not None:
                held.setdefault(group.worker, []).extend(group.names)
        return held

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
        if self._closed:
            raise _errors.ArgumentError(f"{self.path}: the collection is closed")
        radius, rows, wanted, options = call

        def start(group: _Group) -> Any:
            own = filter_shard(allowed, group.first_row, group.size)
            return begin(group, "run", radius, rows, wanted, None if own is None else own.words, options)

        for group, answer in self._actors.ask(start, groups):
            try:
                yield group, answer()
            except (ShardsLostError, _errors.FileError):
                if missing is None:
                    raise
                missing.extend(group.names)

    def search(
        self, queries: Any, k: int = 10, *, partial: bool = False, **options: Any
    ) -> tuple[Any, ...]:
        """
        As Shards.search, with the same options. With partial=True shards that no worker can open, or whose files are
        missing or damaged, are left out, and the answer has a list of their names at its end: (ids, scores, missing),
        or (ids, scores, certified, missing). A worker's shards are left out together.
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
            if "features" in options:
                options["features"] = [options["features"][i] for i in again]
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


# ------------------------------------------------------------------------------------------------ RankSVM


class WorkersLostError(_errors.Error, RuntimeError):
    """Rows of a training that no worker took."""


class _RankHolder(Held):
    """On a worker, as an actor: a part of a ranking."""

    def __init__(self, pieces: list[Rows], layout: Layout, number: int) -> None:
        first, end = int(layout.first_chunks[number]), int(layout.first_chunks[number + 1])
        self._part = Part(pieces, layout.starts, first, end, get_worker().state.nthreads)

    def queries(self) -> Any:
        return self._part.queries()

    def run(self, request: Request, state: Any) -> Any:
        return self._part.run(request, state)


class _RankSlot(Slot):
    def __init__(self, number: int, queries: slice, n_rows: int) -> None:
        super().__init__([f"queries {queries.start} to {queries.stop - 1}"], n_rows)
        self.number, self.queries = number, queries


def _blocks(given: Any, what: str) -> list[Any]:
    """The parts of a Dask array or Series, or of a list."""
    if hasattr(given, "to_delayed") and hasattr(given, "rechunk"):
        return list((given.rechunk({1: -1}) if given.ndim == 2 else given).to_delayed().reshape(-1))
    if hasattr(given, "to_delayed"):
        return list(given.to_delayed())
    if isinstance(given, (list, tuple)):
        return list(given)
    kind = type(given).__name__
    raise _errors.ArgumentTypeError(
        f"{what}: an object of type {kind} was given: expected a Dask array or a list of parts"
    )


class RankSVM(_RankSVM):
    """
    thresher.RankSVM whose rows are on the workers of a Dask cluster. Each worker has the rows of some queries; the
    client has the sizes of all queries and the sums of each step. The model has the bits of thresher.RankSVM.fit of all
    rows in the order of the parts, for any number of workers. Parameters are the same; device must be "cpu".
    """

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        qid: Any,
        *,
        sample_weight: Any = None,
        client: Client | None = None,
        patience: float = PATIENCE_S,
        progress: Progress | None = None,
        on_step: OnStep | None = None,
    ) -> RankSVM:
        """
        Train on labelled rows, as thresher.RankSVM.fit. X, y, qid and sample_weight are Dask arrays or Series with the
        same chunks of rows, or lists of as many arrays, sparse matrices or Delayed objects. The rows of a query may be
        in several parts; each is computed once, and moves to the worker that has its query. If a worker is lost,
        another one takes its rows and the training goes on; patience is how many seconds it waits for one.

        Raises as thresher.RankSVM.fit, naming the part; WorkersLostError if no worker came within patience.
        """
        if self.device != "cpu":
            raise _errors.UnsupportedError('device: workers train on the CPU: give device="cpu"', "EUNSUPPORTED")
        client = client or _current_client()
        blocks = [_blocks(X, "X"), _blocks(y, "y"), _blocks(qid, "qid")]
        blocks.append([None] * len(blocks[0]) if sample_weight is None else _blocks(sample_weight, "sample_weight"))
        if len({len(own) for own in blocks}) > 1 or not blocks[0]:
            counts = ", ".join(str(len(own)) for own in blocks)
            raise _errors.ArgumentError(
                f"X, y, qid and sample_weight have {counts} parts: give as many of each, and at least one"
            )
        try:
            client.wait_for_workers(1, timeout=patience)
        except TimeoutError:
            raise WorkersLostError(f"the cluster has had no workers for {patience:g} s: add workers", "EIO") from None
        of = delayed(Rows.of, pure=False)
        rows = client.compute([of(*own, f"part {number}") for number, own in enumerate(zip(*blocks))])
        sizes = client.gather(client.map(sizes_of, rows, pure=False))
        layout = divide(sizes, len(client.scheduler_info(n_workers=-1)["workers"]))
        self._lead(client, patience, rows, sizes, layout, progress, on_step)
        return self

    def _lead(
        self, client: Any, patience: float, rows: Any, sizes: Any, layout: Layout, progress: Any, on_step: Any
    ) -> None:
        def make(slot: _RankSlot, worker: str) -> Any:
            qids = layout.qids[slot.queries]
            from_parts = [own for own, size in zip(rows, sizes) if np.isin(size.qids, qids).any()]
            pieces = [client.submit(Rows.of_queries, own, qids, pure=False) for own in from_parts]
            return client.submit(
                _RankHolder, pieces, layout, slot.number, actor=True, workers=[worker], pure=False, retries=0
            )

        def lost(slot: _RankSlot) -> Exception:
            return WorkersLostError(
                f"no worker took the rows of {slot.names[0]} within {patience:g} s: add workers", "EIO"
            )

        actors = Actors(client, patience, make, lost)
        slots = []
        for number in range(len(layout.first_chunks) - 1):
            queries = layout.queries(number)
            n_rows = int(layout.offsets[queries.stop] - layout.offsets[queries.start])
            slots.append(_RankSlot(number, queries, n_rows))
        actors.place_all(slots)
        last: Request | None = None

        def again(slot: _RankSlot) -> Any:
            """A part that was made again must evaluate at the current w first."""
            return begin(slot, "queries") if last is None else begin(slot, "run", last.of_part(slot.queries), None)

        def ask(request: Request, state: Any) -> Any:
            nonlocal last
            if request.task == EVALUATE:
                last = request
            if state is None:
                started = actors.ask(lambda slot: begin(slot, "run", request.of_part(slot.queries), None), again=again)
                return np.concatenate([answer() for _, answer in started])
            for slot in slots:
                held = state
                for _, answer in actors.ask(lambda own: begin(own, "run", request, held), [slot], again):
                    state = answer()
            return state

        try:
            described = [answer() for _, answer in actors.ask(lambda slot: begin(slot, "queries"))]
            lead(self, layout, described, ask, progress, on_step)
        finally:
            actors.close()


def __dir__() -> list[str]:
    return __all__

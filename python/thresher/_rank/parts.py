# SPDX-License-Identifier: Apache-2.0
"""
Training a RankSVM on rows that are spread over processes: the work of a process with some of the rows, and of the one
that leads. Engines such as thresher.dask carry requests and sums between them.

    leader                                     processes with rows
    divide(sizes of all given parts)     <---  sizes_of(rows) of each given part
    places of queries                    --->  Part(rows of its queries)
    lead(...): requests                  <-->  Part.run(request)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import byref, c_void_p, memmove
from typing import Any, NamedTuple

import numpy as np

from .. import _errors
from .._core import abi, arrays
from .._core.context import shared_context
from .._core.jobs import call_back
from .._core.library import lib
from .._core.progress import Progress
from .rows import Ranking, column, features_of
from .svm import OnStep, RankSVM, row_weights

EVALUATE, COUNT, SCALES, MATRIX = (abi.RANK_TASK[name] for name in ("evaluate", "count", "scales", "matrix"))


class Rows(NamedTuple):
    """Rows of some queries: features, labels, the query of each row, and weights or None."""

    x: Any
    y: Any
    qid: Any
    weights: Any

    @classmethod
    def of(cls, x: Any, y: Any, qid: Any, weights: Any, what: str) -> Rows:
        """Rows of given arrays; what names them in messages."""
        try:
            x = features_of(x)
            ids = column(arrays.integers(qid, "qid"), "qid", x.shape[0])
            given = None if weights is None else column(weights, "sample_weight", x.shape[0])
            return cls(x, column(y, "y", x.shape[0]), ids, given)
        except _errors.Error as raised:
            raise type(raised)(f"{what}: {raised}", raised.status) from raised

    def of_queries(self, qids: Any) -> Rows:
        at = np.flatnonzero(np.isin(self.qid, qids))
        return Rows(self.x[at], self.y[at], self.qid[at], None if self.weights is None else self.weights[at])


class Sizes(NamedTuple):
    """The queries of some rows, in order of first appearance, with their rows and stored values; and the features."""

    qids: Any
    n_rows: Any
    n_values: Any
    n_features: int
    sparse: bool


def sizes_of(rows: Rows) -> Sizes:
    qids, first, query, n_rows = np.unique(rows.qid, return_index=True, return_inverse=True, return_counts=True)
    sparse = hasattr(rows.x, "indptr")
    values = np.diff(rows.x.indptr) if sparse else np.full(len(rows.qid), rows.x.shape[1])
    n_values = np.bincount(query.reshape(-1), weights=values, minlength=len(qids)).astype(np.uint64)
    order = np.argsort(first)
    return Sizes(qids[order], n_rows[order].astype(np.uint64), n_values[order], rows.x.shape[1], sparse)


class Layout(NamedTuple):
    """
    The queries of all rows, in order of first appearance.

    offsets   the rows before each query, then all rows
    starts    the first query of each chunk, then the number of queries
    first_chunks    the first chunk of each part, then the number of chunks
    """

    qids: Any
    offsets: Any
    n_features: int
    starts: Any
    first_chunks: Any

    def queries(self, part: int) -> slice:
        """The queries of a part."""
        return slice(int(self.starts[self.first_chunks[part]]), int(self.starts[self.first_chunks[part + 1]]))


def _offsets(sums: Any) -> Any:
    return np.concatenate([np.zeros(1, np.uint64), np.cumsum(sums, dtype=np.uint64)])


def divide(sizes: Sequence[Sizes], n_parts: int) -> Layout:
    """Divide the queries of all given parts among at most n_parts processes, with about as many rows each."""
    first_of = sizes[0]
    for number, own in enumerate(sizes):
        if (own.n_features, own.sparse) != (first_of.n_features, first_of.sparse):
            kinds = [f"{s.n_features} {'sparse' if s.sparse else 'dense'} features" for s in (own, first_of)]
            raise _errors.ArgumentError(
                f"X: part {number} has {kinds[0]}, but part 0 has {kinds[1]}: give all parts the same"
            )
    every = np.concatenate([own.qids for own in sizes])
    qids, first, query = np.unique(every, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows, values = (
        np.bincount(query.reshape(-1), weights=np.concatenate([own[i] for own in sizes]), minlength=len(qids))[order]
        for i in (1, 2)
    )
    offsets, before = _offsets(rows), _offsets(values)
    starts = np.empty(abi.RANK_MAX_CHUNKS + 1, np.uint64)
    n_chunks = lib.thr_rank_chunks(
        arrays.address(offsets),
        arrays.address(before) if first_of.sparse else None,
        len(qids),
        first_of.n_features,
        arrays.address(starts),
    )
    starts = starts[: n_chunks + 1].copy()
    wanted = offsets[-1] * np.arange(1, n_parts) / n_parts
    first_chunks = [0]
    for cut in np.searchsorted(offsets[starts.astype(np.int64)], wanted):
        if starts[first_chunks[-1]] < starts[cut] < len(qids):
            first_chunks.append(int(cut))
    return Layout(qids[order], offsets, first_of.n_features, starts, np.array([*first_chunks, n_chunks], np.uint64))


class Request(NamedTuple):
    """A thr_rank_request. costs are those of all queries, or, for a part, of its own."""

    task: int
    sweep: bool
    diagonal: bool
    vector: Any
    costs: Any
    query_step: int
    row_step: int

    def of_part(self, queries: slice) -> Request:
        return self if self.costs is None else self._replace(costs=self.costs[queries])

    def state_size(self, n_features: int) -> int:
        """The numbers that a sum over a sample hands from part to part; 0 for other requests."""
        return 0 if self.task < SCALES else 1 + n_features + (n_features**2 if self.task == MATRIX else 0)


class Part:
    """The rows of the queries of consecutive chunks, in one process."""

    _part: int | None = None

    def __init__(self, pieces: Sequence[Rows], layout_starts: Any, first: int, end: int, threads: int | None) -> None:
        x, y, qid = (_joined([piece[i] for piece in pieces]) for i in range(3))
        given = [piece.weights for piece in pieces if piece.weights is not None]
        self.n_features = x.shape[1]
        self.n_queries = int(layout_starts[end] - layout_starts[first])
        context = shared_context(threads)
        self._ranking = Ranking(context, x, y, qid, part=True)
        weights = row_weights(np.concatenate(given), qid, len(qid)) if given else None
        span = abi.RankSpan(first, end, len(layout_starts) - 1, arrays.address(layout_starts))
        made = c_void_p()
        try:
            _errors.call(
                lib.thr_rank_part_create,
                context.pointer,
                self._ranking.pointer,
                byref(span),
                None if weights is None else arrays.address(weights),
                byref(made),
            )
        except BaseException:
            self._ranking.close()
            raise
        self._part = made.value

    def close(self) -> None:
        if self._part is not None:
            lib.thr_rank_part_free(self._part)
            self._ranking.close()
        self._part = None

    __del__ = close

    def queries(self) -> tuple[Any, Any]:
        """The pairs of each query, and the sums of their weights."""
        n_pairs, weights = np.empty(self.n_queries, np.uint64), np.empty(self.n_queries)
        lib.thr_rank_part_queries(self._part, arrays.address(n_pairs), arrays.address(weights))
        return n_pairs, weights

    def run(self, request: Request, state: Any = None) -> Any:
        """The part's sums; for a sum over a sample, state with this part's sums added."""
        vector, costs = (
            None if given is None else arrays.address(np.ascontiguousarray(given)) for given in request[3:5]
        )
        asked = abi.RankRequest(request.task, request.sweep, request.diagonal, vector, costs, *request[5:])
        out = np.empty(lib.thr_rank_part_output_size(self._part, byref(asked))) if state is None else np.array(state)
        _errors.call(lib.thr_rank_part_run, self._part, byref(asked), arrays.address(out))
        return out


def _joined(arrays: list[Any]) -> Any:
    if not hasattr(arrays[0], "indptr"):
        return np.concatenate(arrays)
    from scipy.sparse import vstack

    return vstack(arrays, format="csr")


Ask = Callable[[Request, Any], Any]
"""ask(request, state): the answers of all parts, joined; with a state, which each part takes and returns, the last one."""


def _array(pointer: int | None, n: int) -> Any:
    if pointer is None:
        return None
    made = np.empty(n)
    memmove(arrays.address(made), pointer, made.nbytes)
    return made


def lead(
    svm: RankSVM,
    layout: Layout,
    described: Sequence[tuple[Any, Any]],
    ask: Ask,
    progress: Progress | None,
    on_step: OnStep | None,
) -> None:
    """Train svm; described: Part.queries of every part, in order."""
    n_pairs, pair_weights = (np.concatenate([own[i] for own in described]) for i in (0, 1))
    n = layout.n_features

    def answer(given: Any, out: int) -> int:
        r = given.contents
        request = Request(
            r.task, r.sweep, r.diagonal, _array(r.vector, n), _array(r.costs, len(layout.qids)), r.query_step, r.row_step
        )
        size = request.state_size(n)
        sums = np.ascontiguousarray(ask(request, _array(out, size) if size else None), np.float64)
        memmove(out, arrays.address(sums), sums.nbytes)
        return abi.OK

    canceled = abi.STATUS["ECANCELED"]
    run = abi.RankRunFn(lambda _user, given, out, _err: call_back(lambda: answer(given, out), canceled))
    parts = abi.RankParts(
        len(layout.qids),
        n,
        *map(arrays.address, (layout.offsets, n_pairs, pair_weights, layout.first_chunks)),
        len(layout.first_chunks) - 1,
        run,
    )
    context = shared_context(svm.threads)
    svm.train_by(
        context,
        lambda options, model, report, err: lib.thr_rank_train_parts(
            context.pointer, byref(parts), byref(options), model, report, err
        ),
        progress,
        on_step,
    )

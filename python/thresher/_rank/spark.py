# SPDX-License-Identifier: Apache-2.0
"""
RankSVM on the rows of a Spark DataFrame.

The rows are written to files once, and divided into parts of whole queries. Each evaluation, and each product with the
Hessian, is a job with a task a part. Spark may run a part in another process each time, so a process that has not
evaluated the part at the current w does so first: what it keeps from task to task saves time only.
"""

from __future__ import annotations

import os
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _errors
from .._core.checks import path_of
from .._core.progress import Progress
from .._spark_tasks import DataFrame, F, Spooled, need_columns, run_tasks, spooled
from .parts import COUNT, EVALUATE, Layout, Part, Request, Rows, Sizes, divide, lead, sizes_of
from .svm import OnStep
from .svm import RankSVM as _RankSVM

_KEPT = 4
"""The most parts that a process keeps from task to task."""
_kept: OrderedDict[str, _Kept] = OrderedDict()


class _Plan(NamedTuple):
    """A part of a training: where its rows are, and its chunks. name: no other part of any training has it."""

    name: str
    rows: list[Spooled]
    qids: Any
    starts: Any
    first: int
    end: int


class _Kept:
    """A part in a process of an executor, and the id of its last evaluation."""

    def __init__(self, plan: _Plan) -> None:
        pieces = [_rows_of(rows).of_queries(plan.qids) for rows in plan.rows]
        self.part = Part(pieces, plan.starts, plan.first, plan.end, 1)
        self.evaluated = -1


def _rows_of(rows: Spooled) -> Rows:
    x, y, qid, *weights = rows.columns()
    return Rows(x, y, qid, weights[0] if weights else None)


def _part(plan: _Plan) -> _Kept:
    kept = _kept.pop(plan.name, None) or _Kept(plan)
    _kept[plan.name] = kept
    while len(_kept) > _KEPT:
        _kept.popitem(last=False)[1].part.close()
    return kept


def _sizes(rows: Spooled, number: int) -> Sizes:
    x, y, qid, weights = _rows_of(rows)
    return sizes_of(Rows.of(x, y, qid, weights, f"partition {number}"))


def _queries(plan: _Plan) -> Any:
    return _part(plan).part.queries()


def _run(plan: _Plan, request: Request, state: Any, last: Request | None, number: int) -> Any:
    """
    What a part computes for a request. number: of the training's latest evaluation, which the request is or follows;
    last: that evaluation, if the request follows it. A part that has not evaluated it in this process does so first.
    """
    kept = _part(plan)
    if last is not None and kept.evaluated != number:
        kept.part.run(last)
    kept.evaluated = -1
    answer = kept.part.run(request, state)
    if request.task != COUNT:  # which ends what an evaluation has prepared
        kept.evaluated = number
    return answer


class RankSVM(_RankSVM):
    """
    thresher.RankSVM trained on the rows of a Spark DataFrame. The driver has the sizes of all queries and the sums of
    each step. The model has the bits of thresher.RankSVM.fit of all rows in the order of the partitions, for any number
    of tasks. Parameters are the same; device must be "cpu".
    """

    def fit(  # type: ignore[override]
        self,
        df: DataFrame,
        *,
        path: str | os.PathLike[str],
        features: str = "features",
        label: str = "label",
        qid: str = "qid",
        weight: str | None = None,
        parts: int | None = None,
        progress: Progress | None = None,
        on_step: OnStep | None = None,
    ) -> RankSVM:
        """
        Train on labelled rows, as thresher.RankSVM.fit.

        path      a directory that the driver and all executors see. The rows are written there once, as float32 in a
                  directory of their own, which is deleted at the end
        features  the column of features: arrays of numbers, as many in each row
        label     the column of labels: numbers, larger is better
        qid       the column of queries: whole numbers. A query's rows may be in several partitions
        weight    the column of sample weights; None: 1
        parts     tasks of each job, of one thread; None: the partitions of df, at most 16. As many as there are cores
                  are fastest

        An evaluation or a product is a Spark job, of some 50 milliseconds and more; a training has 20 to some hundreds.
        Lost tasks are computed again by Spark; the bits of the model stay.

        Raises as thresher.RankSVM.fit, naming the partition.
        """
        if self.device != "cpu":
            raise _errors.UnsupportedError('device: tasks train on the CPU: give device="cpu"', "EUNSUPPORTED")
        names = [features, label, qid, *([] if weight is None else [weight])]
        need_columns(df, *names)
        kinds = ["vectors", "numbers", "whole", "numbers"][: len(names)]
        place = os.path.abspath(path_of(path))
        if not os.path.isdir(place):
            raise _errors.FileMissingError(f"{place}: there is no such directory", "ENOTFOUND")
        with spooled(df.select(*(F.col(name).alias(str(i)) for i, name in enumerate(names))), place, kinds) as found:
            calls = [(rows, number) for number, rows in enumerate(found) if rows.n_rows]
            if not calls:
                raise _errors.ArgumentError("the DataFrame has no rows: give labelled rows")
            sizes = run_tasks(df.sparkSession, _sizes, calls)
            filled = [rows for rows, _ in calls]
            self._lead(df.sparkSession, filled, sizes, divide(sizes, parts or min(len(found), 16)), progress, on_step)
        return self

    def _lead(
        self,
        session: Any,
        rows: Sequence[Spooled],
        sizes: Sequence[Sizes],
        layout: Layout,
        progress: Progress | None,
        on_step: OnStep | None,
    ) -> None:
        name = secrets.token_hex(8)
        plans = []
        for number, (first, end) in enumerate(zip(layout.first_chunks.tolist(), layout.first_chunks[1:].tolist())):
            qids = layout.qids[layout.queries(number)]
            own = [r for r, size in zip(rows, sizes) if np.isin(size.qids, qids).any()]
            plans.append(_Plan(f"{name}-{number}", own, qids, layout.starts, first, end))
        last: Request | None = None
        evaluations = 0

        def calls(request: Request, state: Any) -> list[tuple[Any, ...]]:
            made: list[tuple[Any, ...]] = []
            for number, plan in enumerate(plans):
                own = layout.queries(number)
                before = None if request.task == EVALUATE or last is None else last.of_part(own)
                made.append((plan, request.of_part(own), state, before, evaluations))
            return made

        def ask(request: Request, state: Any) -> Any:
            nonlocal last, evaluations
            if request.task == EVALUATE:
                last, evaluations = request, evaluations + 1
            if state is None:
                answer = np.concatenate(run_tasks(session, _run, calls(request, None)))
            else:  # parts add to the state one after the other
                answer = state
                for number in range(len(plans)):
                    (answer,) = run_tasks(session, _run, [calls(request, answer)[number]])
            return answer

        described = run_tasks(session, _queries, [(plan,) for plan in plans])
        lead(self, layout, described, ask, progress, on_step)

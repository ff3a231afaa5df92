# SPDX-License-Identifier: Apache-2.0
"""Build one shard from one part, and search shards: functions for any engine."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import _errors
from .._core import abi, arrays
from .._core.checks import path_of, whole
from .._core.feature_queries import Queries
from .._core.notes import held_notes, note
from .._filters import SHARE, Filter
from .._index import Index
from ._ids import has_given_ids, ids_of
from ._manifest import Shard, checksum_of
from ._merge import Answer, Best, Ids, RadiusAnswer, best_of, merge, no_answer

EXACT_RECALL = 0.999
"""With a larger recall searches score all vectors."""

LIKELY, FEW = 1.0, 3.0
"""Standard deviations above a mean: of the rank whose score is a bound, and of the items that a shard is searched for."""


def new_name(number: int) -> str:
    """A name for a shard's directory that no other build or attempt uses."""
    return f"{number:06d}-{secrets.token_hex(4)}"


def build_shard(
    path: str | os.PathLike[str],
    number: int,
    vectors: Any,
    *,
    quantiser_from: str | os.PathLike[str] | None,
    first_row: int,
    ids: Any = None,
    calibration_queries: int | None = None,
    tune: Any = None,
    what: str | None = None,
    **options: Any,
) -> Shard:
    """
    Build shard number of the collection in directory path, as a new directory there, and describe it. The collection
    does not hold it until publish().

    vectors         [n, n_dims], n at least 1, as for Index.build
    quantiser_from  the index of build_quantiser(); None for a binary model, whose codes are stored as they are
    first_row       the rows of all parts before
    ids             distinct integers [n], of which no other part has one, or names; None: row numbers in the collection
    tune            queries [m, n_dims] that every shard is calibrated by; None: some of the shard's own items
    what            the part's name in messages; None: "part NUMBER"
    options         metric, keep, cells (of this shard; 1: none), model, features, multipliers, offsets and threads, as
                    for Index.build. With features or cells row numbers become given ids

    A failed or stopped call leaves nothing. Raises as Index.build, with the part's name before the message.
    """
    what = what or f"part {whole(number, 'number', 0, 2**32 - 1)}"
    first_row = whole(first_row, "first_row", 0, 2**63)
    numbers_items = options.get("features") is not None or options.get("cells") is not None  # from 0
    if numbers_items and ids is None:
        ids = np.arange(first_row, first_row + len(vectors), dtype=np.uint64)
    directory = new_name(number)
    target = os.path.join(path_of(path), directory)
    try:
        with Index.build(
            target,
            vectors,
            ids=ids,
            quantiser_from=quantiser_from,
            calibration_queries=0 if tune is not None else calibration_queries,
            **options,
        ) as index:
            if tune is not None:
                _tune(index, tune)
            return described(index, directory, first_row)
    except BaseException as raised:
        shutil.rmtree(target, ignore_errors=True)
        if isinstance(raised, _errors.Error):
            raise type(raised)(f"{what}: {raised}", raised.status) from raised
        raise


def _tune(index: Index, queries: Any) -> None:
    with contextlib.suppress(_errors.UnsupportedError):  # so few items that searches are exact
        index.tune(queries)


def described(index: Index, directory: str, first_row: int) -> Shard:
    """The entry of shards.json of a shard that is built."""
    n = len(index)
    least, greatest = first_row, first_row + n - 1
    if has_given_ids(index):
        ids = ids_of(index)
        least, greatest = int(ids.min()), int(ids.max())
    return Shard(directory, first_row, n, least, greatest, checksum_of(index.path))


def filter_shard(allowed: Filter | None, first_row: int, n_items: int) -> Filter | None:
    """The bits of a collection's filter that are a shard's: n_items rows from first_row. None for no filter."""
    if allowed is None:
        return None
    octets = allowed.words.view(np.uint8)[first_row // 8 : (first_row + n_items + 7) // 8]
    bits = np.unpackbits(octets, bitorder="little")[first_row % 8 :][:n_items]
    share = Filter(n_items, bits.view(np.bool_))
    share.snapshot = SHARE
    return share


def _global(index: Index, first_row: int, ids: Any) -> Any:
    """Ids of the collection: those of the shard, or its rows counted from first_row."""
    if not has_given_ids(index) and first_row != 0:
        ids[ids != abi.NO_ID] += np.uint64(first_row)
    return ids


def search_shard(
    index: Index,
    first_row: int,
    queries: Any,
    k: int,
    *,
    certified: bool = False,
    **options: Any,
) -> Answer:
    """
    The best k items of one shard for each of queries [n, n_dims], as ids of the collection: (ids [n, m], scores [n, m],
    certified [n] or None), where m is k, or the shard's items if there are fewer. options are those of Index.search:
    recall, exact, n_candidates, n_survivors, query_bits, features, value, target, least_scores,
    and filter over the shard's own rows (filter_shard).
    """
    rows = arrays.vectors(queries, "queries", one_row=False)
    run: Any = index.search
    found = run(rows, min(whole(k, "k", 1, 2**31), len(index)), certified=certified, **options)
    # Another shard's item may lie between a kept float16 or int8 vector and the given one, which no shard alone rules out.
    sure = found[2] & (index.info.keep not in ("float16", "int8")) if certified else None
    return _global(index, first_row, found[0]), found[1], sure


def _few_of(k: int, share: float, deviations: float) -> int:
    """
    A number of items, at most k: if rows are spread at random, this share of all rows holds more of the best k only
    where chance puts it that many standard deviations above the mean.
    """
    mean = k * share
    return min(k, math.ceil(mean + deviations * math.sqrt(mean))) if share < 1 else k


def _replaced(answer: Answer, at: Any, better: Answer) -> Answer:
    """An answer with the rows `at` of a longer one."""
    ids, scores, flags = no_answer(len(answer[0]), better[0].shape[1], answer[2] is not None)
    for all_of, old, rows in ((ids, answer[0], better[0]), (scores, answer[1], better[1])):
        all_of[:, : old.shape[1]] = old
        all_of[at] = rows
    if flags is not None and answer[2] is not None:
        flags[:] = answer[2]
        flags[at] = better[2]
    return ids, scores, flags


def search_shards(
    shards: Iterable[tuple[Index, int, Filter | None]],
    queries: Any,
    k: int,
    *,
    certified: bool = False,
    least_scores: Any = None,
    n_read_out: Ids | None = None,
    features: Sequence[Any] | Queries | None = None,
    **options: Any,
) -> Answer:
    """
    The best k items of shards (index, first_row, its share of the filter), in the order of their rows: (ids [n, m],
    scores [n, m], certified [n] or None), where m is k, or all items if there are fewer. least_scores [n]: the k-th best scores elsewhere; items that score less may
    be left out. n_read_out [n] is filled as by Index.search, and summed over the shards. options are those of
    search_shard, without filter; features are a list, one a query.

    A promised recall: every shard is searched for its share of k and some more, and leaves out what scores less than a
    bound. The bound is a guess: the score at the rank, among the items found so far, that their share of all rows makes
    likely for the k-th best of the whole. Guesses are checked at the end, against the k-th best score T of all that was
    found, of exact scores, so at most the true one:

    - where all items that a shard was searched for reach T, it may hold more of the best k;
    - where a shard's bound was larger than T, it may have left out some of them;

    both are searched again, for k items with the bound T. So each shard's last search had a bound that no item of the
    true best k scores less than. It misses on average at most 1 - recall of the items that reach its bound
    (thr_search_options.least_scores); the best k are the best of these in each shard, and better items are missed less.
    """
    rows = arrays.vectors(queries, "queries", one_row=False)
    opened = list(shards)
    by_recall = not options.get("exact") and (options.get("recall") or 0) <= EXACT_RECALL
    counts = ("n_candidates", "n_survivors")
    by_recall = by_recall and all(options.get(name) is None for name in counts)
    n_items = sum(len(index) for index, _, _ in opened)
    k = min(k, n_items)
    if n_read_out is not None:
        n_read_out[:] = 0
    given = np.full(len(rows), -np.inf, np.float32) if least_scores is None else least_scores
    wanted_features = features if features is None or isinstance(features, Queries) else Queries.of(features)
    best, answers, bounds = Best(len(rows), k, certified), [], []
    notes: dict[str, int] = {}

    def ask(shard: tuple[Index, int, Filter | None], least: Any, wanted: int, at: Any = slice(None)) -> Answer:
        index, first_row, allowed = shard
        n_read = np.zeros(len(rows[at]), np.uint64)
        own = {"certified": certified, "least_scores": least[at], "filter": allowed, "n_read_out": n_read, **options}
        if wanted_features is not None:
            own["features"] = wanted_features if isinstance(at, slice) else wanted_features.take(at)
        with held_notes() as of_shard:  # of features that no item of this shard has
            found = search_shard(index, first_row, rows[at], wanted, **own)
        if isinstance(at, slice):
            notes.update({one: notes.get(one, 0) + 1 for one in set(of_shard)})
        if n_read_out is not None:
            n_read_out[at] += n_read
        return found

    n_done = 0
    for shard in opened:
        few = _few_of(k, len(shard[0]) / n_items, FEW if n_done else LIKELY) if by_recall else k
        likely = _few_of(k, n_done / n_items, LIKELY) if by_recall else k
        bounds.append(np.maximum(given, best.scores_at(max(likely, 1))))
        answers.append(ask(shard, bounds[-1], few))
        best.add(answers[-1])
        n_done += len(shard[0])
    of_all = [message for message, n in notes.items() if n == len(opened)]
    for of_target in (False, True):  # the first of each kind, as of one index
        for message in [message for message in of_all if message.startswith("target: ") == of_target][:1]:
            note(message)
    least, replaced = np.maximum(given, best.least_scores), False
    for is_short in (True, False):  # first those that may raise the k-th best score
        for i, shard in enumerate(opened):
            last = answers[i][1][:, -1]
            full = (last >= least) & (last > -np.inf) & (answers[i][1].shape[1] < min(k, len(shard[0])))
            again = np.flatnonzero(full if is_short else bounds[i] > least)
            if not len(again):
                continue
            replaced = True
            answers[i] = _replaced(answers[i], again, ask(shard, least, k, again))
            bounds[i][again] = least[again]
            found = [(answer[0][again], answer[1][again], None) for answer in answers]
            least[again] = np.maximum(least[again], best_of(found, k).least_scores)
    ids, scores, sure = merge(answers, k) if replaced else best.answer
    if sure is None or sure.all():
        return ids, scores, sure
    # A shard could not prove that no other item reaches the k-th best score known then. It is larger now.
    sure[:] = True
    for shard, (_, _, flags) in zip(opened, answers):
        again = np.flatnonzero(~flags & sure)  # type: ignore[operator]
        if len(again):
            sure[again] = ask(shard, least, k, again)[2]
    return ids, scores, sure


def search_shard_radius(
    index: Index,
    first_row: int,
    queries: Any,
    least_score: float,
    *,
    certified: bool = False,
    **options: Any,
) -> RadiusAnswer:
    """
    As search_shard, for Index.search_radius: (offsets [n + 1], ids, scores, certified [n] or None). options are recall,
    exact, query_bits and filter.
    """
    run: Any = index.search_radius
    with held_notes():  # of the radius, for the collection
        found = run(queries, least_score, certified=certified, **options)
    return found[0], _global(index, first_row, found[1]), found[2], found[3] if certified else None

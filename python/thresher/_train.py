# SPDX-License-Identifier: Apache-2.0
"""Train a model on pairs, and evaluate one."""

from __future__ import annotations

import os
from ctypes import Structure, byref, c_void_p
from typing import Any, Callable, NamedTuple, TypedDict

from . import _errors
from ._core import abi
from ._core.checks import choice, encoded_path, number, whole
from ._core.context import Context, shared_context
from ._core.jobs import Job, reporting
from ._core.library import defaults, lib, read
from ._core.progress import Progress

_UINT32 = 2**32 - 1


class TowerEpoch(NamedTuple):
    """
    A point of the learning curve. Losses are mean log losses. valid_quality is the AUC of the validation pairs against
    items of other queries; of a dual tower GAUC, of a model of vectors recall@10. as_floats: a float epoch, whose model was not written. best: best validation so far; the model was
    written.
    """

    epoch: int
    n_pairs: int
    seconds: float
    examples_per_second: float
    loss: float
    valid_loss: float
    valid_quality: float
    as_floats: bool
    best: bool


class TowerReport(NamedTuple):
    """
    The result of a training; pairs are requests of a dual tower; n_refused rows lacked a column, or words in it;
    valid_quality as in TowerEpoch; the rest is of the best epoch.
    """

    n_pairs: int
    n_valid: int
    n_refused: int
    n_epochs: int
    best_epoch: int
    loss: float
    valid_loss: float
    valid_quality: float
    examples_per_second: float


class TowerQuality(NamedTuple):
    """
    The AUC of cosines, n_good pairs against n_bad pairs; the mean log loss against 10 other items, NaN with labels.
    """

    auc: float
    loss: float
    n_good: int
    n_bad: int
    n_refused: int


OnEpoch = Callable[[TowerEpoch], object]


def fill_format(
    pairs_format: Structure,
    query_column: int,
    item_column: int,
    label_column: int | None,
    least_label: float,
    header: bool,
) -> None:
    """Set the columns of the pairs, counted from 1."""
    pairs_format.query_column = whole(query_column, "query_column", 1, _UINT32)
    pairs_format.item_column = whole(item_column, "item_column", 1, _UINT32)
    pairs_format.label_column = 0 if label_column is None else whole(label_column, "label_column", 1, _UINT32)
    pairs_format.least_label = number(least_label, "least_label")
    pairs_format.header = bool(header)


class Training(TypedDict, total=False):
    """Arguments of Tower.train that other trainings take, too."""

    valid: str | os.PathLike[str] | None
    valid_share: float | None
    n_epochs: int | None
    patience: int | None
    batch: int | None
    n_negatives: int | None
    gamma: float | None
    rate: float | None
    float_share: float | None
    estimator: str
    seed: int | None
    resume: bool


# Options by type. The library checks their ranges.
_RUN_WHOLE, _RUN_NUMBERS = ("n_epochs", "patience", "batch"), ("valid_share", "rate")
_WHOLE = ("n_negatives",)
_NUMBERS = ("gamma", "word_dropout", "float_share", "teacher_share", "teacher_gamma", "noise")
_CONFIG = ("query_bits", "item_bits", "n_dims", "n_pooled", "max_grams", "max_words")
_FLAGS = ("shared_words", "shared_steps", "plain_weights")


def set_options(
    options: Any, wanted: dict[str, Any], config: tuple[str, ...], wholes: tuple[str, ...], numbers: tuple[str, ...]
) -> None:
    """Set the options that are wanted: whole numbers of options.config and of options, numbers, and what all share."""
    run = options.run
    for names, struct in ((config, options.config), (wholes, options), (_RUN_WHOLE, run)):
        for name in filter(wanted.__contains__, names):
            setattr(struct, name, whole(wanted[name], name, 0, _UINT32))
    for names, struct in ((numbers, options), (_RUN_NUMBERS, run)):
        for name in filter(wanted.__contains__, names):
            setattr(struct, name, number(wanted[name], name))
    if "valid" in wanted:
        run.valid_path = encoded_path(wanted["valid"], "valid")
    if "seed" in wanted:
        run.seed = whole(wanted["seed"], "seed", 0, 2**64 - 1)
    run.resume = bool(wanted.get("resume"))


def train_options(given: dict[str, Any], options: Any = None) -> Any:
    """thr_tower_train_options of the arguments; None is the library's default, or that of options."""
    if options is None:
        options = defaults("thr_tower_train_options_init")
    wanted = {name: value for name, value in given.items() if value is not None}
    set_options(options, wanted, _CONFIG, _WHOLE, _NUMBERS)
    for name in _FLAGS:
        setattr(options.config, name, bool(wanted.get(name)))
    options.estimator = choice(wanted.get("estimator", "variant"), "estimator", abi.ESTIMATOR)
    return options


def tell_epochs(options: Any, on_epoch: OnEpoch | None) -> None:
    """Set the function to call after every epoch in the options of a training."""
    if on_epoch is not None:
        options.run.on_epoch = reporting(abi.TowerEpochFn, TowerEpoch, on_epoch, "on_epoch")


def train(
    pairs: str | os.PathLike[str],
    path: bytes,
    options: Any,
    *,
    on_epoch: OnEpoch | None,
    progress: Progress | None,
    threads: int | None,
    device: str | None,
) -> TowerReport:
    """thr_tower_train."""
    report = abi.TowerReport()
    tell_epochs(options, on_epoch)
    context = shared_context(threads, device)
    from_file = encoded_path(pairs, "pairs")
    with Job(progress) as job:
        status = lib.thr_tower_train(
            context.pointer, from_file, path, byref(options), byref(report), byref(_errors.slot.error)
        )
        job.finish(status, files=True)
    return read(TowerReport, report)


def train_vectors(
    context: Context,
    readers: tuple[c_void_p | None, c_void_p],
    path: bytes,
    options: Any,
    *,
    on_epoch: OnEpoch | None,
    job: Job,
) -> TowerReport:
    """thr_tower_train_vectors on readers of queries, or None, and of items."""
    report = abi.TowerReport()
    tell_epochs(options, on_epoch)
    status = lib.thr_tower_train_vectors(
        context.pointer, *readers, path, byref(options), byref(report), byref(_errors.slot.error)
    )
    job.finish(status, files=True)
    return read(TowerReport, report)


def judge(
    pointer: int | None, pairs: str | os.PathLike[str], pairs_format: Any, progress: Progress | None
) -> TowerQuality:
    """thr_tower_eval."""
    quality = abi.TowerQuality()
    from_file = encoded_path(pairs, "pairs")
    with Job(progress) as job:
        status = lib.thr_tower_eval(pointer, from_file, byref(pairs_format), byref(quality), byref(_errors.slot.error))
        job.finish(status, files=True)
    return read(TowerQuality, quality)

# SPDX-License-Identifier: Apache-2.0
"""Linear RankSVM: weights of features whose scores order the rows of a query."""

from __future__ import annotations

import os
import sys
from ctypes import byref, c_void_p, string_at
from typing import Any, Callable, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _errors
from .._core import abi, arrays
from .._core.checks import above_zero, choice, encoded_path, whole
from .._core.context import shared_context
from .._core.jobs import Job, reporting
from .._core.library import lib, read
from .._core.progress import Progress
from .._feature_names import check_names, keep_names, names_of
from .quality import rank_quality
from .rows import Ranking, column, features_of, queries_of

_PARAMETERS = ("C", "epsilon", "max_iter", "method", "scale", "warm_start", "threads", "device", "one_query")
_UNCHANGED = "$UNCHANGED$"  # as in scikit-learn


class RankReport(NamedTuple):
    """
    The result of a training: the objective and the gradient's norm, at the model and at 0; the share of training pairs
    in the right order; Newton steps and Hessian-vector products; seconds of the training, and of the products.
    """

    objective: float
    gradient_norm: float
    first_gradient_norm: float
    pairwise_accuracy: float
    seconds: float
    product_seconds: float
    n_pairs: int
    n_products: int
    n_steps: int
    converged: bool


class RankStep(NamedTuple):
    """The state of a training after a Newton step, or at the start, step 0; seconds since the call."""

    objective: float
    gradient_norm: float
    first_gradient_norm: float
    seconds: float
    n_products: int
    step: int


OnStep = Callable[[RankStep], object]


def _tell_steps(options: Any, on_step: OnStep | None) -> None:
    if on_step is not None:
        options.on_step = reporting(abi.RankStepFn, RankStep, on_step, "on_step")


def row_weights(weights: Any, qid: Any, n: int) -> Any:
    """One a row, in the library's order: queries by first appearance, rows of a query in input order."""
    if weights is None:
        return None
    given = arrays.numbers(column(weights, "sample_weight", n), "sample_weight", np.float64)
    _, first, query = np.unique(queries_of(qid, n), return_index=True, return_inverse=True)
    return np.ascontiguousarray(given[np.argsort(first[query.reshape(n)], kind="stable")])


def _weights(model: c_void_p) -> npt.NDArray[np.float64]:
    n = lib.thr_rank_model_n_features(model)
    return np.frombuffer(string_at(lib.thr_rank_model_weights(model), n * 8), np.float64).copy()


def _weighed_share(scores: Any, levels: Any, queries: Any, weights: Any) -> float:
    """
    The share of a query's pairs of different levels in the right order, weighted by the product of the rows' weights.
    """
    right = total = 0.0
    for query in np.unique(queries):
        at = np.flatnonzero(queries == query)
        at = at[np.argsort(scores[at], kind="stable")]
        for level in np.unique(levels[at])[1:]:
            better, worse = at[levels[at] == level], at[levels[at] < level]
            below = np.concatenate([[0.0], np.cumsum(weights[worse])])  # of the worse rows with the least scores
            right += float(weights[better] @ below[np.searchsorted(scores[worse], scores[better])])
            total += float(weights[better].sum() * below[-1])
    return right / total if total else float("nan")


class NotFittedError(_errors.ArgumentError, AttributeError):
    """Also a sklearn.exceptions.NotFittedError if scikit-learn is in use."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _not_fitted, self.args


def _not_fitted(message: str) -> Exception:
    if "sklearn" not in sys.modules:
        return NotFittedError(message)
    from sklearn.exceptions import NotFittedError as theirs

    made: Exception = type("NotFittedError", (NotFittedError, theirs), {})(message)
    return made


class RankSVM:
    """
    A linear RankSVM with the interface of scikit-learn's estimators. It minimises half the squared norm of the weights,
    plus C times the squared hinge loss max(0, 1 - difference of scores)^2 of each pair of rows of a query with
    different labels.

    C           cost of a pair in the wrong order, above 0
    epsilon     stop when the gradient's norm is this share of its norm at 0
    max_iter    most Newton steps
    method      "line-search", "trust-region" (the paper's), or "sweep", which is trust-region with the
                paper's sums over pairs, slow for long queries; all give the same minimum
    scale       what C multiplies: "pair", the loss of each pair; "query", the mean loss of a query's pairs; "mean", the
                mean loss of all pairs
    warm_start  fit starts at coef_, if there is one
    threads     threads of the training; None: as many as the process may use
    device      where fit and cross_validate run: "cpu", "cuda", "cuda:N" or "auto"; the model is the same
    one_query   where qid is not given, all rows belong to one query: all their pairs count; else that is an error

    After fit: coef_, float64 [n_features]; n_features_in_; feature_names_in_, for a data frame; n_iter_; report_, a
    RankReport.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 1e-5,
        max_iter: int = 200,
        method: str = "line-search",
        scale: str = "pair",
        warm_start: bool = False,
        threads: int | None = None,
        device: str = "cpu",
        one_query: bool = False,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.method = method
        self.scale = scale
        self.warm_start = warm_start
        self.threads = threads
        self.device = device
        self.one_query = one_query

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name."""
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **params: Any) -> RankSVM:
        """Set arguments of the constructor."""
        for name, value in params.items():
            if name not in _PARAMETERS:
                raise _errors.ArgumentError(f"RankSVM has no parameter {name!r}: it has {', '.join(_PARAMETERS)}")
            setattr(self, name, value)
        return self

    def set_fit_request(
        self, *, qid: bool | str | None = _UNCHANGED, sample_weight: bool | str | None = _UNCHANGED
    ) -> RankSVM:
        """Set the metadata that scikit-learn's searches and pipelines pass on to fit: True, or their name for it."""
        return self._ask("fit", {"qid": qid, "sample_weight": sample_weight})

    def set_score_request(
        self, *, qid: bool | str | None = _UNCHANGED, sample_weight: bool | str | None = _UNCHANGED
    ) -> RankSVM:
        """The same for score."""
        return self._ask("score", {"qid": qid, "sample_weight": sample_weight})

    def _ask(self, method: str, wanted: dict[str, bool | str | None]) -> RankSVM:
        given = {(method, name): alias for name, alias in wanted.items() if alias != _UNCHANGED}
        self._requests = {**getattr(self, "_requests", {}), **given}
        return self

    def __sklearn_clone__(self) -> RankSVM:
        made = type(self)(**self.get_params())
        made._requests = dict(getattr(self, "_requests", {}))
        return made

    def get_metadata_routing(self) -> Any:
        """For scikit-learn's metadata routing."""
        from sklearn.utils.metadata_routing import MetadataRequest

        made, wanted = MetadataRequest(owner=self), getattr(self, "_requests", {})
        for method in ("fit", "score"):
            for name in ("qid", "sample_weight"):
                getattr(made, method).add_request(param=name, alias=wanted.get((method, name)))
        return made

    def __sklearn_tags__(self) -> Any:
        """For scikit-learn 1.6 and later."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=InputTags(sparse=True))

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        qid: npt.ArrayLike | None = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        progress: Progress | None = None,
        on_step: OnStep | None = None,
    ) -> RankSVM:
        """
        Train on labelled rows.

        X              numbers [n, n_features], dense or a scipy sparse matrix; read as float32
        y              numbers [n], larger is better
        qid            integers [n], the query of each row, in any order; only pairs of rows of one query count. One
                       integer: all rows belong to that query
        sample_weight  numbers [n], 0 or more: the loss of a pair is multiplied by both rows' weights; None: 1
        progress       called with a word and the passes over X so far; returns False to stop
        on_step        called with a RankStep at the start and after each Newton step

        Raises ArgumentError (no pairs, features that do not depend on the labels, or a parameter or value out of
        range), CanceledError, DeviceError or UnsupportedError (of a GPU). Ctrl-C stops it, too; coef_ then does not
        change.
        """
        context, x, names = shared_context(self.threads, self.device), features_of(X), names_of(X)
        qid = self._queries(qid)
        with Ranking(context, x, y, qid) as ranking:
            weights = row_weights(sample_weight, qid, x.shape[0])

            def train(options: Any, model: Any, report: Any, err: Any) -> int:
                options.row_weights = None if weights is None else arrays.address(weights)
                status: int = lib.thr_rank_train(context.pointer, ranking.pointer, byref(options), model, report, err)
                return status

            self.train_by(context, train, progress, on_step)
        keep_names(self, names)
        return self

    def train_by(
        self,
        context: Any,
        train: Callable[[Any, Any, Any, Any], int],
        progress: Progress | None,
        on_step: OnStep | None,
    ) -> None:
        """Set coef_ and report_ by train(options, model, report, err), which returns its status. For engines."""
        options, start, model, report = self._options(), c_void_p(), c_void_p(), abi.RankReport()
        _tell_steps(options, on_step)
        try:
            if self.warm_start and hasattr(self, "coef_"):
                start = self._model(context)
                options.start = start
            with Job(progress) as job:
                job.finish(train(options, byref(model), byref(report), byref(_errors.slot.error)))
            self.coef_ = _weights(model)
        finally:
            lib.thr_rank_model_free(model)
            lib.thr_rank_model_free(start)
        self.report_ = read(RankReport, report)
        self.n_features_in_, self.n_iter_ = len(self.coef_), self.report_.n_steps

    def cross_validate(
        self,
        X: Any,
        y: npt.ArrayLike,
        qid: npt.ArrayLike | None = None,
        *,
        Cs: npt.ArrayLike,
        folds: int = 5,
        seed: int = 1,
        progress: Progress | None = None,
    ) -> npt.NDArray[np.float64]:
        """
        For each of Cs, in ascending order, the share of pairs in the right order by models that were not trained on
        their queries: float64 [len(Cs)]. seed assigns queries to folds. Training starts at the model of the previous C.
        The other arguments are those of fit.
        """
        options, context, x = self._options(), shared_context(self.threads, self.device), features_of(X)
        costs = np.atleast_1d(arrays.numbers(Cs, "Cs", np.float64))
        if costs.ndim != 1:
            raise _errors.ArgumentError(f"Cs: an array of shape {list(costs.shape)} was given: expected [n]")
        n_folds, shuffle = whole(folds, "folds", 0, 2**32 - 1), whole(seed, "seed", 0, 2**64 - 1)
        shares = np.empty(len(costs))
        asked = abi.RankFolds(arrays.address(costs), arrays.address(shares), len(costs), shuffle, n_folds)
        with Ranking(context, x, y, self._queries(qid)) as ranking, Job(progress) as job:
            status = lib.thr_rank_cross_validate(
                context.pointer, ranking.pointer, byref(options), byref(asked), byref(_errors.slot.error)
            )
            job.finish(status)
        return shares

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Scores, float64 [n]; larger is better."""
        self._check_fitted()
        check_names(self, X)
        x = features_of(X)
        if x.shape[1] != self.n_features_in_:
            raise _errors.ArgumentError(
                f"X has {x.shape[1]} features, but RankSVM is expecting {self.n_features_in_} features as input"
            )
        if hasattr(x, "indptr"):
            return np.asarray(x.astype(np.float64) @ self.coef_)
        return np.asarray(x, np.float64) @ self.coef_

    decision_function = predict

    def rerank(self, ids: npt.ArrayLike, X: Any) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]]:
        """
        Sort the items found by a search by this model: (ids, scores), best first, equal ones by the smaller id.

        ids  integers [k] or [n_queries, k], as Index.search returns them; NO_ID stays at the end, with scores of -inf
        X    numbers [k, n_features] or [n_queries, k, n_features]: features of each item, such as the search's score

        Raises ArgumentError for features that are not finite, or of another number than the model's.
        """
        self._check_fitted()
        found = arrays.integers(ids, "ids").astype(np.uint64)
        rows = arrays.numbers(X, "X", np.float32)  # the library names the item whose value is not finite
        if found.ndim not in (1, 2) or rows.ndim != found.ndim + 1 or rows.shape[:-1] != found.shape:
            raise _errors.ArgumentError(
                f"ids and X: arrays of shape {list(found.shape)} and {list(rows.shape)} were given: expected [k] "
                "and [k, n_features], or [n_queries, k] and [n_queries, k, n_features]"
            )
        flat = np.atleast_2d(found)
        scores = np.full(flat.shape, -np.inf)
        model = self._model(shared_context(self.threads))
        try:
            for own, answer, features in zip(flat, scores, rows.reshape(*flat.shape, rows.shape[-1])):
                there = own != np.uint64(abi.NO_ID)
                kept, new, at = own[there], np.empty(int(there.sum())), np.ascontiguousarray(features[there])
                _errors.call(
                    lib.thr_rank_model_rerank,
                    model,
                    byref(arrays.matrix(at)),
                    arrays.address(kept),
                    arrays.address(new),
                    None,
                )
                own[: len(kept)], own[len(kept) :] = kept, abi.NO_ID
                answer[: len(kept)] = new
        finally:
            lib.thr_rank_model_free(model)
        return flat.reshape(found.shape), scores.reshape(found.shape)

    def score(
        self,
        X: Any,
        y: npt.ArrayLike,
        qid: npt.ArrayLike | None = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
    ) -> float:
        """
        The share of pairs of a query's rows in the right order; pairs of equal scores are wrong. With sample_weight,
        numbers [n] of 0 or more, a pair counts the product of its rows'. NaN without pairs. qid as for fit.
        """
        labels, qid = np.asarray(y, np.float64), self._queries(qid)
        levels = np.unique(labels, return_inverse=True)[1].reshape(labels.shape)  # only the order of labels counts
        if sample_weight is not None:
            queries = queries_of(qid, len(labels))
            weights = np.asarray(column(sample_weight, "sample_weight", len(labels)), np.float64)
            return _weighed_share(self.predict(X), levels, queries, weights)
        return rank_quality(self.predict(X), levels, qid, gain="linear").pair_accuracy

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model: safetensors if path ends with .safetensors, else LIBLINEAR's text. Raises FileError."""
        self._check_fitted()
        model, err = self._model(shared_context(self.threads)), _errors.slot.error
        status = lib.thr_rank_model_save(model, encoded_path(path, "path"), byref(err))
        lib.thr_rank_model_free(model)
        if status != abi.OK:
            raise _errors.failure(status, err, files=True)

    @classmethod
    def open(cls, path: str | os.PathLike[str], **params: Any) -> RankSVM:
        """
        Open a model that save, thresher rank train or LIBLINEAR wrote; params are the constructor's.

        Raises FileMissingError, FormatError, UnsupportedError (a model with a bias, or a classifier) or FileError.
        """
        made = cls(**params)
        model = c_void_p()
        context = shared_context(made.threads)
        _errors.call(lib.thr_rank_model_open, context.pointer, encoded_path(path, "path"), byref(model), files=True)
        made.coef_ = _weights(model)
        made.n_features_in_ = len(made.coef_)
        lib.thr_rank_model_free(model)
        return made

    def _options(self) -> Any:
        options = abi.RankOptions()
        options.c, options.epsilon = above_zero(self.C, "C"), above_zero(self.epsilon, "epsilon")
        options.most_steps = whole(self.max_iter, "max_iter", 1, 2**32 - 1)
        options.method = choice(self.method, "method", abi.RANK_METHOD)
        options.scale = choice(self.scale, "scale", abi.RANK_SCALE)
        return options

    def _queries(self, qid: Any) -> Any:
        return 0 if qid is None and self.one_query else qid

    def _check_fitted(self) -> None:
        if not hasattr(self, "coef_"):
            raise _not_fitted("this RankSVM is not fitted yet: call fit, or open a model")

    def _model(self, context: Any) -> c_void_p:
        weights = np.ascontiguousarray(self.coef_, np.float64)
        model = c_void_p()
        _errors.call(
            lib.thr_rank_model_from_weights, context.pointer, arrays.address(weights), len(weights), byref(model)
        )
        return model

    def __repr__(self) -> str:
        default = RankSVM()
        changed = [f"{n}={getattr(self, n)!r}" for n in _PARAMETERS if getattr(self, n) != getattr(default, n)]
        return f"RankSVM({', '.join(changed)})"

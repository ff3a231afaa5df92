# SPDX-License-Identifier: Apache-2.0
"""Dual towers: vectors of users and items, and weights of hits from users' histories."""

from __future__ import annotations

import os
from collections.abc import Iterable
from ctypes import byref, c_size_t, string_at
from typing import Any, NamedTuple

from . import _errors
from ._core import abi
from ._core.checks import choice, encoded, encoded_path
from ._core.context import shared_context
from ._core.jobs import Job
from ._core.library import defaults, lib, read
from ._core.progress import Progress
from ._core.texts import TextModel, VectorArray, encode_texts
from ._handle import Handle
from ._train import OnEpoch, TowerReport, set_options, tell_epochs

_ADAM_RATE = 0.002  # default embedding_rate of adam; the library's is FTRL's


class DualInfo(NamedTuple):
    """
    The properties of a model: vectors have n_vector = n_dims + n_products numbers; hits: histories give weights.
    Numbers of words and fields of users and items that were learned.
    """

    n_vector: int
    n_dims: int
    n_products: int
    n_embedding: int
    n_hidden: int
    hits: bool
    n_user_words: int
    n_item_words: int
    n_user_fields: int
    n_item_fields: int
    n_parameters: int
    file_bytes: int
    fingerprint: int


class DualQuality(NamedTuple):
    """
    GAUC, the mean AUC of requests' best ads against the others; how often the best ad ranks in the first 5 and 10,
    unweighted and weighted by value (NaN if all values are 0). Requests with only best ads are skipped.
    """

    gauc: float
    recall_5: float
    recall_10: float
    value_recall_5: float
    value_recall_10: float
    n_requests: int
    n_ads: int


# Options by type. The library checks their ranges.
_CONFIG = ("n_embedding", "n_hidden", "n_dims", "n_products")
_WHOLE = ("min_count",)
_NUMBERS = ("embedding_rate", "hits_rate", "l1", "l2")


def _train_options(given: dict[str, Any]) -> Any:
    """thr_dual_train_options of the arguments; None is the library's default."""
    options = defaults("thr_dual_train_options_init")
    wanted = {name: value for name, value in given.items() if value is not None}
    options.optimiser = choice(wanted["optimiser"], "optimiser", abi.DUAL_OPTIMISER)
    if wanted["optimiser"] == "adam":
        options.embedding_rate = _ADAM_RATE
    set_options(options, wanted, _CONFIG, _WHOLE, _NUMBERS)
    options.config.hits = bool(wanted["hits"])
    options.loss = choice(wanted["loss"], "loss", abi.DUAL_LOSS)
    options.value = choice(wanted["value"], "value", abi.DUAL_VALUE)
    return options


def dual_info(pointer: int | None) -> DualInfo:
    """thr_dual_get_info."""
    i = lib.thr_dual_get_info(pointer)
    return read(DualInfo, i, i.config)


def encode_users(pointer: int | None, texts: Any) -> VectorArray:
    """thr_dual_encode of a user or a list of users."""
    return encode_texts(lib.thr_dual_encode, pointer, abi.SIDE["query"], dual_info(pointer).n_vector, texts)


def hits_of(pointer: int | None, user: str) -> dict[str, float]:
    """thr_dual_hits."""
    text = encoded(user, "user", "replace")
    room = (abi.DualHit * (len(text.split()) or 1))()
    n = c_size_t()
    _errors.call(lib.thr_dual_hits, pointer, text, len(text), room, len(room), byref(n))
    weights: dict[str, float] = {}
    for hit in room[: n.value]:
        word = string_at(hit.word, hit.length).decode("utf-8", "replace")
        weights[word] = weights.get(word, 0.0) + hit.weight
    return weights


class DualHandle(Handle):
    """A thr_dual."""

    __slots__ = ()
    opens, frees = "thr_dual_open", "thr_dual_free"

    def info(self) -> DualInfo:
        return dual_info(self.pointer)


class Dual(TextModel):
    """
    An open dual tower. A user's score of an item is the inner product of their vectors, plus the weights of the user's
    hits that the item has. It is immutable; several threads may use it at once. close() or garbage collection closes
    it. A forked child opens it again.
    """

    _kind = DualHandle
    lines_reader, reads_vectors, encodes_vectors = "thr_dual_reader", False, False

    @property
    def info(self) -> DualInfo:
        """The shape of the model."""
        info: DualInfo = self._current_info()
        return info

    def __init__(self, path: str | os.PathLike[str], *, threads: int | None = None) -> None:
        super().__init__(path, threads=threads)
        self.report: TowerReport | None = None
        """How the training went that made the model; None of one that was opened."""

    @classmethod
    def train(
        cls,
        requests: str | os.PathLike[str],
        items: str | os.PathLike[str],
        path: str | os.PathLike[str],
        *,
        n_embedding: int | None = None,
        n_hidden: int | None = None,
        n_dims: int | None = None,
        n_products: int | None = None,
        hits: bool = True,
        valid: str | os.PathLike[str] | None = None,
        valid_share: float | None = None,
        min_count: int | None = None,
        n_epochs: int | None = None,
        patience: int | None = None,
        batch: int | None = None,
        loss: str = "ndcg",
        value: str = "swap",
        rate: float | None = None,
        optimiser: str = "ftrl",
        embedding_rate: float | None = None,
        hits_rate: float | None = None,
        l1: float | None = None,
        l2: float | None = None,
        seed: int | None = None,
        resume: bool = False,
        on_epoch: OnEpoch | None = None,
        progress: Progress | None = None,
        threads: int | None = None,
    ) -> Dual:
        """
        Train a model on requests, write it to path, and open it.

        requests      a .tsv file; a line has the words of a user, a tab, and ads, the best first, as in
                      "age=3 income=2:0.5 click.category=12:3<TAB>a7:0.9 ~a2:1.5 a9". An ad is ID or ID:VALUE; ~ marks
                      one as good as the one before it. click.category=12:3 is history: 3 clicks on items with
                      category=12
        items         a .tsv file; a line has an ID, a tab and the item's words, as in "a7<TAB>category=12 brand=7"
        n_embedding, n_hidden   dimensions of a word's embedding, units of a tower's first layer; 32 and 128
        n_dims, n_products      dimensions of the tower's output, and of the products of fields (IPNN, 0: none); 64 and
                                32
        hits          learn weights of the items' words that the user's history contains (HitMatch)
        valid         requests to validate with; None: valid_share, 0.05, of the given ones
        min_count     learn words that occur in at least so many requests; 2
        n_epochs, patience      at most 20; stop after 3 without a better validation, 0: never
        batch         requests per step; 512
        loss, value   weight of a pair of ads: "ndcg", "product" or "sum"; change of value: "difference" or "swap"
        rate          learning rate of dense layers, decaying to 0; 0.002
        optimiser, embedding_rate   of word embeddings: "ftrl", 0.1, or "adam", 0.002
        hits_rate, l1, l2       of FTRL; 0.05, 0 and 0
        resume        continue from path + ".checkpoint" of a stopped training
        on_epoch      called with a TowerEpoch after every epoch, with requests as pairs and GAUC as AUC
        progress      called with ("epoch 2 of 10", done, total) a few times a second; returns False to stop
        threads       threads of the training; None: as many as the process may use

        The same files, options and seed give the same model, to the bit, for any number of threads, also after a stop
        and resume. Ctrl-C, an exception of on_epoch or progress, and a progress of False leave a checkpoint.

        Raises FormatError (a bad line, or fewer requests than a batch), FileMissingError (a file, or an ad that is not
        an item), ArgumentError (an option out of range, a repeated item, or a loss that is not finite), MismatchError
        (a checkpoint of another training), CanceledError or FileError.
        """
        options = _train_options({name: given for name, given in locals().items() if name not in ("cls", "path")})
        tell_epochs(options, on_epoch)
        report = abi.TowerReport()
        names = encoded_path(requests, "requests"), encoded_path(items, "items"), encoded_path(path, "path")
        context = shared_context(threads)
        with Job(progress) as job:
            status = lib.thr_dual_train(
                context.pointer, *names, byref(options), byref(report), byref(_errors.slot.error)
            )
            job.finish(status, files=True)
        return cls._trained(path, threads, read(TowerReport, report))

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, threads: int | None = None) -> Dual:
        """
        Open the model in the file path, as thresher tower train --kind dual writes it.

        threads       threads of encoding; None: as many as the process may use

        Raises FileMissingError, FormatError (not such a model, damaged, or too new) or FileError.
        """
        return cls(path, threads=threads)

    def encode(self, texts: str | Iterable[str], side: str = "query") -> VectorArray:
        """
        Encode the words of users (side "query") or items ("item"): float32 [n, n_vector], or [n_vector] for a single
        str. Unknown words are ignored.

        Raises ArgumentError (not a text, or a number that is not finite); FormatError (a word without a field's name).
        """
        which = choice(side, "side", abi.SIDE)
        handle = self.handle()  # keeps it open during the call
        return encode_texts(lib.thr_dual_encode, handle.pointer, which, self.info.n_vector, texts)

    def hits(self, user: str) -> dict[str, float]:
        """
        The weights that a user's history adds to items with a feature, by feature: a query for Hits.search. Empty if
        the model has no hits. Raises as encode.
        """
        handle = self.handle()
        return hits_of(handle.pointer, user)

    def eval(
        self,
        requests: str | os.PathLike[str],
        items: str | os.PathLike[str],
        *,
        progress: Progress | None = None,
    ) -> DualQuality:
        """
        Measure how well the model ranks the ads of requests; files as for train.

        Raises ArgumentError (no request has a best ad and others), FormatError, FileMissingError or CanceledError.
        """
        quality = abi.DualQuality()
        names = encoded_path(requests, "requests"), encoded_path(items, "items")
        handle = self.handle()
        with Job(progress) as job:
            status = lib.thr_dual_eval(handle.pointer, *names, byref(quality), byref(_errors.slot.error))
            job.finish(status, files=True)
        return read(DualQuality, quality)

    def __repr__(self) -> str:
        i = self.info
        state = ", closed" if self._closed else ""
        words = f"{i.n_dims} and {i.n_products} dimensions, {'with' if i.hits else 'without'} hits"
        return f"<thresher.Dual {self.path!r}: {words}{state}>"

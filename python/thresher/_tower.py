# SPDX-License-Identifier: Apache-2.0
"""Text models: vectors of texts, by the query side or the item side."""

from __future__ import annotations

import os
from contextlib import nullcontext
from ctypes import byref
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _errors
from ._core import abi, arrays
from ._core.checks import check_names, choice, encoded_path
from ._core.context import shared_context
from ._core.jobs import Job
from ._core.library import defaults, lib, read
from ._core.progress import Progress
from ._core.texts import TextModel, VectorArray, encode_texts
from ._handle import Handle
from ._train import (
    OnEpoch,
    TowerQuality,
    TowerReport,
    Training,
    fill_format,
    judge,
    train,
    train_options,
    train_vectors,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._core.readers import Vectors


class TowerInfo(NamedTuple):
    """
    The properties of a model. A side of 1 to 8 bits gives codes, sums of +-1 +-1/2 +-1/4 ...; a side of 32 bits gives
    floats. n_inputs is 0 for a model of texts, of which n_grams letter trigrams were learned; else the dimensions of the
    vectors that it encodes. Codes of models with the same fingerprint are comparable.
    """

    n_dims: int
    query_bits: int
    item_bits: int
    n_grams: int
    n_parameters: int
    file_bytes: int
    fingerprint: int
    n_inputs: int


def tower_info(pointer: int | None) -> TowerInfo:
    i = lib.thr_tower_get_info(pointer)
    return read(TowerInfo, i, i.config)


def encodes_vectors(pointer: int | None) -> bool:
    """Whether the model encodes given vectors to floats."""
    return tower_info(pointer).n_inputs != 0 and lib.thr_tower_packed_size(pointer, abi.SIDE["item"]) == 0


def encode_vectors(pointer: int | None, side: int, rows: Any) -> VectorArray:
    """thr_tower_encode_vectors of an array [n, n_inputs] or [n_inputs]."""
    array = arrays.vectors(rows, "vectors", one_row=True)
    given = array[np.newaxis] if array.ndim == 1 else array
    if given.dtype not in arrays.CODES or not arrays.rows_are_plain(given):
        given = np.ascontiguousarray(given, np.float32)
    out = np.empty((len(given), tower_info(pointer).n_dims), np.float32)
    view = arrays.matrix(given)
    _errors.call(lib.thr_tower_encode_vectors, pointer, side, byref(view), arrays.address(out))
    return out[0] if array.ndim == 1 else out


def are_texts(thing: object) -> bool:
    """Whether queries is a text, or a list of texts."""
    return isinstance(thing, str) or (isinstance(thing, (list, tuple)) and bool(thing) and isinstance(thing[0], str))


def encode(pointer: int | None, side: int, texts: Any) -> VectorArray:
    """thr_tower_encode of a text or a list of texts; thr_tower_encode_vectors of an array, for a model of vectors."""
    if tower_info(pointer).n_inputs and not are_texts(texts):
        return encode_vectors(pointer, side, texts)
    return encode_texts(lib.thr_tower_encode, pointer, side, tower_info(pointer).n_dims, texts)


class TowerHandle(Handle):
    """A thr_tower."""

    __slots__ = ()
    opens, frees = "thr_tower_open", "thr_tower_free"

    def info(self) -> TowerInfo:
        return tower_info(self.pointer)


class Tower(TextModel):
    """
    An open model. It is immutable; several threads may use it at once. close() or garbage collection closes it. A
    forked child opens it again.
    """

    _kind = TowerHandle
    lines_reader = "thr_tower_reader"

    @property
    def info(self) -> TowerInfo:
        """The shape of the model."""
        info: TowerInfo = self._current_info()
        return info

    @property
    def reads_vectors(self) -> bool:
        """Whether the model encodes given vectors instead of texts."""
        return self.info.n_inputs != 0

    @property
    def encodes_vectors(self) -> bool:
        """Whether it encodes them to floats: an index of a model's codes encodes vectors itself."""
        return encodes_vectors(self.handle().pointer)

    def __init__(self, path: str | os.PathLike[str], *, threads: int | None = None) -> None:
        super().__init__(path, threads=threads)
        self.report: TowerReport | None = None
        """How the training went that made the model; None of one that was opened."""

    @classmethod
    def train(
        cls,
        pairs: str | os.PathLike[str],
        path: str | os.PathLike[str],
        *,
        query_bits: int | None = None,
        item_bits: int | None = None,
        n_dims: int | None = None,
        n_pooled: int | None = None,
        max_grams: int | None = None,
        max_words: int | None = None,
        shared_words: bool = False,
        shared_steps: bool = False,
        plain_weights: bool = False,
        query_column: int = 1,
        item_column: int = 2,
        label_column: int | None = None,
        least_label: float = 1,
        header: bool = False,
        valid: str | os.PathLike[str] | None = None,
        valid_share: float | None = None,
        n_epochs: int | None = None,
        patience: int | None = None,
        batch: int | None = None,
        n_negatives: int | None = None,
        gamma: float | None = None,
        rate: float | None = None,
        word_dropout: float | None = None,
        float_share: float | None = None,
        estimator: str = "variant",
        seed: int | None = None,
        resume: bool = False,
        on_epoch: OnEpoch | None = None,
        progress: Progress | None = None,
        threads: int | None = None,
        device: str | None = None,
    ) -> Tower:
        """
        Train a model on the pairs of a .tsv or .csv file, write it to path, and open it.

        pairs         a query and a matching item in every row; columns are counted from 1
        query_bits, item_bits   bits per dimension, 1 to 8, or 32 for floats; 3 and 2
        n_dims, n_pooled        dimensions of the embedding, and of the pooled layer; 64 and 288
        max_grams, max_words    letter trigrams to learn, words of a text that are read; 49,292 and 128
        shared_words  one table of letter trigrams for both sides: better for few pairs
        label_column, least_label   column of a numeric label; pairs below least_label are bad, and not trained on
        valid         a file of pairs to validate with; None: valid_share, 0.02, of the queries
        n_epochs, patience      at most 40; stop after 10 without a better validation, 0: never
        batch, n_negatives      pairs per step, 512; negatives per pair, all other pairs of the batch
        gamma, rate, word_dropout, estimator   10, 0.002 (decaying to 0), 0.25, "variant" (or "straight", "tanh")
        float_share   share of the epochs that train floats before signs replace them; 0.5
        resume        continue from path + ".checkpoint" of a stopped training
        on_epoch      called with a TowerEpoch after every epoch
        progress      called with ("epoch 2 of 10", done, total) a few times a second; returns False to stop
        threads       threads of the training; None: as many as the process may use
        device        where steps run: "cpu" (None); "cuda", the first GPU, or "cuda:1"; or "auto", a GPU if the
                      training is long and a GPU works, else the CPU

        The same pairs, options and seed give the same model, to the bit, for any number of threads, also after a stop
        and resume; a GPU rounds differently. Ctrl-C, an exception of on_epoch or progress, and a progress of False
        leave a checkpoint.

        Raises FormatError (too few pairs, or too many rows without them), ArgumentError (an option out of range, or a
        loss that is not finite), MismatchError (a checkpoint of another training), CanceledError, FileError, and with a
        GPU DeviceError and MemoryLimitError.
        """
        given = {name: value for name, value in locals().items() if name not in ("cls", "pairs", "path")}
        options = train_options(given)
        fill_format(options.format, query_column, item_column, label_column, least_label, header)
        report = train(
            pairs,
            encoded_path(path, "path"),
            options,
            on_epoch=on_epoch,
            progress=progress,
            threads=threads,
            device=device,
        )
        return cls._trained(path, threads, report)

    @classmethod
    def train_vectors(
        cls,
        items: Vectors,
        path: str | os.PathLike[str],
        *,
        queries: Vectors | None = None,
        pairs: str | os.PathLike[str] | None = None,
        query_ids: str | os.PathLike[str] | None = None,
        item_ids: str | os.PathLike[str] | None = None,
        query_bits: int | None = None,
        item_bits: int | None = None,
        n_dims: int | None = None,
        shared_steps: bool = False,
        teacher_share: float | None = None,
        noise: float | None = None,
        on_epoch: OnEpoch | None = None,
        progress: Progress | None = None,
        threads: int | None = None,
        **training: Unpack[Training],
    ) -> Tower:
        """
        Learn codes of vectors that any other model made, write the model to path, and open it.

        items         an array [n, n_inputs], a file name, or an iterable of arrays; only directions count
        queries       the same for queries, of which row i belongs to row i of items; None: each item is its own pair
        pairs         with queries, a .tsv or .csv file of pairs by id, the id of a query and of an item in a row; None:
                      row by row
        query_ids, item_ids   with pairs, text files of one id per line for each vector; None: row numbers from 0
        query_bits, item_bits   bits per dimension, 1 to 8, or 32 for floats; 32 and 4
        n_dims        dimensions of the code; 32
        teacher_share weight of the vectors' own cosines as targets, against that of the pairs; 1, with queries 0
        noise         length of the random vector added to a query of length 1; 0.5
        gamma         scale of the cosines in both softmaxes, the codes' and the vectors'; 20
        valid         a file of vectors of further items to validate with, without queries; None: valid_share
        n_epochs, batch, rate, float_share     20, 256, 0.03 and 0

        valid_share, patience, n_negatives, estimator, seed, resume   as for train()

        valid_quality of the epochs and the report is recall@10 among the items that validate.

        Raises as train(), and ArgumentError for vectors that are zero or not finite, and for queries and items of
        different shapes.
        """
        from ._core.readers import Reader  # which imports this file

        check_names(training, Training)
        config = {"query_bits": query_bits, "item_bits": item_bits, "n_dims": n_dims, "shared_steps": shared_steps}
        given = {**training, **config, "teacher_share": teacher_share, "noise": noise}
        options = defaults("thr_tower_train_options_init_vectors", queries is None)
        train_options(given, options)
        options.teacher_gamma = options.gamma
        context = shared_context(threads, None)
        with Job(progress) as job, Reader(context, items) as of_items, (
            nullcontext() if queries is None else Reader(context, queries)
        ) as of_queries:
            readers = of_queries.pointer if of_queries else None, of_items.pointer
            for name, value in (("pairs_path", pairs), ("query_ids_path", query_ids), ("item_ids_path", item_ids)):
                if value is not None:
                    setattr(options, name, encoded_path(value, name.removesuffix("_path")))
            report = train_vectors(context, readers, encoded_path(path, "path"), options, on_epoch=on_epoch, job=job)
        return cls._trained(path, threads, report)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, threads: int | None = None) -> Tower:
        """
        Open the model in the file path, as thresher tower train writes it.

        threads       threads of encoding; None: as many as the process may use

        Raises FileMissingError, FormatError (not a model, damaged, or too new) or FileError.
        """
        return cls(path, threads=threads)

    def encode(self, texts: Any, side: str = "query") -> VectorArray:
        """
        Encode texts, a str or an iterable of them: float32 [n, n_dims], or [n_dims] for a single str. A model of
        vectors encodes an array [n, n_inputs], or [n_inputs].

        side          the tower: "query" or "item"

        Raises ArgumentError (not a text or an array, other dimensions, NaN or infinity).
        """
        number = choice(side, "side", abi.SIDE)
        handle = self.handle()  # keeps it open during the call
        return encode(handle.pointer, number, texts)

    def eval(
        self,
        pairs: str | os.PathLike[str],
        *,
        query_column: int = 1,
        item_column: int = 2,
        label_column: int | None = None,
        least_label: float = 1,
        header: bool = False,
        progress: Progress | None = None,
    ) -> TowerQuality:
        """
        Measure how well the model separates good pairs of a .tsv or .csv file from bad ones: those with a label below
        least_label, or, without label_column, every query with 10 items of other pairs.

        Raises ArgumentError (no good or no bad pairs), FormatError, FileMissingError or CanceledError.
        """
        pairs_format = abi.PairsFormat()
        fill_format(pairs_format, query_column, item_column, label_column, least_label, header)
        handle = self.handle()
        return judge(handle.pointer, pairs, pairs_format, progress)

    def __repr__(self) -> str:
        i = self.info
        state = ", closed" if self._closed else ""
        return f"<thresher.Tower {self.path!r}: {i.n_dims} dimensions, {i.query_bits} and {i.item_bits} bits{state}>"

# SPDX-License-Identifier: Apache-2.0
"""Heads: output layers over large vocabularies, queried for the best words of a decoder's states."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from ctypes import addressof, byref, c_void_p
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from . import _errors
from ._core import abi, arrays
from ._core.checks import as_list, check_names, choice, encoded, encoded_path, need_kind, whole
from ._core.context import shared_context
from ._core.jobs import Job
from ._core.library import defaults, lib, read
from ._core.steps import in_steps
from ._handle import Handle, Model

if TYPE_CHECKING:
    from typing_extensions import Unpack

_UINT32 = 2**32 - 1
_ROUND = 16  # states that the library scores at once

Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]


class Screening(TypedDict, total=False):
    """Arguments of Head.query, which other queries of a head take, too."""

    always: Any
    never: Any
    group: int
    n_frequent: int | None
    threshold: int | None
    combine: str
    n_shortlist: int | None
    lists: Sequence[Any] | None


class HeadInfo(NamedTuple):
    """
    The properties of a head: weights of dtype, n_words x n_dims; n_codes distinct band codes in n_bands bands of
    n_hashes hashes, each the position of the largest of n_places components; plane codes of n_planes. file_bytes is 0
    for a head in memory.
    """

    n_words: int
    n_dims: int
    dtype: str
    has_bias: bool
    has_order: bool
    n_bands: int
    n_hashes: int
    n_places: int
    n_codes: int
    n_planes: int
    weight_bytes: int
    hash_bytes: int
    plane_bytes: int
    file_bytes: int


class HeadSource(NamedTuple):
    """
    What Head.build took from a file: the file that has the tensor, the tensors of weights and bias (None: no tensor),
    and whether the weights are the embeddings, tied to the output layer.
    """

    path: str
    tensor: str | None
    bias: str | None
    tied: bool


class HeadRecall(NamedTuple):
    """
    Answers compared with those of all words: share of the true best k words that were found, mean and smallest over
    states; the share of states with the same best word; the mean number of words scored exactly; and with another head
    the mean absolute difference of log-probabilities over words that both found.
    """

    recall: float
    worst: float
    first: float
    candidates: float
    log_prob_error: float


class HeadHandle(Handle):
    """A thr_head."""

    __slots__ = ()
    opens, frees = "thr_head_open", "thr_head_free"

    def info(self) -> HeadInfo:
        i = lib.thr_head_get_info(self.pointer)
        return read(HeadInfo, i, dtype=abi.DTYPE_NAME[i.dtype])


class MadeHandle(HeadHandle):
    """A head made in memory, by a function that takes a context and the address for the pointer."""

    __slots__ = ()

    def __init__(self, threads: int | None, make: Callable[[Any, Any, Any], int]) -> None:
        self._begin(shared_context(threads))
        made = c_void_p()
        with Job() as job:
            status = make(self._context.pointer, byref(made), byref(_errors.slot.error))
            self._hold(made.value)
            job.finish(status, files=True)


def _vector(thing: Any, what: str) -> Floats:
    array = arrays.as_numpy(thing, what)
    if array.ndim != 1 or array.dtype.kind not in "fiu":
        raise _errors.ArgumentError(
            f"{what}: an array of shape {list(array.shape)} and type {array.dtype} was given: expected numbers, one "
            "per word"
        )
    with np.errstate(over="ignore"):  # the library names the value that is too large
        return np.ascontiguousarray(array, np.float32)


def _words(thing: Any, what: str) -> Words:
    array = arrays.integers(thing, what)
    if array.ndim != 1:
        raise _errors.ArgumentError(
            f"{what}: an array of shape {list(array.shape)} was given: expected a list of words"
        )
    if array.size and (int(array.min()) < 0 or int(array.max()) > _UINT32):
        raise _errors.ArgumentError(f"{what}: {int(array.min())} to {int(array.max())}: words are numbered from 0")
    return np.ascontiguousarray(array, np.uint32)


def _rows(weights: Any) -> abi.Matrix:
    """A thr_matrix of an array, which it keeps alive."""
    halves = arrays.bfloat16(weights)
    if halves is None:
        rows = arrays.plain(arrays.vectors(weights, "weights", one_row=False))
        matrix = arrays.matrix(rows)
    else:  # as float16, which has the same size
        rows = np.ascontiguousarray(arrays.vectors(halves.view(np.float16), "weights", one_row=False))
        matrix = arrays.matrix(rows)
        matrix.dtype = abi.DTYPE["bfloat16"]
    matrix.kept = rows
    return matrix


def _can_hold(certified: object, n: int) -> bool:
    return (
        isinstance(certified, np.ndarray)
        and certified.dtype == np.bool_
        and certified.size == n
        and certified.flags.writeable
    )


def _or_auto(value: int | None, what: str) -> int:
    return abi.HEAD_AUTO if value is None else whole(value, what, 0, _UINT32 - 1)


class Head(Model):
    """
    An open head, from a file or in memory. It is immutable; several threads may query it at once. close() or garbage
    collection closes it. A forked child opens its file again, and a pickle holds the file's path: save a head in memory
    first.
    """

    _kind = HeadHandle
    source: HeadSource | None = None
    """What build took from a file; None for other heads."""

    @property
    def info(self) -> HeadInfo:
        """What the head holds."""
        info: HeadInfo = self._current_info()
        return info

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, threads: int | None = None) -> Head:
        """Open a file that save or thresher head build wrote. Raises FileMissingError, FormatError or FileError."""
        return cls(path, threads=threads)

    @classmethod
    def build(
        cls,
        weights: Any,
        *,
        tensor: str | None = None,
        bias: Any = None,
        frequent: Any = None,
        dtype: str | None = None,
        n_words: int | None = None,
        n_bands: int = 128,
        n_hashes: int = 8,
        n_places: int = 2,
        n_planes: int | None = None,
        seed: int = 1,
        threads: int | None = None,
    ) -> Head:
        """
        Make a head in memory; save writes it to a file.

        weights   numbers [n_words, n_dims], which are copied: an array or a CPU tensor, also of bfloat16 (ml_dtypes,
                  torch), or a file (.safetensors, .gguf, .npy or another format of rows), or the directory or the
                  *.safetensors.index.json of a sharded model
        tensor    the tensor's name in .safetensors or .gguf; None: lm_head.weight, output.weight or another usual name;
                  the embeddings, if the model ties them. "X.bias" beside "X.weight" is the bias. `source` has what was
                  taken
        bias      numbers [n_words], or None; -inf: the word is never answered
        frequent  words, most frequent first; the others follow in order of their numbers. None: words are numbered by
                  frequency
        dtype     type of the stored weights: "float32", "float16", "bfloat16", or "int8", a byte each and a scale per
                  word; None: keep float16 and bfloat16, else float32
        n_words   words of the vocabulary: rows from n_words on are padding and are left out; None: all rows
        n_bands, n_hashes, n_places
                  winner-take-all hashes: bands, hashes a band, and components of which a hash is the position of the
                  largest. n_bands 0: none; n_hashes 0: as many as fit 32 bits
        n_planes  planes of the words' codes, 0 to 8; 0: none; None: as many as give a code 256 bits, so 1 from 256
                  dimensions
        seed      of the random choices of hashes and codes

        Raises ArgumentError (also if several tensors may be the output layer), FormatError, FileMissingError,
        NotFoundError (the file has no such tensor).
        """
        options = defaults("thr_head_build_options_init")
        kept: list[Any] = []
        if bias is not None:
            kept.append(_vector(bias, "bias"))
            options.bias, options.n_bias = arrays.address(kept[-1]), kept[-1].size
        if frequent is not None:
            kept.append(_words(frequent, "frequent"))
            options.frequent, options.n_frequent = arrays.address(kept[-1]), kept[-1].size
        options.dtype = abi.DTYPE["none"] if dtype is None else choice(dtype, "dtype", abi.HEAD_DTYPE)
        options.n_words = 0 if n_words is None else whole(n_words, "n_words", 1, _UINT32)
        options.n_bands = whole(n_bands, "n_bands", 0, _UINT32)
        options.n_hashes = whole(n_hashes, "n_hashes", 0, _UINT32)
        options.n_places = whole(n_places, "n_places", 0, _UINT32)
        options.n_planes = _or_auto(n_planes, "n_planes")
        options.seed = whole(seed, "seed", 0, 2**64 - 1)
        if isinstance(weights, (str, bytes, os.PathLike)):
            path = encoded_path(weights, "weights")
            name = None if tensor is None else encoded(tensor, "tensor")
            taken = abi.HeadTaken()
            options.taken = addressof(taken)
            head = cls._of(
                lambda context, made, err: lib.thr_head_create_file(context, path, name, byref(options), made, err),
                threads,
            )
            head.source = HeadSource(
                os.fsdecode(taken.path), taken.tensor.decode() or None, taken.bias.decode() or None, bool(taken.tied)
            )
            return head
        if tensor is not None:
            raise _errors.ArgumentError(f"tensor is {tensor!r}: only files have named tensors")
        matrix = _rows(weights)
        return cls._of(
            lambda context, made, err: lib.thr_head_create(context, byref(matrix), byref(options), made, err), threads
        )

    @classmethod
    def _of(cls, make: Callable[[Any, Any, Any], int], threads: int | None) -> Head:
        head = cls.__new__(cls)
        head._path, head._threads, head._closed = b"", threads, False
        head._handle = head._measured(MadeHandle(threads, make))
        return head

    @property
    def path(self) -> str:
        """The file, as an absolute path; "" for a head in memory."""
        return os.fsdecode(self._path)

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write the head to the file path, which appears when it is complete. Raises ExistsError or FileError."""
        name = os.path.abspath(encoded_path(path, "path"))
        handle = self.handle()
        with Job() as job:
            job.finish(lib.thr_head_save(handle.pointer, name, bool(replace), byref(_errors.slot.error)), files=True)
        self._path = self._path or name

    def query(
        self,
        states: Any,
        k: int,
        *,
        screen: str = "full",
        normaliser: str | None = "candidates",
        always: Any = None,
        never: Any = None,
        group: int = 1,
        n_frequent: int | None = None,
        threshold: int | None = None,
        combine: str = "largest",
        n_shortlist: int | None = None,
        lists: Sequence[Any] | None = None,
        certified: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Words, Floats, Floats | None]:
        """
        Find the best k words of every state. Returns words uint32 [n, k], logits and log-probabilities float32 [n, k],
        best first; [k] each for one state. A word's logit has the same bits with every screen, batch and number of
        threads.

        states       numbers [n, n_dims], or [n_dims]
        screen       candidates: "full", all words; "frequent", the n_frequent most frequent; "wta", those and words
                     that share hashes with the state; "planes", the n_shortlist best by plane codes; "auto", "full" or
                     "planes", whichever was faster here at the first query of this shape; "align", the most frequent
                     and those of the group's list
        normaliser   words over which probabilities sum to 1: "candidates"; "exact", all words, which scores all of
                     them; "sampled", an estimate of all words by a sample, not on GPUs; None: no log-probabilities,
                     returned as None
        always       words that are candidates with every screen
        never        words that are never answered, such as padding; they still count in normalisers
        group        number of consecutive states that share their candidates; 0: all
        n_frequent   None: 1000, or 0 with "planes"
        threshold    hits that make a word a candidate of "wta"; None: 2, or 1 with a single band
        combine      how a group combines its states' hits: "largest" or "sum"
        n_shortlist  None: 100 + 16 k
        lists        with "align": words for each state, or each group of states
        certified    a writable array of bools, one a state, to fill: whether the words are proven to be those of
                     "full". Proves most answers of "planes" with 6 planes or more, none with 1

        Raises ArgumentError (also for states that are not finite), UnsupportedError (the head was built without the
        data of the screen).
        """
        handle = self.handle()
        array = arrays.vectors(states, "states", one_row=True)
        wanted = whole(k, "k", 1, _UINT32)
        shape = (*array.shape[:-1], min(wanted, handle.info().n_words))  # the library refuses more
        words, logits = np.empty(shape, np.uint32), np.empty(shape, np.float32)
        log_probs = None if normaliser is None else np.empty(shape, np.float32)
        screening: Screening = {"always": always, "never": never, "group": group, "n_frequent": n_frequent}
        screening.update({"threshold": threshold, "combine": combine, "n_shortlist": n_shortlist, "lists": lists})
        options = _query_options(screen, normaliser, screening)
        proofs = None if certified is None else np.zeros(array.size // max(array.shape[-1], 1), np.uint8)
        if proofs is not None and not _can_hold(certified, proofs.size):
            raise _errors.ArgumentError(f"certified: expected a writable array of {proofs.size} bools, one a state")
        err = byref(_errors.slot.error)
        places = [None if a is None else arrays.address(a) for a in (words, logits, log_probs)]

        def call(piece: abi.Matrix, first: int) -> int:
            _shift_lists(options, first)
            out = abi.HeadAnswers(*(None if place is None else place + first * wanted * 4 for place in places))
            if proofs is not None:
                options.certified = arrays.address(proofs) + first
            status: int = lib.thr_head_query(handle.pointer, byref(piece), wanted, byref(options), byref(out), err)
            return status

        _ask(array, options.group, call)
        if certified is not None and proofs is not None:
            certified[...] = proofs.reshape(certified.shape)
        return words, logits, log_probs

    def measure(
        self,
        states: Any,
        k: int,
        *,
        against: Head | None = None,
        screen: str = "full",
        normaliser: str = "candidates",
        **screening: Unpack[Screening],
    ) -> HeadRecall:
        """
        Compare this head, queried with these arguments, with `against`, queried with all words: the same weights in
        float32, for example. None: with itself, which measures the screen.

        screen, normaliser, always, never, group, n_frequent, threshold, combine, n_shortlist, lists   as for query()
        """
        if against is not None:
            need_kind(against, Head, "against")
        handle, other = self.handle(), against.handle() if against is not None else None
        truth = other.pointer if other is not None else None
        array = arrays.vectors(states, "states", one_row=True)
        wanted = whole(k, "k", 1, _UINT32)
        options = _query_options(screen, normaliser, screening)
        err = byref(_errors.slot.error)
        parts: list[tuple[int, abi.HeadRecall]] = []

        def call(piece: abi.Matrix, first: int) -> int:
            _shift_lists(options, first)
            found = abi.HeadRecall()
            status: int = lib.thr_head_measure(
                handle.pointer, truth, byref(piece), wanted, byref(options), byref(found), err
            )
            parts.append((piece.n_rows, found))
            return status

        _ask(array, options.group, call)
        n = sum(rows for rows, _ in parts)
        if n == 0:
            raise _errors.ArgumentError("states: expected at least one to measure on")
        n_found = sum(rows * found.recall for rows, found in parts)
        return HeadRecall(
            n_found / n,
            min(found.worst for _, found in parts),
            sum(rows * found.first for rows, found in parts) / n,
            sum(rows * found.candidates for rows, found in parts) / n,
            sum(rows * found.recall * found.log_prob_error for rows, found in parts) / (n_found or 1),
        )

    def verify(self) -> None:
        """Read every byte and compare all checksums. Raises FormatError for a damaged file."""
        handle = self.handle()
        with Job() as job:
            job.finish(lib.thr_head_verify(handle.pointer, byref(_errors.slot.error)))

    def handle(self) -> HeadHandle:
        """The open head; opens it again in a forked child."""
        handle: HeadHandle | None = self._handle
        if self._closed:
            raise _errors.ArgumentError(f"{self.path or 'a head in memory'}: the head is closed")
        if handle is None or handle.pointer is None:
            self._need_file("is not there after a fork")
            handle = self._handle = self._open()
        return handle

    def _need_file(self, what: str) -> None:
        if not self._path:
            raise _errors.ArgumentError(f"a head in memory {what}: save it first, or open a file")

    def __reduce__(self) -> tuple[Any, ...]:
        self._need_file("cannot be pickled")
        return super().__reduce__()

    def __repr__(self) -> str:
        i = self._info
        state = ", closed" if self._closed else ""
        place = repr(self.path) if self._path else "in memory"
        return f"<thresher.Head {place}: {i.n_words} words of {i.n_dims} dimensions, {i.dtype}{state}>"


def _query_options(screen: str, normaliser: str | None, screening: Screening) -> Any:
    """thr_head_query_options of the arguments."""
    check_names(screening, Screening)
    options = defaults("thr_head_query_options_init")
    options.screen = choice(screen, "screen", abi.HEAD_SCREEN)
    options.normaliser = choice(normaliser or "candidates", "normaliser", abi.HEAD_NORMALISER)
    options.combine = choice(screening.get("combine", "largest"), "combine", abi.HEAD_COMBINE)
    options.group = whole(screening.get("group", 1), "group", 0, 2**63)
    options.n_frequent = _or_auto(screening.get("n_frequent"), "n_frequent")
    options.threshold = _or_auto(screening.get("threshold"), "threshold")
    options.n_shortlist = _or_auto(screening.get("n_shortlist"), "n_shortlist")
    always, never, lists = screening.get("always"), screening.get("never"), screening.get("lists")
    if always is not None:
        options.kept = _words(always, "always")  # lives as long as the options
        options.always, options.n_always = arrays.address(options.kept), options.kept.size
    if never is not None:
        options.barred = _words(never, "never")
        options.never, options.n_never = arrays.address(options.barred), options.barred.size
    if lists is not None:
        some = [_words(words, f"list {i}") for i, words in enumerate(as_list(lists, "lists", "a list for each state"))]
        options.starts = np.cumsum([0, *(words.size for words in some)]).astype(np.uint64)
        options.listed = np.concatenate([*some, np.zeros(1, np.uint32)])  # an address also of no words
        starts, listed = arrays.address(options.starts), arrays.address(options.listed)
        options.of_groups = abi.HeadWordLists(len(some), starts, listed)
        options.lists = addressof(options.of_groups)
    return options


def _shift_lists(options: Any, first: int) -> None:
    """Let the lists of a query begin with that of state `first`."""
    if options.lists is not None:
        group = first // options.group if options.group else 0
        options.of_groups.n = max(options.starts.size - 1 - group, 0)
        options.of_groups.starts = arrays.address(options.starts) + 8 * group


def _ask(array: Any, group: int, call: Callable[[abi.Matrix, int], int]) -> None:
    """Call call() for some states at a time, in whole groups."""
    rows = arrays.plain(array.reshape(-1, array.shape[-1]))
    in_steps(arrays.matrix(rows), _ROUND, call, multiple=group if 0 < group < len(rows) else max(len(rows), 1))

# SPDX-License-Identifier: Apache-2.0
"""Beam search: the best sequences of a decoder written in Python, whose words a head scores."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from . import _errors
from ._core import abi, arrays
from ._core.checks import above_zero, choice, need_kind, whole
from ._core.jobs import Job, call_back
from ._core.library import lib
from ._core.progress import Progress
from ._head import Floats, Head, Screening, Words, _query_options, _words

if TYPE_CHECKING:
    from typing_extensions import Unpack

_UINT32 = 2**32 - 1
_FAILED = abi.STATUS["ECANCELED"]  # of a callback that raised an exception, which is raised again after the search


class Decoder(Protocol):
    """
    The states of a search: an object with step, and with start and reorder if needed.

    start(n_sentences)  begin n_sentences sentences, with one row each, in order
    step(words)         append words[i] (uint32 [n]) to row i; return the states of all rows, numbers [n, n_dims]. In
                        the first step words are the start word
    reorder(rows)       make row i a copy of what row rows[i] (uint32 [n]) was; drop rows that do not occur
    """

    def step(self, words: Words) -> Any: ...


class BeamSequence(NamedTuple):
    """
    A sequence of words. ended: the last one is the end word, else it was cut at the maximum length. score is log_prob
    divided by the length penalty; log_prob is the sum of word_log_probs.
    """

    words: Words
    score: float
    log_prob: float
    word_log_probs: Floats
    ended: bool


class _Calls:
    """A thr_decoder that calls a Python decoder. An exception of the decoder ends the search and is raised again."""

    def __init__(self, decoder: Any, n_dims: int) -> None:
        self._decoder, self._n_dims = decoder, n_dims
        if not callable(getattr(decoder, "step", None)):
            raise _errors.ArgumentTypeError(
                f"decoder: {type(decoder).__name__} was given: expected an object with step(words)"
            )
        self._start = abi.DecoderStart(lambda _self, n, _err: self._call("start", lambda start: start(n)))
        self._step = abi.DecoderStep(self._call_step)
        self._reorder = abi.DecoderReorder(
            lambda _self, rows, n, _err: self._call("reorder", lambda reorder: reorder(_copied(rows, n)))
        )
        self.struct = abi.Decoder(None, self._start, self._step, self._reorder)

    def _call(self, name: str, call: Callable[[Any], object]) -> int:
        def act() -> int:
            function = getattr(self._decoder, name, None)
            if function is not None:
                call(function)
            return abi.OK

        return int(call_back(act, _FAILED))

    def _call_step(self, _self: int | None, words: int, n: int, out: int, _err: int | None) -> int:
        def act() -> int:
            states = arrays.vectors(self._decoder.step(_copied(words, n)), "states", one_row=False)
            if states.shape != (n, self._n_dims):
                raise _errors.ArgumentError(
                    f"states: an array of shape {list(states.shape)} came of {n} rows: expected [{n}, {self._n_dims}]"
                )
            room = (ctypes.c_float * (n * self._n_dims)).from_address(out)
            with np.errstate(over="ignore"):  # the library names the value that is too large
                np.frombuffer(memoryview(room), np.float32).reshape(n, self._n_dims)[:] = states
            return abi.OK

        return int(call_back(act, _FAILED))


def _copied(address: int, n: int) -> Words:
    """Copy numbers of the library, which are valid only during the call."""
    return np.frombuffer(memoryview((ctypes.c_uint32 * n).from_address(address)), np.uint32).copy()


def _array(address: int | None, dtype: Any, n: int) -> npt.NDArray[Any]:
    """Copy an array of a result."""
    if n == 0 or address is None:
        return np.empty(0, dtype)
    room = (ctypes.c_char * (n * np.dtype(dtype).itemsize)).from_address(address)
    return np.frombuffer(memoryview(room), dtype).copy()


def _sentences(result: abi.BeamResult) -> list[list[BeamSequence]]:
    n = result.n_sequences
    firsts = _array(result.first_of, np.uint64, result.n_sentences + 1).tolist()
    offsets = _array(result.offsets, np.uint64, n + 1).tolist()
    words = _array(result.words, np.uint32, offsets[-1])
    word_log_probs = _array(result.word_log_probs, np.float32, offsets[-1])
    log_probs = _array(result.log_probs, np.float64, n).tolist()
    scores = _array(result.scores, np.float64, n).tolist()
    ended = _array(result.ended, np.uint8, n).tolist()
    sequences = [
        BeamSequence(words[at:to], scores[i], log_probs[i], word_log_probs[at:to], bool(ended[i]))
        for i, (at, to) in enumerate(zip(offsets[:-1], offsets[1:]))
    ]
    return [sequences[at:to] for at, to in zip(firsts[:-1], firsts[1:])]


def _max_lengths(given: int | Sequence[int], n_sentences: int) -> tuple[int, Words | None]:
    """The largest length, and an array with one a sentence."""
    if isinstance(given, (int, np.integer)):
        return whole(given, "max_length", 1, abi.BEAM_MAX_LENGTH), None
    lengths = _words(given, "max_length")
    if len(lengths) != n_sentences:
        raise _errors.ArgumentError(
            f"max_length has {len(lengths)} values for {n_sentences} sentences: expected one each"
        )
    return abi.BEAM_MAX_LENGTH, lengths


def beam_search(
    head: Head,
    decoder: Decoder,
    n_sentences: int,
    *,
    start_word: int,
    end_word: int | None,
    beam: int = 5,
    n_best: int = 1,
    min_length: int = 0,
    max_length: int | Sequence[int] = 200,
    penalty: str = "none",
    alpha: float = 1.0,
    stop: str = "exact",
    never: Any = None,
    screen: str = "full",
    normaliser: str = "candidates",
    progress: Progress | None = None,
    **screening: Unpack[Screening],
) -> list[list[BeamSequence]]:
    """
    Find the n_best best sequences of every sentence, best first; fewer, or none, if no more can be finished.

    decoder      an object with step(words), and start and reorder: see Decoder
    start_word   passed to the decoder in the first step
    end_word     a word of the head, or None: every sequence has max_length words
    beam         live rows of a sentence
    min_length, max_length
                 words of a sequence, including the end word; max_length may be a list, one a sentence
    penalty      divisor of log-probabilities: "none"; "wu", ((5 + length) / 6)^alpha; "length", length^alpha
    stop         "exact": when no live row can reach the best n_best; "enough": also when `beam` sequences are finished
    never        words that are never produced
    progress     called with ("beam search", sentences done, all); returns False to stop the search

    screen, normaliser, always, n_frequent, threshold, combine, n_shortlist
                 as for Head.query
    group        1, or 0: the rows of a sentence share their candidates
    lists        as for Head.query, one list per sentence

    Raises exceptions of the decoder; ArgumentError for wrong arguments and states.
    """
    need_kind(head, Head, "head")
    handle = head.handle()
    n = whole(n_sentences, "n_sentences", 0, 2**31 - 1)
    calls = _Calls(decoder, head.info.n_dims)
    query = _query_options(screen, normaliser, screening)
    longest, lengths = _max_lengths(max_length, n)
    options = abi.BeamOptions()
    options.start_word = whole(start_word, "start_word", 0, _UINT32)
    options.end_word = abi.BEAM_NO_WORD if end_word is None else whole(end_word, "end_word", 0, _UINT32 - 1)
    options.beam, options.n_best = whole(beam, "beam", 1, _UINT32), whole(n_best, "n_best", 1, _UINT32)
    options.min_length, options.max_length = whole(min_length, "min_length", 0, _UINT32), longest
    options.penalty = choice(penalty, "penalty", abi.BEAM_PENALTY)
    options.stop = choice(stop, "stop", abi.BEAM_STOP)
    options.alpha = above_zero(alpha, "alpha")
    forbidden = _words([] if never is None else never, "never")
    options.never, options.n_never = (arrays.address(forbidden) if forbidden.size else None), forbidden.size
    options.query = ctypes.addressof(query)
    made, result, err = c_void_p(), abi.BeamResult(), byref(_errors.slot.error)
    _errors.call(lib.thr_beam_create, handle.pointer, byref(options), byref(made))
    try:
        with Job(progress) as job:
            places = None if lengths is None else arrays.address(lengths)
            job.finish(lib.thr_beam_search(made, byref(calls.struct), n, places, byref(result), err))
        return _sentences(result)
    finally:
        lib.thr_beam_free(made)

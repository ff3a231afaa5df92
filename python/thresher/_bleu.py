# SPDX-License-Identifier: Apache-2.0
"""BLEU: quality of translations against references."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import byref
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _errors
from ._core import abi, arrays
from ._core.checks import choice, number
from ._core.library import lib, read


class Bleu(NamedTuple):
    """
    BLEU and its parts: bleu and the four precisions from 0 to 100; matches and totals of 1- to 4-grams; tokens of the
    hypotheses, and of the references nearest in length. signature is sacreBLEU's description of the settings.
    """

    bleu: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int
    counts: tuple[int, ...]
    totals: tuple[int, ...]
    n_sentences: int
    signature: str

    @property
    def ratio(self) -> float:
        """hypothesis_length / reference_length, 0 where that is 0."""
        return self.hypothesis_length / self.reference_length if self.reference_length else 0.0


class _Texts:
    """A thr_bleu_texts and the bytes it points to."""

    def __init__(self, texts: Any, what: str) -> None:
        if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
            raise _errors.ArgumentTypeError(f"{what}: {type(texts).__name__} was given: expected a sequence of str")
        pieces = []
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise _errors.ArgumentTypeError(f"{what}: number {i} is {type(text).__name__}: expected str")
            pieces.append(text.encode())
        self.offsets = np.zeros(len(pieces) + 1, np.uint64)
        np.cumsum([len(piece) for piece in pieces], out=self.offsets[1:])
        self.bytes = b"".join(pieces)
        self.struct = abi.BleuTexts(len(pieces), arrays.address(self.offsets), self.bytes)


def _run(
    hypotheses: Any,
    references: Any,
    options: abi.BleuOptions,
    n: int,
    *,
    by_sentence: bool = False,
) -> tuple[abi.BleuScore, str, npt.NDArray[np.float64]]:
    """
    n: references a sentence, 0 for a single list of them. The last value is the score of each sentence, if by_sentence.
    """
    hyps = _Texts(hypotheses, "hypotheses")
    scores = np.zeros(hyps.struct.n, np.float64)
    lists = [references] if n == 0 else references
    refs = [_Texts(texts, f"references[{i}]" if n else "references") for i, texts in enumerate(lists)]
    views = (abi.BleuTexts * len(refs))(*[ref.struct for ref in refs])
    score, signature = abi.BleuScore(), ctypes.create_string_buffer(abi.BLEU_SIGNATURE_SIZE)
    err = _errors.slot.error
    status = lib.thr_bleu(
        byref(hyps.struct),
        views,
        len(refs),
        byref(options),
        byref(score),
        arrays.address(scores) if by_sentence else None,
        byref(err),
    )
    if status == abi.OK:
        status = lib.thr_bleu_signature(byref(options), len(refs), signature, byref(err))
    if status != abi.OK:
        raise _errors.failure(status, err)
    return score, signature.value.decode(), scores


def _options(
    tokenise: Any, smooth: Any, smooth_value: float | None, lower_case: bool, effective_order: bool
) -> abi.BleuOptions:
    value = 0.0 if smooth_value is None else number(smooth_value, "smooth_value")
    if smooth_value is not None and not value > 0:
        raise _errors.ArgumentError(f"smooth_value is {smooth_value!r}: expected a number above 0")
    return abi.BleuOptions(
        choice(tokenise, "tokenise", abi.BLEU_TOKENISER),
        choice(smooth, "smooth", abi.BLEU_SMOOTHING),
        value,
        bool(lower_case),
        bool(effective_order),
    )


def _count_references(references: Any) -> int:
    """The number of reference lists; 0: a single one, not in a list."""
    if isinstance(references, (str, bytes)) or not isinstance(references, Sequence):
        kind = type(references).__name__
        raise _errors.ArgumentTypeError(f"references: {kind} was given: expected a list of str, or of such lists")
    return 0 if len(references) > 0 and isinstance(references[0], str) else len(references)


def bleu(
    hypotheses: Iterable[str],
    references: Sequence[str] | Sequence[Iterable[str]],
    *,
    tokenise: str = "13a",
    smooth: str = "exp",
    smooth_value: float | None = None,
    lower_case: bool = False,
    effective_order: bool = False,
) -> Bleu:
    """
    Corpus BLEU, with the digits of sacreBLEU.

    hypotheses       one str per sentence
    references       as many; or a list of several references, each of as many
    tokenise         "13a", or "none": split at white space
    smooth           smoothing of n-gram orders without matches: "exp", "none", "floor" or "add-k"
    smooth_value     of floor (None: 0.1) and of add-k (None: 1)
    lower_case       compare lower-cased text
    effective_order  ignore orders without n-grams in the hypotheses

    Raises ArgumentError for different numbers of sentences, other types or words.
    """
    options = _options(tokenise, smooth, smooth_value, lower_case, effective_order)
    score, signature, _ = _run(hypotheses, references, options, _count_references(references))
    tuples = {name: tuple(getattr(score, name)) for name in ("precisions", "counts", "totals")}
    return read(Bleu, score, signature=signature, **tuples)


def sentence_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Iterable[str]],
    *,
    tokenise: str = "13a",
    smooth: str = "exp",
    smooth_value: float | None = None,
    lower_case: bool = False,
    effective_order: bool = True,
) -> npt.NDArray[np.float64]:
    """The BLEU of every sentence, float64 [n], with the arguments of bleu."""
    options = _options(tokenise, smooth, smooth_value, lower_case, effective_order)
    return _run(hypotheses, references, options, _count_references(references), by_sentence=True)[2]

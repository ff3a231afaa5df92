# SPDX-License-Identifier: Apache-2.0
"""Translation by a model with attention, over a large vocabulary."""

from __future__ import annotations

import os
from collections.abc import Iterable
from ctypes import POINTER, addressof, byref, c_char_p, c_size_t, c_uint64, c_void_p, cast
from typing import Any, NamedTuple, overload

from . import _errors
from ._core import abi
from ._core.checks import above_zero, choice, encoded, encoded_path, whole
from ._core.context import shared_context
from ._core.jobs import Job
from ._core.library import defaults, lib, read
from ._core.locks import Lock
from ._core.texts import list_of
from ._handle import Handle, Model

_BATCHES = 32
"""So many batches are translated in one call, sorted by length: between calls Python looks for Ctrl-C."""


class Translation(NamedTuple):
    """
    text      the translation
    words     its words before joining, without the end word
    score     log_prob divided by the length penalty, which orders the translations of a text
    log_prob  sum over the words and the end word
    ended     False: cut at the maximum length
    """

    text: str
    words: list[str]
    score: float
    log_prob: float
    ended: bool


class TranslationTimes(NamedTuple):
    """
    Seconds of a translation; splitting and joining texts are in none of these.

    encoder    all layers over the source
    layers     the decoder's embeddings and LSTM layers
    attention  over the source, and the layer that makes the head's states
    head       the choice of words: hashes or codes, logits, normaliser
    expansion  of the beams: the best of all rows' words, for each text
    reorder    of the decoder's states to the rows that stay
    """

    encoder: float = 0.0
    layers: float = 0.0
    attention: float = 0.0
    head: float = 0.0
    expansion: float = 0.0
    reorder: float = 0.0


class _TranslatorHandle(Handle):
    """A thr_translator, which belongs to one thread at a time."""

    __slots__ = ("lock", "times")
    opens, frees = "thr_translator_open", "thr_translator_free"

    def __init__(self, path: bytes, threads: int | None, settings: dict[str, Any]) -> None:
        self._begin(shared_context(threads, None))
        self.lock = Lock(f"{os.fsdecode(path)}: the translator is used")
        self.times = TranslationTimes()
        query, options = defaults("thr_head_query_options_init"), abi.TranslatorOptions()
        for name, value in settings.items():
            struct = query if name in _QUERY else options
            setattr(struct, name, value)
        options.query = addressof(query)
        made = c_void_p()
        _errors.call(lib.thr_translator_open, self._context.pointer, path, byref(options), byref(made), files=True)
        self._hold(made.value)


_QUERY = {field[0] for field in abi.HeadQueryOptions._fields_}


class Alignment(NamedTuple):
    """
    What train_alignment learned: pairs of lines learned from, and skipped; distinct words; pairs of words that occur
    together, and lines written; the perplexity of a target word.
    """

    n_pairs: int
    n_skipped: int
    n_source_words: int
    n_target_words: int
    n_entries: int
    n_written: int
    perplexity: float


def train_alignment(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    n_iterations: int = 5,
    n_best: int = 100,
    min_probability: float = 1e-4,
) -> Alignment:
    """
    Learn which target words translate a source word, by IBM model 1, and write them to path: lines of source word,
    target word, probability, for Translator(screen="align", alignment=path).

    source, target  texts, a line each a translation of the other's; "pairs.tsv:2" is a column
    n_iterations    passes over the texts
    n_best          most target words of a source word
    min_probability the least probability of a target word

    Raises ArgumentError, FileMissingError, FormatError and other errors of the library.
    """
    options, report = abi.AlignOptions(), abi.AlignReport()
    options.n_iterations = whole(n_iterations, "n_iterations", 1, 2**32 - 1)
    options.n_best = whole(n_best, "n_best", 1, 2**32 - 1)
    options.min_probability = above_zero(min_probability, "min_probability")
    names = [encoded_path(name, what) for name, what in ((source, "source"), (target, "target"), (path, "path"))]
    context = shared_context(None, None)
    with Job() as job:
        status = lib.thr_align_train(context.pointer, *names, byref(options), byref(report), byref(_errors.slot.error))
        job.finish(status, files=True)
    return read(Alignment, report)


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Checked values by their names in the structs; None keeps the default."""
    made: dict[str, Any] = {}
    for name, value in given.items():
        if name in _CHOICES:
            made[name] = choice(value, name, _CHOICES[name])
        elif name in ("head", "alignment"):
            made[name] = None if value is None else encoded_path(value, name)
        elif value is not None:
            made[name] = value if name in _CHECKED else whole(value, name, 0 if name in _QUERY else 1, 2**32 - 2)
    return made


_CHOICES = {"screen": abi.HEAD_SCREEN, "normaliser": abi.HEAD_NORMALISER, "penalty": abi.BEAM_PENALTY}



_CHECKED = ("alpha", "length_ratio", "unknown", "replace_unk")


class Translator(Model):
    """
    An open translation model (docs/translate.md). Threads may share it; their calls run one after the other. close() or
    garbage collection closes it. A forked child opens it again.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        beam: int = 5,
        n_best: int = 1,
        screen: str = "full",
        frequent: int | None = None,
        threshold: int | None = None,
        shortlist: int | None = None,
        group: int = 1,
        normaliser: str = "candidates",
        alignment: str | os.PathLike[str] | None = None,
        aligned: int | None = None,
        head: str | os.PathLike[str] | None = None,
        penalty: str = "length",
        length_penalty: float = 1.0,
        length_ratio: float = 2.0,
        max_length: int = 500,
        max_source: int = 1000,
        batch: int = 32,
        unknown: bool = False,
        replace_unk: bool = False,
        threads: int | None = None,
    ) -> None:
        """
        beam, n_best    live translations of a text, and translations returned
        screen          words whose logits are computed: "full", "frequent", "wta", "planes" or "align", with frequent,
                        threshold and shortlist as in `thresher translate`
        alignment, aligned
                        with "align": a file of word translations (train_alignment), and how many target words of each
                        source word are candidates
        group           0: the beams of a text share their candidates
        normaliser      words over which probabilities sum to 1: "candidates", "exact" (all words) or "sampled" (an
                        estimate)
        head            a file that `thresher head build` made of the model; None: build the head
        penalty         divisor of log-probabilities: "none"; "wu", ((5 + n) / 6)^length_penalty; "length",
                        n^length_penalty
        length_ratio    most words of a translation for each word of the text, plus 10; at most max_length
        max_source      most words of a text
        batch           texts translated together
        unknown         allow <unk> in translations
        replace_unk     replace each <unk> by the text's word with the largest attention

        Raises FileMissingError, FormatError and other errors of the library.
        """
        self._given = {
            "beam": beam,
            "n_best": n_best,
            "screen": screen,
            "n_frequent": frequent,
            "threshold": threshold,
            "n_shortlist": shortlist,
            "group": group,
            "normaliser": normaliser,
            "alignment": alignment,
            "n_aligned": aligned,
            "head": head,
            "penalty": penalty,
            "alpha": above_zero(length_penalty, "length_penalty"),
            "length_ratio": above_zero(length_ratio, "length_ratio"),
            "max_length": max_length,
            "max_source": max_source,
            "batch": batch,
            "unknown": bool(unknown),
            "replace_unk": bool(replace_unk),
        }
        self._batch = whole(batch, "batch", 1, 2**16)
        super().__init__(path, threads=threads)

    def __repr__(self) -> str:
        given = self._given
        state = ", closed" if self._closed else ""
        return f"<thresher.Translator {self.path!r}: beam {given['beam']}, screen {given['screen']}{state}>"

    def _open(self) -> Handle:
        return _TranslatorHandle(self._path, self._threads, _settings(self._given))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_open_again, (self.path, self._threads, self._given))

    @property
    def times(self) -> TranslationTimes:
        """Where the time of the last call went."""
        times: TranslationTimes = self.handle().times
        return times

    @overload
    def translate(self, texts: str) -> str: ...  # type: ignore[overload-overlap]

    @overload
    def translate(self, texts: Iterable[str]) -> list[str]: ...

    def translate(self, texts: str | Iterable[str]) -> str | list[str]:
        """The best translation of a text, or a list of them for several; "" for a text without words."""
        made = [some[0].text if some else "" for some in self.n_best(texts)]
        return made[0] if isinstance(texts, str) else made

    def n_best(self, texts: str | Iterable[str]) -> list[list[Translation]]:
        """Up to n_best translations of each text, best first. Their texts are distinct."""
        given = list_of(texts)
        texts_of = [encoded(text, f"text {number}", "surrogatepass") for number, text in enumerate(given)]
        handle = self.handle()
        made: list[list[Translation]] = []
        step = self._batch * _BATCHES
        with handle.lock():
            handle.times = TranslationTimes()
            for first in range(0, len(texts_of), step):
                made.extend(_translate(handle, texts_of[first : first + step]))
        return made


def _translate(handle: _TranslatorHandle, some: list[bytes]) -> list[list[Translation]]:
    result = abi.Translations()
    _errors.call(
        lib.thr_translator_translate,
        handle.pointer,
        (c_char_p * len(some))(*some),
        (c_size_t * len(some))(*map(len, some)),
        len(some),
        byref(result),
    )
    handle.times = TranslationTimes(*(t + getattr(result.times, name) for name, t in handle.times._asdict().items()))
    first_of, made = cast(result.first_of, POINTER(c_uint64)), cast(result.translations, POINTER(abi.Translation))
    return [[_taken(made[j]) for j in range(first_of[i], first_of[i + 1])] for i in range(len(some))]


def _taken(one: Any) -> Translation:
    words = one.words.decode("utf-8", "replace")
    return Translation(
        text=one.text.decode("utf-8", "replace"),
        words=words.split(" ") if words else [],
        score=one.score,
        log_prob=one.log_prob,
        ended=one.ended,
    )


def _open_again(path: str, threads: int | None, given: dict[str, Any]) -> Translator:
    names = {"n_frequent": "frequent", "n_shortlist": "shortlist", "alpha": "length_penalty", "n_aligned": "aligned"}
    return Translator(path, threads=threads, **{names.get(name, name): value for name, value in given.items()})

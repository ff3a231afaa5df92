# SPDX-License-Identifier: Apache-2.0
"""The tokeniser of translations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ctypes import create_string_buffer

from . import _errors
from ._core.checks import as_list
from ._core.library import lib


def _bytes(text: str | bytes, what: str) -> bytes:
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, bytes):
        return text
    raise _errors.ArgumentTypeError(f"{what}: {type(text).__name__} was given: expected str or bytes of UTF-8")


def _made(function: Callable[..., int], text: bytes, most: int) -> str:
    out = create_string_buffer(most + 1)
    n = function(text, len(text), out, len(out))
    return out.raw[:n].decode("utf-8", "replace")


def split_words(text: str | bytes) -> list[str]:
    """
    Split a text to words: runs of lower-case letters and digits, and every other character by itself. U+FFED marks the
    side without white space: "don't" is don, \uffed'\uffed, t.

    Bytes that are not UTF-8 become U+FFFD. join_words rebuilds the text.
    """
    data = _bytes(text, "text")
    words = _made(lib.thr_words_split, data, 10 * len(data))
    return words.split(" ") if words else []


def join_words(words: Iterable[str]) -> str:
    """Join words to a text, by a space except at U+FFED. A word must not contain a space."""
    listed = as_list(words, "words", "an iterable of str")
    data = b" ".join(_bytes(word, f"word {i}") for i, word in enumerate(listed))
    return _made(lib.thr_words_join, data, len(data))

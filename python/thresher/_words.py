# SPDX-License-Identifier: Apache-2.0
"""Text to words and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ctypes import create_string_buffer

from ._library import lib


def _bytes(text: str | bytes, what: str) -> bytes:
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, bytes):
        return text
    raise TypeError(f"{what}: {type(text).__name__} was given: str or bytes of UTF-8 is wanted")


def _made(function: Callable[..., int], text: bytes, most: int) -> str:
    out = create_string_buffer(most + 1)
    n = function(text, len(text), out, len(out))
    return out.raw[:n].decode("utf-8", "replace")


def split_words(text: str | bytes) -> list[str]:
    """
    The words of a text, as translations are made of: runs of small letters and digits, and every other character by
    itself, with U+FFED at the side where no white space parts it from its neighbour: "don't" is don, \\uffed'\\uffed, t.

    Bytes that are no UTF-8 become U+FFFD. join_words puts a text together again.
    """
    data = _bytes(text, "text")
    words = _made(lib.thr_words_split, data, 10 * len(data))
    return words.split(" ") if words else []


def join_words(words: Iterable[str]) -> str:
    """The text of words: a space between two, none where one of them has U+FFED. A word holds no space itself."""
    data = _bytes(" ".join(words), "words")
    return _made(lib.thr_words_join, data, len(data))

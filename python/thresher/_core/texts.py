# SPDX-License-Identifier: Apache-2.0
"""Texts for the library, and their encoding by a model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from ctypes import c_char_p, c_size_t
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .. import _errors
from .._handle import Model
from . import arrays
from .checks import as_list, encoded

VectorArray = npt.NDArray[np.float32]

AT_ONCE = 4096
"""Texts that are encoded in one call: between calls Python looks for Ctrl-C."""


def list_of(texts: Any) -> list[Any]:
    """The texts, or the single one, in a list."""
    if isinstance(texts, (bytes, bytearray)):
        raise _errors.ArgumentTypeError(f"texts: an object of type {type(texts).__name__} was given: expected str")
    if isinstance(texts, str):
        return [texts]
    return as_list(texts.to_pylist() if hasattr(texts, "to_pylist") else texts, "texts", "str, or an iterable of str")


def encode_texts(function: Any, pointer: int | None, side: int, n_floats: int, texts: Any) -> VectorArray:
    """thr_tower_encode, or a function like it, of a text or a list of texts: n_floats numbers each."""
    given = list_of(texts)
    out = np.empty((len(given), n_floats), np.float32)
    for first in range(0, len(given), AT_ONCE):
        some = [
            encoded(text, f"text {number}", "replace")
            for number, text in enumerate(given[first : first + AT_ONCE], first)
        ]
        pointers = (c_char_p * len(some))(*some)
        lengths = (c_size_t * len(some))(*map(len, some))
        at = arrays.address(out) + first * n_floats * out.itemsize
        _errors.call(function, pointer, side, pointers, lengths, len(some), at)
    return out[0] if isinstance(texts, str) else out


def in_lists(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts, in lists of AT_ONCE."""
    left = iter(texts)
    while some := list(islice(left, AT_ONCE)):
        yield some


_Self = TypeVar("_Self", bound="TextModel")


class TextModel(Model):
    """An open model that encodes texts."""

    report: Any = None
    """How the training went that made the model; None of one that was opened."""

    @classmethod
    def _trained(cls: type[_Self], path: str | os.PathLike[str], threads: int | None, report: Any) -> _Self:
        """Open a model that was just trained."""
        model = cls(path, threads=threads)
        model.report = report
        return model

    def encode(self, texts: Any, side: str = "query") -> VectorArray:
        """Encode texts by a side's tower."""
        raise NotImplementedError

    def chunks(self, texts: Iterable[str], side: str = "item") -> Iterator[VectorArray]:
        """Encode any number of texts, in arrays of some thousand rows."""
        for some in in_lists(texts):
            yield self.encode(some, side)

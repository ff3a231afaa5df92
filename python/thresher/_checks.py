# SPDX-License-Identifier: Apache-2.0
"""Small checks of arguments that ctypes would not make: it takes any int for an unsigned one and cuts it."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from typing import Any


def whole(value: Any, what: str, low: int, high: int) -> int:
    """value as an int from low to high."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}: a whole number is wanted") from None
    if not low <= number <= high:
        raise ValueError(f"{what} is {number}: {low} to {high} are possible")
    return number


def choice(value: Any, what: str, choices: Mapping[Any, int]) -> int:
    """The number that value stands for."""
    try:
        return choices[value]
    except (KeyError, TypeError):
        names = ", ".join(repr(name) for name in choices)
        raise ValueError(f"{what} is {value!r}: one of {names} is wanted") from None


def device_words(value: object) -> str:
    """What a context is to screen codes with; which words are right is for the library to say."""
    if value is None:
        return "cpu"
    if not isinstance(value, str):
        raise TypeError(f'device is {value!r}: "auto", "cpu", "cuda" or "cuda:0" is wanted')
    if "\0" in value:
        raise ValueError(f"device is {value!r}: it holds a NUL character")
    return value


def encoded_path(path: object, what: str) -> bytes:
    """A path as the library takes it."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"{what}: an object of type {type(path).__name__} was given: a path is wanted")
    name = os.fsencode(path)
    if not name or b"\0" in name:
        raise ValueError(f"{what}: {path!r} is no path: it is empty or holds a NUL character")
    return name

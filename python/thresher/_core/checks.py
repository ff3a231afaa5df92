# SPDX-License-Identifier: Apache-2.0
"""Range checks of arguments: ctypes accepts any int for an unsigned type and truncates it."""

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
        raise TypeError(f"{what} is {value!r}: expected a whole number") from None
    if not low <= number <= high:
        raise ValueError(f"{what} is {number}: {low} to {high} are possible")
    return number


def share_of(value: Any, what: str) -> float:
    """value as a float above 0 and up to 1."""
    expected = "expected a share above 0 and up to 1"
    try:
        if isinstance(value, (str, bytes)):  # float() would read them
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{what} is {value!r}: {expected}") from None
    if not 0 < number <= 1:
        raise ValueError(f"{what} is {number}: {expected}")
    return number


MOST_CELLS = 65536
"""Of one index."""


def check_cells(cells: Any) -> None:
    """Raise an error for a str other than "auto", and for a bool; True is a mistake for "auto"."""
    if isinstance(cells, bool) or (isinstance(cells, str) and cells != "auto"):
        kind = ValueError if isinstance(cells, str) else TypeError
        raise kind(f'cells is {cells!r}: expected a whole number or "auto"')


def check_names(options: Mapping[str, object], allowed: type) -> None:
    """Raise TypeError for an option that the TypedDict allowed does not have."""
    for name in options:
        if name not in allowed.__annotations__:
            raise TypeError(f"unexpected keyword argument {name!r}")


def shown(thing: object) -> str:
    """repr(thing) for a message, cut to 80 characters."""
    text = repr(thing)
    return text if len(text) <= 80 else text[:80] + "..."


_OTHER_NAMES = {
    "euclidean": "l2",
    "euclid": "l2",
    "sqeuclidean": "l2",
    "dot": "ip",
    "inner": "ip",
    "innerproduct": "ip",
    "inner_product": "ip",
}
"""Names in other programs, and the name here."""


def choice(value: Any, what: str, choices: Mapping[Any, int]) -> int:
    """The number of the choice that value names."""
    try:
        return choices[value]
    except (KeyError, TypeError):
        names = ", ".join(repr(name) for name in choices)
        meant = _OTHER_NAMES.get(value) if isinstance(value, str) else None
        hint = f"; did you mean {meant!r}?" if meant is not None and meant in choices else ""
        raise ValueError(f"{what} is {value!r}: expected one of {names}{hint}") from None


def device_words(value: object) -> str:
    """The device of a context as bytes; the library validates the words."""
    if value is None:
        return "cpu"
    if not isinstance(value, str):
        raise TypeError(f'device is {value!r}: "auto", "cpu", "cuda" or "cuda:0" was expected')
    encoded(value, "device")
    return value


def encoded_path(path: object, what: str) -> bytes:
    """A path as bytes for the library."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"{what}: an object of type {type(path).__name__} was given: expected a path")
    name = os.fsencode(path)
    if not name:
        raise ValueError(f"{what}: an empty path was given")
    return _without_nul(name, path, what)


def encoded(text: object, what: str, errors: str = "strict") -> bytes:
    """A text as bytes for the library, whose strings end at the first NUL; errors as in str.encode."""
    if not isinstance(text, str):
        raise TypeError(f"{what}: an object of type {type(text).__name__} was given: expected str")
    return _without_nul(text.encode("utf-8", errors), text, what)


def _without_nul(octets: bytes, given: object, what: str) -> bytes:
    at = octets.find(b"\0")
    if at >= 0:
        raise ValueError(f"{what}: byte {at} of {shown(given)} is NUL, which ends a string of the library")
    return octets

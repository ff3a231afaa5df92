# SPDX-License-Identifier: Apache-2.0
"""Range checks of arguments: ctypes accepts any int for an unsigned type and truncates it."""

from __future__ import annotations

import difflib
import functools
import inspect
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import _errors


def whole(value: Any, what: str, low: int, high: int) -> int:
    """value as an int from low to high."""
    try:
        number = operator.index(value)
    except TypeError:
        raise _errors.ArgumentTypeError(f"{what} is {value!r}: expected a whole number") from None
    if not low <= number <= high:
        raise _errors.ArgumentError(f"{what} is {number}: {low} to {high} are possible")
    return number


def number(value: Any, what: str) -> float:
    """Convert to float; raise ArgumentTypeError for a text or another type."""
    try:
        return float("no number" if isinstance(value, (str, bytes)) else value)  # it would read numbers in texts
    except (TypeError, ValueError, OverflowError):
        raise _errors.ArgumentTypeError(f"{what} is {shown(value)}: expected a number") from None


def above_zero(value: Any, what: str) -> float:
    """value as a float above 0."""
    found = number(value, what)
    if not found > 0:
        raise _errors.ArgumentError(f"{what} is {found}: expected a number above 0")
    return found


def share_of(value: Any, what: str) -> float:
    """value as a float above 0 and up to 1."""
    share = number(value, what)
    if not 0 < share <= 1:
        raise _errors.ArgumentError(f"{what} is {share}: expected a share above 0 and up to 1")
    return share


MOST_CELLS = 65536
"""Of one index."""


def check_cells(cells: Any) -> None:
    """Raise an error for a str other than "auto", and for a bool; True is a mistake for "auto"."""
    if isinstance(cells, bool) or (isinstance(cells, str) and cells != "auto"):
        raise _errors.ArgumentTypeError(f'cells is {cells!r}: expected a whole number or "auto"')


def check_names(options: Mapping[str, object], allowed: type) -> None:
    """Raise ArgumentTypeError for an option that is not a key of the TypedDict `allowed`."""
    for name in options:
        if name not in allowed.__annotations__:
            hint = _hint(name, allowed.__annotations__)
            raise _errors.ArgumentTypeError(f"unexpected keyword argument {name!r}{hint}")


def refuse_keywords(unknown: Iterable[str], function: Callable[..., Any]) -> None:
    """Raise ArgumentTypeError for keyword arguments that the function does not have; nothing for none."""
    for name in unknown:
        known = inspect.signature(function).parameters
        raise _errors.ArgumentTypeError(
            f"{function.__qualname__}: unexpected keyword argument {name!r}{_hint(name, known)}"
        )


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except TypeError as failure:
            if not isinstance(failure, _errors.Error):
                refuse_keywords(options.keys() - inspect.signature(function).parameters.keys(), function)
            raise

    return call


def name_keywords(owner: type, *methods: str) -> None:
    """Make a keyword argument that a method does not have an ArgumentTypeError with the nearest name."""
    for name in methods:
        method = vars(owner)[name]
        made = classmethod(_named(method.__func__)) if isinstance(method, classmethod) else _named(method)
        setattr(owner, name, made)


def need_kind(thing: Any, kind: type, what: str) -> None:
    """Raise ArgumentTypeError unless thing is an instance of kind."""
    if not isinstance(thing, kind):
        given = type(thing).__name__
        raise _errors.ArgumentTypeError(f"{what}: an object of type {given} was given: expected a {kind.__name__}")


def need_function(thing: Any, what: str, otherwise: str = "") -> None:
    """Raise ArgumentTypeError unless thing is callable. otherwise: what else is allowed, for the message."""
    if not callable(thing):
        raise _errors.ArgumentTypeError(f"{what} is {shown(thing)}: expected a function{otherwise}")


def as_list(things: Any, what: str, expected: str) -> list[Any]:
    """The items of an iterable; raises ArgumentTypeError for another object."""
    try:
        iterator = iter(things)
    except TypeError:
        kind = type(things).__name__
        raise _errors.ArgumentTypeError(f"{what}: an object of type {kind} was given: expected {expected}") from None
    return list(iterator)


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


def _hint(word: object, words: Iterable[Any]) -> str:
    """A hint at the nearest of the words; empty if none is near."""
    known = {name.casefold(): name for name in words if isinstance(name, str)}
    given = word.casefold() if isinstance(word, str) else ""
    near = [_OTHER_NAMES.get(given), *difflib.get_close_matches(given, known, 1)]
    found = next((name for name in near if name in known), None)
    return "" if found is None else f"; did you mean {known[found]!r}?"


_TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "u8": "uint8"}
"""The command line's names of types."""


def choice(value: Any, what: str, choices: Mapping[Any, int]) -> int:
    """The number of the choice that value names, also with underscores for hyphens, or "f32" for "float32"."""
    try:
        spelled = value.replace("_", "-") if isinstance(value, str) else value
        return choices[value if value in choices else _TYPES.get(spelled, spelled)]
    except (KeyError, TypeError):
        names = ", ".join(repr(name) for name in choices)
        hint = _hint(value, choices)
        raise _errors.ArgumentError(f"{what} is {value!r}: expected one of {names}{hint}") from None


def device_words(value: object) -> str:
    """The device of a context as bytes; the library validates the words."""
    if value is None:
        return "cpu"
    if not isinstance(value, str):
        raise _errors.ArgumentTypeError(f'device is {value!r}: "auto", "cpu", "cuda" or "cuda:0" was expected')
    encoded(value, "device")
    return value


def encoded_path(path: object, what: str) -> bytes:
    """A path as bytes for the library; a leading ~ is the home directory."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise _errors.ArgumentTypeError(f"{what}: an object of type {type(path).__name__} was given: expected a path")
    try:
        name = os.fsencode(os.path.expanduser(path))
    except UnicodeEncodeError as failure:
        raise _half(failure, path, what) from None
    if not name:
        raise _errors.ArgumentError(f"{what}: an empty path was given")
    return _without_nul(name, path, what)


def path_of(path: object, what: str = "path") -> str:
    """A path as a str; a leading ~ is the home directory."""
    return os.fsdecode(encoded_path(path, what))


def encoded(text: object, what: str, errors: str = "strict") -> bytes:
    """A text as bytes for the library, whose strings end at the first NUL; errors as in str.encode."""
    if not isinstance(text, str):
        raise _errors.ArgumentTypeError(f"{what}: an object of type {type(text).__name__} was given: expected str")
    try:
        octets = text.encode("utf-8", errors)
    except UnicodeEncodeError as failure:
        raise _half(failure, text, what) from None
    return _without_nul(octets, text, what)


def _half(failure: UnicodeEncodeError, given: object, what: str) -> _errors.Error:
    return _errors.ArgumentError(f"{what}: character {failure.start} of {shown(given)} is half of a surrogate pair")


def _without_nul(octets: bytes, given: object, what: str) -> bytes:
    at = octets.find(b"\0")
    if at >= 0:
        raise _errors.ArgumentError(f"{what}: byte {at} of {shown(given)} is NUL, which ends a string of the library")
    return octets

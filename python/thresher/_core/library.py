# SPDX-License-Identifier: Apache-2.0
"""The shared library: load it, check it against abi.py, declare its functions."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from typing import Any, TypeVar

from . import abi

_VERSION = f"{abi.VERSION_MAJOR}.{abi.VERSION_MINOR}"


def _candidates() -> list[str]:
    """Possible places of the library, best first. $THRESHER_LIBRARY, if set, is the only one."""
    named = os.environ.get("THRESHER_LIBRARY")
    if named:
        return [os.path.join(named, "libthresher.so") if os.path.isdir(named) else named]
    return [str(Path(__file__).parent.with_name("libthresher.so")), f"libthresher.so.{_VERSION}"]


def _load() -> tuple[ctypes.CDLL, str]:
    failures = []
    for place in _candidates():
        try:
            return ctypes.CDLL(place), place
        except OSError as failure:
            failures.append(str(failure))
    raise ImportError(
        "libthresher.so cannot be loaded: install the package with pip, or name the library in THRESHER_LIBRARY ("
        + "; ".join(failures)
        + ")"
    )


def _declare(library: ctypes.CDLL, place: str) -> None:
    for name in abi.FUNCTIONS:
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{place} has no {name}: it is of another version than this package") from None
        function.restype, function.argtypes = abi.signature(name)


def _check_version(library: ctypes.CDLL, place: str) -> None:
    """Raise ImportError for a library of another minor version, which may have other structs and functions."""
    found = library.thr_version().decode()
    if not found.startswith(_VERSION + "."):
        raise ImportError(f"{place} is version {found}, but this package needs {_VERSION}: install both of one version")


def defaults(init: str, *arguments: int) -> Any:
    """A struct of options with the library's defaults; thr_NAME_init fills thr_NAME."""
    made = abi.STRUCTS[init.partition("_init")[0]]()
    getattr(lib, init)(ctypes.byref(made), *arguments)
    return made


_Tuple = TypeVar("_Tuple")


def read(kind: type[_Tuple], *structs: Any, **others: Any) -> _Tuple:
    """The NamedTuple `kind` of others, and of the fields of the first struct that has one by the name."""
    named: Any = kind
    own = _owners(kind, *map(type, structs))
    return kind(**{name: getattr(structs[own[name]], name) for name in named._fields if name not in others}, **others)


@functools.cache
def _owners(kind: Any, *types: Any) -> dict[str, int]:
    """For the fields of a NamedTuple, the number of the first type of struct that has one by the name."""
    has = {name: [n for n, one in enumerate(types) if hasattr(one, name)] for name in kind._fields}
    return {name: numbers[0] for name, numbers in has.items() if numbers}


lib, path = _load()
_declare(lib, path)
_check_version(lib, path)

# SPDX-License-Identifier: Apache-2.0
"""The shared library: load it, check it against abi.py, declare its functions."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any, TypeVar

from . import abi


def _candidates() -> list[str]:
    """Possible places of the library, best first. $THRESHER_LIBRARY, if set, is the only one."""
    named = os.environ.get("THRESHER_LIBRARY")
    if named:
        return [os.path.join(named, "libthresher.so") if os.path.isdir(named) else named]
    return [str(Path(__file__).parent.with_name("libthresher.so")), "libthresher.so.0"]


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


def _filled(init: str) -> type[ctypes.Structure]:
    """The struct that thr_NAME_init fills."""
    return abi.STRUCTS[init.partition("_init")[0]]


def _check_sizes(library: ctypes.CDLL, place: str) -> None:
    """Check struct sizes. Structs only grow at their end, so the library's may be larger than ours, never smaller."""
    room = (ctypes.c_size_t * 512)()
    for name in (name for name in abi.FUNCTIONS if name.endswith("_options_init")):
        size = ctypes.sizeof(_filled(name))
        getattr(library, name)(room, *[0] * (len(abi.signature(name)[1]) - 1))
        if room[0] < size:
            raise ImportError(
                f"{place}: {name} fills {room[0]} bytes where this package has {size}: "
                "it is of an older version than this package"
            )


def defaults(init: str, *arguments: int) -> Any:
    """A struct of options with the library's defaults, and the size of this package's struct."""
    struct = _filled(init)
    room = (ctypes.c_size_t * 512)()
    getattr(lib, init)(room, *arguments)
    made = struct.from_buffer_copy(room)
    made.size = ctypes.sizeof(struct)
    return made


_Tuple = TypeVar("_Tuple")


def read(kind: type[_Tuple], *structs: Any, **others: Any) -> _Tuple:
    """The NamedTuple `kind` of others, and of the fields of the first struct that has one by the name."""
    named: Any = kind
    own = [name for name in named._fields if name not in others]
    return kind(**{name: next(getattr(s, name) for s in structs if hasattr(s, name)) for name in own}, **others)


lib, path = _load()
_declare(lib, path)
_check_sizes(lib, path)

# SPDX-License-Identifier: Apache-2.0
"""Warnings that point to the caller's line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_PACKAGE = __name__.partition(".")[0]
_held: ContextVar[list[str] | None] = ContextVar("_held", default=None)


@contextmanager
def held_notes() -> Iterator[list[str]]:
    """Collect the notes of this thread instead of issuing them."""
    notes: list[str] = []
    token = _held.set(notes)
    try:
        yield notes
    finally:
        _held.reset(token)


def note(message: str, *, about: str = "") -> bool:
    """
    Issue a UserWarning located at the innermost frame outside this package; about: what begins it. True if held_notes()
    has collected the message instead, and wants more.
    """
    held = _held.get()
    if held is not None:
        held.append(message)
        return True
    message = about + message
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
    return False

# SPDX-License-Identifier: Apache-2.0
"""Warnings that point to the caller's line."""

from __future__ import annotations

import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


def note(message: str) -> None:
    """Issue a UserWarning located at the innermost frame outside this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)

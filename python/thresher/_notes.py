# SPDX-License-Identifier: Apache-2.0
"""Warnings that point to the caller's line."""

from __future__ import annotations

import sys
import warnings


def note(message: str) -> None:
    """Issue a UserWarning located at the innermost frame outside this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)

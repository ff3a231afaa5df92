# SPDX-License-Identifier: Apache-2.0
"""What progress= takes: a function, or True for a bar or a line on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Optional, Union

from .checks import need_function

Report = Callable[[str, int, int], object]
Progress = Union[Report, bool]
"""
A function that is called with a word ("build"), the items done, and all of them (0 while unknown), and returns False to
stop the work. True shows a bar if tqdm is installed, else a line if stderr is a terminal.
"""

_EVERY_S = 0.2


class Display:
    """Shows the work that is called: report(word, done, all)."""

    def __init__(self) -> None:
        self._what, self._done = "", 0
        self._bar: Any = None
        self._written_s = -_EVERY_S
        self._make_bar: Any = None
        try:
            from tqdm.auto import tqdm

            self._make_bar = tqdm
        except ImportError:
            self._is_silent = not sys.stderr.isatty()

    def __call__(self, what: str, done: int, total: int) -> None:
        if what != self._what:
            self.close()
            self._what, self._done = what, 0
        if self._make_bar is not None:
            self._bar = self._bar or self._make_bar(desc=what, total=total or None)
            self._bar.update(done - self._done)
        elif not self._is_silent and (done == total or time.monotonic() - self._written_s >= _EVERY_S):
            self._written_s = time.monotonic()
            sys.stderr.write(f"\r{what} {done:,}" + (f" of {total:,}" if total else ""))
            sys.stderr.flush()
        self._done = done

    def close(self) -> None:
        """End the bar, or the line."""
        if self._bar is not None:
            self._bar.close()
        elif self._make_bar is None and not self._is_silent and self._what:
            sys.stderr.write("\n")
        self._bar, self._what = None, ""


def report_of(progress: Optional[Progress]) -> Report | None:
    """The function that progress names; None for no reports."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Display()
    need_function(progress, "progress", ", or True to show a bar")
    return progress


def end_report(report: Report | None) -> None:
    """End what report_of() began."""
    if isinstance(report, Display):
        report.close()

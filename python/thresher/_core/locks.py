# SPDX-License-Identifier: Apache-2.0
"""Locks of Python objects. They are open in a forked child, and raise an error in a thread that holds them already."""

from __future__ import annotations

import os
import threading
from typing import Any

from .. import _errors

_forks = 0
"""The number of forks that led to this process."""
_renewing = threading.Lock()


class Lock:
    """
    A lock for `with lock():`. Callbacks and signal handlers run in the middle of a call, in its thread. If they need
    the lock of that call, they get a BusyError, as another process does. After a fork the child has a new lock, since
    the thread that holds the old one may exist in the parent only.
    """

    __slots__ = ("_lock", "_of_forks", "_what")

    def __init__(self, what: str) -> None:
        """what: the beginning of the BusyError's message, such as "PATH: the index is being changed"."""
        self._what = what
        self._renew()

    def _renew(self) -> None:
        self._lock: Any = threading.RLock()
        self._of_forks = _forks

    @property
    def is_mine(self) -> bool:
        """Whether this thread holds it."""
        return self._of_forks == _forks and bool(self._lock._is_owned())

    def __call__(self) -> Any:
        """The lock itself: its with statement is safe from signals. Raises BusyError."""
        if self._of_forks != _forks:
            with _renewing:
                if self._of_forks != _forks:
                    self._renew()
        if self._lock._is_owned():
            raise _errors.BusyError(
                f"{self._what} by this thread: a callback or signal handler of that call must wait until it has ended",
                "EBUSY",
            )
        return self._lock


def _count_fork() -> None:
    global _forks, _renewing
    _forks += 1
    _renewing = threading.Lock()


os.register_at_fork(after_in_child=_count_fork)

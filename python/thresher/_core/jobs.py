# SPDX-License-Identifier: Apache-2.0
"""
Long calls of the library with progress and interruption.

The library calls a progress function a few times a second, in the thread that called it. Python runs signal handlers
only between instructions of its main thread, so during such a call only in that function. An exception must not
propagate through the C frames. While a Job is open, the handlers therefore only record that they were called; poll()
runs them where an exception can be caught, stops the library, and finish() raises the exception again.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Callable

from .. import _errors
from . import abi
from .library import read

Progress = Callable[[str, int, int], object]
"""Called with a word ("build"), the items done, and all of them (0 while unknown). False stops the work."""


class _Current(threading.local):
    job: Job | None = None


_current = _Current()


class _Deferred:
    """Deferred signal handlers: installed in the main thread, run by run()."""

    def __init__(self) -> None:
        self.at_once = False
        self._waiting: list[tuple[int, FrameType | None]] = []
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}

    def install(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # handlers run only in the main thread
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
        try:
            for taken in self._handlers:
                signal.signal(taken, self._note)
        except BaseException:  # a handler that is not replaced yet raised an exception
            self.remove()
            raise

    def remove(self) -> None:
        try:
            for number in [n for n in self._handlers if signal.getsignal(n) == self._note]:
                signal.signal(number, self._handlers[number])
        except BaseException:  # a handler that is restored already raised an exception
            self.remove()
            raise

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.at_once:
            self._handlers[number](number, frame)
        else:
            self._waiting.append((number, frame))

    def run(self) -> None:
        while self._waiting:
            number, frame = self._waiting.pop(0)
            self._handlers[number](number, frame)


class Job:
    """
    A long call: with Job(progress) as job: job.finish(lib.thr_...(...)).

    An exception in call_back() stops the library's work, and finish() raises it again.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._raised: BaseException | None = None
        self._deferred = _Deferred()
        self._outer: Job | None = None

    def __enter__(self) -> Job:
        self._outer = _current.job
        self._deferred.install()
        _current.job = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.job = self._outer
        self._deferred.remove()
        self._deferred.run()

    def call_back(self, function: Callable[[], Any], failed: Any) -> Any:
        """
        Run Python code inside a callback. Returns its value, or failed if it or an earlier call raised an exception.
        """
        if self._raised is not None:
            return failed
        try:
            self._deferred.run()
            self._deferred.at_once = True
            value = function()
            self._deferred.at_once = False
        except BaseException as raised:
            self._deferred.at_once = False
            self._raised = raised
            return failed
        return value

    def poll(self, what: str, done: int, total: int) -> bool:
        """Returns True to continue."""
        progress = self._progress
        return bool(self.call_back(lambda: progress is None or progress(what, done, total) is not False, False))

    def finish(self, status: int, *, files: bool = False) -> None:
        """Raise the exception of a callback, or that of the status."""
        if self._raised is not None:
            raised, self._raised = self._raised, None
            raise raised
        if status != abi.OK:
            raise _errors.failure(status, _errors.slot.error, files=files)


def call_back(function: Callable[[], Any], failed: Any) -> Any:
    """call_back() of this thread's job; failed outside of a job."""
    job = _current.job
    return failed if job is None else job.call_back(function, failed)


def reporting(callback: Any, kind: Any, report: Callable[[Any], object]) -> Any:
    """A callback that calls report() with the struct that it receives, as the NamedTuple `kind`."""

    def call(_user: int | None, given: Any) -> None:
        point = read(kind, given.contents)
        call_back(lambda: report(point), None)

    return callback(call)


def _on_progress(user: int | None, what: bytes, done: int, total: int) -> bool:
    job = _current.job
    return job is None or job.poll(what.decode(), done, total)


PROGRESS = abi.ProgressFn(_on_progress)

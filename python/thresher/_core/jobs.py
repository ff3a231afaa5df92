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
from .checks import need_function
from .library import lib, read
from .notes import note
from .progress import Progress, end_report, report_of

try:
    import _signal  # without the enums of signal, thirty times as fast
except ImportError:
    _signal = signal  # type: ignore[assignment]

_SIGNALS = tuple(int(number) for number in signal.valid_signals())


class _Current(threading.local):
    job: Job | None = None


_current = _Current()


_seen: tuple[list[Any], dict[int, Any]] = ([], {})
"""The handlers of all signals when _installed() was last called, and those of them that are functions."""


def _installed() -> dict[int, Callable[[int, FrameType | None], Any]]:
    """The handlers that are functions."""
    global _seen
    handlers = list(map(_signal.getsignal, _SIGNALS))
    before, functions = _seen
    if handlers != before:
        functions = {number: handler for number, handler in zip(_SIGNALS, handlers) if callable(handler)}
        _seen = handlers, functions
    return functions


class _Deferred:
    """Deferred signal handlers: installed in the main thread, run by run()."""

    def __init__(self) -> None:
        self.at_once = False
        self.raised: BaseException | None = None
        """The last exception of a handler."""
        self.waiting: list[tuple[int, FrameType | None]] = []
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}

    def install(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # handlers run only in the main thread
        self._handlers = _installed()
        try:
            for taken in self._handlers:
                _signal.signal(taken, self._note)
        except BaseException:  # a handler that is not replaced yet raised an exception
            self.remove()
            raise

    def remove(self) -> None:
        try:
            for number, handler in self._handlers.items():
                if _signal.getsignal(number) == self._note:
                    _signal.signal(number, handler)
        except BaseException:  # a handler that is restored already raised an exception
            self.remove()
            raise

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.at_once:
            self._handle(number, frame)
        else:
            self.waiting.append((number, frame))

    def run(self) -> None:
        while self.waiting:
            self._handle(*self.waiting.pop(0))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        try:
            self._handlers[number](number, frame)
        except BaseException as raised:
            self.raised = raised
            raise


class Job:
    """
    A long call: with Job(progress) as job: job.finish(lib.thr_...(...)).

    An exception in call_back() stops the library's work, and finish() raises it again.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self._report = report_of(progress)
        self._raised: BaseException | None = None
        self._deferred = _Deferred()
        self._calling = False
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
        deferred = self._deferred
        try:
            if self._report is not None:
                end_report(self._report)
        finally:
            deferred.remove()
        if deferred.waiting:
            deferred.run()

    def call_back(self, function: Callable[[], Any], failed: Any) -> Any:
        """
        Run Python code inside a callback. Returns its value, or failed if it or an earlier call raised an exception.
        """
        if self._raised is not None:
            return failed
        self._calling = True
        try:
            self._deferred.run()
            self._deferred.at_once = True
            value = function()
            self._deferred.at_once = False
        except BaseException as raised:
            self._deferred.at_once = False
            self._raised = raised
            return failed
        finally:
            self._calling = False
        return value

    def poll(self, what: str, done: int, total: int) -> bool:
        """Returns True to continue. Calls of the library that a callback makes are not this job's to report."""
        if self._calling:
            return True
        report = self._report
        return bool(self.call_back(lambda: report is None or report(what, done, total) is not False, False))

    def finish(self, status: int, *, files: bool = False) -> None:
        """Raise the exception of a callback, or that of the status."""
        if self._raised is not None:
            raised, self._raised = self._raised, None
            raise raised
        if status != abi.OK:
            raise _errors.failure(status, _errors.slot.error, files=files)


_interrupted: BaseException | None = None
"""What a signal handler raised after the commit of a change; the main thread's next change raises it."""


class Change(Job):
    """
    The Job of a change. Once finish() was called with status OK the commit is made, and nothing fails the call: an
    exception of a callback, of a signal handler, or of the rest of the with statement becomes a warning in `failures`.
    A signal handler's exception, such as KeyboardInterrupt, is raised by the next change, before it begins.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        super().__init__(progress)
        self._committed = False
        self.failures: list[str] = []
        self.result: Any = None
        """What the call returns, but for its warning; set as soon as the commit is made."""

    def __enter__(self) -> Change:
        global _interrupted
        if _interrupted is not None and threading.current_thread() is threading.main_thread():
            raised, _interrupted = _interrupted, None
            raise raised
        super().__enter__()
        return self

    def finish(self, status: int, *, files: bool = False) -> None:
        """Raise the exception of a callback, or that of the status, unless the commit is made."""
        if status != abi.OK:
            super().finish(status, files=files)
        self._committed = True
        if self._raised is not None:
            self._note_failure(self._raised)

    def note_unmerged(self, status: int) -> None:
        """Note why segments were not merged (thr_index_change.unmerged)."""
        if status != abi.OK:
            text = lib.thr_status_text(status).decode()
            self.failures.append(f"merging segments failed: {text}; the next change merges them")

    def _note_failure(self, raised: BaseException) -> None:
        global _interrupted
        self.failures.append(f"{type(raised).__name__}: {raised}" if str(raised) else type(raised).__name__)
        if raised is self._deferred.raised:
            _interrupted = raised

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not self._committed:
            super().__exit__(kind, value, trace)
            return False
        if value is not None:
            self._note_failure(value)
        try:
            super().__exit__(kind, value, trace)
        except BaseException as raised:
            self._note_failure(raised)
        return True

    def warn(self, path: str) -> str | None:
        """Issue a warning of the failures, and return its text; None without any."""
        if not self.failures:
            return None
        text = f"{path}: the change is made, and on the disk; after it: {'; '.join(self.failures)}"
        try:
            note(text)
        except Warning:  # made an error by a filter
            pass
        return text

    def report(self, path: str) -> Any:
        """The result, with the text of warn()."""
        text = self.warn(path)
        return self.result if text is None else self.result._replace(warning=text)


def call_back(function: Callable[[], Any], failed: Any) -> Any:
    """call_back() of this thread's job; failed outside of a job."""
    job = _current.job
    return failed if job is None else job.call_back(function, failed)


def reporting(callback: Any, kind: Any, report: Callable[[Any], object], what: str) -> Any:
    """A callback that calls report(), the argument `what`, with the struct that it receives, as the NamedTuple kind."""
    need_function(report, what)

    def call(_user: int | None, given: Any) -> None:
        point = read(kind, given.contents)
        call_back(lambda: report(point), None)

    return callback(call)


def _on_progress(user: int | None, what: bytes, done: int, total: int) -> bool:
    job = _current.job
    return job is None or job.poll(what.decode(), done, total)


PROGRESS = abi.ProgressFn(_on_progress)

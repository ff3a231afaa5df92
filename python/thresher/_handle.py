# SPDX-License-Identifier: Apache-2.0
"""Handles of objects that the library opened from files, freed with their last reference; and classes that hold one."""

from __future__ import annotations

import os
from collections.abc import Callable
from ctypes import byref, c_void_p
from functools import wraps
from typing import Any, ClassVar, TypeVar, cast

from . import _errors
from ._core.checks import encoded_path
from ._core.context import Context, own, shared_context
from ._core.library import lib


class Handle:
    """A pointer of the library. Calls hold a reference while they run, so close() never frees it under them."""

    __slots__ = ("__weakref__", "_context", "_free", "pointer")
    opens: ClassVar[str]
    frees: ClassVar[str]
    """The functions that do."""

    def __init__(self, path: bytes, threads: int | None, device: str | None = None) -> None:
        lib.thr_guard_files(None)  # a file that another program cuts raises an exception instead of ending Python
        self._begin(shared_context(threads, device))
        made = c_void_p()
        _errors.call(getattr(lib, self.opens), self._context.pointer, path, byref(made), files=True)
        self._hold(made.value)

    def _begin(self, context: Context) -> None:
        """Set the context and the function that frees; there is no pointer yet."""
        self.pointer: int | None = None
        self._free: Callable[[int], None] = getattr(lib, self.frees)
        self._context = context

    def _hold(self, pointer: int | None) -> None:
        """Free this pointer with the handle."""
        self.pointer = pointer
        own(self)

    def __del__(self) -> None:
        pointer = getattr(self, "pointer", None)  # __init__ may have raised before _begin
        if pointer is not None:
            self._free(pointer)
            self.pointer = None

    @property
    def device(self) -> str:
        """The device of its context: "cpu", GPUs, or the CPU with a reason."""
        return self._context.device


_Call = TypeVar("_Call", bound=Callable[..., Any])
_CHANGED_TRIES = 8


def again_if_changed(call: _Call) -> _Call:
    """With refresh="auto", repeat a method if files were changed while it ran: each call opens the newest commit."""

    @wraps(call)
    def repeated(opened: Any, *arguments: Any, **options: Any) -> Any:
        for _ in range(_CHANGED_TRIES - 1):
            try:
                return call(opened, *arguments, **options)
            except _errors.FileError as failure:
                if failure.status != "ECHANGED" or not opened._auto:
                    raise
        return call(opened, *arguments, **options)

    return cast(_Call, repeated)


_Self = TypeVar("_Self", bound="Opened")


class Opened:
    """
    What was opened from a path. Calls in progress keep the handle, so close() never waits for them. A forked child
    opens it again.
    """

    _kind: ClassVar[type[Handle]]
    _noun: ClassVar[str] = "the model is"
    """The beginning of messages."""

    def __init__(self, path: str | os.PathLike[str], *, threads: int | None = None, device: str | None = None) -> None:
        self._path = os.path.abspath(encoded_path(path, "path"))
        self._threads = threads
        self._device = device
        self._closed = False
        self._unsaved = False  # it has values that were set, and the file does not
        self._info: Any = None
        self._handle: Any = self._open()

    def _open(self) -> Any:
        return self._measured(self._kind(self._path, self._threads, self._device))

    def _measured(self, handle: Any) -> Any:
        """The handle, after self._info was set to what it holds."""
        if hasattr(handle, "info"):
            self._info = handle.info()
        return handle

    def _current_info(self) -> Any:
        """What the handle that calls use holds; a forked child's may hold more than its parent's."""
        if not self._closed:
            self.handle()
        return self._info

    def handle(self) -> Any:
        """The open handle; opens it again in a forked child."""
        handle = self._handle
        if self._closed:
            raise _errors.ArgumentError(f"{self.path}: {self._noun} closed")
        if handle is None or handle.pointer is None:
            if self._unsaved:
                raise _errors.ArgumentError(
                    f"{self.path}: values that were set before the fork are its parent's: open it again, and set them"
                )
            handle = self._handle = self._open()
        return handle

    @property
    def device(self) -> str:
        """
        Where an index's codes are screened, or posting lists searched: "cpu"; "cuda:0 (NVIDIA H200)"; with
        device="auto" "cpu" until searches are worth a GPU, "cpu; REASON" if the GPU cannot be used, and
        "cuda:0 (...); REASON" if another object of its context fell back.
        """
        device: str = self.handle().device
        return device

    @property
    def path(self) -> str:
        """The file or directory, as an absolute path."""
        return os.fsdecode(self._path)

    def close(self) -> None:
        """Close it after the calls in progress. May be called twice."""
        self._closed = True
        self._handle = None

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Model(Opened):
    """An open model file. A pickle holds its path."""

    def __init__(self, path: str | os.PathLike[str], *, threads: int | None = None) -> None:
        super().__init__(path, threads=threads)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_open_again, (type(self), self.path, self._threads))


def _open_again(kind: type[Model], path: str, threads: int | None) -> Model:
    return kind(path, threads=threads)

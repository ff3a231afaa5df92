# SPDX-License-Identifier: Apache-2.0
"""Contexts: the library's threads and GPUs, shared by all indexes with the same ones, and their state after a fork."""

from __future__ import annotations

import os
import threading
import weakref
from ctypes import byref, c_void_p
from typing import Callable, Protocol

from .. import _errors
from . import abi
from .checks import device_words, whole
from .jobs import PROGRESS
from .library import lib


class Owner(Protocol):
    """An object that frees a pointer of the library when its last reference goes."""

    pointer: int | None


_owners: weakref.WeakSet[Owner] = weakref.WeakSet()
_shared: weakref.WeakValueDictionary[tuple[int, str], Context] = weakref.WeakValueDictionary()
_lock = threading.RLock()  # reentrant: a finalizer may open an index while it is held


class _Share:
    """A reference to a thr_context, released by free(). The library counts references of its own objects as well."""

    __slots__ = ("__weakref__", "_free", "pointer")

    def __init__(self, threads: int, device: str) -> None:
        self.pointer: int | None = None
        self._free: Callable[[int], None] = lib.thr_context_free
        options = abi.ContextOptions()
        options.n_threads = threads
        options.progress = PROGRESS
        options.device = device.encode("utf-8", "replace")  # copied by the library
        made = c_void_p()
        err = _errors.slot.error
        status = lib.thr_context_create(byref(options), byref(made), byref(err))
        if status != 0:
            raise _errors.failure(status, err)
        self.pointer = made.value
        _owners.add(self)

    def __del__(self) -> None:
        if self.pointer is not None:
            self._free(self.pointer)  # handles of the same garbage cycle may still use the pointer


class Context:
    """
    A thr_context. Several threads may use it, and it may be freed before or after the objects made from it.

    shared_context finds it by a weak reference, so its class has no __del__: other threads could still receive an
    object whose __del__ runs.
    """

    __slots__ = ("__weakref__", "_share")

    def __init__(self, threads: int, device: str) -> None:
        self._share = _Share(threads, device)

    @property
    def pointer(self) -> int | None:
        return self._share.pointer

    @property
    def device(self) -> str:
        return str(lib.thr_context_device(self.pointer), "utf-8", "replace")


def shared_context(threads: int | None, device: str | None = None) -> Context:
    """The context with this number of threads (None: as many as CPUs that the process may use) and device (None: "cpu")."""
    wanted = (0 if threads is None else whole(threads, "threads", 1, 1024), device_words(device))
    with _lock:
        context = _shared.get(wanted)
        if context is None:
            context = _shared[wanted] = Context(*wanted)
        return context


def own(owner: Owner) -> None:
    """Register an owner: after a fork the child drops its pointer, because the threads exist only in the parent."""
    _owners.add(owner)


def _forget_all() -> None:
    global _lock
    _lock = threading.RLock()
    for owner in list(_owners):
        owner.pointer = None
    _owners.clear()
    _shared.clear()


os.register_at_fork(after_in_child=_forget_all)

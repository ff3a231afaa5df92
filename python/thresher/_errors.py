# SPDX-License-Identifier: Apache-2.0
"""Exceptions for statuses, with the library's messages."""

from __future__ import annotations

import errno
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref
from typing import Any

from ._core.abi import OK, STATUS
from ._core.abi import Error as ErrorStruct

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "BusyError",
    "CanceledError",
    "DeviceError",
    "Error",
    "ExistsError",
    "FileError",
    "FileMissingError",
    "FormatError",
    "MemoryLimitError",
    "MismatchError",
    "NotFoundError",
    "UnsupportedError",
]


class Error(Exception):
    """An error of the library. `status` is the name of its status, such as "ECORRUPT"."""

    status: str = "E?"

    def __init__(self, message: str, status: str | None = None) -> None:
        super().__init__(message)
        if status is not None:
            self.status = status

    def __str__(self) -> str:  # KeyError would show its argument in quotes
        return str(self.args[0]) if self.args else ""


class ArgumentError(Error, ValueError):
    """An argument is wrong: its value, size, shape or type, or a duplicate (EINVAL, EDIM, ERANGE, EDUPLICATE)."""

    status = "EINVAL"


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument is of a type that is not taken there."""


class NotFoundError(Error, KeyError):
    """No item has this id or name, or a file lacks this tensor, data set or column (ENOTFOUND)."""

    status = "ENOTFOUND"


class UnsupportedError(Error, NotImplementedError):
    """Not supported by this build or this object (EUNSUPPORTED)."""


class MemoryLimitError(Error, MemoryError):
    """Out of memory (ENOMEM)."""


class DeviceError(Error, RuntimeError):
    """A GPU, its driver or its library is missing or failed (EDEVICE)."""


class CanceledError(Error):
    """The progress function returned False (ECANCELED)."""


class FileError(Error, OSError):
    """A file could not be read or written, changed while in use, or the disk is full (EIO, ECHANGED, ENOSPACE)."""


class FormatError(FileError):
    """A file has another format, is damaged or too new (EFORMAT, ECORRUPT, EVERSION)."""


class MismatchError(Error, ValueError):
    """Two objects do not belong together, such as vectors and a model that did not produce them (EMISMATCH)."""


class FileMissingError(FileError, FileNotFoundError):
    """The index or file does not exist (ENOTFOUND)."""


class BusyError(FileError):
    """Another writer is at work there: wait until it has ended (EBUSY)."""


class ExistsError(FileError, FileExistsError):
    """It exists already; replace=True replaces an index, posting lists or a head (EEXIST)."""


_CLASSES: dict[str, type[Error]] = {
    "EINVAL": ArgumentError,
    "ENOMEM": MemoryLimitError,
    "EIO": FileError,
    "EFORMAT": FormatError,
    "ECORRUPT": FormatError,
    "EVERSION": FormatError,
    "EDIM": ArgumentError,
    "ERANGE": ArgumentError,
    "ENOTFOUND": NotFoundError,
    "EEXIST": ExistsError,
    "EUNSUPPORTED": UnsupportedError,
    "ECANCELED": CanceledError,
    "ECHANGED": FileError,
    "EDUPLICATE": ArgumentError,
    "ENOSPACE": FileError,
    "EDEVICE": DeviceError,
    "EMISMATCH": MismatchError,
    "EBUSY": BusyError,
}
_NAMES = {number: name for name, number in STATUS.items()}
_TO_REPLACE = {"EEXIST": "give replace=True", "EDUPLICATE": "use upsert()"}
_ERRNO = {"ENOSPACE": errno.ENOSPC, "ENOTFOUND": errno.ENOENT, "EEXIST": errno.EEXIST, "EBUSY": errno.EBUSY}


_OF_ERRNO = {
    errno.ENOENT: "ENOTFOUND",
    errno.ENOTDIR: "ENOTFOUND",
    errno.EEXIST: "EEXIST",
    errno.ENOSPC: "ENOSPACE",
    errno.EDQUOT: "ENOSPACE",
    errno.ENOMEM: "ENOMEM",
}


def of_os(raised: OSError, path: str, what: str = "") -> Error:
    """The exception for an OSError of a file, or else of path, as the library would raise it. what: "cannot be read: "."""
    name = _OF_ERRNO.get(raised.errno or 0, "EIO")
    why = raised.strerror or str(raised)
    if raised.errno == errno.EMFILE:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        why = f"too many open files, this process may have {most}: raise the limit with 'ulimit -n'"
    place = raised.filename if isinstance(raised.filename, str) else path
    made = (FileMissingError if name == "ENOTFOUND" else _CLASSES[name])(f"{place}: {what}{why}", name)
    if isinstance(made, OSError):
        made.errno, made.strerror, made.filename = raised.errno, raised.strerror, place
    return made


@contextmanager
def os_errors(path: str) -> Iterator[None]:
    """Raise OSErrors of the block, which works on the files of path, as exceptions of the library."""
    try:
        yield
    except OSError as raised:
        if isinstance(raised, Error) or raised.errno is None:
            raise
        raise of_os(raised, path) from None


class _Slot(threading.local):
    """A thr_error a thread, read right after the call that filled it."""

    def __init__(self) -> None:
        self.error = ErrorStruct()


slot = _Slot()


def file_is_there(sentence: str) -> bool:
    """
    Whether the file exists. text is a path, PATH:COLUMN or PATH:DATASET, or a message that begins with one of these.
    """
    path = sentence.partition(": ")[0]
    return os.path.exists(path) or os.path.exists(path.rpartition(":")[0])


def failure(status: int, error: ErrorStruct, *, files: bool = False) -> Error:
    """The exception for a status other than OK. files: ENOTFOUND means a file or a part of one, not an item."""
    name = _NAMES.get(status, "E?")
    kind = _CLASSES.get(name, Error)
    sentence = error.text.decode("utf-8", "replace")
    if files and name == "ENOTFOUND" and not file_is_there(sentence):
        kind = FileMissingError
    if name in _TO_REPLACE:
        sentence = sentence.replace("replace it", f"{_TO_REPLACE[name]} to replace it")
    made = kind(sentence, name)
    if isinstance(made, OSError):
        made.errno = _ERRNO.get(name)
    return made


def call(function: Any, *arguments: Any, files: bool = False) -> None:
    """Call a function of the library whose last argument is a thr_error; raises the error. files: as for failure."""
    error = slot.error
    status = function(*arguments, byref(error))
    if status != OK:
        raise failure(status, error, files=files)

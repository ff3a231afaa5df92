# SPDX-License-Identifier: Apache-2.0
"""The GPUs of this machine."""

from __future__ import annotations

from ctypes import byref, c_uint32
from dataclasses import dataclass

from . import _errors
from ._core import abi
from ._core.library import lib


@dataclass(frozen=True)
class DeviceInfo:
    """
    A GPU. number is N of device="cuda:N"; compute_capability is (9, 0) for 9.0; memory_bytes is the total and
    free_bytes the free memory; driver and runtime are CUDA versions, (12, 4) for 12.4: the one that the driver
    supports, and the one that the library was built with.
    """

    number: int
    name: str
    compute_capability: tuple[int, int]
    n_multiprocessors: int
    memory_bytes: int
    free_bytes: int
    driver: tuple[int, int]
    runtime: tuple[int, int]


def devices() -> list[DeviceInfo]:
    """
    All GPUs, by number; empty if none can be used: no library for them, no driver, a driver that is too old, or no
    device. Index.open(path, device="cuda") raises a DeviceError with the reason.

    Raises DeviceError if an existing GPU does not respond.
    """
    n = c_uint32()
    err = _errors.slot.error
    status = lib.thr_device_count(byref(n), byref(err))
    if status == abi.STATUS["EDEVICE"]:
        return []
    if status != abi.OK:
        raise _errors.failure(status, err)
    return [_describe(number) for number in range(n.value)]


def _describe(number: int) -> DeviceInfo:
    found = abi.DeviceInfo()
    _errors.call(lib.thr_device_describe, number, byref(found))
    return DeviceInfo(
        number=found.number,
        name=found.name.decode("utf-8", "replace"),
        compute_capability=(found.major, found.minor),
        n_multiprocessors=found.n_multiprocessors,
        memory_bytes=found.memory_bytes,
        free_bytes=found.free_bytes,
        driver=_version(found.driver),
        runtime=_version(found.runtime),
    )


def _version(number: int) -> tuple[int, int]:
    return number // 1000, number % 1000 // 10

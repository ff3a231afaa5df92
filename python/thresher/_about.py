# SPDX-License-Identifier: Apache-2.0
"""The library in use."""

from __future__ import annotations

from typing import NamedTuple

from ._core.context import shared_context
from ._core.library import lib, path


class LibraryInfo(NamedTuple):
    """features: the optional parts of the build; isa: the CPU level in use; threads: the number that None means."""

    version: str
    library: str
    features: tuple[str, ...]
    isa: str
    threads: int


def info() -> LibraryInfo:
    """The version, path, optional parts, CPU level and threads of the library in use."""
    context = shared_context(None)
    return LibraryInfo(
        version=lib.thr_version().decode(),
        library=path,
        features=tuple(lib.thr_build_features().decode().split()),
        isa=lib.thr_isa_name(lib.thr_context_isa(context.pointer)).decode(),
        threads=lib.thr_context_threads(context.pointer),
    )

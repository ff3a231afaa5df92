# SPDX-License-Identifier: Apache-2.0
"""The parts that a collection is built from: arrays, pairs of vectors and ids, and .npy files, one at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from .. import _errors
from .._core import arrays
from .._core.checks import path_of


class Loaded(NamedTuple):
    """A part in memory, or mapped. what names it in messages."""

    vectors: Any
    ids: Any
    what: str


def directory_of(path: Any) -> str:
    """The directory of a build, as it was given."""
    if not isinstance(path, (str, os.PathLike)):
        kind = type(path).__name__
        raise _errors.ArgumentTypeError(
            f"path: an object of type {kind} was given: the first argument is the directory, the parts come second"
        )
    return path_of(path)


def load(part: Any, number: int) -> Loaded:
    """Read part number: vectors [n, n_dims], the name of a .npy file of them, or a pair of either and ids."""
    vectors, ids = part if isinstance(part, tuple) and len(part) == 2 else (part, None)
    what = f"part {number}"
    if isinstance(vectors, (str, os.PathLike)):
        name = path_of(vectors, what)
        what = f"part {number} ({name})"
        if not name.endswith(".npy"):
            raise _errors.ArgumentError(
                f"{what}: parts are read from .npy files: read other files yourself, and give arrays"
            )
        try:
            vectors = np.load(name, mmap_mode="r")
        except ValueError as failure:
            raise _errors.ArgumentError(f"{what}: {failure}") from failure
    if isinstance(ids, (str, os.PathLike)):
        ids = np.load(path_of(ids, what), mmap_mode="r")
    vectors = arrays.vectors(vectors, what, one_row=False)
    if ids is not None and len(ids) != len(vectors):
        raise _errors.ArgumentError(f"{what}: {len(ids)} ids for {len(vectors)} vectors: give one for each")
    return Loaded(vectors, ids, what)


def spooled(parts: Iterable[Any], directory: str) -> Sequence[Any]:
    """
    The parts as a sequence. A build reads them three times: for their sizes, for the sample and for the shards. So the
    parts of an iterable that is no sequence are written to .npy files in directory as they come.
    """
    if isinstance(parts, (str, os.PathLike)) or arrays.is_array(parts):
        raise _errors.ArgumentTypeError("parts: one array or file was given: expected a list of them, one a shard")
    if isinstance(parts, Sequence) and not isinstance(parts, bytes):
        return parts
    if not isinstance(parts, Iterable):
        kind = type(parts).__name__
        raise _errors.ArgumentTypeError(f"parts: an object of type {kind} was given: expected arrays or files")
    with _errors.os_errors(directory):
        os.mkdir(directory)
    listed: list[Any] = []
    for number, part in enumerate(parts):
        given = load(part, number)
        name = os.path.join(directory, f"{number:06d}.npy")
        with _errors.os_errors(name):
            np.save(name, given.vectors)
        listed.append(name if given.ids is None else (name, copy(given.ids)))  # which the iterator may change
    return listed

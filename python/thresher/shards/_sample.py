# SPDX-License-Identifier: Apache-2.0
"""
The sample that the quantiser of a collection is learned from: rows spread over all parts.

The rows are those that the build of one index over all rows would take, so that the quantiser, and with it every code
and every estimated score, is the same as that index's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _errors
from .._core import arrays
from .._core.checks import as_list
from .._index import Index

# As src/core/index/build/row_source.c: runs of consecutive rows, spread evenly; blocks of rows; most bytes of a sample.
_RUNS, _BLOCK, _MOST_BYTES = 64, 64, 32 << 20
SAMPLE_ROWS = 4096

Rows = npt.NDArray[np.int64]


def sampled_rows(n_rows: int, row_bytes: int, wanted: int = SAMPLE_ROWS) -> Rows:
    """The rows, of n_rows in all parts, that a build samples. row_bytes: of a row as it is given."""
    n = max(min(wanted, _MOST_BYTES // row_bytes), _BLOCK) // _BLOCK * _BLOCK
    if n_rows <= n:
        return np.arange(n_rows)
    run = n // _RUNS
    starts = np.array([(n_rows - run) * r // (_RUNS - 1) for r in range(_RUNS)], np.int64)
    return (starts[:, None] + np.arange(run)).reshape(-1)


def sample(vectors: Any, rows: Rows, what: str = "vectors") -> arrays.AnyArray:
    """
    A copy of the rows of one part, [len(rows), n_dims]; rows count from the part's first.

    Raises ArgumentError naming a row that holds NaN or infinity; what is the part's name in it.
    """
    array = arrays.vectors(vectors, what, one_row=False)
    taken = np.array(array[rows])
    with np.errstate(over="ignore"):
        bad = np.argwhere(~np.isfinite(taken.astype(np.float32)))
    if len(bad):
        row, dimension = bad[0]
        raise _errors.ArgumentError(
            f"{what}: row {rows[row]}, dimension {dimension} is NaN, infinity or beyond float32: "
            "repair or leave out the row",
            "ERANGE",
        )
    return taken


def build_quantiser(
    path: str | os.PathLike[str],
    samples: Sequence[arrays.AnyArray],
    *,
    keep: str | None = "float32",
    **options: Any,
) -> None:
    """
    Learn a quantiser from the samples of all parts, in the order of the parts, and build an index with it in directory
    path, which build_shard() then takes it from. keep: as for the shards, which share the centre of kept vectors, too.
    options: metric, bits, lead_bits, rotate, scale and threads, as for Index.build.
    """
    listed = as_list(samples, "samples", "a list of arrays")
    if not listed:
        raise _errors.ArgumentError("samples: no arrays were given: expected at least one")
    rows = np.concatenate([arrays.vectors(some, f"sample {i}", one_row=False) for i, some in enumerate(listed)])
    Index.build(
        path,
        rows,
        keep=keep,
        sample_rows=-(-len(rows) // _BLOCK) * _BLOCK,  # all of them
        calibration_queries=0,
        **options,
    ).close()

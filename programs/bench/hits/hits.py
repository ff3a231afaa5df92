# SPDX-License-Identifier: Apache-2.0
"""A sparse binary matrix times a vector by peers, one thread: what `thresher-bench hits --peers` calls.

usage: hits.py DIR N_ITEMS N_FEATURES N_QUERIES SIZE...

DIR holds the matrix as CSR (offsets.u64, features.u32), and for each SIZE the queries' features (SIZE.u32), weights
(SIZE.f32) and the first query's sums (SIZE.sums.f32), which answers are compared with. One line per peer and size: the
name, a tab, the size, a tab, the mean over queries of the best of four passes in seconds. A peer that is not installed
is left out, with a word.
"""

import os
import sys

from bench.shared.common import seconds_of  # first: one thread

import numpy as np

ROUNDS = 4


def scipy_csr(offsets, features, shape):
    """The matrix has to hold a 1 for each of its places: CSR of floats has no other type."""
    import scipy
    from scipy.sparse import csr_array

    rows = csr_array((np.ones(len(features), np.float32), features.astype(np.int32), offsets.astype(np.int32)), shape)

    def multiply(where, weights):
        dense = np.zeros(shape[1], np.float32)
        dense[where] = weights
        return rows @ dense

    return f"SciPy {scipy.__version__}, CSR", multiply


def graphblas(offsets, features, shape, by_column):
    """The same 1 everywhere is stored once (iso-valued)."""
    import graphblas as gb
    import suitesparse_graphblas

    gb.init("suitesparse", blocking=True)
    gb.ss.config["nthreads"] = 1
    matrix = gb.Matrix.from_csr(offsets, features.astype(np.uint64), np.float32(1), nrows=shape[0], ncols=shape[1])
    matrix.ss.config["format"] = "by_col" if by_column else "by_row"
    matrix.wait()
    return gb, matrix, f"SuiteSparse:GraphBLAS {suitesparse_graphblas.__version__}"


def suitesparse_rows(offsets, features, shape):
    """By rows, with a dense vector: SuiteSparse transposes the matrix for every product with a sparse one."""
    gb, matrix, name = graphblas(offsets, features, shape, False)

    def multiply(where, weights):
        dense = np.zeros(shape[1], np.float32)
        dense[where] = weights
        return matrix.mxv(gb.Vector.from_dense(dense), gb.semiring.plus_second).new(dtype=np.float32)

    return f"{name}, rows", multiply


def suitesparse_columns(offsets, features, shape):
    gb, matrix, name = graphblas(offsets, features, shape, True)

    def multiply(where, weights):
        order = np.argsort(where)
        vector = gb.Vector.from_coo(where[order].astype(np.uint64), weights[order], size=shape[1])
        return matrix.mxv(vector, gb.semiring.plus_second).new(dtype=np.float32)

    return f"{name}, columns", multiply


def as_dense(sums):
    return sums if isinstance(sums, np.ndarray) else sums.to_dense(fill_value=0)


def measure(multiply, queries, right):
    if not np.allclose(as_dense(multiply(*queries[0])), right, atol=1e-4 * np.abs(queries[0][1]).sum()):
        return None
    return sum(seconds_of(lambda query=query: multiply(*query), ROUNDS) for query in queries) / len(queries)


def main():
    directory = sys.argv[1]
    n_items, n_features, n_queries, *sizes = map(int, sys.argv[2:])

    def read(name, dtype):
        return np.fromfile(os.path.join(directory, name), dtype)

    matrix = read("offsets.u64", np.uint64), read("features.u32", np.uint32), (n_items, n_features)
    for make in (scipy_csr, suitesparse_rows, suitesparse_columns):
        try:
            name, multiply = make(*matrix)
        except ImportError as missing:
            print(f"{make.__name__}: left out: {missing.name} is not installed", file=sys.stderr)
            continue
        for size in sizes:
            where = read(f"{size}.u32", np.uint32).reshape(n_queries, size)
            weights = read(f"{size}.f32", np.float32).reshape(n_queries, size)
            seconds = measure(multiply, list(zip(where, weights)), read(f"{size}.sums.f32", np.float32)[:n_items])
            if seconds is None:
                sys.exit(f"{name}: its sums are not ours")
            print(f"{name}\t{size}\t{seconds:.9f}")
        del multiply


main()

# SPDX-License-Identifier: Apache-2.0
"""A model of what codes relative to each cell's centroid would save, compared with codes relative to one centre.

usage: ./run bench residuals [--data NAME,...] [--cells N] [--quick] [--again] [--docs] [--out FILE]

It makes no such codes. It counts the items whose estimates would reach the score of the 10th best item if errors were
normal. The cells are read from the file of an index (docs/format.md).
"""

from pathlib import Path

from bench.shared.common import table  # first: one thread

from bench.search import by_data
import numpy as np
from bench.search.datasets import BLOCK
from bench.search.peer import root
from bench.search.xfbq import codes_of, scratch_index

K, BITS, MARGIN, SEED = 10, (1, 2, 3), 2, 1
QUERIES, QUICK_QUERIES = 100, 10
NORMALS, PERCENTILES = 1 << 18, np.arange(50, 100.01, 0.25)  # of |component|, the range of a code
IDS, CELLS, CENTROIDS = 8, 14, 15  # sections of a segment file
HEADER = {"names": ["n_items", "table"], "formats": ["<u4", "<u8"], "offsets": [12, 40], "itemsize": 64}
SECTION = [("kind", "<u4"), ("zero", "<u4"), ("offset", "<u8"), ("size", "<u8"), ("checksum", "<u8")]
WAYS = ("the centre", "centroids, a query coded once", "centroids, a query coded for each cell")


def relative_error(bits):
    """The tangent of the angle between normal components and their code (XFBQ 3.2), at the best of PERCENTILES."""
    x = np.random.default_rng(SEED).standard_normal(NORMALS).astype(np.float32)
    codes = (codes_of(x, bits, epsilon) for epsilon in np.percentile(np.abs(x), PERCENTILES))
    cosine = max(float(x @ code / np.linalg.norm(x) / np.linalg.norm(code)) for code in codes)
    return float(np.sqrt(1 / cosine**2 - 1))


def read_cells(index):
    """(cell of each item by its id, centroids) of an index of one segment."""
    (path,) = Path(index.path).glob("*.seg")
    raw = np.memmap(path, np.uint8, "r")
    header = raw[:64].view(HEADER)[0]
    entries = raw[int(header["table"]) :].view(SECTION)
    sections = {int(e["kind"]): raw[int(e["offset"]) :][: int(e["size"])] for e in entries}
    ids, firsts = sections[IDS].view("<u8")[: header["n_items"]], sections[CELLS].view("<u4").reshape(-1, 4)[:, 0]
    cells = np.empty(len(ids), np.int64)
    cells[ids] = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(ids)))
    return cells, np.array(sections[CENTROIDS].view("<f4").reshape(len(firsts), -1))


def distances(base, centres, of):
    """The distance of each item from its centre, centres[of[i]]."""
    pieces = [slice(first, first + BLOCK) for first in range(0, len(base), BLOCK)]
    return np.concatenate([np.linalg.norm(base[piece] - centres[of[piece]], axis=1) for piece in pieces])


def coded_lengths(metric, query, centres):
    """For each centre, the length of the coded part of a query: L2: query - centre; else: the part orthogonal to it."""
    if metric == "l2":
        return np.linalg.norm(query - centres, axis=1)
    along = centres @ query / np.maximum(np.linalg.norm(centres, axis=1), 1e-30)
    return np.sqrt(np.maximum(query @ query - along**2, 0))


def measure_data(data, arguments):
    base, l2 = np.ascontiguousarray(data.base), data.metric == "l2"
    n_cells, rng = arguments.cells or root(data), np.random.default_rng(SEED)
    queries, worst = by_data.some_queries(data, QUICK_QUERIES if arguments.quick else QUERIES, K)
    with scratch_index(base, metric=data.metric, cells=n_cells) as index:
        cells, centroids = read_cells(index)
    centre = base.mean(axis=0, dtype=np.float64).astype(np.float32)[None]
    lengths = [distances(base, centre, np.zeros(len(base), np.int64)), distances(base, centroids, cells)]
    errors = [relative_error(bits) for bits in BITS]
    squares, counts = np.einsum("ij,ij->i", base, base), np.zeros((len(WAYS), len(BITS)))
    for query, least in zip(queries, worst):
        scores = 2 * (base @ query) - squares - query @ query if l2 else base @ query
        once = coded_lengths(data.metric, query, centre)[0]
        of_query = [once, once, coded_lengths(data.metric, query, centroids)[cells]]
        above = (1 + l2) * (rng.standard_normal(len(base), np.float32) + MARGIN) / np.sqrt(data.n_dims)
        for way, length in enumerate(of_query):
            margins = above * lengths[way > 0] * length
            counts[way] += [np.count_nonzero(scores + error * margins >= least) for error in errors]
    counts /= len(queries)
    return {"cells": len(centroids), "n_queries": len(queries), "errors": errors, "counts": counts.tolist(),
            "lengths": [float(of.mean()) for of in lengths]}  # fmt: skip


def text(results):
    rows = []
    for name, of in results.items():
        items = [name, f"{of['n_items']:,} x {of['n_dims']}", of["cells"]]
        for way, (title, counts) in enumerate(zip(WAYS, of["counts"])):
            fewer = np.array(of["counts"][0]) / counts
            found = [f"{n:,.0f} ({times:.2f})" for n, times in zip(counts, fewer)]
            rows.append([*items, title, f"{of['lengths'][way > 0]:.3g}", *found])
    some = next(iter(results.values()))
    errors = ", ".join(f"{error:.3f} with {bits}" for bits, error in zip(BITS, some["errors"]))
    columns = ["data", "items", "cells", "codes relative to", "mean distance from it"]
    return "\n".join([
        "A model, not a measurement: indexes have no codes relative to centroids. The error of an item's estimated "
        "score is taken as normal and independent of others. Its standard deviation is (the item's distance from its "
        "centre) x (the length of the coded part of the query) x e / (the root of the dimensions), for L2 twice "
        "that. e is the tangent of the angle between independent normal components and their XFBQ code, at the "
        f"range that makes it least: {errors} bits. The coded part of a query is its difference from the centre, by "
        "cosine its part orthogonal to the centre. The rounding of the query's code is ignored.\n",
        f"An item is *in reach* if its estimate plus {MARGIN} standard errors is at least the true score of the "
        f"{K}th best, so that a search must read more of it. All items count, also those in cells that a search would "
        "skip. In parentheses: how many times as many are in reach with codes relative to the centre. Figures are "
        f"means over {some['n_queries']} queries. The cells are those that an index made.\n",
        table([*columns, *(f"in reach, {bits} bit{'s' * (bits > 1)}" for bits in BITS)], rows),
    ])  # fmt: skip


if __name__ == "__main__":
    by_data.run("residuals", __doc__, measure_data, text)

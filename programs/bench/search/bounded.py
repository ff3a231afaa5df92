# SPDX-License-Identifier: Apache-2.0
"""Exact searches and searches by radius, which skip cells by bounds, with and without cells.

usage: ./run bench bounded [--data NAME,...] [--cells N] [--quick] [--again] [--docs] [--out FILE]

The two indexes take turns, and the fastest round of each call counts. Exact answers must be the same in both.
"""

import sys
from functools import partial

from bench.shared.common import (  # first: one thread
    Kept, Missing, Timer, machine, names_of, need_thresher, page, parser_of, publish,
)

import numpy as np
from bench.search import datasets, measure
from bench.search.peer import root
from bench.search.xfbq import scratch_index
from bench.shared.results import Table

K, BITS, RECALLS = 10, 3, (0.95, 0.99)
BEST, RADIUS = f"best {K}, exact", "radius, exact"  # these answers must be the same with and without cells
DATA, QUICK_DATA = ["books100d", "fashion784", "fashion64", "sentences384", "synthetic64", "synthetic96"], ["fashion64"]
ROUNDS, QUICK_ROUNDS = 5, 2
QUERIES = 2 * measure.BATCH


def best(index, queries):
    n_read = np.empty(len(queries), np.uint64)
    ids, scores = index.search(queries, K, exact=True, n_read_out=n_read)
    return list(zip(ids, scores)), n_read


def radius_search(least, **options):
    def search(index, queries):
        offsets, *found = index.search_radius(queries, least, **options)
        ends = offsets[1:-1].astype(np.int64)
        return list(zip(*(np.split(values, ends) for values in found))), []

    return search


def in_turns(indexes, search, queries, batch, rounds):
    """Yield for each index: ms per query, its answers, and items read per query (None if not counted)."""
    pieces = [queries[first : first + batch] for first in range(0, len(queries), batch)]
    seconds = np.full((rounds, len(indexes), len(pieces)), np.inf)
    answers = [[None] * len(pieces) for _ in indexes]
    for turn in seconds:
        for i, index in enumerate(indexes):
            for j, piece in enumerate(pieces):
                with Timer() as timer:
                    answers[i][j] = search(index, piece)
                turn[i, j] = timer.seconds
    for own, parts in zip(seconds.min(axis=0), answers):
        found = [answer for part, _ in parts for answer in part]
        read = np.concatenate([n_read for _, n_read in parts])
        yield 1e3 * own.sum() / len(queries), found, float(read.mean()) if len(read) else None


def same(one, other, cut):
    """Whether two answers (ids, scores) agree. Equal scores have any order; if cut, the last score has any ids."""
    (ids, scores), (other_ids, other_scores) = one, other
    if not np.array_equal(scores, other_scores):
        return False
    sure = scores > scores[-1] if cut else np.ones(len(scores), bool)
    ids, other_ids = (found[np.lexsort((found, -scores))] for found in (ids, other_ids))
    return np.array_equal(ids[sure], other_ids[sure])


def measure_search(indexes, name, search, queries, rounds):
    """The figures of one search, without cells and with: {"one": .., "batches": .., "n_found": ..}."""
    out, all_found = {"search": name}, []
    for way, batch in (("one", 1), ("batches", measure.BATCH)):
        ms, found, read = zip(*in_turns(indexes, search, queries, batch, rounds))
        out[way] = {"ms": ms, "read": read[1]}
        all_found += found
    pairs = (pair for found in all_found[1:] for pair in zip(found, all_found[0]))
    if name in (BEST, RADIUS) and not all(same(*pair, name == BEST) for pair in pairs):
        sys.exit(f"bench bounded: {name}: answers with cells, or in batches, differ from those of one query without")
    out["n_found"] = [sum(len(ids) for ids, _ in of) for of in all_found[-2:]]
    return out


def some_queries(data, n, k):
    """Up to n queries of the data set, evenly spaced because files may be sorted, and the true score of each one's k-th best."""
    rows = np.linspace(0, len(data.queries) - 1, min(n, len(data.queries))).astype(int)
    return np.ascontiguousarray(data.queries[rows]), data.truth_scores[rows, k - 1]


def measure_data(data, arguments):
    queries, worst = some_queries(data, measure.BATCH if arguments.quick else QUERIES, K)
    rounds, least = QUICK_ROUNDS if arguments.quick else ROUNDS, float(np.median(worst))
    n_cells, base = arguments.cells or root(data), np.ascontiguousarray(data.base)
    searches = {BEST: best, RADIUS: radius_search(least, exact=True)}
    searches.update({f"radius, recall {recall:g}": radius_search(least, recall=recall) for recall in RECALLS})
    options = {"metric": data.metric, "bits": BITS}
    with scratch_index(base, **options) as plain, scratch_index(base, cells=n_cells, **options) as cells:
        found = [measure_search((plain, cells), *one, queries, rounds) for one in searches.items()]
    about = {"title": data.title, "n_items": len(data.base), "n_dims": data.n_dims, "machine": machine()}
    return {**about, "cells": n_cells, "least": least, "n_queries": len(queries), "rounds": rounds, "searches": found}


def measured(name, arguments):
    try:
        return measure_data(datasets.load(name, arguments.cache, arguments.quick, arguments.encoder), arguments)
    except Missing as missing:
        return {"left_out": str(missing)}


def times(way, of, n_items):
    """Rows of the table of times: of the index without cells, and of the one with them."""
    without, cells = of["ms"]
    read = "" if of["read"] is None else f"{of['read'] / n_items:.3f}"
    yield [way, "without cells", f"{without:.3g}", "", ""]
    yield [way, "with cells", f"{cells:.3g}", f"{without / cells:.2f}", read]


def text(results):
    sets, shares, rows = [], [], []
    for name, of in results.items():
        found = {search["search"]: search["n_found"] for search in of["searches"]}
        per_query = found[RADIUS][0] / of["n_queries"]
        sets.append([name, of["title"], of["n_items"], of["n_dims"], of["cells"], f"{of['least']:.4g}", f"{per_query:.1f}",
                     of["n_queries"], of["rounds"]])  # fmt: skip
        for search in of["searches"]:
            what = search["search"]
            n_all = max(found[BEST if what == BEST else RADIUS][0], 1)
            shares.append([name, what, *(f"{n / n_all:.4f}" for n in found[what])])
            for way, key in (("one query", "one"), (f"batches of {measure.BATCH}", "batches")):
                rows += [[name, what, *row] for row in times(way, search[key], of["n_items"])]
    about = ["items", "dimensions", "cells", "least score", "items per answer", "queries", "rounds"]
    ways = [("without cells", "share found"), ("with cells", "share found")]
    figures = ["ms per query", "times as fast", "share of items read"]
    return page(
        "## bounded\n",
        "; ".join(sorted({of["machine"] for of in results.values()})) + ".\n",
        f"Exact searches for the best {K}, and searches by radius, in indexes of {BITS} bits with cells and "
        "without, on one thread. The two indexes take turns. Times are per query; the fastest round of each call "
        "counts. The program checks that exact answers are the same with cells and without, for single queries and "
        "in batches. The least score of the radius searches is the median, over the queries, of the true score of the "
        f"{K}th best item. *Share found* is of the exact answers' items; radius searches do not count what they read.\n",
        Table("data", ["data", "what"], about, sets),
        Table("found", ["data", "what"], ways, shares),
        Table("times", ["data", "what", "setting", "index"], figures, rows),
    )


def main():
    quick = {"help": "fewer and smaller data sets, fewer queries"}
    out = {"help": "what is measured (default: build/bench/bounded.json)"}
    parser = parser_of("bench bounded", __doc__, "again", "docs", "cache", "encoder", quick=quick, out=out)
    names = {"type": names_of(datasets.NAMES, "data set"), "metavar": "NAME,..."}
    parser.add_argument("--data", **names, help=f"(default: {','.join(DATA)})")
    parser.add_argument("--cells", type=int, metavar="N", help="(default: a power of two near the root of the items)")
    arguments = parser.parse_args()
    need_thresher("bench bounded")
    kept = Kept(arguments.out or f"build/bench/bounded{'-quick' * arguments.quick}.json", {"format": 1, "data": {}}, arguments.again)
    among = kept.results["data"]
    for name in arguments.data or (QUICK_DATA if arguments.quick else DATA):
        kept.measure(among, name, partial(measured, name, arguments), lambda of: of.get("left_out", "done"))
    there = {name: among[name] for name in datasets.NAMES if name in among and "left_out" not in among[name]}
    if not there:
        sys.exit("bench bounded: nothing was measured")
    publish(text(there), "bounded", arguments.docs)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The common command line of benches that measure the data sets of bench search one by one, and keep the results."""

import sys
from functools import partial

from bench.shared.common import Kept, Missing, machine, names_of, need_thresher, page, parser_of, publish

from bench.search import datasets
import numpy as np

DATA = ["books100d", "fashion784", "fashion64", "sentences384", "synthetic64", "synthetic96"]
QUICK_DATA = ["fashion64"]
FORMAT = 1  # of the results file


def some_queries(data, n, k):
    """Up to n evenly spaced queries of the data set, and the true score of each one's k-th best item."""
    # evenly, because files may be sorted
    rows = np.linspace(0, len(data.queries) - 1, min(n, len(data.queries))).astype(int)
    return np.ascontiguousarray(data.queries[rows]), data.truth_scores[rows, k - 1]


def measured(name, arguments, measure):
    try:
        data = datasets.load(name, arguments.cache, arguments.quick, arguments.encoder)
    except Missing as missing:
        return {"left_out": str(missing)}
    about = {"title": data.title, "n_items": len(data.base), "n_dims": data.n_dims, "machine": machine()}
    return {**about, **measure(data, arguments)}


def summary(kept):
    return f"left out: {kept['left_out']}" if "left_out" in kept else "done"


def parse(bench, about):
    quick = {"help": "fewer and smaller data sets, fewer queries"}
    out = {"help": f"what is measured (default: build/bench/{bench}.json)"}
    parser = parser_of(f"bench {bench}", about, "again", "docs", "cache", quick=quick, out=out)
    add = parser.add_argument
    add("--data", type=names_of(datasets.NAMES, "data set"), metavar="NAME,...", help=f"(default: {','.join(DATA)})")
    add("--cells", type=int, metavar="N", help="(default: a power of two near the root of the number of items)")
    add("--encoder", default=datasets.ENCODER, metavar="DIR", help="directory of a sentence model, for sentences384")
    arguments = parser.parse_args()
    arguments.data = arguments.data or (QUICK_DATA if arguments.quick else DATA)
    arguments.out = arguments.out or f"build/bench/{bench}{'-quick' * arguments.quick}.json"
    return arguments


def run(bench, about, measure, text):
    """measure(data, arguments) returns the results of one data set; text({name: results}) returns the report of all."""
    arguments = parse(bench, about)
    need_thresher(f"bench {bench}")
    kept = Kept(arguments.out, {"format": FORMAT, "data": {}}, arguments.again)
    among = kept.results["data"]
    for name in arguments.data:
        kept.measure(among, name, partial(measured, name, arguments, measure), summary, name)
    there = {name: among[name] for name in datasets.NAMES if name in among and "left_out" not in among[name]}
    if not there:
        sys.exit(f"bench {bench}: nothing was measured")
    machines = "; ".join(sorted({of["machine"] for of in there.values()}))
    words = page(f"## {bench}\n", f"{machines}.\n", text(there))
    publish(words, bench, arguments.docs)

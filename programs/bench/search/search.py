# SPDX-License-Identifier: Apache-2.0
"""Compare Thresher with its peers: recall and speed of searches on one thread, build times and sizes.

usage: ./run bench search [--data NAME,...] [--peers NAME,...] [--quick] [--again] [--graphs] [--cells] [--docs] [--out FILE]

Each data set and peer is measured in a process of its own and saved in FILE. A later run reuses saved results unless
--again is given. Then the report is printed, or with --docs written into docs/.
"""

import argparse
import json
import os
import sys
import time
from functools import partial

from bench.shared.common import child, cpu, load, names_of, parser_of, save  # first: one thread, and numpy is there

from bench.search import datasets
from bench.search import faiss_codes
from bench.search import faiss_exact
from bench.search import graphs
from bench.search import measure
from bench.search import rabitqlib_ivf
from bench.search import report
from bench.search import thresher_peer
from bench.search import usearch_exact

PEERS = [
    faiss_exact.Flat(),
    thresher_peer.Thresher(),
    thresher_peer.ThresherExact(),
    thresher_peer.ThresherRows(),
    faiss_codes.PQFastScan(),
    faiss_codes.RaBitQFastScan(),
    rabitqlib_ivf.Exhaustive(),
    faiss_exact.Panorama(),
    faiss_codes.BinaryFlat(),
    faiss_codes.ScalarQuantizer(),
    usearch_exact.Floats(),
    usearch_exact.Codes(),
    rabitqlib_ivf.Probing(),
    graphs.HnswLib(),
    graphs.SymphonyQG(),
]
CELLS_PEERS = [thresher_peer.Thresher(), thresher_peer.ThresherCells(), rabitqlib_ivf.Probing()]
BY_NAME = {peer.name: peer for peer in PEERS + CELLS_PEERS}

QUICK_DATA = ["books100d", "fashion64", "synthetic64"]
BUDGET_S, QUICK_BUDGET_S = 0.6, 0.15  # for each timing: one query at a time, and batches
FORMAT = 1  # of the results file
GLANCE = 64  # queries that decide whether a setting is worth its budget
EVERY_QUERY = 3600.0  # seconds; a promise is checked on all of them
WORTH, ENOUGH = 0.88, 0.9995  # recall below which a setting is not measured, and from which no more work is tried


def measure_index(data, index, budget):
    """Every setting worth it, from the least work to the most; the figures of each."""
    for setting in index.settings:
        search = partial(index.search, **setting)
        chosen = len(index.settings) > 1 and "promise" not in setting
        if chosen and measure.recall(data, search(data.queries[:GLANCE], measure.K)) < WORTH:
            continue
        recall_s = EVERY_QUERY if "promise" in setting else measure.RECALL_S
        point = measure.measure(data, search, budget, recall_s=recall_s)
        yield {"setting": setting, **point}
        if chosen and point["recall"] >= ENOUGH:
            return


def measure_peer(peer, data, budget):
    """What is kept of a data set and peer: {"points": [...]}, {"rows": [...]}, or {"left_out": why}."""
    try:
        kept = {
            "version": peer.version(),
            "title": peer.title,
            "family": peer.family,
            "package": peer.package,
            "points": [],
        }
    except ImportError as missing:
        return {"left_out": f"{missing.name or missing} is not installed ({peer.package})"}
    kept["date"] = time.strftime("%Y-%m-%d %H:%M")
    if hasattr(peer, "rows"):
        return {**kept, "rows": peer.rows(data, budget)}
    variants = peer.variants(data)
    if not variants:
        return {"left_out": f"too slow for {len(data.base)} x {data.n_dims}" + graph_hint(peer)}
    for variant in variants:
        index = peer.build(data, **variant)
        about = {
            "variant": variant,
            "build_s": index.build_s,
            "bytes_per_item": index.bytes / len(data.base),
            "vector_bytes_per_item": index.vector_bytes / len(data.base),
        }
        kept["points"] += [{**about, **point} for point in measure_index(data, index, budget)]
    return kept


def graph_hint(peer):
    return " (--graphs builds it)" if isinstance(peer, graphs.Graph) else ""


def about_data(data):
    return {
        "title": data.title,
        "metric": data.metric,
        "synthetic": data.synthetic,
        "n_items": len(data.base),
        "n_dims": data.n_dims,
        "n_queries": len(data.queries),
    }


def one(arguments):
    """The process for one data set and peer: prints {"data": ..., "peer": ...} or {"no_data": why}."""
    name, peer_name = arguments.one
    peer = BY_NAME[peer_name]
    if isinstance(peer, graphs.Graph):
        peer.cache, peer.large = arguments.cache, arguments.graphs
    try:
        data = datasets.load(name, arguments.cache, arguments.quick, arguments.encoder)
        print(json.dumps({"data": about_data(data), "peer": measure_peer(peer, data, arguments.budget)}))
    except datasets.Missing as missing:
        print(json.dumps({"no_data": str(missing)}))


def run_one(arguments, name, peer_name):
    """Run it; the answer, or {"peer": {"left_out": why}} where the process failed."""
    words = [__file__, "--one", name, peer_name, "--cache", arguments.cache, "--budget", str(arguments.budget)]
    words += ["--encoder", arguments.encoder]
    result = child(words + ["--quick"] * arguments.quick + ["--graphs"] * arguments.graphs)
    return {"peer": {"left_out": f"failed: {result['failed']}"}} if "failed" in result else result


def empty_results():
    return {"format": FORMAT, "machine": {}, "data": {}, "results": {}}


def summary(kept):
    if "left_out" in kept:
        return f"left out: {kept['left_out']}"
    if "rows" in kept:
        return f"{len(kept['rows'])} rows"
    best = max((p["qps"] for p in kept["points"] if p["recall"] >= 0.99), default=0)
    return f"{len(kept['points'])} settings" + (f", {best:.0f} queries/s at recall 0.99" if best else "")


def run(arguments):
    results = load(arguments.out, empty_results())
    results["machine"] = {"cpu": cpu(), "n_cpus": os.cpu_count(), "python": sys.version.split()[0]}
    for name in arguments.data:
        kept = results["results"].setdefault(name, {})
        for peer_name in arguments.peers:
            if peer_name in kept and "left_out" not in kept[peer_name] and not arguments.again:
                continue
            start = time.perf_counter()
            result = run_one(arguments, name, peer_name)
            if "no_data" in result:
                print(f"{name}: left out: {result['no_data']}", file=sys.stderr, flush=True)
                break
            kept[peer_name] = result["peer"]
            if "data" in result:
                results["data"][name] = result["data"]
            save(arguments.out, results)
            took = time.perf_counter() - start
            print(f"{name} {peer_name}: {summary(result['peer'])} ({took:.0f} s)", file=sys.stderr, flush=True)
    return results


def parse():
    quick = {"help": "fewer and smaller data sets, less time for each timing"}
    out = {"help": "what is measured (default: build/bench/search.json)"}
    cache = {"help": "for data and graphs, 5 GB"}
    parser = parser_of("bench search", __doc__, "again", "docs", quick=quick, out=out, cache=cache)
    names = datasets.NAMES + datasets.LARGE_NAMES
    parser.add_argument("--data", type=names_of(names, "data set"), metavar="NAME,...")
    parser.add_argument("--peers", type=names_of(list(BY_NAME), "peer"), metavar="NAME,...")
    parser.add_argument(
        "--graphs", action="store_true", help="build graphs of a million items too, for tens of minutes"
    )
    parser.add_argument(
        "--cells", action="store_true", help="compare indexes with cells, without, and the clusters of rabitqlib only"
    )
    parser.add_argument("--budget", type=float, metavar="S", help="seconds for a timing (default: 0.6; --quick: 0.15)")
    parser.add_argument(
        "--encoder", default="build/bench/minilm", metavar="DIR", help="of a sentence model's files, for sentences384"
    )
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.data = arguments.data or (QUICK_DATA if arguments.quick else datasets.NAMES)
    own = [peer.name for peer in (CELLS_PEERS if arguments.cells else PEERS)]
    arguments.peers = arguments.peers or own
    arguments.budget = arguments.budget or (QUICK_BUDGET_S if arguments.quick else BUDGET_S)
    kind = "-cells" * arguments.cells + "-quick" * arguments.quick
    arguments.out = arguments.out or f"build/bench/search{kind}.json"
    arguments.reported = own
    return arguments


def main():
    arguments = parse()
    if arguments.one:
        one(arguments)
        return
    os.makedirs(os.path.dirname(arguments.out) or ".", exist_ok=True)
    results = run(arguments)
    for kept in results["results"].values():
        for name in arguments.reported:
            kept.setdefault(name, {"left_out": "not measured yet"})
    if arguments.docs:
        report.write_docs(results, arguments.cells)
    else:
        print(report.text(results, cells=arguments.cells))


if __name__ == "__main__":
    main()

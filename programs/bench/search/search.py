# SPDX-License-Identifier: Apache-2.0
"""Compare Thresher with its peers: recall and speed of searches on one thread, build times and sizes.

usage: ./run bench search [--data NAME,...] [--peers NAME,...] [--quick] [--again] [--graphs] [--cells] [--docs] [--out
FILE]

Each data set and peer is measured in a process of its own and saved in FILE. A later run reuses saved results unless
--again is given. Then the report is printed, or with --docs its figures are written into results/.
"""

import sys
import time
from functools import partial

from bench.shared.common import (  # first: one thread
    Kept, Missing, cache_bytes, in_process, names_of, need_thresher, parser_of, publish,
)  # fmt: skip

from bench.search import datasets, faiss_peers, graphs, measure, rabitqlib_peers, report, thresher_peer

PEERS = [  # exhaustive
    faiss_peers.Flat(),
    faiss_peers.Panorama(),
    thresher_peer.Thresher(),
    thresher_peer.ThresherExact(),
    thresher_peer.ThresherRows(),
    faiss_peers.PQFastScan(),
    rabitqlib_peers.Exhaustive(),
]
CELLS_PEERS = [
    thresher_peer.Thresher(),
    thresher_peer.ThresherCells(),
    rabitqlib_peers.Probing(),
    faiss_peers.PQFastScan(),
    graphs.HnswLib(),
    graphs.SymphonyQG(),
]
BY_NAME = {peer.name: peer for peer in PEERS + CELLS_PEERS}

QUICK_DATA = ["books100d", "fashion64", "synthetic64"]
BUDGET_S, QUICK_BUDGET_S = 0.6, 0.15  # for each timing: one query at a time, and batches
FORMAT = 1  # of the results file
GLANCE = 64  # queries that decide whether a setting is worth its budget
PROMISE_RECALL_S = 3600.0  # long enough to count the recall of a promise on all queries
LEAST_RECALL, RECALL_TO_STOP = 0.88, 0.9995  # a setting below is not measured; from the other on no more work is tried


def measure_index(data, index, budget):
    """Every setting worth it, from the least work to the most; the figures of each."""
    for setting in index.settings:
        search = partial(index.search, **setting)
        chosen = len(index.settings) > 1 and "promise" not in setting
        if chosen and measure.recall(data, search(data.queries[:GLANCE], measure.K)) < LEAST_RECALL:
            continue
        recall_s = PROMISE_RECALL_S if "promise" in setting else measure.RECALL_S
        point = measure.measure(data, search, budget, recall_s=recall_s)
        yield {"setting": setting, **point}
        if chosen and point["recall"] >= RECALL_TO_STOP:
            return


def measure_peer(peer, data, budget):
    """What is kept of a data set and peer: {"points": [...]}, {"rows": [...]}, or {"left_out": why}."""
    try:
        about = {name: getattr(peer, name) for name in ("title", "family", "package")}
        kept = {"version": peer.version(), **about, "date": time.strftime("%Y-%m-%d %H:%M"), "points": []}
    except ImportError as missing:
        return {"left_out": f"{missing.name or missing} is not installed ({peer.package})"}
    if hasattr(peer, "rows"):
        return {**kept, "rows": peer.rows(data, budget)}
    variants = peer.variants(data)
    if not variants:
        return {"left_out": f"too slow for {len(data.base)} x {data.n_dims} (--graphs builds graphs)"}
    for variant in variants:
        index = peer.build(data, **variant)
        sizes = {"bytes_per_item": index.bytes, "vector_bytes_per_item": index.vector_bytes}
        about = {name: size / len(data.base) for name, size in sizes.items()}
        for point in measure_index(data, index, budget):
            kept["points"].append({"variant": variant, "build_s": index.build_s, **about, **point})
    return kept


def measure_one(name, peer_name, given):
    """In a process of its own: {"data": ..., "peer": ...}, or {"no_data": why}. given: the arguments that it needs."""
    peer = BY_NAME[peer_name]
    if isinstance(peer, graphs.Graph):
        peer.cache, peer.large = given["cache"], given["graphs"]
    try:
        data = datasets.load(name, given["cache"], given["quick"], given["encoder"])
    except Missing as missing:
        return {"no_data": str(missing)}
    about = {"title": data.title, "n_dims": data.n_dims, "n_items": len(data.base), "n_queries": len(data.queries)}
    return {"data": about, "peer": measure_peer(peer, data, given["budget"])}


def run_one(arguments, results, name, peer_name):
    """The results of a peer on a data set, which is added to results; raises Missing where the data is not there."""
    given = {key: getattr(arguments, key) for key in ("cache", "graphs", "quick", "encoder", "budget")}
    result = in_process(__file__, "measure_one", name, peer_name, given)
    if "no_data" in result:
        raise Missing(result["no_data"])
    if "failed" in result:
        return {"left_out": f"failed: {result['failed']}"}
    results["data"][name] = result["data"]
    return result["peer"]


def summary(kept):
    return kept.get("left_out") or f"{len(kept.get('rows', kept['points']))} settings"


def run(arguments):
    kept = Kept(arguments.out, {"format": FORMAT, "machine": {}, "data": {}, "results": {}}, arguments.again)
    results = kept.results
    results["machine"] = {"cache_bytes": cache_bytes()}
    for name in arguments.data:
        among = results["results"].setdefault(name, {})
        try:
            for peer in arguments.peers:
                kept.measure(among, peer, partial(run_one, arguments, results, name, peer), summary, f"{name} {peer}")
        except Missing as missing:
            print(f"{name}: left out: {missing}", file=sys.stderr, flush=True)
    return results


def parse():
    quick = {"help": "fewer and smaller data sets, less time for each timing"}
    out = {"help": "what is measured (default: build/bench/search.json)"}
    cache = {"help": "for data and graphs, 5 GB"}
    parser = parser_of("bench search", __doc__, "again", "docs", "encoder", quick=quick, out=out, cache=cache)
    add, names = parser.add_argument, datasets.NAMES + datasets.LARGE_NAMES
    add("--data", type=names_of(names, "data set"), metavar="NAME,...")
    add("--peers", type=names_of(list(BY_NAME), "peer"), metavar="NAME,...")
    add("--graphs", action="store_true", help="build graphs of a million items too, for tens of minutes")
    add("--cells", action="store_true", help="indexes with cells, clusters and graphs instead of exhaustive searches")
    add("--budget", type=float, metavar="S", help="seconds for a timing (default: 0.6; --quick: 0.15)")
    arguments = parser.parse_args()
    arguments.data = arguments.data or (QUICK_DATA if arguments.quick else datasets.NAMES)
    arguments.reported = [peer.name for peer in (CELLS_PEERS if arguments.cells else PEERS)]
    arguments.peers = arguments.peers or arguments.reported
    arguments.budget = arguments.budget or (QUICK_BUDGET_S if arguments.quick else BUDGET_S)
    kind = "-cells" * arguments.cells + "-quick" * arguments.quick
    arguments.out = arguments.out or f"build/bench/search{kind}.json"
    return arguments


def main():
    arguments = parse()
    need_thresher("bench search")
    results = run(arguments)
    for kept in results["results"].values():
        for name in arguments.reported:
            kept.setdefault(name, {"left_out": "not measured yet"})
    publish(report.text(results, arguments.cells), report.subject(arguments.cells), arguments.docs)


if __name__ == "__main__":
    main()

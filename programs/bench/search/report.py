# SPDX-License-Identifier: Apache-2.0
"""The report of `bench search`."""

from bench.search.pick import fastest, points_of, setting_name
from bench.search.targets import RECALLS, figures_of, rows_of
from bench.shared.common import heading, left_out, page
from bench.shared.results import Figures, Goal, Table

SHORT = 0.005  # what a measured recall may be short by
QUIET = 0.95  # share of a CPU
NOTES = """\
Recall is recall@10 against exact answers in double precision; an item as good as the tenth counts. Times are the best
of several passes, call by call, on one thread; p99 is that of the best pass. Queries are not among the items.
Thresher ran with several values of `--recall`, every other library over a grid of its settings; tables show the fastest
setting that reaches the recall. For cosine, libraries got vectors of length 1 and the better one of inner product and
L2. Refining by exact scores from float32 vectors is part of every code index here. *Bytes per item* are those
of what is scanned or walked, with factors, ids and edges, without the vectors that only refine.

Synthetic, clustered: 1,000 normal centres; an item or a query is one of them at random plus normal noise of the same
variance, scaled to length 1.
"""
CELLS_NOTES = """
Indexes with cells of neighbours (`index build --cells N`), indexes without, clusters and graphs of other libraries, and
Faiss's fastest codes. Thresher is asked for a recall of 0.3 to 0.999, and chooses for each query how many cells it reads;
it usually finds more than was asked for. Clusters and cells are near the root of the number of items, and a quarter of
that. Build times of graphs are seconds of CPU time, those of other peers seconds of wall time.
"""
PEER_UNITS = ["bytes per item", "build, s", "recall@10", "queries/s", "p99, us", "queries/s, batches of 64"]


def subject(cells):
    return "search-cells" if cells else "search"


def rate(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def data_table(results):
    rows = [[name, about["title"], about["n_items"], about["n_dims"], about["n_queries"]]
            for name, about in results["data"].items()]  # fmt: skip
    return Table("data", ["data", "what"], ["items", "dimensions", "queries"], rows)


def peer_rows(points):
    """For each recall and peer its fastest settings for single queries and for batches; the fastest first."""
    for recall in RECALLS:
        rows = []
        for peer in dict.fromkeys(p["peer"] for p in points):
            own = [p for p in points if p["peer"] == peer]
            one, many = fastest(own, recall), fastest(own, recall, "qps_batch")
            if not one:
                continue
            size = f"{one['bytes_per_item']:.0f}" if one["bytes_per_item"] else ""
            same, about = setting_name(many) == setting_name(one), [one["title"], f">= {recall}", one["family"]]
            more = [size, f"{one['build_s']:.3g}", f"{one['recall']:.4f}", rate(one["qps"]), f"{one['p99_us']:,.0f}"]
            rows.append((one["qps"], [*about, setting_name(one), *more, rate(many["qps_batch"]) if same else ""]))
            if not same:
                rows.append((one["qps"], [*about, setting_name(many), *[""] * len(more), rate(many["qps_batch"])]))
        yield from (row for _, row in sorted(rows, key=lambda pair: -pair[0]))


def promise_rows(name, kept):
    for point in points_of(kept):
        if "promise" in point["setting"]:
            promise, measured = point["setting"]["promise"], point["recall"]
            yield [name, setting_name({**point, "setting": {}}).removeprefix("bits "), promise,
                   Goal(f"{measured:.4f}", promise - SHORT), rate(point["qps"])]  # fmt: skip


def scaling_rows(name, kept):
    for row in rows_of(kept):
        if "qps" in row:
            what = f"k = {row['k']:,}" if row["what"] == "k" else f"{row['share']:.2%} of the items allowed, k = 10"
            recall = f"{row['recall']:.4f}" if "recall" in row else ""
            yield [name, what, f"{1e3 / row['qps']:.3f}", f"{1e3 / row['qps_batch']:.3f}", recall]


LAST = {  # the last table: title, keys, units, and what makes a data set's rows
    False: ("large k and filters", ["data", "what"], ["ms per query", "ms per query, batches of 64", "recall"], scaling_rows),
    True: ("promised recall", ["data", "bits", "promised"], ["recall@10", "queries/s"], promise_rows),
}


def conditions(results):
    """Where, when and with what versions it was measured, and how quiet the machine was."""
    measured = [k for peers in results["results"].values() for k in peers.values() if "title" in k]
    dates = sorted(kept["date"] for kept in measured) or [""]
    busy = sum(point["cpu_share"] < QUIET for kept in measured for point in kept["points"])
    found = sorted({f"{kept['package']} {kept['version']}" for kept in measured})
    return f"Measured {dates[0]} to {dates[-1]}. {', '.join(found)}. In {busy} settings others took more than 5 % of the CPU."


def text(results, cells=False):
    """cells: the results are those of search --cells."""
    parts = [*heading(subject(cells), NOTES + CELLS_NOTES * cells, more=conditions(results)), data_table(results)]
    for name in results["results"]:
        parts += [Figures(rows, f"{name}: targets") for rows in [figures_of(results, name, cells)] if rows]
    for name, kept in results["results"].items():
        if (points := points_of(kept)) and name in results["data"]:
            parts.append(Table(name, ["system", "recall", "setting", "what"], PEER_UNITS, peer_rows(points)))
    title, keys, units, rows_by = LAST[cells]
    rows = [row for name, peers in results["results"].items() for row in rows_by(name, peers)]
    parts += [Table(title, keys, units, rows)] if rows else []
    gone = [f"{name}, {peer}: {kept['left_out']}" for name, peers in results["results"].items()
            for peer, kept in peers.items() if "left_out" in kept]  # fmt: skip
    return page(*parts, *left_out(gone))

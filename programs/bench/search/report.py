# SPDX-License-Identifier: Apache-2.0
"""The report of `bench search`: Markdown tables for docs/benchmarks.md, and plots beside it."""

from bench.shared import svg
from bench.shared.common import left_out, publish, table
from bench.search.pick import fastest, front, points_of, setting_name
from bench.search.targets import all_figures, rows_of

RECALLS = (0.95, 0.99)
QUIET = 0.95  # share of a CPU
NOTES = """\
Recall is recall@10 against exact answers in double precision; an item as good as the tenth counts. Times are the best
of several passes, call by call, on one thread; p50 and p99 are those of the best pass. Queries are not among the items.
Thresher ran with several values of `--recall`, every other library over a grid of its settings; tables show the fastest
setting that reaches the recall. For cosine, libraries got vectors of length 1 and the better one of inner product and
L2. Refining by exact scores from float32 vectors is part of every code index here. *Bytes per item* are those
of what is scanned or walked, with factors, ids and edges, without the vectors that only refine.

Synthetic, clustered: 1,000 normal centres; an item or a query is one of them at random plus normal noise of the same
variance, scaled to length 1.

Graphs and clusters read a small part of the data. At moderate recall they are faster on large collections, as the
curves show. Build times of graphs are seconds of CPU time, those of other peers seconds of wall time."""

CELLS_NOTES = """\
Indexes with cells of neighbours (`index build --cells N`), indexes without, clusters and graphs of other libraries, and
Faiss's fastest codes, each at its fastest setting that reaches the recall. Thresher is asked for a recall of 0.3 to
0.999, and chooses for each query how many cells it reads; it usually finds more than was asked for. Of the others, the
settings are those of a grid, the same for every query. Clusters and cells are near the root of the number of items, and
a quarter of that. Conditions, recall and the synthetic data are those of `./run bench search`.
"""


def rate(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def data_table(results):
    rows = [[name, about["title"], f"{about['n_items']:,}", about["n_dims"], f"{about['n_queries']:,}"]
            for name, about in results["data"].items()]  # fmt: skip
    return table(["data", "what", "items", "dimensions", "queries"], rows)


def heading(name, about):
    return f"{name}: {about['n_items']:,} x {about['n_dims']}, {about['title']}"


def figure_rows(results, cells):
    met = {True: "yes", False: "no", None: ""}
    return [[f["data"], f["figure"], f["target"], f"{f['measured']:.4g}", met[f["met"]], f["against"]]
            for f in all_figures(results, cells)]  # fmt: skip


def peer_rows(points, recall):
    """One row per peer: its fastest settings for single queries and for batches at this recall; the fastest first."""
    rows = []
    for peer in dict.fromkeys(p["peer"] for p in points):
        own = [p for p in points if p["peer"] == peer]
        one, many = fastest(own, recall), fastest(own, recall, "qps_batch")
        if one:
            times = [rate(one["qps"]), f"{one['p50_us']:,.0f}", f"{one['p99_us']:,.0f}", rate(many["qps_batch"])]
            other = "" if setting_name(many) == setting_name(one) else f" / {setting_name(many)}"
            size = f"{one['bytes_per_item']:.0f}" if one["bytes_per_item"] else "-"
            row = [one["title"], one["family"], setting_name(one) + other, size, f"{one['build_s']:.3g}"]
            rows.append((one["qps"], [*row, f"{one['recall']:.4f}", *times]))
    return [row for _, row in sorted(rows, key=lambda pair: -pair[0])]


def promise_rows(name, kept):
    for point in points_of(kept):
        if point["peer"] in ("thresher", "thresher-cells"):
            promise, measured = point["setting"]["promise"], point["recall"]
            short = max(0.0, promise - measured)
            cells = point["variant"].get("cells")
            bits = f"{point['variant']['bits']}" + (f", cells {cells}" if cells else "")
            yield [name, bits, promise, f"{measured:.4f}", f"{short:.4f}", rate(point["qps"])]


def scaling_rows(name, kept):
    for row in rows_of(kept):
        if "qps" not in row:
            continue
        what = f"k = {row['k']:,}" if row["what"] == "k" else f"{row['share']:.2%} of the items allowed, k = 10"
        recall = f"{row['recall']:.4f}" if "recall" in row else ""
        yield [name, what, f"{1e3 / row['qps']:.3f}", f"{1e3 / row['qps_batch']:.3f}", recall]


def without(results):
    return left_out(
        f"{name}, {peer}: {kept['left_out']}"
        for name, peers in results["results"].items()
        for peer, kept in peers.items()
        if "left_out" in kept
    )


def conditions(results):
    """Where, when and with what versions it was measured, and how quiet the machine was."""
    measured = [k for peers in results["results"].values() for k in peers.values() if "title" in k]
    if not measured:
        return ""
    machine, dates = results["machine"], sorted(kept["date"] for kept in measured)
    shares = sorted(p["cpu_share"] for kept in measured for p in kept["points"]) or [1.0]
    found = sorted({f"{kept['package']} {kept['version']}" for kept in measured})
    words = (
        f"{machine['cpu']}, {machine['n_cpus']} CPUs, one thread, Python {machine['python']}; measured {dates[0]} to "
        f"{dates[-1]}. {', '.join(found)}."
    )
    busy = sum(share < QUIET for share in shares)
    if busy > 0:
        words += f" In {busy} of {len(shares)} settings other processes took more than {1 - QUIET:.0%} of the time."
    return words + "\n"


def text(results, plots=False, cells=False):
    """cells: the results are of peers with cells only."""
    stem = stem_of(cells)
    parts = [f"## ./run bench search{' --cells' * cells}\n", conditions(results)]
    parts += [CELLS_NOTES if cells else NOTES + "\n", data_table(results), "### Figures and targets\n"]
    parts.append(table(["data", "figure", "target", "measured", "met", "of"], figure_rows(results, cells)))
    if plots:
        parts.append(f"![build times]({stem}-build.svg)\n")
    columns = ["peer", "reads", "setting (one query / batches)", "bytes per item", "build, s", "recall", "queries/s"]
    columns += ["p50, us", "p99, us", "queries/s in batches of 64"]
    for name, kept in results["results"].items():
        points = points_of(kept)
        about = results["data"].get(name)
        if not points or not about:
            continue
        parts.append(f"### {heading(name, about)}\n")
        if plots:
            parts.append(f"![recall and speed]({stem}-{name}.svg)\n")
        for recall in RECALLS:
            parts += [f"Fastest at recall@10 of {recall} and more:\n", table(columns, peer_rows(points, recall))]
    for title, columns, rows_by in (
        ("Recall promised and recall measured on queries that calibration did not see",
         ["data", "bits", "promised", "measured", "short by", "queries/s"], promise_rows),
        ("Large k, and filters", ["data", "what", "ms per query", "ms per query in batches of 64", "recall"], scaling_rows),
    ):  # fmt: skip
        rows = [row for name, peers in results["results"].items() for row in rows_by(name, peers)]
        parts += [f"### {title}\n", table(columns, rows)] if rows else []
    return "\n".join(part for part in [*parts, *without(results)] if part)


def stem_of(cells):
    return "cells" if cells else "search"


def plots(results, stem="search"):
    """{file name: SVG}"""
    out, groups = {}, []
    for name, kept in results["results"].items():
        points = points_of(kept)
        if not points or name not in results["data"]:
            continue
        own = {}
        for point in points:
            own.setdefault(point["title"], []).append(point)
        speeds = ("qps", "queries per second, one at a time"), ("qps_batch", "queries per second, in batches of 64")
        panels = [(words, [(title, front(some, speed)) for title, some in own.items()]) for speed, words in speeds]
        title = heading(name, results["data"][name])
        out[f"{stem}-{name}.svg"] = svg.curves(f"{title}; one thread", panels)
        best = {t: fastest(some, 0.99) for t, some in own.items()}
        rows = [(t, p["build_s"]) for t, p in best.items() if p and p["build_s"] > 0 and p["family"] != "exact"]
        if rows:
            groups.append((title, sorted(rows, key=lambda row: row[1])))
    if groups:
        title = "Build time of each peer's fastest setting at recall@10 of 0.99, one thread"
        out[f"{stem}-build.svg"] = svg.bars(title, groups)
    return out


def write_docs(results, cells=False):
    publish(text(results, plots=True, cells=cells), f"bench search{' --cells' * cells}", True)
    drawn = plots(results, stem_of(cells))
    for name, picture in drawn.items():
        svg.save(f"docs/{name}", picture)
    print(f"Written: {', '.join(f'docs/{name}' for name in drawn)}")

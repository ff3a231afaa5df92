# SPDX-License-Identifier: Apache-2.0
"""The performance targets of `bench search`: rows of results.Figures, computed from one results file."""

from bench.search.pick import fastest, points_of, setting_name
from bench.shared.common import figure

RECALLS = (0.95, 0.99)
SPEEDS = {"qps": "one query", "qps_batch": "batches of 64"}
OVER_FLAT = {"synthetic200": (15, 5), "books100d": (8, 5)}  # one query, batches of 64; at recall .99
OVER_CODES = (1.5, 1.2)
CELLS_OVER_ONE = {"synthetic96x10": 8}  # times the speed of an index without cells, one query, recall .95
OVER_PEERS = {  # by peer: the least ratio of speeds at each recall
    "rabitqlib-ivf": (1.5, 1.5),
    "hnswlib": (1.0, 1.3),
    "rabitqlib-graph": (1.0, 1.3),
    "faiss-pq": (1.3, 1.3),
}
HUGE_OVER_PEERS = {"rabitqlib-ivf": (1.3, None), "faiss-pq": (1.3, 1.3)}
DEFAULT_BITS = 3
K_TARGETS = {1000: 2, 10_000: 5}


def of(points, *peers):
    return [p for p in points if p["peer"] in peers]


def over(ours, theirs, recall, speed, words, least, least_bytes=0):
    """The speed of our fastest point over that of theirs; none where either is missing or there is no target."""
    best = fastest(ours, recall, speed)
    rival = best and fastest(theirs, recall, speed, least_bytes and best["bytes_per_item"])
    if rival and least is not None:
        against = f"{setting_name(best)} and {setting_name(rival)}"
        words = f"{SPEEDS[speed]}, recall {recall}: {words.format(rival['title'])}"
        yield figure(words, best[speed] / rival[speed], least, of=against)


def exhaustive(data, points):
    ours, flat = of(points, "thresher"), of(points, "faiss-flat")
    codes = [p for p in points if p["family"] == "codes" and p["peer"] != "thresher"]
    for i, speed in enumerate(SPEEDS):
        yield from over(ours, flat, 0.99, speed, "times the speed of {}", OVER_FLAT.get(data, (None, None))[i])
        for recall in RECALLS:
            words = "times the fastest exhaustive code index of equal or larger size"
            yield from over(ours, codes, recall, speed, words, OVER_CODES[i], least_bytes=1)
    short = [(p["setting"]["promise"] - p["recall"], setting_name(p)) for p in ours]
    if short:
        most, setting = max(short)
        yield figure("largest shortfall of the measured recall", most, most=0.005, of=setting)


def scaling(rows, n_dims):
    """Of the rows of thresher_peer.ThresherRows."""
    first = next((row for row in rows if row["what"] == "k"), None)
    for row in rows:
        if row["what"] == "k" and row["k"] in K_TARGETS:
            words = f"one query, k = {row['k']}: time over that of k = 10"
            yield figure(words, first["qps"] / row["qps"], most=K_TARGETS[row["k"]], of="default recall")
        if row["what"] == "filter" and row["share"] == 0.01:
            words = "one query, 0.01 of the items allowed: time over that without a filter"
            yield figure(words, first["qps"] / row["qps"], most=0.3, of=f"recall {row['recall']:.4f}")
        if row["what"] == "codes only":
            words = "size of an index of codes only, relative to float32 vectors"
            about = f"{DEFAULT_BITS} bits, {row['bytes_per_item']:.1f} bytes per item"
            yield figure(words, row["bytes_per_item"] / (4 * n_dims), most=1 / 8, of=about)


def with_cells(data, points, n_items, cache_bytes):
    own, cells, plain = of(points, "thresher", "thresher-cells"), of(points, "thresher-cells"), of(points, "thresher")
    peers = HUGE_OVER_PEERS if data in CELLS_OVER_ONE else OVER_PEERS
    for i, recall in enumerate(RECALLS):
        for speed in SPEEDS:
            for peer, least in peers.items():
                yield from over(own, of(points, peer), recall, speed, "times the speed of {}", least[i])
        if best := fastest(own, recall):
            # Codes that exceed the last level cache are read from memory by every single query, and once by a batch.
            exceed = 0 < cache_bytes < best["bytes_per_item"] * n_items
            about = setting_name(best) + "; codes exceed the last level cache" * exceed
            words = f"recall {recall}: speed of batches of 64 over that of single queries"
            yield figure(words, best["qps_batch"] / best["qps"], 2 if exceed else 1, of=about)
    yield from over(cells, plain, 0.95, "qps", "with cells, times the speed without", CELLS_OVER_ONE.get(data))
    yield from cells_build(*([p for p in some if p["variant"]["bits"] == DEFAULT_BITS] for some in (cells, plain)),
                           of(points, "hnswlib"))  # fmt: skip


def cells_build(cells, plain, graph):
    if not cells:
        return
    most = max(cells, key=lambda p: p["variant"]["cells"])
    for others, words, bound in ((plain, "without", 3), (graph, "of HNSW (M 32)", 0.03)):
        if others:
            about = f"{most['build_s']:.1f} s with {most['variant']['cells']} cells, {others[0]['build_s']:.0f} s {words}"
            name = f"build time with cells over that {words}"
            yield figure(name, most["build_s"] / others[0]["build_s"], most=bound, of=about)


def rows_of(kept):
    return kept.get("thresher-rows", {}).get("rows", [])


def figures_of(results, data, cells):
    """Rows of a data set."""
    kept, about = results["results"][data], results["data"].get(data, {})
    points = points_of(kept)
    if cells:
        return list(with_cells(data, points, about.get("n_items", 0), results["machine"].get("cache_bytes", 0)))
    return [*exhaustive(data, points), *scaling(rows_of(kept), about.get("n_dims", 0))]

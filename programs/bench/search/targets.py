# SPDX-License-Identifier: Apache-2.0
"""The performance targets: each figure is computed from one results file, with what it is compared with.

A figure is a dict: data, figure, bound (least and most, one of them None, or both), measured, met (None without a
bound), against.
"""

from bench.search.pick import fastest, points_of, setting_name

OVER_FLAT = {"synthetic200": (15, 5), "books100d": (8, 5)}  # one query, batches of 64
OVER_CODES = {"qps": 1.5, "qps_batch": 1.2}
CELLS_OVER_ONE = {"synthetic96x10": 8}  # times the speed of an index without cells, one query, recall .95
OVER_PEERS = {  # by peer and recall: the least ratio of speeds
    "rabitqlib-ivf": {0.95: 1.5, 0.99: 1.5},
    "hnswlib": {0.95: 1.0, 0.99: 1.3},
    "rabitqlib-graph": {0.95: 1.0, 0.99: 1.3},
    "faiss-pq": {0.95: 1.3, 0.99: 1.3},
}
HUGE_OVER_PEERS = {"rabitqlib-ivf": {0.95: 1.3}, "faiss-pq": {0.95: 1.3, 0.99: 1.3}}
SPEEDS = {"qps": "one query", "qps_batch": "batches of 64"}
DEFAULT_BITS = 3
K_TARGETS = {1000: 2, 10_000: 5}


def figure(data, words, measured, against, least=None, most=None):
    met = None if least is None and most is None else (measured >= least if least is not None else measured <= most)
    bound = {"least": least, "most": most}
    return {"data": data, "figure": words, "bound": bound, "measured": measured, "met": met, "against": against}


def over_flat(data, kept, points):
    flat = fastest([p for p in points if p["peer"] == "faiss-flat"], 0)
    ours = [p for p in points if p["peer"] == "thresher"]
    for i, (speed, words) in enumerate(SPEEDS.items()):
        best = fastest(ours, 0.99, speed)
        if flat and best:
            least = OVER_FLAT[data][i] if data in OVER_FLAT else None
            name = f"{words}, recall 0.99: times the speed of Faiss IndexFlat"
            yield figure(data, name, best[speed] / flat[speed], f"{setting_name(best)}", least)


def over_codes(data, kept, points):
    ours = [p for p in points if p["peer"] == "thresher"]
    codes = [p for p in points if p["family"] == "codes" and p["peer"] != "thresher"]
    for recall in (0.95, 0.99):
        for speed, words in SPEEDS.items():
            best = fastest(ours, recall, speed)
            for size, least in (("equal or larger", OVER_CODES[speed]), ("any", None)):
                rival = best and fastest(codes, recall, speed, best["bytes_per_item"] if least else 0)
                if rival:
                    name = f"{words}, recall {recall}: times the fastest exhaustive code index of {size} size"
                    against = f"{describe(best)} and {rival['title']}: {describe(rival)}"
                    yield figure(data, name, best[speed] / rival[speed], against, least)


def describe(point):
    return f"{setting_name(point)} ({point['bytes_per_item']:.0f} bytes per item)"


def rows_of(kept):
    return kept.get("thresher-rows", {}).get("rows", [])


def scaling(data, kept, points):
    rows = rows_of(kept)
    first = next((row for row in rows if row["what"] == "k"), None)
    for row in rows:
        if row["what"] == "k" and row["k"] in K_TARGETS:
            name = f"one query, k = {row['k']}: time over that of k = 10"
            yield figure(data, name, first["qps"] / row["qps"], "default recall", most=K_TARGETS[row["k"]])
        if row["what"] == "planes":
            name = "bytes read with nested planes over all plane bytes, recall 0.99"
            yield figure(data, name, row["share"], f"{DEFAULT_BITS} bits", most=0.6)
        if row["what"] == "filter":
            most = 0.3 if row["share"] == 0.01 else None
            name = f"one query, {row['share']:.4g} of the items allowed: time over that without a filter"
            yield figure(data, name, first["qps"] / row["qps"], f"recall {row['recall']:.4f}", most=most)


def build(data, kept, points):
    """Of the index built with the default number of bits."""
    ours = [p for p in points if p["peer"] == "thresher" and p["variant"]["bits"] == DEFAULT_BITS]
    best = fastest(ours, 0.99)
    graph = fastest([p for p in points if p["peer"] == "hnswlib"], 0.99)
    if best and graph:
        against = f"{best['build_s']:.2f} s and hnswlib's {graph['build_s']:.0f} s"
        yield figure(data, "build time over HNSW's (M 32)", best["build_s"] / graph["build_s"], against, most=1 / 50)
    plain = [row["build_s"] for row in rows_of(kept) if row["what"] == "build"]
    if plain and graph:
        name, against = "build time over HNSW's (M 32), not calibrated", f"{plain[0]:.2f} s and {graph['build_s']:.0f} s"
        yield figure(data, name, plain[0] / graph["build_s"], against)
    for row in rows_of(kept):
        if ours and row["what"] == "codes only":
            share = row["bytes_per_item"] / ours[0]["float_bytes_per_item"]
            against = f"{DEFAULT_BITS} bits, {row['bytes_per_item']:.1f} bytes per item"
            yield figure(data, "size of an index of codes only, relative to float32 vectors", share, against, most=1 / 8)


def promises(data, kept, points):
    short = [(p["setting"]["promise"] - p["recall"], p) for p in points if p["peer"] == "thresher"]
    if short:
        most, point = max(short, key=lambda pair: pair[0])
        yield figure(data, "largest shortfall of the measured recall", most, setting_name(point), most=0.005)


def own_points(points):
    """The points of Thresher, with cells and without."""
    return [p for p in points if p["peer"] in ("thresher", "thresher-cells")]


def over_peers(data, kept, points):
    """The fastest setting of Thresher, with cells or without, over the fastest of each peer."""
    huge = data in CELLS_OVER_ONE
    for peer, targets in HUGE_OVER_PEERS.items() if huge else OVER_PEERS.items():
        for recall in (0.95, 0.99):
            for speed, words in SPEEDS.items():
                best = fastest(own_points(points), recall, speed)
                rival = fastest([p for p in points if p["peer"] == peer], recall, speed)
                if best and rival:
                    name = f"{words}, recall {recall}: times the speed of {rival['title']}"
                    against = f"{setting_name(best)} and {setting_name(rival)}"
                    yield figure(data, name, best[speed] / rival[speed], against, targets.get(recall))


def over_one_cell(data, kept, points):
    for recall in (0.95, 0.99):
        for speed, words in SPEEDS.items():
            best = fastest([p for p in points if p["peer"] == "thresher-cells"], recall, speed)
            plain = fastest([p for p in points if p["peer"] == "thresher"], recall, speed)
            if best and plain:
                name = f"{words}, recall {recall}: with cells, times the speed without"
                least = CELLS_OVER_ONE.get(data) if (recall, speed) == (0.95, "qps") else None
                against = f"{setting_name(best)} and {setting_name(plain)}"
                yield figure(data, name, best[speed] / plain[speed], against, least)


def batches(data, kept, points):
    """Codes that exceed the last level cache are read from memory by every single query, and once by a batch."""
    for recall in (0.95, 0.99):
        best = fastest(own_points(points), recall)
        if best:
            exceed = 0 < best["cache_bytes"] < best["bytes_per_item"] * best["n_items"]
            name = f"recall {recall}: speed of batches of 64 over that of single queries"
            against = setting_name(best) + "; codes exceed the last level cache" * exceed
            yield figure(data, name, best["qps_batch"] / best["qps"], against, 2 if exceed else 1)


def cells_build(data, kept, points):
    cells, plain = (
        [p for p in points if p["peer"] == peer and p["variant"]["bits"] == DEFAULT_BITS]
        for peer in ("thresher-cells", "thresher")
    )
    graph = next((p for p in points if p["peer"] == "hnswlib"), None)
    if not cells:
        return
    most = max(cells, key=lambda p: p["variant"]["cells"])
    ours = f"{most['build_s']:.1f} s with {most['variant']['cells']} cells"
    if plain:
        against = f"{ours}, {plain[0]['build_s']:.1f} s without"
        name = "build time with cells over that without"
        yield figure(data, name, most["build_s"] / plain[0]["build_s"], against, most=3)
    if graph:
        against = f"{ours}, {graph['build_s']:.0f} s by hnswlib"
        name = "build time with cells over that of HNSW (M 32)"
        yield figure(data, name, most["build_s"] / graph["build_s"], against, most=0.03)


def all_figures(results, cells=False):
    cells_sections = (over_peers, over_one_cell, batches, cells_build)
    cache_bytes = results["machine"].get("cache_bytes", 0)
    for section in cells_sections if cells else (over_flat, over_codes, scaling, build, promises):
        for data, kept in results["results"].items():
            about = results["data"].get(data, {})
            sizes = {"float_bytes_per_item": 4 * about.get("n_dims", 0), "n_items": about.get("n_items", 0)}
            sizes["cache_bytes"] = cache_bytes
            yield from section(data, kept, [{**p, **sizes} for p in points_of(kept)])

# SPDX-License-Identifier: Apache-2.0
"""The performance targets: each figure is computed from one results file, with what it is compared with.

A figure is a dict: data, figure, target (a number with "at least" or "at most", or None), measured, against.
"""

from bench.search.pick import fastest, points_of, setting_name

OVER_FLAT = {"synthetic200": (15, 5), "books100d": (8, 5)}  # one query, batches of 64
OVER_CODES = {"qps": 1.5, "qps_batch": 1.2}
CELLS_OVER_ONE = {"synthetic96x10": 8}  # times the speed of an index without cells, one query, recall .95
CELLS_OVER_CLUSTERS, HUGE_OVER_CLUSTERS = 1.5, 1.3
SPEEDS = {"qps": "one query", "qps_batch": "batches of 64"}
DEFAULT_BITS = 3
K_TARGETS = {1000: 2, 10_000: 5}


def figure(data, words, measured, against, least=None, most=None):
    met = None if least is None and most is None else (measured >= least if least is not None else measured <= most)
    target = f">= {least:g}" if least is not None else f"<= {most:.3g}" if most is not None else "-"
    return {"data": data, "figure": words, "target": target, "measured": measured, "met": met, "against": against}


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
        name, against = "the same, not calibrated for a recall", f"{plain[0]:.2f} s and {graph['build_s']:.0f} s"
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


def over_clusters(data, kept, points):
    cells = [p for p in points if p["peer"] == "thresher-cells"]
    huge = data in CELLS_OVER_ONE
    for recall in (0.95, 0.99):
        for speed, words in SPEEDS.items():
            best = fastest(cells, recall, speed)
            judged = recall == 0.95 or not huge
            for peer, name, least in (
                ("rabitqlib-ivf", "the clusters of RaBitQ-Library", HUGE_OVER_CLUSTERS if huge else CELLS_OVER_CLUSTERS),
                ("thresher", "an index without cells", CELLS_OVER_ONE.get(data) if speed == "qps" else None),
            ):
                rival = fastest([p for p in points if p["peer"] == peer], recall, speed)
                if best and rival:
                    words_of = f"{words}, recall {recall}: times the speed of {name}"
                    against = f"{setting_name(best)} and {setting_name(rival)}"
                    yield figure(data, words_of, best[speed] / rival[speed], against, least if judged else None)


def cells_build(data, kept, points):
    ours = {peer: [p for p in points if p["peer"] == peer and p["variant"]["bits"] == 3] for peer in ("thresher", "thresher-cells")}
    if all(ours.values()):
        cells = max(ours["thresher-cells"], key=lambda p: p["variant"]["cells"])
        plain = ours["thresher"][0]
        against = f"{cells['build_s']:.1f} s with {cells['variant']['cells']} cells, {plain['build_s']:.1f} s without"
        yield figure(data, "build time over that without cells", cells["build_s"] / plain["build_s"], against, most=3)


def all_figures(results, cells=False):
    for section in (over_clusters, cells_build) if cells else (over_flat, over_codes, scaling, build, promises):
        for data, kept in results["results"].items():
            points = points_of(kept)
            n_dims = results["data"].get(data, {}).get("n_dims", 0)
            yield from section(data, kept, [{**p, "float_bytes_per_item": 4 * n_dims} for p in points])

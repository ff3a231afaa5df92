# SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/results.md. Each function takes {subject: rows of results/} and returns an SVG."""

from bench.search.pick import front
from bench.shared import svg

DATA = "books100d"
LEVELS = ("1e-2", "1e-4", "1e-8")  # of rank-convergence


def values(rows, unit, **wanted):
    """[(row, value)] of a unit, of the rows whose columns begin with what is wanted."""
    own = (
        row for row in rows if row["unit"] == unit and all(row[name].startswith(word) for name, word in wanted.items())
    )
    return [(row, float(row["value"])) for row in own]


def pairs(rows, one, other, **wanted):
    """{system: [(value of one unit, value of the other)]} of figures with the same case and setting."""
    found, out = {}, {}
    for unit in (one, other):
        for row, value in values(rows, unit, **wanted):
            found.setdefault((row["system"], row["case"], row["setting"]), {})[unit] = value
    for (system, *_), point in found.items():
        if len(point) == 2:
            out.setdefault(system, []).append((point[one], point[other]))
    return {system: sorted(points) for system, points in out.items()}


def number_after(setting, word):
    """Of "bits 3; promised 0.9" after "promised": 0.9."""
    return float(setting.partition(f"{word} ")[2].split(";")[0].split(",")[0])


def promised(figures, data, index):
    """The front of recall and speed, over all promises, of an index of these bits and cells."""
    found = pairs(figures["search-cells"], "recall@10", "queries/s", case=f"{data}: promised recall", setting=f"{index};")
    points = [{"recall": recall, "qps": rate} for own in found.values() for recall, rate in own]
    return front(points, "qps")


def recall_and_speed(figures, data, *subjects):
    """Of a system that two subjects measure the first one's figures."""
    series = {}
    for subject in subjects:
        found = pairs(figures[subject], "recall@10", "queries/s", case=data, setting="recall >=")
        series = {**found, **series}
    series["Thresher, any promise"] = promised(figures, data, "bits 2")
    series["Thresher, cells, any promise"] = promised(figures, data, "bits 2, cells 1024")
    words = "queries per second, one at a time, fastest settings at recall .95 and .99"
    return svg.curves(f"{data}; one thread", [(words, [(name, points) for name, points in series.items() if points])])


def search(figures):
    return recall_and_speed(figures, DATA, "search", "search-cells")


def cells(figures):
    return recall_and_speed(figures, "synthetic200", "search-cells")


def scan(figures):
    series = [(f"{bits} bits per dimension", promised(figures, DATA, f"bits {bits}")) for bits in (1, 2, 3, 4)]
    panels = [("queries per second, one at a time, any promise", series)]
    return svg.curves(f"{DATA}: codes of 1 to 4 bits, refined; one thread", panels)


def promise(figures):
    series = {}
    for row, value in values(figures["promise"], "lowest recall", case=f"{DATA}, cosine"):
        series.setdefault(row["case"].split(", ", 2)[2], {}).setdefault(
            number_after(row["setting"], "promised"), []
        ).append(value)
    drawn = [(name, sorted((asked, min(found)) for asked, found in own.items())) for name, own in series.items()]
    drawn.append(("what is promised", sorted({(asked, asked) for _, points in drawn for asked, _ in points})))
    title, y_title = f"{DATA}: the lowest recall of all kinds of queries", "recall measured"
    axes = (
        svg.Axis("recall promised", (0.89, 0.92, 0.95, 0.98, 1)),
        svg.Axis("", (0.88, 0.9, 0.92, 0.94, 0.96, 0.98, 1)),
    )
    return svg.picture(title, [(y_title, drawn, *axes)])


def cold(figures):
    groups = {}
    for unit, words in (("p50, ms", "half in memory"), ("p50 in memory, ms", "all in memory")):
        for row, ms in values(figures["cold"], unit):
            index, _, recall = row["setting"].partition("; ")
            groups.setdefault(index, []).append((f"{recall.replace(' asked', '')}, {words}", ms))
    return svg.bars("Time of a query, median; 1,000,000 x 96", list(groups.items()), "ms")


def live(figures):
    case = "the same turnover, 10,000 items"
    groups = {}
    for unit in ("queries/s", "seconds"):
        for row, value in values(figures["live"], unit, case=case, setting="after 10 turnovers"):
            name = f"{unit} {'after' if unit == 'queries/s' else 'of'} 10 turnovers"
            groups.setdefault(name, []).append((row["system"].split(",")[0][:32], value))
    return svg.bars("10,000 items that all change ten times", list(groups.items()), "")


def codes(figures):
    points = pairs(figures["tower-vectors"], "bytes per item", "recall@10", case=DATA, setting="bytes")
    return svg.lines(f"{DATA}: recall of codes, not refined", "bytes per item", "recall@10", list(points.items()))


def hits(figures):
    groups = {}
    for row, ms in values(figures["hits"], "ms per query", case="one query"):
        groups.setdefault(f"{row['setting'].partition(' ')[2]} features per query", []).append((row["system"], ms))
    ordered = [(name, sorted(rows, key=lambda pair: pair[1])) for name, rows in groups.items()]
    return svg.bars("Time of a query over 5,000,000 items", ordered, "ms")


def rank(figures):
    series = {}
    for level in LEVELS:
        for row, seconds in values(figures["rank-convergence"], f"s to {level}", case="MQ2007: seconds"):
            series.setdefault(row["system"], []).append((seconds, float(level)))
    words = "MQ2007: the objective above its minimum", "seconds", "(objective - minimum) / minimum"
    return svg.logarithmic(*words, list(series.items()))


def head(figures):
    rows = [(row["system"], ms) for row, ms in values(figures["head-peers"], "ms", case="42,000 words")]
    rows.sort(key=lambda pair: pair[1])
    return svg.bars("The best 12 of 42,000 words for 12 states", [("512 dimensions", rows)], "ms")


def translation(figures):
    points, series = {}, {}
    for unit in ("speed-up", "BLEU"):
        for row, value in values(figures["head-translation"], unit, case="large"):
            if row["setting"].endswith("beam 12"):
                points.setdefault((row["system"], row["setting"].partition("; ")[0]), {})[unit] = value
    for (system, setting), point in points.items():
        first, _, other = setting.partition(", ")
        name, label = (f"{system}, {first}", other) if other else (system, "" if system == "full" else first)
        series.setdefault(name, []).append((point["speed-up"], point["BLEU"], label))
    words = "BLEU against speed, a beam of 12", "speed, as a multiple of the full head's", "BLEU"
    return svg.lines(*words, list(series.items()))


def tower(figures):
    groups = [
        ("pairs/s", figures["tower"], "examples/s", "debian: training"),
        ("requests/s", figures["ads-peers"], "requests/s", "Beauty"),
    ]
    drawn = []
    for words, rows, unit, case in groups:
        best = {}
        for row, value in values(rows, unit, case=case):
            name = row["system"].split(":")[0]
            best[name] = max(value, best.get(name, 0))
        drawn.append((f"{case.split(':')[0]}, {words}", list(best.items())))
    return svg.bars("Training on one thread, beside the fastest way in PyTorch", drawn, "per second")


def kernels(figures):
    groups = {}
    for kernel, shape in (
        ("dot_f32", "1000 rows"),
        ("distance_table", "200 d"),
        ("distance_tile", "200 d, 3 x 4 bits, 64"),
        ("matmul", "1024x288x64"),
    ):
        for row, ns in values(figures["kernels"], "ns/item", setting=shape):
            if row["case"] == kernel:
                groups.setdefault(f"{kernel}, {row['setting']}", []).append((row["system"], ns))
    return svg.bars("Four kernels by the level of the CPU", list(groups.items()), "ns per item")

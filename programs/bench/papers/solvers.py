# SPDX-License-Identifier: Apache-2.0
"""Rows of the RankSVM paper: solving, and the order of pairs."""

from functools import partial

from bench.papers import verdict
from bench.papers.verdict import Figure, Judged, Missing, gain, most, over

row = partial(verdict.row, "RankSVM")
DISTANCES = ("s to 1e-2", "s to 1e-4", "s to 1e-8")


@row("Table 1")
def table_1(results, paper):
    rows = results.rows("rank-convergence", case=lambda case: case.endswith(": examples"), unit="rows")
    if not rows:
        raise Missing("results/rank-convergence.csv: examples")
    sizes = ", ".join(f"{row['case'].split(':')[0]} {int(row['value']):,} ({row['setting']})" for row in rows)
    return Judged({}, note=sizes, verdict=verdict.EMPTY)


@row("Table 2")
def table_2(results, paper):
    def seconds(data, system):
        return results.get("rank", case=f"{data}: the classic way", system=system, unit="solve, s")

    ratios = {data: over(seconds(data, "classic"), seconds(data, "Thresher")) for data in ("MQ2007-list", "MSLR-WEB30K")}
    return {data: [gain("OST's time over ours", ratio, paper["numbers"][data])] for data, ratio in ratios.items()}


@row("Table 3")
def table_3(results, paper):
    ours, classic = (
        results.get("rank-accuracy", case="MQ2007", system=f"linear RankSVM, {name}", unit="pairs in order, %")
        for name in ("Thresher", "all pairs, LIBLINEAR")
    )
    apart, numbers = Figure(round(abs(ours.value - classic.value), 2), 0, ours.row), paper["numbers"]
    published = round(abs(numbers["new"] - numbers["classic"]), 2)
    claim = most("accuracies apart", apart, published, published, "% of pairs")
    return Judged({"MQ2007": [claim]}, note=f"{ours.value:.2f} %, by LIBLINEAR {classic.value:.2f} %")


@row("Figure 1")
def figure_1(results, paper):
    """The trust region, as the paper's. On the set where the paper's way is later, ours has to be, too."""
    out = {}
    cases = [row["case"] for row in results.rows("rank-convergence", case=lambda case: case.endswith(": seconds"))]
    if not cases:
        raise Missing("results/rank-convergence.csv: seconds")
    for case in dict.fromkeys(cases):
        data = case.removesuffix(": seconds")
        later, words = data in paper["later"], "ours over OST" if data in paper["later"] else "OST over ours"

        def seconds(way, unit, case=case):
            return results.get("rank-convergence", case=case, system=way, unit=unit)

        both = [(unit, (seconds("trust region", unit), seconds("classic", unit))) for unit in DISTANCES]
        out[data] = [gain(f"{words}, {unit}", over(*(pair if later else pair[::-1])), None) for unit, pair in both]
    return out

# SPDX-License-Identifier: Apache-2.0
"""Rows of the RankSVM paper: solving, and the order of pairs."""

from functools import partial

from bench.papers import verdict
from bench.papers.verdict import NOT, ORDER, REPRODUCED, Verdict, gained, holds, one
from bench.shared.markdown import Missing, number

row = partial(verdict.row, "RankSVM")
RANK, COURSE, ACCURACY = "bench rank", "bench rank --convergence", "bench rank --accuracy"
DISTANCES = ("s to 1e-2", "s to 1e-4", "s to 1e-8")
SHAPE_TOLERANCE = 0.02  # of rows


@row("Table 1", RANK)
def table_1(reports, paper):
    rows, ours, parts = reports.rows(RANK, "Training from memory") + reports.rows(COURSE, "Examples"), [], {}
    for name, (n_rows, n_features, n_levels) in paper["numbers"].items():
        row = next(row for row in rows if row["examples"] == name)
        kind = row.get("kind", "synthetic")
        own = [int(part.replace(",", "")) for part in row["rows x features"].split(" x ")] + [int(row["levels"])]
        ours.append(f"{name} {own[0]:,}, {own[1]}, {own[2]}")
        near = abs(own[0] / n_rows - 1) <= SHAPE_TOLERANCE and own[1:] == [n_features, n_levels]
        share = f", {kind}, {100 * own[0] / n_rows:.0f} % of its rows, {own[2]} levels"
        parts[name] = (REPRODUCED, f", {kind} of its shape") if near else (ORDER, share)
    return Verdict("; ".join(ours), "MQ2007; the others synthetic", parts)


@row("Table 2", RANK)
def table_2(reports, paper):
    rows = reports.rows(RANK, "Beside the classic way", way="classic")
    found = {row["examples"]: number(row["solve over ours"])[0] for row in rows}
    parts = {name: gained(over, paper["numbers"].get(name, 1), "the classic way is faster") for name, over in found.items()}
    words = "on a CPU " + ", ".join(f"{name} {over:.1f}" for name, over in found.items())
    return Verdict(words, "synthetic, of the shapes", parts)


@row("Table 3", ACCURACY)
def table_3(reports, paper):
    rows = reports.rows(ACCURACY, "./run bench rank --accuracy")
    rows = {row["way"]: number(row["pairs in order, %"])[0] for row in rows}
    ours = rows["linear RankSVM, Thresher"]
    classic = next((value for way, value in rows.items() if "LIBLINEAR" in way), None)
    if classic is None:
        raise Missing("LIBLINEAR, by scikit-learn,")
    published = abs(paper["numbers"]["new"] - paper["numbers"]["classic"])
    apart = abs(ours - classic)
    judged = (REPRODUCED, "") if apart <= published + 0.005 else (NOT, f"they differ by {apart:.2f}")
    return one(f"classic (LIBLINEAR) {classic:.2f}, new {ours:.2f}", "MQ2007", judged)


@row("Figure 1", COURSE)
def figure_1(reports, paper):
    own, parts = {}, {}
    for row in reports.rows(COURSE, "Seconds until"):
        own.setdefault(row["examples"], {})[row["solver"]] = [number(row[name])[0] for name in DISTANCES]
    for data, solvers in own.items():
        ours, classic = solvers["Newton, line search"], solvers["classic"]
        late = [name for name, a, b in zip(DISTANCES, ours, classic) if a >= b]
        parts[data] = holds(not late, f"the classic way is earlier: {', '.join(late)}")
    words = "; ".join(
        f"{data}: " + ", ".join(f"{solver} {seconds[-1]:.2f} s" for solver, seconds in solvers.items())
        for data, solvers in own.items()
    )
    return Verdict(f"to 1e-8: {words}", "MQ2007; the others synthetic", parts)

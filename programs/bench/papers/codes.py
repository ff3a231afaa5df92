# SPDX-License-Identifier: Apache-2.0
"""Rows of the XFBQ paper: codes of a few bits per dimension, scanned exhaustively."""

from functools import partial

from bench.papers import verdict
from bench.papers.tables import chain, reversed_pairs
from bench.papers.verdict import GPU, NOT, ORDER, REPRODUCED, Verdict, gained, holds, one, ordered
from bench.shared.markdown import Missing, number

row = partial(verdict.row, "XFBQ")
XFBQ, SWEEP, DATA = "bench xfbq", "bench xfbq --parts sweep", "books100d"
PRECISE = 0.99
SAME_SHAPE = 0.05  # the farthest that two distribution functions may be apart to count as one; the paper has no number


def costs(reports):
    return {row["what"]: row for row in reports.rows(XFBQ, "Products alone")}


@row("Table 1", XFBQ)
def table_1(reports, paper):
    rows = costs(reports)
    floats, codes = (number(rows[name]["bytes of a product"])[0] for name in ("floats", "codes, 3 x 4 bits"))
    share = codes / floats
    judged = (REPRODUCED, "") if abs(share - paper["numbers"]["bytes"]) < 0.01 else (NOT, f"it is {share:.3f}")
    return one(f"bytes {share:.3f}", DATA, judged)


@row("Figure 3", XFBQ)
def figure_3(reports, paper):
    row = reports.rows(XFBQ, "Similarities, standardised", **{"item bits": "3"})[0]
    apart = number(row["KS distance"])[0]
    judged = holds(apart <= SAME_SHAPE, f"above {SAME_SHAPE}")
    return one(f"distribution functions {apart:.4f} apart at most, correlation {row['correlation']}", DATA, judged)


@row("Figure 4", XFBQ)
def figure_4(reports, paper):
    over = number(costs(reports)["codes, 3 x 4 bits"]["speed-up over floats"])[0]
    judged = gained(over, paper["numbers"]["speed-up"], "floats are faster")
    return one(f"speed-up {over:.1f}, a CPU", DATA, judged)


def row_of(reports, k, way):
    rows = [row for row in reports.rows(XFBQ, "Precision and speed", way=way) if row["k"] == k]
    if not rows:
        raise Missing(f"{way} at k = {k}")
    return rows


def best(reports, k, way):
    """Most queries per second of a way at the precision PRECISE, 0 where it does not reach it."""
    cells = [row[f"at {PRECISE}"] for row in row_of(reports, k, way)]
    return max(0 if cell == "-" else number(cell)[0] for cell in cells)


@row("Figure 5a", XFBQ)
def figure_5a(reports, paper):
    ours, parts = [], {}
    for k in ("1", "10", "100", "1,000", "10,000"):
        codes, exact, clusters = (best(reports, k, way) for way in ("codes", "exact", "IVF-Flat"))
        if not codes or not exact:
            raise Missing(f"codes of precision {PRECISE} at k = {k}")
        gains = {"over exact search": codes / exact, "over IVF-Flat": codes / clusters if clusters else float("inf")}
        over = f"{gains['over IVF-Flat']:.1f}" if clusters else "IVF-Flat does not reach it"
        ours.append(f"k = {k}: {gains['over exact search']:.1f} and {over}")
        judged = [gained(gain, paper["numbers"][name], f"{gain:.2f} times {name[5:]}") for name, gain in gains.items()]
        parts[f"k = {k}"] = min(judged, key=lambda state: (NOT, ORDER, REPRODUCED).index(state[0]))
    return Verdict("; ".join(ours), f"{DATA}, precision {PRECISE}", parts)


@row("Figure 5b", XFBQ)
def figure_5b(reports, paper):
    pq, codes = (max(number(row["highest precision"])[0] for row in row_of(reports, "10", way)) for way in ("IVF-PQ", "codes"))
    words = f"precision@10 at most {pq:.3f}, of codes {codes:.3f}"
    return one(words, DATA, holds(pq < codes, "IVF-PQ reaches codes' precision"))


@row("5, extra distance", SWEEP)
def extra_distance(reports, paper):
    """Searches at the paper's scales, and at the searched ones, reach its precision within its range of extra distances."""
    numbers, ours, parts = paper["numbers"], [], {}
    for row in reports.rows(SWEEP, "Scale and extra distance"):
        if row["scale"] not in ("searched", *(f"{numbers[name]:g}" for name in numbers if name.startswith("scale"))):
            continue
        cells = {int(name.split()[-1]): number(cell.split(", ")[0])[0] for name, cell in row.items() if name.startswith("extra")}
        least = min((d for d, found in cells.items() if found >= numbers["precision"]), default=None)
        most = max(d for d in cells if d <= numbers["extra distance"])
        ours.append(f"scale {row['scale']}: {cells[0]:.3f} at 0, {cells[most]:.3f} at {most}")
        good = least is not None and least <= numbers["extra distance"]
        parts[f"scale {row['scale']}"] = (REPRODUCED, f", at {least}") if good else (NOT, f"{cells[most]:.3f} are reached at {most}")
    return Verdict("; ".join(ours), DATA, parts)


@row("Table 2", XFBQ)
@row("Table 3", XFBQ)
def preparation(reports, paper):
    own = {row["way"]: (number(row["s"])[0], 0.0) for row in reports.rows(XFBQ, "Preparation")}
    missing = [name for name in paper["numbers"] if name not in own]
    if missing:
        raise Missing(", ".join(missing))
    away = reversed_pairs(chain(paper["numbers"]), own, 1)
    words = ", ".join(f"{name} {own[name][0]:.2f}" for name in paper["numbers"])
    return one(words, f"{DATA}, one thread of a CPU", ordered(away))


row("Figure 6", GPU)(None)

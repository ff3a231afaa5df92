# SPDX-License-Identifier: Apache-2.0
"""Every table and figure of the five papers beside ours.

usage: ./run bench papers [--measure] [--docs]

Figures are rows of results/*.csv; the papers' are in published.json. With --docs, docs/reproduction.md and
results/papers.csv are written. With --measure, what belongs to no other bench is measured first, in some minutes.
"""

from math import inf
from pathlib import Path

from bench.shared import results
from bench.shared.common import need_thresher, parser_of, published  # first: one thread

from bench.papers import beams, codes, learned, solvers  # noqa: F401  # their functions are ROWS
from bench.papers.verdict import EMPTY, NOT, NOT_RUN, REPRODUCED, REVERSED, ROWS, VERDICTS, Judged, Missing, Results, verdict

PAGE, SUBJECT = "docs/reproduction.md", "papers"
FINE = ("AUC", "log loss", "GAUC", "Recall@5", "Recall@10", "precision", "KS distance")  # units of four digits
HEAD = """\
# The papers' tables and figures beside ours

    ./run bench papers --docs      # writes this page and results/papers.csv

Every numbered table and figure of the five papers, but drawings. The papers' numbers are in
[published.json](../programs/bench/papers/published.json), ours in [results](../results): `papers.csv` has a row for
each comparison, with the date and commit of our figure. Ours are of one or two threads of a CPU, the papers' speeds
mostly of GPUs; no GPU was available. The papers' data are mostly private: compare signs and ratios, not levels.

A verdict follows from the comparisons of a row by a rule ([verdict.py](../programs/bench/papers/verdict.py)). Each
comparison *holds*, is *smaller* (the paper's sign, but less than its number) or is *reversed*, however little by.
Differences of AUC, recall and BLEU have no number to reach, since levels differ with the data.

| verdict | rule |
|---|---|
| reproduced | all hold, by more than two standard errors, in the paper's setting |
| partly | more than half hold or are smaller; or verdicts differ between data sets |
| not reproduced | half or more are reversed, or so on half or more of the data sets |
| no empirical content | a description, or arithmetic: left out of the count |
| not run | no GPU, no data, or no bench |

Bold: reversed. ~: within two standard errors of 0, or of one training each.
"""


# ---------------------------------------------------------------------------------------------------- rows


def judged(found, paper, item, about):
    """The verdict on a row of published.json."""
    words = {"departs": about.get("departs", ""), "reason": about.get("reason", "")}
    if (paper, item) not in ROWS:
        return Judged({}, verdict=about["verdict"], **words)
    try:
        own = ROWS[paper, item](found, about)
    except Missing as missing:
        return Judged({}, reason=str(missing), verdict=NOT_RUN)
    own = own if isinstance(own, Judged) else Judged(own)
    return Judged(own.data, note=own.note, verdict=own.verdict if own.verdict in (EMPTY, NOT_RUN) else "", **words)


def number(value, unit, signed=False):
    if unit in FINE:
        return f"{value:+.4f}" if signed else f"{value:.4f}"
    text = f"{value:.2f}" if unit == "BLEU" else f"{value:.3g}"
    return ("+" if signed and value > 0 else "") + text + (" %" if unit.startswith("%") else "")


def is_difference(claim):
    return claim.bound == ">= 0"


def shown(claim, with_paper):
    text = number(claim.ours, claim.unit, is_difference(claim)) + ("" if claim.sure else "~")
    text = f"**{text}**" if claim.outcome == REVERSED else text
    return text + (f" (paper {number(claim.published, claim.unit, is_difference(claim))})" if with_paper else "")


def published_alike(row):
    """Whether all data sets are compared with the same numbers, so that one cell can have them."""
    pairs = {(claim.name, claim.published) for claims in row.data.values() for claim in claims}
    return len(pairs) == len({name for name, _ in pairs})


def ours_cell(row, points):
    alike, lines = published_alike(row), []
    for data, claims in row.data.items():
        held = sum(claim.holds for claim in claims)
        numbers = [shown(claim, not alike and claim.published is not None) for claim in claims]
        lines.append(f"{data}: {f'{held} of {len(claims)} points' if points else ', '.join(numbers)}")
    if len(lines) == 1:
        lines[0] = lines[0].partition(": ")[2]
    return "<br>".join([*lines, *([row.note] if row.note else [])]) or "-"


def paper_cell(row, about):
    claims = max(row.data.values(), key=len, default=[])
    if about.get("points"):
        return "in words"
    if not claims:
        return ", ".join(f"{x:g}" for x in about.get("numbers", {}).values() if not isinstance(x, list)) or "-"
    if not published_alike(row):
        return "; ".join(claim.name for claim in claims)
    sizes = ["" if c.published is None else " " + number(c.published, c.unit, is_difference(c)) for c in claims]
    return "; ".join(claim.name + size for claim, size in zip(claims, sizes))


def verdict_cell(row):
    def bold(state):
        return f"**{state}**" if state == NOT else state

    by_state = {}
    for data, claims in row.data.items():
        by_state.setdefault(verdict(claims, row.departs), []).append(data)
    parts = [bold(row.verdict) + (f": {row.reason}" if row.reason else "")]
    parts += [f"{bold(state)}: {'; '.join(data)}" for state, data in by_state.items() if len(by_state) > 1]
    return "<br>".join([*parts, *([f"departs: {row.departs}"] if row.departs and row.was_run else [])])


def items_of(papers):
    """(paper, table or figure, what published.json has of it)"""
    return [(paper, item, about) for paper, items in papers.items() for item, about in items.items() if isinstance(about, dict)]


def gpu_lines(found, papers):
    """Rows of results/gpu.csv that measure the same on the paper's kind of machine."""
    for paper, item, about in items_of(papers):
        if "gpu" in about:
            case, system, setting = about["gpu"].split(" | ")
            own = found.rows("gpu", case=lambda text, case=case: text.startswith(case), system=system, setting=setting)
            if len(own) != 1:
                raise SystemExit(f"bench papers: results/gpu.csv has {len(own)} rows {about['gpu']}: 1 is wanted")
            measured = f"{own[0]['value']} {own[0]['unit']}" if own[0]["value"] else "not yet measured"
            yield [f"{paper}, {item}", f"{own[0]['case']}: {system}, {setting}", measured]


# ---------------------------------------------------------------------------------------------------- page


def count(rows):
    """The table of verdicts, and the share that counts."""
    states = [row.verdict for row in rows]
    run = [row for row in rows if row.was_run]
    in_order, whole = sum(row.in_order for row in run), states.count(REPRODUCED)
    words = (
        f"{len(run)} rows were run and have empirical content: {whole} are reproduced, {in_order} have the paper's sign "
        f"in every comparison, {states.count(NOT)} are not reproduced.\n"
    )
    table = results.markdown(["verdict", f"of {len(rows)} rows"], [[state, states.count(state)] for state in VERDICTS])
    return f"{table}\n{words}"


def text(found, papers):
    rows = {(name, item): judged(found, name, item, about) for name, item, about in items_of(papers)}
    parts = []
    for name, paper in papers.items():
        parts += [f"## {name}\n", f"{paper['title']}.\n", *([f"{paper['note']}\n"] if "note" in paper else [])]
        lines = []
        for _, item, about in items_of({name: paper}):
            row = rows[name, item]
            ours = ours_cell(row, about.get("points"))
            lines.append([item, about["what"], paper_cell(row, about), ours, verdict_cell(row)])
        parts.append(results.markdown(["no.", "what", "paper", "ours", "verdict"], lines))
    gpu = results.markdown(["paper", "row of [results/gpu.csv](../results/gpu.csv)", "ours"], gpu_lines(found, papers))
    return "\n".join([HEAD, count(list(rows.values())), *parts, "## On a GPU\n", "`tools/gpu-check` measures:\n", gpu])


def rows_of(found, papers):
    """Rows of results/papers.csv: a comparison each, with the papers' number beside it and what ours must reach."""
    for name, item, about in items_of(papers):
        for data, claims in judged(found, name, item, about).data.items():
            for claim in claims:
                published = "" if claim.published is None else f"; paper {claim.published:.5g}"
                spread = f"{claim.error:.2g}" if 0 < claim.error < inf else ""
                about_row = {column: claim.row.get(column, "") for column in ("machine", "date", "commit")}
                own = [SUBJECT, f"{name}, {item}", data, claim.name + published, claim.unit, f"{claim.ours:.5g}"]
                yield {**about_row, **dict(zip(results.COLUMNS[3:], [*own, spread, claim.bound]))}


def main():
    measure = {"action": "store_true", "help": "first measure what belongs to no other bench"}
    parser = parser_of("bench papers", __doc__, docs={"help": f"write {PAGE} and results/{SUBJECT}.csv"})
    parser.add_argument("--measure", **measure)
    arguments = parser.parse_args()
    if arguments.measure:
        need_thresher("bench papers")
        from bench.papers import runs  # noqa: PLC0415  # it needs the library

        results.merge(runs.measure())
    found, papers = Results(), published()
    words = text(found, papers)
    if not arguments.docs:
        print(words)
        return
    Path(PAGE).write_text(words, encoding="utf-8")
    results.write(SUBJECT, rows_of(found, papers))
    print(f"Written: {PAGE}, results/{SUBJECT}.csv")


if __name__ == "__main__":
    main()

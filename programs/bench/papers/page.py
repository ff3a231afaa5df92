# SPDX-License-Identifier: Apache-2.0
"""Every table and figure of the five papers beside ours.

usage: ./run bench papers [--quick] [--docs]

Our figures are read from the reports that the benches wrote into docs/benchmarks.md. With --quick, each bench that can
be is run at a small size instead, within a quarter of an hour. The papers' numbers are in published.json.
"""

import csv
from collections import Counter
from pathlib import Path

from bench.shared.common import DOCUMENT, between, need_thresher, parser_of, published, table, whole_machine  # first: one thread

from bench.papers import beams, codes, learned, solvers  # noqa: F401  # their functions are ROWS
from bench.papers.runs import COMMANDS, options_table, quick_sections, sections_now
from bench.papers.tables import Reports
from bench.papers.verdict import GPU, NONE, NOT, ORDER, PART, REPRODUCED, ROWS, one
from bench.shared.markdown import Missing, sections_of

PAGE, GPU_ROWS, TRANSLATE_PAGE = "docs/reproduction.md", "results/gpu.csv", "docs/translate.md"
TITLES = {REPRODUCED: "reproduced", ORDER: "order reproduced", PART: "on some data only", NOT: "not reproduced",
          GPU: "need a GPU", NONE: "not measured yet"}  # fmt: skip
POINTS = "points"  # rows in order of which some part is so at some points only
HEAD = """\
# The papers' tables and figures beside ours

    ./run bench papers --docs      # writes this page from the reports in benchmarks.md
    ./run bench papers --quick     # runs the benches at small sizes, in a quarter of an hour, and prints such a page

Every numbered table and figure of the five papers. The papers' numbers are typed once, in
[published.json](../programs/bench/papers/published.json); all others are read from what the benches printed
([benchmarks.md](benchmarks.md)) or computed by the library. All of them are of CPUs, where most of the papers' speeds
are of GPUs: no GPU was available yet.

| state | rule |
|---|---|
| reproduced | the paper's order holds, and the effect is as large as the paper's; or the same numbers |
| order reproduced | the order holds, the effect is smaller, or the paper has no number for it |
| order reproduced at n of m points | the order holds at more than half of the points of a figure |
| on some data only | the order holds on these data, and is reversed on the others |
| ... within two standard errors | the order is reversed, by less than two standard errors |
| **not reproduced** | the order is reversed, and the reason names the pair; or the data are not to be had |
| needs a GPU | the row of [results/gpu.csv](../results/gpu.csv) that `tools/gpu-check` fills |
| not measured yet | no bench measures it; the reason is given |

The data differ from the papers', which are mostly private: compare orders and ratios, not levels.
"""


def shown(numbers):
    """The paper's own numbers as one cell."""

    def value(x):
        return " / ".join(f"{v:g}" if v < 10000 else f"{v:,}" for v in x) if isinstance(x, list) else f"{x:g}"

    return ", ".join(f"{name} {value(x)}" for name, x in numbers.items()) or "no number"


def lines(words):
    """A cell of several lines, as GitHub shows it."""
    return words.replace("; ", "<br>")


def gpu_row(words):
    """What tools/gpu-check measured for CASE | SYSTEM | SETTING of results/gpu.csv."""
    with open(GPU_ROWS, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if [row["case"], row["system"], row["setting"]] == words.split(" | ")]
    if len(rows) != 1:
        raise SystemExit(f'bench papers: {GPU_ROWS} has {len(rows)} rows "{words}": 1 is wanted')
    return f"{rows[0]['value']} {rows[0]['unit']}" if rows[0]["value"] else "-"


def judge(reports, key, paper):
    """(verdict, command) of a row."""
    way, what = ROWS[key]
    if way is None:
        return one("-", "-", (NONE, what)), "-"
    row, command = paper.get("gpu", ""), COMMANDS.get(way, f"./run {way}")
    measured = gpu_row(row) if row else ""
    if way == GPU:
        return one(measured, "-", (GPU, row)), "tools/gpu-check"
    try:
        verdict = what(reports, paper)
        verdict.gpu = row
        return verdict, command
    except Missing as missing:
        return one("-", "-", (NONE, f"{missing} is not in the report of `{command}`")), command


def paper_text(reports, name, paper, count):
    rows, drawings = [], []
    for item, about in paper.items():
        if item in ("title", "note"):
            continue
        if about.get("kind"):
            file = about.get("file")
            where = "a production system, which nobody else has" if about["kind"] == "production" else "no numbers"
            drawings.append([item, about["what"], f"[{file}](../{file})" if file else "-", where])
            continue
        verdict, command = judge(reports, (name, item), about)
        count.update([verdict.state] + [POINTS] * (verdict.state == ORDER and verdict.at_some_points))
        published = shown(about["numbers"]) + (f"; {shown(about['effect'])}" if "effect" in about else "")
        words = [lines(part) for part in (published, verdict.ours)]
        rows.append([item, about["what"], *words, verdict.data, f"`{command}`", lines(verdict.words())])
    columns = ["no.", "what", "paper", "ours", "data", "command", "state"]
    parts = [f"## {name}\n", f"{paper['title']}.\n"]
    parts += [f"{paper['note']}\n"] if "note" in paper else []
    parts.append(table(columns, rows))
    if drawings:
        parts.append("Without figures to compare:\n\n" + table(["no.", "what", "here", "why"], drawings))
    return "\n".join(parts)


def summary(count):
    total = sum(n for state, n in count.items() if state != POINTS)
    rows = [[words, count.get(state, 0)] for state, words in TITLES.items()]
    rows.insert(2, ["... of these, some at more than half of the points only", count.get(POINTS, 0)])
    on_cpu, in_order = total - count.get(GPU, 0), count.get(REPRODUCED, 0) + count.get(ORDER, 0)
    words = f"{in_order} of {on_cpu} rows that a CPU can measure are in order: {100 * in_order / max(on_cpu, 1):.0f} %.\n"
    return table(["state", f"of {total} rows"], rows) + "\n" + words


def text(sections, papers, quick):
    reports, count = Reports(sections), Counter()
    parts = [paper_text(reports, name, paper, count) for name, paper in papers.items()]
    words = ["Measured now, at small sizes: speeds and levels differ from docs/reproduction.md.\n"] if quick else []
    machine = f"{whole_machine(1).rstrip()} Figures of reports in benchmarks.md are of the machines named there.\n"
    return "\n".join([HEAD, *words, machine, summary(count), *parts])


def main():
    quick = {"help": "run the benches at small sizes, in 15 minutes, and print"}
    keep = {"default": "build/bench/papers", "help": "where --quick saves what was printed"}
    parser = parser_of("bench papers", __doc__, quick=quick, docs={"help": f"write {PAGE}, and a table of {TRANSLATE_PAGE}"}, keep=keep)
    arguments = parser.parse_args()
    need_thresher("bench papers")
    if arguments.quick and arguments.docs:
        parser.error("--quick measures small sizes, which are not for docs/: leave one of --quick and --docs out")
    if arguments.quick:
        sections = quick_sections(arguments.keep)
    else:
        sections = {**sections_of(Path(DOCUMENT).read_text(encoding="utf-8")), **sections_now()}
    words = text(sections, published(), arguments.quick)
    if not arguments.docs:
        print(words)
        return
    Path(PAGE).write_text(words, encoding="utf-8")
    document = between(Path(TRANSLATE_PAGE).read_text(encoding="utf-8"), "<!-- bench papers -->", options_table().rstrip())
    Path(TRANSLATE_PAGE).write_text(document, encoding="utf-8")
    print(f"Written: {PAGE}, {TRANSLATE_PAGE}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""docs/results.md and its pictures, from the figures in results/.

usage: page.py [FILE.csv...]

Rows that thresher-bench and kcheck wrote with --csv are put into results/ first. The page has a section for some
subjects each, with one picture and one table: figures that miss their target, or where another library is ahead, come
first, the worst before the others, and no two with the same words. results/notes has a reason for a missed target:
subject, beginning of the figure's words, and reason, separated by " | ".
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from bench.results import pictures
from bench.shared import results

PAGE, NOTES = Path("docs/results.md"), results.FOLDER / "notes"
MOST_ROWS, MOST_LOSSES = 7, 5  # of a table
HEAD = """\
# Results

Every figure is a row of [results/](../results)*.csv, with its machine, date and commit. `./run bench SUBJECT` measures a
subject, `--docs` replaces the rows of this machine and writes this page. One thread, the best of several passes, both
sides in one run, answers checked, unless a bench prints something else. [reproduction.md](reproduction.md) has the papers'
tables beside ours, [gpu.md](gpu.md) GPUs.

A rule chooses the rows. Candidates are all figures with a target, and our best system beside the best other one. Of figures
with the same words the one farthest from its target is shown; of a comparison, the data set and the recall where we are
farthest behind. Losses come first, the worst above, at most %d; then what is nearest to a loss, up to %d rows in all.
"""


@dataclass
class Versus:
    """Our best beside the best of all others, where we are farthest behind: of all cases, or those named, and of settings.

    A setting is the beginning of a row's, up to the end or a semicolon.
    """

    subject: str
    cases: tuple  # none: all
    settings: tuple
    unit: str
    ours: str = results.OURS  # how names of our systems begin
    less: bool = False  # the less the better
    skip: tuple = ()  # systems that do not count


@dataclass
class Line:
    """A row of a table of the page."""

    lost: bool
    words: str
    measured: str
    beside: str
    why: str
    badness: float  # 1 where it is just met


@dataclass
class Section:
    title: str
    commands: dict  # {subject: words after ./run bench}
    picture: str
    draw: object
    versus: tuple = ()


def newest(rows):
    """For each case the rows of the machine that was measured last: figures of two machines are not compared."""
    machines = {row["case"]: row["machine"] for row in sorted(rows, key=lambda row: row["date"])}
    return [row for row in rows if row["machine"] == machines[row["case"]]]


def figure_text(value):
    """At most four digits, without an exponent."""
    number = float(value)
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def notes():
    """[(subject, words, reason)]"""
    lines = NOTES.read_text(encoding="utf-8").splitlines() if NOTES.exists() else []
    return [tuple(part.strip() for part in line.split(" | ")) for line in lines if line.strip()]


def why(subject, words):
    return next((reason for of, begin, reason in notes() if of == subject and words.startswith(begin)), "")


def badness(row):
    """How far a figure is from its target: 1 on it, more where it is missed."""
    sign, bound = results.target_of(row)
    value = float(row["value"])
    good, bad = (value, bound) if sign == ">=" else (bound, value)
    return bad / good if good > 0 and bad > 0 else 1 + bad - good


def words_of(row):
    """What a figure is, in one cell; without what a closing figure was computed from."""
    case = row["case"].removesuffix("targets").rstrip(": ")
    settings = [] if row["case"].endswith("targets") else row["setting"].split("; ")
    return ", ".join(part for part in (row["unit"], case, *settings) if part)


def target_lines(rows):
    """For each unit the row that is farthest from its target."""
    worst = {}
    for row in rows:
        if row["target"] and (row["unit"] not in worst or badness(row) > badness(worst[row["unit"]])):
            worst[row["unit"]] = row
    for row in worst.values():
        words, lost = words_of(row), results.missed(row)
        reason = why(row["subject"], row["unit"]) if lost else ""
        sign, bound = results.target_of(row)
        yield Line(lost, words, figure_text(row["value"]), f"{sign} {figure_text(bound)}", reason, badness(row))


def comparison(rows, of, setting):
    """Our best of these rows and the best other one; None where one side is missing."""
    sides = {True: [], False: []}
    for row in rows:
        if row["unit"] == of.unit and row["setting"].startswith(setting) and row["system"] not in of.skip:
            sides[row["system"].startswith(of.ours)].append(row)
    if not sides[True] or not sides[False]:
        return None
    choose = min if of.less else max
    own, other = (choose(side, key=lambda row: float(row["value"])) for side in (sides[True], sides[False]))
    ratio = float(own["value"]) / float(other["value"]) if of.less else float(other["value"]) / float(own["value"])
    words = ", ".join(part for part in (of.unit, own["case"], setting.rstrip(";").replace("; ", ", ")) if part)
    beside = f"{figure_text(other['value'])} ({other['system']})"
    return Line(ratio > 1, words, figure_text(own["value"]), beside, why(of.subject, words), ratio)


def versus_line(rows, of):
    """The comparison in which we are farthest behind; None where there is none."""
    by_case = {}
    for row in rows:
        if row["subject"] == of.subject and (not of.cases or row["case"] in of.cases):
            by_case.setdefault(row["case"], []).append(row)
    lines = (comparison(own, of, setting) for own in by_case.values() for setting in of.settings)
    return max(filter(None, lines), key=lambda line: line.badness, default=None)


def lines_of(section, figures):
    rows = [row for subject in section.commands for row in figures[subject]]
    found = [*target_lines(rows), *filter(None, (versus_line(rows, of) for of in section.versus))]
    lost = sorted((line for line in found if line.lost), key=lambda line: -line.badness)
    good = sorted((line for line in found if not line.lost), key=lambda line: line.badness)
    n_lost = min(len(lost), max(MOST_LOSSES, MOST_ROWS - len(good)))
    return lost[:n_lost] + good[: MOST_ROWS - n_lost]


def about(section, figures):
    """The caption: for each subject the command, the machine and the share of targets missed."""
    parts = []
    for subject, command in section.commands.items():
        rows = figures[subject]
        machines = sorted({row["machine"] for row in rows})
        targets = [row for row in rows if row["target"]]
        words = f"[{subject}](../results/{subject}.csv): `./run bench {command}`"
        words += f" on {' and '.join(name if name != results.UNKNOWN else 'an unknown machine' for name in machines)}"
        words += f", {sum(map(results.missed, targets))} of {len(targets)} targets missed" if targets else ""
        parts.append(words)
    return "; ".join(parts) + "."


def section_text(section, figures):
    lines = lines_of(section, figures)
    columns = ["ahead", "figure", "measured", "target or best other", "why"]
    rows = [["**no**" if line.lost else "yes", line.words, line.measured, line.beside, line.why] for line in lines]
    table = results.markdown(columns, [[str(cell).replace("|", "/") for cell in row] for row in rows])
    return f"## {section.title}\n\n{about(section, figures)}\n![{section.title}]({section.picture})\n\n{table}"


def all_figures():
    return {subject: newest(results.read(subject)) for section in SECTIONS for subject in section.commands}


def text(figures):
    return "\n".join([HEAD % (MOST_LOSSES, MOST_ROWS), *(section_text(section, figures) for section in SECTIONS)])


def drawn(figures):
    """{file name: SVG}"""
    return {section.picture: section.draw(figures) for section in SECTIONS}


def write():
    figures = all_figures()
    PAGE.write_text(text(figures), encoding="utf-8")
    for name, picture in drawn(figures).items():
        (PAGE.parent / name).write_text(picture, encoding="utf-8")
    print(f"Written: {PAGE} and its pictures")


RECALLS = ("recall >= 0.95;", "recall >= 0.99;")
CODE_BYTES = ("bytes 16;", "bytes 32;", "bytes 64;")
TURNOVER, TURNED = ("the same turnover, 10,000 items",), ("after 10 turnovers",)

SECTIONS = (
    Section("Exhaustive searches", {"search": "search"}, "search-books100d.svg", pictures.search, (
        Versus("search", (), RECALLS, "queries/s"),
        Versus("search", (), RECALLS, "queries/s, batches of 64"),
    )),
    Section("Indexes with cells", {"search-cells": "search --cells"}, "cells-synthetic200.svg", pictures.cells, (
        Versus("search-cells", (), RECALLS, "queries/s"),
    )),
    Section("Scans and builds", {"scan": "scan"}, "recall.svg", pictures.scan),
    Section("Promised recall", {"promise": "promise", "promise-kept": "promise-kept"}, "promise.svg", pictures.promise),
    Section("Shards, and indexes larger than memory", {"shards": "shards", "cold": "cold"}, "cold.svg", pictures.cold),
    Section("Changes", {"writer": "writer", "live": "live"}, "live.svg", pictures.live, (
        Versus("live", TURNOVER, TURNED, "queries/s"),
        Versus("live", TURNOVER, TURNED, "seconds", less=True),
        Versus("live", TURNOVER, TURNED, "recall@10"),
    )),
    Section("Codes of a few bits", {"xfbq": "xfbq", "tower-vectors": "tower-vectors"}, "codes.svg", pictures.codes, (
        Versus("xfbq", (), ("k 10; precision >= 0.95", "k 10; precision >= 0.99"), "queries/s"),
        *(Versus("tower-vectors", (), (size,), "recall@10", "learned") for size in CODE_BYTES),
    )),
    Section("Posting lists", {"hits": "hits --peers"}, "hits.svg", pictures.hits),
    Section("Learning to rank", {"rank": "rank", "rank-convergence": "rank --convergence", "rank-accuracy": "rank-accuracy"},
            "convergence-MQ2007.svg", pictures.rank, (Versus("rank-accuracy", (), ("",), "NDCG@10", "linear RankSVM, Thresher"),)),
    Section("Output layers", {"head": "head", "head-peers": "head-peers"}, "head.svg", pictures.head, (
        Versus("head-peers", (), ("",), "ms", less=True),
    )),
    Section("Translation", {"head-translation": "head-translation"}, "translation.svg", pictures.translation),
    Section("Learned codes of text and models of ads", {"tower": "tower", "ads": "ads", "ads-peers": "ads-peers"},
            "tower.svg", pictures.tower, (
        *(Versus("tower", (f"{data}: codes by Faiss",), ("",), "recall@100", "rbe*", skip=("m_1, floats (Faiss IndexFlat)",))
          for data in ("debian", "tldr", "homedepot")),
    )),
    Section("Kernels", {"kernels": "kernels"}, "kernels.svg", pictures.kernels, (
        *(Versus("kernels", ("matmul beside BLAS",), (shape,), "GFLOP/s", "avx")
          for shape in ("1024 x 288 x 64", "1024 x 64 x 1024", "1 x 288 x 64")),
    )),
)  # fmt: skip


def main():
    rows = [row for path in sys.argv[1:] for row in results.read_measured(path)]
    results.merge(rows)
    write()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Pictures of what thresher-bench printed or wrote.

usage: plots.py recall REPORT FILE.svg     the scan's table of recall and speed; nothing without such a table
       plots.py convergence DIR            each DIR/convergence-NAME.csv, beside it as .svg
       plots.py translation REPORT FILE.svg
                                           the report of bench head --model: figure 6 of the WTA-LSH paper to FILE.svg,
                                           figure 7 to FILE-beams.svg
"""

import csv
import glob
import os
import re
import sys
from pathlib import Path

from bench.shared import svg
from bench.shared.markdown import tables_of
from bench.search.pick import front

BEAM = 12  # whose screens are compared
DRAWN = 1e-10  # the least share above the optimum that is drawn


def recall(report, path):
    text = Path(report).read_text(encoding="utf-8")
    headings = tables_of(text).items()
    rows = next((rows for heading, rows in headings if heading.startswith("Search over the exact scan")), None)
    if not rows:
        return
    data, n_items, n_dims = re.search(r"^Real vectors, (.+?)_?\*: (\d+) x (\d+)", text, re.MULTILINE).groups()
    series = {}
    for row in rows:
        point = float(row["recall@10"]), float(row["queries/s"])
        series.setdefault(f"{row['bits']} bits per dimension", []).append(point)
    # A search is so many times as fast as the exact scan: each row has its speed; the median is drawn.
    exact = sorted(float(row["queries/s"]) / float(row["times exact"]) for row in rows)[len(rows) // 2]
    best = [(name, front([{"recall": a, "qps": b} for a, b in points], "qps")) for name, points in series.items()]
    panels = [("queries per second, one at a time", [*best, ("exact scan of floats", [(1.0, exact)])])]
    svg.save(path, svg.curves(f"{data}: {int(n_items):,} x {n_dims}; one thread", panels))


def convergence(directory):
    for path in sorted(glob.glob(f"{directory}/convergence-*.csv")):
        series = {}
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                points = series.setdefault(row["solver"], [])
                if float(row["seconds"]) > 0 and (not points or points[-1][1] > DRAWN):
                    points.append((float(row["seconds"]), max(float(row["relative_difference"]), DRAWN)))
        name = path.split("convergence-", 1)[1].removesuffix(".csv")
        title = f"{name}: the objective above its minimum"
        words = title, "seconds", "(objective - minimum) / minimum"
        svg.save(path.removesuffix(".csv") + ".svg", svg.logarithmic(*words, list(series.items())))


def translation_titles(path):
    """[(title, file)] of figures 6 and 7 of the WTA-LSH paper."""
    stem, ending = os.path.splitext(path)
    beams = f"{stem}-beams{ending}"
    return [("BLEU against speed, a beam of 12", path), ("BLEU against speed, beams of 1, 3 and 6", beams)]


def draw_translation(text, path):
    """Points are the table's rows: screens with a beam of 12, labelled by their parameters; smaller beams, by the beam."""
    rows = tables_of(text)["A test set translated"]
    full = next(float(row["all, s"]) for row in rows if row["screen"] == "full" and row["beam"] == str(BEAM))
    screens, beams = {}, {}
    for row in rows:
        point, screen, beam = (full / float(row["all, s"]), float(row["BLEU"])), row["screen"], int(row["beam"])
        first, *others = row["parameters"].split(", ")
        if beam < BEAM:
            beams.setdefault(f"{screen}, smaller beams", []).append((*point, row["beam"]))
        elif beam == BEAM and others:
            screens.setdefault(f"{screen}, {first}", []).append((*point, ", ".join(others)))
        elif beam == BEAM and screen != "full":
            screens.setdefault(screen, []).append((*point, first))
    for (title, name), series in zip(translation_titles(path), (screens, beams)):
        words = title, "speed, as a multiple of the full head's with a beam of 12", "BLEU"
        svg.save(name, svg.lines(*words, list(series.items())))


def translation(report, path):
    draw_translation(Path(report).read_text(encoding="utf-8"), path)


if __name__ == "__main__":
    {"recall": recall, "convergence": convergence, "translation": translation}[sys.argv[1]](*sys.argv[2:])

# SPDX-License-Identifier: Apache-2.0
"""Measured figures: results/SUBJECT.csv, one row a figure; the tables that benches print; and what merges the two.

It needs nothing but Python itself. thresher-bench writes rows of its tables with --csv (shared/report.c).
"""

import csv
import os
import re
import subprocess
import time
from pathlib import Path

FOLDER = Path("results")
COLUMNS = ("machine", "date", "commit", "subject", "case", "system", "setting", "unit", "value", "spread", "target")
KEY = ("machine", "case", "system", "setting", "unit")  # what no two rows of a subject have in common
OURS, UNKNOWN = "Thresher", "unknown"  # a system, a machine
NAMELESS = ("what", "setting")  # keys whose names are not repeated in each row
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
LEVELS = {"avx2": "AVX2", "avx512": "AVX-512", "avx512-vnni": "AVX-512 VNNI", "neon": "NEON", "neon-dot": "NEON dot"}


# ---------------------------------------------------------------------------------------------------- files


def read(subject, folder=FOLDER):
    """[{column: text}] of a subject; none where it has no file."""
    path = Path(folder) / f"{subject}.csv"
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(subject, rows, folder=FOLDER):
    with open(Path(folder) / f"{subject}.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def read_measured(path):
    """Rows as kcheck appends them, without a header, or of tables as thresher-bench does (shared/report.c)."""
    with open(path, newline="", encoding="utf-8") as file:
        lines = file.read().splitlines()
    rows = list(csv.DictReader((line for line in lines if "\t" not in line), COLUMNS))
    for machine, subject, case, n_keys, columns, cells, target in (line.split("\t") for line in lines if "\t" in line):
        columns, cells = columns.split(" | "), cells.split(" | ")
        cells += [""] * (len(columns) - len(cells))
        for figure in Table(case, columns[: int(n_keys)], columns[int(n_keys) :], [cells]).figures():
            rows.append({"machine": machine, "subject": subject, **figure, "target": target})
    return rows


def core_of(about):
    """The name of a CPU's cores, of {field: text} of /proc/cpuinfo."""
    numbers = (about.get("vendor_id"), *(int(about.get(name, 0)) for name in ("cpu family", "model", "stepping")))
    vendor, family, model, stepping = numbers
    if vendor == "AuthenticAMD" and family == 25:
        return "Zen 3" if model < 16 or 32 <= model < 96 else "Zen 4"
    if vendor == "AuthenticAMD" and family in (23, 26):
        return "Zen 5" if family == 26 else "Zen 2" if model >= 48 else "Zen"
    if vendor == "GenuineIntel" and model == 85:
        return "Cascade Lake" if stepping >= 5 else "Skylake"
    intel = {106: "Ice Lake", 143: "Sapphire Rapids", 207: "Emerald Rapids", 173: "Granite Rapids"}
    return intel.get(model) if vendor == "GenuineIntel" and model in intel else about.get("model name", "unknown CPU")


def machine_name(level):
    """This machine, in a few words: "Zen 3, AVX2, 2 CPUs"."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        lines = [line.split(":", 1) for line in file.read().split("\n\n", 1)[0].splitlines() if ":" in line]
    core = core_of({name.strip(): text.strip() for name, text in lines})
    return ", ".join([core, *([LEVELS[level]] if level in LEVELS else []), f"{os.cpu_count()} CPUs"])


def merge(rows, folder=FOLDER):
    """Put rows of this machine into results/ in place of its older ones of the same cases. Their machine is a CPU level.

    Returns the subjects.
    """
    called = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=False)
    about = {"date": time.strftime("%Y-%m-%d"), "commit": called.stdout.strip()}
    new = [{**row, **about, "machine": machine_name(row["machine"])} for row in rows]
    subjects = sorted({row["subject"] for row in new})
    for subject in subjects:
        own = [row for row in new if row["subject"] == subject]
        again = {(row["machine"], row["case"]) for row in own}
        write(
            subject, [row for row in read(subject, folder) if (row["machine"], row["case"]) not in again] + own, folder
        )
    return subjects


# ---------------------------------------------------------------------------------------------------- numbers


def number(cell):
    """(value, spread) of a cell, as texts; the spread may be empty. None where the cell is no number."""
    found = re.fullmatch(rf"({NUMBER})(?: ± ({NUMBER}))?", str(cell).strip())
    if not found:
        return None
    return found[1].replace(",", "").lstrip("+"), (found[2] or "")


class Goal:
    """A cell with a target."""

    def __init__(self, cell, least=None, most=None):
        self.cell, self.target = cell, f">= {least:.6g}" if most is None else f"<= {most:.6g}"
        found = number(cell)
        self.missed = found is None or missed({"value": found[0], "target": self.target})

    def __str__(self):
        return f"{self.cell}{' **missed**' * self.missed}"


def target_of(row):
    """(">=" or "<=", bound), or None."""
    if not row["target"]:
        return None
    sign, bound = re.fullmatch(r"(>=|<=) (\S+)", row["target"]).groups()
    return sign, float(bound)


def missed(row):
    """Whether a row misses its target; one without a value, of what nobody has measured, does not."""
    target = target_of(row)
    if target is None or not row["value"]:
        return False
    return float(row["value"]) < target[1] if target[0] == ">=" else float(row["value"]) > target[1]


# ---------------------------------------------------------------------------------------------------- tables


def markdown(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in lines) + "\n"


class Table:
    """A table of figures: text for people by str(), and rows of results/ by figures().

    A row has a cell for each key and each unit. Keys describe what is measured: "system" is whose figure it is, "data"
    goes in front of the case, all others are the setting. Units are of numbers, which may be missing (any other text); a
    pair (setting, unit) adds to the setting.
    """

    def __init__(self, case, keys, units, rows):
        self.case, self.keys, self.units, self.rows = case, keys, units, [list(row) for row in rows]
        wrong = [row for row in self.rows if len(row) != len(keys) + len(units)]
        if wrong:
            raise ValueError(f"{case}: {len(keys) + len(units)} columns, and a row of {wrong[0]}")

    def __str__(self):
        names = [unit if isinstance(unit, str) else f"{unit[1]}, {unit[0]}" for unit in self.units]
        return f"### {self.case}\n\n{markdown([*self.keys, *names], self.rows)}"

    def figures(self):
        for row in self.rows:
            keys = dict(zip(self.keys, row))
            data, system = (keys.pop(name, other) for name, other in (("data", ""), ("system", OURS)))
            settings = [
                f"{'' if key in NAMELESS else key + ' '}{text}" for key, text in keys.items() if text not in ("", "-")
            ]
            for unit, cell in zip(self.units, row[len(self.keys) :]):
                more, unit = ([], unit) if isinstance(unit, str) else ([unit[0]], unit[1])
                found = number(cell.cell if isinstance(cell, Goal) else cell)
                if found:
                    yield {
                        "case": ": ".join(part for part in (data, self.case) if part), "system": system,
                        "setting": "; ".join([*settings, *more]), "unit": unit, "value": found[0], "spread": found[1],
                        "target": cell.target if isinstance(cell, Goal) else "",
                    }  # fmt: skip


class Figures:
    """The closing table of a report. A row of it: what was measured, Goal or number, and what it is of, or ""."""

    def __init__(self, rows, case="targets"):
        self.rows, self.case = [list(row) for row in rows], case

    def __str__(self):
        rows = []
        for words, cell, of in self.rows:
            is_goal = isinstance(cell, Goal)
            met = ("**no**" if cell.missed else "yes") if is_goal else ""
            rows.append([words, cell.target if is_goal else "", cell.cell if is_goal else cell, met, of])
        return f"### {self.case}\n\n{markdown(['figure', 'target', 'measured', 'met', 'of'], rows)}"

    def figures(self):
        for words, cell, of in self.rows:
            for figure in Table(self.case, ["setting"], [words], [[of, cell]]).figures():
                yield figure


class Report(list):
    """Parts of a report, one below the other: texts, tables and reports."""

    def __str__(self):
        return "\n".join(str(part) for part in self)

    def figures(self):
        return [figure for part in self if not isinstance(part, str) for figure in part.figures()]

    def kept(self):
        """For a file of results: Written() of it is this report."""
        return {"text": str(self), "figures": self.figures()}

    def rows(self, subject, level):
        """Rows for merge()."""
        return [{"machine": level, "subject": subject, **figure} for figure in self.figures()]


class Written:
    """A report of an earlier run, as Report.kept() has it."""

    def __init__(self, kept):
        self.kept = kept

    def __str__(self):
        return self.kept["text"]

    def figures(self):
        return self.kept["figures"]

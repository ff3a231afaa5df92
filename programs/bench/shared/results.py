# SPDX-License-Identifier: Apache-2.0
"""Measured figures: results/SUBJECT.csv, one row a figure. It needs nothing but Python itself."""

import csv
import re
from pathlib import Path

FOLDER = Path("results")
COLUMNS = ("machine", "date", "commit", "subject", "case", "system", "setting", "unit", "value", "spread", "target")
KEY = ("machine", "case", "system", "setting", "unit")  # what no two rows of a subject have in common


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

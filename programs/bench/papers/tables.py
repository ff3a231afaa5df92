# SPDX-License-Identifier: Apache-2.0
"""Markdown tables as the benches print them, read back: the figures of docs/reproduction.md are taken from these."""

import math
import re


class Missing(Exception):
    """A report, a table or a row is not there; the message names it."""


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")] if line.startswith("|") else None


def tables_of(text):
    """{heading: [{column: cell}]} of a report; of tables under one heading, the rows of all."""
    out, heading, columns = {}, "", None
    for line in text.splitlines():
        row = cells(line)
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if row is None:
            columns = None
        elif columns is None:
            columns = row
        elif not set("".join(row)) <= set("-| "):
            out.setdefault(heading, []).append(dict(zip(columns, row)))
    return out


def sections_of(document):
    """{mark: text} of a document's parts between <!-- mark --> and <!-- end -->."""
    return dict(re.findall(r"<!-- (?!end)(.*?) -->\n(.*?)<!-- end -->", document, re.DOTALL))


def number(cell):
    """(value, spread) of a cell as 0.9969 ± 0.0001, 12,345, 14.6 M or +0.0023; the spread is 0 where it has none."""
    found = re.findall(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", cell.replace(" ", ""))
    if not found:
        raise Missing(f'no number in "{cell}"')
    values = [float(word.replace(",", "")) for word in found]
    return values[0], values[1] if "±" in cell else 0.0


class Reports:
    """The reports of all benches, by their marks in docs/benchmarks.md."""

    def __init__(self, sections):
        self.tables = {mark: tables_of(text) for mark, text in sections.items()}

    def rows(self, mark, heading, **wanted):
        """The rows of the tables whose headings begin so, and where the named columns begin with what is wanted."""
        found = [row for head, rows in self.tables.get(mark, {}).items() if head.startswith(heading) for row in rows]
        found = [row for row in found if all(row.get(name, "").startswith(word) for name, word in wanted.items())]
        if not found:
            raise Missing(f'a table "{heading}"' + "".join(f", {name} {word}" for name, word in wanted.items()))
        return found

    def headings(self, mark, beginning):
        return [head for head in self.tables.get(mark, {}) if head.startswith(beginning)]


def reversed_pairs(pairs, ours, n_seeds):
    """(by chance, for certain): pairs [less, more] whose order is the other way round in ours, {name: (mean, spread)}.

    A difference within two standard errors of the means is taken for chance.
    """
    chance, certain = [], []
    for less, more in pairs:
        (a, spread_a), (b, spread_b) = ours[less], ours[more]
        if a > b:
            error = math.sqrt((spread_a**2 + spread_b**2) / n_seeds)
            (chance if a - b <= 2 * error else certain).append(f"{less} is above {more} by {a - b:.4f}")
    return chance, certain


def chain(numbers):
    """Neighbours of names in the order of their numbers."""
    names = sorted(numbers, key=numbers.get)
    return list(zip(names, names[1:]))

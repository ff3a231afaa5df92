# SPDX-License-Identifier: Apache-2.0
"""The figures of docs/reproduction.md: rows of the benches' reports, and orders among their numbers."""

import math

from bench.shared.markdown import Missing, tables_of


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

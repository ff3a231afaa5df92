# SPDX-License-Identifier: Apache-2.0
"""What a table or figure of a paper claims, what our figures in results/ are, and the rule that compares the two."""

from dataclasses import dataclass, field
from math import sqrt

from bench.shared import results

REPRODUCED, PARTLY, NOT, EMPTY, NOT_RUN = "reproduced", "partly", "not reproduced", "no empirical content", "not run"
VERDICTS = (REPRODUCED, PARTLY, NOT, EMPTY, NOT_RUN)
HOLDS, SMALLER, REVERSED = "holds", "smaller", "reversed"  # outcomes of a claim

# ---------------------------------------------------------------------------------------------------- figures


class Missing(Exception):
    """results/ does not have a figure; the message names it."""


@dataclass
class Figure:
    value: float
    spread: float = 0
    row: dict = field(default_factory=dict)  # of results/, where it is from


class Results:
    """The figures of results/*.csv; of several machines' the newest."""

    def __init__(self, folder=results.FOLDER):
        self.folder, self.subjects = folder, {}

    def rows(self, subject, **wanted):
        """Rows whose columns are as wanted, or of which wanted(text) is true."""
        if subject not in self.subjects:
            self.subjects[subject] = results.read(subject, self.folder)

        def fits(row):
            return all(want(row[name]) if callable(want) else row[name] == want for name, want in wanted.items())

        return [row for row in self.subjects[subject] if fits(row)]

    def get(self, subject, **wanted):
        rows = self.rows(subject, **wanted)
        if not rows:
            raise Missing(f"results/{subject}.csv: " + ", ".join(f"{name} {want}" for name, want in wanted.items()))
        row = max(rows, key=lambda row: row["date"])
        if len({tuple(row[name] for name in results.KEY[1:]) for row in rows}) > 1 or not row["value"]:
            raise Missing(f"results/{subject}.csv: one figure of {wanted}")
        return Figure(float(row["value"]), float(row["spread"] or 0), row)


# ---------------------------------------------------------------------------------------------------- claims


@dataclass
class Claim:
    """One thing that a table says, and whether our figure says it, too. published may be None: in words only."""

    name: str
    ours: float
    published: object
    outcome: str
    unit: str = "ratio"
    error: float = 0  # the standard error of ours; infinite if one training does not tell, 0 of what is not random
    bound: str = ""  # what ours must be to hold at the paper's size
    row: dict = field(default_factory=dict)

    @property
    def holds(self):
        return self.outcome != REVERSED

    @property
    def sure(self):
        return not self.error or abs(self.ours) > 2 * self.error


def order(name, difference, published=None, unit="AUC"):
    """A difference has the paper's sign. Its size is not judged: levels differ with the data."""
    outcome = HOLDS if difference.value > 0 else REVERSED
    return Claim(name, difference.value, published, outcome, unit, difference.spread, ">= 0", difference.row)


def gain(name, ours, published, least=1, unit="ratio"):
    """A gain is as large as the paper's, or at least above none at all; published None: no number."""
    outcome = (
        REVERSED if ours.value <= least else SMALLER if published is not None and ours.value < published else HOLDS
    )
    return Claim(
        name, ours.value, published, outcome, unit, 0, f">= {least if published is None else published:g}", ours.row
    )


def reaches(name, ours, bound, published=None, unit="ratio"):
    outcome = HOLDS if ours.value >= bound else REVERSED
    return Claim(name, ours.value, published, outcome, unit, 0, f">= {bound:g}", ours.row)


def most(name, ours, bound, published=None, unit="ratio"):
    outcome = HOLDS if ours.value <= bound else REVERSED
    return Claim(name, ours.value, published, outcome, unit, 0, f"<= {bound:g}", ours.row)


def same(name, ours, published, within, unit="ratio"):
    """Two numbers are equal, within a tolerance."""
    return Claim(
        name, ours.value, published, HOLDS if abs(ours.value - published) <= within else REVERSED, unit, row=ours.row
    )


def over(a, b):
    """A ratio of figures; the row is that of the first."""
    return Figure(a.value / b.value, 0, a.row)


def less(more, fewer, n_runs=1):
    """A difference of means, with its standard error over n_runs each."""
    return Figure(more.value - fewer.value, sqrt((more.spread**2 + fewer.spread**2) / n_runs), more.row)


# ---------------------------------------------------------------------------------------------------- the rule


def verdict(claims, departs=False):
    """Of the claims of a table on one data set; departs: from the paper's setting, in what the table is about."""
    if not claims:
        return NOT_RUN
    n_held = sum(claim.holds for claim in claims)
    if 2 * n_held <= len(claims):
        return NOT
    whole = not departs and all(claim.outcome == HOLDS and claim.sure for claim in claims)
    return REPRODUCED if whole else PARTLY


@dataclass
class Judged:
    """A table or figure: {data: its claims}."""

    data: dict
    departs: str = ""  # how ours departs from the paper's setting
    reason: str = ""  # why it was not run, or has no empirical content
    note: str = ""
    verdict: str = ""

    def __post_init__(self):
        if not self.verdict:
            states = [verdict(claims, self.departs) for claims in self.data.values()]
            fails = states and 2 * states.count(NOT) >= len(states)
            self.verdict = NOT if fails else states[0] if len(set(states)) == 1 else PARTLY if states else NOT_RUN

    @property
    def was_run(self):
        return self.verdict not in (EMPTY, NOT_RUN)

    @property
    def in_order(self):
        """Nothing is reversed."""
        return self.was_run and all(claim.holds for claims in self.data.values() for claim in claims)


ROWS = {}  # {(paper, table or figure): judge}


def row(paper, item):
    """judge(results, what published.json has of it) -> {data: claims} of that table or figure."""

    def add(judge):
        ROWS[paper, item] = judge
        return judge

    return add


def chain(numbers):
    """Neighbours [less, more] of names in the order of their numbers."""
    names = sorted(numbers, key=numbers.get)
    return list(zip(names, names[1:]))

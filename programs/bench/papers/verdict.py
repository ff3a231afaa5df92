# SPDX-License-Identifier: Apache-2.0
"""The state of a table or figure of a paper: its words, and the rules by which it is found."""

from dataclasses import dataclass

REPRODUCED, ORDER, PART, NOT, GPU, NONE = "reproduced", "order", "part", "not", "gpu", "none"
WORDS = {
    REPRODUCED: "reproduced{}",
    ORDER: "order reproduced{}",
    NOT: "**not reproduced** because {}",
    GPU: "needs a GPU: `tools/gpu-check`, row *{}*",
    NONE: "not measured yet: {}",
}


@dataclass
class Verdict:
    ours: str
    data: str
    parts: dict  # {data: (state, why)}; data sets are named where they differ
    gpu: str = ""  # row of tools/gpu-check that measures the same on the paper's kind of machine (published.json)

    @property
    def state(self):
        states = {state for state, _ in self.parts.values()}
        if len(states) == 1:
            return states.pop()
        return ORDER if states <= {REPRODUCED, ORDER} else PART

    @property
    def at_some_points(self):
        return any(why.startswith(" at ") for state, why in self.parts.values() if state == ORDER)

    def words(self):
        groups = {}
        for data, (state, why) in self.parts.items():
            groups.setdefault(WORDS[state].format(why), []).append(data)
        out = "; ".join(f"{', '.join(names)}: {words}" for words, names in groups.items())
        out = next(iter(groups)) if len(groups) == 1 else out
        return out + (f"; on a GPU: `tools/gpu-check`, row *{self.gpu}*" if self.gpu else "")


ROWS = {}  # {(paper, table or figure): (mark of a report, judge)}


def row(paper, item, mark):
    """judge(reports, what published.json has of it) -> Verdict gives the verdict on that table or figure."""

    def add(judge):
        ROWS[paper, item] = mark, judge
        return judge

    return add


def one(ours, data, judged):
    """Of one data set; judged: (state, why)."""
    return Verdict(ours, data, {data: judged})


def ordered(reversals, effects=()):
    """Of an order, by tables.reversed_pairs; reproduced where all effects, (ours, the paper's), are as large."""
    chance, certain = reversals
    if certain:
        return NOT, "; ".join(certain)
    if chance:
        return ORDER, " within two standard errors (" + "; ".join(chance) + ")"
    return (REPRODUCED if effects and all(a >= b for a, b in effects) else ORDER), ""


def holds(good, why, points=""):
    """Of an order without a size: it holds, or not because of why; points: at which of a figure's it does."""
    return (ORDER, points) if good else (NOT, why)


def gained(ours, published, why):
    """Of a speed-up: as large as the paper's, or at least above one."""
    return (REPRODUCED, "") if ours >= published else holds(ours > 1, why)

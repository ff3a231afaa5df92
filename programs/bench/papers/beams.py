# SPDX-License-Identifier: Apache-2.0
"""Rows of the WTA-LSH paper: hashes before the output layer of a beam search."""

import bisect
from functools import partial

from bench.papers import verdict
from bench.papers.verdict import NOT, REPRODUCED, Verdict, gained, holds, one
from bench.shared.markdown import Missing, number

row = partial(verdict.row, "WTA-LSH")

HEAD, MODEL, TIMES, WARPS = "bench head", "bench head --model", "translate --times", "bench papers, warps"
ALIGNMENT, PAIR = "bench head --alignment", "bench head --pair"
ONE_MODEL = "the model of `bench head --model`"
MOST_LOSS, BEAM = 0.4, "12"
TIMED = ("head, s", "all, s", "head's speed-up", "speed-up", "BLEU")
PARTS = {"softmax": "head", "expansion": "expansion", "all": "all"}


def translated(reports, screen, beam=BEAM, mark=MODEL):
    """Rows of a screen as {column: number}, with its parameters as they are printed."""
    out = []
    for row in reports.rows(mark, "A test set translated", screen=screen, beam=beam):
        if row["beam"] == beam:
            figures = {name: number(row[name])[0] for name in TIMED}
            out.append({**figures, "lost": number(row["less than full"])[0], "parameters": row["parameters"]})
    if not out:
        raise Missing(f"{screen} with a beam of {beam}")
    return out


def fastest(rows, loss=MOST_LOSS):
    good = [row for row in rows if row["lost"] <= loss]
    if not good:
        raise Missing(f"a setting that loses {loss} BLEU at most")
    return max(good, key=lambda row: row["speed-up"])


def pairs(reports):
    return [mark for mark in reports.tables if mark.startswith(PAIR)]


def by_model(first=MODEL, name=MODEL):
    """Of judge(reports, mark) -> (words, state): one model, and each pair of languages that has what it needs."""

    def of(judge):
        def judge_all(reports, _):
            own = {name: judge(reports, first)}
            for mark in pairs(reports):
                try:
                    own[mark.removeprefix(PAIR).strip()] = judge(reports, mark)
                except Missing:
                    continue
            words = "; ".join(f"{name}: {text}" for name, (text, _) in own.items())
            return Verdict(words, ", ".join(own), {name: judged for name, (_, judged) in own.items()})

        return judge_all

    return of


@row("Table 1", TIMES)
def table_1(reports, paper):
    full, wta = ({row["part"]: number(row["ms"])[0] for row in reports.rows(TIMES, f"Beam of 12, {screen}")}
                 for screen in ("full", "wta"))  # fmt: skip
    chosen = reports.rows(TIMES, "BLEU")[0]
    speed = {name: full[part] / wta[part] for name, part in PARTS.items()}
    lost = number(chosen["lost by wta"])[0]
    parts = {name: gained(speed[name], paper["numbers"][name], f"{name} takes {1 / speed[name]:.2f} of the time")
             for name in speed}  # fmt: skip
    words = ", ".join(f"{name} {value:.2f}" for name, value in speed.items())
    if lost > MOST_LOSS:
        parts = {"": (NOT, f"{lost:.2f} of BLEU are lost")}
    share = 100 * full["head"] / full["all"]
    words += f", BLEU lost {lost:.2f} ({chosen['parameters']}); with all words, the softmax takes {share:.0f} % of the time"
    return Verdict(words, "data/translate, en-de", parts)


@row("Table 3", HEAD)
def table_3(reports, paper):
    rows = reports.rows(HEAD, "Which screen")
    first = rows[0]["words x dimensions"]
    times = {row["states"]: number(row["full, ms"])[0] for row in rows if row["words x dimensions"] == first}
    if "16" not in times or "1" not in times:
        raise Missing("a product of 16 states and of 1")
    over = times["16"] / times["1"]
    judged = holds(over < 16, f"16 states take {over:.1f} times as long as one")
    return one(f"16 states {over:.2f} times as long as 1 on a CPU", f"synthetic, {first}", judged)


@row("Table 4", HEAD)
def table_4(reports, paper):
    rows = reports.rows(HEAD, "Where the time goes")
    first = rows[0]["words x dimensions"]
    own = {row["screen"]: {name: number(row[name])[0] for name in row if "ms" in name}
           for row in rows if row["words x dimensions"] == first}  # fmt: skip
    wta, full = own["wta, shared"], own["full"]
    names = {"product": "product, ms", "look-up, list": "look-up, list, ms", "hash": "hash or scan, ms",
             "normalise": "normalise, ms"}  # fmt: skip
    shares = {name: 100 * wta[column] / wta["whole, ms"] for name, column in names.items()}
    speed = full["whole, ms"] / wta["whole, ms"]
    judged = gained(speed, paper["numbers"]["speed-up"], "hashes are slower than all words")
    if judged[0] != NOT and max(shares, key=shares.get) != "product":
        judged = NOT, "products are not the largest part"
    words = f"speed-up {speed:.2f}; " + ", ".join(f"{name} {share:.1f}" for name, share in shares.items())
    return one(words, f"synthetic, {first}", judged)


@row("Table 4, naive", WARPS)
def table_4_naive(reports, paper):
    """Steps and bytes are counted, nothing is timed: steps as published count for the paper's number."""
    steps, n_bytes = ({row["way"].split(" (")[-1].rstrip(")"): number(row[column])[0] for row in reports.rows(WARPS, heading)}
                      for heading, column in (("Steps of warps", "steps per beam"), ("Bytes read", "bytes")))  # fmt: skip
    over, over_ours = steps["naive"] / steps["published"], steps["naive"] / steps["ours"]
    list_over = n_bytes["copy_if over all counts"] / n_bytes["marks"]
    words = f"look-up {over:.2f} in steps of warps as published, {over_ours:.2f} as ours; list {list_over:.0f} in bytes read"
    parts = {"look-up": gained(over, paper["numbers"]["look-up"], "naive steps are fewer"),
             "list": holds(list_over > 1, "marks are more bytes", ", bytes counted")}  # fmt: skip
    return Verdict(words, "data/translate, en-de", parts)


@row("Table 7", PAIR)
def table_7(reports, paper):
    """Each pair of languages by itself; without any the model of bench head --model."""
    softmax, all_of, _ = (max(column) for column in zip(*paper["numbers"].values()))
    marks = pairs(reports) or [MODEL]
    words, parts = [], {}
    for mark in marks:
        rows, name = translated(reports, "wta", mark=mark), mark.removeprefix(PAIR).strip() if PAIR in mark else "one model"
        row = fastest(rows, max(MOST_LOSS, min(row["lost"] for row in rows)))
        good = row["head's speed-up"] >= softmax and row["speed-up"] >= all_of
        judged = (REPRODUCED, "") if good else holds(row["speed-up"] > 1, "nothing is gained")
        parts[name] = judged if row["lost"] <= MOST_LOSS else (NOT, f"{row['lost']:.2f} of BLEU are lost")
        gains = row["head's speed-up"], row["speed-up"], row["lost"]
        words.append(f"{name} {' / '.join(f'{gain:.2f}' for gain in gains)} ({row['parameters']})")
    return Verdict("; ".join(words), "Multi30k, the test of 2016" if PAIR in marks[0] else ONE_MODEL, parts)


@row("Table 8", MODEL)
def table_8(reports, paper):
    own = {}
    for beam in paper["numbers"]:
        rows = translated(reports, "wta", beam)
        own[beam] = (fastest(rows, 0.3) if beam == BEAM else rows[0])["speed-up"]
    why = f"hashes make a beam of 48 {own['48']:.2f} times as fast, less than one of 12, {own['12']:.2f} times"
    words = ", ".join(f"{beam} {value:.2f}" for beam, value in own.items())
    return one(words, ONE_MODEL, holds(own["48"] >= own["12"], why))


def n_beaten(points, by):
    """How many points are beaten by one that is faster and not worse."""
    return sum(any(b["speed-up"] > p["speed-up"] and b["BLEU"] >= p["BLEU"] for b in by) for p in points)


def at_points(n_good, n, points, state):
    """An order that holds at more than half of the points of a figure."""
    why = f"{n - n_good} of {n} {points} are not {state}"
    return holds(n_good > n / 2, why, "" if n_good == n else f" at {n_good} of {n} points")


def at_speed(curve, speed):
    """BLEU of a curve at a speed-up, by straight lines between its points; None outside of them."""
    points = sorted((row["speed-up"], row["BLEU"]) for row in curve)
    i = bisect.bisect(points, (speed,))
    if i == 0 or i == len(points):
        return None
    (a, b), (c, d) = points[i - 1], points[i]
    return b + (d - b) * (speed - a) / (c - a)


def above(curve, other):
    """(points of curve above other at their speed, points that other reaches)"""
    found = [(row["BLEU"], at_speed(other, row["speed-up"])) for row in curve]
    both = [bleu > there for bleu, there in found if there is not None]
    if not both:
        raise Missing("two curves with speeds in common")
    return sum(both), len(both)


@row("Figure 6", MODEL)
@by_model()
def figure_6(reports, mark):
    n_above, n = above(*(translated(reports, screen, BEAM, mark) for screen in ("wta", "frequent")))
    return f"{n_above} of {n} points of wta above the frequent words", at_points(n_above, n, "points", "above")


@row("Figure 6, WA", ALIGNMENT)
@by_model(ALIGNMENT, "data/translate")
def figure_6_alignments(reports, mark):
    """A point of the hashes is beaten by one of the alignments that is faster and not worse."""
    curve, other = (translated(reports, screen, BEAM, mark) for screen in ("align", "wta"))
    beaten, best = n_beaten(other, curve), fastest(curve)
    words = f"{beaten} of {len(other)} points of wta beaten by an alignment that is faster and not worse"
    gains = f"the fastest {best['speed-up']:.2f}, BLEU lost {best['lost']:.2f} ({best['parameters']})"
    return f"{words}, {gains}", at_points(beaten, len(other), "points of the hashes", "beaten")


def smaller(reports, screen, mark):
    """The curve of beams of 12 and fewer; speeds over the full head with a beam of 12."""
    whole = translated(reports, "full", BEAM, mark)[0]
    rows = [translated(reports, screen, beam, mark)[0] for beam in ("1", "3", "6")]
    rows.append(whole if screen == "full" else fastest(translated(reports, screen, BEAM, mark), 0.3))
    return [{**row, "speed-up": whole["all, s"] / row["all, s"]} for row in rows]


@row("Figure 7", MODEL)
@by_model()
def figure_7(reports, mark):
    """A point of smaller beams alone is beaten by one with hashes that is faster and not worse."""
    curve, alone = smaller(reports, "wta", mark), smaller(reports, "full", mark)
    beaten = n_beaten(alone, curve)
    words = f"{beaten} of {len(alone)} beams alone beaten by a beam with hashes that is faster and not worse"
    return words, at_points(beaten, len(alone), "beams alone", "beaten")


@row("Figure 8", MODEL)
@by_model()
def figure_8(reports, mark):
    """The least and the greatest number of frequent words, at the thresholds that were measured with both."""
    by_count = {}
    for row in translated(reports, "wta", BEAM, mark):
        count, threshold = row["parameters"].split(", ")
        by_count.setdefault(count, {})[threshold] = row
    counts = sorted(by_count, key=lambda words: number(words)[0])
    both = set(by_count[counts[0]]) & set(by_count[counts[-1]]) if len(counts) > 1 else ()
    if not both:
        raise Missing("two numbers of frequent words at one threshold")
    few, many = ([by_count[count][threshold] for threshold in both] for count in (counts[0], counts[-1]))
    fast = {name: max(row["speed-up"] for row in some) for name, some in ((counts[0], few), (counts[-1], many))}
    least = {name: min(row["BLEU"] for row in some) for name, some in ((counts[0], few), (counts[-1], many))}
    good = fast[counts[0]] > fast[counts[-1]] and least[counts[0]] < least[counts[-1]]
    words = ", ".join(f"{name} speed-up {fast[name]:.2f} at most and BLEU {least[name]:.2f} at least" for name in fast)
    return words, holds(good, "more frequent words are not slower and better")

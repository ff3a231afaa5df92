# SPDX-License-Identifier: Apache-2.0
"""Rows of the WTA-LSH paper: hashes before the output layer of a beam search."""

import bisect

from bench.shared.markdown import Missing, number
from bench.papers.verdict import NOT, ORDER, REPRODUCED, Verdict, gained, one

HEAD, MODEL, TIMES, WARPS = "bench head", "bench head --model", "translate --times", "bench papers, warps"
ALIGNMENT, PAIR = "bench head --alignment", "bench head --pair"
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


def model_of(reports):
    return "the model of `bench head --model`"


def pairs(reports):
    return [mark for mark in reports.tables if mark.startswith(PAIR)]


def by_model(reports, judge, first=MODEL, name="bench head --model"):
    """judge(reports, mark) -> (words, verdict) of one model, and of each pair of languages that has what it needs."""
    own = {name: judge(reports, first)}
    for mark in pairs(reports):
        try:
            own[mark.removeprefix(PAIR).strip()] = judge(reports, mark)
        except Missing:
            continue
    words = "; ".join(f"{name}: {text}" for name, (text, _) in own.items())
    return Verdict(words, ", ".join(own), {name: judged for name, (_, judged) in own.items()})


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


def table_3(reports, paper):
    rows = reports.rows(HEAD, "Which screen")
    first = rows[0]["words x dimensions"]
    times = {row["states"]: number(row["full, ms"])[0] for row in rows if row["words x dimensions"] == first}
    if "16" not in times or "1" not in times:
        raise Missing("a product of 16 states and of 1")
    over = times["16"] / times["1"]
    judged = (ORDER, "") if over < 16 else (NOT, f"16 states take {over:.1f} times as long as one")
    return one(f"16 states {over:.2f} times as long as 1 on a CPU", f"synthetic, {first}", judged)


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


def table_4_naive(reports, paper):
    """Steps and bytes are counted, nothing is timed: steps as published count for the paper's number."""
    steps, n_bytes = ({row["way"].split(" (")[-1].rstrip(")"): number(row[column])[0] for row in reports.rows(WARPS, heading)}
                      for heading, column in (("Steps of warps", "steps per beam"), ("Bytes read", "bytes")))  # fmt: skip
    over, over_ours = steps["naive"] / steps["published"], steps["naive"] / steps["ours"]
    list_over = n_bytes["copy_if over all counts"] / n_bytes["marks"]
    words = f"look-up {over:.2f} in steps of warps as published, {over_ours:.2f} as ours; list {list_over:.0f} in bytes read"
    parts = {"look-up": gained(over, paper["numbers"]["look-up"], "naive steps are fewer"),
             "list": (ORDER, ", bytes counted") if list_over > 1 else (NOT, "marks are more bytes")}  # fmt: skip
    return Verdict(words, "data/translate, en-de", parts)


def table_7(reports, paper):
    """Each pair of languages by itself; without any the model of bench head --model."""
    softmax, all_of, _ = (max(column) for column in zip(*paper["numbers"].values()))
    marks = pairs(reports) or [MODEL]
    words, parts = [], {}
    for mark in marks:
        rows, name = translated(reports, "wta", mark=mark), mark.removeprefix(PAIR).strip() if PAIR in mark else "one model"
        row = fastest(rows, max(MOST_LOSS, min(row["lost"] for row in rows)))
        good = row["head's speed-up"] >= softmax and row["speed-up"] >= all_of
        judged = (REPRODUCED, "") if good else (ORDER, "") if row["speed-up"] > 1 else (NOT, "nothing is gained")
        parts[name] = judged if row["lost"] <= MOST_LOSS else (NOT, f"{row['lost']:.2f} of BLEU are lost")
        gains = row["head's speed-up"], row["speed-up"], row["lost"]
        words.append(f"{name} {' / '.join(f'{gain:.2f}' for gain in gains)} ({row['parameters']})")
    return Verdict("; ".join(words), "Multi30k, the test of 2016" if PAIR in marks[0] else model_of(reports), parts)


def table_8(reports, paper):
    own = {}
    for beam in paper["numbers"]:
        rows = translated(reports, "wta", beam)
        own[beam] = (fastest(rows, 0.3) if beam == BEAM else rows[0])["speed-up"]
    judged = (ORDER, "") if own["48"] >= own["12"] else (
        NOT, f"hashes make a beam of 48 {own['48']:.2f} times as fast, less than one of 12, {own['12']:.2f} times")  # fmt: skip
    return one(", ".join(f"{beam} {value:.2f}" for beam, value in own.items()), model_of(reports), judged)


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


def figure_6(reports, paper):
    return by_model(reports, judge_frequent)


def judge_frequent(reports, mark):
    n_above, n = above(*(translated(reports, screen, BEAM, mark) for screen in ("wta", "frequent")))
    judged = (ORDER, "") if n_above == n else (NOT, f"{n - n_above} of {n} points are not above")
    if n > n_above > n / 2:
        judged = ORDER, f" at {n_above} of {n} points"
    return f"{n_above} of {n} points of wta above the frequent words", judged


def figure_6_alignments(reports, paper):
    """Points of bench head --alignment, and the fewer ones of each pair of languages."""
    return by_model(reports, judge_alignments, ALIGNMENT, "data/translate")


def judge_alignments(reports, mark):
    """A point of the hashes is beaten by one of the alignments that is faster and not worse."""
    curve, other = (translated(reports, screen, BEAM, mark) for screen in ("align", "wta"))
    beaten = sum(any(a["speed-up"] > w["speed-up"] and a["BLEU"] >= w["BLEU"] for a in curve) for w in other)
    judged = (ORDER, "" if beaten == len(other) else f" at {beaten} of {len(other)} points")
    if beaten <= len(other) / 2:
        judged = NOT, f"{len(other) - beaten} of {len(other)} points of the hashes are not beaten"
    best = fastest(curve)
    words = f"{beaten} of {len(other)} points of wta beaten by an alignment that is faster and not worse"
    gains = f"the fastest {best['speed-up']:.2f}, BLEU lost {best['lost']:.2f} ({best['parameters']})"
    return f"{words}, {gains}", judged


def smaller(reports, screen, mark):
    """The curve of beams of 12 and fewer; speeds over the full head with a beam of 12."""
    whole = translated(reports, "full", BEAM, mark)[0]
    rows = [translated(reports, screen, beam, mark)[0] for beam in ("1", "3", "6")]
    rows.append(whole if screen == "full" else fastest(translated(reports, screen, BEAM, mark), 0.3))
    return [{**row, "speed-up": whole["all, s"] / row["all, s"]} for row in rows]


def figure_7(reports, paper):
    return by_model(reports, judge_beams)


def judge_beams(reports, mark):
    """A point of smaller beams alone is beaten by one with hashes that is faster and not worse."""
    curve, alone = smaller(reports, "wta", mark), smaller(reports, "full", mark)
    beaten = sum(any(w["speed-up"] > p["speed-up"] and w["BLEU"] >= p["BLEU"] for w in curve) for p in alone)
    words = f"{beaten} of {len(alone)} beams alone beaten by a beam with hashes that is faster and not worse"
    judged = (ORDER, "" if beaten == len(alone) else f" at {beaten} of {len(alone)} points")
    if beaten <= len(alone) / 2:
        judged = NOT, f"{len(alone) - beaten} of {len(alone)} beams alone are not beaten"
    return words, judged


def figure_8(reports, paper):
    return by_model(reports, judge_counts)


def judge_counts(reports, mark):
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
    judged = (ORDER, "") if good else (NOT, "more frequent words are not slower and better")
    words = ", ".join(f"{name} speed-up {fast[name]:.2f} at most and BLEU {least[name]:.2f} at least" for name in fast)
    return words, judged


ROWS = {
    ("WTA-LSH", "Table 1"): (TIMES, table_1),
    ("WTA-LSH", "Table 3"): (HEAD, table_3),
    ("WTA-LSH", "Table 4"): (HEAD, table_4),
    ("WTA-LSH", "Table 4, naive"): (WARPS, table_4_naive),
    ("WTA-LSH", "Table 7"): (PAIR, table_7),
    ("WTA-LSH", "Table 8"): (MODEL, table_8),
    ("WTA-LSH", "Figure 6"): (MODEL, figure_6),
    ("WTA-LSH", "Figure 6, WA"): (ALIGNMENT, figure_6_alignments),
    ("WTA-LSH", "Figure 7"): (MODEL, figure_7),
    ("WTA-LSH", "Figure 8"): (MODEL, figure_8),
}

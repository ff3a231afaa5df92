# SPDX-License-Identifier: Apache-2.0
"""Rows of the WTA-LSH paper: hashes before the output layer of a beam search."""

import bisect
from functools import partial

from bench.papers import verdict
from bench.papers.verdict import Figure, Judged, Missing, gain, less, most, order, over, reaches

row = partial(verdict.row, "WTA-LSH")
RUNS, TRANSLATIONS = "papers-runs", "head-translation"
MODELS, BEAM = ("large", "en-de", "en-fr", "fr-en"), "12"
PARTS = {"softmax": "head", "expansion": "expansion", "all": "all"}


def curve(results, model, screen, beam=BEAM):
    """The points of a screen: {unit: Figure}, with the parameters under "setting"."""
    points = {}
    for found in results.rows(TRANSLATIONS, case=model, system=screen, setting=lambda s: s.split("; ")[-1] == f"beam {beam}"):
        point = points.setdefault(found["setting"], {"setting": found["setting"].rpartition("; ")[0]})
        point[found["unit"]] = Figure(float(found["value"]), 0, found)
    if not points:
        raise Missing(f"results/{TRANSLATIONS}.csv: {model}, {screen}, beam {beam}")
    return list(points.values())


def value(point, unit):
    return point[unit].value


def fastest(points, loss):
    good = [point for point in points if value(point, "BLEU less than full") <= loss]
    if not good:
        raise Missing(f"results/{TRANSLATIONS}.csv: a setting that loses {loss} BLEU at most")
    return max(good, key=lambda point: value(point, "speed-up"))


def better(points, than):
    """Whether one of the points is faster and not worse."""
    speed, bleu = value(than, "speed-up"), value(than, "BLEU")
    return any(value(p, "speed-up") > speed and value(p, "BLEU") >= bleu for p in points)


def beaten(name, points, by):
    """A claim for each point, that one of another curve is faster and not worse."""
    for p in points:
        found = Figure(better(by, p), 0, p["BLEU"].row)
        yield reaches(f"{name}, {p['setting'] or 'all words'}", found, 1, unit="beaten")


def by_model(judge, models=MODELS):
    """{model: the claims that judge(model) makes} of the models whose figures are there."""
    out = {}
    for model in models:
        try:
            out[model] = list(judge(model))
        except Missing:
            continue
    if not out:
        raise Missing(f"results/{TRANSLATIONS}.csv: a model with these curves")
    return out


@row("Table 1")
def table_1(results, paper):
    def get(screen, unit, **wanted):
        return results.get(RUNS, case="en-de: translate --times, beam 12", system=screen, unit=unit, **wanted)

    def ms(screen, part):
        return get(screen, "ms", setting=part)

    numbers = paper["numbers"]
    claims = [gain(name, over(ms("full", part), ms("wta", part)), numbers[name]) for name, part in PARTS.items()]
    lost = get("wta", "BLEU less than full")
    claims.append(most("BLEU lost", lost, numbers["BLEU lost"], numbers["BLEU lost"], "BLEU"))
    share = over(ms("full", "head"), ms("full", "all")).value
    return Judged({"en-de": claims}, note=f"the softmax takes {share:.0%} of the time with all words, the paper's 43 %")


@row("Table 3")
def table_3(results, paper):
    wanted = {"case": "each state with its own words", "system": "full", "unit": "ms"}
    one, many = (results.get("head", setting=f"128,000 x 1024; states {n}", **wanted) for n in (1, 16))
    together, numbers = Figure(16 * one.value / many.value, 0, many.row), paper["numbers"]
    claim = gain("states together over one by one", together, numbers["states"] / numbers["time"])
    return Judged({"synthetic": [claim]}, note=f"16 states take {over(many, one).value:.1f} times as long as one")


@row("Table 4")
def table_4(results, paper):
    def get(case, system, unit):
        return results.get("head", case=f"{case}, a beam of 12", system=system, setting="40,000 x 1000", unit=unit)

    case, parts = "where the time goes", ("product", "look-up, list", "hash or scan", "normalise")
    full, wta = get(case, "full", "ms"), get(case, "wta, shared", "ms")
    shares = {name: 100 * get(case, "wta, shared", f"{name}, ms").value / wta.value for name in parts}
    others = max(share for name, share in shares.items() if name != "product")
    claims = [
        gain("softmax over hashed", over(full, wta), paper["numbers"]["speed-up"]),
        order("product over other steps", Figure(shares["product"] - others, 0, wta.row), unit="% of the time"),
    ]
    recall = get("speed and recall", "wta, t = 2, T = 1000", "recall@12")
    words = ", ".join(f"{name} {share:.0f} %" for name, share in shares.items())
    return Judged({"synthetic": claims}, note=f"{words}; recall@12 only {recall.value:.2f}")


@row("Table 7")
def table_7(results, paper):
    softmax, whole, lost = (max(column) for column in zip(*paper["numbers"].values()))
    about = []

    def judge(model):
        point, full = fastest(curve(results, model, "wta"), lost), curve(results, model, "full")[0]
        about.append(f"{model} {value(full, 'BLEU'):.2f} / {value(full, 'head, s') / value(full, 'all, s'):.0%}")
        return [
            gain("softmax", point["head's speed-up"], softmax),
            gain("all", point["speed-up"], whole),
            most("BLEU lost", point["BLEU less than full"], lost, lost, "BLEU"),
        ]

    out = by_model(judge)
    return Judged(out, note=f"BLEU / the softmax's share with all words: {', '.join(about)}; the paper's share is 43 %")


@row("Table 8")
def table_8(results, paper):
    def speed(beam):
        points = curve(results, "large", "wta", beam)
        return (fastest(points, 0.3) if beam == BEAM else points[0])["speed-up"]

    numbers, one = paper["numbers"], speed(BEAM)
    others = [beam for beam in numbers if beam != BEAM]
    claims = [gain(f"beam of {b} over {BEAM}", over(speed(b), one), numbers[b] / numbers[BEAM]) for b in others]
    return Judged({"large": claims}, note=", ".join(f"{beam}: {speed(beam).value:.2f}" for beam in numbers))


def at_speed(points, speed):
    """BLEU of a curve at a speed-up, by straight lines between its points; None outside of them."""
    known = sorted((value(point, "speed-up"), value(point, "BLEU")) for point in points)
    i = bisect.bisect(known, (speed,))
    if i == 0 or i == len(known):
        return None
    (a, b), (c, d) = known[i - 1], known[i]
    return b + (d - b) * (speed - a) / (c - a)


@row("Figure 6")
def figure_6(results, paper):
    def judge(model):
        hashed, frequent = (curve(results, model, screen) for screen in ("wta", "frequent"))
        both = [(p, at_speed(frequent, value(p, "speed-up"))) for p in hashed]
        claims = [
            order(f"hashes over frequent words, {p['setting']}", less(p["BLEU"], Figure(there)), unit="BLEU")
            for p, there in both
            if there is not None
        ]
        if not claims:
            raise Missing("two curves with speeds in common")
        return claims

    return by_model(judge)


@row("Figure 6, WA")
def figure_6_alignments(results, paper):
    def judge(model):
        return beaten("hashes by an alignment", curve(results, model, "wta"), curve(results, model, "align"))

    return by_model(judge, ("alignment", *MODELS[1:]))


def smaller(results, screen, model):
    """The curve of beams of 12 and fewer; speeds over all words with a beam of 12."""
    whole = curve(results, model, "full")[0]
    points = [{**curve(results, model, screen, beam)[0], "setting": f"beam {beam}"} for beam in ("1", "3", "6")]
    largest = whole if screen == "full" else fastest(curve(results, model, screen), 0.3)
    return [{**p, "speed-up": over(whole["all, s"], p["all, s"])} for p in [*points, {**largest, "setting": f"beam {BEAM}"}]]


@row("Figure 7")
def figure_7(results, paper):
    return by_model(lambda m: beaten("all words by hashes", smaller(results, "full", m), smaller(results, "wta", m)))


@row("Figure 8")
def figure_8(results, paper):
    """The fewest and the most frequent words, at the thresholds that both have."""

    def judge(model):
        by_count = {}
        for point in curve(results, model, "wta"):
            count, threshold = point["setting"].split(", ")
            by_count.setdefault(int(count.removeprefix("T ")), {})[threshold] = point
        fewest, largest = min(by_count), max(by_count)
        both = sorted(set(by_count[fewest]) & set(by_count[largest])) if fewest != largest else ()
        if not both:
            raise Missing("two numbers of frequent words at one threshold")

        def extreme(choose, count, unit):
            return choose((by_count[count][t][unit] for t in both), key=lambda figure: figure.value)

        fast = [extreme(max, count, "speed-up") for count in (fewest, largest)]
        worst = [extreme(min, count, "BLEU") for count in (fewest, largest)]
        yield gain(f"fastest, T {fewest} over {largest}", over(*fast), None)
        yield order(f"worst BLEU, T {largest} over {fewest}", less(*reversed(worst)), unit="BLEU")

    return by_model(judge)

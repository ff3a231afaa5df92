# SPDX-License-Identifier: Apache-2.0
"""Rows of papers about learned models: RBE and HitMatch. Each function gives the verdict on one table or figure."""

import ctypes
import os
import re
from functools import partial

from bench.papers import verdict
from bench.papers.tables import chain, reversed_pairs
from bench.papers.verdict import GPU, NOT, ORDER, REPRODUCED, Verdict, gained, one, ordered
from bench.shared.markdown import Missing, number

rbe, hitmatch = (partial(verdict.row, paper) for paper in ("RBE", "HitMatch"))
N_SEEDS = 3  # trainings of each model, if a report's mark has no --seeds
TOWER, ADS, HITS, SCANS = "bench tower", "bench ads", "bench hits", "scans of 64 dimensions"
BUCKETS, BUCKET_ITEMS = "The best of every bucket", 256  # a table of SCANS


def listed(numbers, digits=4):
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in numbers.items())


def by_data(found, what=lambda own: listed({name: mean for name, (mean, _) in own.items()})):
    return "; ".join(f"{data}: {what(own)}" for data, own in found.items())


# ---------------------------------------------------------------------------------------------------- RBE


def table_2_sets(reports):
    """{data set: its rows}"""
    heads = reports.headings(TOWER, "Table 2, ")
    if not heads:
        raise Missing("table 2 of learned codes")
    return {head.split(", ")[1].split(":")[0]: reports.rows(TOWER, head) for head in heads}


@rbe("Table 1", TOWER)
def rbe_table_1(reports, paper):
    bits = {"float": 32}
    sets = table_2_sets(reports)
    rows = next(iter(sets.values()))
    ours = {r["model"]: [int(bits.get(r[c], r[c])) for c in ("dims", "query bits", "item bits")] for r in rows}
    wrong = [name for name in paper["numbers"] if ours.get(name) != paper["numbers"][name]]
    words = "; ".join(f"{name} {', '.join(map(str, shape))}" for name, shape in ours.items())
    return one(words, ", ".join(sets), (NOT, f"{', '.join(wrong)} differ") if wrong else (REPRODUCED, ""))


@rbe("Table 2", TOWER)
def rbe_table_2(reports, paper):
    found, parts, lifts = {}, {}, []
    for data, rows in table_2_sets(reports).items():
        found[data] = {row["model"]: number(row["AUC"]) for row in rows}
        lift = next(number(row["lift %"])[0] for row in rows if row["model"] == "rbe*")
        lifts.append(f"{data} {lift:.1f}")
        away = reversed_pairs(chain(paper["numbers"]), found[data], N_SEEDS)
        parts[data] = ordered(away, [(lift, paper["effect"]["lift"])])
    return Verdict(f"{by_data(found)}; lift {', '.join(lifts)}", ", ".join(found), parts)


def about_trainings(mark):
    """(words that follow a data set's name, trainings of each model) of a report of bench tower."""
    options = dict(re.findall(r"--(\w+) (\S+)", mark))
    n_seeds = int(options.get("seeds", N_SEEDS))
    return ", the paper's recipe" * ("recipe" in options) + ", one training" * (n_seeds == 1), n_seeds


def wide(reports, table, columns):
    """{data: {"model column": figure}} of a table that has columns for each data set, of all reports of bench tower; and
    {data: trainings of each model}."""
    out, seeds = {}, {}
    for mark in (mark for mark in reports.tables if mark.split(" --")[0] == TOWER and reports.headings(mark, table)):
        words, n_seeds = about_trainings(mark)
        rows = reports.rows(mark, table)
        for name in rows[0]:
            data, _, column = name.partition(", ")
            if column in columns:
                seeds[data + words] = n_seeds
                for row in rows:
                    key = f"{row['model']} {columns[column]}".strip()
                    out.setdefault(data + words, {})[key] = number(row[name])
    if not out:
        raise Missing(f'a table "{table}"')
    return out, seeds


def trends(reports, paper, table, columns, effects=lambda data: ()):
    """By the table's columns of a data set, {column: what follows the model's name in published.json}."""
    found, seeds = wide(reports, table, columns)
    pairs = paper.get("pairs") or chain(paper["numbers"])
    parts = {data: ordered(reversed_pairs(pairs, own, seeds[data]), effects(data)) for data, own in found.items()}
    return Verdict(by_data(found), ", ".join(found), parts)


rbe_table_4 = rbe("Table 4", TOWER)(partial(trends, table="Table 4", columns={"AUC": ""}))
rbe_table_5 = rbe("Table 5", TOWER)(partial(trends, table="Table 5", columns={"variant": "variant", "tanh": "tanh"}))


@rbe("Table 6", TOWER)
def rbe_table_6(reports, paper):
    lifts, _ = wide(reports, "Table 6", {"lift %": "lift"})

    def effects(data):
        return [(lifts[data][f"{name[6:]} lift"][0], published) for name, published in paper["effect"].items()]

    return trends(reports, paper, "Table 6", {"no weights": "no weights", "weights": "weights"}, effects)


def of_library(function, *numbers):
    """What thr_bucket_...(numbers, &out, NULL) finds, in %."""
    found, library = ctypes.c_double(), ctypes.CDLL(os.environ["THRESHER_LIBRARY"])
    if getattr(library, function)(*map(ctypes.c_uint64, numbers), ctypes.byref(found), None) != 0:
        raise Missing(f"{function} failed")
    return 100 * found.value


@rbe("Table 7", "bench papers")
def rbe_table_7(reports, paper):
    """The paper cuts its digits off where it does not round them (ERRATA RBE 7), so either counts."""
    ours, away = {}, []
    for missed, published in paper["numbers"].items():
        ours[missed] = of_library("thr_bucket_miss", 10**9, 1000, 256, int(missed))
        if abs(ours[missed] - published) >= 0.001:
            away.append(f"{missed}: {ours[missed]:.4f}")
    return one(listed(ours), "-", (NOT, "; ".join(away)) if away else (REPRODUCED, ""))


@rbe("8.3", SCANS)
def rbe_recall(reports, paper):
    """Computed at the paper's size. Codes of fewer items must keep what is computed for as many, within 1 %."""
    row = reports.rows(SCANS, BUCKETS)[0]
    n_items, measured = int(number(row["items"])[0]), number(row["recall, %"])[0]
    # The share of the best 1,000 that the best of every 256 items have on average.
    ours, expected = (of_library("thr_bucket_recall", n, 1000, BUCKET_ITEMS) for n in (1_200_000_000, n_items))
    same = round(ours, 2) == paper["numbers"]["recall"] and abs(measured - expected) <= 1
    words = f"{ours:.3f}, computed; of {n_items:,} items {measured:.1f}, where {expected:.1f} is computed"
    return one(words, f"{n_items:,} normal rows", (REPRODUCED, "") if same else (NOT, "the numbers differ"))


def times_8_3(reports):
    """{way: ms per query}, and how many items there are"""
    rows = reports.rows(SCANS, "Items of 64 dimensions")
    return {row["way"]: number(row["ms per query"])[0] for row in rows}, rows[0]["items"]


@rbe("8.3, third bit", SCANS)
def rbe_third_bit(reports, paper):
    """All bits of a query cost the same, so a third one costs half as much again as two, or less where it is cheap."""
    ms, items = times_8_3(reports)
    more = 100 * (ms["codes, 3 query bits"] / ms["codes, 2 query bits"] - 1)
    if more < 0:
        judged = NOT, f"queries of 3 bits are faster than queries of 2 bits, by {-more:.1f} %"
    elif more >= 50:
        judged = NOT, f"it adds {more:.0f} %, its share of the work"
    else:
        judged = (REPRODUCED if more <= paper["numbers"]["more"] else ORDER), ""
    return one(f"more {more:.1f}", f"{items} normal rows, a CPU", judged)


@rbe("8.3, floats", SCANS)
def rbe_floats(reports, paper):
    ms, items = times_8_3(reports)
    times = ms["floats"] / ms["codes, 3 query bits"]
    judged = gained(times, paper["numbers"]["times"], "floats are faster")
    return one(f"times {times:.1f}", f"{items} normal rows, a CPU", judged)


# ---------------------------------------------------------------------------------------------------- HitMatch


@hitmatch("Table 1", ADS)
def hitmatch_table_1(reports, paper):
    names, found, parts = list(paper["effect"]), {}, {}
    marks = [mark for mark in reports.tables if mark == ADS or mark.startswith(f"{ADS} --sets")]
    for mark, head in [(mark, head) for mark in marks for head in reports.headings(mark, "")]:
        rows = [row for row in reports.rows(mark, head) if row.get("model") in paper["numbers"]]
        if len(rows) < len(paper["numbers"]):
            continue
        data = head.split(":")[0]
        own = {row["model"]: [number(row[name]) for name in names] for row in rows}
        found[data] = own
        away = ([], [])
        for i, name in enumerate(names):
            pairs = chain({model: values[i] for model, values in paper["numbers"].items()})
            some = reversed_pairs(pairs, {model: values[i] for model, values in own.items()}, N_SEEDS)
            for all_of, more in zip(away, some):
                all_of += [f"{name}: {words}" for words in more]
        gains = [100 * (last / first - 1) for (first, _), (last, _) in zip(own["DT"], own["DT-IPNN-HitMatch"])]
        parts[data] = ordered(away, [(gain, paper["effect"][name]) for gain, name in zip(gains, names)])
        found[data]["gain, %"] = [(gain, 0) for gain in gains]
    if not found:
        raise Missing("the four models")
    words = by_data(found, lambda own: ", ".join(
        f"{model} {' / '.join(f'{mean:.4f}' if model[0] == 'D' else f'{mean:.2f}' for mean, _ in values)}"
        for model, values in own.items()))  # fmt: skip
    return Verdict(words, ", ".join(found), parts)


@hitmatch("Table 2", HITS)
def hitmatch_table_2(reports, paper):
    rows = reports.rows(HITS, "One query", features="200")
    products = {row["way"]: number(row["over posting lists"])[0] for row in rows if "CSR" in row["way"]}
    way = min(products, key=products.get)
    build = number(reports.rows(HITS, "Posting lists")[0]["build, s"])[0]
    judged = gained(products[way], paper["numbers"]["speed-up"], f"{way} is faster")
    words = f"on a CPU {products[way]:.1f} over the fastest product with rows of CSR ({way}); build {build:.2f} s"
    return one(words, "synthetic catalogue", judged)


rbe("8.3, latency", GPU)(None)

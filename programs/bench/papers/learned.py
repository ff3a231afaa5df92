# SPDX-License-Identifier: Apache-2.0
"""Rows of papers about learned models: RBE and HitMatch."""

from dataclasses import replace
from functools import partial
from math import inf

from bench.papers import verdict
from bench.papers.verdict import Figure, Judged, Missing, chain, gain, less, order, over, same

rbe, hitmatch = (partial(verdict.row, paper) for paper in ("RBE", "HitMatch"))
RUNS = "papers-runs"
OWN_NAMES = {" variant": "", " no weights": " plain", " weights": ""}  # of models, in results/tower.csv
RECIPE, ONE = "the paper's recipe", "one training"


def n_trainings(data):
    return 1 if ONE in data else 2 if RECIPE in data else 3


def trained(data, claims):
    """Claims about trainings of a data set: of one each, no difference is sure."""
    return [replace(claim, error=inf) for claim in claims] if ONE in data else claims


def data_sets(results, ending):
    cases = [row["case"] for row in results.rows("tower", case=lambda case: case.endswith(ending))]
    if not cases:
        raise Missing(f"results/tower.csv: a case{ending}")
    return [case.removesuffix(ending) for case in dict.fromkeys(cases)]


def measured(results, data, table, unit, models):
    return {model: results.get("tower", case=f"{data}: {table}", system=model, unit=unit) for model in models}


def losses(results, paper, table, data):
    """Claims that a model's log loss is below another's."""
    found = measured(results, data, table, "log loss", paper["loss"])
    for fewer, more in chain(paper["loss"]):
        difference = less(found[more], found[fewer], n_trainings(data))
        yield order(f"loss of {fewer} below {more}", difference, paper["loss"][more] - paper["loss"][fewer], "log loss")


@rbe("Table 2")
def rbe_table_2(results, paper):
    out, numbers = {}, paper["numbers"]
    for data in data_sets(results, ": table 2"):
        found = measured(results, data, "table 2", "AUC", numbers)
        steps = {pair: less(found[pair[1]], found[pair[0]], n_trainings(data)) for pair in chain(numbers)}
        claims = [order(f"{b} over {a}", step, numbers[b] - numbers[a]) for (a, b), step in steps.items()]
        lift = results.get("tower", case=f"{data}: table 2", system="rbe*", unit="lift %")
        claims.append(gain("lift of rbe*", lift, paper["effect"]["lift"], 0, "%"))
        out[data] = claims + list(losses(results, paper, "table 2", data))
    return out


def own_name(model):
    """Of a model in a paper's table, in results/tower.csv."""
    return next((model.removesuffix(end) + name for end, name in OWN_NAMES.items() if model.endswith(end)), model)


def trends(results, paper, number):
    """{data: claims} of a table of differences, which bench tower takes seed by seed."""
    out, numbers = {}, paper["numbers"]
    for data in data_sets(results, ": trends"):
        claims = []
        for fewer, more in paper.get("pairs") or chain(numbers):
            setting = f"table {number}; less that of {own_name(fewer)}"
            difference = results.get("tower", case=f"{data}: trends", system=own_name(more), setting=setting)
            claims.append(order(f"{more} over {fewer}", difference, numbers[more] - numbers[fewer]))
        out[data] = trained(data, claims)
    return out


@rbe("Table 4")
def rbe_table_4(results, paper):
    out = trends(results, paper, 4)
    return {data: claims + trained(data, list(losses(results, paper, "table 4", data))) for data, claims in out.items()}


rbe("Table 5")(partial(trends, number=5))


@rbe("Table 6")
def rbe_table_6(results, paper):
    out = trends(results, paper, 6)
    for data, claims in out.items():
        for name, published in paper["effect"].items():
            lift = results.get("tower", case=f"{data}: table 6", system=name.removeprefix("lift, "), unit="lift %")
            claims.append(gain(name, lift, published, 0, "%"))
    return out


@rbe("5, memory")
def rbe_memory(results, paper):
    n_bytes = results.get("tower", case="debian: codes", system="rbe*", unit="bytes per item").value
    return Judged({}, note=f"{n_bytes:g} bytes per item: {n_bytes * 1e9 / 2**30:.1f} GiB", verdict=verdict.EMPTY)


@rbe("Table 7")
def rbe_table_7(results, paper):
    settings = [f"at most {n} of 1,000 in 10^9" for n in paper["numbers"]]
    found = [results.get(RUNS, case="the best of every bucket", setting=setting) for setting in settings]
    return Judged({}, note=", ".join(f"{figure.value:.3f}" for figure in found), verdict=verdict.EMPTY)


@rbe("8.3")
def rbe_recall(results, paper):
    """The paper's 99.99 is what appendix B computes; ours must be what it computes for fewer items."""
    measured, computed, large = (
        results.get(RUNS, case="the best of every bucket", setting=setting)
        for setting in ("2 M items, counted", "2 M items, computed", "1.2 G items, computed")
    )
    found = Judged({"2 M random codes": [same("counted, as computed", measured, computed.value, 0.5, "%")]})
    found.note = f"{large.value:.3f} computed for 1.2 G, {computed.value:.1f} for 2 M items"
    return found


def scan(results, system):
    return results.get(RUNS, case="2 M items of 64 d, best 1,000", system=system, unit="ms")


@rbe("8.3, third bit")
def rbe_third_bit(results, paper):
    """A third bit costs something, and less than its share of the work, 50 %."""
    more = over(scan(results, "codes, 3 query bits"), scan(results, "codes, 2 query bits"))
    more.value = 100 * (more.value - 1)
    small, costs = paper["numbers"]["more"], verdict.REVERSED
    if 0 < more.value < 50:
        costs = verdict.HOLDS if more.value <= small else verdict.SMALLER
    claim = verdict.Claim("time added", more.value, small, costs, "%", row=more.row)
    return {"2 M normal rows": [claim]}


@rbe("8.3, floats")
def rbe_floats(results, paper):
    times = over(scan(results, "floats"), scan(results, "codes, 3 query bits"))
    return {"2 M normal rows": [gain("floats over codes", times, paper["numbers"]["times"])]}


@rbe("8.3, latency")
def rbe_latency(results, paper):
    ms = results.get("tower", case=lambda case: "random codes" in case, unit="ms per query")
    return Judged({}, note=f"one thread of a CPU, 1 G items: {ms.value:.0f} ms", verdict=verdict.NOT_RUN)


# ---------------------------------------------------------------------------------------------------- HitMatch


@hitmatch("Table 1")
def hitmatch_table_1(results, paper):
    out, models = {}, paper["numbers"]
    for data in ("Beauty", "Toys_and_Games", "Sports_and_Outdoors"):
        claims = []
        for i, (unit, published) in enumerate(paper["effect"].items()):
            found = {model: results.get("ads", case=data, system=model, unit=unit) for model in models}
            numbers = {model: values[i] for model, values in models.items()}
            claims += [
                order(f"{unit}: {b} over {a}", less(found[b], found[a], 3), numbers[b] - numbers[a], unit)
                for a, b in chain(numbers)
            ]
            first, last = found["DT"], found["DT-IPNN-HitMatch"]
            share = Figure(100 * (last.value / first.value - 1), 0, last.row)
            claims.append(gain(f"{unit}: last over DT", share, published, 0, "%"))
        out[data] = claims
    return out


PRODUCTS = {"rows of CSR": "rows of CSR", "columns of CSC": "touched columns of CSC"}


def over_products(results, paper, lists):
    """Claims that posting lists of a layout are faster than our own loops over CSR and CSC."""

    def ms(system):
        return results.get("hits", case="one query", system=system, setting="features 200", unit="ms per query")

    published = paper["numbers"]["speed-up"]
    return [gain(f"over {name}", over(ms(system), ms(lists)), published) for name, system in PRODUCTS.items()]


@hitmatch("Table 2")
def hitmatch_table_2(results, paper):
    given = {"case": "posting lists", "setting": lambda text: text.startswith("items as given")}
    build = results.get("hits", unit="build, s", **given)
    claims = over_products(results, paper, "Thresher")
    return Judged({"synthetic": claims}, note=f"build {build.value:.2f} s, two threads")


@hitmatch("Table 2, layout")
def hitmatch_table_2_layout(results, paper):
    return {"synthetic": over_products(results, paper, "published blocks of 8-bit ids")}

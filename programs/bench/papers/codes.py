# SPDX-License-Identifier: Apache-2.0
"""Rows of the XFBQ paper: codes of a few bits per dimension, scanned exhaustively."""

from functools import partial

from bench.papers import verdict
from bench.papers.verdict import Judged, gain, less, most, order, over, reaches

row = partial(verdict.row, "XFBQ")
DATA, KS = "books100d", ("1", "10", "100", "1,000")
SAME_SHAPE = 0.05  # the farthest that distribution functions may be apart; the paper has no number
TOLERABLE, EVEN = 0.9, 0.5  # for "tolerable", and for "not influenced heavily": nor has it for these
COMPARED = {"exact search": "Thresher, exact scan", "IVF-Flat": "Faiss IVF-Flat", "HNSW": "Faiss HNSW"}


def get(results, case, setting, **wanted):
    return results.get("xfbq", case=f"{DATA}: {case}", setting=setting, **wanted)


@row("Table 1")
def table_1(results, paper):
    floats, codes = (get(results, "products alone", s, unit="bytes of a product") for s in ("floats", "codes, 3 x 4 bits"))
    return Judged({}, note=f"{over(codes, floats).value:.3f}", verdict=verdict.EMPTY)


@row("3.5.1, lengths")
def lengths(results, paper):
    setting = "90 % of components; item bits 3; length {}; best 10"
    as_published, corrected = (get(results, "recall of codes", setting.format(s)) for s in ("as published", "corrected"))
    found = Judged({DATA: [reaches("recall uncorrected over corrected", over(as_published, corrected), TOLERABLE)]})
    found.note = f"recall@10 {as_published.value:.3f} of 3-bit codes, {corrected.value:.3f} with lengths corrected"
    return found


@row("Figure 3")
def figure_3(results, paper):
    units = "KS distance", "correlation"
    apart, alike = (get(results, "similarities as published", "item bits 3", unit=unit) for unit in units)
    claim = most("distribution functions apart", apart, SAME_SHAPE, unit="KS distance")
    return Judged({DATA: [claim]}, note=f"a mean over queries of the largest distance; correlation {alike.value:.3f}")


@row("Figure 4")
def figure_4(results, paper):
    speed = get(results, "products alone", "codes, 3 x 4 bits", unit="speed-up over floats")
    return {DATA: [gain("floats over codes", speed, paper["numbers"]["speed-up"])]}


def rate(results, k, system):
    return get(results, "precision and speed", f"k {k}; precision >= 0.99", system=system)


@row("Figure 5a")
def figure_5a(results, paper):
    def judge(k):
        for name, system in COMPARED.items():
            try:
                other = rate(results, k, system)
            except verdict.Missing:
                if name != "HNSW":  # graphs do not reach the precision at every k
                    raise
                continue
            yield gain(f"over {name}", over(rate(results, k, "Thresher"), other), paper["numbers"].get(f"over {name}"))

    return {f"k {k}": list(judge(k)) for k in KS}


@row("Figure 5a, k")
def figure_5a_k(results, paper):
    speed = over(rate(results, "1,000", "Thresher"), rate(results, "1", "Thresher"))
    return {DATA: [reaches("queries/s at k = 1,000 over k = 1", speed, EVEN)]}


@row("Figure 5b")
def figure_5b(results, paper):
    def highest(k, system):
        wanted = {"case": f"{DATA}: precision and speed", "setting": f"k {k}", "unit": "highest precision"}
        rows = results.rows("xfbq", system=lambda name: name.startswith(system) and "exact" not in name, **wanted)
        if not rows:
            raise verdict.Missing(f"results/xfbq.csv: {system} at k {k}")
        return max((verdict.Figure(float(row["value"]), 0, row) for row in rows), key=lambda figure: figure.value)

    pairs = {k: (highest(k, "Thresher"), highest(k, "Faiss IVF-PQ")) for k in KS}
    return {DATA: [order(f"codes over IVF-PQ, k {k}", less(*pair), unit="precision") for k, pair in pairs.items()]}


@row("5, extra distance")
def extra_distance(results, paper):
    numbers, claims = paper["numbers"], []
    for name in ("scale, 200 d", "scale, 96 d"):
        setting = f"scale {numbers[name]:g}; extra distance {numbers['extra distance']}"
        found, least = get(results, "scale and extra distance", setting, unit="precision@10"), numbers["precision"]
        claims.append(reaches("precision, " + setting.replace(";", ","), found, least, least, "precision@10"))
    return {DATA: claims}


@row("Table 2")
@row("Table 3")
def preparation(results, paper):
    def seconds(system, setting=lambda _: True):
        return get(results, "preparation", setting, system=system, unit="s")

    ours, numbers = seconds("Thresher"), paper["numbers"]
    claims = [
        gain(f"{name} over codes", over(seconds(f"Faiss {name}"), ours), numbers[name] / numbers["codes"])
        for name in numbers
        if name != "codes"
    ]
    return Judged({DATA: claims}, note=f"codes {ours.value:.2f} s, of the index that Figure 5a searches")

# SPDX-License-Identifier: Apache-2.0
"""HitMatch's Table 1 on logs made of public data: `./run bench ads`.

usage: ./run bench ads [--peers | --values] [--sets Beauty,...] [--seeds N] [--docs] [--again]

Makes a log of each data set (make_log.py, whose head lists what is made up), trains the paper's four models and the
losses of eq. 6 with `thresher tower train --kind dual` at its defaults, and evaluates them with `tower eval` on the test
requests. With --peers the speed of training is measured instead, beside PyTorch, on the first set
(speed.py). With --values eq. 6 is compared with eq. 2 on a log of the first set on which value
can be gained (make_log.py --bids category), by small models; the last row learns by eq. 2 from requests that are drawn
by the value of what was bought. Each result is saved once measured. A later run reuses saved results unless
--again is given.
"""

import json
import os
import statistics
import subprocess
import sys

from bench.shared.common import Kept, called, mean_of, page, parser_of, publish, run_main, spread
from bench.shared.results import Table

HERE = os.path.dirname(os.path.abspath(__file__))

MODELS = {
    "DT": ["--no-ipnn", "--no-hits"],
    "DT-IPNN": ["--no-hits"],
    "DT-HitMatch": ["--no-ipnn"],
    "DT-IPNN-HitMatch": [],
    "DT-IPNN-HitMatch, product": ["--loss", "product"],
    "DT-IPNN-HitMatch, sum": ["--loss", "sum"],
}
SMALL = ["--no-ipnn", "--no-hits", "--dims", "4", "--patience", "2"]
THIN = 5
VALUES = {  # name: whether the cheap requests are thinned, flags
    "eq. 2": (False, []),
    "eq. 6, sum": (False, ["--loss", "sum"]),
    "eq. 6, product": (False, ["--loss", "product"]),
    "eq. 2, requests by value": (True, []),
}
SETS = "Beauty,Toys_and_Games"
FIGURES = ("gauc", "recall_at_5", "recall_at_10", "value_recall_at_5", "value_recall_at_10")
COLUMNS = ("GAUC", "Recall@5", "Recall@10", "Recall@5 of value", "Recall@10 of value")


def make_log(arguments, name, *options):
    out = os.path.join(arguments.keep, "".join([name, *options]).replace("--", "-"))
    if not os.path.exists(os.path.join(out, "test.tsv")):
        make = os.path.join(HERE, "make_log.py")
        subprocess.run([sys.executable, make, os.path.join(arguments.data, "ads"), name, out, *options], check=True)
    return out


def train(arguments, log, flags, seed):
    """The output of `tower eval` for the learned model, and of `tower train` for the training."""
    files = [os.path.join(log, part + ".tsv") for part in ("train", "items", "valid", "test")]
    model = os.path.join(arguments.keep, "model.safetensors")
    words = ["--kind", "dual", "--items", files[1], "--valid", files[2], "-o", model, "--seed", str(seed), *flags]
    program = arguments.thresher
    trained = json.loads(called(program, "tower", "train", files[0], *words, "--json", "--quiet"))
    judged = json.loads(called(program, "tower", "eval", model, files[3], "--items", files[1], "--json", "--quiet"))
    return {**{key: judged[key] for key in FIGURES}, "epochs": trained["best_epoch"], "n": trained["n_requests"]}


def without_numbers(arguments, items):
    """The items without the word that is each one's own number."""
    path = os.path.join(arguments.keep, "shared.tsv")
    with open(items, encoding="utf-8") as file, open(path, "w", encoding="utf-8") as out:
        for line in file:
            name, words = line.rstrip("\n").split("\t")
            out.write(name + "\t" + " ".join(w for w in words.split(" ") if not w.startswith("item=")) + "\n")
    return path


def lists(arguments, items):
    hits = os.path.join(arguments.keep, "items.hits")
    return json.loads(called(arguments.thresher, "hits", "build", items, "-o", hits, "--force", "--json", "--quiet"))


def measure_once(arguments, kept, key, log, flags, seed):
    kept.measure(kept.results["measured"], key, lambda: train(arguments, log, flags, seed))


def measure(arguments, kept):
    for name in arguments.sets:
        log = make_log(arguments, name)
        items = os.path.join(log, "items.tsv")
        kept.results["lists"][name] = lists(arguments, items)
        kept.results["lists"][name + ", categories and brands"] = lists(arguments, without_numbers(arguments, items))
        for seed in range(1, arguments.seeds + 1):
            for model, flags in MODELS.items():
                measure_once(arguments, kept, f"{name} {seed} {model}", log, flags, seed)


# ---------------------------------------------------------------------------------------------------- report


def seeds_of(results, name, model):
    keys = [key for key in results["measured"] if key.split(" ", 2)[0] == name and key.split(" ", 2)[2] == model]
    return [results["measured"][key] for key in sorted(keys)]


def spreads(runs):
    return [spread([run[figure] for run in runs]) for figure in FIGURES]


def gains_of(runs, plain, figures):
    """Differences of means."""
    return [statistics.fmean(r[f] for r in runs) - statistics.fmean(r[f] for r in plain) for f in figures]


def set_text(results, name):
    rows = []
    for model in MODELS:
        runs = seeds_of(results, name, model)
        rows += [[model, *spreads(runs)]] if runs else []
    requests = seeds_of(results, name, "DT")
    about = f"{name}: {requests[0]['n']:,} requests to learn from, {len(requests)} seeds.\n" if requests else ""
    return page(about, Table(name, ["system"], COLUMNS, rows))


def order_rows(results, name):
    """Whether each step of Table 1's order holds, in means over seeds."""
    pairs = [("DT", "DT-IPNN"), ("DT", "DT-HitMatch"), ("DT-IPNN", "DT-IPNN-HitMatch"), ("DT-HitMatch", "DT-IPNN-HitMatch")]
    for less, more in pairs:
        a, b = seeds_of(results, name, less), seeds_of(results, name, more)
        if a and b:
            gains = gains_of(b, a, FIGURES[:3])
            yield [name, f"{less} < {more}", *(f"{gain:+.4f}" for gain in gains)]
    plain = seeds_of(results, name, "DT-IPNN-HitMatch")
    for loss in ("product", "sum"):
        runs = seeds_of(results, name, f"DT-IPNN-HitMatch, {loss}")
        if plain and runs:
            gains = gains_of(runs, plain, FIGURES[3:])
            yield [name, f"eq. 6, {loss}, over eq. 2, of value", "", *(f"{gain:+.4f}" for gain in gains)]


def text(arguments, results):
    rows = [row for name in arguments.sets for row in order_rows(results, name)]
    return page(
        "## ads\n",
        "Logs made of public data: histories, categories and brands are real; other ads of a request are sampled, half "
        "by how often they were bought, and tied; bids, which are the values, are drawn from the histograms of prices of "
        "another log and do not depend on users (programs/bench/ads/make_log.py). 30 ads per request; defaults of "
        "`thresher tower train --kind dual`; the test is every user's last purchase. Adam is (0.9, 0.999, 1e-8), where "
        "the paper's is (0.5, 0.999, 1e-8).\n",
        *(set_text(results, name) for name in arguments.sets),
        Table("orders", ["data", "what"], [f"gain in {name}" for name in COLUMNS[:3]], rows),
        lists_text(results),
    )


# ---------------------------------------------------------------------------------------------------- values


def measure_values(arguments, kept):
    options = ["--bids", "category", "--share", "0.25"]
    logs = [make_log(arguments, arguments.sets[0], *options, *thin) for thin in ([], ["--thin", str(THIN)])]
    for seed in range(1, arguments.seeds + 1):
        for name, (thin, flags) in VALUES.items():
            key = f"{arguments.sets[0]} values {seed} {name}"
            measure_once(arguments, kept, key, logs[thin], [*SMALL, *flags], seed)


def values_text(arguments, results):
    def runs_of(name):
        keys = [f"{arguments.sets[0]} values {seed} {name}" for seed in range(1, arguments.seeds + 1)]
        return [results["measured"][key] for key in keys]

    rows, plain = [], runs_of("eq. 2")
    for name in VALUES:
        runs = runs_of(name)
        gains = [mean_of([a[figure] - b[figure] for a, b in zip(runs, plain)]) for figure in FIGURES[3:]]
        more = [f"{gain:+.4f} ± {deviation:.4f}" for gain, deviation in gains]
        rows.append([name, *spreads(runs), *(["", ""] if name == "eq. 2" else more)])
    units = [*COLUMNS, *(f"gain in {name}" for name in COLUMNS[3:])]
    return page(
        "## ads\n",
        f"{arguments.sets[0]} with bids by a rule: 100 for items of one category in 8, 1 for all others "
        f"(programs/bench/ads/make_log.py --bids category); {plain[0]['n']:,} requests to learn from, DT of 4 dimensions "
        f"`{' '.join(SMALL)}`, {len(plain)} seeds. The last row learns from the requests whose bought ad bids 100 and one "
        f"in {THIN} of the others.\n",
        Table(f"{arguments.sets[0]}, bids by a rule", ["what"], units, rows),
        "Eq. 6 weighs a pair by the difference of its values, whichever of the two was bought. The score that is best "
        "for a pair does not depend on a weight that both orders share; only the accuracy of a small model is moved "
        "between pairs. Weights that follow the value of the ad that was bought do gain value on the same log.\n",
    )


def lists_text(results):
    rows = [
        [name, f"{l['n_items']:,}", f"{l['n_features']:,}", f"{l['n_postings']:,}", f"{l['bytes_per_posting']:.2f}",
         f"{l['bytes_per_posting'] / 4:.2f}"]
        for name, l in results["lists"].items()
    ]
    return Table("posting lists", ["data"], ["items", "features", "postings", "bytes per posting", "over binary CSR"], rows)


# ---------------------------------------------------------------------------------------------------- all


def main():
    quick = {"help": "with --peers: to see that it works"}
    data = {"help": "where the data sets are, in ads/"}
    keep = {"default": "build/bench/ads", "help": "for logs and results"}
    parser = parser_of("bench ads", __doc__, "again", "docs", "thresher", quick=quick, data=data, keep=keep)
    parser.add_argument("--sets", default=SETS, type=lambda names: names.split(","), metavar="NAME,...")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="from 1 (default: 3)")
    parser.add_argument("--peers", action="store_true", help="instead, training beside PyTorch on the first set")
    parser.add_argument("--values", action="store_true", help="instead, eq. 6 on a log on which value can be gained")
    arguments = parser.parse_args()
    if not os.path.isdir(os.path.join(arguments.data, "ads")):
        sys.exit(f"{arguments.data}: holds no ads/amazon_s3rec and ads/ipinyou: name the directory with --data")
    os.makedirs(arguments.keep, exist_ok=True)
    if arguments.peers:
        try:
            from bench.ads import speed as dual
        except ImportError as missing:
            sys.exit(f"bench ads --peers: {missing}: pip install numpy torch")
        dual.run(arguments, arguments.sets[0], make_log(arguments, arguments.sets[0]))
        return
    kept = Kept(os.path.join(arguments.keep, "results.json"), {"measured": {}, "lists": {}}, arguments.again)
    if arguments.values:
        measure_values(arguments, kept)
        publish(values_text(arguments, kept.results), "ads", arguments.docs)
        return
    measure(arguments, kept)
    kept.save()
    publish(text(arguments, kept.results), "ads", arguments.docs)


if __name__ == "__main__":
    run_main(main)

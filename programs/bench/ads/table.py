# SPDX-License-Identifier: Apache-2.0
"""HitMatch's Table 1 on logs made of public data: `./run bench ads`.

usage: ./run bench ads [--sets Beauty,...] [--seeds N] [--docs] [--again]

Makes a log of each data set (make_log.py, whose head lists what is made up), trains the paper's four models and the
losses of eq. 6 with `thresher tower train --kind dual` at its defaults, and evaluates them with `tower eval` on the
test requests. 30 ads per request; the test is every user's last purchase. Adam is (0.9, 0.999, 1e-8), where the paper's
is (0.5, 0.999, 1e-8). Each result is saved once measured. A later run reuses saved results unless --again is given.

Histories, categories and brands are real; other ads of a request are sampled, half by how often they were bought, and
tied; bids, which are the values, are drawn from the histograms of prices of another log and do not depend on users.
"""

import json
import os
import subprocess
import sys
from functools import partial

from bench.shared.common import Kept, called, heading, page, parser_of, publish, run_main, spread
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
SETS = "Beauty,Toys_and_Games"
FIGURES = ("gauc", "recall_at_5", "recall_at_10", "value_recall_at_5", "value_recall_at_10")
COLUMNS = ("GAUC", "Recall@5", "Recall@10", "Recall@5 of value", "Recall@10 of value")


def make_log(arguments, name):
    """The folder of a log, which is made if it is not there."""
    out = os.path.join(arguments.keep, name)
    if not os.path.exists(os.path.join(out, "test.tsv")):
        make = os.path.join(HERE, "make_log.py")
        subprocess.run([sys.executable, make, os.path.join(arguments.data, "ads"), name, out], check=True)
    return out


def train(arguments, log, flags, seed):
    """The output of `tower eval` for the learned model, and of `tower train` for the training."""
    files = [os.path.join(log, part + ".tsv") for part in ("train", "items", "valid", "test")]
    model = os.path.join(arguments.keep, "model.safetensors")
    words = ["--kind", "dual", "--items", files[1], "--valid", files[2], "-o", model, "--seed", str(seed), *flags]
    program = arguments.thresher
    trained = json.loads(called(program, "tower", "train", files[0], *words, "--json", "--quiet"))
    judged = json.loads(called(program, "tower", "eval", model, files[3], "--items", files[1], "--json", "--quiet"))
    return {**{key: judged[key] for key in FIGURES}, "epochs": trained["best_epoch"], "n": trained["n_pairs"]}


def measure(arguments, kept):
    for name in arguments.sets:
        log = make_log(arguments, name)
        for seed in range(1, arguments.seeds + 1):
            for model, flags in MODELS.items():
                kept.measure(kept.results["measured"], f"{name} {seed} {model}", partial(train, arguments, log, flags, seed))


# ---------------------------------------------------------------------------------------------------- report


def seeds_of(results, name, model):
    keys = [key for key in results["measured"] if key.split(" ", 2)[0] == name and key.split(" ", 2)[2] == model]
    return [results["measured"][key] for key in sorted(keys)]


def set_text(results, name):
    rows = []
    for model in MODELS:
        runs = seeds_of(results, name, model)
        rows += [[model, *(spread([run[figure] for run in runs]) for figure in FIGURES)]] if runs else []
    requests = seeds_of(results, name, "DT")
    about = f"{name}: {requests[0]['n']:,} requests to learn from, {len(requests)} seeds.\n" if requests else ""
    return page(about, Table(name, ["system"], COLUMNS, rows))


def text(arguments, results):
    return page(*heading("ads", __doc__), *(set_text(results, name) for name in arguments.sets))


# ---------------------------------------------------------------------------------------------------- all


def parse(bench, about):
    quick = {"help": "to see that it works"}
    data = {"help": "where the data sets are, in ads/; $THRESHER_DATA"}
    keep = {"default": "build/bench/ads", "help": "for logs and results"}
    parser = parser_of(bench, about, "again", "docs", "thresher", quick=quick, data=data, keep=keep)
    parser.add_argument("--sets", default=SETS, type=lambda names: names.split(","), metavar="NAME,...")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="from 1 (default: 3)")
    arguments = parser.parse_args()
    if not os.path.isdir(os.path.join(arguments.data, "ads")):
        sys.exit(f"{bench}: no folder ads in \"{arguments.data}\": name the public data by --data or THRESHER_DATA")
    os.makedirs(arguments.keep, exist_ok=True)
    return arguments


def main():
    arguments = parse("bench ads", __doc__)
    if arguments.quick:
        arguments.sets, arguments.seeds = arguments.sets[:1], 1
    kept = Kept(f"{arguments.keep}/results{'-quick' * arguments.quick}.json", {"measured": {}}, arguments.again)
    measure(arguments, kept)
    publish(text(arguments, kept.results), "ads", arguments.docs)


if __name__ == "__main__":
    run_main(main)

# SPDX-License-Identifier: Apache-2.0
"""Learned codes of texts: the RBE paper's tables, beside Faiss's codes and the same model in PyTorch.

usage: ./run bench tower [--parts tables,codes,speed,torch] [--quick] [--again] [--docs] [OPTION...]

Each part is saved once measured. A later run reuses saved parts unless --again is given.
Then the report is printed, or with --docs its figures are written into results/.
"""

import argparse
import json
import os
import sys
import tempfile
from functools import partial

from bench.shared.common import (  # first: one thread, and numpy is there
    Kept, called, heading, names_of, need_thresher, page, parser_of, publish, run_main,
)

from bench.search.faiss_peers import faiss_if_there
from bench.tower import codes as tower_codes, sets as tower_sets, tables as tower_tables, torch_steps as tower_torch
from bench.shared import results, way
from bench.shared.results import Table, Written

PARTS = ("tables", "codes", "speed", "torch")
FORMAT, QUICK_CODES = 3, 4_000_000  # the first of the results file
BATCH, NEGATIVES, EPOCHS, DROPOUT = 512, 511, 3, 0.25
TOLERANCE = 1e-4  # relative; of two losses of a batch: sums of floats in another order, and signs of numbers near 0


# ---------------------------------------------------------------------------------------------------- parts


def read_sets(arguments):
    """The data sets that are asked for and there, their parts written to arguments.scratch."""
    sets, share = [], tower_sets.QUICK_SHARE if arguments.quick else 1.0
    for data in tower_sets.all_sets():
        if data.name not in arguments.sets:
            continue
        if not tower_sets.read(data, arguments.data, share):
            print(f"{data.name} is left out: {data.file} is not in {arguments.data}/pairs", file=sys.stderr)
            continue
        tower_sets.write_parts(data, arguments.scratch)
        sets.append(data)
    if not sets:
        names = ", ".join(arguments.sets)
        sys.exit(f"bench tower: {arguments.data}: none of the data sets {names} are there: name another with --data")
    return sets


def measure_tables(arguments, kept):
    sets = read_sets(arguments)
    measured = tower_tables.measure(arguments, sets)
    rbe = {data.name: measured.get(("rbe*", data.name), []) for data in sets}
    rbe = {name: records for name, records in rbe.items() if all("recall" in record for record in records)}
    kept.results["tables"] = {**tower_tables.text(arguments, sets, measured).kept(), "rbe": rbe}


def measure_speed(arguments):
    sets = read_sets(arguments)
    words = [arguments.bench, "tower", arguments.scratch, "--sets", ",".join(data.name for data in sets)]
    words += ["--scratch", arguments.scratch, "--seed", str(arguments.seed)]
    codes = arguments.codes or (QUICK_CODES if arguments.quick else None)
    words += ["--quick"] * arguments.quick + (["--codes", str(codes)] if codes else [])
    path = os.path.join(arguments.scratch, "speed.csv")
    lines = [line for line in called(*words, "--csv", path).splitlines() if not line.startswith("## ")]
    return {"text": "\n".join(lines).strip() + "\n", "figures": results.read_measured(path)}


def measure_codes(arguments, kept):
    if not (faiss := faiss_if_there("codes")):
        return
    among = kept.results.setdefault("codes", {"version": faiss.__version__, "measured": {}})["measured"]
    for (data, seed), path in tower_codes.found(arguments.keep, arguments.quick).items():
        stamp = os.path.getmtime(path)
        for name in tower_codes.CODES:
            key = f"{data} {seed} {name}"
            if among.get(key, {}).get("stamp") != stamp:
                among.pop(key, None)

            def make(path=path, name=name, stamp=stamp):
                return {**tower_codes.measure(faiss, name, tower_codes.Vectors.load(path)), "stamp": stamp}

            kept.measure(among, key, make)


# ---------------------------------------------------------------------------------------------------- PyTorch


def write_pairs(path, pairs):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines("\t".join(" ".join(text.split()) for text in pair) + "\n" for pair in pairs)


def ours(arguments, pairs_path, model_path):
    """Our examples per second: the best of some epochs of the very same pairs and model."""
    words = ["--epochs", str(EPOCHS), "--batch", str(BATCH), "--word-dropout", str(DROPOUT)]
    words += ["--negatives", str(NEGATIVES), "--query-bits", "3", "--item-bits", "2"]
    words += ["--float-share", "0"]  # only steps with signs are timed
    return way.best_rate(way.epochs_of(arguments.thresher, pairs_path, model_path, *words))


def same_loss(arguments, torch, directory, model_path, pairs):
    """Our loss of one batch and PyTorch's from the same weights; raises where they are not the same."""
    path = os.path.join(directory, "batch.tsv")
    write_pairs(path, pairs)
    loss = json.loads(called(arguments.thresher, "tower", "eval", model_path, path, "--json", "--quiet"))["loss"]
    theirs = tower_torch.loss_of_batch(torch, model_path, pairs)
    if abs(theirs - loss) > TOLERANCE * loss:
        raise ValueError(f"the loss of a batch is {loss} and {theirs} in PyTorch: not the same model")
    return loss, theirs


def one_way(pairs_path, model_path, compiled, seconds):
    """In a process of its own: figures of one way."""
    with open(pairs_path, encoding="utf-8") as file:
        pairs = [tuple(line.rstrip("\n").split("\t")) for line in file]
    return tower_torch.time_way(way.one_thread(), model_path, pairs, BATCH, NEGATIVES, DROPOUT, compiled, seconds)


def beside_torch(arguments, torch, data):
    # Good pairs whose texts have words of ASCII: those PyTorch's side finds, too.
    good = [pair[:2] for pair in data.pairs if pair[2] >= tower_sets.LEAST_LABEL]
    pairs = [p for p in good if all(text.isascii() and tower_torch.words_of(text) for text in p)]
    with tempfile.TemporaryDirectory(dir=arguments.keep) as directory:
        paths = [os.path.join(directory, name) for name in ("pairs.tsv", "model.safetensors")]
        write_pairs(paths[0], pairs)
        first = ours(arguments, *paths)
        losses = same_loss(arguments, torch, directory, paths[1], pairs[:BATCH])
        ways = way.run_all(data.name, __file__, paths, arguments.quick)
        rate = max(first, ours(arguments, *paths))  # before and after the others
    return {"ours": rate, "losses": losses, "ways": ways}


def measure_torch(arguments, kept):
    try:
        torch = way.one_thread()
    except ImportError:
        print("torch: left out: torch is not installed", file=sys.stderr)
        return
    among = kept.results.setdefault("torch", {"version": torch.__version__, "sets": {}})["sets"]
    for data in tower_sets.all_sets():
        if arguments.quick and data.name != "tldr":
            continue
        if tower_sets.read(data, arguments.data):
            kept.measure(among, data.name, partial(beside_torch, arguments, torch, data), way.rate_of)
        else:
            print(f"torch: {data.name} is left out: not in {arguments.data}", file=sys.stderr)


# ---------------------------------------------------------------------------------------------------- report


def torch_text(measured):
    losses = ", ".join(f"{n}: {a['losses'][0]:.6f} and {a['losses'][1]:.6f}" for n, a in measured["sets"].items())
    rates, targets = way.tables(measured["sets"], "data", "examples_per_s", "training")
    return page(
        f"Training beside PyTorch {measured['version']}: rbe*, batches of {BATCH}, {NEGATIVES} negatives, one thread.\n",
        rates,
        f"Both compute the same: the loss of a batch of {BATCH} pairs from the same weights, ours and PyTorch's: {losses}.\n",
        targets,
    )


def codes_text(found):
    rows = tower_codes.rows_of(found["codes"]["measured"], found.get("tables", {}).get("rbe", {}))
    return page(
        f"Codes of m_1's vectors by Faiss {found['codes']['version']}:\n",
        Table("codes by Faiss", ["data", "system"], ["bytes per item", "recall@100"], rows),
    )


def text(found):
    parts = [*heading("tower", __doc__), *(Written(found[part]) for part in ("tables", "speed") if part in found)]
    if found.get("codes", {}).get("measured"):
        parts.append(codes_text(found))
    if found.get("torch", {}).get("sets"):
        parts.append(torch_text(found["torch"]))
    return page(*parts)


# ---------------------------------------------------------------------------------------------------- all


def parse():
    sets = [data.name for data in tower_sets.all_sets()]
    quick = {"help": "one seed, two epochs, a quarter of the queries: to see that it works"}
    data = {"help": "where the data sets are, in pairs/"}
    keep = {"default": "build/bench/tower", "help": "for results and vectors"}
    parser = parser_of("bench tower", __doc__, "again", "docs", "thresher", quick=quick, data=data, keep=keep)
    add = parser.add_argument
    add("--parts", type=names_of(PARTS, "part"), default=list(PARTS), metavar="NAME,...", help=", ".join(PARTS))
    add("--sets", type=names_of(sets, "data set"), default=sets, metavar="NAME,...", help="which of them")
    tables = tower_tables.TABLES
    add("--tables", type=names_of(tables, "table"), default=list(tables), metavar="N,...", help=", ".join(tables))
    add("--seed", type=int, default=1, metavar="N", help="the first one")
    add("--seeds", type=int, default=3, metavar="N", help="trainings of each model; 3")
    add("--epochs", type=int, metavar="N", help="at most; what suits a set")
    add("--batch", type=int, default=512, metavar="N", help="pairs per step; 512")
    recipes = {"choices": ["ours", "paper"], "default": "ours"}
    add("--recipe", **recipes, help="paper: no epochs of floats, no words left out, 10 negatives")
    add("--codes", type=int, metavar="N", help="codes of the long search; 100,000,000")
    add("--threads", type=int, default=1, metavar="N", help="of trainings; results are the same; 1")
    add("--bench", default="build/release/thresher-bench", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.seeds = 1 if arguments.quick else arguments.seeds
    arguments.keep += "-paper" * (arguments.recipe == "paper")
    return arguments


def main():
    arguments = parse()
    need_thresher("bench tower")
    kept = Kept(os.path.join(arguments.keep, f"report{'-quick' if arguments.quick else ''}.json"), {"format": FORMAT},
                arguments.again)  # fmt: skip
    for part in arguments.parts:
        with tempfile.TemporaryDirectory(prefix="thresher-bench-") as arguments.scratch:
            if part == "speed":
                kept.measure(kept.results, part, partial(measure_speed, arguments), lambda _: "done")
            else:
                {"tables": measure_tables, "codes": measure_codes, "torch": measure_torch}[part](arguments, kept)
        kept.save()
    publish(text(kept.results), "tower", arguments.docs)


if __name__ == "__main__":
    run_main(main)

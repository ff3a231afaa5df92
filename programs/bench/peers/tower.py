# SPDX-License-Identifier: Apache-2.0
"""Learned codes of texts: thresher-bench tower, beside Faiss's codes and the same model in PyTorch.

usage: ./run bench tower [--parts own,together,codes,speed,torch] [--quick] [--again] [--docs] [OPTION...]

OPTIONs it does not know are handed to thresher-bench tower.

Every part is kept as soon as it is measured; what is there already is not measured again unless --again asks for it.
Then the report is printed, or with --docs written into docs/benchmarks.md.
"""

import argparse
import json
import lzma
import os
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before anything that starts threads is imported

try:
    import numpy  # noqa: F401
except ImportError:
    sys.exit("bench tower: Python has no numpy; pip install numpy faiss-cpu torch, or call thresher-bench tower")

import csv
from dataclasses import asdict

import report
import tower_codes
import tower_torch

PARTS = ("own", "together", "codes", "speed", "torch")
BEGIN = "<!-- bench tower -->"
FORMAT = 1  # of the results file
TORCH_SETS = ("debian", "tldr", "homedepot")
BATCH, NEGATIVES, EPOCHS, DROPOUT = 512, 511, 3, 0.25
WAY_S, QUICK_WAY_S = 20.0, 3.0
TOLERANCE = 1e-4  # relative; of two losses of a batch: sums of floats in another order, and signs of what is near 0
TARGET = 2.0  # times PyTorch's examples a second


# ---------------------------------------------------------------------------------------------------- thresher


def thresher(arguments, words, json_too=False):
    """(text, JSON lines) of one call; what is kept makes the second one short."""
    command = [arguments.bench, "tower", "--keep", arguments.keep, *words]
    command += ["--quick"] * arguments.quick + arguments.rest
    text = subprocess.run(command + ["--again"] * arguments.again, stdout=subprocess.PIPE, text=True, check=True).stdout
    if not json_too:
        return text, []
    lines = subprocess.run([*command, "--json", "--quiet"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return text, [json.loads(line) for line in lines.splitlines()]


def without_title(text):
    """The figures of one training are told from the next ones' by a title of the report's own."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("## ")).strip() + "\n"


# ---------------------------------------------------------------------------------------------------- parts


def measure_tables(arguments, results, part):
    text, lines = thresher(arguments, ["--train", part], json_too=True)
    results[part] = {"text": text, "models": [line for line in lines if "model" in line]}


def measure_codes(arguments, results):
    try:
        import faiss
    except ImportError:
        print("codes: left out: faiss is not installed (faiss-cpu)", file=sys.stderr)
        return
    faiss.omp_set_num_threads(1)
    kept = results.setdefault("codes", {"version": faiss.__version__, "measured": {}})["measured"]
    for (train, data, seed), path in tower_codes.found(arguments.keep, arguments.quick).items():
        stamp = os.path.getmtime(path)
        vectors = None
        for codes in tower_codes.CODES:
            key = f"{train} {data} {seed} {codes.name}"
            if kept.get(key, {}).get("stamp") == stamp and not arguments.again:
                continue
            vectors = vectors or tower_codes.Vectors(path)
            start = time.perf_counter()
            kept[key] = {**tower_codes.measure(faiss, codes, vectors, data == "homedepot"), "stamp": stamp}
            save(arguments.out, results)
            words = f"recall {kept[key]['recall']:.4f}, AUC {kept[key]['auc']:.4f}"
            print(f"{key}: {words} ({time.perf_counter() - start:.0f} s)", file=sys.stderr)


def read_pairs(directory, name):
    """Pairs of a data set whose texts have words of ASCII, good ones only; [] when it is not there."""
    files = {
        "debian": ("debian_descriptions.tsv.xz", lambda row: (row[3], row[4])),
        "tldr": ("tldr_pages.en.tsv.xz", lambda row: (row[1], row[2])),
        "homedepot": ("homedepot.train.csv.xz", lambda row: (row[3], row[2]) if float(row[4]) >= 2 else ("", "")),
    }
    file_name, take = files[name]
    path = os.path.join(directory, "pairs", file_name)
    if not os.path.exists(path):
        return []
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        if ".csv" in file_name:
            rows = csv.reader(file)
        else:
            rows = (line.rstrip("\n").split("\t") for line in file)
        if name != "tldr":
            next(rows)
        pairs = [take(row) for row in rows]
    return [p for p in pairs if all(text.isascii() and tower_torch.words_of(text) for text in p)]


def write_pairs(path, pairs):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines("\t".join(" ".join(text.split()) for text in pair) + "\n" for pair in pairs)


def ours(arguments, pairs_path, model_path):
    """Our examples a second: the best of some epochs of the very same pairs and model."""
    command = [arguments.thresher, "tower", "train", pairs_path, "-o", model_path, "--threads", "1", "--quiet"]
    command += ["--epochs", str(EPOCHS), "--patience", "0", "--batch", str(BATCH), "--word-dropout", str(DROPOUT)]
    command += ["--negatives", str(NEGATIVES), "--query-bits", "3", "--item-bits", "2"]
    command += ["--float-share", "0"]  # steps with signs are what is timed
    with tempfile.TemporaryDirectory() as directory:
        curve = os.path.join(directory, "curve.csv")
        subprocess.run([*command, "--curve", curve], check=True)
        with open(curve) as file:
            return max(float(row["examples_per_s"]) for row in csv.DictReader(file))


def same_loss(arguments, torch, directory, model_path, pairs):
    """Our loss of one batch and PyTorch's from the same weights; raises where they are not the same."""
    path = os.path.join(directory, "batch.tsv")
    write_pairs(path, pairs)
    command = [arguments.thresher, "tower", "eval", model_path, path, "--json", "--quiet"]
    loss = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)["loss"]
    theirs = tower_torch.loss_of_batch(torch, model_path, pairs)
    if abs(theirs - loss) > TOLERANCE * loss:
        raise ValueError(f"the loss of a batch is {loss} and {theirs} in PyTorch: not the same model")
    return loss, theirs


def one_way(arguments):
    """A process of its own, whose environment says how memory is kept: figures of one way, as JSON."""
    pairs_path, model_path, way, budget = arguments.one_way
    torch = tower_torch.one_thread()
    with open(pairs_path, encoding="utf-8") as file:
        pairs = [tuple(line.rstrip("\n").split("\t")) for line in file]
    texts = tower_torch.Texts(pairs, keys=tower_torch.read_safetensors(model_path)[0]["grams"].tolist())
    way = tower_torch.Way(**json.loads(way))
    print(json.dumps(tower_torch.time_way(torch, model_path, texts, way, BATCH, NEGATIVES, DROPOUT, float(budget))))


def run_way(pairs_path, model_path, way, budget):
    command = [sys.executable, __file__, "--one-way", pairs_path, model_path, json.dumps(asdict(way)), str(budget)]
    environment = {**os.environ, **(tower_torch.KEEP_MEMORY if way.keep_memory else {})}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return {"failed": (done.stderr.strip().splitlines() or ["no word"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def measure_torch(arguments, results):
    try:
        torch = tower_torch.one_thread()
    except ImportError:
        print("torch: left out: torch is not installed", file=sys.stderr)
        return
    kept = results.setdefault("torch", {"version": torch.__version__, "sets": {}})["sets"]
    budget = QUICK_WAY_S if arguments.quick else WAY_S
    for name in TORCH_SETS[1:2] if arguments.quick else TORCH_SETS:
        if name in kept and not arguments.again:
            continue
        pairs = read_pairs(arguments.data, name)
        if not pairs:
            print(f"torch: {name} is left out: not in {arguments.data}", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory(dir=arguments.keep) as directory:
            pairs_path, model_path = os.path.join(directory, "pairs.tsv"), os.path.join(directory, "model.safetensors")
            write_pairs(pairs_path, pairs)
            first = ours(arguments, pairs_path, model_path)
            losses = same_loss(arguments, torch, directory, model_path, pairs[:BATCH])
            ways = {}
            for way in tower_torch.WAYS[: 3 if arguments.quick else None]:
                ways[way.name()] = run_way(pairs_path, model_path, way, budget)
                print(f"{name}, PyTorch, {way.name()}: {ways[way.name()]}", file=sys.stderr)
            rate = max(first, ours(arguments, pairs_path, model_path))  # before and after the others
        print(f"{name}, thresher: {rate:.0f} examples/s", file=sys.stderr)
        kept[name] = {"ours": rate, "losses": losses, "ways": ways, "n_pairs": len(pairs)}
        save(arguments.out, results)


# ---------------------------------------------------------------------------------------------------- report


def torch_text(measured):
    rows, figures = [], []
    for name, about in measured["sets"].items():
        rates = {way: f["examples_per_s"] for way, f in about["ways"].items() if "examples_per_s" in f}
        rows.append([name, "Thresher", f"{about['ours']:,.0f}", ""])
        for way, figure in about["ways"].items():
            if way in rates:
                ratio = about["ours"] / rates[way]
                rows.append([name, f"PyTorch: {way}", f"{rates[way]:,.0f}", f"{ratio:.2f}"])
            else:
                rows.append([name, f"PyTorch: {way}", f"failed: {figure['failed'][:80]}", ""])
        if rates:
            ratio = about["ours"] / max(rates.values())
            text = f"training over the fastest PyTorch, {name} ({max(rates, key=rates.get)})"
            figures.append([text, f">= {TARGET:g}", f"{ratio:.3g}", "yes" if ratio >= TARGET else "**no**"])
    losses = ", ".join(f"{n}: {a['losses'][0]:.6f} and {a['losses'][1]:.6f}" for n, a in measured["sets"].items())
    what = f"rbe*, batches of {BATCH}, {NEGATIVES} negatives, one thread"
    return "\n".join(
        [
            f"### Training beside PyTorch {measured['version']}: {what}\n",
            report.table(["data", "what", "examples/s", "Thresher over it"], rows),
            f"Both compute the same: the loss of a batch of {BATCH} pairs from the same weights, ours and PyTorch's: "
            f"{losses}.\n\nPyTorch: {' '.join(tower_torch.Way.__doc__.split())}\n",
            report.table(["figure", "target", "measured", "met"], figures),
        ]
    )


def codes_text(results):
    models = {
        (line["train"], line["data"], line["model"]): line
        for part in ("own", "together")
        for line in results.get(part, {}).get("models", [])
    }
    columns = ["data", "trained on", "codes", "bytes an item", "recall@100", "AUC", "rbe* gains in recall", "in AUC"]
    rows = tower_codes.rows_of(results["codes"]["measured"], models)
    title = f"### Codes of m_1's vectors by Faiss {results['codes']['version']}\n"
    return "\n".join([title, report.table(columns, rows)])


def text(results):
    parts = ["## thresher-bench tower\n"]
    if "own" in results:
        parts += ["### Trained on each data set alone\n", without_title(results["own"]["text"])]
    if "together" in results:
        parts += ["### Trained on all data sets together\n", without_title(results["together"]["text"])]
    if results.get("codes", {}).get("measured"):
        parts.append(codes_text(results))
    if "speed" in results:
        parts += ["### Speed\n", without_title(results["speed"]["text"])]
    if results.get("torch", {}).get("sets"):
        parts.append(torch_text(results["torch"]))
    return "\n".join(parts)


def write_docs(results):
    with open(report.DOCUMENT) as file:
        document = report.between(file.read(), BEGIN, report.END, text(results))
    with open(report.DOCUMENT, "w") as file:
        file.write(document)
    print(f"Written: {report.DOCUMENT}")


# ---------------------------------------------------------------------------------------------------- all


def load(path):
    if os.path.exists(path):
        with open(path) as file:
            kept = json.load(file)
        if kept.get("format") == FORMAT:
            return kept
    return {"format": FORMAT}


def save(path, results):
    with open(path + ".part", "w") as file:
        json.dump(results, file, indent=1)
    os.replace(path + ".part", path)


def parts_of(text):
    chosen = text.split(",")
    for part in chosen:
        if part not in PARTS:
            raise argparse.ArgumentTypeError(f"there is no part {part}; there are {', '.join(PARTS)}")
    return [part for part in PARTS if part in chosen]


def parse():
    parser = argparse.ArgumentParser(prog="./run bench tower", description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--parts", type=parts_of, default=list(PARTS), metavar="NAME,...", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="to see that it works, in some minutes")
    parser.add_argument("--again", action="store_true", help="measure what is kept already once more")
    parser.add_argument("--docs", action="store_true", help="write the report into docs/ instead of printing it")
    parser.add_argument("--data", default="../shared/data", metavar="DIR", help="where the data sets are, in pairs/")
    parser.add_argument("--keep", default="build/bench/tower", metavar="DIR", help="for results and vectors")
    parser.add_argument("--thresher", default="build/release/thresher", help=argparse.SUPPRESS)
    parser.add_argument("--bench", default="build/release/thresher-bench", help=argparse.SUPPRESS)
    parser.add_argument("--one-way", nargs=4, help=argparse.SUPPRESS)
    arguments, arguments.rest = parser.parse_known_args()
    arguments.rest += ["--data", arguments.data]
    arguments.out = os.path.join(arguments.keep, f"report{'-quick' if arguments.quick else ''}.json")
    return arguments


def main():
    arguments = parse()
    if arguments.one_way:
        one_way(arguments)
        return
    os.makedirs(arguments.keep, exist_ok=True)
    results = load(arguments.out)
    for part in arguments.parts:
        if part in ("own", "together"):
            measure_tables(arguments, results, part)
        elif part == "speed" and ("speed" not in results or arguments.again):
            results["speed"] = {"text": thresher(arguments, ["--speed"])[0]}
        elif part == "codes":
            measure_codes(arguments, results)
        elif part == "torch":
            measure_torch(arguments, results)
        save(arguments.out, results)
    if arguments.docs:
        write_docs(results)
    else:
        print(text(results))


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failed:
        sys.exit(failed.returncode)  # it has said why

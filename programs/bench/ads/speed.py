# SPDX-License-Identifier: Apache-2.0
"""Dual towers trained beside PyTorch: `./run bench ads-peers`.

First both are shown to compute the same: from the same weights the loss of one batch, and the weights after one step.
Then the requests per second of both, in one run, on one thread: Thresher before and after PyTorch. Batches have 4,000
requests of 30 ads, whose best is bought and whose others are as good as one another, as bench ads has them. Steps are
apart by a share of their length at most in any tensor but item.output.bias, which adds the same to all ads of a
request, so that its gradient is rounding alone.
"""

import os
import pickle
import sys
import tempfile
from functools import partial

from bench.shared.common import Kept, first_lines, heading, page, publish, read_safetensors, run_main  # first: one thread

import numpy as np
from bench.ads import table, torch_steps as dual_torch
from bench.ads.log import Batches, Log
from bench.shared import way

BATCH, EPOCHS = 4000, 3
CHECKED = 2000  # requests of the batch that both take
STILL = 1e-20  # a rate at which weights stay as they were drawn
LOSS_TOLERANCE = 1e-5  # relative; floats summed in another order
# Of the length of a step. Adam's first step is each gradient's sign, which is random if the gradient is rounding alone.
STEP_TOLERANCE = 5e-2
NO_GRADIENT = ("item.output.bias",)

# ---------------------------------------------------------------------------------------------------- thresher


def train(arguments, requests, items, valid, model, epochs, batch, *more):
    """The epochs of the training."""
    words = ["--kind", "dual", "--items", items, "--valid", valid, "--epochs", str(epochs), "--batch", str(batch)]
    return way.epochs_of(arguments.thresher, requests, model, *words, *more)


def ours(arguments, directory, requests, items):
    """Our requests per second: the best epoch. A few requests validate, which is no part of it."""
    valid = first_lines(requests, 100, os.path.join(directory, "valid.tsv"))
    rows = train(arguments, requests, items, valid, os.path.join(directory, "model"), EPOCHS, BATCH)
    return way.best_rate(rows)


# ---------------------------------------------------------------------------------------------------- the same


def apart(ours, theirs, start):
    """How far two steps from the same weights went apart, as a share of how far ours went."""
    return float(np.linalg.norm(ours - theirs) / max(np.linalg.norm(ours - start), 1e-30))


def check(arguments, torch, directory, requests, items):
    """{loss, theirs, apart}; raises where they are not the same. One step over all requests there are is an epoch."""
    some = first_lines(requests, CHECKED, os.path.join(directory, "some.tsv"))
    paths = [os.path.join(directory, name) for name in ("start", "stepped")]
    still = ["--rate", str(STILL), "--embedding-rate", str(STILL), "--hits-rate", str(STILL)]
    train(arguments, some, items, some, paths[0], 1, CHECKED, *still)
    loss = float(train(arguments, some, items, some, paths[1], 1, CHECKED)[0]["loss"])
    (start, _), (stepped, _) = (read_safetensors(path) for path in paths)
    log = Log(some, items, start)
    trainer = dual_torch.define(torch)(start, CHECKED)
    theirs = trainer.step(Batches(log).make(np.arange(CHECKED)))
    made = {name: array for name, array in trainer.weights().items() if name not in NO_GRADIENT}
    distances = {name: apart(stepped[name], array, start[name]) for name, array in made.items()}
    if abs(loss - theirs) > LOSS_TOLERANCE * loss or max(distances.values()) > STEP_TOLERANCE:
        raise ValueError(f"not the same model: losses {loss} and {theirs} in PyTorch, steps apart by {distances}")
    return {"loss": loss, "theirs": theirs, "apart": max(distances.values())}


# ---------------------------------------------------------------------------------------------------- PyTorch


def keep_log(requests, items, model, path):
    """The log as arrays, for all ways: reading it takes longer than timing one."""
    log = Log(requests, items, read_safetensors(model)[0])
    with open(path, "wb") as file:
        pickle.dump(log, file, protocol=5)


def one_way(log_path, model, compiled, seconds):
    """In a process of its own: figures of one way."""
    torch, tensors = way.one_thread(), read_safetensors(model)[0]
    with open(log_path, "rb") as file:
        log = pickle.load(file)
    return dual_torch.time_way(torch, tensors, log, BATCH, compiled, seconds)


def measure(arguments, torch, log):
    requests, items = (os.path.join(log, name) for name in ("train.tsv", "items.tsv"))
    with tempfile.TemporaryDirectory(dir=arguments.keep) as directory:
        same = check(arguments, torch, directory, requests, items)
        first = ours(arguments, directory, requests, items)
        files = [os.path.join(directory, name) for name in ("log.pickle", "model")]
        keep_log(requests, items, files[1], files[0])
        ways = way.run_all("tied", __file__, files, arguments.quick)
        rate = max(first, ours(arguments, directory, requests, items))  # before and after the others
    return {"version": torch.__version__, "ours": rate, "same": same, "ways": ways}


# ---------------------------------------------------------------------------------------------------- report


def text(name, record):
    rates, targets = way.tables({"tied": record}, "what", "requests_per_s", name)
    same = "losses {loss:.6f} and {theirs:.6f}, steps {apart:.1e} apart".format(**record["same"])
    return page(f"PyTorch {record['version']}. From the same weights {same}.\n", rates, targets)


def main():
    arguments = table.parse("bench ads-peers", __doc__)
    try:
        torch = way.one_thread()
    except ImportError:
        sys.exit("bench ads-peers: torch is not installed: pip install torch")
    name = arguments.sets[0]
    log = table.make_log(arguments, name)
    kept = Kept(f"{arguments.keep}/peers{'-quick' * arguments.quick}.json", {"format": 2}, arguments.again)
    kept.measure(kept.results, name, partial(measure, arguments, torch, log), way.rate_of)
    made = page(*heading("ads-peers", __doc__), text(name, kept.results[name]))
    publish(made, "ads-peers", arguments.docs)


if __name__ == "__main__":
    run_main(main)

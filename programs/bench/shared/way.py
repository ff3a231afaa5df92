# SPDX-License-Identifier: Apache-2.0
"""A training in PyTorch beside ours, as it is written and compiled; each is timed in a process of its own."""

import json
import sys
import time

import numpy as np
from bench.shared.common import called, figure, in_process
from bench.shared.results import Figures, Table

WARM_UP = 4
WAY_S, QUICK_WAY_S = 20.0, 3.0
TARGET = 2.0  # times PyTorch's rate
WAYS = {"PyTorch": False, "PyTorch, compiled": True}  # name: whether torch.compile is used
KEEP_MEMORY = {  # for the environment: glibc, which reads it when a process starts, gives no memory back after a step
    "MALLOC_MMAP_THRESHOLD_": "4294967295",
    "MALLOC_TRIM_THRESHOLD_": "4294967295",
    "MALLOC_TOP_PAD_": "268435456",
}


def one_thread():
    import torch

    torch.set_num_threads(1)
    return torch


def epochs_of(program, examples, model, *words):
    """The epochs of a training by `thresher tower train` on one thread, as in its JSON."""
    command = [program, "tower", "train", examples, "-o", model, "--threads", "1", "--quiet", "--json"]
    return json.loads(called(*command, "--patience", "0", *words))["epochs"]


def best_rate(epochs):
    return max(epoch["examples_per_s"] for epoch in epochs)


def rate_of(kind):
    return f"thresher: {kind['ours']:.0f} per second"


def run_all(kind, path, arguments, quick):
    """{name: its figures, or why it failed}: one_way(*arguments, compiled, seconds) of a bench's file, in a process."""
    out = {}
    for name, compiled in WAYS.items():
        seconds = QUICK_WAY_S if quick else WAY_S
        out[name] = in_process(path, "one_way", *arguments, compiled, seconds, **KEEP_MEMORY)
        print(f"{kind}, {name}: {out[name]}", file=sys.stderr)
    return out


def time_steps(make, step, n, batch, seconds, least=8):
    """Seconds of steps, after some to warm up, and the share of them that making batches took.

    make(numbers) -> batch of those examples, which are drawn anew after every epoch; step(batch).
    """
    rng = np.random.default_rng(1)
    order, at, steps, makes = rng.permutation(n), 0, [], []
    began = time.perf_counter()
    while len(steps) < WARM_UP + least or time.perf_counter() - began < seconds:
        if len(steps) == WARM_UP:
            began = time.perf_counter()
        if at + batch > n:
            order, at = rng.permutation(n), 0
        start = time.perf_counter()
        made = make(order[at : at + batch])
        makes.append(time.perf_counter() - start)
        step(made)
        steps.append(time.perf_counter() - start)
        at += batch
    steps = np.array(steps[WARM_UP:])
    return steps, float(sum(makes[WARM_UP:]) / steps.sum())


def tables(kinds, first, rate, case):
    """The rates of Thresher and of all ways, and the figures; kinds: {name: {"ours": rate, "ways": {name: figures}}}.

    first: what a kind is, a key of the table.
    """
    rows, targets = [], []
    for kind, about in kinds.items():
        rows.append([kind, "Thresher", f"{about['ours']:,.0f}", "", ""])
        over = {name: about["ours"] / found[rate] for name, found in about["ways"].items() if rate in found}
        for name, found in about["ways"].items():
            cells = [f"failed: {found.get('failed', '')[:80]}", "", ""]
            if name in over:
                cells = [f"{found[rate]:,.0f}", f"{100 * found['make_share']:.0f}", f"{over[name]:.2f}"]
            rows.append([kind, name, *cells])
        if over:
            targets.append(figure(f"training over the fastest PyTorch, {kind}", min(over.values()), TARGET))
    units = [rate.replace("_per_", "/"), "making batches, %", "Thresher over it"]
    return Table(case, [first, "system"], units, rows), Figures(targets, "training: targets")

# SPDX-License-Identifier: Apache-2.0
"""Ways to write a training in PyTorch: each is timed in a process of its own; the fastest is reported as PyTorch's
speed. A Way is a dataclass of settings with a name() and a docstring that explains them.
"""

import json
import sys
import time
from dataclasses import asdict

import numpy as np
from bench.shared.common import called, child, figure
from bench.shared.results import Figures, Table

WARM_UP = 4
WAY_S, QUICK_WAY_S = 20.0, 3.0
TARGET = 2.0  # times PyTorch's rate
KEEP_MEMORY = {  # for the environment: glibc, which reads it when a process starts, gives no memory back after a step
    "MALLOC_MMAP_THRESHOLD_": "4294967295",
    "MALLOC_TRIM_THRESHOLD_": "4294967295",
    "MALLOC_TOP_PAD_": "268435456",
}


def one_thread():
    import torch

    torch.set_num_threads(1)
    return torch


def budget(quick):
    return QUICK_WAY_S if quick else WAY_S


def epochs_of(program, examples, model, *words):
    """The epochs of a training by `thresher tower train` on one thread, as in its JSON."""
    command = [program, "tower", "train", examples, "-o", model, "--threads", "1", "--quiet", "--json"]
    return json.loads(called(*command, "--patience", "0", *words))["epochs"]


def best_rate(epochs):
    return max(epoch["examples_per_s"] for epoch in epochs)


def rate_of(kind):
    return f"thresher: {kind['ours']:.0f} per second"


class Named:
    """A way of a dataclass of words; it may be compiled and keep memory."""

    def name(self):
        words = ", ".join(value for value in asdict(self).values() if isinstance(value, str))
        return ", ".join([words] + ["compiled"] * self.compiled + ["memory kept"] * self.keep_memory)


def run_all(kind, ways, command, quick):
    """{name: its figures, or why it failed}: command, with a way's settings and the seconds, runs it in a process."""
    out = {}
    for chosen in ways:
        words = [*command, json.dumps(asdict(chosen)), str(budget(quick))]
        out[chosen.name()] = child(words, **(KEEP_MEMORY if chosen.keep_memory else {}))
        print(f"{kind}, PyTorch, {chosen.name()}: {out[chosen.name()]}", file=sys.stderr)
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
        rates = {name: found[rate] for name, found in about["ways"].items() if rate in found}
        over = {name: about["ours"] / own for name, own in rates.items()}
        rows.append([kind, "Thresher", f"{about['ours']:,.0f}", "", ""])
        for name, found in about["ways"].items():
            cells = [f"failed: {found.get('failed', '')[:80]}", "", ""]
            if name in rates:
                cells = [f"{rates[name]:,.0f}", f"{100 * found['make_share']:.0f}", f"{over[name]:.2f}"]
            rows.append([kind, f"PyTorch: {name}", *cells])
        if over:
            fastest = min(over, key=over.get)
            targets.append(figure(f"training over the fastest PyTorch, {kind} ({fastest})", over[fastest], TARGET))
    units = [rate.replace("_per_", "/"), "making batches, %", "Thresher over it"]
    return Table(case, [first, "system"], units, rows), Figures(targets, "training: targets")

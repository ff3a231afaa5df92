# SPDX-License-Identifier: Apache-2.0
"""What all comparisons share: one thread, reports, kept results."""

import argparse
import glob
import json
import os
import subprocess
import sys
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ[name] = "1"  # before anything that starts threads is imported

try:
    import numpy as np
except ImportError:
    sys.exit("bench: Python has no numpy; pip install numpy, and what CONTRIBUTING.md names under Measure")
try:
    import thresher

    thresher = thresher if thresher.__file__ else None  # a folder of that name is no package
except ImportError:  # ./run sets the path
    thresher = None

from bench.results import page as pages
from bench.shared import results

DTYPES = {"F16": "<f2", "F32": "<f4", "U64": "<u8", "U8": "u1"}


def need_thresher(bench):
    if thresher is None:
        sys.exit(f"{bench}: Python has no thresher: call ./run {bench}")


# ---------------------------------------------------------------------------------------------------- text


def figure(words, measured, least=None, most=None, digits=".4g", of=""):
    """A row of Figures, with a target or none."""
    cell = f"{measured:{digits}}"
    return [words, cell if least is None and most is None else results.Goal(cell, least, most), of]


def page(*parts):
    return results.Report(parts)


def left_out(lines):
    """A paragraph of a report, or none."""
    lines = list(lines)
    return ["Left out:\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"] if lines else []


def mean_of(values):
    """(mean, standard deviation; 0 of one value)"""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def spread(values, digits=4):
    mean, deviation = mean_of(values)
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def cpu():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown CPU")


def cache_bytes():
    """The size of the first CPU's last level cache; 0 if unknown."""
    sizes = [Path(path).read_text().strip() for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size")]
    return max((int(size[:-1]) << {"K": 10, "M": 20}[size[-1]] for size in sizes), default=0)


def machine(threads=1):
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    words = f"thresher {thresher.__version__}, {cpu()}, {os.cpu_count()} CPUs, {memory:.0f} GiB of memory"
    return f"{words}, {thresher.info().isa}, {threads} {'thread' if threads == 1 else 'threads'}"


def heading(subject, about, threads=1, more=""):
    """The first parts of a report: subject, machine, what its module says of it but for the usage, and more."""
    paragraphs = (part for part in about.split("\n\n") if not part.startswith("usage:"))
    return [f"## {subject}\n", f"{machine(threads)}.{' ' * bool(more)}{more}\n", "\n\n".join(paragraphs).strip() + "\n"]


def versions(names):
    """names: {module: title}; only modules that were imported."""
    known = [f"{title} {sys.modules[name].__version__}" for name, title in names.items() if name in sys.modules]
    return ", ".join([f"thresher {thresher.__version__}", *known])


def publish(report, subject, into_docs):
    """Print a report, or put its figures into results/ and write the page of them anew."""
    if not into_docs:
        print(report)
        return
    results.merge(report.rows(subject, thresher.info().isa))
    pages.write()


def names_of(known, what):
    """A type of argparse: NAME,... of the known names, in their order."""

    def read(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"there is no {what} {name}; there are {', '.join(known)}")
        return [name for name in known if name in chosen]

    return read


DATA = os.environ.get("THRESHER_DATA", "")  # the directory of the public data

OPTIONS = {  # that several benches have
    "docs": {"action": "store_true", "help": "write the figures into results/ and docs/results.md instead of printing them"},
    "again": {"action": "store_true", "help": "measure what is kept already once more"},
    "quick": {"action": "store_true", "help": "to see that it works"},
    "data": {"default": DATA, "metavar": "DIR", "help": "where the public data are; $THRESHER_DATA"},
    "cache": {"default": "build/bench/data", "metavar": "DIR", "help": "for data and exact answers, 5 GB"},
    "encoder": {"default": "build/bench/minilm", "metavar": "DIR", "help": "of a sentence model's files, for sentences384"},
    "keep": {"metavar": "DIR", "help": "for results"},
    "out": {"metavar": "FILE", "help": "for results"},
    "thresher": {"default": "build/release/thresher", "help": argparse.SUPPRESS},
}


def parser_of(bench, about, *names, **more):
    """A parser with some of OPTIONS, by name, or by name with other words: quick={"help": ...}."""
    made = argparse.ArgumentParser(prog=f"./run {bench}", description=about.split("\n")[0], allow_abbrev=False)
    for name in (*names, *more):
        made.add_argument(f"--{name}", **{**OPTIONS[name], **more.get(name, {})})
    return made


# ---------------------------------------------------------------------------------------------------- times


class Timer:
    """with Timer() as t: ...; t.seconds"""

    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self.start


def seconds_of(call, repeats=1, choose=min):
    """The least, or another choice, of the seconds of some calls."""
    timers = [Timer() for _ in range(repeats)]
    for timer in timers:
        with timer:
            call()
    return float(choose([timer.seconds for timer in timers]))


# ---------------------------------------------------------------------------------------------------- files


def load(path, empty):
    """The results that are kept in a file; empty where there is none, or it was written with other figures in mind."""
    if os.path.exists(path):
        kept = json.loads(Path(path).read_text(encoding="utf-8"))
        if kept.get("format") == empty.get("format"):
            return kept
    return empty


def save(path, results):
    Path(path + ".part").write_text(json.dumps(results, indent=1), encoding="utf-8")
    os.replace(path + ".part", path)


def published(*path):
    """The papers' own numbers, or those of one paper, or of one table or figure of it."""
    found = json.loads((Path(__file__).parent.parent / "papers" / "published.json").read_text(encoding="utf-8"))
    for name in path:
        found = found[name]
    return found


class Kept:
    """Results in a file: each is measured once, unless again."""

    def __init__(self, path, empty, again=False):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        self.path, self.again, self.results = path, again, load(path, empty)

    def save(self):
        save(self.path, self.results)

    def measure(self, among, name, make, words=str, title=None):
        """Keep make() as among[name], a part of the results, and print words(of it); what was left out is tried again.

        Returns whether it was measured now; not if it needs a module that is not there.
        """
        if name in among and "left_out" not in (among[name] or {}) and not self.again:
            return False
        try:
            with Timer() as timer:
                among[name] = make()
        except ImportError as missing:
            print(f"{title or name}: left out: {missing}", file=sys.stderr)
            return False
        self.save()
        print(f"{title or name}: {words(among[name])} ({timer.seconds:.0f} s)", file=sys.stderr, flush=True)
        return True


def first_lines(path, n, out):
    """The file out, of the first n lines."""
    with open(path, encoding="utf-8") as file, open(out, "w", encoding="utf-8") as first:
        first.writelines(line for _, line in zip(range(n), file))
    return out


def read_safetensors(path, wanted=None):
    """({name: array}, metadata); of the tensors that are wanted alone, or all."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        start, tensors = file.tell(), {}
        about = header.pop("__metadata__", {})
        for name in header if wanted is None else [name for name in wanted if name in header]:
            tensor = header[name]
            if tensor["dtype"] not in DTYPES:
                sys.exit(f"bench: {path}: {name} is of {tensor['dtype']}; one of {', '.join(DTYPES)} is wanted")
            first, end = tensor["data_offsets"]
            file.seek(start + first)
            tensors[name] = np.frombuffer(file.read(end - first), DTYPES[tensor["dtype"]]).reshape(tensor["shape"])
    return tensors, about


class Missing(Exception):
    """A file of a data set is not on this machine; the message names it."""


def public(*parts):
    """The path of a file or folder of the public data; raises Missing."""
    path = os.path.join(DATA, *parts)
    if not DATA or not os.path.exists(path):
        raise Missing(f"{os.path.join(*parts)} is not in \"{DATA}\": set THRESHER_DATA to the folder of the public data")
    return path


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)


# ---------------------------------------------------------------------------------------------------- processes


def child(words, **environment):
    """The JSON that a process prints in its last line, or {"failed": the last line of its errors}."""
    done = subprocess.run([sys.executable, *words], env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode != 0:
        return {"failed": (done.stderr.strip().splitlines() or ["no word"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def in_process(path, name, *arguments, **environment):
    """What the function of that name in a bench's file returns of JSON, in a process of its own; else {"failed": why}."""
    module = f"bench.{Path(path).parent.name}.{Path(path).stem}"
    words = f"import json, {module} as m; print(json.dumps(m.{name}(*{arguments!r})))"
    return child(["-c", words], **environment)


def run_main(main):
    try:
        main()
    except subprocess.CalledProcessError as failed:
        sys.exit(failed.returncode)  # it has printed why


def called(*words):
    """What a program prints on standard output; it must end well."""
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout

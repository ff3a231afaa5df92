# SPDX-License-Identifier: Apache-2.0
"""Measurements of a minute that belong to no other bench: rows of results/papers-runs.csv."""

import os
import re
import subprocess
import tempfile
from types import SimpleNamespace

from bench.shared.common import called, thresher

import numpy as np
from bench.search import xfbq
from bench.head.decode import build_head
from bench.papers import buckets as of_buckets
from bench.shared.results import OURS, Table

THRESHER, SUBJECT = "build/release/thresher", "papers-runs"
MODEL, SOURCE, TARGET = (f"data/translate/{name}" for name in ("en-de.safetensors", "test.en", "test.de"))
MOST_LOSS, FASTEST_OF, BEAM = 0.4, 3, 12
N_ITEMS, N_QUERIES, SCAN_S, N_WANTED, BUCKET_ITEMS = 2_000_000, 16, 12, 1000, 256
LARGE = 1_200_000_000
UNITS = {"s": 1e3, "ms": 1.0, "us": 1e-3}


def figures(case, unit, rows, digits=".6g"):
    """Rows of results/: [system, setting, value]."""
    cells = [[system, setting, f"{value:{digits}}"] for system, setting, value in rows]
    for figure in Table(case, ["system", "setting"], [unit], cells).figures():
        yield {"machine": thresher.info().isa, "subject": SUBJECT, **figure}


def scans():
    """RBE 8.3: codes with queries of 2 and 3 bits, and floats; and what the best of every bucket would find of them."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((N_ITEMS, 64), np.float32)
    queries = SimpleNamespace(queries=rng.standard_normal((N_QUERIES, 64), np.float32))
    ways = {
        "codes, 2 query bits": {"query_bits": 2},
        "codes, 3 query bits": {"query_bits": 3},
        "floats": {"exact": True},
    }
    best, options = {}, {"bits": 2, "lead_bits": 2, "threads": 1}
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as scratch:
        keeps = {"codes": None, "floats": "float32"}
        indexes = {n: thresher.Index.build(os.path.join(scratch, n), rows, keep=keep, **options) for n, keep in keeps.items()}
        for _ in range(FASTEST_OF):  # in turns
            for name, ask in ways.items():
                index = indexes[name.split(",")[0]]
                search = lambda some, index=index, ask=ask: index.search(some, N_WANTED, **ask)  # noqa: E731
                best[name] = max(best.get(name, 0), xfbq.rate(queries, search, SCAN_S))
        ids, _ = indexes["codes"].search(queries.queries, N_WANTED, query_bits=3)
    ms = [[name, "one query", 1e3 / speed] for name, speed in best.items()]
    yield from figures("2 M items of 64 d, best 1,000", "ms", ms, ".3f")
    found = np.mean([len(np.unique(own % (N_ITEMS // BUCKET_ITEMS))) for own in ids]) / N_WANTED
    computed = {"2 M items, computed": N_ITEMS, "1.2 G items, computed": LARGE}
    recalls = [[OURS, "2 M items, counted", 100 * found]]
    recalls += [[OURS, words, 100 * of_buckets.recall(n, N_WANTED, BUCKET_ITEMS)] for words, n in computed.items()]
    yield from figures("the best of every bucket", "recall, %", recalls, ".3f")
    misses = [of_buckets.miss(10**9, N_WANTED, BUCKET_ITEMS, n) for n in range(3)]
    chances = [[OURS, f"at most {n} of 1,000 in 10^9", 100 * chance] for n, chance in enumerate(misses)]
    yield from figures("the best of every bucket", "probability, %", chances, ".4f")


def bleu_of(path):
    """(BLEU, texts) of a translation of the test set in data/translate."""
    with open(path, encoding="utf-8") as ours, open(TARGET, encoding="utf-8") as reference:
        texts, references = ours.read().splitlines(), reference.read().splitlines()
    return thresher.bleu(texts, references, lower_case=True).bleu, texts


def translation_times(head, *words):
    """({part: ms}, BLEU) of the test set in data/translate with a beam of 12: the fastest run."""
    best, out = {}, f"{head}.out"
    for _ in range(FASTEST_OF):
        command = [THRESHER, "translate", MODEL, SOURCE, "-o", out, "--head", head, "--beam", str(BEAM), "--batch", "1"]
        command += ["--threads", "1", "--times", *words]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True)
        found = re.findall(r"^thresher: (\w+) +[\d.]+ % +([\d.]+) (s|ms|us)$", done.stderr, re.MULTILINE)
        parts = {part: float(value) * UNITS[unit] for part, value, unit in found}
        parts["all"] = sum(parts.values())
        best = parts if not best or parts["all"] < best["all"] else best
    return best, bleu_of(out)[0]


def translations(head):
    """WTA-LSH, table 1: the fastest of some settings that lose little."""
    full, bleu = translation_times(head, "--screen", "full")
    found = []
    for frequent, threshold in ((500, 3), (500, 2), (2000, 3), (2000, 2)):
        asked = "--frequent", str(frequent), "--threshold", str(threshold), "--group", "0"
        times, own = translation_times(head, "--screen", "wta", *asked)
        found.append((times, bleu - own, f"T {frequent}, t {threshold}"))
    wta, lost, parameters = max(found, key=lambda way: (way[1] <= MOST_LOSS, -way[0]["all"]))
    case = f"en-de: translate --times, beam {BEAM}"
    ms = [[screen, part, ms] for screen, times in (("full", full), ("wta", wta)) for part, ms in times.items()]
    yield from figures(case, "ms", ms, ".3f")
    yield from figures(case, "BLEU", [["full", "", bleu]], ".2f")
    yield from figures(case, "BLEU less than full", [["wta", parameters, lost]], ".2f")


NORMALISERS = ((), ("--normaliser", "sampled"), ("--normaliser", "exact"))


def options():
    """BLEU of the test set in data/translate by options of thresher translate."""
    case, found, changed = "en-de: options of translate", [], []
    with tempfile.TemporaryDirectory() as directory:
        for beam in ((), ("--beam", str(BEAM))):
            first = None
            for words in ((), ("--screen", "wta"), *(("--screen", "planes", *more) for more in NORMALISERS)):
                out = os.path.join(directory, "out")
                called(THRESHER, "translate", MODEL, SOURCE, "-o", out, *words, *beam, "--quiet")
                bleu, texts = bleu_of(out)
                first, setting = first or texts, " ".join((*words, *beam)) or "a beam of 5"
                found.append([OURS, setting, bleu])
                changed.append([OURS, setting, sum(a != b for a, b in zip(texts, first))])
    yield from figures(case, "BLEU", found, ".2f")
    yield from figures(case, "other translations than with all words, of 200", changed)


def measure():
    with tempfile.TemporaryDirectory() as directory:
        head = build_head(THRESHER, MODEL, directory)
        return [*scans(), *translations(head), *options()]

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

THRESHER, SUBJECT = "build/release/thresher", "papers-runs"
MODEL, SOURCE, TARGET = (f"data/translate/{name}" for name in ("en-de.safetensors", "test.en", "test.de"))
MOST_LOSS, FASTEST_OF, BEAM = 0.4, 3, 12
N_ITEMS, N_QUERIES, SCAN_S, N_WANTED, BUCKET_ITEMS = 2_000_000, 16, 12, 1000, 256
LARGE = 1_200_000_000
UNITS = {"s": 1e3, "ms": 1.0, "us": 1e-3}


def figure(case, system, setting, unit, value, digits=".6g"):
    return {
        "machine": thresher.info().isa,
        "subject": SUBJECT,
        "case": case,
        "system": system,
        "setting": setting,
        "unit": unit,
        "value": f"{value:{digits}}",
        "spread": "",
        "target": "",
    }


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
    best, options = {}, {"bits": 2, "lead_bits": 2, "calibration_queries": 0, "threads": 1}
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as scratch:
        codes, floats = (
            thresher.Index.build(os.path.join(scratch, f"{keep}"), rows, keep=keep, **options)
            for keep in (None, "float32")
        )
        for _ in range(FASTEST_OF):  # in turns
            for name, ask in ways.items():
                index = floats if name == "floats" else codes
                speed = xfbq.rate(
                    queries, lambda some, index=index, ask=ask: index.search(some, N_WANTED, **ask), SCAN_S
                )
                best[name] = max(best.get(name, 0), speed)
        ids, _ = codes.search(queries.queries, N_WANTED, query_bits=3)
    for name, speed in best.items():
        yield figure("2 M items of 64 d, best 1,000", name, "one query", "ms", 1e3 / speed, ".3f")
    found = np.mean([len(np.unique(own % (N_ITEMS // BUCKET_ITEMS))) for own in ids]) / N_WANTED
    buckets = "the best of every bucket"
    yield figure(buckets, "Thresher", "2 M items, counted", "recall, %", 100 * found, ".2f")
    for words, n in (("2 M items, computed", N_ITEMS), ("1.2 G items, computed", LARGE)):
        yield figure(
            buckets, "Thresher", words, "recall, %", 100 * of_buckets.recall(n, N_WANTED, BUCKET_ITEMS), ".3f"
        )
    for missed in range(3):
        chance = 100 * of_buckets.miss(10**9, N_WANTED, BUCKET_ITEMS, missed)
        yield figure(buckets, "Thresher", f"at most {missed} of 1,000 in 10^9", "probability, %", chance, ".4f")


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
    for screen, times in (("full", full), ("wta", wta)):
        for part, ms in times.items():
            yield figure(case, screen, part, "ms", ms, ".3f")
    yield figure(case, "full", "", "BLEU", bleu, ".2f")
    yield figure(case, "wta", parameters, "BLEU less than full", lost, ".2f")


NORMALISERS = ((), ("--normaliser", "sampled"), ("--normaliser", "exact"))


def options():
    """BLEU of the test set in data/translate by options of thresher translate."""
    with tempfile.TemporaryDirectory() as directory:
        for beam in ((), ("--beam", str(BEAM))):
            first = None
            for words in ((), ("--screen", "wta"), *(("--screen", "planes", *more) for more in NORMALISERS)):
                out = os.path.join(directory, "out")
                called(THRESHER, "translate", MODEL, SOURCE, "-o", out, *words, *beam, "--quiet")
                bleu, texts = bleu_of(out)
                first = first or texts
                changed = sum(a != b for a, b in zip(texts, first))
                setting = " ".join((*words, *beam)) or "a beam of 5"
                yield figure("en-de: options of translate", "Thresher", setting, "BLEU", bleu, ".2f")
                yield figure(
                    "en-de: options of translate",
                    "Thresher",
                    setting,
                    "other translations than with all words, of 200",
                    changed,
                )


def measure():
    with tempfile.TemporaryDirectory() as directory:
        head = build_head(THRESHER, MODEL, directory)
        return [*scans(), *translations(head), *options()]

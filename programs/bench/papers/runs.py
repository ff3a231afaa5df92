# SPDX-License-Identifier: Apache-2.0
"""The commands whose reports have our figures, in full and at small sizes, and the one report that is made here."""

import os
import re
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace
from pathlib import Path

from bench.shared.common import called, table, thresher

import numpy as np
from bench.search import xfbq
from bench.papers.beams import MOST_LOSS, WARPS
from bench.head import head as head_states, warps
from bench.head.decode import build_head
from bench.papers.learned import BUCKET_ITEMS, BUCKETS, SCANS

BENCH, THRESHER = "build/release/thresher-bench", "build/release/thresher"
MODEL, SOURCE, TARGET = (f"data/translate/{name}" for name in ("en-de.safetensors", "test.en", "test.de"))
TIMES = "translate --times"
COMMANDS = {  # that are not ./run and their mark
    "bench hits": "./run bench hits --peers",
    "bench head --model": "./run bench head --model MODEL --source TEXTS --target TEXTS",
    "bench head --alignment": "./run bench head --model MODEL --source TEXTS --target TEXTS --alignment FILE",
    "bench head --pair": "./run bench head --model MODEL --source TEXTS --target TEXTS --alignment FILE --pair",
    "bench rank --convergence": "./run bench rank --convergence DIR",
    **dict.fromkeys((SCANS, WARPS, TIMES), "./run bench papers"),
}
QUICK_S = 840  # for all of them
QUICK = {  # in an order in which the short ones come first: the last one gets the rest of the time
    "bench xfbq": ["programs/bench/search/xfbq.py", "--quick", "--parts", "codes,products,speed"],
    "bench xfbq --parts sweep": ["programs/bench/search/xfbq.py", "--quick", "--parts", "sweep"],
    "bench hits": [BENCH, "hits", "--items", "500000"],
    "bench head": [BENCH, "head", "--share", "25"],
    "bench rank": [BENCH, "rank", "--share", "10"],
    "bench rank --convergence": [BENCH, "rank", "--share", "10", "--convergence", "{keep}/curves"],
    "bench rank --accuracy": ["programs/bench/rank/rank.py", "--splits", "2"],
    "bench head --model": ["programs/bench/head/decode.py", "--model", MODEL, "--source", SOURCE, "--target", TARGET,
                           "--sentences", "60"],
    "bench ads": ["programs/bench/ads/table.py", "--sets", "Beauty", "--seeds", "1", "--keep", "{keep}/ads"],
    "bench tower": ["programs/bench/tower/tower.py", "--quick", "--parts", "own"],
}  # fmt: skip
FASTEST_OF, WARP_TEXTS = 3, 5
N_ITEMS, N_QUERIES, SCAN_S = 2_000_000, 16, 0.4
UNITS = {"s": 1e3, "ms": 1.0, "us": 1e-3}


def bleu_of(path):
    """(BLEU, texts) of a translation of the test set in data/translate."""
    with open(path, encoding="utf-8") as ours, open(TARGET, encoding="utf-8") as reference:
        texts, references = ours.read().splitlines(), reference.read().splitlines()
    return thresher.bleu(texts, references, lower_case=True).bleu, texts


def translation_times(head, n_runs, *words):
    """({part: ms}, BLEU) of the test set in data/translate with a beam of 12: the fastest run."""
    best, out = {}, f"{head}.out"
    for _ in range(n_runs):
        command = [THRESHER, "translate", MODEL, SOURCE, "-o", out, "--head", head, "--beam", "12", "--batch", "1"]
        command += ["--threads", "1", "--times", *words]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True)
        found = re.findall(r"^thresher: (\w+) +[\d.]+ % +([\d.]+) (s|ms|us)$", done.stderr, re.MULTILINE)
        parts = {part: float(value) * UNITS[unit] for part, value, unit in found}
        parts["all"] = sum(parts.values())
        best = parts if not best or parts["all"] < best["all"] else best
    return best, bleu_of(out)[0]


def scans():
    """The report of RBE 8.3: codes with queries of 2 and 3 bits, and floats; and what Algorithm 1 would find of them."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((N_ITEMS, 64), np.float32)
    queries = SimpleNamespace(queries=rng.standard_normal((N_QUERIES, 64), np.float32))
    ways = {"codes, 2 query bits": {"query_bits": 2}, "codes, 3 query bits": {"query_bits": 3}, "floats": {"exact": True}}
    best, options = {}, {"bits": 2, "lead_bits": 2, "calibration_queries": 0, "threads": 1}
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as scratch:
        codes, floats = (thresher.Index.build(os.path.join(scratch, f"{keep}"), rows, keep=keep, **options)
                         for keep in (None, "float32"))  # fmt: skip
        for _ in range(FASTEST_OF):  # in turns
            for name, ask in ways.items():
                index = floats if name == "floats" else codes
                speed = xfbq.rate(queries, lambda some, index=index, ask=ask: index.search(some, 1000, **ask), SCAN_S)
                best[name] = max(best.get(name, 0), speed)
        ids, _ = codes.search(queries.queries, 1000, query_bits=3)
    found = 100 * np.mean([len(np.unique(own % (N_ITEMS // BUCKET_ITEMS))) for own in ids]) / 1000
    lines = [[f"{N_ITEMS:,}", name, f"{1e3 / speed:.3f}"] for name, speed in best.items()]
    return "\n".join([
        "### Items of 64 dimensions, best 1,000\n", table(["items", "way", "ms per query"], lines),
        f"### {BUCKETS} beside the best 1,000\n", table(["items", "recall, %"], [[f"{N_ITEMS:,}", f"{found:.2f}"]]),
    ])  # fmt: skip


def sections_now(n_runs=FASTEST_OF):
    """{mark: report} of measurements that take seconds and belong to no other bench; translations are run n_runs times."""
    return {TIMES: translations(n_runs), SCANS: scans(), WARPS: steps_of_warps()}


def steps_of_warps():
    """Table 4 of WTA-LSH, naive variants."""
    with tempfile.TemporaryDirectory() as directory:
        path = build_head(THRESHER, MODEL, directory)
        states = head_states.decoder_states(MODEL, SOURCE, WARP_TEXTS, THRESHER)
        with thresher.Head.open(path, threads=1) as opened:
            return warps.report(path, opened, states, head_states.BEAM, threshold=3, n_frequent=500)


def translations(n_runs):
    found = []
    with tempfile.TemporaryDirectory() as directory:
        head = build_head(THRESHER, MODEL, directory)
        full, bleu = translation_times(head, n_runs, "--screen", "full")
        for frequent, threshold in ((500, 3), (500, 2), (2000, 3), (2000, 2)):
            asked = "--frequent", str(frequent), "--threshold", str(threshold), "--group", "0"
            times, own = translation_times(head, n_runs, "--screen", "wta", *asked)
            found.append((times, bleu - own, f"T {frequent}, t {threshold}"))
    wta, lost, parameters = max(found, key=lambda way: (way[1] <= MOST_LOSS, -way[0]["all"]))
    parts = []
    for screen, times in (("full", full), ("wta", wta)):
        lines = [[part, f"{ms:.3f}"] for part, ms in times.items()]
        parts += [f"### Beam of 12, {screen}\n", table(["part", "ms"], lines)]
    parts += ["### BLEU\n", table(["full", "lost by wta", "parameters"], [[f"{bleu:.2f}", f"{lost:.2f}", parameters]])]
    return "\n".join(parts)


NORMALISERS = ((), ("--normaliser", "sampled"), ("--normaliser", "exact"))


def options_table():
    """BLEU of the test set in data/translate by options of thresher translate, for docs/translate.md."""
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        for beam in ((), ("--beam", "12")):
            first = None
            for words in ((), ("--screen", "wta"), *(("--screen", "planes", *more) for more in NORMALISERS)):
                out = os.path.join(directory, "out")
                called(THRESHER, "translate", MODEL, SOURCE, "-o", out, *words, *beam, "--quiet")
                bleu, texts = bleu_of(out)
                first = first or texts
                changed = sum(a != b for a, b in zip(texts, first)) if words else "-"
                options = " ".join((*words, *beam))
                rows.append([f"`{options}`" if options else "none: a beam of 5", f"{bleu:.2f}", changed])
    return table(["options", "BLEU", f"translations that differ from the full head's with that beam, of {len(first)}"], rows)


def quick_sections(keep):
    """{mark: report} of every way that could be run in the time; ways that failed or were stopped are reported and left out."""
    os.makedirs(keep, exist_ok=True)
    began, sections = time.monotonic(), sections_now(n_runs=1)
    for mark, words in QUICK.items():
        left = QUICK_S - (time.monotonic() - began)
        words = [word.replace("{keep}", keep) for word in words]
        command = [sys.executable, *words] if words[0].endswith(".py") else words
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=max(left, 1))
            why = (done.stderr.strip().splitlines() or ["no word"])[-1] if done.returncode != 0 else None
        except subprocess.TimeoutExpired:
            why = "no time was left"
        if why:
            print(f"{mark}: left out: {why}", file=sys.stderr)
            continue
        Path(os.path.join(keep, mark.replace(" ", "-") + ".md")).write_text(done.stdout, encoding="utf-8")
        sections[mark] = done.stdout
        print(f"{mark}: {time.monotonic() - began:.0f} s so far", file=sys.stderr)
    return sections

# SPDX-License-Identifier: Apache-2.0
"""Items that come and go: searches beside a writer, turnovers, removal; other libraries on the same turnover.

usage: ./run bench live [--parts NAME,...] [--quick] [--again] [--docs] [--out FILE]

books100d, 117,614 word vectors, cosine; files on a disk. Every change is durable before the next one begins. A turnover
replaces every item in random order, 1,000 a commit; the vectors change places, so that a fresh build has the same ones.
The writer beside searches is a process of its own and replaces items, so that their number stays. Seconds at first are
those of the build.

Each part is measured in a process of its own and saved in FILE; a later run reuses it, unless --again is given.
"""

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from bench.shared.common import (  # first: one thread, and numpy is there
    Kept, Timer, figure, heading, in_process, left_out, names_of, need_thresher, page, parser_of, publish, seconds_of,
    thresher,
)  # fmt: skip

from bench.search import datasets, measure
from bench.live import peers as live_peers
from bench.shared.results import Figures, Table
import numpy as np

K, BATCH, TURNOVERS, SEED = measure.K, 1000, 10, 1
BUDGET_S = 1.0
PEER_ITEMS = 10_000  # of the comparison with other libraries, of which hnswlib replaces some hundred per second
QUICK_ITEMS, QUICK_TURNOVERS = 4000, 2
WRITER_RATE, WRITER_S, WRITER_START_S = 10_000, 8.0, 4.0  # items per second of the writer process, how long, and its start
FORMAT = 1


def subset(data, n):
    return datasets.of_rows(data, data.base[:n], data.queries, K)


def build(data, base, scratch):
    """A new index of base."""
    path = tempfile.mkdtemp(dir=scratch)
    return thresher.Index.build(path, np.ascontiguousarray(base), metric=data.metric, threads=1)


def point(data, search, budget):
    """Speed, and recall over all queries."""
    return measure.measure(data, search, budget, recall_s=3600.0)


def turn(index, base, order, rng):
    """One turnover: every id gets the vector of another one, in random order, in batches. Which vector an id has now."""
    ids, vectors = rng.permutation(len(base)), rng.permutation(len(base))
    for first in range(0, len(ids), BATCH):
        some = slice(first, first + BATCH)
        index.replace(ids[some], np.ascontiguousarray(base[vectors[some]]))
    order[ids] = vectors
    return order


def turnovers(name, data, n, scratch, budget):
    """An index after n turnovers beside itself at first, at its best setting each time."""
    index, rng = live_peers.made(name, data, scratch), np.random.default_rng(SEED)
    base = np.ascontiguousarray(data.base)
    order = np.arange(len(base))
    out = {"title": index.title, "n": n, "n_items": len(base), "build_s": seconds_of(lambda: index.build(base)),
           "before": best(index, data, order, budget), "recalls": [], "seconds": 0.0}  # fmt: skip
    for _ in range(n):
        out["seconds"] += seconds_of(lambda: turn(index, base, order, rng))
        out["recalls"].append(recall_now(index, data, order, index.settings[-1]))
    return {**out, "after": best(index, data, order, budget)}


def searcher(index, order, setting):
    """Answers as row numbers of the data, whichever id has that vector now."""

    def search(queries, k):
        ids = index.search(queries, k, setting)
        return np.where(ids >= 0, order[ids], -1)

    return search


def recall_now(index, data, order, setting):
    search = searcher(index, order, setting)
    return measure.recall(data, measure.answers(data, search, K, len(data.queries)))


def best(index, data, order, budget):
    """The first setting that reaches recall .99, or else the most accurate one."""
    setting = next((s for s in index.settings if recall_now(index, data, order, s) >= 0.99), index.settings[-1])
    return {"setting": setting, "bytes": index.bytes(), **point(data, searcher(index, order, setting), budget)}


# ---------------------------------------------------------------------------------------------------- parts


def part_turnover(data, scratch, quick, name="thresher"):
    return turnovers(name, data, QUICK_TURNOVERS if quick else TURNOVERS, scratch, BUDGET_S)


def part_remove(data, scratch, quick):
    index = build(data, data.base, scratch)
    before = index.info.file_bytes
    index.remove(np.random.default_rng(SEED).permutation(len(data.base))[: len(data.base) // 2])
    index.compact()
    return {"before": before, "after": index.info.file_bytes}


def part_while(data, scratch, quick):
    """One query at a time, refreshed every 50: at rest, and while a process replaces WRITER_RATE items per second."""
    index = build(data, data.base, scratch)
    seconds = WRITER_S / (8 if quick else 1)
    out = {"rest": latencies(index, data, seconds)}
    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(in_process, __file__, "write", index.path, seconds + WRITER_START_S)
        time.sleep(WRITER_START_S / 2)  # it begins
        out["beside"], out["writer"] = latencies(index, data, seconds), writer.result()
    return out


def latencies(index, data, seconds):
    times, refreshes, until = [], [], time.perf_counter() + seconds
    while time.perf_counter() < until:
        if len(times) % 50 == 0:
            with Timer() as timer:
                newer = index.refresh()
            refreshes += [timer.seconds] * bool(newer)
        query = data.queries[len(times) % len(data.queries)]
        times.append(seconds_of(lambda query=query: index.search(query, K)))
    p50 = np.percentile(times, 50) * 1e6
    refresh = float(np.median(refreshes) * 1e3) if refreshes else None
    return {"p50_us": float(p50), "refresh_ms": refresh}


def write(path, seconds):
    """In a process of its own: BATCH items replaced at a time, paced. Items per second."""
    rng = np.random.default_rng(SEED)
    with thresher.Index(path, threads=1) as index:
        ids = index.ids()
        began, done = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            some = rng.permutation(ids)[:BATCH]
            index.upsert(index.vectors(some), ids=some)
            done += len(some)
            time.sleep(max(0.0, began + done / WRITER_RATE - time.perf_counter()))
        return {"items_per_s": done / (time.perf_counter() - began)}


def peer_part(name):
    def measured(data, scratch, quick):
        try:
            return part_turnover(subset(data, QUICK_ITEMS if quick else PEER_ITEMS), scratch, quick, name)
        except ImportError as missing:
            return {"left_out": f"{missing.name} is not installed"}

    return measured


PARTS = {
    "while": part_while,
    "turnover": part_turnover,
    "remove": part_remove,
    **{f"peer-{name}": peer_part(name) for name in live_peers.PEERS},
}

# ---------------------------------------------------------------------------------------------------- report


def rows_of(parts):
    """The figures and their targets."""
    if p := parts.get("while"):
        rest, beside = p["rest"], p["beside"]
        yield figure("p50 of a search beside a writer, over at rest", beside["p50_us"] / rest["p50_us"], most=1.3)
        yield figure("items/s that the writer reached", p["writer"]["items_per_s"], digits=".0f")
        if beside["refresh_ms"] is not None:
            yield figure("a refresh after 1,000 items were replaced, ms", beside["refresh_ms"], most=2)
    if p := parts.get("turnover"):
        slower, larger = p["before"]["qps"] / p["after"]["qps"], p["after"]["bytes"] / p["before"]["bytes"]
        yield figure(f"search time after {p['n']} turnovers, over a fresh build", slower, most=1.15)
        yield figure(f"size after {p['n']} turnovers, over a fresh build", larger, most=1.2)
        yield figure("least recall after any turnover, .99 promised", min(p["recalls"]), 0.985)
    if p := parts.get("remove"):
        share = 2 * (1 - p["after"] / p["before"])
        yield figure("bytes given back by remove 50 % + compact, of their share", share, 0.95)


def peers_table(parts):
    rows = []
    for name in live_peers.PEERS:
        p = parts.get(f"peer-{name}", {})
        for words, key in (("at first", "before"), (f"after {p.get('n')} turnovers", "after")) if p else ():
            q = p[key]
            seconds = f"{p['build_s' if key == 'before' else 'seconds']:.1f}"
            size = q["bytes"] / p["n_items"]
            rows.append([p["title"], words, q["setting"], f"{q['recall']:.4f}", f"{q['qps']:,.0f}", f"{size:.0f}", seconds])
    units = ["recall@10", "queries/s", "bytes per item", "seconds"]
    return [Table(f"the same turnover, {PEER_ITEMS:,} items", ["system", "what", "setting"], units, rows)] if rows else []


def report(results):
    parts = results["parts"]
    measured = {name: p for name, p in parts.items() if "left_out" not in p}
    gone = [f"{name}: {p['left_out']}" for name, p in parts.items() if "left_out" in p]
    gone += [f"{name}: not measured yet" for name in PARTS if name not in parts]
    return page(*heading("live", __doc__), Figures(rows_of(measured)), *peers_table(measured), *left_out(gone))


# ---------------------------------------------------------------------------------------------------- driver


def measure_part(name, cache, quick):
    """In a process of its own."""
    data = datasets.load("books100d", cache)
    if quick:
        data = subset(data, 2 * QUICK_ITEMS)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        return PARTS[name](data, scratch, quick)


def run_part(name, arguments):
    result = in_process(__file__, "measure_part", name, arguments.cache, arguments.quick)
    return {"left_out": f"failed: {result['failed']}"} if "failed" in result else result


def main():
    parser = parser_of("bench live", __doc__, "again", "docs", "quick", "out", "cache")
    parser.add_argument("--parts", type=names_of(list(PARTS), "part"), default=list(PARTS), metavar="NAME,...")
    arguments = parser.parse_args()
    need_thresher("bench live")
    out = arguments.out or f"build/bench/live{'-quick' if arguments.quick else ''}.json"
    kept = Kept(out, {"format": FORMAT, "parts": {}}, arguments.again)
    os.makedirs(arguments.cache, exist_ok=True)
    for name in arguments.parts:
        kept.measure(kept.results["parts"], name, partial(run_part, name, arguments), lambda part: part.get("left_out", "done"))
    publish(report(kept.results), "live", arguments.docs)


if __name__ == "__main__":
    main()

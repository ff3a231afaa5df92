#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run bench shards: a collection of shards beside one index over all rows.

Rows are synthetic: normal components around 1,000 centres. Answers are compared bit for bit; a promised recall is measured
against the exact answer; with Dask, two worker processes on this machine are compared with one process of two threads.
Parts codes, faiss and spark run only if named: each takes minutes and gigabytes of disk, and faiss and spark need those
packages. Part codes keeps its collection for the next run.
"""

import os
import signal
import tempfile
import threading
import time

from bench.search import shards_large
from bench.search.promise import share_found
from bench.shared.common import Timer, figure, page, seconds_of
from bench.shared import common
from bench.shared.results import Figures, Goal, Table
import numpy as np
import thresher
from thresher import shards

N_SHARDS = (1, 2, 7, 64)
RECALLS = (0.95, 0.99)
KS = (1, 10, 100)
CENTRES = 1000
EMPTY = {"format": 2}
SHORT = 0.005  # what a recall may be short by
REPEATS = 5
MACHINE = {"cores": 64, "memory": 400e9, "disk": 16e12}  # of the arithmetic


def rows_of(rng, n, n_dims):
    """(n rows, their order by centre, a function that draws more like them)"""
    centres = rng.standard_normal((CENTRES, n_dims), np.float32)

    def draw(m, at=None):
        at = rng.integers(0, CENTRES, m) if at is None else at
        return centres[at] + rng.standard_normal((m, n_dims), np.float32)

    at = rng.integers(0, CENTRES, n)
    return draw(n, at), np.argsort(at, kind="stable"), draw


def kinds_of(rows, draw, n, rng):
    """{name: n queries}, the first like the items, the others not"""
    held_out = draw(n)
    one, two, three = np.moveaxis(rows[rng.integers(0, len(rows), (n, 3))], 1, 0)
    return {
        "held-out items": held_out,
        "negated items": -held_out,
        "random directions": rng.standard_normal(held_out.shape).astype(np.float32),
        "a - b + c": one - two + three,
    }


# ------------------------------------------------------------------------------------------------ equality


def features_of(rng, n):
    """Three synthetic features per item, of 1,000, 50 and 8, as offsets and numbers, and its bid and offset."""
    numbers = np.stack([first + rng.integers(0, size, n) for first, size in ((0, 1000), (1000, 50), (1050, 8))], axis=1)
    return numbers, {"multipliers": rng.lognormal(0, 0.5, n), "offsets": rng.normal(0, 0.1, n)}


def part_of(features, a, b):
    """The options of a build that are those of rows a to b."""
    numbers, values = features
    own = {"features": (3 * np.arange(b - a + 1), numbers[a:b].reshape(-1))}
    return own | {name: array[a:b] for name, array in values.items()}


def weights_of(rng, n):
    """For each of n users, random weights of 30 features, drawn from all fields together; one may be drawn twice."""
    return [
        {int(feature): float(weight) for feature, weight in zip(rng.integers(0, 1058, 30), rng.random(30))}
        for _ in range(n)
    ]


def searches_of(queries, items, mask, keep, weights):
    """{name: a search of an index or a collection}; scores of a certified answer count where both are certified"""
    name, own = ("exact", {"exact": True}) if keep else ("estimates", {"n_survivors": len(mask)})

    def best(rows=queries, k=10, **more):
        return lambda index: index.search(rows, k, **more)

    def within(**more):
        return lambda index: index.search_radius(queries, 0.6, recall=1.0, **more)

    if weights is not None:
        own["features"] = weights
        return {f"{name} with synthetic features, bids and offsets": best(**own),
                f"{name}, the same by sigmoid": best(value="sigmoid", **own),
                f"{name}, the same with a target": best(target="1050 OR 1051", **own),
                f"{name}, the same with a filter": best(filter=mask, **own)}
    if keep is None:
        return {"estimates, k = 10": best(**own), "estimates with a filter": best(filter=mask, **own),
                "estimates within a radius": within()}
    return {"exact, k = 10": best(**own), "exact, k = 1000": best(queries[:50], 1000, **own),
            "certified, k = 1, items": best(items, 1, query_bits=8, certified=True), "radius": within(),
            "exact with a filter": best(filter=mask, **own), "radius with a filter": within(filter=mask)}


def differing(name, one, many):
    """(numbers that differ, numbers compared)"""
    if name.startswith("certified"):
        sure = one[2] & many[2]
        one, many = [part[sure] for part in one], [part[sure] for part in many]
    if any(a.shape != b.shape for a, b in zip(one, many)):
        return max(a.size for a in one), max(a.size for a in one)
    return int(sum((a != b).sum() for a, b in zip(one, many))), int(sum(a.size for a in one))


def equality(kept, folder, rows, queries, rng):
    mask = rng.random(len(rows)) < 0.1
    kept["equal"] = {}
    features, weights = features_of(rng, len(rows)), weights_of(rng, len(queries))
    for keep, fused in ((keep, fused) for fused in (False, True) for keep in ("float32", None)):
        own = part_of(features, 0, len(rows)) if fused else {}
        index = thresher.Index.build(os.path.join(folder, "one"), rows, keep=keep, replace=True, **own)
        searches = searches_of(queries, rows[:: len(rows) // len(queries)], mask, keep, weights if fused else None)
        wanted = {name: search(index) for name, search in searches.items()}
        for n in N_SHARDS:
            parts = np.array_split(rows, n)
            ends = np.cumsum([0, *map(len, parts)])
            each = [part_of(features, a, b) for a, b in zip(ends, ends[1:])]
            own = {name: [part[name] for part in each] for name in each[0]} if fused else {}
            with shards.build(os.path.join(folder, "many"), parts, keep=keep, replace=True, **own) as many:
                for name, search in searches.items():
                    kept["equal"].setdefault(name, {})[str(n)] = differing(name, wanted[name], search(many))


def equality_table(found):
    rows = [[name, f"{n} shard{'s' * (n > 1)}", f"{by[str(n)][1]:,}", Goal(f"{by[str(n)][0]:,}", most=0)]
            for name, by in found.items() for n in N_SHARDS if by[str(n)][1]]  # fmt: skip
    return Table("the answers of one index", ["what", "setting", "of"], ["numbers that differ"], rows)


# ------------------------------------------------------------------------------------------------ the promise


def items_read(parts, queries, k, recall):
    """Items per query whose records or vectors a search of indexes reads."""
    n_read = np.zeros(len(queries), np.uint64)
    shards.search_shards(parts, queries, k, recall=recall, n_read_out=n_read)
    return float(n_read.mean())


def items_read_given(parts, queries, k, recall, least):
    """The same, but every shard is searched once for k items, given the whole's k-th best scores."""
    n_read, total = np.zeros(len(queries), np.uint64), 0.0
    for index, first_row, _ in parts:
        shards.search_shard(index, first_row, queries, k, recall=recall, least_scores=least, n_read_out=n_read)
        total += float(n_read.mean())
    return total


def promise(kept, folder, rows, order, kinds):
    asked = [(k, recall) for k in KS for recall in RECALLS]
    like, truth, costs = kinds["held-out items"], {}, {}

    def measured(name, index, parts, repeats):
        """The recall of every kind, then (k, recall, items read, seconds) of held-out items."""
        for k, recall in asked:
            found = [share_found(index.search(q, k, recall=recall)[1], truth[k][kind]) for kind, q in kinds.items()]
            kept["promise"].append([name, k, recall, found])
        for k, recall in asked:
            took = seconds_of(lambda k=k, recall=recall: index.search(like, k, recall=recall), repeats)
            yield k, recall, items_read(parts, like, k, recall), took

    kept["promise"], kept["reads"], kept["kinds"] = [], [], list(kinds)
    with thresher.Index.build(os.path.join(folder, "one"), rows, replace=True, threads=1) as index:
        for k in KS:
            truth[k] = {kind: index.search(queries, k, exact=True)[1] for kind, queries in kinds.items()}
        for k, recall, *own in measured("1", index, [(index, 0, None)], REPEATS):
            costs[k, recall] = own
        bytes_an_item = [size / len(rows) for size in (index.info.code_bytes, index.info.vector_bytes)]
        kept["measured"] = [*bytes_an_item, costs[10, 0.99][1] / len(like) / len(rows)]
    for n, name, at in ((7, "7", None), (64, "64", None), (64, "64 of whole clusters", order)):
        parts = np.array_split(rows if at is None else rows[at], n)
        with shards.build(os.path.join(folder, "many"), parts, replace=True, threads=1) as many:
            opened = [(index, shard.first_row, None) for shard, index in many.opened()]
            for k, recall, read, took in measured(name, many, opened, 2):
                least = items_read_given(opened, like, k, recall, truth[k]["held-out items"][:, -1])
                (one, seconds) = costs[k, recall]
                kept["reads"].append([name, k, recall, one, read, least, seconds, took])


def promise_table(kept, n_rows):
    rows = [[n, k, recall, *(Goal(f"{value:.4f}", recall - SHORT) for value in found)] for n, k, recall, found in kept["promise"]]
    costs = [
        [n, k, recall, f"{one:,.0f}", f"{many:,.0f}", Goal(f"{many / one:.2f}", most=1.3), f"{least / one:.2f}",
         f"{(n_rows + many) / (n_rows + one):.3f}", f"{took / seconds:.2f}"]
        for n, k, recall, one, many, least, seconds, took in kept["reads"]
    ]
    keys, over = ["shards", "k", "promised"], "over one index"
    return [
        Table("promised recall", keys, [(kind, "recall") for kind in kept["kinds"]], rows),
        (
            "Held-out items. *Read* are the items per query whose records or vectors are read; all rows are screened "
            "by their leading planes in any case. *Given*: every shard is searched "
            "once, for k items that reach the true k-th best score of the whole. Seconds are of all queries in one call, "
            "one thread:\n"
        ),
        Table("items read", keys,
              ["items that one index reads", "items that shards read", f"items read, {over}",
               f"items read with the k-th score given, {over}", f"items read with the screen, {over}", f"seconds, {over}"], costs),
    ]


def machines_table(measured):
    """Machines and speed of N items, by arithmetic from the bytes and seconds measured for few."""
    codes, vectors, seconds = measured
    rows = []
    for n in (10**9, 10**11):
        by = [int(np.ceil(n * codes / MACHINE["memory"])), int(np.ceil(n * (codes + vectors) / MACHINE["disk"]))]
        speed = max(by) * MACHINE["cores"] / (n * seconds)
        rows.append([f"{n:,}", *(f"{n * each / 1e12:.3g}" for each in (codes, vectors)), *by, max(by), f"{speed:.3g}"])
    return [
        (
            f"By arithmetic, not measured, for machines of {MACHINE['cores']} such threads, {MACHINE['memory'] / 1e9:.0f} GB of "
            f"memory for codes and {MACHINE['disk'] / 1e12:.0f} TB of disk, from {codes:.1f} bytes of codes and {vectors:.1f} of "
            f"vectors per item and {seconds * 1e12:.1f} ps per item and query, measured above (k = 10, recall 0.99, queries "
            "in batches). Machines = max(N x codes / memory, N x (codes + vectors) / disk), rounded up; queries/s = machines x "
            "threads / (N x seconds). Seconds grow less than N, and more where codes exceed the caches:\n"
        ),
        Table("machines, by arithmetic", ["items"],
              ["TB of codes", "TB of vectors", "machines by memory", "machines by disk", "machines", "queries/s"], rows),
    ]


# ------------------------------------------------------------------------------------------------ Dask


def on_workers(kept, folder, rows, queries):
    import distributed
    from thresher import dask

    found = {"distributed": distributed.__version__, "n_queries": len(queries)}

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
    )
    client = distributed.Client(cluster)
    path = os.path.join(folder, "many")
    shards.build(path, np.array_split(rows, 8), replace=True).close()
    try:
        with shards.open(path, threads=2) as here, dask.open(path, client=client) as there:
            few = queries[:500]
            right = here.search(few, 10, exact=True)
            found["differ"] = differing("", right, there.search(few, 10, exact=True))
            found["here_s"] = seconds_of(lambda: here.search(queries, 10), 2)
            found["there_s"] = seconds_of(lambda: there.search(queries, 10), 2)
            found["single_ms"] = [p50(lambda q=q: there.search(q, 10)) for q in queries[:20]]
            found["slowest_ms"] = [max(p50(lambda i=i, q=q: i.search(q, 10)) for _, i in here.opened()) for q in queries[:20]]
            found["empty_ms"] = empty_calls(there)
            found["bytes"] = bytes_per_query(there, queries[:200])
            client.direct_to_workers = True
            found["direct_ms"] = [p50(lambda q=q: there.search(q, 10)) for q in queries[:20]]
            client.direct_to_workers = False
            found["worker_ms"] = slowest_worker(path, there, queries[:20])
            found["killed"] = [killed(client, there, few, right) for _ in range(5)]
    finally:
        client.close()
        cluster.close()
    kept["dask"] = found


def empty_calls(there):
    """The p50 of calls without work to all workers at once."""

    from thresher._actors import begin

    def call():
        started = [begin(slot, "ready") for slot in there._actors.slots]
        return [future.result(timeout=1) for future in started]

    return float(np.median([p50(call) for _ in range(20)]))


def slowest_worker(path, there, queries):
    """The p50 of a query over the shards of one worker, on one thread in this process; the largest of all workers."""
    with shards.open(path, threads=1) as here:
        held = [set(names) for names in there.workers().values()]
        parts = [[(i, s.first_row, None) for s, i in here.opened() if s.directory in names] for names in held]
        return [max(p50(lambda p=p, q=q: shards.search_shards(p, q[None], 10)) for p in parts) for q in queries]


def received():
    """Bytes received on the loopback interface since the machine started."""
    with open("/proc/net/dev") as file:
        return next(int(line.split()[1]) for line in file if line.strip().startswith("lo:"))


def bytes_per_query(there, queries, k=100):
    """Bytes per query on the loopback interface, minus those of an equally long time without queries."""
    def sent(call):
        before = received()
        return seconds_of(call), received() - before

    took, busy = sent(lambda: [there.search(query, k) for query in queries])
    return (busy - sent(lambda: time.sleep(took))[1]) / len(queries)


def p50(search):
    return 1000 * seconds_of(search, 9, np.median)


def killed(client, there, queries, wanted):
    """Kill a worker in the middle of a search: (whether the answer is right, seconds)."""
    victim = next(iter(there.workers()))
    pid = client.run(os.getpid, workers=[victim])[victim]
    killer = threading.Timer(0.05, os.kill, [pid, signal.SIGKILL])
    with Timer() as timer:
        killer.start()
        found = there.search(queries, 10, exact=True)
    killer.join()
    return [differing("", wanted, found)[0] == 0, timer.seconds]


def dask_table(found):
    n = found["n_queries"]
    right, seconds = zip(*found["killed"])
    single, slowest, direct, worker = (np.median(found[f"{of}_ms"]) for of in ("single", "slowest", "direct", "worker"))
    return Figures([
        figure("exact answers over 8 shards: numbers that differ", found["differ"][0], most=0, digits="d",
               of=f"of {found['differ'][1]:,}"),
        figure(f"{n:,} queries: speed of 2 workers over one process of 2 threads", found["here_s"] / found["there_s"], 0.85,
               digits=".3f"),
        figure("one query, p50, over the slowest shard's own, ms", single - slowest, most=3, digits=".2f"),
        figure("one query with direct_to_workers=True, p50, over the slowest shard's own, ms", direct - slowest, most=3, digits=".2f"),
        figure("a call without work to both workers, ms", found["empty_ms"], digits=".2f"),
        figure("one query, p50, over the slower worker's own shards on one thread here, ms", single - worker, digits=".2f"),
        figure("bytes on the network per query, shard and result, k = 100", found["bytes"] / 800, most=20, digits=".1f"),
        figure("right answers, a worker killed in the search", sum(right), len(right)),
        figure("the longest search while a worker is killed, s", max(seconds), digits=".1f"),
    ], "Dask: targets")


# ------------------------------------------------------------------------------------------------ report

PARTS = ("equal", "promise", "dask", "codes", "faiss", "spark")
USUAL = PARTS[:3]  # the others only if named
LARGE = {"codes": shards_large.codes_text, "faiss": shards_large.by_hand_text, "spark": shards_large.spark_text}


def report(kept, given):
    words = [
        "## shards\n", common.whole_machine(2),
        f"{given.rows:,} x {given.dims} synthetic rows (normal components around {CENTRES:,} centres), cosine, 3 bits, in "
        f"shards of neighbouring rows; {given.queries} queries.\n",
    ]  # fmt: skip
    if "equal" in kept:
        words += [equality_table(kept["equal"]), "Certified answers are compared if both the index and all shards certify them.\n"]
    if "reads" in kept:
        words += [*promise_table(kept, given.rows), *machines_table(kept["measured"])]
    if "dask" in kept:
        about = f"distributed {kept['dask']['distributed']}, two worker processes of one thread on this machine.\n"
        words += [about, dask_table(kept["dask"])]
    for key, text in LARGE.items():
        words += text(kept[key]) if key in kept else []
    missing = [part for part in PARTS if part not in kept]
    return page(*words, *common.left_out(f"--part {part}: not measured" for part in missing))


def main():
    parser = common.parser_of("bench shards", __doc__.split(": ", 1)[1], "docs", "quick", "keep")
    parser.set_defaults(keep="build/bench")
    parser.add_argument("--part", choices=PARTS, help="measure this part alone, and keep the others")
    sizes = {"rows": 1_000_000, "spark-rows": 10_000_000, "dims": 96, "queries": 200}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"(default: {default:,})")
    given = parser.parse_args()
    common.need_thresher("bench shards")
    if given.quick:
        given.rows, given.queries = 50_000, 50
    file = common.Kept(os.path.join(given.keep, f"shards-{given.rows}x{given.dims}.json"), dict(EMPTY))
    kept = file.results
    rng = np.random.default_rng(1)
    rows, order, draw = rows_of(rng, given.rows, given.dims)
    kinds = kinds_of(rows, draw, given.queries, rng)
    with tempfile.TemporaryDirectory(dir=given.keep) as folder:
        measures = {
            "equal": lambda: equality(kept, folder, rows, kinds["held-out items"], rng),
            "promise": lambda: promise(kept, folder, rows, order, kinds),
            "dask": lambda: on_workers(kept, folder, rows, draw(2_000 if given.quick else 10_000)),
            "codes": lambda: shards_large.codes(kept, given.keep, 10**6 if given.quick else 10**8),
            "faiss": lambda: shards_large.by_hand(kept, folder, rows, draw(given.queries)),
            "spark": lambda: shards_large.by_spark(kept, folder, 10**5 if given.quick else given.spark_rows),
        }
        for part in [given.part] if given.part else USUAL:
            try:
                measures[part]()
            except ImportError as absent:
                print(f"{part.capitalize()} is left out: {absent}")
            file.save()
    common.publish(report(kept, given), "shards", given.docs)


if __name__ == "__main__":
    main()

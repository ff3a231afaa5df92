# SPDX-License-Identifier: Apache-2.0
"""./run bench shards: a collection of shards beside one index over all rows.

Rows are synthetic, normal components around 1,000 centres, in shards of neighbouring rows. A promised recall is
measured against the exact answer; with Dask, two worker processes on this machine are compared with one process of two
threads. Part spark runs only if named: it takes minutes and gigabytes of disk.

Items *read* are those per query, of held-out items, whose records or vectors are read; all rows are screened by their
leading planes in any case. Seconds are of all queries in one call, on one thread.
"""

import os
import signal
import tempfile
import threading

from bench.search import shards_spark
from bench.search.promise import share_found
from bench.shared.common import Timer, figure, page, seconds_of
from bench.shared import common
from bench.shared.results import Figures, Goal, Table
import numpy as np
import thresher
from thresher import shards

RECALLS = (0.95, 0.99)
KS = (1, 10, 100)
CENTRES = 1000
SHORT = 0.005  # what a recall may be short by
REPEATS, DIMS = 5, 96
SIZES = {False: (1_000_000, 200, 10_000_000), True: (50_000, 50, 100_000)}  # rows, queries, rows by Spark; True: quick


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


# ------------------------------------------------------------------------------------------------ the promise


def items_read(parts, queries, k, recall):
    """Items per query whose records or vectors a search of indexes reads."""
    n_read = np.zeros(len(queries), np.uint64)
    shards.search_shards(parts, queries, k, recall=recall, n_read_out=n_read)
    return float(n_read.mean())


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
    for n, name, at in ((7, "7", None), (64, "64", None), (64, "64 of whole clusters", order)):
        parts = np.array_split(rows if at is None else rows[at], n)
        with shards.build(os.path.join(folder, "many"), parts, replace=True, threads=1) as many:
            opened = [(index, shard.first_row, None) for shard, index in many.opened()]
            for k, recall, read, took in measured(name, many, opened, 2):
                one, seconds = costs[k, recall]
                kept["reads"].append([name, k, recall, one, read, seconds, took])


def promise_table(kept):
    rows = [[n, k, recall, *(Goal(f"{value:.4f}", recall - SHORT) for value in found)]
            for n, k, recall, found in kept["promise"]]  # fmt: skip
    costs = [[n, k, recall, f"{one:,.0f}", f"{many:,.0f}", Goal(f"{many / one:.2f}", most=1.3), f"{took / seconds:.2f}"]
             for n, k, recall, one, many, seconds, took in kept["reads"]]  # fmt: skip
    keys, over = ["shards", "k", "promised"], "over one index"
    units = ["items that one index reads", "items that shards read", f"items read, {over}", f"seconds, {over}"]
    return [
        Table("promised recall", keys, [(kind, "recall") for kind in kept["kinds"]], rows),
        Table("items read", keys, units, costs),
    ]


# ------------------------------------------------------------------------------------------------ Dask


def differing(one, many):
    """(numbers that differ, numbers compared)"""
    return int(sum((a != b).sum() for a, b in zip(one, many))), int(sum(a.size for a in one))


def on_workers(kept, folder, rows, queries):
    import distributed
    from thresher import dask

    found = {"distributed": distributed.__version__, "n_queries": len(queries)}
    quiet = {"host": "127.0.0.1", "dashboard_address": None, "silence_logs": 50}
    path, few = os.path.join(folder, "many"), queries[:500]
    shards.build(path, np.array_split(rows, 8), replace=True).close()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as cluster,
        distributed.Client(cluster) as client,
        shards.open(path, threads=2) as here,
        dask.open(path, client=client) as there,
    ):
        right = here.search(few, 10, exact=True)
        found["differ"] = differing(right, there.search(few, 10, exact=True))
        found["here_s"] = seconds_of(lambda: here.search(queries, 10), 2)
        found["there_s"] = seconds_of(lambda: there.search(queries, 10), 2)
        found["slowest_ms"] = [max(p50(lambda i=i, q=q: i.search(q, 10)) for _, i in here.opened()) for q in queries[:20]]
        for name, client.direct_to_workers in (("direct", True), ("single", False)):
            found[f"{name}_ms"] = [p50(lambda q=q: there.search(q, 10)) for q in queries[:20]]
        found["killed"] = [killed(client, there, few, right) for _ in range(5)]
    kept["dask"] = found


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
    return [differing(wanted, found)[0] == 0, timer.seconds]


def dask_table(found):
    n = found["n_queries"]
    right, seconds = zip(*found["killed"])
    single, slowest, direct = (np.median(found[f"{of}_ms"]) for of in ("single", "slowest", "direct"))
    words = "p50, over the slowest shard's own, ms"
    return Figures([
        figure("exact answers over 8 shards: numbers that differ", found["differ"][0], most=0, digits="d",
               of=f"of {found['differ'][1]:,}"),
        figure(f"{n:,} queries: speed of 2 workers over one process of 2 threads", found["here_s"] / found["there_s"], 0.85,
               digits=".3f"),
        figure(f"one query, {words}", single - slowest, most=3, digits=".2f"),
        figure(f"one query with direct_to_workers=True, {words}", direct - slowest, most=3, digits=".2f"),
        figure("right answers, a worker killed in the search", sum(right), len(right)),
        figure("the longest search while a worker is killed, s", max(seconds), digits=".1f"),
    ], "Dask: targets")  # fmt: skip


# ------------------------------------------------------------------------------------------------ report

PARTS = ("promise", "dask", "spark")
USUAL = PARTS[:2]  # the other only if named


def report(kept, n_rows, n_queries):
    about = f"{n_rows:,} x {DIMS} rows, cosine, 3 bits; {n_queries} queries."
    words = common.heading("shards", __doc__.split(": ", 1)[1], 2, about)
    if "reads" in kept:
        words += promise_table(kept)
    if "dask" in kept:
        about = f"distributed {kept['dask']['distributed']}, two worker processes of one thread on this machine.\n"
        words += [about, dask_table(kept["dask"])]
    if "spark" in kept:
        words += shards_spark.text(kept["spark"])
    missing = [part for part in PARTS if part not in kept]
    return page(*words, *common.left_out(f"--part {part}: not measured" for part in missing))


def main():
    parser = common.parser_of("bench shards", __doc__.split(": ", 1)[1], "docs", "quick", "keep")
    parser.set_defaults(keep="build/bench")
    parser.add_argument("--part", choices=PARTS, help="measure this part alone, and keep the others")
    given = parser.parse_args()
    common.need_thresher("bench shards")
    n_rows, n_queries, n_spark = SIZES[given.quick]
    file = common.Kept(os.path.join(given.keep, f"shards-{n_rows}.json"), {"format": 3})
    kept, rng = file.results, np.random.default_rng(1)
    rows, order, draw = rows_of(rng, n_rows, DIMS)
    with tempfile.TemporaryDirectory(dir=given.keep) as folder:
        measures = {
            "promise": lambda: promise(kept, folder, rows, order, kinds_of(rows, draw, n_queries, rng)),
            "dask": lambda: on_workers(kept, folder, rows, draw(2_000 if given.quick else 10_000)),
            "spark": lambda: shards_spark.measure(kept, folder, n_spark),
        }
        for part in [given.part] if given.part else USUAL:
            try:
                measures[part]()
            except ImportError as absent:
                print(f"{part.capitalize()} is left out: {absent}")
            file.save()
    common.publish(report(kept, n_rows, n_queries), "shards", given.docs)


if __name__ == "__main__":
    main()

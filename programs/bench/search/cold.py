# SPDX-License-Identifier: Apache-2.0
"""Times and disk reads of searches in an index that is larger than the memory that the process may use.

usage: ./run bench cold [--data NAME] [--scratch DIR] [--docs]

A process is limited to a share of the index's size, besides what Python takes, by a memory control group, which takes
root. It begins with nothing of the index in memory, and searches for one query after the other; the second half is
counted. A page is 4,096 bytes.
"""

import os
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

from bench.shared.common import heading, in_process, need_thresher, page, parser_of, publish, thresher  # first: one thread

import numpy as np
from bench.search import datasets, measure
from bench.search.peer import root
from bench.shared.results import Table

K, PROMISES, QUERIES = 10, (0.9, 0.95, 0.99), 200
SHARE = 0.5  # of the index's size: the memory given
PAGE, SECTOR = 4096, 512
LEAST_BYTES = 192 << 20  # Python with numpy needs some 60 MB besides


@contextmanager
def memory_group(n_bytes):
    """The folder of a memory control group with a limit, of version 1 or 2."""
    v2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
    root, limit = ("/sys/fs/cgroup", "memory.max") if v2 else ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
    group = Path(root) / f"thresher-bench-{os.getpid()}"
    try:
        try:
            group.mkdir()
            (group / limit).write_text(str(n_bytes))
        except OSError as error:
            sys.exit(f"bench cold: no memory control group can be made: {error}")
        yield group
    finally:
        if group.is_dir():
            group.rmdir()


def files_of(path):
    return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]


def forget(path):
    """Drop an index from the page cache."""
    for name in files_of(path):
        with open(name, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def sectors_read():
    with open("/proc/thread-self/io") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("read_bytes")) // SECTOR


def search(path, queries, promise, group):
    """In a process of its own, which enters the memory group, or, without one, searches twice, so that all is in memory:
    {"ids", "seconds", "pages"}, one of each query; pages are those read from the disk for it.
    """
    if group:
        Path(group, "cgroup.procs").write_text(str(os.getpid()))
    queries = np.load(queries)
    with thresher.Index.open(path, threads=1) as index:
        for _ in range(1 if group else 2):
            out = {"ids": [], "seconds": [], "pages": []}
            for query in queries:
                sectors, start = sectors_read(), time.perf_counter()
                ids, _ = index.search(query, K, recall=promise)
                out["seconds"].append(time.perf_counter() - start)
                out["pages"].append((sectors_read() - sectors) * SECTOR / PAGE)
                out["ids"].append(ids.ravel().astype(int).tolist())
    return out


def in_child(path, queries, promise, n_bytes):
    """search() in a process that may use n_bytes of memory; 0: any."""
    forget(path)
    with memory_group(n_bytes) if n_bytes else nullcontext("") as group:
        found = in_process(__file__, "search", path, queries, promise, str(group))
    if "failed" in found:
        sys.exit(f"bench cold: the search of {path} ended: {found['failed']}")
    return found


def rows_of(data, name, path, queries, n_bytes):
    for promise in PROMISES:
        cold, warm = (in_child(path, queries, promise, limit) for limit in (n_bytes, 0))
        ms, pages = 1e3 * np.array(cold["seconds"]), np.array(cold["pages"])
        half = len(ms) // 2  # the first half of the queries fills the memory
        yield [
            name, promise, f"{measure.recall(data, np.array(cold['ids']), K):.4f}",
            f"{np.median(pages[half:]):,.0f}", f"{np.median(ms[half:]):.2f}", f"{np.percentile(ms[half:], 99):.2f}",
            f"{1e3 * np.median(warm['seconds']):.2f}",
        ]  # fmt: skip


def report(arguments):
    data = datasets.load(arguments.data, arguments.cache, False, "")
    n_cells = root(data)
    lines = []
    with tempfile.TemporaryDirectory(prefix="thresher-bench-", dir=arguments.scratch) as scratch:
        queries = os.path.join(scratch, "queries.npy")
        np.save(queries, data.queries[: QUERIES])
        for cells in (1, n_cells):
            path = os.path.join(scratch, f"{cells}.index")
            thresher.Index.build(path, data.base, metric=data.metric, cells=cells, threads=1).close()
            size = sum(map(os.path.getsize, files_of(path)))
            n_bytes = int(size * SHARE)
            if n_bytes < LEAST_BYTES:
                sys.exit(f"bench cold: {SHARE} of {size >> 20} MiB is less than Python needs: another --data")
            title = f"{f'{cells} cells' if cells > 1 else 'one cell'}, {size >> 20} MiB"
            print(f"{title} on disk, {n_bytes >> 20} MiB of memory", file=sys.stderr, flush=True)
            lines += rows_of(data, title, path, queries, n_bytes)
    units = ["recall@10", "pages read per query, p50", "p50, ms", "p99, ms", "p50 in memory, ms"]
    words = f"{data.title}: {len(data.base):,} x {data.n_dims}; {SHARE} of the index's size in memory."
    case = f"{arguments.data}, {SHARE:g} of the index in memory"
    return page(*heading("cold", __doc__, more=words), Table(case, ["what", "recall asked"], units, lines))


def main():
    parser = parser_of("bench cold", __doc__, "docs", cache={})
    names = {"choices": datasets.NAMES + datasets.LARGE_NAMES, "metavar": "NAME"}
    parser.add_argument("--data", default="synthetic96", **names, help="a data set of bench search (default: synthetic96)")
    parser.add_argument("--scratch", default="build/bench", metavar="DIR", help="a directory on the disk to be read")
    arguments = parser.parse_args()
    need_thresher("bench cold")
    os.makedirs(arguments.scratch, exist_ok=True)
    publish(report(arguments), "cold", arguments.docs)


if __name__ == "__main__":
    main()

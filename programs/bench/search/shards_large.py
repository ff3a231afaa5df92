# SPDX-License-Identifier: Apache-2.0
"""Parts of ./run bench shards that need many items: codes of 100 million items in 8 shards, and a build by Spark beside
the library's builds.
"""

import glob
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from bench.shared.common import Timer, figure, seconds_of
from bench.shared.results import Figures, Goal, Table
import numpy as np
from thresher import shards

BLOCK = 1 << 18
N_PARTS = 16


def median_time(call):
    return seconds_of(call, 5, np.median)


# ------------------------------------------------------------------------------------------------ codes of many items


def stream(block, rng, n):
    """n rows, some at a time: those of a block, with other signs and another order of dimensions each time."""
    while n > 0:
        signs = rng.choice(np.float32([-1, 1]), block.shape[1])
        rows = block[:, rng.permutation(block.shape[1])] * signs
        yield rows[:n]
        n -= len(rows)


def plain_read(files, n_threads):
    """Seconds in which threads read all bytes of mapped files once."""
    words = [np.memmap(name, np.uint64, "r", shape=(os.path.getsize(name) // 8,)) for name in files]
    pieces = [piece for file in words for piece in np.array_split(file, 4 * n_threads)]

    def read(thread):
        return [np.add.reduce(piece) for piece in pieces[thread::n_threads]]

    with ThreadPoolExecutor(n_threads) as pool:
        return median_time(lambda: list(pool.map(read, range(n_threads))))


def build_codes(path, rng, n_items, n_shards, n_dims):
    """Build a collection of codes without vectors, from streams."""
    block, quantiser = rng.standard_normal((BLOCK, n_dims), np.float32), path + "-quantiser"
    shutil.rmtree(path, ignore_errors=True)
    shutil.rmtree(quantiser, ignore_errors=True)
    os.makedirs(path)
    shards.build_quantiser(quantiser, [block[:4096]], metric="cosine", bits=1)
    ends = np.linspace(0, n_items, n_shards + 1).astype(int).tolist()
    shards.publish(path, [
        shards.build_shard(path, number, stream(block, rng, end - first), quantiser_from=quantiser, first_row=first,
                           metric="cosine", keep=None, calibration_queries=0)
        for number, (first, end) in enumerate(zip(ends, ends[1:]))
    ])


def codes(kept, folder, n_items, n_shards=8, n_dims=128):
    rng = np.random.default_rng(3)
    queries = rng.standard_normal((64, n_dims), np.float32)
    path = os.path.join(folder, f"codes-{n_items}")
    if not os.path.exists(os.path.join(path, "shards.json")):
        kept["codes"] = {"build_s": seconds_of(lambda: build_codes(path, rng, n_items, n_shards, n_dims))}
    found = {**kept["codes"], "n_items": n_items, "n_shards": n_shards, "n_dims": n_dims}
    files = glob.glob(os.path.join(path, "*", "*.seg"))
    found["bytes"] = sum(map(os.path.getsize, files))
    with shards.open(path, threads=2) as many:
        found["code_bytes"] = sum(index.info.code_bytes for _, index in many.opened())
        for name, own in (("single", queries[:1]), ("batch", queries)):
            many.search(own, 10)
            found[name] = median_time(lambda own=own: many.search(own, 10)) / len(own)
    found["read"] = plain_read(files, 2) * found["code_bytes"] / found["bytes"]
    name = os.path.join(folder, "queries.npy")
    np.save(name, queries)
    program = os.path.join(os.path.dirname(os.environ["THRESHER_LIBRARY"]), "thresher")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    words = [program, "index", "search", path, name, "-k", "10", "-o", os.path.join(folder, "r.ivecs"), "-q"]
    found["shell_s"] = seconds_of(lambda: subprocess.run(words, check=True))
    found["shell_kb"] = max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    kept["codes"] = found


def codes_text(found):
    n, each = found["n_items"], found["code_bytes"] / found["n_items"]
    rows = [
        figure("queries/s, one at a time", 1 / found["single"], digits=".1f"),
        figure("queries/s, 64 at a time", 1 / found["batch"], digits=".1f"),
        figure("speed of one query over a plain read of the same bytes", found["read"] / found["single"], 0.85),
        figure("thresher index search of 64 queries, one shard open at a time, s", found["shell_s"], digits=".2f"),
        figure("memory of that search with mapped files, MiB", found["shell_kb"] / 1024, digits=".0f"),
        figure("build, s", found["build_s"], digits=".0f"),
    ]
    about = (
        f"{n:,} synthetic items of {found['n_dims']} dimensions and one bit each in {found['n_shards']} shards, without vectors "
        f"({each:.1f} bytes of codes per item, {found['code_bytes'] / 1e9:.2f} GB), two threads. The plain read sums "
        "all 64-bit words of the mapped files with as many threads.\n"
    )
    return [about, Figures(rows, "codes of many items: targets")]


# ------------------------------------------------------------------------------------------------ a build by Spark


def _build_one(path, number, name, quantiser, first_row):
    rows = np.load(name, mmap_mode="r")
    shards.build_shard(path, number, rows, quantiser_from=quantiser, first_row=first_row, metric="cosine", threads=1)


def library_builds(folder, names, n_rows):
    """Seconds of the library's own builds of the parts, in two processes of one thread."""
    path, quantiser = os.path.join(folder, "own"), os.path.join(folder, "own-quantiser")
    os.makedirs(path)
    with Timer() as timer:
        sample = [np.array(np.load(name, mmap_mode="r")[:256]) for name in names]
        shards.build_quantiser(quantiser, sample, metric="cosine")
        calls = [(path, number, name, quantiser, number * n_rows) for number, name in enumerate(names)]
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            pool.starmap(_build_one, calls, chunksize=1)
    shutil.rmtree(path)
    return timer.seconds


def spark_session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    driver = {f"spark.driver.{name}": value for name, value in
              (("host", "127.0.0.1"), ("bindAddress", "127.0.0.1"), ("memory", "1g"))}
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
    one_a_file = {f"spark.sql.files.{name}": str(1 << 40) for name in ("maxPartitionBytes", "openCostInBytes")}
    return SparkSession.builder.master("local[2]").config(map={**driver, **quiet, **one_a_file}).getOrCreate()


def _make_rows(name, seed, n, n_dims):
    """A part's rows, as NumPy's file and as Parquet's."""
    import pyarrow
    import pyarrow.parquet

    rows = np.random.default_rng(seed).standard_normal((n, n_dims), np.float32)
    np.save(name, rows)
    column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.reshape(-1)), n_dims)
    table = pyarrow.table({"embedding": column.cast(pyarrow.list_(pyarrow.float32()))})
    parquet = os.path.join(os.path.dirname(name), "rows", f"{seed:02d}.parquet")
    pyarrow.parquet.write_table(table, parquet, use_dictionary=False)


def by_spark(kept, folder, n_items, n_dims=96):
    import pyspark
    from thresher import spark

    session = spark_session()
    session.range(0, 8, 1, 2).mapInArrow(lambda batches: batches, "id long").collect()  # processes that have started
    found = []
    for n in (n_items // 5, n_items):
        place = os.path.join(folder, f"spark-{n}")
        os.makedirs(os.path.join(place, "rows"))
        names = [os.path.join(place, f"{number}.npy") for number in range(N_PARTS)]
        with multiprocessing.get_context("spawn").Pool(2) as pool:  # rows are made elsewhere than in the driver
            pool.starmap(_make_rows, [(name, number, n // N_PARTS, n_dims) for number, name in enumerate(names)])
        own = library_builds(place, names, n // N_PARTS)
        for name in names:
            os.unlink(name)
        frame = session.read.parquet(os.path.join(place, "rows"))
        with Timer() as timer:
            info = spark.build(frame, path=os.path.join(place, "many"))
        driver_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # of this process alone, at its largest
        found.append({"n": n, "own_s": own, "spark_s": timer.seconds, "shards": len(info.shards), "driver_mib": driver_mib})
        shutil.rmtree(place)
    session.stop()
    kept["spark"] = {"version": pyspark.__version__, "sizes": found}


def spark_text(found):
    rows = []
    for size in found["sizes"]:
        what = [f"{size['n']:,}", size["shards"]]
        rows.append(["Thresher", *what, f"{size['own_s']:.1f}", "", ""])
        over = Goal(f"{size['spark_s'] / size['own_s']:.2f}", most=1.25)
        rows.append(["PySpark", *what, f"{size['spark_s']:.1f}", over, f"{size['driver_mib']:.0f}"])
    return [
        (
            f"PySpark {found['version']}, local[2], from Parquet files of random rows of 96 dimensions, one a partition, beside "
            "the library's builds of .npy files in two processes of one thread:\n"
        ),
        Table("Spark", ["system", "items", "shards"], ["build, s", "build, over the library's", "driver's Python, MiB"], rows),
    ]

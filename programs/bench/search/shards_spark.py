# SPDX-License-Identifier: Apache-2.0
"""The part of ./run bench shards that needs many items: a build by Spark beside the library's builds."""

import multiprocessing
import os
import resource
import shutil
import sys

from bench.shared.common import Timer
from bench.shared.results import Goal, Table
import numpy as np
from thresher import shards

N_PARTS = 16


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


def measure(kept, folder, n_items, n_dims=96):
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


def text(found):
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

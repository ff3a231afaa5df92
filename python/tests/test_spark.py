# SPDX-License-Identifier: Apache-2.0
"""Collections built and searched by Spark on this machine, local[2], also while its Python processes are killed."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
import unittest
from typing import Any

import numpy as np

import thresher
from support import Case, Kills, random_vectors
from test_tower import train as train_tower
from thresher import shards

try:
    from pyspark.sql import SparkSession

    from thresher import spark
except ImportError as missing:
    raise unittest.SkipTest(f"pyspark is not installed: {missing}") from missing
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    raise unittest.SkipTest("Spark needs Java, which is not installed")

N, DIMS, K = 3000, 16, 10
FEW = 2  # kills of each kind of work, without THR_KILLS
SCHEMA = "id long, embedding array<float>"


class OnSpark(Case):
    session: Any

    @classmethod
    def setUpClass(cls) -> None:
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        cls.session = (
            SparkSession.builder.master("local[2, 4]")  # four attempts of a task
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.log.level", "OFF")
            .getOrCreate()
        )

    @classmethod
    def tearDownClass(cls) -> None:
        cls.session.stop()

    def frame(self, vectors: Any, ids: Any, n: int) -> Any:
        rows = [(int(i), [float(value) for value in vector]) for i, vector in zip(ids, vectors)]
        return self.session.createDataFrame(self.session.sparkContext.parallelize(rows, n), SCHEMA)

    def check(self, found: Any, ids: Any, scores: Any, query_ids: Any) -> None:
        """found has these answers, bit for bit."""
        rows = sorted(found if isinstance(found, list) else found.collect(), key=lambda row: (row["query"], row["rank"]))
        self.assertEqual([row["rank"] for row in rows], [*range(1, ids.shape[1] + 1)] * len(ids))
        self.assertEqual([row["query"] for row in rows], [int(q) for q in query_ids for _ in range(ids.shape[1])])
        np.testing.assert_array_equal(np.array([row["item"] for row in rows]), ids.reshape(-1).astype(np.int64))
        np.testing.assert_array_equal(np.array([row["score"] for row in rows], np.float32), scores.reshape(-1))

    def test_answers_are_those_of_one_index(self) -> None:
        x = random_vectors(N, DIMS)
        x[::100] = x[0]  # ties
        ids = np.arange(N) * 3 + 1
        with thresher.Index.build(self.path("one"), x, ids=ids) as index:
            wanted = index.search(x[:30], K, exact=True)
            fingerprint = index.quantiser_fingerprint
        info = spark.build(self.frame(x, ids, 3), id="id", path=self.path("many"))
        self.assertEqual((info.n_items, len(info.shards), info.quantiser), (N, 3, fingerprint))
        self.assertEqual(len(os.listdir(self.path("many"))), 4)
        shards.verify(self.path("many"))
        queries = self.frame(x[:30], range(30), 2)
        for by in ("queries", "shards"):
            self.check(spark.search(queries, self.path("many"), K, by=by, exact=True), *wanted, range(30))
        with shards.open(self.path("many")) as many:
            self.check(spark.search(queries, self.path("many"), K), *many.search(x[:30], K), range(30))
        info = spark.build(self.frame(x[1:1000], range(999), 3), id="id", path=self.path("cells"), cells=30)
        self.assertGreater(info.n_cells, 20)
        with thresher.Index.build(self.path("some"), x[1:1000]) as index:
            wanted = index.search(x[1:21], 4, exact=True)
        for by in ("queries", "shards"):
            some = self.frame(x[1:21], range(20), 2)
            self.check(spark.search(some, self.path("cells"), 4, by=by, exact=True), *wanted, range(20))

    def test_features_and_bids_of_items(self) -> None:
        x, rng = random_vectors(600, DIMS), np.random.default_rng(5)
        ids, bids, pacing = rng.permutation(2000)[:600], rng.random(600) + 0.5, rng.random(600)
        numbers = [rng.choice(40, i % 4, replace=False).tolist() for i in range(600)]  # some items have none
        words = [[f"f={number}" for number in own] for own in numbers]
        values = {"multipliers": bids.astype(np.float32), "offsets": pacing.astype(np.float32)}
        for kind, features in (("int", numbers), ("string", words)):
            self.session.conf.set("spark.sql.execution.arrow.useLargeVarTypes", str(kind == "string").lower())
            asked = [{features[i][0]: 0.5, features[3 * i][-1]: 2.0} for i in range(1, 40, 4)]
            rows = [
                (int(i), v.tolist(), own, float(a), float(b))
                for i, v, own, a, b in zip(ids, x, features, values["multipliers"], values["offsets"])
            ]
            frame = self.session.createDataFrame(
                self.session.sparkContext.parallelize(rows, 3),
                f"id long, embedding array<float>, own array<{kind}>, bid double, pace float",
            )
            thresher.Index.build(self.path("one"), x, ids=ids, features=features, **values, replace=True).close()
            spark.build(
                frame, id="id", features="own", multipliers="bid", offsets="pace", path=self.path("many"), replace=True
            )
            shards.verify(self.path("many"))
            with thresher.Index(self.path("one")) as one, shards.open(self.path("many")) as many:
                for value in ("sum", "sigmoid"):
                    found = [i.search(x[:10], K, exact=True, features=asked, value=value) for i in (one, many)]
                    np.testing.assert_array_equal(found[1][0], found[0][0])
                    np.testing.assert_array_equal(found[1][1], found[0][1])
            rows = [(i, x[i].tolist(), own if i else None) for i, own in enumerate(asked)]
            queries = self.session.createDataFrame(rows, f"id long, embedding array<float>, asked map<{kind},float>")
            with thresher.Index(self.path("one")) as one:
                wanted = one.search(x[:10], K, exact=True, features=[{}, *asked[1:]], value="sigmoid")
            for by in ("queries", "shards"):
                options = {"by": by, "exact": True, "features": "asked", "value": "sigmoid"}
                self.check(spark.search(queries, self.path("many"), K, **options), *wanted, range(10))
        self.session.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
        for error, message, options in (
            (TypeError, "partition 0, rows from 0: features of type .*double", {"features": "bid"}),
            (ValueError, "no column 'none'", {"features": "none"}),
            (TypeError, "values of type .*: expected numbers", {"features": "own", "multipliers": "own"}),
            (thresher.Error, "features", {"multipliers": "bid"}),
        ):
            with self.assertRaisesRegex(error, message):
                spark.build(frame, id="id", path=self.path("none"), **options)
            self.assertFalse(os.path.exists(self.path("none")))
        holed = self.session.createDataFrame([(x[0].tolist(), None)], "embedding array<float>, own array<int>")
        with self.assertRaisesRegex(ValueError, "partition .*: a feature is null"):
            spark.build(holed, features="own", path=self.path("none"))

    def test_empty_and_skewed_partitions(self) -> None:
        x = random_vectors(505, DIMS)
        rows = [[], list(range(500)), [], list(range(500, 505))]
        frame = self.session.createDataFrame(
            self.session.sparkContext.parallelize(rows, 4).flatMap(
                lambda part: [(int(i), [float(value) for value in x[i]]) for i in part]
            ),
            SCHEMA,
        )
        info = spark.build(frame, path=self.path())
        self.assertEqual([(shard.first_row, shard.n_items) for shard in info.shards], [(0, 500), (500, 5)])
        with shards.open(self.path()) as many:
            self.assertEqual(int(many.search(x[503], 1, exact=True)[0][0]), 503)

    def test_what_does_not_fit_is_refused(self) -> None:
        x, ids = random_vectors(200, DIMS), np.arange(200)
        bad = x.copy()
        bad[150, 3] = np.nan
        for kind, words, frame, options in (
            (thresher.ArgumentError, "part 1: row 50", self.frame(bad, ids, 2), {}),
            (thresher.ArgumentError, "the id 0 is in shard 0 .* and in shard 1", self.frame(x, ids % 100, 2), {"id": "id"}),
            (ValueError, "no column 'v': it has id, embedding", self.frame(x, ids, 2), {"vector": "v"}),
            (TypeError, "a column of int64 was given", self.frame(x, ids, 2), {"vector": "id"}),
            (ValueError, "the id -1 is below 0", self.frame(x, ids - 1, 2), {"id": "id"}),
            (ValueError, "no rows", self.frame(x[:0], ids, 2), {}),
        ):
            with self.assertRaisesRegex(kind, words):
                spark.build(frame, path=self.path(), **options)
            self.assertFalse(os.path.exists(self.path()))
        with self.assertRaises(thresher.Error):
            spark.search(self.frame(x, ids, 2), self.path("none"), K)

    def test_a_process_killed_in_a_build(self) -> None:
        x, folder = random_vectors(N, DIMS), self.path("attempts")
        os.mkdir(folder)

        def dies_once(batches: Any) -> Any:
            from pyspark import TaskContext

            for batch in batches:
                yield batch
            mark = os.path.join(folder, str(TaskContext.get().partitionId()))  # type: ignore[union-attr]
            if not os.path.exists(mark):
                with open(mark, "w"):
                    pass
                os.kill(os.getpid(), signal.SIGKILL)

        frame = self.frame(x, range(N), 2).mapInArrow(dies_once, SCHEMA)
        info = spark.build(frame, id="id", path=self.path("many"))
        self.assertEqual(len(os.listdir(folder)), 2)
        self.assertEqual((info.n_items, len(info.shards)), (N, 2))
        self.assertEqual(len(os.listdir(self.path("many"))), 3)
        self.assertEqual(shards.verify(self.path("many")).n_items, N)

    def ranking(self, n: int = 3000) -> Any:
        """Rows of queries of 15, whose rows are not adjacent, as arrays and as a DataFrame."""
        x = random_vectors(n, 12)
        qid = np.random.default_rng(2).permutation(np.arange(n) // 15) - 7
        y = (x @ np.arange(12) + 9 * random_vectors(n, 1, 3)[:, 0] > 5) + 1.0 * (x[:, 0] > 1)
        weights = np.random.default_rng(3).random(n)
        rows = [(row.tolist(), *map(float, own[:2]), int(own[2])) for row, *own in zip(x, y, weights, qid)]
        parallel = self.session.sparkContext.parallelize(rows, 4)
        frame = self.session.createDataFrame(parallel, "features array<float>, label double, w double, qid long")
        return x, y, qid, weights, frame.cache()

    def test_a_training_has_the_bits_of_one_process(self) -> None:
        x, y, qid, weights, frame = self.ranking()
        plain = thresher.RankSVM().fit(x, y, qid)
        for parts in (1, 5):
            fitted = spark.RankSVM().fit(frame, path=self.directory, parts=parts)
            np.testing.assert_array_equal(fitted.coef_, plain.coef_)
            self.assertEqual(fitted.report_.pairwise_accuracy, plain.report_.pairwise_accuracy)
        weighed = thresher.RankSVM(method="trust-region", scale="query").fit(x, y, qid, sample_weight=weights)
        fitted = spark.RankSVM(method="trust-region", scale="query").fit(frame, path=self.directory, weight="w")
        np.testing.assert_array_equal(fitted.coef_, weighed.coef_)
        self.assertEqual(os.listdir(self.directory), [])

    def test_rows_that_nothing_can_be_learned_from(self) -> None:
        frame = self.ranking(60)[-1]
        holed = self.session.createDataFrame([([1.0, float("nan")], 1.0, 1)], "features array<float>, label double, qid long")
        for kind, words, given, options in (
            (ValueError, "no column 'rank'", frame, {"label": "rank"}),
            (TypeError, "partition .*values of type double: expected whole numbers", frame, {"qid": "label"}),
            (thresher.ArgumentError, "partition .*row 0 holds NaN", holed, {}),
            (ValueError, "has no rows", frame.limit(0), {}),
            (thresher.ArgumentError, "no pairs to learn from", frame, {"label": "qid"}),
            (thresher.FileMissingError, "no such directory", frame, {"path": self.path("none")}),
        ):
            with self.assertRaisesRegex(kind, words):
                spark.RankSVM().fit(given, **{"path": self.directory, **options})
        with self.assertRaises(thresher.UnsupportedError):
            spark.RankSVM(device="cuda").fit(frame, path=self.directory)
        self.assertEqual(os.listdir(self.directory), [])

    def processes(self) -> list[int]:
        """The Python processes of this session's tasks."""
        parents, own = {}, set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/cmdline") as command:
                    parents[int(pid)] = int(stat.read().rsplit(")", 1)[1].split()[1])
                    if "pyspark.daemon" in command.read():
                        own.add(int(pid))
            except OSError:
                continue  # it has ended

        def ours(pid: int) -> bool:
            return pid == os.getpid() or (pid in parents and ours(parents[pid]))

        return [pid for pid in own if parents[pid] in own and ours(pid)]

    def kill_one(self) -> bool:
        """Kill a Python process of Spark's tasks, if there is one."""
        running = self.processes()
        if running:
            os.kill(running[0], signal.SIGKILL)
        return bool(running)

    def killed(self, what: str, work: Any, check: Any) -> None:
        """check() what work() returns, in whose middle a process is killed."""
        with Kills(f"Spark, {what}", FEW) as kills:
            for _ in range(2):  # the first time takes longer
                check(kills.timed(work))
            while kills.left():
                check(kills.during(self.kill_one, work))

    def test_a_process_killed_in_builds_and_searches(self) -> None:
        x = random_vectors(N, DIMS)
        items, queries = self.frame(x, range(N), 4).cache(), self.frame(x[:50], range(50), 2).cache()
        with thresher.Index.build(self.path("one"), x) as index:
            ids, scores = index.search(x[:50], K, exact=True)
        many = self.path("many")

        def check_build(_: Any) -> None:
            self.assertEqual(len(os.listdir(many)), 5)
            self.assertEqual(shards.verify(many).n_items, N)

        self.killed("builds", lambda: spark.build(items, id="id", path=many, replace=True), check_build)
        for by in ("queries", "shards"):
            # A new search each time: Spark does not compute the finished stages of an old one again.
            self.killed(
                f"searches by {by}",
                lambda by=by: spark.search(queries, many, K, by=by, exact=True).collect(),
                lambda rows: self.check(rows, ids, scores, range(50)),
            )

    def test_a_process_killed_in_a_training(self) -> None:
        x, y, qid, _, rows = self.ranking(600)
        model = thresher.RankSVM().fit(x, y, qid).coef_

        def check(fitted: Any) -> None:
            np.testing.assert_array_equal(fitted.coef_, model)
            self.assertEqual(os.listdir(self.directory), [])

        self.killed("trainings", lambda: spark.RankSVM().fit(rows, path=self.directory, parts=2), check)

    def test_texts_are_encoded(self) -> None:
        model = self.path("m.safetensors")
        train_tower(model, query_bits=3, item_bits=2)
        texts = [f"word{i % 50} number{i}" for i in range(100)]
        frame = self.session.createDataFrame([(i, text) for i, text in enumerate(texts)], "n long, text string")
        rows = sorted(spark.encode(frame, model, side="query").collect(), key=lambda row: row.n)
        with thresher.Tower(model) as tower:
            np.testing.assert_array_equal(
                np.array([row.embedding for row in rows], np.float32), tower.encode(texts, "query")
            )
        self.assertEqual(spark.encode(frame.limit(0), model).count(), 0)
        with self.assertRaisesRegex(ValueError, "has a column 'text' already"):
            spark.encode(frame, model, output="text")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Collections on a Dask cluster of two local workers: built, searched, and searched while workers are killed."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
import time
import unittest
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import thresher
from support import Case, Kills, random_vectors
from thresher import shards

try:
    import dask
    import distributed

    from thresher import dask as collections
    from thresher._actors import Actors, Slot
except ImportError as missing:
    raise unittest.SkipTest(f"dask and distributed are not installed: {missing}") from missing

N, DIMS, K = 2000, 16, 10
FEW = 3  # kills of each test of lost workers, without THR_KILLS
START_S = 120  # the most that workers may take to start, on a busy machine


def _nan(n: int) -> Any:
    x = random_vectors(n, DIMS)
    x[77, 3] = np.nan
    return x


def _shrinking(x: Any, counter: str, n_passes: int) -> Any:
    """x in the first passes, fewer rows then; counter is a file with a byte a pass."""
    with open(counter, "ab") as file:
        file.write(b".")
        return x if file.tell() <= n_passes else x[:70]


def ranking(n: int) -> Any:
    """Rows of queries of 15, whose rows are not adjacent, and labels that features predict in part."""
    x = random_vectors(n, 12)
    qid = np.random.default_rng(2).permutation(np.arange(n) // 15)
    return x, (x @ np.arange(12) + 9 * random_vectors(n, 1, 3)[:, 0] > 5) + 1.0 * (x[:, 0] > 1), qid


def distributed_array(given: Any, rows: int) -> Any:
    import dask.array

    return dask.array.from_array(given, chunks=(rows, 5) if given.ndim == 2 else rows)


def local_cluster(n_workers: int) -> Any:
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
        death_timeout=START_S,
    )


class NoClient(Case):
    def test_the_error_says_what_to_create(self) -> None:
        shards.build(self.path(), [random_vectors(100, DIMS)]).close()
        for call in (
            lambda: collections.open(self.path()),
            lambda: collections.build(self.path("new"), [random_vectors(100, DIMS)]),
            lambda: collections.RankSVM().fit([], [], []),
        ):
            with self.assertRaisesRegex(ValueError, r"no client yet: create one before, distributed.Client\(ADDRESS\)"):
                call()
        self.assertFalse(os.path.exists(self.path("new")))


class FakeFuture:
    """Has an answer, or with None never one."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.status = answer, "finished"

    def result(self, timeout: float) -> Any:
        if self.answer is None:
            time.sleep(timeout)
            raise TimeoutError
        return self.answer


class FakeActor:
    def ready(self) -> FakeFuture:
        return FakeFuture(True)


@contextlib.contextmanager
def cluster_of(n_workers: int, two: Any) -> Iterator[Any]:
    """A client with so many workers; `two` has two."""
    if n_workers == 2:
        yield two
        return
    with local_cluster(n_workers) as cluster, distributed.Client(cluster) as client:
        yield client


class OnWorkers(Case):
    cluster: Any
    client: Any

    @classmethod
    def setUpClass(cls) -> None:
        dask.config.set({"distributed.scheduler.allowed-failures": 10})
        # A cluster looks this long after each loss, and gives up a worker that is not there then: it must not meet one
        # that a later test has killed and that is starting again.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"})
        cls.cluster = local_cluster(2)
        cls.client = distributed.Client(cls.cluster)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.client.close()
        cls.cluster.close()

    def setUp(self) -> None:
        super().setUp()
        self.client.wait_for_workers(2, timeout=START_S)  # a test before may have killed one

    def same(self, one: Any, many: Any) -> None:
        self.assertEqual(len(one), len(many))
        for a, b in zip(one, many):
            np.testing.assert_array_equal(a, b)

    def kill(self, address: str | None = None) -> bool:
        """End one worker process of our own cluster, if it is there; its nanny, in this process, starts another."""
        known = self.client.scheduler_info(n_workers=-1)["workers"]
        worker = known.get(address or next(iter(known), ""))
        pid = None if worker is None else self.cluster.workers[worker["name"]].pid
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        return pid is not None

    def both(self, parts: int = 5) -> Any:
        x = random_vectors(N, DIMS)
        index = thresher.Index.build(self.path("one"), x)
        return x, index, collections.build(self.path("many"), np.array_split(x, parts), client=self.client)

    def test_answers_are_those_of_one_index(self) -> None:
        x, index, many = self.both()
        mask = np.random.default_rng(1).random(N) < 0.2
        with many:
            self.assertEqual(len(many.workers()), 2)
            self.assertEqual(many.info.quantiser, index.quantiser_fingerprint)
            for options in ({}, {"filter": mask}, {"certified": True}):
                self.same(index.search(x[:30], K, exact=True, **options), many.search(x[:30], K, exact=True, **options))
                self.same(
                    index.search_radius(x[:30], 0.3, recall=1.0, **options),
                    many.search_radius(x[:30], 0.3, recall=1.0, **options),
                )
            self.same(index.search(x[3], K, exact=True), many.search(x[3], K, exact=True))
            self.same(index.search(x[:3], N + 3, exact=True), many.search(x[:3], N + 3, exact=True))
            with self.assertRaises(ValueError):
                many.search(x[:3, :5], K)
        with shards.open(self.path("many")) as here, collections.open(self.path("many"), client=self.client) as there:
            self.same(here.search(x[:30], K), there.search(x[:30], K))

    def test_cells(self) -> None:
        x = random_vectors(N, DIMS)
        index, parts = thresher.Index.build(self.path("one"), x), np.array_split(x, 5)
        with collections.build(self.path("many"), parts, client=self.client, cells=40) as many:
            self.assertGreater(many.info.n_cells, 20)
            self.same(index.search(x[:30], K, exact=True), many.search(x[:30], K, exact=True))
            with self.assertRaisesRegex(ValueError, "has cells"):
                many.search(x[:3], K, filter=np.ones(N, bool))
            with shards.open(self.path("many")) as here:
                allowed, own = here.filter_ids(range(0, N, 3)), index.filter_ids(range(0, N, 3))
                self.same(
                    index.search(x[:9], K, exact=True, filter=own), many.search(x[:9], K, exact=True, filter=allowed)
                )
                self.same(here.search(x[:30], 1, recall=0.9), many.search(x[:30], 1, recall=0.9))

    def test_arrays_and_frames(self) -> None:
        x = random_vectors(N, DIMS)
        with thresher.Index.build(self.path("one"), x) as index:
            wanted = index.search(x[:9], K, exact=True)
        import dask.array

        array = dask.array.from_array(x, chunks=(700, 5))
        with collections.build(self.path("array"), array, client=self.client) as many:
            self.assertEqual([shard.n_items for shard in many.info.shards], [700, 700, 600])
            self.same(wanted, many.search(x[:9], K, exact=True))
        try:
            import dask.dataframe
            import pandas
        except ImportError as missing:
            self.skipTest(f"DataFrames are not installed: {missing}")
        dask.config.set({"dataframe.convert-string": False})
        frame = pandas.DataFrame({"embedding": list(x), "id": np.arange(N) * 2 + 1})
        given = dask.dataframe.from_pandas(frame, npartitions=3)
        with collections.build(
            self.path("frame"), given, vector="embedding", ids="id", client=self.client
        ) as many:
            found = many.search(x[:9], K, exact=True)
            self.same([wanted[0] * np.uint64(2) + np.uint64(1), wanted[1]], found)

    def test_features(self) -> None:
        x, rng = random_vectors(N, DIMS), np.random.default_rng(8)
        own = {
            "features": [sorted(rng.choice(40, 3, replace=False).tolist()) for _ in range(N)],
            "multipliers": rng.random(N) + 0.5,
            "offsets": rng.random(N),
        }
        weights = [{int(word): float(rng.random()) for word in rng.choice(40, 6)} for _ in range(9)]
        parts = np.split(x, [500, 600])
        given = {name: [values[:500], dask.delayed(values[500:600]), values[600:]] for name, values in own.items()}
        with thresher.Index.build(self.path("one"), x, **own) as one:
            with collections.build(self.path(), parts, client=self.client, **given) as many:
                for options in ({}, {"value": "sigmoid"}, {"target": "1 OR 2"}):
                    both = [i.search(x[:9], K, exact=True, features=weights, **options) for i in (one, many)]
                    self.same(*both)
        with self.assertRaisesRegex(ValueError, "features: 1 are given for 3 parts"):
            collections.build(self.path("wrong"), parts, client=self.client, features=own["features"][:1])

    def test_what_does_not_fit_is_refused(self) -> None:
        x, ids = random_vectors(100, DIMS), np.arange(100)
        for kind, words, parts in (
            (thresher.ArgumentError, "part 1: row 77", [x, dask.delayed(_nan)(100)]),
            (thresher.ArgumentError, "the id 5 is in shard 0 .* and in shard 1", [(x, ids), (x, ids + 5)]),
            (ValueError, "part 1: rows of 5 dimensions", [x, x[:, :5]]),
            (ValueError, "no rows", [x[:0]]),
            (TypeError, "expected a Dask array", 7),
        ):
            with self.assertRaisesRegex(kind, words):
                collections.build(self.path(), parts, client=self.client)
            self.assertFalse(os.path.exists(self.path()))

    def test_a_part_that_differs_between_passes_is_named(self) -> None:
        x = random_vectors(100, DIMS)
        wanted = "part 1: has 70 rows of 16 dimensions, and had 100 rows of 16 dimensions when the build began"
        for n_passes in (1, 2):
            parts = [x, dask.delayed(_shrinking)(x, self.path(f"passes{n_passes}"), n_passes)]
            with self.assertRaisesRegex(ValueError, wanted):
                collections.build(self.path("many"), parts, client=self.client)
            self.assertFalse(os.path.exists(self.path("many")))

    def test_a_worker_killed_in_a_search(self) -> None:
        x, index, many = self.both()
        wanted = index.search(x[:500], K, exact=True)
        with many, Kills("Dask, searches", FEW) as kills:
            while kills.left():
                victim = next(iter(many.workers()))

                def search() -> None:
                    for _ in range(9):
                        self.same(wanted, many.search(x[:500], K, exact=True))

                kills.timed(search)
                kills.during(partial(self.kill, victim), search)
                self.same(wanted, many.search(x[:500], K, exact=True))

    def test_a_worker_killed_in_a_build(self) -> None:
        x = random_vectors(40_000, DIMS)
        with thresher.Index.build(self.path("one"), x) as index:
            wanted = index.search(x[:20], K, exact=True)
        parts = np.array_split(x, 9)

        def build() -> Any:
            return collections.build(self.path("many"), parts, client=self.client, replace=True)

        with Kills("Dask, builds", FEW) as kills:
            kills.timed(build).close()
            while kills.left():
                self.client.wait_for_workers(2, timeout=START_S)
                with kills.during(self.kill, build) as many:
                    self.same(wanted, many.search(x[:20], K, exact=True))
                self.assertEqual(len(os.listdir(self.path("many"))), 10)
                self.assertEqual(shards.verify(self.path("many")).n_items, 40_000)

    def test_partial_answers_name_what_is_missing(self) -> None:
        x, index, many = self.both()
        lost = many.info.shards[0].directory
        for worker, held in many.workers().items():
            if lost in held:
                os.rename(self.path(f"many/{lost}"), self.path("gone"))
                self.kill(worker)
        with self.assertRaisesRegex(thresher.FormatError, f"{lost}: shard 0 of the collection is missing"):
            many.search(x[:5], K)
        ids, scores, missing = many.search(x[:5], K, exact=True, partial=True)
        self.assertIn(lost, missing)
        first = len(missing) * (N // 5)
        want = index.search(x[:5], K, exact=True, filter=np.arange(first, N))
        self.same(want, (ids, scores))
        os.rename(self.path("gone"), self.path(f"many/{lost}"))
        self.same(index.search(x[:5], K, exact=True), many.search(x[:5], K, exact=True))
        many.close()

    def test_a_training_has_the_bits_of_one_process(self) -> None:
        x, y, qid = ranking(3000)
        weights = np.random.default_rng(3).random(len(y))
        plain = thresher.RankSVM().fit(x, y, qid)
        weighed = thresher.RankSVM(method="trust-region", scale="query").fit(x, y, qid, sample_weight=weights)
        parts = [np.array_split(given, 4) for given in (x, y, qid, weights)]
        arrays = [distributed_array(given, 700) for given in (x, y, qid)]
        for n_workers in (1, 2, 5):
            with cluster_of(n_workers, self.client) as client:
                fitted = collections.RankSVM().fit(*arrays, client=client)
                np.testing.assert_array_equal(fitted.coef_, plain.coef_)
                self.assertEqual(fitted.report_.pairwise_accuracy, plain.report_.pairwise_accuracy)
                fitted = collections.RankSVM(method="trust-region", scale="query")
                fitted.fit(*parts[:3], sample_weight=parts[3], client=client)
                np.testing.assert_array_equal(fitted.coef_, weighed.coef_)

    def test_a_worker_killed_in_a_training(self) -> None:
        x, y, qid = ranking(3000)
        parts = [np.array_split(given, 4) for given in (x, y, qid)]
        wanted = thresher.RankSVM(epsilon=1e-9).fit(x, y, qid).coef_

        def fit() -> None:
            fitted = collections.RankSVM(epsilon=1e-9).fit(*parts, client=self.client, patience=START_S)
            np.testing.assert_array_equal(fitted.coef_, wanted)

        with Kills("Dask, trainings", FEW) as kills:
            kills.timed(fit)
            while kills.left():
                self.client.wait_for_workers(2, timeout=START_S)  # so that one is left
                kills.during(self.kill, fit)

    def test_a_training_without_workers_ends(self) -> None:
        x, y, qid = ranking(60)
        with local_cluster(0) as cluster, distributed.Client(cluster) as client:
            with self.assertRaisesRegex(collections.WorkersLostError, "no workers for 0.2 s: add workers"):
                collections.RankSVM().fit([x], [y], [qid], client=client, patience=0.2)

    def test_an_actor_that_never_answers_is_made_again(self) -> None:
        """Its worker is there, but has lost it; patience starts with that, not with the call."""
        actors = Actors(self.client, 0.0, lambda slot, worker: FakeFuture(FakeActor()), lambda slot: OSError("lost"))
        slot = Slot(["one"], 1)
        actors.place_all([slot])
        actors._patience = 2.0

        def late(gone: Any = slot.made) -> None:
            gone.status = "error"

        timer = threading.Timer(2.5, late)
        timer.start()
        calls = iter([FakeFuture(None), FakeFuture(pickle.dumps(7))])
        self.assertEqual([answer() for _, answer in actors.ask(lambda slot: next(calls))], [7])
        timer.join()

    def test_rows_that_nothing_can_be_learned_from(self) -> None:
        x, y, qid = ranking(60)
        for kind, words, given in (
            (ValueError, "part 1: X: an array of shape", ([x, x[0]], [y, y], [qid, qid])),
            (ValueError, "part 1 has 3 dense features", ([x, x[:, :3]], [y, y], [qid, qid])),
            (ValueError, "have 2, 1, 2, 2 parts", ([x, x], [y], [qid, qid])),
            (thresher.ArgumentError, "no pairs to learn from", ([x, x], [y * 0, y * 0], [qid, qid])),
            (TypeError, "X: an object of type int", (7, [y], [qid])),
        ):
            with self.assertRaisesRegex(kind, words):
                collections.RankSVM().fit(*given, client=self.client)
        with self.assertRaises(thresher.UnsupportedError):
            collections.RankSVM(device="cuda").fit([x], [y], [qid], client=self.client)


if __name__ == "__main__":
    unittest.main()

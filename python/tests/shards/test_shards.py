# SPDX-License-Identifier: Apache-2.0
"""Collections of shards: their answers are those of one index over all rows, and inputs that do not fit are refused."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import unittest
import warnings
from typing import Any

import numpy as np

import thresher
from support import Case, random_vectors
from test_tower import train as train_tower
from thresher import shards
from thresher.shards import _build, _collection, _duplicates, _manifest, _sample

N, DIMS, K = 3000, 24, 10
KILLS = int(os.environ.get("THR_KILLS", "5"))
CUTS = {1: [], 2: [1234], 7: [10, 700, 701, 1500, 1501, 2999]}


def shifted(n: int = N, seed: int = 1) -> Any:
    """Vectors with a common direction, so that the quantiser has a centre, and with ties."""
    vectors = random_vectors(n, DIMS, seed) + 0.6
    vectors[:: max(n // 20, 1)] = vectors[0]
    return vectors.astype(np.float32)


class SameBits(Case):
    """Merged answers over 1, 2 and 7 shards are those of one index over all rows, bit for bit."""

    def both(self, **options: Any) -> Any:
        """Yield one index and collections of the same rows, in 1, 2 and 7 shards."""
        vectors = shifted()
        index = thresher.Index.build(self.path("one"), vectors, replace=True, **options)
        for n, cuts in CUTS.items():
            with shards.build(self.path("many"), np.split(vectors, cuts), replace=True, **options) as collection:
                self.assertEqual(len(collection.info.shards), n)
                self.assertEqual(collection.info.quantiser, index.quantiser_fingerprint)
                yield index, collection, np.concatenate([vectors[:20], random_vectors(10, DIMS, 3)])

    def same(self, one: Any, many: Any) -> None:
        self.assertEqual(len(one), len(many))
        for a, b in zip(one, many):
            self.assertEqual(a.dtype, b.dtype)
            np.testing.assert_array_equal(a, b)

    def test_exact(self) -> None:
        for metric in ("cosine", "ip", "l2"):
            for keep in ("float32", "float16", "int8"):
                for index, collection, queries in self.both(metric=metric, keep=keep):
                    found = collection.search(queries, K, exact=True, certified=True)
                    self.same(index.search(queries, K, exact=True), found[:2])
                    self.assertEqual(found[2].all() or found[2].any(), keep == "float32")

    def test_recall_of_1_and_one_query(self) -> None:
        for index, collection, queries in self.both():
            self.same(index.search(queries, 200, recall=1.0), collection.search(queries, 200, recall=1.0))
            self.same(index.search(queries[3], K, recall=1.0), collection.search(queries[3], K, recall=1.0))

    def test_more_than_there_are(self) -> None:
        for index, collection, queries in self.both():
            self.same(index.search(queries, N + 5, exact=True), collection.search(queries, N + 5, exact=True))
            self.assertEqual(collection.search(queries[0], 1 << 20, certified=True)[0].shape, (len(collection),))

    def test_options_without_effect_are_named(self) -> None:
        for _, collection, queries in self.both():
            with self.assertWarnsRegex(UserWarning, "^recall has no effect with exact=True$"):
                collection.search(queries, K, exact=True, recall=0.9)
            with self.assertWarnsRegex(UserWarning, "^recall has no effect with exact=True$"):
                collection.search_radius(queries, 0.5, exact=True, recall=0.9)

    def test_certified_answers(self) -> None:
        for index, collection, queries in self.both(metric="l2"):
            one = index.search(queries, 1, certified=True, query_bits=8)
            many = collection.search(queries, 1, certified=True, query_bits=8)
            sure = one[2] & many[2]
            self.assertGreater(int(sure.sum()), 0)
            self.same([part[sure] for part in one], [part[sure] for part in many])

    def test_queries_that_are_items_are_certified_in_every_shard(self) -> None:
        for _, collection, _ in self.both():
            items = np.concatenate([index.vectors(index.ids()[:5]) for _, index in collection.opened()])
            self.assertTrue(collection.search(items, 1, certified=True, query_bits=8)[2].all())

    def test_least_scores(self) -> None:
        for index, collection, queries in self.both():
            ids, scores = index.search(queries, K, exact=True)
            least = scores[:, 3]
            few = index.search(queries, K, exact=True, least_scores=least)
            reach = scores >= least[:, None]
            self.same((np.where(reach, ids, thresher.NO_ID), np.where(reach, scores, -np.inf).astype(np.float32)), few)
            parts = [(shard, place.first_row, None) for place, shard in collection.opened()]
            self.same(few, shards.search_shards(parts, queries, K, exact=True, least_scores=least)[:2])
            with self.assertRaisesRegex(ValueError, "one score for each"):
                index.search(queries, K, least_scores=least[:-1])

    def test_wrong_guesses_of_the_kth_best_score_are_mended(self) -> None:
        """Flat codes have no margins, so the answer is known to the bit, wherever the rows near the queries are."""
        x = np.random.default_rng(5).standard_normal((6000, 16), np.float32)
        queries = x[:8] + 0.1
        for order in (np.arange(6000), np.argsort(x @ queries[0]), np.argsort(-x @ queries[0])):
            options: Any = {"keep": None, "bits": 2, "lead_bits": 2, "replace": True}
            with thresher.Index.build(self.path("one"), x[order], **options) as one:
                for cuts in ([1000, 2000, 3000, 4000, 5000], [5900], [100], [3, 10, 50, 5000]):
                    with shards.build(self.path("many"), np.split(x[order], cuts), **options) as many:
                        for k in (1, 10, 200):
                            self.same(one.search(queries, k, recall=0.9), many.search(queries, k, recall=0.9))

    def test_later_shards_read_less(self) -> None:
        x, rng = random_vectors(40_000, DIMS), np.random.default_rng(3)
        queries = x[rng.integers(0, len(x), 100)] + np.float32(0.3) * random_vectors(100, DIMS, 4)
        with shards.build(self.path(), np.array_split(x, 4), replace=True) as collection:
            alone, bounded = np.zeros((2, 100), np.uint64)
            for _, index in collection.opened():
                _, scores = index.search(queries, K, n_read_out=alone)
                index.search(queries, K, least_scores=scores[:, 0], n_read_out=bounded)
                self.assertLess(int(bounded.sum()), int(alone.sum()))

    def test_estimates_by_codes(self) -> None:
        for metric in ("cosine", "ip", "l2"):
            for bits, lead, rotate, scale in ((1, 1, None, None), (3, 3, True, 3.0), (4, 1, None, None)):
                options = {"metric": metric, "bits": bits, "lead_bits": lead, "rotate": rotate, "scale": scale, "keep": None}
                for index, collection, queries in self.both(**options):
                    self.same(index.search(queries, K, n_survivors=N), collection.search(queries, K, n_survivors=N))

    def test_radius(self) -> None:
        for metric, least in (("cosine", 0.5), ("ip", 9.0), ("l2", -30.0)):
            for keep in ("float32", None):
                for index, collection, queries in self.both(metric=metric, keep=keep):
                    one = index.search_radius(queries, least, recall=1.0, certified=True)
                    self.assertGreater(int(one[0][-1]), 100)
                    self.same(one, collection.search_radius(queries, least, recall=1.0, certified=True))

    def test_filters(self) -> None:
        mask = np.random.default_rng(4).random(N) < 0.1
        for index, collection, queries in self.both():
            for allowed in (mask, np.flatnonzero(mask), thresher.Filter(N, mask), np.zeros(N, bool)):
                self.same(
                    index.search(queries, K, exact=True, filter=allowed),
                    collection.search(queries, K, exact=True, filter=allowed),
                )
                self.same(
                    index.search_radius(queries, 0.4, recall=1.0, filter=allowed),
                    collection.search_radius(queries, 0.4, recall=1.0, filter=allowed),
                )

    def test_given_ids_and_names(self) -> None:
        vectors, ids = shifted(), np.random.default_rng(2).permutation(N).astype(np.uint64) * 7 + 5
        queries = vectors[:9]
        pairs = list(zip(np.split(vectors, CUTS[7]), np.split(ids, CUTS[7])))
        index = thresher.Index.build(self.path("one"), vectors, ids=ids)
        with shards.build(self.path("many"), iter(pairs)) as many:  # an iterator: spooled
            self.same(index.search(queries, K, exact=True), many.search(queries, K, exact=True))
            wanted = ids[100:140]
            self.same(
                index.search(queries, K, exact=True, filter=index.filter_ids(wanted)),
                many.search(queries, K, exact=True, filter=many.filter_ids(wanted)),
            )
            with self.assertRaisesRegex(thresher.NotFoundError, "no item with the id 6"):
                many.filter_ids([6])
            np.testing.assert_array_equal(many.vector(int(ids[77])), vectors[77])
            self.assertIn(int(ids[77]), many)
            self.assertNotIn(6, many)
        self.assertEqual([n for n in os.listdir(self.path("many")) if n.startswith(("parts", "quant"))], [])
        names = [f"n{i}" for i in range(N)]
        parts = [(vectors[:100], names[:100]), (vectors[100:], names[100:])]
        with shards.build(self.path("named"), parts) as many:
            found, _ = many.search(vectors[150], 1)
            self.assertEqual(many.name(int(found[0])), "n0" if found[0] == 0 else "n150")
            self.assertEqual([many.name(0), many.name(100), many.name(N)], ["n0", "n100", None])

    def test_features(self) -> None:
        x, rng = shifted(1200), np.random.default_rng(8)
        rows = [sorted(rng.choice(40, 3, replace=False).tolist()) for _ in range(1200)]
        ids = rng.permutation(9000)[:1200]
        with thresher.Index.build(self.path("one"), x, ids=ids, features=rows) as one:
            for cuts in ([], [500], [9, 10, 400, 900]):
                own = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, 1200])]
                parts = list(zip(np.split(x, cuts), np.split(ids, cuts)))
                with shards.build(self.path("many"), parts, features=own, replace=True) as many:
                    weights = [{int(f): float(w) for f, w in zip(rng.choice(40, 4), rng.random(4))} for _ in range(15)]
                    for options in ({}, {"value": "sigmoid"}, {"target": "3 OR 17"}, {"filter": ids[::3]}):
                        found = [
                            i.search(x[:15], K, exact=True, features=weights, certified=True, **options)
                            for i in (one, many)
                        ]
                        self.same(*found)
                    self.same(
                        one.search(x[3], K, exact=True, features=weights[0]),
                        many.search(x[3], K, exact=True, features=weights[0]),
                    )
        rows_alone, bids = [x[:500], x[500:]], {"multipliers": rng.random(1200), "offsets": rng.random(1200)}
        with thresher.Index.build(self.path("one"), x, features=rows, replace=True, **bids) as one:
            halves = {name: np.split(values, [500]) for name, values in bids.items()}
            own = [rows[:500], rows[500:]]
            with shards.build(self.path("many"), rows_alone, features=own, replace=True, **halves) as many:
                for value in ("sum", "sigmoid"):
                    options = {"exact": True, "features": weights, "certified": True, "value": value}
                    self.same(*(i.search(x[:15], K, **options) for i in (one, many)))
        with self.assertRaisesRegex(ValueError, "1 are given for 2 parts"):
            shards.build(self.path("none"), [x, x], features=[rows])
        words = [["early"]] * 500 + [["late"]] * 700
        with shards.build(self.path("words"), rows_alone, features=[words[:500], words[500:]]) as many:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a shard has none of these, another one has
                many.search(x[:2], K, features=[["early"], ["late", "nobody"]], target="early OR late")
            with self.assertWarnsRegex(UserWarning, "^no item has any of the words of query 1$"):
                many.search(x[:2], K, features=[["early"], ["nobody"]])
            with self.assertWarnsRegex(UserWarning, "^target: no item has 'nobody'$"):
                many.search(x[:2], K, target="late OR nobody")
        self.assertFalse(os.path.exists(self.path("none")))

    def test_texts_are_encoded_by_the_model(self) -> None:
        texts = [f"word{i % 50} number{i}" for i in range(300)]
        for item_bits in (2, 32):
            model = self.path("m.safetensors")
            train_tower(model, query_bits=3, item_bits=item_bits)
            with thresher.Tower(model) as tower:
                vectors = tower.encode(texts, side="item")
            index = thresher.Index.build(self.path("one"), vectors, model=model, keep=None, bits=3, replace=True)
            parts = np.array_split(vectors, 4)
            with shards.build(self.path("many"), parts, model=model, keep=None, bits=3, replace=True) as many:
                self.assertEqual(many.info.model, index.model.fingerprint)
                queries = texts[::40]
                self.same(index.search(queries, K, n_survivors=300), many.search(queries, K, n_survivors=300))
                self.same(index.search(queries[0], K, n_survivors=300), many.search(queries[0], K, n_survivors=300))
            shards.build(self.path("fewer"), parts[:3], model=model, keep=None, bits=3, replace=True).close()
            shards.add(self.path("fewer"), parts[3])
            with shards.open(self.path("fewer")) as many:
                self.assertEqual(len(many.search(queries, K)[0]), len(queries))
                if item_bits == 32:  # the quantiser has learned from fewer rows
                    continue
                self.same(index.search(queries, K, n_survivors=300), many.search(queries, K, n_survivors=300))

    def test_empty_and_skewed_parts(self) -> None:
        vectors = shifted()
        parts = [vectors[:0], vectors[:1], vectors[:0], vectors[1:2900], vectors[2900:], vectors[:0]]
        index = thresher.Index.build(self.path("one"), vectors)
        with shards.build(self.path("many"), parts) as many:
            self.assertEqual([s.n_items for s in many.info.shards], [1, 2899, 100])
            self.same(index.search(vectors[:9], K, exact=True), many.search(vectors[:9], K, exact=True))


class Promise(Case):
    def test_a_promised_recall_is_kept_by_the_whole(self) -> None:
        rng = np.random.default_rng(5)
        centres = rng.standard_normal((20, DIMS)) * 2
        topic = np.sort(rng.integers(0, 20, 20_000))  # shards hold whole topics
        vectors = (centres[topic] + rng.standard_normal((20_000, DIMS))).astype(np.float32)
        held_out = (centres[rng.integers(0, 20, 200)] + rng.standard_normal((200, DIMS))).astype(np.float32)
        for parts in (np.array_split(vectors, 7), np.array_split(vectors[rng.permutation(20_000)], 7)):
            with shards.build(self.path(), parts, replace=True) as many:
                for queries in (held_out, -held_out, random_vectors(200, DIMS, 9)):
                    for recall in (0.95, 0.99):
                        truth = many.search(queries, K, exact=True)[1]
                        found = many.search(queries, K, recall=recall)[1]
                        self.assertGreaterEqual(float((found >= truth[:, -1:]).mean()), recall - 0.005)


class Sample(unittest.TestCase):
    def test_rows_are_those_of_a_build(self) -> None:
        np.testing.assert_array_equal(shards.sampled_rows(100, 96), np.arange(100))
        rows = shards.sampled_rows(1_000_000, 384)
        self.assertEqual((len(rows), rows[0], rows[-1]), (4096, 0, 999_999))
        self.assertEqual(len(shards.sampled_rows(10**6, 1 << 20)), _sample._BLOCK)

    def test_the_first_id_twice(self) -> None:
        sets = [np.array(s, np.uint64) for s in ([1, 5, 2**64 - 2], [0, 7], [3, 2**64 - 2])]
        self.assertEqual(next(_duplicates._twice(sets, 0, 2**64 - 1, 1), None), 2**64 - 2)
        self.assertIsNone(next(_duplicates._twice(sets[:2], 0, 2**64 - 1, 2), None))
        self.assertIsNone(next(_duplicates._twice([], 0, 2**64 - 1, 2), None))


class Refused(Case):
    """Inputs that do not fit are refused with a message, and nothing is published."""

    def refused(self, kind: Any, words: str, parts: Any, **options: Any) -> None:
        with self.assertRaisesRegex(kind, words):
            shards.build(self.path(), parts, **options)
        self.assertFalse(os.path.exists(self.path()))

    def test_a_part_that_differs_between_passes_is_named(self) -> None:
        x = shifted(100)

        class Shrinking(list):  # type: ignore[type-arg]
            n_passes = 0

            def __getitem__(self, number: Any) -> Any:
                self.n_passes += number == 1
                return x if number == 0 or self.n_passes < last else fewer

            def __iter__(self) -> Any:
                return (self[number] for number in range(2))

        for last in (2, 3):
            for fewer, words in ((x[:70], f"70 rows of {x.shape[1]}"), ((x, np.arange(100)), "has ids in one pass"), (x[:, :5], "of 5")):
                with self.assertRaisesRegex(ValueError, f"part 1: .*{words}.* when the build began: give the same part"):
                    shards.build(self.path(), Shrinking([x, x]))

    def test_parts(self) -> None:
        x = shifted(300)
        self.refused(TypeError, "expected a list", x)
        self.refused(ValueError, "hold no rows", [x[:0], x[:0]])
        self.refused(ValueError, "hold no rows", [])
        self.refused(ValueError, "part 1: rows of 5 dimensions", [x, x[:, :5]])
        self.refused(ValueError, "part 1: 2 ids for 300 vectors", [x, (x, [1, 2])])
        self.refused(ValueError, "part 1: has ids", [x, (x, np.arange(300))])
        self.refused(ValueError, "part 0 .x.fvecs.: parts are read from .npy", ["x.fvecs"])
        self.refused(thresher.ArgumentError, "part 1: .*id 7", [(x, np.arange(300)), (x, np.full(300, 7))])

    def test_an_id_in_two_parts(self) -> None:
        x = shifted(300)
        ids = np.arange(900, dtype=np.uint64)
        ids[700] = ids[20]
        parts = [(x, ids[:300]), (x, ids[300:600]), (x, ids[600:])]
        self.refused(thresher.ArgumentError, "the id 20 is in shard 0 .* and in shard 2 ", parts)

    def test_nan_names_part_row_and_file(self) -> None:
        for row in (0, 1717):  # in the sample, and not
            x = shifted()
            x[row, 3] = np.nan
            name = self.path("bad.npy")
            np.save(name, x)
            self.refused(thresher.ArgumentError, f"part 1 .*bad.npy.*row {row}", [shifted(), name])

    def test_an_existing_collection_stays(self) -> None:
        x = shifted(300)
        shards.build(self.path(), [x]).close()
        before = sorted(os.listdir(self.path()))
        with self.assertRaisesRegex(thresher.ExistsError, "replace=True"):
            shards.build(self.path(), [x])
        bad = np.full((10, DIMS), np.inf, np.float32)
        with self.assertRaises(thresher.ArgumentError):
            shards.build(self.path(), [x, bad], replace=True)
        with self.assertRaises(thresher.CanceledError):
            shards.build(self.path(), [x, x], replace=True, progress=lambda *_: False)
        self.assertEqual(sorted(os.listdir(self.path())), before)
        shards.verify(self.path())
        other = os.open(self.path(), os.O_RDONLY)
        self.addCleanup(os.close, other)
        fcntl.flock(other, fcntl.LOCK_EX)
        with self.assertRaisesRegex(thresher.BusyError, "another build"):
            shards.remove(self.path(), [0])
        with self.assertRaisesRegex(thresher.BusyError, "another build"):
            shards.build(self.path(), [x], replace=True)
        fcntl.flock(other, fcntl.LOCK_UN)
        with open(os.path.join(self.path(), "notes.txt"), "w") as file:
            file.write("mine")
        with self.assertRaisesRegex(thresher.ExistsError, "notes.txt"):
            shards.build(self.path(), [x], replace=True)

    def test_links_among_what_builds_have_left(self) -> None:
        shards.build(self.path(), [shifted(300)]).close()
        os.mkdir(self.path("elsewhere"))
        os.symlink(self.path("elsewhere"), os.path.join(self.path(), "000007-01234567"))
        shards.build(self.path(), [shifted(300)], replace=True).close()
        self.assertEqual(len(os.listdir(self.path())), 2)
        self.assertTrue(os.path.isdir(self.path("elsewhere")))
        with self.assertRaisesRegex(thresher.FormatError, "is a collection of shards"):
            thresher.Index(self.path())

    def test_a_build_that_is_killed_publishes_nothing(self) -> None:
        program = (
            "import os, signal, sys, numpy as np; from thresher import shards\n"
            "x = np.random.default_rng(1).standard_normal((500, 8)).astype(np.float32)\n"
            "def stop(what, done, total):\n"
            "    if done == 1000: os.kill(os.getpid(), signal.SIGKILL)\n"
            "shards.build(sys.argv[1], [x, x, x], replace=True, progress=stop)\n"
        )
        for there in (False, True):
            if there:
                shutil.rmtree(self.path())
                shards.build(self.path(), [shifted(300)]).close()
            killed = subprocess.run([sys.executable, "-c", program, self.path()], check=False)
            self.assertEqual(killed.returncode, -signal.SIGKILL)
            if there:
                self.assertEqual(shards.verify(self.path()).n_items, 300)
            else:
                with self.assertRaisesRegex(thresher.FormatError, "is no collection"):
                    shards.open(self.path())
        shards.build(self.path(), [shifted(300)], replace=True).close()
        self.assertEqual(len(os.listdir(self.path())), 2)  # the files of the killed build are gone


class Versions(unittest.TestCase):
    def test_a_worker_of_another_version_is_named(self) -> None:
        shape = _build.shape_of(random_vectors(3, DIMS), 0)
        self.assertEqual(list(_build._same_version([(shape, thresher.__version__)])), [shape])
        with self.assertRaisesRegex(thresher.MismatchError, "a worker has version 0.0.1 of thresher"):
            list(_build._same_version([(shape, thresher.__version__), (shape, "0.0.1")]))


class Damaged(Case):
    def setUp(self) -> None:
        super().setUp()
        self.vectors = shifted()
        shards.build(self.path(), np.array_split(self.vectors, 3)).close()
        self.manifest = shards.read(self.path())

    def place(self, number: int) -> str:
        return os.path.join(self.path(), self.manifest.shards[number].directory)

    def publish(self, number: int | None = None, **changed: Any) -> None:
        """Write the list with these fields changed: those of a shard, or its own."""
        manifest = self.manifest
        if number is not None:
            listed = list(manifest.shards)
            listed[number] = listed[number]._replace(**changed)
            changed = {"shards": tuple(listed)}
        _manifest.write(self.path(), manifest._replace(**changed))

    def refused(self, kind: Any, words: str) -> None:
        for call in (shards.open, shards.verify):
            with self.assertRaisesRegex(kind, words):
                call(self.path())

    def test_nowhere(self) -> None:
        with self.assertRaises(thresher.FileMissingError):
            shards.open(self.path("nowhere"))
        with self.assertRaisesRegex(thresher.FormatError, "is no collection"):
            shards.open(self.place(0))

    def test_a_missing_shard(self) -> None:
        shutil.rmtree(self.place(1))
        self.refused(thresher.FormatError, "shard 1 of the collection is missing")

    def test_a_shard_whose_name_is_no_directory(self) -> None:
        open(os.path.join(self.path(), "file"), "w").close()
        os.symlink("link", os.path.join(self.path(), "link"))
        for name in ("file", "link", "shards.json"):
            self.publish(1, directory=name)
            self.refused(thresher.FormatError, "shard 1 of the collection is missing")

    def test_a_list_that_does_not_fit_together_is_not_written(self) -> None:
        first, second, third = self.manifest.shards
        for words, listed, n_items in (
            ("leave a gap: a shard is missing", (first, third), 3000),
            ("the shards 0 and 3 are both", (first, second, third, first._replace(first_row=3000)), 4000),
            ("overlap", (first, second._replace(first_row=999), third), 3000),
            ("a shard is missing or doubled", (first, second, third), 2999),
            ("a name without a path", (first._replace(directory="../other"), second, third), 3000),
        ):
            with self.assertRaisesRegex(thresher.FormatError, words):
                self.publish(shards=listed, n_items=n_items)
        self.assertEqual(shards.read(self.path()), self.manifest)

    def test_a_list_that_was_edited_or_cut(self) -> None:
        name = os.path.join(self.path(), "shards.json")
        with open(name) as file:
            good = file.read()
        for text, words in (
            (good.replace('"thresher_shards":1', '"thresher_shards":2'), "is of format version 2"),
            (good.replace('"n_items":3000', '"n_items":2999'), "the checksum at its end does not fit"),
            (good[:-40], "the checksum at its end does not fit"),
            (good + " ", "the checksum at its end does not fit"),
            ("", "is no list of shards"),
            ("[" * 100_000, "is no list of shards"),
        ):
            with open(name, "w") as file:
                file.write(text)
            self.refused(thresher.FormatError, words)

    def test_a_shard_of_another_collection(self) -> None:
        for words, options in (
            ("metric l2", {"metric": "l2"}),
            ("bits 2", {"bits": 2}),
            ("keep (float16|f16)", {"keep": "float16"}),
            ("quantiser", {}),
        ):
            thresher.Index.build(self.place(1), random_vectors(1000, DIMS), replace=True, **options).close()
            self.refused(thresher.MismatchError, f"shard 1 has {words}")
        thresher.Index.build(self.place(1), random_vectors(1000, DIMS + 1), replace=True).close()
        self.refused(thresher.MismatchError, f"n_dims {DIMS + 1}")

    def test_publishing_shards_that_differ(self) -> None:
        for key, options in (("metric", {"metric": "l2"}), ("quantiser", {})):
            thresher.Index.build(self.place(1), random_vectors(1000, DIMS), replace=True, **options).close()
            with self.assertRaisesRegex(thresher.FormatError, "shard 1 was changed"):
                shards.publish(self.path(), self.manifest.shards)
            changed = self.manifest.shards[1]._replace(checksum=_manifest.checksum_of(self.place(1)))
            with self.assertRaisesRegex(thresher.MismatchError, f"shard 1 has {key}"):
                shards.publish(self.path(), [self.manifest.shards[0], changed, self.manifest.shards[2]])
        self.assertEqual(shards.read(self.path()), self.manifest)

    def test_a_shard_replaced_by_one_of_the_same_quantiser(self) -> None:
        rows = self.vectors[1000:2000][::-1]
        thresher.Index.build(self.place(1), rows, replace=True, quantiser_from=self.place(0)).close()
        self.refused(thresher.FormatError, "shard 1 was changed or replaced")

    def test_a_changed_shard(self) -> None:
        with thresher.Index.open(self.place(1)) as index:
            index.remove([3])
        self.refused(thresher.FormatError, "shard 1 was changed or replaced")

    def test_wrong_ids_of_a_shard(self) -> None:
        self.publish(1, greatest_id=self.manifest.shards[1].greatest_id - 5)
        with self.assertRaisesRegex(thresher.FormatError, "has wrong ids of shard 1: they are from 1000 to 1999"):
            shards.verify(self.path())

    def test_a_list_that_is_no_file(self) -> None:
        name = os.path.join(self.path(), "shards.json")
        os.unlink(name)
        os.mkfifo(name)
        self.refused(thresher.FormatError, "shards.json: not a plain file")
        os.unlink(name)
        os.symlink("shards.json", name)
        for call in (shards.open, shards.verify, shards.read, lambda path: shards.add(path, self.vectors[:5])):
            with self.assertRaisesRegex(thresher.FileError, "shards.json: .*symbolic links") as refused:
                call(self.path())
            self.assertEqual(refused.exception.status, "EIO")

    def test_a_shard_overwritten_while_searching(self) -> None:
        with shards.open(self.path()) as collection:
            name = next(n for n in os.listdir(self.place(2)) if n.endswith(".seg"))
            with open(os.path.join(self.place(2), name), "r+b") as file:
                file.truncate(4096)
            with self.assertRaisesRegex(thresher.FileError, name):
                collection.search(self.vectors[:2], K)

    def test_a_collection_replaced_while_searching(self) -> None:
        with shards.open(self.path()) as old:
            before = old.search(self.vectors[:5], K)
            shards.build(self.path(), [self.vectors[:50]], replace=True).close()
            for a, b in zip(old.search(self.vectors[:5], K), before):
                np.testing.assert_array_equal(a, b)
            with shards.open(self.path()) as new:
                self.assertEqual(len(new), 50)
        with self.assertRaisesRegex(thresher.FileError, "changed since it was opened: open it again"):
            _collection.open_shard(self.path(), self.manifest, 0, None, None)

    def test_a_damaged_byte(self) -> None:
        name = next(n for n in os.listdir(self.place(2)) if n.endswith(".seg"))
        with open(os.path.join(self.place(2), name), "r+b") as file:
            file.seek(-300, os.SEEK_END)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        with self.assertRaisesRegex(thresher.FormatError, name):
            shards.verify(self.path())

    def test_arguments(self) -> None:
        with shards.open(self.path()) as collection:
            for kind, call in (
                (ValueError, lambda: collection.search(self.vectors[:2], 0)),
                (ValueError, lambda: collection.search(self.vectors[:2, :5], 3)),
                (ValueError, lambda: collection.search(self.vectors[:2], 3, recall=2)),
                (ValueError, lambda: collection.search(self.vectors[:2], 3, filter=np.ones(5, bool))),
                (ValueError, lambda: collection.search_radius(self.vectors[:2], float("nan"))),
                (ValueError, lambda: shards.merge([], 3)),
                (ValueError, lambda: shards.publish(self.path(), [])),
            ):
                with self.assertRaises(kind):
                    call()
        with self.assertRaisesRegex(ValueError, "closed"):
            collection.search(self.vectors[:2], 3)


class Fetched(Case):
    """Collections copied from an object store, here memory://."""

    def setUp(self) -> None:
        super().setUp()
        try:
            import fsspec
        except ImportError as missing:
            self.skipTest(f"fsspec is not installed: {missing}")
        self.store = fsspec.filesystem("memory")
        self.addCleanup(self.store.rm, "/bucket", recursive=True)
        self.x = shifted(400)

    def put(self, parts: Any) -> Any:
        with shards.build(self.path("many"), parts, replace=True) as many:
            self.store.put(self.path("many"), "/bucket/my.shards", recursive=True)
            return many.search(self.x[:20], K, exact=True)

    def test_a_collection_is_copied(self) -> None:
        for parts in ([self.x[:300], self.x[300:]], [self.x]):
            wanted = self.put(parts)
            self.assertEqual(shards.fetch("memory://bucket/my.shards", self.path("here"), replace=True).n_items, 400)
            with shards.open(self.path("here")) as here:
                for a, b in zip(wanted, here.search(self.x[:20], K, exact=True)):
                    np.testing.assert_array_equal(a, b)
            self.assertEqual(len(os.listdir(self.path("here"))), len(parts) + 1)
            shards.verify(self.path("here"))
            self.store.rm("/bucket/my.shards", recursive=True)

    def test_shards_that_are_there_are_not_copied_again(self) -> None:
        self.put([(self.x[:300], np.arange(300)), (self.x[300:], np.arange(300, 400))])
        first = shards.fetch("memory://bucket/my.shards", self.path("here")).shards[0].directory
        shards.remove(self.path("many"), [350])
        self.store.rm(f"/bucket/my.shards/{first}", recursive=True)
        self.store.put(self.path("many/shards.json"), "/bucket/my.shards/shards.json")
        new = shards.read(self.path("many")).shards[1].directory
        self.store.put(self.path(f"many/{new}"), f"/bucket/my.shards/{new}", recursive=True)
        self.assertEqual(shards.fetch("memory://bucket/my.shards", self.path("here"), replace=True).n_items, 399)
        shards.verify(self.path("here"))

    def test_what_does_not_fit_leaves_the_collection(self) -> None:
        with self.assertRaisesRegex(thresher.FileMissingError, "is no collection"):
            shards.fetch("memory://bucket/none", self.path("here"))
        self.assertFalse(os.path.exists(self.path("here")))
        self.put([self.x])
        shards.fetch("memory://bucket/my.shards", self.path("here"))
        with self.assertRaisesRegex(thresher.ExistsError, "replace=True"):
            shards.fetch("memory://bucket/my.shards", self.path("here"))
        self.store.rm("/bucket/my.shards", recursive=True)
        self.put([self.x[:100], self.x[100:]])
        lost = shards.read(self.path("many")).shards[1].directory
        self.store.rm(f"/bucket/my.shards/{lost}", recursive=True)
        with self.assertRaisesRegex(thresher.FormatError, f"{lost}: shard 1 of the collection is missing"):
            shards.fetch("memory://bucket/my.shards", self.path("here"), replace=True)
        self.assertEqual(len(os.listdir(self.path("here"))), 2)
        self.assertEqual(len(shards.verify(self.path("here")).shards), 1)
        self.store.rm("/bucket/my.shards", recursive=True)
        self.put([self.x])
        name = shards.read(self.path("many")).shards[0].directory
        self.store.pipe_file(f"/bucket/my.shards/{name}/../../../outside", b"")
        with self.assertRaisesRegex(thresher.FormatError, "a shard has none"):
            shards.fetch("memory://bucket/my.shards", self.path("other"))
        self.assertFalse(os.path.exists(self.path("other")))

    def test_a_list_that_is_no_file(self) -> None:
        self.put([self.x])
        os.mkdir(self.path("pipe"))
        os.mkfifo(self.path("pipe/shards.json"))
        os.makedirs(self.path("folder/shards.json"))
        for source in ("pipe", "folder"):
            with self.assertRaisesRegex(thresher.FormatError, f"{source}/shards.json: is no file"):
                shards.fetch(self.path(source), self.path("here"))
            self.assertFalse(os.path.exists(self.path("here")))

    def test_a_shard_that_is_damaged_is_copied_again(self) -> None:
        self.put([self.x[:100], self.x[100:]])
        for damage in (shutil.rmtree, lambda place: os.remove(os.path.join(place, "MANIFEST")), _put_a_file):
            first = shards.fetch("memory://bucket/my.shards", self.path("here"), replace=True).shards[0]
            damage(self.path(f"here/{first.directory}"))
            shards.fetch("memory://bucket/my.shards", self.path("here"), replace=True)
            self.assertEqual(shards.verify(self.path("here")).n_items, len(self.x))


def _put_a_file(place: str) -> None:
    shutil.rmtree(place)
    open(place, "w").close()


if __name__ == "__main__":
    unittest.main()

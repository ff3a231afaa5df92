# SPDX-License-Identifier: Apache-2.0
"""
What must not bring Python down: arrays of every wrong shape and type at every door, NUL in every text, objects of one
context in a garbage cycle, at the end of the interpreter and after a fork, and 64 threads on lists that change.

GLIBC_TUNABLES of FREED fill memory that was freed, so that its use ends the process; AddressSanitizer sees all of it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from typing import Any, Callable

import numpy as np

import test_dual
import test_tower
import test_translate
import thresher
from support import Case, random_vectors
from thresher import Dual, Filter, Head, Hits, HitsTarget, Index, RankSVM, Tower, Translator

N, DIMS, K = 300, 16, 5
FREED = {"GLIBC_TUNABLES": "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0"}
REFUSALS = (thresher.Error,)
Door = Callable[[Any], Any]


MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # builds wait for disks
MADE = tempfile.TemporaryDirectory(prefix="thresher-test-", dir=MEMORY)


def setUpModule() -> None:
    unittest.addModuleCleanup(MADE.cleanup)
    Things(MADE.name).make()


class Things:
    """One of every kind, in a directory; opened by the tests that need them."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.vectors = random_vectors(N, DIMS)
        self.names = [f"name-{i}" for i in range(N)]

    def path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def make(self) -> None:
        rows = [[i % 7, 7 + i % 3] for i in range(N)]
        with open(self.path("words.tsv"), "w") as file:
            file.writelines(f"{name}\tc={i % 7} d={i % 3}\n" for i, name in enumerate(self.names))
        Index.build(self.path("plain"), self.vectors, threads=2).close()
        Index.build(self.path("ids"), self.vectors, ids=np.arange(N) * 3, features=rows, threads=2).close()
        Index.build(self.path("names"), self.vectors, ids=self.names, threads=2).close()
        Hits.build(self.path("ids.hits"), rows, ids=np.arange(N), threads=2).close()
        Hits.build(self.path("words.hits"), self.path("words.tsv"), threads=2).close()
        Head.build(self.vectors, threads=2).save(self.path("words.head"))
        test_tower.train(self.path("tower"), 2, 2)
        test_translate.dictionary(self.path("translator"))
        test_dual.write_log(self.path("items.tsv"), self.path("requests.tsv"))
        small = {**test_dual.SMALL, "n_epochs": 1}
        Dual.train(self.path("requests.tsv"), self.path("items.tsv"), self.path("dual"), **small).close()

    def open(self) -> Things:
        self.plain, self.ids, self.named = (Index(self.path(name), threads=2) for name in ("plain", "ids", "names"))
        self.hits, self.words = (Hits(self.path(name), threads=2) for name in ("ids.hits", "words.hits"))
        self.head = Head(self.path("words.head"), threads=2)
        self.tower, self.dual = Tower(self.path("tower"), threads=2), Dual(self.path("dual"), threads=2)
        self.translator = Translator(self.path("translator"), threads=2)
        draw = np.random.default_rng(1)
        self.x, self.y, self.qid = draw.standard_normal((60, 4)), draw.integers(0, 3, 60), np.arange(60) // 10
        self.ranker = RankSVM(threads=2).fit(self.x, self.y, self.qid)
        return self

    def all(self) -> list[Any]:
        """What has a pointer of the library, and the lists of the index, a target, a filter."""
        lists = self.ids.hits
        return [
            *(self.plain, self.ids, self.named, self.hits, self.words, self.head, self.tower, self.dual),
            *(self.translator, lists, HitsTarget(lists, "1 OR 2"), HitsTarget(self.words, "c=1")),
            *(self.plain.filter_ids([1, 2]), self.tower.chunks(["a"]), self.ranker),
        ]


def number_doors(t: Things) -> dict[str, Door]:
    """Everything that takes whole numbers, [n], one an item or as many as one likes."""
    one = [[1]] * N
    scores, labels = np.arange(N, dtype=float), np.arange(N) % 3
    return {
        "Hits.remove": lambda a: t.hits.remove(a),
        "Hits.add": lambda a: t.hits.add(one, ids=a),
        "Hits.build ids": lambda a: Hits.build(t.path("x.hits"), one, ids=a, replace=True).close(),
        "Hits.build features": lambda a: Hits.build(t.path("x.hits"), [a], replace=True).close(),
        "Hits.build offsets": lambda a: Hits.build(t.path("x.hits"), (a, np.arange(5)), replace=True).close(),
        "Hits.build numbers": lambda a: Hits.build(t.path("x.hits"), (np.array([0, N]), a), replace=True).close(),
        "Hits.search filter": lambda a: t.hits.search([1], K, filter=a),
        "Hits.search query": lambda a: t.hits.search({1: 1.0}, a),
        "Index.build ids": lambda a: Index.build(t.path("x"), t.vectors, ids=a, replace=True, threads=2).close(),
        "Index.build features": lambda a: Index.build(t.path("x"), t.vectors, features=[a] * N, replace=True).close(),
        "Index.search filter": lambda a: t.plain.search(t.vectors[0], K, filter=a),
        "Index.search k": lambda a: t.plain.search(t.vectors[0], a),
        "Index.filter_ids": lambda a: t.ids.filter_ids(a),
        "Index.names": lambda a: t.named.names(a),
        "Index.rows": lambda a: t.ids.rows(a),
        "Index.vectors": lambda a: t.ids.vectors(a),
        "Index.row": lambda a: t.ids.row(a),
        "Filter": lambda a: Filter(N, a),
        "Filter n_items": lambda a: Filter(a, []),
        "Filter.from_words": lambda a: Filter.from_words(N, a),
        "Filter.from_words n_items": lambda a: Filter.from_words(a, np.zeros(1, np.uint64)),
        "Head.query always": lambda a: t.head.query(t.vectors[:3], K, always=a),
        "Head.query certified": lambda a: t.head.query(t.vectors[:3], K, certified=a),
        "Head.build frequent": lambda a: Head.build(t.vectors, frequent=a),
        "rank_quality qid": lambda a: thresher.rank_quality(scores, labels, a),
        "rank_quality labels": lambda a: thresher.rank_quality(scores, a, 0),
        "recall truth": lambda a: thresher.recall(a, np.arange(N)),
        "recall result": lambda a: thresher.recall(np.arange(N), a, K),
        "RankSVM.fit qid": lambda a: RankSVM().fit(t.x, t.y, a),
        "RankSVM.fit y": lambda a: RankSVM().fit(t.x, a, t.qid),
        "RankSVM.rerank ids": lambda a: t.ranker.rerank(a, t.x),
        "beam_search never": lambda a: thresher.beam_search(
            t.head, Decoder(), 1, start_word=1, end_word=2, max_length=3, never=a
        ),
        "beam_search max_length": lambda a: thresher.beam_search(
            t.head, Decoder(), 2, start_word=1, end_word=2, max_length=a
        ),
    }


def float_doors(t: Things) -> dict[str, Door]:
    """Everything that takes numbers, [n] or [n, n_dims]."""
    return {
        "Index.build": lambda a: Index.build(t.path("x"), a, replace=True, threads=2).close(),
        "Index.build chunks": lambda a: Index.build(t.path("x"), iter([a, a]), replace=True, threads=2).close(),
        "Index.build multipliers": lambda a: Index.build(
            t.path("x"), t.vectors, features=[[1]] * N, multipliers=a, replace=True, threads=2
        ).close(),
        "Index.search": lambda a: t.plain.search(a, K),
        "Index.search_radius": lambda a: t.plain.search_radius(a, 0.5),
        "Index.tune": lambda a: t.plain.tune(a),
        "Hits.set_values": lambda a: t.hits.set_values(a, a),
        "Hits.add multipliers": lambda a: t.hits.add([[1]], ids=[1], multipliers=a, offsets=a),
        "Head.build": lambda a: Head.build(a),
        "Head.build bias": lambda a: Head.build(t.vectors, bias=a),
        "Head.query": lambda a: t.head.query(a, K),
        "Head.measure": lambda a: t.head.measure(a, K, screen="frequent"),
        "Head.measure against": lambda a: t.head.measure(a, K, against=t.head),
        "RankSVM.fit": lambda a: RankSVM().fit(a, t.y, 0),
        "RankSVM.fit sample_weight": lambda a: RankSVM().fit(t.x, t.y, 0, sample_weight=a),
        "RankSVM.predict": lambda a: t.ranker.predict(a),
        "RankSVM.rerank": lambda a: t.ranker.rerank(np.arange(N), a),
        "RankSVM.cross_validate Cs": lambda a: t.ranker.cross_validate(t.x, t.y, t.qid, Cs=a),
        "rank_quality": lambda a: thresher.rank_quality(a, a, 0),
        "recall truth_scores": lambda a: thresher.recall(np.arange(N), np.arange(N), truth_scores=a),
        "beam_search states": lambda a: thresher.beam_search(
            t.head, Decoder(a), 1, start_word=1, end_word=2, max_length=3
        ),
    }


class Decoder:
    """A decoder that returns the given states at every step."""

    def __init__(self, states: Any = None) -> None:
        self.states = states

    def step(self, words: Any) -> Any:
        return np.ones((len(words), DIMS), np.float32) if self.states is None else self.states


def text_doors(t: Things) -> dict[str, Door]:
    """Everything that takes a text or a path; the error names the text and the place of its NUL."""
    return {
        "HitsTarget": lambda s: HitsTarget(t.words, s),
        "Hits.search target": lambda s: t.words.search(["c=1"], K, target=s),
        "Hits.search query": lambda s: t.words.search([s], K),
        "Hits.explain": lambda s: t.words.explain(0, {s: 1.0}),
        "Hits.find": lambda s: t.words.find(s),
        "Hits.remove": lambda s: t.words.remove(["name-1", s]),
        "Hits.remove path": lambda s: t.words.remove(s),
        "Hits.add names": lambda s: t.words.add([["c=1"]], names=[s]),
        "Hits.add words": lambda s: t.words.add([["c=1", s]], names=["new"]),
        "Hits.add path": lambda s: t.words.add(s),
        "Hits": lambda s: Hits(s),
        "Hits.build": lambda s: Hits.build(s, [[1]]),
        "Hits.build features": lambda s: Hits.build(t.path("y.hits"), s),
        "Index": lambda s: Index(s),
        "Index device": lambda s: Index(t.path("plain"), device=s),
        "Index.find": lambda s: t.named.find(s),
        "Index.build": lambda s: Index.build(s, t.vectors),
        "Index.build vectors": lambda s: Index.build(t.path("y"), s),
        "Index.build ids": lambda s: Index.build(t.path("y"), t.vectors, ids=s),
        "Index.build names": lambda s: Index.build(t.path("y"), t.vectors[:2], ids=["a", s]),
        "Index.build model": lambda s: Index.build(t.path("y"), t.vectors, model=s),
        "Index.build texts": lambda s: Index.build(t.path("y"), ["a", s], model=t.tower),
        "Index.search target": lambda s: t.ids.search(t.vectors[0], K, target=s),
        "Index.search features": lambda s: t.ids.search(t.vectors[0], K, features=[s]),
        "Tower": lambda s: Tower(s),
        "Tower.encode": lambda s: t.tower.encode(["a", s]),
        "Tower.train": lambda s: Tower.train(s, t.path("y")),
        "Tower.eval": lambda s: t.tower.eval(s),
        "Dual.encode": lambda s: t.dual.encode(s),
        "Dual.hits": lambda s: t.dual.hits(s),
        "Translator": lambda s: Translator(s),
        "Translator.translate": lambda s: t.translator.translate(s),
        "Head.open": lambda s: Head.open(s),
        "Head.save": lambda s: t.head.save(s),
        "Head.build": lambda s: Head.build(s),
        "Head.build tensor": lambda s: Head.build(t.path("tower"), tensor=s),
        "RankSVM.open": lambda s: RankSVM.open(s),
        "RankSVM.save": lambda s: t.ranker.save(s),
        "read_ranking": lambda s: thresher.read_ranking(s),
    }


BAD = {
    "[n, 0]": np.empty((N, 0), np.int64),
    "[n, 1]": np.zeros((N, 1), np.int64),
    "[n, 2]": np.zeros((N, 2), np.int64),
    "[2, n]": np.zeros((2, N), np.int64),
    "[0]": np.empty(0, np.int64),
    "[0, 0]": np.empty((0, 0), np.int64),
    "[]": np.array(3),
    "[n, 1, 1]": np.zeros((N, 1, 1), np.int64),
    "negative": -np.arange(1, N + 1),
    "huge": np.full(N, 2**63, np.uint64),
    "no id": np.full(N, 2**64 - 1, np.uint64),
    "twice": np.zeros(N, np.int64),
    "every second": np.arange(2 * N)[::2],
    "backwards": np.arange(N)[::-1],
    "broadcast": np.broadcast_to(np.int64(1), (N,)),
    "other byte order": np.arange(N).astype(">i8"),
    "float": np.linspace(0, 1, N),
    "NaN": np.full(N, np.nan),
    "complex": np.full(N, 1j),
    "bool": np.ones(N, bool),
    "text": np.full(N, "1"),
    "objects": np.array([None] * N),
    "dates": np.zeros(N, "datetime64[s]"),
    "records": np.zeros(N, "i4,f4"),
    "a list of lists": [[1], [2, 3]],
    "None": None,
    "a text": "name-1",
    "a number": 3,
    "a negative number": -5,
}


class Doors(Case):
    def setUp(self) -> None:
        super().setUp()
        self.things = Things(MADE.name).open()

    def test_arrays_of_every_shape_are_taken_or_refused(self) -> None:
        doors = {**number_doors(self.things), **float_doors(self.things)}
        refused = taken = 0
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for door, call in doors.items():
                for what, thing in BAD.items():
                    for array in (thing, thing.astype(np.float32) if getattr(thing, "dtype", "") == "int64" else None):
                        try:
                            call(array)
                            taken += 1
                        except REFUSALS:
                            refused += 1
                        except BaseException as failure:
                            raise AssertionError(f"{door} of {what}: {type(failure).__name__}: {failure}") from failure
        self.assertGreater(refused, taken)
        ids, _ = self.things.plain.search(self.things.vectors[:3], 1)  # all is well still
        self.assertEqual(ids.tolist(), [[0], [1], [2]])

    def test_shapes_that_are_not_one_an_item_are_refused(self) -> None:
        t = self.things
        doors = number_doors(t)
        for door in ("Hits.remove", "Hits.add", "Hits.build ids", "Index.build ids", "Index.filter_ids", "Filter"):
            for shape in ("[n, 0]", "[n, 1]", "[n, 2]", "[]"):
                with self.subTest(door, shape=shape), self.assertRaisesRegex((ValueError, TypeError), "shape"):
                    doors[door](BAD[shape])
            with self.subTest(door, numbers="negative"), self.assertRaisesRegex(ValueError, "negative"):
                doors[door](BAD["negative"])
        with self.assertRaisesRegex(ValueError, "n_items is -5"):
            Filter(-5, [])
        with self.assertRaisesRegex(ValueError, "n_items is -5"):
            Filter.from_words(-5, np.zeros(0, np.uint64))

    def test_arrays_with_gaps_are_those_without(self) -> None:
        t = self.things
        self.assertEqual(t.hits.remove(np.arange(20)[::2]), 0)
        self.assertEqual(t.hits.info.n_removed, 10)
        t.hits.add([[1]] * 3, ids=np.arange(6)[::-2])
        self.assertEqual(t.hits.info.n_added, 3)
        wanted = t.plain.search(t.vectors[:2], K)[0]
        np.testing.assert_array_equal(t.plain.search(np.asfortranarray(t.vectors[:2]), K)[0], wanted)

    def test_nul_is_refused_with_its_place(self) -> None:
        for door, call in text_doors(self.things).items():
            for text, place in (("a\0b", 1), ("name-1\0zz", 6), ("\0", 0), ("c=1\0 AND NOT c=1", 3)):
                with self.subTest(door), self.assertRaisesRegex(ValueError, f"byte {place} of .* is NUL"):
                    call(text)
        self.assertEqual(self.things.words.find("name-1"), 1)
        self.assertEqual(len(self.things.words), N)

    def test_what_is_no_text_is_refused(self) -> None:
        for door, call in text_doors(self.things).items():
            for thing in (3, b"a", object(), "a\ud800b", ""):
                with self.subTest(door, thing=thing), contextlib.suppress(thresher.Error):
                    call(thing)

    def test_a_filter_keeps_its_memory(self) -> None:
        made = Filter(N, np.ones(N, bool))
        for name, value in (("words", np.zeros(1, np.uint64)), ("pointer", 0), ("n_items", 2**40)):
            with self.assertRaises(AttributeError):
                setattr(made, name, value)
        with self.assertRaises(ValueError):
            made.words[0] = 0
        self.assertEqual(len(made), N)

    def test_integers_of_a_mask_are_refused_with_the_remedy(self) -> None:
        t = self.things
        mask = np.arange(N) % 3 == 0
        wanted = t.plain.search(t.vectors[:4], K, filter=mask)[0]
        for dtype in (np.uint8, np.int64):
            for call in (
                lambda m: t.plain.search(t.vectors[:4], K, filter=m),
                lambda m: t.hits.search([1], K, filter=m),
                lambda m: Filter(N, m),
                t.plain.filter_ids,
            ):
                with self.assertRaisesRegex(ValueError, r"mask\.astype\(bool\)"):
                    call(mask.astype(dtype))
        found = t.plain.search(t.vectors[:4], K, filter=mask.astype(np.uint8).astype(bool))[0]
        np.testing.assert_array_equal(found, wanted)
        for m in (mask[:100], mask[:3]):
            for call in (lambda m: t.hits.search([1], K, filter=m), lambda m: Filter(N, m), t.plain.filter_ids):
                with self.assertRaisesRegex(ValueError, r"integers of 0 and 1.*mask\.astype\(bool\)"):
                    call(m.astype(int))
        # Row numbers are meant if none repeats, or if one is above 1.
        self.assertEqual(len(Filter(N, [0, 1, 1, 2])), 3)
        self.assertEqual(len(Filter(N, [1, 0])), 2)
        self.assertEqual(len(Filter(2, [0, 1])), 2)
        self.assertEqual(len(Filter(2, [1])), 1)
        with self.assertRaisesRegex(ValueError, "astype"):
            Filter(2, [1, 1])

    def test_an_iterable_may_begin_with_nothing(self) -> None:
        t = self.things
        chunks = [np.empty((0, DIMS)), t.vectors[:100], np.empty((0, DIMS)), t.vectors[100:]]
        with Index.build(self.path("chunks"), iter(chunks), threads=2) as index:
            self.assertEqual(len(index), N)
        with self.assertRaisesRegex(ValueError, "chunk 1: 16 dimensions after chunks of 15"):
            Index.build(self.path("x"), iter([np.empty((0, DIMS - 1)), t.vectors]))
        for nothing in (iter([np.empty((0, DIMS))]), [], iter(())):
            with self.assertRaisesRegex(ValueError, "vectors: holds no rows: an index needs at least one"):
                Index.build(self.path("x"), nothing)

    def test_names_are_looked_for_with_in(self) -> None:
        self.assertIn("name-7", self.things.named)
        self.assertNotIn("name-7 ", self.things.named)
        self.assertNotIn("name-7\0", self.things.named)
        self.assertIn(7, self.things.plain)
        self.assertNotIn("7 ", self.things.plain)
        self.assertNotIn(None, self.things.plain)


# What a process of its own does with Things(sys.argv[1]).open() as t; it ends with 0, unless memory was used after it was freed.
CYCLE = """
import gc
gc.disable()
for first in range(len(t.all())):
    t = Things(sys.argv[1]).open()
    things = t.all()
    class Node: pass
    node = Node()
    node.things = things[first:] + things[:first]  # collectors go by age, and by place
    node.self, node.t = node, t
    del t, things, node
    gc.collect()
    t = Things(sys.argv[1])
    if first == 2: break
print("cycles", flush=True)
"""
SHARED = """
t = None
for cls, name in ((Index, "ids"), (Hits, "words.hits"), (Head, "words.head"), (Tower, "tower"), (Dual, "dual"),
                  (Translator, "translator")):
    some = [cls(os.path.join(sys.argv[1], name), threads=3) for _ in range(4)]
    if cls is Hits:
        some += [HitsTarget(hits, "c=1") for hits in some]
        some[0].add([["c=1"]], names=["new"])
    for one in some:
        if hasattr(one, "__dict__"):
            one.others = some
    del one, some
    gc.collect()
print("contexts", flush=True)
"""
EXIT = """
t = Things(sys.argv[1]).open()
class Node: pass
node = Node()
node.things, node.self, node.t = t.all(), node, t
sys.keep = node
print("ends")
"""
FINALIZER = """
import gc
class Last:
    def __del__(self):
        found.append(self.index.search(self.queries, 3)[0].shape)
        found.append(self.index.device)
found = []
for name in ("plain", "ids"):
    last = Last()
    last.index = Index(os.path.join(sys.argv[1], name), threads=3)
    last.index.last, last.queries = last, t.vectors[:200]
    del last
    gc.collect()
assert found == [(200, 3), "cpu"] * 2, found
print("found", flush=True)
"""
FORK = """
target, filtered = HitsTarget(t.words, "c=1"), t.plain.filter_ids([1])
child = os.fork()
if child == 0:
    status = 1
    try:
        assert t.words.name(1) == "name-1"
        for call in (lambda: len(target), lambda: t.words.search(["c=1"], 3, target=target)):
            try:
                call()
            except ValueError as failure:
                assert "forked" in str(failure)
            else:
                raise AssertionError("a target of the parent was used")
        assert t.plain.search(t.vectors[0], 1, filter=filtered)[0].tolist() == [1]
        status = 0
    finally:
        os._exit(status)
assert os.waitpid(child, 0)[1] == 0
print("forked", flush=True)
"""


class Processes(Case):
    def test_cycles_finalizers_forks_and_the_end_of_the_interpreter(self) -> None:
        head = "import os, sys\nfrom test_abuse import *\nt = Things(sys.argv[1]).open()\n"
        here = os.path.dirname(os.path.abspath(__file__))
        places = [here, os.path.dirname(os.path.dirname(thresher.__file__)), os.environ.get("PYTHONPATH", "")]
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", head + FINALIZER + FORK + CYCLE + SHARED + EXIT, MADE.name],
            env={**FREED, **os.environ, "PYTHONPATH": os.pathsep.join(places)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-2000:])
        self.assertEqual(done.stdout.split(), ["found", "forked", "cycles", "contexts", "ends"])


class ManyThreads(Case):
    THREADS = 64

    def setUp(self) -> None:
        super().setUp()
        self.things = Things(MADE.name).open()
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-6)  # threads take turns within a call

    def run_threads(self, work: Callable[[int], None], rounds: int) -> None:
        failures: list[BaseException] = []
        started = threading.Barrier(self.THREADS)

        def run(number: int) -> None:
            started.wait()
            try:
                for _ in range(rounds):
                    work(number)
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(self.THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def test_lists_that_change_under_readers(self) -> None:
        hits = self.things.words

        def work(number: int) -> None:
            kind = number % 8
            name = f"name-{number}"
            if kind == 0:
                hits.add([["c=1", f"e={number}"]], names=[name])
            elif kind == 1:
                hits.remove([name])
            elif kind == 2:
                self.assertIn(hits.name(number), (name, None))
            elif kind == 3:
                self.assertEqual(len(HitsTarget(hits, "c=1 OR NOT c=1")) > 0, True)
            elif kind == 4:
                hits.search({"c=1": 1.0}, 3, target="c=1")
            elif kind == 5:
                hits.explain(hits.find("name-5"), {"c=5": 1.0})
            else:
                self.assertEqual(hits.find("name-6"), 6)

        self.run_threads(work, 160)

    def test_closing_under_readers(self) -> None:
        t = self.things
        current = [Hits(t.path("words.hits"), threads=2), Index(t.path("names"), threads=2)]

        def work(number: int) -> None:
            hits, index = current
            try:
                if number == 0:
                    current[:] = [Hits(t.path("words.hits"), threads=2), Index(t.path("names"), threads=2)]
                    hits.close()
                    index.close()
                elif number % 2:
                    hits.name(1), hits.find("name-2"), index.name(3), index.find("name-4"), index.search(t.vectors[0])
                else:
                    hits.add([["c=1"]], names=["new"])
            except ValueError as failure:
                if "closed" not in str(failure):
                    raise

        self.run_threads(work, 120)

    def test_contexts_that_come_and_go(self) -> None:
        t = self.things

        def work(number: int) -> None:
            with Index(t.path("plain"), threads=2 + number % 2) as index:
                self.assertEqual(index.search(t.vectors[number], 1)[0].tolist(), [number])

        self.run_threads(work, 32)

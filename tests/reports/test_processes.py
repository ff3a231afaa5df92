# SPDX-License-Identifier: Apache-2.0
"""Reports of threads, forks, limits and interpreters."""

from __future__ import annotations

import resource
import unittest

import numpy as np
from case import ReportCase, normal

import thresher
from thresher import Index

FIRST_CALLS = """
import sys, threading, numpy as np, thresher
index, x = thresher.Index.open("i"), np.load("x.npy")
start, found = threading.Barrier(16), [None] * 16
def ask(i):
    start.wait()
    found[i] = index.search(x[:3], 5)[0].tolist()
threads = [threading.Thread(target=ask, args=[i]) for i in range(16)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert found[0][0][0] == 0 and all(one == found[0] for one in found), found
"""

SMALL_STACKS = """
import threading, numpy as np, thresher
x = np.random.default_rng(1).standard_normal((600, 16)).astype("f")
def build(keep, cells): thresher.Index.build(f"s-{keep}-{cells}", x, keep=keep, cells=cells, threads=1).close()
def search(name):
    with thresher.Index.open(name, threads=1) as index:
        index.search(x[:3], 5, certified=True), index.search_radius(x[:3], .5), index.search(x[:3], 5, exact=True)
        index.tune(x[:200])
        with index.writer() as writer: writer.add(x[:3] + 1)
def fit(): thresher.RankSVM(threads=1).fit(x, np.arange(600) % 3, np.arange(600) // 20)
def bleu(): thresher.bleu(["a b c d"] * 9, ["a b c d"] * 9)
def ranking(): open("r.svm", "w").write("1 qid:1 1:1\\n2 qid:1 1:2\\n"); thresher.read_ranking("r.svm")
failed = []
def run(function, *arguments):
    threading.stack_size((128 if function is build else 64) * 1024)
    def call():
        try: function(*arguments)
        except BaseException as raised: failed.append((function.__name__, arguments, repr(raised)))
    thread = threading.Thread(target=call); thread.start(); thread.join()
for keep, cells in (("float16", 1), ("int8", 1), ("float32", 8)):
    run(build, keep, cells)
    run(search, f"s-{keep}-{cells}")
run(fit); run(bleu); run(ranking)
assert not failed, failed
"""

NO_TEXTS = """
import numpy as np, thresher, thresher.shards
assert thresher.Index.build.__doc__ is None
x = np.random.default_rng(1).standard_normal((300, 16)).astype("f")
with thresher.Index.build("oo", x, threads=1) as index:
    ids, scores, certified = index.search(x[:3], 5, certified=True)
    assert ids[:, 0].tolist() == [0, 1, 2]
    try: index.search(x[:3], 0)
    except thresher.ArgumentError: pass
    else: raise SystemExit("k=0 was taken")
with thresher.shards.build("oo.s", [x, x], threads=1) as made: assert len(made) == 600
model = thresher.RankSVM(threads=1)
try: from sklearn.pipeline import make_pipeline; from sklearn.preprocessing import StandardScaler
except ImportError: model.fit(x, np.arange(300) % 3, np.arange(300) // 20)
else: make_pipeline(StandardScaler(), model).fit(x, np.arange(300) % 3, ranksvm__qid=np.arange(300) // 20)
for name in ("thresher.dask", "thresher.spark"):
    try: __import__(name)
    except ImportError: pass
"""

NO_THREADS = """
import ctypes, os, resource, sys
import numpy as np, thresher
x = np.random.default_rng(1).standard_normal((2000, 16)).astype("f")
wanted = thresher.Index.build("t0", x, threads=4).search(x[:20], 5)
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
if os.geteuid() == 0: os.setgroups([]); os.chmod(".", 0o777); os.setresuid(65534, 65534, 65534)
with thresher.Index.build("t1", x) as index:
    found = index.search(x[:20], 5)
    assert all((a == b).all() for a, b in zip(found, wanted))
    with index.writer() as writer:
        for i in range(30): writer.add(x[i : i + 1] + 1)
    index.refresh(); index.compact()
    assert len(index) == 2030
"""


class Threads(ReportCase):
    def test_first_calls_of_many_threads_agree(self) -> None:
        x = normal(500, 16, 1).astype(np.float32)
        Index.build(self.path("i"), x, threads=1).close()
        self.save("x.npy", x)
        for _ in range(5):
            self.python(FIRST_CALLS)

    def test_threads_with_small_stacks_do_everything(self) -> None:
        self.python(SMALL_STACKS)

    def test_without_threads_to_start_everything_works(self) -> None:
        self.python(NO_THREADS)


class Interpreters(ReportCase):
    def test_python_without_texts_and_asserts_works(self) -> None:
        self.python(NO_TEXTS, flags=("-OO",))


class Sizes(ReportCase):
    def test_more_answers_than_items_take_the_memory_of_the_items(self) -> None:
        x = normal(1000, 8, 1).astype(np.float32)
        with Index.build(self.path("i"), x, threads=1) as index:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            try:
                ids, scores = index.search(x[0], 200_000_000)
                self.assertEqual((ids.shape, scores.shape), ((1000,), (1000,)))
            except thresher.Error as refused:
                self.assertRegex(str(refused), "200000000")
            self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 200_000)  # KiB
        self.save("q.npy", x[:1])
        search = ("index", "search", "i", "q.npy", "-k", "200000000", "-o", "r.ivecs")
        done = self.shell(*search, before="ulimit -v 4000000;")
        self.assertIn(done.returncode, (0, 1), done.stderr)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Files of an index that another program cuts or replaces while a process searches: an exception, never a signal."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np

from support import Case, random_vectors
from thresher import Index

N, DIMS = 60_000, 64

# Searches by two threads until an exception; prints "ready" before, and the exception's status and text.
CHILD = """
import faulthandler, signal, sys, threading, numpy as np, thresher
before, after = (sys.argv[3:] + ["", ""])[:2]
exec(before)
index = thresher.Index.open(sys.argv[1], threads=2)
queries = np.random.default_rng(2).standard_normal((64, %d)).astype(np.float32)
how = {"exact": sys.argv[2] == "exact", "features": [{7: 0.5}] * 64 if sys.argv[2] == "features" else None}
index.search(queries, 10, **how)
raised = []
def search():
    try:
        while True:
            index.search(queries, 10, **how)
    except thresher.FileError as failure:
        raised.append(failure)
threads = [threading.Thread(target=search) for _ in range(2)]
exec(after)
[thread.start() for thread in threads]
print("ready", flush=True)
[thread.join() for thread in threads]
for call in (lambda: index.vectors([1]), lambda: index.rows([1]), index.ids, lambda: index.filter_ids([1])):
    try:
        call()
    except thresher.FileError as failure:
        raised.append(failure)
print(sorted({failure.status for failure in raised}), len(raised), raised[0])
""" % DIMS


class CutFiles(Case):
    def setUp(self) -> None:
        super().setUp()
        vectors = random_vectors(N, DIMS)
        features = [[row % 5, 7 + row % 20_000] for row in range(N)]
        options = {"ids": np.arange(N) * 2, "features": features, "threads": 2, "calibration_queries": 0}
        with Index.build(self.path(), vectors, **options) as index:
            index.remove([4])  # a bitmap of live items is there, too

    def while_searching(self, how: str, ending: str, size: int | None, *handlers: str) -> str:
        """handlers: Python code to run before the index is opened, and after a search."""
        place = next(name for name in sorted(os.listdir(self.path())) if name.endswith(ending))
        words = [sys.executable, "-c", CHILD, self.path(), how, *handlers]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            self.assertEqual(child.stdout.readline(), "ready\n")
            time.sleep(0.2)
            path = os.path.join(self.path(), place)
            if size is None:
                os.utime(path)
            else:
                os.truncate(path, size)
            said, wrong = child.communicate(timeout=60)
        self.assertEqual((child.returncode, wrong), (0, ""))
        self.assertIn(place, said)
        return said

    def test_a_file_is_cut_while_threads_search(self) -> None:
        for how in ("exact", "codes"):
            for ending in (".seg", ".bits"):
                for size in (0, 4096):
                    with self.subTest(how=how, ending=ending, size=size):
                        self.setUp()
                        self.assertIn("['ECHANGED'] 6 ", self.while_searching(how, ending, size))

    def test_a_file_is_cut_in_a_process_with_other_handlers(self) -> None:
        on, off = "faulthandler.enable();", "faulthandler.disable();"
        quiet = "signal.signal(signal.SIGBUS, lambda *_: None);"
        for before, after in (("", on), (on, off + on + off), (quiet, on)):
            with self.subTest(before=before, after=after):
                self.setUp()
                self.assertIn("['ECHANGED'] 6 ", self.while_searching("exact", ".seg", 4096, before, after))

    def test_posting_lists_are_cut_while_threads_search(self) -> None:
        for size in (0, 4096):
            with self.subTest(size=size):
                self.setUp()
                self.assertIn("['ECHANGED'] 6 ", self.while_searching("features", ".hits", size))

    def test_a_file_is_written_to_while_threads_search(self) -> None:
        self.assertIn("['ECHANGED'] 6 ", self.while_searching("codes", ".seg", None))

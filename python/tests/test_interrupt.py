# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, through a real SIGINT to a process of its own; and other signals whose handlers raise."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import thresher
from support import Case, random_vectors
from thresher import Index

SECONDS = 5.0  # from the signal to the end of the process; well below one on a machine that does nothing else

PROGRAM = """
import sys, threading, time
import numpy as np
import thresher
from thresher import Index

path = sys.argv[1]
ready = lambda *_: print("ready", flush=True)
try:
    {body}
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("done", flush=True)
rows = np.random.default_rng(1).random((100, 16))
print(len(Index.open(path)), Index.open(path).search(rows, 1)[0].shape, flush=True)
raise KeyboardInterrupt
"""

ENDLESS_ITERABLE = """
    def endless():
        for i in range(10**9):
            yield np.full((1000, 16), float(i), np.float32)
    Index.build(path, endless(), replace=True, progress=ready)
"""
WAITING_ITERABLE = """
    def waiting():
        yield np.ones((1000, 16))
        ready()
        time.sleep(1000)
        yield np.ones((1000, 16))
    Index.build(path, waiting(), replace=True)
"""
WAITING_FROM_THE_FIRST = """
    def waiting():
        ready()
        time.sleep(1000)
        yield np.ones((1000, 16))
    Index.build(path, waiting(), replace=True)
"""
LARGE_ARRAY = """
    zeros = np.zeros((80_000_000, 16), np.float32)
    Index.build(path, zeros, replace=True, keep=None, bits=8, threads=1, progress=ready)
"""
TURNED_ARRAY = """
    rows = np.broadcast_to(np.arange(16.0), (10**9, 16))
    Index.build(path, rows, replace=True, keep=None, progress=ready)
"""
MANY_QUERIES = """
    queries = np.ones((1_000_000, 16), np.float32)
    index = Index.open(path, threads=1)
    threading.Timer(0.3, ready).start()
    index.search(queries, 100, n_candidates=1000)
"""


class Interrupt(Case):
    def setUp(self) -> None:
        super().setUp()
        Index.build(self.path(), random_vectors(20_000, 16), calibration_queries=0).close()
        self.before = sorted(os.listdir(self.path()))

    def interrupt(self, body: str) -> None:
        program = PROGRAM.format(body=textwrap.dedent(body).strip().replace("\n", "\n    "))
        with subprocess.Popen(
            [sys.executable, "-c", program, self.path()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                self.assertEqual(process.stdout.readline(), "ready\n")
                process.send_signal(signal.SIGINT)
                sent = time.monotonic()
                lines = [line for line in process.stdout.read().split("\n") if line not in ("", "ready")]
                said = process.stderr.read()
                status = process.wait(60)
                taken = time.monotonic() - sent
            finally:
                process.kill()
        self.assertEqual(lines, ["interrupted", "20000 (100, 1)"], said)
        self.assertEqual(status, -signal.SIGINT, "the handlers are Python's again")
        self.assertNotIn("ignored", said)
        self.assertLess(taken, SECONDS)
        self.assertEqual(sorted(os.listdir(self.path())), self.before, "nothing is left over")

    def test_a_build_from_an_endless_iterable(self) -> None:
        self.interrupt(ENDLESS_ITERABLE)

    def test_a_build_from_an_iterable_that_waits(self) -> None:
        self.interrupt(WAITING_ITERABLE)
        self.interrupt(WAITING_FROM_THE_FIRST)

    def test_a_build_from_a_large_array(self) -> None:
        self.interrupt(LARGE_ARRAY)

    def test_a_build_from_an_array_without_memory(self) -> None:
        self.interrupt(TURNED_ARRAY)

    def test_a_search_of_many_queries(self) -> None:
        self.interrupt(MANY_QUERIES)


class Signals(Case):
    def set_handler(self, handler: Any) -> None:
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, handler))

    def endless(self) -> Iterator[Any]:
        while True:
            yield np.ones((1000, 16), np.float32)

    def test_a_handler_that_raises_ends_the_build(self) -> None:
        class TooLong(Exception):
            pass

        def handler(*_: Any) -> None:
            raise TooLong

        self.set_handler(handler)
        for vectors in (self.endless(), np.broadcast_to(np.ones(16), (10**9, 16))):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with self.assertRaises(TooLong):
                Index.build(self.path(), vectors, keep=None)
            self.assertIs(signal.getsignal(signal.SIGALRM), handler)
        self.assertFalse(os.path.exists(os.path.join(self.path(), "MANIFEST")))

    def test_a_handler_that_does_not_raise_runs_and_the_build_goes_on(self) -> None:
        seen: list[int] = []
        self.set_handler(lambda number, _: seen.append(number))
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)

        def some() -> Iterator[Any]:
            started = time.monotonic()
            while time.monotonic() - started < 0.5:
                yield np.ones((1000, 16), np.float32)

        index = Index.build(self.path(), some(), keep=None, calibration_queries=0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.assertGreater(len(seen), 2)
        self.assertGreater(len(index), 0)

    def test_a_handler_set_by_the_progress_function_stays(self) -> None:
        def another(*_: Any) -> None:
            pass

        self.set_handler(signal.SIG_IGN)
        Index.build(
            self.path(), np.ones((9, 3)), progress=lambda *_: signal.signal(signal.SIGALRM, another) and None
        ).close()
        self.assertIs(signal.getsignal(signal.SIGALRM), another)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_stopping_a_verification(self) -> None:
        index = Index.build(self.path(), np.ones((9, 3)))
        with self.assertRaises(thresher.CanceledError):
            index.verify(progress=lambda *_: False)
        index.verify()

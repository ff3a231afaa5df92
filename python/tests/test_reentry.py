# SPDX-License-Identifier: Apache-2.0
"""Callbacks and signal handlers that call the object whose call runs them: an answer or a BusyError, never a wait."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import thresher
from support import Case, random_vectors

DIMS = 16
ROWS = random_vectors(600, DIMS)


class Reentry(Case):
    def setUp(self) -> None:
        super().setUp()
        self.index = thresher.Index.build(self.path("i"), ROWS, calibration_queries=0)
        self.addCleanup(signal.signal, signal.SIGUSR1, signal.getsignal(signal.SIGUSR1))
        previous = signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends a test that hangs
        self.addCleanup(signal.signal, signal.SIGALRM, previous)
        self.addCleanup(signal.alarm, 0)
        signal.alarm(120)

    def rows_after(self, call: Callable[[], object]) -> Iterator[Any]:
        call()
        yield ROWS[:5]

    def test_an_iterable_cannot_change_the_index_it_is_added_to(self) -> None:
        for call in (lambda: self.index.add(ROWS[:3]), lambda: self.index.remove([1]), self.index.compact):
            with self.assertRaisesRegex(thresher.BusyError, "is being changed by this thread"):
                self.index.add(self.rows_after(call))
        self.assertEqual(len(self.index), 600)
        self.index.add(self.rows_after(lambda: None))
        self.assertEqual(len(self.index), 605)

    def test_progress_cannot_change_the_index_it_reports_of(self) -> None:
        with self.assertRaises(thresher.BusyError):
            self.index.add(ROWS, progress=lambda *_: self.index.remove([1]))
        with self.assertRaises(thresher.BusyError):
            self.index.compact(recode=True, progress=lambda *_: self.index.compact())
        self.assertEqual(len(self.index), 600)

    def test_callbacks_search_and_refresh(self) -> None:
        found = []

        def look(*_: object) -> bool:
            self.assertFalse(index.refresh())
            found.append(index.search(ROWS[:2], 1)[0].tolist())
            return True

        for how in ("manual", "auto"):
            with thresher.Index.open(self.path("i"), refresh=how) as index:
                index.add(ROWS[:5] + 9, progress=look)
                index.add(self.rows_after(look))
        self.assertGreaterEqual(len(found), 4)
        self.assertEqual(found, [[[0], [1]]] * len(found))

    def test_an_iterable_cannot_change_the_lists_it_is_added_to(self) -> None:
        lists = thresher.Hits.build(self.path("h"), [[1], [2]])

        def rows() -> Iterator[list[int]]:
            lists.remove([0])
            yield [3]

        with self.assertRaises(thresher.BusyError):
            lists.add(rows())
        self.assertEqual(len(lists), 2)

    def test_a_signal_handler_gets_an_answer_or_busy(self) -> None:
        answers: list[Any] = []

        def handle(*_: object) -> None:
            answers.append(index.search(ROWS[7], 1)[0].tolist())
            try:
                index.add(ROWS[:1])
            except thresher.BusyError as failure:
                answers.append(failure.status)

        def interrupt(*_: object) -> bool:
            os.kill(os.getpid(), signal.SIGUSR1)
            return True

        signal.signal(signal.SIGUSR1, handle)
        with thresher.Index.open(self.path("i"), refresh="auto") as index:
            index.add(ROWS[:5] + 9, progress=interrupt)
            self.assertIn("EBUSY", answers)
            self.assertEqual([answer for answer in answers if answer != "EBUSY"], [[7]] * (len(answers) // 2))

    def test_a_handler_of_a_writers_signal_does_not_wait_for_the_writer(self) -> None:
        seen = set()

        def handle(*_: object) -> None:
            try:
                writer.add(ROWS[:1])
                seen.add("added")
            except thresher.BusyError:
                seen.add("busy")

        signal.signal(signal.SIGUSR1, handle)
        with self.index.writer() as writer:
            for _ in range(20):
                timer = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGUSR1))
                timer.start()
                writer.compact(recode=True)
                timer.join()  # the handler needs an open writer
        self.assertTrue(seen)

    def test_a_callback_of_another_call_may_use_a_writer(self) -> None:
        other = thresher.Index.build(self.path("j"), ROWS, calibration_queries=0)
        reports: list[str] = []
        with self.index.writer() as writer:

            def report(what: str, *_: object) -> bool:
                reports.append(what)
                writer.add(ROWS[:1])
                writer.flush()
                return True

            other.add(ROWS, progress=report)
        self.assertEqual(reports, ["add"] * len(reports))
        self.index.refresh()
        self.assertEqual(len(self.index), 600 + len(reports))

    def test_a_signal_reaches_its_handler_while_a_writer_works(self) -> None:
        def handle(*_: object) -> None:
            raise KeyboardInterrupt

        signal.signal(signal.SIGUSR1, handle)
        with self.index.writer() as writer, self.assertRaises(KeyboardInterrupt):
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
            self.addCleanup(timer.join)  # before the old handler is back
            timer.start()
            for _ in range(10_000):
                writer.compact(recode=True)
        self.index.refresh()
        self.index.verify()
        np.testing.assert_array_equal(self.index.ids(), np.arange(600))

# SPDX-License-Identifier: Apache-2.0
"""Limits of a process: open objects hold no descriptors, and an error at a limit names it."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import thresher
from support import Case, random_vectors
from thresher import Head, Hits, Index, shards


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@contextlib.contextmanager
def free_descriptors(n: int) -> Iterator[None]:
    """This process can open n more files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    listing = os.open("/proc/self/fd", os.O_RDONLY)
    used = {int(name) for name in os.listdir(listing)} - {listing}
    os.close(listing)
    limit = next(limit for limit in range(1, 1 << 20) if limit - len([fd for fd in used if fd < limit]) == n)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Descriptors(Case):
    def setUp(self) -> None:
        super().setUp()
        x = random_vectors(600, 16)
        self.queries = x[:3]
        Index.build(self.path("features"), x, features=[[n % 7] for n in range(600)], ids=np.arange(600)).close()
        with Index.build(self.path("changed"), x, ids=np.arange(600)) as index:
            index.remove([4])
            with index.writer() as writer:
                writer.add(x[:5], ids=np.arange(600, 605))
        Hits.build(self.path("a.hits"), [[n % 7] for n in range(600)]).close()
        with Head.build(x) as head:
            head.save(self.path("a.head"))
        parts = [(x[a : a + 100], np.arange(a, a + 100)) for a in range(0, 600, 100)]
        shards.build(self.path("many"), parts).close()

    def openers(self) -> list[Callable[[], Any]]:
        return [
            lambda: Index.open(self.path("features")),
            lambda: Index.open(self.path("changed")),
            lambda: Hits(self.path("a.hits")),
            lambda: Head(self.path("a.head")),
            lambda: shards.open(self.path("many")),
        ]

    def test_names_of_many_shards_are_compared_with_few_files(self) -> None:
        x = random_vectors(40, 4)
        parts = [(x[a : a + 1], [f"n{a}"]) for a in range(40)]
        with free_descriptors(12):
            shards.build(self.path("names"), parts, calibration_queries=0).close()
            self.assertEqual(shards.verify(self.path("names")).n_items, 40)

    def test_open_objects_hold_no_descriptors(self) -> None:
        before = open_files()
        with contextlib.ExitStack() as stack:
            for opener in self.openers():
                opened = stack.enter_context(opener())
                if isinstance(opened, (Index, shards.Shards)):
                    opened.search(self.queries, 3)
                    getattr(opened, "verify", lambda: None)()
                    getattr(opened, "refresh", lambda: None)()
                self.assertEqual(open_files(), before, repr(opened))

    def test_a_collection_of_more_shards_than_descriptors_is_searched(self) -> None:
        x = random_vectors(640, 8)
        shards.build(self.path("tiny"), [x[a : a + 8] for a in range(0, 640, 8)], calibration_queries=0).close()
        with free_descriptors(12):
            with shards.open(self.path("tiny")) as tiny:
                np.testing.assert_array_equal(tiny.search(x, 1, exact=True)[0][:, 0], np.arange(640))
            self.assertEqual(shards.verify(self.path("tiny")).n_items, 640)

    def at_the_limit(self, work: Callable[[], Any]) -> int:
        """Give work more and more descriptors until it ends without an error; returns how many it needed."""
        for n in range(12):
            try:
                with free_descriptors(n):
                    work()
                return n
            except thresher.Error as failure:
                self.assertIs(type(failure), thresher.FileError, str(failure))
                self.assertIn("ulimit -n", str(failure))
        raise AssertionError("12 descriptors were not enough")

    def test_an_error_at_the_limit_names_it_and_never_damage(self) -> None:
        for opener in self.openers():
            opener().close()  # modules are loaded
            self.assertLessEqual(self.at_the_limit(lambda: opener().close()), 3)

    def test_changes_at_the_limit_name_it(self) -> None:
        x = random_vectors(40, 16, seed=9)
        numbers = iter(range(1000, 100_000, 100))

        def build() -> None:
            Index.build(self.path("built"), x, replace=True).close()

        def add() -> None:
            with Index.open(self.path("changed")) as index:
                index.add(x, ids=np.arange(40) + next(numbers))

        def add_shard() -> None:
            shards.add(self.path("many"), x, ids=np.arange(40) + next(numbers))

        def remove_of_shards() -> None:
            shards.remove(self.path("many"), [1, 101], missing="ignore")

        def build_shards() -> None:
            shards.build(self.path("many"), [x], replace=True).close()

        for work in (build, add, add_shard, remove_of_shards, build_shards):
            with self.subTest(work=work.__name__):
                work()
                self.at_the_limit(work)
                with shards.open(self.path("many")) as many:
                    many.search(self.queries, 3)

# SPDX-License-Identifier: Apache-2.0
"""Every kind of index stays readable after every kind of write."""

from __future__ import annotations

import itertools
from typing import Any, Callable

import numpy as np

import thresher
from support import Case, random_vectors

DIMS = 24
ROWS = random_vectors(400, DIMS, seed=5)
MORE = random_vectors(600, DIMS, seed=6)
SMALL: dict[str, Any] = {"n_dims": 16, "n_epochs": 1, "batch": 128, "threads": 1}
Kind = dict[str, Any]


def kinds() -> list[tuple[str, Kind]]:
    """Options of Index.build, with their description."""
    plain: list[tuple[str, Kind]] = [
        (f"{metric} {keep}", {"metric": metric, "keep": keep, "bits": (3, 1)[i % 2], "names": i % 3 == 1})
        for i, (metric, keep) in enumerate(
            itertools.product(("cosine", "ip", "l2"), ("float32", "float16", "int8", None))
        )
    ]
    special: list[tuple[str, Kind]] = [
        ("cells", {"cells": 8}),
        ("cells of int8 with names", {"cells": 8, "keep": "int8", "names": True}),
        ("features", {"features": True}),
        ("features and names", {"features": True, "names": True}),
        ("features and cells", {"features": True, "cells": 8}),
        ("features of codes", {"features": True, "keep": None}),
        ("rotated", {"rotate": True, "lead_bits": 2}),
        ("flat", {"lead_bits": 3}),
    ]
    return plain + special


class Written:
    """An index of a kind, changed by all calls, and what it holds."""

    def __init__(self, case: Case, path: str, kind: Kind, encode: Callable[[Any], Any] | None = None) -> None:
        self.case, self.path, self.kind = case, path, dict(kind)
        self.names, self.features = self.kind.pop("names", False), self.kind.pop("features", False)
        self.more, self.encode = iter(MORE), encode
        self.next_id = len(ROWS)
        self.held = set(range(len(ROWS)))
        thresher.Index.build(path, ROWS, **self.kind, **self.items(range(len(ROWS)))).close()

    def items(self, ids: Any) -> dict[str, Any]:
        """The ids or names of items, and their features; the ids are chosen by the index where it can."""
        given: dict[str, Any] = {"ids": [f"n{i}" for i in ids]} if self.names else {}
        return {**given, "features": [[i % 7] for i in ids]} if self.features else given

    def take(self, n: int, target: Any) -> Any:
        rows = np.stack(list(itertools.islice(self.more, n)))
        return self.encode(rows) if self.encode is not None and isinstance(target, thresher.IndexWriter) else rows

    def add(self, target: Any, n: int) -> None:
        ids = list(range(self.next_id, self.next_id + n))
        given = self.items(ids)
        if "ids" in given:
            given["names"] = given.pop("ids")
        target.add(self.take(n, target), **given)
        self.next_id += n
        self.held.update(ids)

    def upsert(self, target: Any, ids: list[int]) -> None:
        """In an index with names the replaced items get new ids."""
        given = self.items(ids)
        vectors = self.take(len(ids), target)
        if self.names:
            given["names"] = given.pop("ids")
            target.upsert(vectors, **given)
            self.next_id += len(ids)
        else:
            target.upsert(vectors, ids=ids, **given)
            self.next_id = max(self.next_id, *(i + 1 for i in ids))
        self.held.update(ids)

    def remove(self, target: Any, ids: list[int]) -> None:
        if self.names:
            target.remove(names=[f"n{i}" for i in ids])
        else:
            target.remove(ids)
        self.held.difference_update(ids)

    def check(self, after: str) -> None:
        """It opens, is sound, and holds the right items."""
        with self.case.subTest(after=after), thresher.Index.open(self.path) as index:
            index.verify()
            self.case.assertEqual(len(index), len(self.held))
            ids = index.ids().tolist()
            found = {int(str(index.name(i))[1:]) for i in ids} if self.names else set(ids)
            self.case.assertEqual(found, self.held)
            index.search(ROWS[:1], 3)

    def change_all(self) -> None:
        """Every call of a writer, then of an index, then a writer's again."""
        with thresher.Index.open(self.path) as index:
            for turn in ("first", "last"):
                with index.writer() as writer:
                    for name, call in self.calls(writer)[: None if turn == "first" else 1]:
                        call()
                        self.check(f"writer, {turn}: {name}")
                for name, call in self.calls(index)[: None if turn == "first" else 1]:
                    call()
                    self.check(f"index, {turn}: {name}")

    def calls(self, target: Any) -> list[tuple[str, Callable[[], object]]]:
        def recode() -> None:
            try:
                target.compact(recode=True)
            except thresher.UnsupportedError:
                self.case.assertTrue(self.kind.get("keep", "") is None or "model" in self.kind)

        first = min(self.held)
        calls: list[tuple[str, Callable[[], object]]] = [
            ("add one", lambda: self.add(target, 1)),
            ("upsert", lambda: self.upsert(target, [first, first + 1])),
            ("remove", lambda: self.remove(target, [first, first + 2])),
        ]
        if isinstance(target, thresher.IndexWriter):
            calls.append(("flush", target.flush))
        return [
            *calls,
            ("add some", lambda: self.add(target, 20)),
            ("compact", target.compact),
            ("add one more", lambda: self.add(target, 1)),
            ("recode", recode),
        ]


class Kinds(Case):
    def test_every_kind_opens_after_every_write(self) -> None:
        for number, (name, kind) in enumerate(kinds()):
            with self.subTest(kind=name):
                Written(self, self.path(f"i{number}"), {"calibration_queries": 20, **kind}).change_all()

    def test_an_index_of_a_model_of_vectors_opens_after_every_write(self) -> None:
        tower = thresher.Tower.train_vectors(ROWS, self.path("m.safetensors"), **SMALL)
        for keep, metric in (*itertools.product(("float32", "int8"), ("cosine", "l2")), (None, "cosine")):
            with self.subTest(keep=keep, metric=metric):
                kind = {"model": tower, "keep": keep, "metric": metric, "calibration_queries": 20}
                Written(self, self.path(f"{keep}-{metric}"), kind).change_all()
        square = thresher.Tower.train_vectors(ROWS, self.path("s.safetensors"), **{**SMALL, "n_dims": DIMS})
        Written(self, self.path("s"), {"model": square, "calibration_queries": 20}).change_all()
        Written(self, self.path("n"), {"model": tower, "names": True, "calibration_queries": 20}).change_all()
        Written(self, self.path("f"), {"model": tower, "keep": None, "features": True}).change_all()

    def test_an_index_of_a_models_vectors_opens_after_every_write(self) -> None:
        for bits in (32, 3):
            tower = thresher.Tower.train_vectors(ROWS, self.path(f"{bits}.safetensors"), **SMALL, item_bits=bits)
            with self.subTest(bits=bits):
                encode = None if bits == 3 else lambda rows, tower=tower: tower.encode(rows, "item")  # for writers
                Written(self, self.path(f"i{bits}"), {"model": tower}, encode).change_all()

    def test_an_index_that_began_empty_opens_after_every_write(self) -> None:
        for number, (metric, keep, names) in enumerate(
            itertools.product(("cosine", "l2"), ("float32", "int8"), (False, True))
        ):
            with self.subTest(metric=metric, keep=keep, names=names):
                path = self.path(f"e{number}")
                thresher.Index.create(path, DIMS, metric=metric, keep=keep, names=names).close()
                with thresher.Index.open(path) as index, index.writer() as writer:
                    for target in (writer, index):
                        for n in (1, 20, 300):
                            if target is index:
                                writer.close()
                            given: dict[str, Any] = {"names": [f"{target is index} {n} {i}" for i in range(n)]} if names else {}
                            target.add(MORE[:n], **given)
                            with thresher.Index.open(path) as fresh:
                                fresh.verify()

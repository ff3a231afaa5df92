# SPDX-License-Identifier: Apache-2.0
"""Arrays of str of every type that numpy has are names and words, wherever lists of str are."""

from __future__ import annotations

from typing import Any

import numpy as np

import thresher
from support import Case, random_vectors
from thresher import Hits, Index, shards

N = 100
KINDS: list[Any] = ["U", object]
if hasattr(np, "dtypes") and hasattr(np.dtypes, "StringDType"):  # since numpy 2
    KINDS.append(np.dtypes.StringDType())


class StringArrays(Case):
    def setUp(self) -> None:
        super().setUp()
        self.vectors = random_vectors(N, 16)

    def test_names_of_an_index(self) -> None:
        for kind in KINDS:
            names = np.array([f"name {i}" for i in range(N)], dtype=kind)
            with self.subTest(kind), Index.build(self.path(), self.vectors, ids=names, replace=True) as index:
                self.assertEqual(index.name([0, 99]), ["name 0", "name 99"])
                self.assertEqual(len(index.filter_ids(names[3:9])), 6)
                self.assertEqual(set(index.search(self.vectors[0], 2, filter=names[3:5])[0].tolist()), {3, 4})
                self.assertEqual(index.rows(names[:3]).tolist(), [0, 1, 2])
                self.assertEqual(index.vectors(names[:2]).shape, (2, 16))
                self.assertEqual(index.remove(names=names[:3]).n_removed, 3)
                self.assertEqual(index.add(self.vectors[:2], names=names[:2]).n_added, 2)
                self.assertEqual(index.upsert(self.vectors[:1], names=names[:1]).n_replaced, 1)
                with index.writer() as writer:
                    self.assertEqual(writer.add(self.vectors[:1], names=names[2:3]).n_added, 1)
                    self.assertEqual(writer.remove(names=names[2:3]).n_removed, 1)
                self.assertEqual(index.remove(where=names[5:6]).n_removed, 1)
                self.assertEqual(index.remove(names=names[:0]).n_removed, 0)
                with self.assertRaisesRegex(TypeError, "names were given: expected integers, or names="):
                    index.remove(names[:1])

    def test_words_of_features(self) -> None:
        for kind in KINDS:
            names = np.array([f"n{i}" for i in range(N)], dtype=kind)
            words = [np.array([f"c={i % 3}", "all"], dtype=kind) for i in range(N)]
            for features in (words, np.array([w.tolist() for w in words], dtype=kind)):
                with Index.build(self.path(), self.vectors, ids=names, features=features, replace=True) as index:
                    self.assertTrue(index.hits.info.has_words)
                    index.add(self.vectors[:1], names=np.array(["new"], dtype=kind), features=words[:1])
                    self.assertEqual(index.search(self.vectors[0], 50, target="c=1")[0][33], thresher.NO_ID)
                with Hits.build(self.path("hits"), features, ids=names, replace=True) as hits:
                    self.assertEqual(len(hits.search({"c=2": 1.0}, 5)[0]), 5)
                    self.assertEqual(hits.remove(names[:2]), 0)
                    hits.add(words[:1], names=names[:1])
                    self.assertEqual(len(hits), N - 1)

    def test_names_of_shards(self) -> None:
        for kind in KINDS:
            names = np.array([f"n{i}" for i in range(N)], dtype=kind)
            parts = [(self.vectors[:50], names[:50]), (self.vectors[50:], names[50:])]
            with shards.build(self.path(), parts, calibration_queries=0, replace=True) as many:
                self.assertTrue(many.info.has_names)
                self.assertEqual(many.search(self.vectors[0], 1, filter=names[60:61])[0].tolist(), [60])
            shards.remove(self.path(), names[:2])
            shards.add(self.path(), self.vectors[:2], ids=names[:2], calibration_queries=0)
            with shards.open(self.path()) as many:
                self.assertIn("n0", many)

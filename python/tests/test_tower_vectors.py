# SPDX-License-Identifier: Apache-2.0
"""Models of given vectors: training on arrays and files, encoding, indexes, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np

import thresher
from support import Case, random_vectors

ROWS = random_vectors(1000, 24)
SMALL: dict[str, Any] = {"n_dims": 16, "n_epochs": 3, "batch": 128, "threads": 1}


class TowerVectors(Case):
    def setUp(self) -> None:
        super().setUp()
        self.tower = thresher.Tower.train_vectors(ROWS, self.path("m.safetensors"), **SMALL)

    def test_the_shape_of_a_model(self) -> None:
        info = self.tower.info
        self.assertEqual((info.n_inputs, info.n_dims, info.query_bits, info.item_bits), (24, 16, 32, 4))
        self.assertEqual(self.tower.report.n_pairs + self.tower.report.n_valid, len(ROWS))

    def test_any_source_of_vectors_gives_the_same_model(self) -> None:
        np.save(self.path("rows.npy"), ROWS)
        for number, source in enumerate((self.path("rows.npy"), iter([ROWS[:300], ROWS[300:]]), ROWS.astype(np.float64))):
            tower = thresher.Tower.train_vectors(source, self.path(f"{number}.safetensors"), **SMALL)
            self.assertEqual(tower.info.fingerprint, self.tower.info.fingerprint)

    def test_only_directions_count_and_rows_may_have_any_layout(self) -> None:
        codes = self.tower.encode(ROWS[:9], "item")
        self.assertEqual(codes.shape, (9, 16))
        self.assertTrue((self.tower.encode(4 * ROWS[:9], "item") == codes).all())
        self.assertTrue((self.tower.encode(np.asfortranarray(ROWS[:9]), "item") == codes).all())
        self.assertTrue((self.tower.encode(ROWS[3], "item") == codes[3]).all())

    def test_an_index_finds_its_items(self) -> None:
        for name, source in (("array", ROWS), ("chunks", iter([ROWS[:300], ROWS[300:]]))):
            index = thresher.Index.build(self.path(name), source, model=self.tower)
            self.assertEqual(index.model.n_inputs, 24)
            found = index.search(ROWS[:50], 5)[0]
            self.assertGreater((found == np.arange(50)[:, None]).any(axis=1).mean(), 0.9)
            self.assertEqual(index.search(ROWS[7], 5)[0][0], found[7][0])

    def test_kept_vectors_refine(self) -> None:
        for metric in ("cosine", "ip", "l2"):
            with thresher.Index.build(self.path(metric), ROWS, model=self.tower, metric=metric) as index:
                self.assertEqual((index.info.n_dims, index.info.keep, index.info.metric), (24, "float32", metric))
                exact = index.search(ROWS[:50], 5, exact=True)
                every = index.search(ROWS[:50], 5, n_candidates=len(ROWS))
                self.assertTrue((exact[0] == every[0]).all() and (exact[1] == every[1]).all())
                few = index.search(ROWS[:50], 5, n_candidates=100)[0]
                self.assertGreater(np.mean([np.isin(a, b).mean() for a, b in zip(few, exact[0])]), 0.6)
                self.assertTrue((index.vectors([3, 8]) == ROWS[[3, 8]]).all())
                offsets = index.search_radius(ROWS[:5], float(exact[1][:5, 0].min()))[0]
                self.assertGreaterEqual(offsets[-1], 5)
                index.add(0.5 * ROWS[:10])
        with thresher.Index.open(self.path("l2")) as index:
            self.assertEqual(index.search(0.5 * ROWS[4], 1, n_candidates=50)[0][0], len(ROWS) + 4)
        for metric in ("l2", "ip"):
            with self.assertRaisesRegex(thresher.UnsupportedError, "estimate cosines only"):
                thresher.Index.build(self.path("bare"), ROWS, model=self.tower, keep=None, metric=metric)
            with self.assertRaisesRegex(thresher.UnsupportedError, "estimate cosines only"):
                thresher.shards.build(self.path("all"), [ROWS], model=self.tower, keep=None, metric=metric)
        with thresher.Index.build(self.path("bare"), ROWS, model=self.tower, keep=None) as index:
            self.assertEqual(index.search(ROWS[:3], 5)[0].shape, (3, 5))
            with self.assertRaises(thresher.UnsupportedError):
                index.search(ROWS[:3], 5, exact=True)

    def test_pairs_of_queries_and_items(self) -> None:
        options = {**SMALL, "query_bits": 3, "item_bits": 2, "teacher_share": 0.5}
        tower = thresher.Tower.train_vectors(ROWS, self.path("p.safetensors"), queries=ROWS + 0.1, **options)
        self.assertEqual((tower.info.query_bits, tower.info.item_bits), (3, 2))

    def test_pairs_by_id_are_those_row_by_row(self) -> None:
        order = np.random.default_rng(3).permutation(len(ROWS))
        with open(self.path("ids.txt"), "w", encoding="utf-8") as ids:
            ids.writelines(f"item {i}\n" for i in order)
        with open(self.path("pairs.tsv"), "w", encoding="utf-8") as pairs:
            pairs.writelines(f"{i}\titem {i}\n" for i in range(len(ROWS)))
        by_row = self.path("row.safetensors"), self.path("id.safetensors")
        thresher.Tower.train_vectors(ROWS, by_row[0], queries=ROWS + 0.1, **SMALL)
        files = {"pairs": self.path("pairs.tsv"), "item_ids": self.path("ids.txt")}
        thresher.Tower.train_vectors(ROWS[order], by_row[1], queries=ROWS + 0.1, **files, **SMALL)
        with open(by_row[0], "rb") as one, open(by_row[1], "rb") as other:
            self.assertEqual(one.read(), other.read())
        with self.assertRaisesRegex(thresher.NotFoundError, "row 1: the item 'item 0' has no vector in "):
            thresher.Tower.train_vectors(ROWS, self.path("x"), queries=ROWS, pairs=files["pairs"], **SMALL)

    def test_a_file_validates(self) -> None:
        np.save(self.path("others.npy"), random_vectors(200, 24))
        valid = self.path("others.npy")
        tower = thresher.Tower.train_vectors(ROWS, self.path("v.safetensors"), valid=valid, **SMALL)
        self.assertEqual((tower.report.n_pairs, tower.report.n_valid), (len(ROWS), 200))
        self.assertTrue(0.05 < tower.report.valid_quality <= 1)
        with self.assertRaisesRegex(thresher.UnsupportedError, "items alone"):
            thresher.Tower.train_vectors(ROWS, self.path("x"), queries=ROWS, valid=valid, **SMALL)

    def test_what_is_refused(self) -> None:
        bad = ROWS.copy()
        bad[5, 2] = np.nan
        train = thresher.Tower.train_vectors
        for message, call in (
            ("row 5, dimension 2", lambda: train(bad, self.path("x"), **SMALL)),
            ("row 0 is a zero vector", lambda: train(0 * ROWS, self.path("x"), **SMALL)),
            ("900 vectors", lambda: train(ROWS, self.path("x"), queries=ROWS[:900], **SMALL)),
            ("vectors of 23", lambda: train(ROWS, self.path("x"), queries=ROWS[:, :23], **SMALL)),
            ("of 3 dimensions", lambda: self.tower.encode(ROWS[:, :3])),
            ("cannot encode texts", lambda: self.tower.encode("a text")),
        ):
            with self.assertRaisesRegex(thresher.Error, message):
                call()

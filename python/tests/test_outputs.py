# SPDX-License-Identifier: Apache-2.0
"""Outputs behind symbolic links: the link stays, and the file or directory that it names is written, or it is refused."""

from __future__ import annotations

import os
from typing import Any, Callable

import numpy as np

import thresher
from support import Case, random_vectors
from thresher import shards

N, N_DIMS = 64, 16


class Links(Case):
    def setUp(self) -> None:
        super().setUp()
        self.rows = random_vectors(N, N_DIMS)
        self.words = [[row % 5, 7] for row in range(N)]
        with open(self.path("pairs.tsv"), "w", encoding="utf-8") as file:
            file.writelines(f"mot{i} chat\tword{i} cat\n" for i in range(1000))

    def writers(self) -> dict[str, Callable[[str], Any]]:
        """Every function that writes a file or directory, by an ending for it."""
        pairs = self.path("pairs.tsv")
        ranker = thresher.RankSVM().fit(self.rows, np.arange(N) % 3, qid=np.arange(N) // 8)
        small: dict[str, Any] = {"n_dims": 4, "n_pooled": 4, "batch": 16, "n_negatives": 4, "n_epochs": 1}
        return {
            "index": lambda path: thresher.Index.build(path, self.rows, replace=True).close(),
            "features": lambda path: thresher.Index.build(
                path, self.rows, features=self.words, replace=True
            ).close(),
            "collection": lambda path: shards.build(path, np.array_split(self.rows, 2), replace=True).close(),
            "hits": lambda path: thresher.Hits.build(path, self.words, replace=True).close(),
            "head": lambda path: thresher.Head.build(self.rows).save(path, replace=True),
            "model": ranker.save,
            "rank.safetensors": ranker.save,
            "safetensors": lambda path: thresher.Tower.train(pairs, path, **small).close(),
            "lex": lambda path: thresher.train_alignment(pairs + ":1", pairs + ":2", path),
        }

    def test_a_link_stays_and_leads_on_whether_its_target_exists_or_not(self) -> None:
        os.mkdir(self.path("elsewhere"))
        for ending, write in self.writers().items():
            with self.subTest(ending):
                link, target = self.path(f"link.{ending}"), self.path(f"elsewhere/x.{ending}")
                os.symlink(f"elsewhere/x.{ending}", link)
                for _ in range(2):
                    write(link)
                    self.assertTrue(os.path.islink(link))
                    self.assertTrue(os.path.exists(target))
                    self.assertFalse(os.path.islink(target))

    def test_an_open_file_of_a_process_is_refused_and_stays(self) -> None:
        if not os.path.exists("/proc/self/fd"):
            self.skipTest("the system has no /proc")
        with open(self.path("opened"), "w+b") as opened:
            for ending, write in self.writers().items():
                with self.subTest(ending):
                    link = self.path(f"fd.{ending}")
                    os.symlink(f"/proc/self/fd/{opened.fileno()}", link)
                    with self.assertRaises(thresher.Error):
                        write(link)
                    self.assertTrue(os.path.islink(link))
                    self.assertEqual(os.path.getsize(self.path("opened")), 0)

# SPDX-License-Identifier: Apache-2.0
"""help() of a call names all its options, also those that it shares with other calls."""

from __future__ import annotations

import importlib
import inspect
import re
import unittest
from typing import Any

import thresher
from thresher import _head, _search, _train, shards
from thresher.shards import _build


class Help(unittest.TestCase):
    def test_all_options_are_named(self) -> None:
        calls: list[tuple[Any, Any]] = [
            (thresher.Head.compare, _head.Screening),
            (thresher.Head.measure, _head.Screening),
            (thresher.Tower.train_vectors, _train.Training),
            (thresher.beam_search, _head.Screening),
            (shards.Shards.search, _search.Effort),
            (shards.search_shard_radius, _search.RadiusOptions),
        ]
        for name in ("dask", "spark"):
            try:
                calls.append((importlib.import_module(f"thresher.{name}").build, _build.BuildOptions))
            except ImportError as missing:
                print(f"not checked: {missing}")
        for call, options in calls:
            words = set(re.findall(r"\w+", inspect.getdoc(call) or ""))
            missing = set(options.__annotations__) - words
            self.assertEqual(missing, set(), call.__qualname__)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Items of a collection are looked up by ids and names as those of an index; wrong arguments of a build."""

from __future__ import annotations

import unittest
import warnings
from typing import Any
from unittest import mock

import numpy as np

import thresher
from support import Case, random_vectors
from thresher import Filter, shards
from thresher._core.feature_queries import Queries
from thresher._core.library import lib


class Items(Case):
    def test_items_are_looked_up_as_in_an_index(self) -> None:
        """Answers and errors are those of one index, for items with ids, names or neither, that are there or not."""
        vectors = random_vectors(600, 24)
        lookups: Any = {
            "filter_ids": ([5, 8], [99999], ["n5"], ["zz"], [], [-1], [0.5], [0, 1, 0], np.array([[5], [8]])),
            "rows": ([5, 8], [[5], [8]], [99999], ["n8", "n599"], ["zz"]),
            "vectors": ([5, 8], [[5, 8]], ["n300", "n5"], [8, 99999], ["n5", "zz"], [[]]),
            "vector": (5, 599, 99999, -1, "n5", [5]),
            "name": (5, 99999, [5, 8, 302], [[5], [99999]], [], -1, "n5", np.arange(5, 9)),
            "find": ("n5", "zz", 5),
            "__contains__": (5, 602, 99999, -1, "n5", "zz", 0.5, None),
        }
        for ids in (None, np.arange(600) * 3 + 5, [f"n{i}" for i in range(600)]):
            parts = [vectors[a : a + 200] if ids is None else (vectors[a : a + 200], ids[a : a + 200]) for a in (0, 200, 400)]
            index = thresher.Index.build(self.path("one"), vectors, ids=ids, replace=True)
            with index, shards.build(self.path("many"), parts, replace=True) as many:
                for function, arguments in lookups.items():
                    for argument in arguments:
                        with self.subTest(function, argument=argument, ids=type(ids)):
                            one, other = (self.looked_up(where, function, argument) for where in (index, many))
                            np.testing.assert_equal(other, one)
                known = index.rows([5, 8])
                for found in (index, many):
                    given = [5, 8, 99999]
                    np.testing.assert_array_equal(found.filter_ids(given, missing="ignore").words, Filter(600, known).words)
                    with self.assertRaisesRegex(thresher.NotFoundError, 'id 99999: missing="ignore" leaves out'):
                        found.filter_ids(given)

    def looked_up(self, where: Any, function: str, argument: Any) -> Any:
        """What the function returns, or its exception, without the path."""
        try:
            answer = getattr(where, function)(argument)
            return answer.words if isinstance(answer, Filter) else answer
        except (KeyError, TypeError, ValueError) as raised:
            kept = "" if function == "find" else str(raised).replace(where.path, "")
            return type(raised).__name__, kept.replace(" the index", "").replace(" the collection", "")

    def test_each_word_of_a_call_is_looked_up_once_a_shard(self) -> None:
        x, queries = random_vectors(300, 8), random_vectors(50, 8, seed=2)
        words = [[f"c={i % 5}", f"b={i % 3}"] for i in range(300)]
        asked: list[Any] = [{f"c={i % 5}": 1.0, "b=1": i / 50, "nobody": 2} if i % 2 else [f"b={i % 3}"] for i in range(50)]
        with thresher.Index.build(self.path("one"), x, features=words) as index:
            wanted = index.search(queries, 7, exact=True, features=asked)
        parts = [x[:100], x[100:250], x[250:]]
        of_parts = [words[:100], words[100:250], words[250:]]
        counting = mock.patch("thresher._core.feature_queries.lib", wraps=lib)
        with shards.build(self.path("many"), parts, features=of_parts) as many, counting as counted:
            np.testing.assert_equal(many.search(queries, 7, exact=True, features=asked), wanted)
            self.assertEqual(counted.thr_hits_feature.call_count, 3 * 9)
            one = many.search(queries[3], 7, exact=True, features=asked[3])
            self.assertEqual(counted.thr_hits_feature.call_count, 3 * (9 + 3))
            np.testing.assert_equal(one, (wanted[0][3], wanted[1][3]))
            self.assertEqual(len(Queries.of(asked).take([1, 3, 4])), 3)
            with self.assertRaisesRegex(thresher.ArgumentError, "feature 'b=1' of a query weighs nan"):
                many.search(queries, 7, features=[*asked[:49], {"c=1": 1, "b=1": float("nan")}])

    def test_a_cosine_above_1_is_noted_once(self) -> None:
        x = random_vectors(300, 8)
        with shards.build(self.path(), np.split(x, 3)) as many, warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            self.assertEqual(many.search_radius(x[:2], 1.5)[0].tolist(), [0, 0, 0])
            self.assertEqual(many.search_radius(x[:2], 0.9999)[0].tolist(), [0, 1, 2])
        self.assertEqual([str(one.message).partition(",")[0] for one in noted], ["least_score: 1.5 was given"])

    def test_swapped_arguments_of_a_build(self) -> None:
        parts = [random_vectors(10, 4)]
        with self.assertRaisesRegex(TypeError, "type list was given: the first argument is the directory, the parts come"):
            shards.build(parts, self.path())  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "parts: one array or file was given: expected a list"):
            shards.build(self.path(), parts[0])


if __name__ == "__main__":
    unittest.main()

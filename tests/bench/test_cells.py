# SPDX-License-Identifier: Apache-2.0
"""bench bounded; run by tools/check-peers"""

import argparse
import unittest

from bench.shared import common
from bench.search import bounded, datasets
import numpy as np

ARGUMENTS = argparse.Namespace(quick=True, cells=8)


def clustered(metric, n_items=2000):
    rng = np.random.default_rng(1)
    centres = 4 * rng.standard_normal((8, 16))
    base, queries = (
        (centres[rng.integers(8, size=n)] + rng.standard_normal((n, 16))).astype(np.float32) for n in (n_items, 70)
    )
    if metric == "cosine":
        base, queries = datasets.unit(base), datasets.unit(queries)
    data = datasets.Dataset("made-up", "made up", metric, True, base, queries)
    data.truth_ids, data.truth_scores = datasets.best_rows(metric, base, queries, 10)
    return data


def about(data):
    return {"title": data.title, "n_items": len(data.base), "n_dims": data.n_dims}


class Same(unittest.TestCase):
    def test_items_of_equal_scores_may_change_places_and_others_may_not(self):
        scores = np.array([3, 2, 2, 1], np.float32)
        one = np.array([7, 4, 5, 9], np.uint64), scores
        for ids, cut, same in (
            ([7, 5, 4, 9], False, True),
            ([7, 4, 5, 8], True, True),  # an item as good as the last one
            ([7, 4, 5, 8], False, False),
            ([7, 4, 6, 9], True, False),
        ):
            self.assertEqual(bounded.same((np.array(ids, np.uint64), scores), one, cut), same)
        self.assertFalse(bounded.same((one[0], scores + np.float32(1e-6)), one, True))
        self.assertFalse(bounded.same((one[0][:3], scores[:3]), one, False))
        none = np.empty(0, np.uint64), np.empty(0, np.float32)
        self.assertTrue(bounded.same(none, none, False))

    def test_answers_that_differ_end_the_bench(self):
        def search(index, queries):
            return [(np.array([index], np.uint64), np.array([index], np.float32))] * len(queries), []

        queries = np.zeros((3, 2), np.float32)
        self.assertEqual(bounded.measure_search((1, 1), bounded.RADIUS, search, queries, 1)["n_found"], [3, 3])
        with self.assertRaisesRegex(SystemExit, "radius, exact: answers with cells"):
            bounded.measure_search((1, 2), bounded.RADIUS, search, queries, 1)


@unittest.skipIf(common.thresher is None, "without the package")
class Indexes(unittest.TestCase):
    def test_bounded_searches_are_measured(self):
        for metric in ("cosine", "l2"):
            data = clustered(metric)
            kept = bounded.measure_data(data, ARGUMENTS)
            best = kept["searches"][0]
            self.assertEqual(best["n_found"], [640, 640])
            self.assertLess(best["one"]["read"], 1000)  # clusters are far apart
            self.assertIn("| radius, recall 0.99 |", str(bounded.text({"made-up": {**about(data), **kept}})))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The comparisons' own arithmetic, on small made-up data: tools/check-peers"""

import argparse
import lzma
import os
import subprocess
import sys
import tempfile
import unittest

from bench.shared import common
from bench.search import datasets
from bench.head import decode
from bench.ads import speed as dual
from bench.ads import log as dual_log
from bench.head import head
from bench.live import live
from bench.live import peers as live_peers
from bench.search import measure
import numpy as np
from bench.search import peer
from bench.search import pick
from bench.search import rabitqlib_peers
from bench.rank import rank
from bench.search import report
from bench.shared import svg
from bench.search import targets
from bench.tower import tower
from bench.tower import codes as tower_codes
from bench.tower import sets as tower_sets
from bench.tower import torch_steps as tower_torch
from bench.search import xfbq


def small(metric="cosine", n_items=500):
    rng = np.random.default_rng(1)
    base, queries = (rng.standard_normal((n, 16), dtype=np.float32) for n in (n_items, 40))
    if metric == "cosine":
        base, queries = datasets.unit(base), datasets.unit(queries)
    data = datasets.Dataset("made-up", "made up", metric, True, base, queries)
    data.truth_ids, data.truth_scores = datasets.best_rows(metric, base, queries, 50)
    return data


def point(qps, recall, n_bytes=10, peer_name="faiss-pq", family="codes", **more):
    about = {"variant": {"M": 4}, "setting": {"factor": 2}, "build_s": 1.0, "cpu_share": 1.0, "n_queries": 9}
    times = {"qps": qps, "qps_batch": 2 * qps, "p50_us": 1.0, "p99_us": 2.0}
    return {**about, **times, "recall": recall, "bytes_per_item": n_bytes, "vector_bytes_per_item": 40, **more}


class Datasets(unittest.TestCase):
    def test_best_rows_are_those_of_a_full_sort(self):
        for metric in ("cosine", "l2"):
            data = small(metric)
            for query, ids in zip(data.queries, data.truth_ids):
                scores = datasets.exact_scores(metric, data.base, query)
                self.assertEqual(np.argsort(-scores, kind="stable")[:50].tolist(), ids.tolist())

    def test_best_rows_over_several_blocks(self):
        data = small()
        block, datasets.BLOCK = datasets.BLOCK, 77
        self.addCleanup(setattr, datasets, "BLOCK", block)
        ids = datasets.best_rows("cosine", data.base, data.queries, 50)[0]
        self.assertEqual(data.truth_ids.tolist(), ids.tolist())

    def test_synthetic_data_is_kept_and_queries_are_no_items(self):
        with tempfile.TemporaryDirectory() as cache:
            first = datasets.load("synthetic64", cache, small=True)
            again = datasets.load("synthetic64", cache, small=True)
            self.assertEqual(first.base.shape, (datasets.SMALL_ITEMS, 64))
            self.assertTrue(np.array_equal(first.truth_ids, again.truth_ids))
            self.assertLess(first.truth_scores.max(), 0.999)
            self.assertTrue(np.allclose(np.linalg.norm(first.base, axis=1), 1, atol=1e-5))

    def test_a_name_that_is_none(self):
        with self.assertRaisesRegex(datasets.Missing, "there is no data set nonsense"):
            datasets.load("nonsense", "")


class Measure(unittest.TestCase):
    def test_recall_of_the_truth_is_1_and_of_nothing_0(self):
        data = small()
        self.assertEqual(measure.recall(data, data.truth_ids[:, :10]), 1)
        self.assertEqual(measure.recall(data, np.full((40, 10), -1)), 0)

    def test_an_item_that_is_as_good_counts_and_counts_once(self):
        data = small()
        twin = np.concatenate([data.base, data.base])  # row i + 500 is row i
        data.base = twin
        self.assertEqual(measure.recall(data, data.truth_ids[:, :10] + 500), 1)
        twice = np.repeat(data.truth_ids[:, :5], 2, axis=1)
        self.assertEqual(measure.recall(data, twice), 0.5)

    def test_measure_calls_single_queries_and_batches(self):
        data, sizes = small(), set()

        def answer(queries, k):
            sizes.add(len(queries))
            return np.zeros((len(queries), k), dtype=np.int64) + np.arange(k)

        out = measure.measure(data, answer, budget=0.02)
        self.assertEqual(sizes, {1, 40})
        self.assertEqual(out["n_recall"], 40)
        self.assertGreater(out["qps"], 0)
        self.assertGreaterEqual(out["p99_us"], out["p50_us"])

    def test_keep_best_keeps_the_true_best_of_the_candidates(self):
        for metric in ("cosine", "l2"):
            data = small(metric)
            kept = peer.keep_best(data, data.queries, data.truth_ids[:, ::-1], 10)
            self.assertEqual(measure.recall(data, kept), 1)


class Clusters(unittest.TestCase):
    def test_every_row_is_in_the_cluster_of_its_nearest_centroid(self):
        data = small()
        centroids = data.base[:7]
        ids = rabitqlib_peers.nearest(data.base, centroids, block=77)
        distances = np.square(data.base[:, None] - centroids).sum(axis=2)
        self.assertEqual(distances.argmin(axis=1).tolist(), ids.tolist())


class Pick(unittest.TestCase):
    def test_fastest_at_a_recall_and_a_size(self):
        points = [point(100, 0.9), point(50, 0.99), point(20, 0.999, n_bytes=40)]
        self.assertEqual(pick.fastest(points, 0.9)["qps"], 100)
        self.assertEqual(pick.fastest(points, 0.95)["qps"], 50)
        self.assertEqual(pick.fastest(points, 0.95, least_bytes=30)["qps"], 20)
        self.assertIsNone(pick.fastest(points, 1))

    def test_front_holds_no_point_that_another_beats(self):
        points = [point(100, 0.9), point(90, 0.8), point(50, 0.99), point(40, 0.99)]
        self.assertEqual(pick.front(points, "qps"), [(0.9, 100), (0.99, 50)])

    def test_setting_names(self):
        made = {"variant": {"M": 25, "opq": True}, "setting": {"factor": 3}}
        self.assertEqual(pick.setting_name(made), "M 25, OPQ, factor 3")


def made_up_results():
    flat = {**point(10, 1.0, 0), "variant": {}, "setting": {}}
    ours = [{**point(200, 0.994, 12), "variant": {"bits": 3}, "setting": {"promise": 0.99}}]

    def kept(points, title, family):
        about = {"version": "1", "title": title, "family": family, "package": title, "date": "today"}
        return {**about, "points": points}

    k_rows = [{"what": "k", "k": k, "qps": q, "qps_batch": q, "recall": 1.0} for k, q in ((10, 100), (1000, 80))]
    k_rows.append({"what": "filter", "share": 0.01, "qps": 400, "qps_batch": 400, "recall": 1.0, "n_allowed": 5})
    k_rows.append({"what": "codes only", "bytes_per_item": 12})
    peers = {
        "faiss-flat": kept([flat], "flat", "exact"),
        "thresher": kept(ours, "Thresher", "codes"),
        "thresher-rows": {**kept([], "rows", "exact"), "rows": k_rows},
        "faiss-pq": kept([point(100, 0.99, 25), point(150, 0.99, 5)], "pq", "codes"),
        "hnswlib": {"left_out": "hnswlib is not installed"},
    }
    about = {"title": "made up", "n_items": 500, "n_dims": 16, "n_queries": 40, "metric": "cosine", "synthetic": True}
    return {"machine": {}, "data": {"books100d": about}, "results": {"books100d": peers}}


class Report(unittest.TestCase):
    def test_figures_have_both_sides(self):
        rows = targets.figures_of(made_up_results(), "books100d", False)
        found = {words: (cell.cell, cell.missed) for words, cell, _ in rows}
        self.assertEqual(found["one query, recall 0.99: times the speed of flat"], ("20", False))
        larger = "one query, recall 0.99: times the fastest exhaustive code index of equal or larger size"
        self.assertEqual(found[larger], ("2", False))
        self.assertEqual(found["one query, k = 1000: time over that of k = 10"], ("1.25", False))
        self.assertEqual(found["one query, 0.01 of the items allowed: time over that without a filter"], ("0.25", False))
        self.assertEqual(found["size of an index of codes only, relative to float32 vectors"], ("0.1875", True))
        self.assertEqual(found["largest shortfall of the measured recall"], ("-0.004", False))

    def figures(self, report):
        return {(f["case"], f["setting"], f["unit"]): (f["value"], f["target"]) for f in report.figures()}

    def test_text_says_what_was_left_out(self):
        made = report.text(made_up_results())
        self.assertIn("- books100d, hnswlib: hnswlib is not installed", str(made))
        found = self.figures(made)
        self.assertEqual(found["books100d", "recall >= 0.99; codes; bits 3, promise 0.99", "queries/s"], ("200", ""))

    def test_an_empty_file_of_results_is_reported(self):
        empty = {"machine": {}, "data": {}, "results": {}}
        self.assertIn("## search\n", str(report.text(common.load("there/is/none.json", empty))))

    def test_cells_have_a_report_of_their_own(self):
        made = made_up_results()
        cells = {**made["results"]["books100d"]["thresher"]}
        cells["points"] = [{**cells["points"][0], "variant": {"bits": 2, "cells": 64}}]
        made["results"]["books100d"]["thresher-cells"] = cells
        made["machine"]["cache_bytes"] = 1000
        words = str(report.text(made, cells=True))
        self.assertIn("## search-cells\n", words)
        self.assertIn("| books100d | 2, cells 64 | 0.99 | 0.9940 | 200 |", words)
        self.assertIn("| one query, recall 0.95: times the speed of pq | >= 1.3 | 1.333 | yes |", words)
        self.assertIn("| recall 0.99: speed of batches of 64 over that of single queries | >= 2 | 2 | yes |", words)
        self.assertNotIn("Faiss IndexFlat", words)

    def test_recall_axis_grows_to_the_right(self):
        places = [svg.recall_place(r) for r in (0.9, 0.95, 0.99, 0.999, 1)]
        self.assertEqual(places, sorted(places))
        self.assertEqual((places[0], places[-1]), (0, 1))


class Xfbq(unittest.TestCase):
    def test_codes_are_the_nearest_halvings(self):
        """f_B by its definition: a sum of +-1/2, +-1/4, ..., each by the sign of what is left (XFBQ 3.2)."""
        x = np.random.default_rng(4).uniform(-0.99, 0.99, 200)
        for bits in (1, 2, 3, 5):
            f = np.zeros_like(x)
            for i in range(1, bits + 1):
                f += np.where(x - f >= 0, 1, -1) / 2**i
            self.assertTrue(np.array_equal(f * 2**bits, xfbq.codes_of(x, bits, 1.0)))
        self.assertEqual([3, -3], xfbq.codes_of(np.array([9.0, -9.0]), 2, 1.0).tolist())

    def test_shares_and_precision_are_those_of_a_full_sort(self):
        rng = np.random.default_rng(5)
        scores = rng.permutation(1000).reshape(1, -1).astype(np.float32)
        truth = np.argsort(-scores, axis=1)[:, 5:15]
        self.assertEqual([0.5, 1.0, 1.0, 1.0], xfbq.shares(datasets.best_of(scores, xfbq.BEST[-1]), truth))
        self.assertEqual(0.25, xfbq.precision(np.array([[1, 2, 3, 4]]), np.array([[9, 1, 8, 7, 2]]), 4))

    def test_distributions_apart(self):
        a = np.arange(10.0)
        self.assertEqual(0, xfbq.ks_distance(a, a[::-1].copy()))
        self.assertEqual(1, xfbq.ks_distance(a, a + 10))

    def test_the_fastest_at_a_precision_is_shown(self):
        rows = [[10, "codes", "a", 0.96, 50.0], [10, "codes", "b", 0.999, 20.0], [10, "codes", "c", 0.995, 10.0]]
        found = ["Thresher", "10", "50", "50", "20", "20", "0.9990"]
        self.assertEqual([found], list(xfbq.speed_rows(rows)))


class Pictures(unittest.TestCase):
    def test_a_library_has_one_colour_and_marker_and_its_ways_have_dashes(self):
        look = svg.styles(["Faiss IndexFlat", "Thresher", "Faiss IVF"])
        self.assertEqual(look["Faiss IndexFlat"][:2], look["Faiss IVF"][:2])
        self.assertNotEqual(look["Faiss IndexFlat"][2], look["Faiss IVF"][2])
        self.assertNotEqual(look["Faiss IndexFlat"][1], look["Thresher"][1])
        self.assertEqual(look["Thresher"], svg.styles(["Thresher"])["Thresher"])

    def test_names_at_ends_do_not_touch_and_stay_inside(self):
        for wanted in ([5, 5, 5], [100, 99, 98, 0], [50]):
            places = svg.spread_out(wanted, 0, 100)
            self.assertEqual(len(wanted), len(places))
            self.assertTrue(all(b - a >= svg.NAME_ROW for a, b in zip(places, places[1:])))
            self.assertTrue(0 <= places[0] and places[-1] <= 100)

    def test_labels_of_points_that_are_close_do_not_touch(self):
        alone = svg.labels_at_points([(50, 50, "t 2", "red")])
        self.assertIn('x="50.0" y="44.0"', alone[0])
        close = svg.labels_at_points([(50, 50, "t 2", "red"), (55, 50, "t 3", "red"), (200, 50, "", "red")])
        self.assertEqual(2, len(close))
        self.assertIn('y="64.0"', close[1])
        self.assertLess(len(svg.labels_at_points([(50 + i, 50, "t 2", "red") for i in range(9)])), 9)


class TowerCodes(unittest.TestCase):
    def test_vectors_are_found_by_name_and_read(self):
        made = tower_codes.Vectors(np.eye(3, 2), np.ones((2, 2)), np.array([2, 0]), np.array([3, 1.33]))
        with tempfile.TemporaryDirectory() as keep:
            for quick, model in ((False, "m_1"), (True, "m_1"), (False, "rbe*")):
                made.save(tower_codes.vectors_path(keep, quick, "tldr", model, 7))
            found = tower_codes.found(keep, quick=False)
            self.assertEqual(list(found), [("tldr", 7)])
            vectors = tower_codes.Vectors.load(found["tldr", 7])
        self.assertEqual(vectors.items.shape, (3, 2))
        self.assertEqual(vectors.item_of.tolist(), [2, 0])
        self.assertEqual(vectors.good.tolist(), [True, False])

    def test_rows_are_of_all_seeds_and_end_with_learned_codes(self):
        measured = {f"tldr {seed} itq": {"recall": 0.5 + seed / 100, "bytes": 8} for seed in (1, 3)}
        ours = {"tldr": [{"recall": 0.6, "bytes": 16.1}]}
        rows = list(tower_codes.rows_of(measured, ours))
        self.assertEqual(rows[0], ["tldr", "Faiss ITQ", 8, "0.5200 ± 0.0141"])
        self.assertEqual(rows[1][1:3], ["rbe*", 16])


class TowerSets(unittest.TestCase):
    def test_a_query_has_one_place_however_it_is_written(self):
        for one, other in (("l bracket", "  L,Bracket!"), ("8 ft. ladder", "8 FT LADDER"), ("a", "a.")):
            self.assertEqual(tower_sets.place(one), tower_sets.place(other))
        self.assertNotEqual(tower_sets.place("l bracket"), tower_sets.place("lbracket"))
        self.assertNotEqual(tower_sets.place("ä"), tower_sets.place("ö"))
        self.assertEqual(tower_sets.place("x"), tower_sets.place("x "))

    def test_places_are_spread_evenly(self):
        places = [tower_sets.place(f"query {i}") for i in range(20000)]
        counts, _ = np.histogram(places, 10, (0, 1))
        self.assertLess(abs(counts - 2000).max(), 212)  # five standard deviations

    def read(self, lines, columns, share=1.0, name="made.tsv.xz"):
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(f"{directory}/pairs")
            with lzma.open(f"{directory}/pairs/{name}", "wt") as file:
                file.write(lines)
            data = tower_sets.DataSet("made", name, columns, 1, 0.1)
            self.assertTrue(tower_sets.read(data, directory, share))
            return data

    def test_no_query_is_in_both_parts(self):
        lines = "".join(f"{'Query' if i % 2 else 'query,'} {i % 600}\titem {i}\n" for i in range(3000)) + "?\titem\n"
        data = self.read(lines, (0, 1))
        self.assertEqual(len(data.pairs), 3000)
        numbers = [{pair[0].split()[1] for pair in data.part(test)} for test in (False, True)]
        self.assertEqual(len(numbers[0]) + len(numbers[1]), 600)
        self.assertTrue(40 < len(numbers[1]) < 80)
        self.assertTrue(1200 < len(self.read(lines, (0, 1), 0.5).pairs) < 1800)

    def test_labels_say_what_is_bad(self):
        lines = 'id,item,query,relevance\n1,"a, b\nc",q one,1.67\n2,b,q two,3\n'
        data = self.read(lines, ("query", "item", "relevance"), name="made.csv.xz")
        self.assertEqual([pair[:3] for pair in data.pairs], [("q one", "a, b c", 1.67), ("q two", "b", 3.0)])
        both = data.part(False, tower_sets.LEAST_LABEL) + data.part(True, tower_sets.LEAST_LABEL)
        self.assertEqual([pair[0] for pair in both], ["q two"])


@unittest.skipIf(common.thresher is None, "without the package")
class TowerTables(unittest.TestCase):
    """The program on a few made-up pairs."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.at = directory.name
        os.makedirs(f"{self.at}/data/pairs")
        with lzma.open(f"{self.at}/data/pairs/tldr_pages.en.tsv.xz", "wt") as file:
            for i in range(900):
                words = f"{('red', 'green', 'blue', 'white')[i % 4]} {('lamp', 'chair', 'table')[i % 3]}"
                file.write(f"p{i}\t{words} number {i}\tsell --{words} {i}\n")

    def run_bench(self, *words, tables="2,codes", seeds=2):
        command = [sys.executable, os.path.abspath(tower.__file__), "--parts", "tables", "--tables", tables]
        command += ["--data", f"{self.at}/data", "--keep", f"{self.at}/kept", "--epochs", "2", "--batch", "64"]
        return subprocess.run([*command, "--seeds", str(seeds), *words], capture_output=True, text=True)

    def test_tables_are_printed_and_a_run_that_was_cut_is_taken_up(self):
        first = self.run_bench()
        self.assertEqual(first.returncode, 0, first.stderr)
        for words in ("### tldr: table 2", "| rbe* | 64 | 3 | 2 |", " ± ", "| tldr | m_5, queries of floats |"):
            self.assertIn(words, first.stdout)
        self.assertIn("AUC lift of rbe* from m_3 toward m_1, tldr", first.stdout)
        self.assertIn("homedepot is left out", first.stderr)
        self.assertEqual(len(os.listdir(f"{self.at}/kept/vectors")), 2)
        path = f"{self.at}/kept/results.json"
        kept = common.load(path, {"format": 3})
        self.assertEqual(len(kept["measured"]), 10)
        del kept["measured"][next(iter(kept["measured"]))]
        common.save(path, kept)
        again = self.run_bench()
        self.assertEqual(again.stdout, first.stdout)
        self.assertEqual(again.stderr.count("AUC"), 1)
        self.assertEqual(self.run_bench(tables="2").stderr.count("AUC"), 0)

    def test_trends(self):
        made = self.run_bench(tables="4,5,6", seeds=1)
        for words in (": table 4", ": table 5", ": table 6", "| rbe_3 | 6 | rbe_3 plain |"):
            self.assertIn(words, made.stdout)

    def test_no_data(self):
        made = self.run_bench("--data", self.at)
        self.assertIn("none of the data sets", made.stderr)
        self.assertEqual(made.returncode, 1)


class Decode(unittest.TestCase):
    """Ways of translating with made-up times and BLEU."""

    def course(self):
        course = decode.Course.__new__(decode.Course)
        full = [decode.Outcome(decode.Way("full", beam), 10.0 * beam, 8.0 * beam, 30.0, 1, None) for beam in (12, 48)]
        wta = [decode.Way("wta", beam, frequent=500, threshold=t) for beam, t in ((12, 3), (12, 2), (48, 2))]
        found = zip(wta, (20.0, 60.0, 120.0), (29.0, 29.8, 29.8))
        course.outcomes = full + [decode.Outcome(way, s, s / 2, bleu, 0.5, 0.9) for way, s, bleu in found]
        return course

    def test_the_fastest_way_that_loses_little_is_taken(self):
        course = self.course()
        self.assertEqual(course.best("wta", 0.3).way.threshold, 2)
        self.assertEqual(course.best("wta", 1.5).way.threshold, 3)
        self.assertIsNone(course.best("wta", 0.3, same=1))
        self.assertEqual(course.gain(course.best("wta", 0.3)), 2)
        self.assertEqual(course.at_wide_beams("wta"), 2)

    def test_rows(self):
        row = ["wta", "T 500, t 2", 12, "30.00", "60.00", "3.20", "2.00", "29.80", "0.20", "50.0", "0.9000"]
        self.assertIn(row, list(decode.rows(self.course())))
        self.assertEqual(len(decode.screens(300)), 5)


class DualLog(unittest.TestCase):
    """A batch of made-up requests beside loops over their words."""

    ITEMS = {"a": "category=1 category=2 brand=1", "b": "category=2", "c": "brand=1 rare=1", "d": ""}
    REQUESTS = [
        ("age=3 income=2:0.5 income=1:1.5 click.category=2:3 new.category=2:1", "a:7 ~b:1 c"),
        ("age=1 click.brand=1:2 click.rare=1:4 unknown.brand=1", "d b a"),
        ("age=3 age=1:-2", "c ~a ~d"),
    ]
    USERS = ["age=1", "age=3", "click.brand=1", "click.category=2", "income=1", "income=2", "new.category=1"]
    WORDS = ["brand=1", "category=1", "category=2"]

    def log(self):
        tensors = {
            name: np.frombuffer("".join(w + "\n" for w in words).encode(), np.uint8)
            for name, words in (("query.words", self.USERS), ("item.words", self.WORDS))
        }
        with tempfile.TemporaryDirectory() as directory:
            paths = [os.path.join(directory, name) for name in ("requests.tsv", "items.tsv")]
            for path, rows in zip(paths, (self.REQUESTS, self.ITEMS.items())):
                with open(path, "w") as file:
                    file.writelines("\t".join(row) + "\n" for row in rows)
            return dual_log.Log(*paths, tensors)

    def test_words_are_taken_apart(self):
        self.assertEqual(dual_log.split_number("click.category=12:3"), ("click.category=12", 3.0))
        self.assertEqual(dual_log.split_number("url=a:b"), ("url=a:b", 1.0))
        self.assertEqual(dual_log.feature_of("click.category=1.5"), "category=1.5")
        self.assertIsNone(dual_log.feature_of("price=1.5"))

    def test_bags_are_shares_of_fields(self):
        batch = dual_log.Batches(self.log()).make(np.array([2, 0]))
        users = batch["users"]
        ends = np.append(users["offsets"][1:], len(users["rows"]))
        rows, weights = users["rows"].tolist(), users["weights"].tolist()
        bags = [dict(zip(rows[a:b], weights[a:b])) for a, b in zip(users["offsets"], ends)]
        third = np.float32(1) / np.float32(3)
        self.assertEqual(bags[0], {0: -2 * third, 1: third})  # fields: age, click.brand, click.category, income, ...
        self.assertEqual(bags[5], {1: 1.0})
        self.assertEqual(bags[5:], [{1: 1.0}, {}, {3: 1.0}, {4: 0.75, 5: 0.25}, {}])

    def test_ads_are_met_once_and_levels_have_ties(self):
        log = self.log()
        batch = dual_log.Batches(log).make(np.array([0, 1, 2]))
        items = batch["items"]
        self.assertEqual(len(items["offsets"]), 4 * 2)
        self.assertEqual(batch["places"].tolist(), [[0, 1, 2], [3, 1, 0], [2, 0, 3]])
        self.assertEqual(log.levels.tolist(), [[0, 0, 1], [0, 1, 2], [0, 0, 0]])

    def test_hits_are_those_of_a_loop(self):
        batch = dual_log.Batches(self.log()).make(np.array([1, 0]))
        rng = np.random.default_rng(1)
        fields = ["age", "click.brand", "click.category", "income", "new.category"]
        weights = rng.random(len(self.USERS) + len(fields)).astype(np.float32)
        own = weights[batch["hit_rows"]] * batch["hit_known"] + weights[batch["hit_fields"]] * batch["hit_x"]
        scores = np.zeros(6)
        np.add.at(scores, batch["match_ads"], own[batch["match_words"]])
        wanted = []
        for user, ads in (self.REQUESTS[1], self.REQUESTS[0]):
            for ad in ads.split():
                has, score = self.ITEMS[ad.lstrip("~").split(":")[0]].split(), 0.0
                for word in user.split():
                    name, x = dual_log.split_number(word)
                    if dual_log.feature_of(name) in has and dual_log.field_of(name) in fields:
                        score += x * weights[len(self.USERS) + fields.index(dual_log.field_of(name))]
                        score += x * weights[self.USERS.index(name)] if name in self.USERS else 0
                wanted.append(score)
        np.testing.assert_allclose(scores, wanted, rtol=1e-5)

    def test_gains_are_those_of_dcg(self):
        levels = np.array([[0, 1, 2, 3], [0, 1, 1, 1], [0, 0, 0, 0]])
        gains = dual_log.gains_of(levels)
        for row, of in zip(gains[:2], levels):
            plain = np.array([2.0 ** (of > level).sum() - 1 for level in of])
            np.testing.assert_allclose(row, plain / (plain / np.log2(np.arange(4) + 2)).sum(), rtol=1e-6)
        self.assertEqual(gains[2].tolist(), [0, 0, 0, 0])

    def test_a_report_names_the_fastest_way(self):
        ways = {"PyTorch": {"requests_per_s": 10.0, "make_share": 0.1}, "PyTorch, compiled": {"failed": "no compiler"}}
        same = {"loss": 2.5, "theirs": 2.5, "apart": 1e-4}
        words = str(dual.text("Beauty", {"version": "2", "ours": 25.0, "same": same, "ways": ways}))
        self.assertIn("| tied | PyTorch | 10 | 10 | 2.50 |", words)
        self.assertIn("failed: no compiler", words)
        self.assertIn("| training over the fastest PyTorch, tied | >= 2 | 2.5 | yes |", words)


class TowerTexts(unittest.TestCase):
    def test_words_and_trigrams(self):
        self.assertEqual(tower_torch.words_of("x86_64 C++, PDF-files"), ["x86", "64", "c", "pdf", "files"])
        keys = tower_torch.grams_of("ab")
        self.assertEqual(keys, [ord("#") << 42 | ord("a") << 21 | ord("b"), ord("a") << 42 | ord("b") << 21 | ord("#")])

    def test_a_batch_spells_the_words_of_its_pairs(self):
        pairs = [("red lamp", "lamp"), ("a red red door", "doors"), ("x", "y z")]
        texts = tower_torch.Texts(pairs)
        for shared in (True, False):
            tables, sides = tower_torch.Batches(texts, shared).make(np.array([1, 0]), 0)
            for side, (places, lengths) in enumerate(sides):
                words = [w for pair in (pairs[1], pairs[0]) for w in tower_torch.words_of(pair[side])]
                self.assertEqual(lengths.tolist(), [len(tower_torch.words_of(p[side])) for p in (pairs[1], pairs[0])])
                table = tables[0 if shared else side]
                ends = np.append(table["starts"][1:], len(table["grams"]))
                spelled = [table["rows"][table["grams"][a:b]].tolist() for a, b in zip(table["starts"], ends)]
                again = tower_torch.Texts([(w, w) for w in words], keys=self.keys(pairs))
                for word, place in zip(words, places):
                    self.assertEqual(
                        spelled[place], again.grams.take(np.array([again_number(words, word)]))[0].tolist()
                    )
                self.assertEqual(spelled[-1], [])

    @staticmethod
    def keys(pairs):
        counts = {}
        for pair in pairs:
            for text in pair:
                for word in tower_torch.words_of(text):
                    counts[word] = counts.get(word, 0) + 1
        return tower_torch.frequent_grams(counts, 1000)

    def test_words_are_left_out_but_never_all(self):
        texts = tower_torch.Texts([("a b c d e f g h", "one")] * 200)
        _, ((_, queries), (_, items)) = tower_torch.Batches(texts, True).make(np.arange(200), 0.5)
        self.assertTrue(700 < queries.sum() < 900)
        self.assertEqual(set(items.tolist()), {1})

    def test_parts_are_known_by_name_and_kept_in_order(self):
        parts_of = common.names_of(tower.PARTS, "part")
        self.assertEqual(parts_of("torch,tables"), ["tables", "torch"])
        with self.assertRaisesRegex(argparse.ArgumentTypeError, "there is no part all"):
            parts_of("all")

    def test_a_report_without_all_parts(self):
        way = {"examples_per_s": 10.0, "make_share": 0.1}
        about = {"ours": 25.0, "losses": [1.0, 1.0], "ways": {"PyTorch": way, "PyTorch, compiled": {"failed": "no compiler"}}}
        results = {"torch": {"version": "2", "sets": {"tldr": about}}, "speed": {"text": "| a |\n", "figures": []}}
        words = str(tower.text(results))
        self.assertIn("| tldr | PyTorch | 10 | 10 | 2.50 |", words)
        self.assertIn("failed: no compiler", words)
        self.assertIn("| >= 2 | 2.5 | yes |", words)


def again_number(words, word):
    return list(dict.fromkeys(words)).index(word)


class Rank(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(1)
        self.x = rng.standard_normal((60, 3)).astype(np.float32)
        self.y, self.qid = rng.integers(0, 3, 60).astype(float), rng.integers(0, 7, 60)

    def test_the_objective_is_the_sum_over_pairs(self):
        rows = rank.Rows(self.x, self.y, self.qid)
        w, slack = np.array([0.3, -1, 2]), 0.0
        for i in range(60):
            for j in range(60):
                if self.qid[i] == self.qid[j] and self.y[i] > self.y[j]:
                    slack += max(0, 1 - w @ (self.x[i].astype(float) - self.x[j])) ** 2
        found = rank.objective(w, rank.pair_differences(rows), 0.7)
        self.assertAlmostEqual(found, 0.5 * w @ w + 0.7 * slack, places=9)

    def test_queries_are_dealt_once_and_alike_for_a_seed(self):
        test, others = rank.deal(self.qid, 3)
        self.assertEqual(sorted([*test, *others]), sorted(set(self.qid)))
        self.assertEqual(len(test), 1)
        self.assertEqual(rank.deal(self.qid, 3)[1].tolist(), others.tolist())
        self.assertNotEqual([rank.deal(self.qid, seed)[1].tolist() for seed in range(9)], [others.tolist()] * 9)

    def test_rows_of_a_query_stand_together_in_their_order(self):
        rows = rank.Rows(self.x, self.y, self.qid).of([2, 5])
        wanted = np.concatenate([self.x[self.qid == 2], self.x[self.qid == 5]])
        np.testing.assert_array_equal(rows.x, wanted)
        self.assertEqual(rows.sizes().tolist(), [(self.qid == 2).sum(), (self.qid == 5).sum()])

    def test_the_table_has_means_and_differences_split_by_split(self):
        found = {"one": [(0.7, 0.5, ""), (0.6, 0.4, "")], "two": [(0.71, 0.5, ""), (0.61, 0.4, "")]}
        first, second = rank.table_rows(found)
        self.assertEqual(first, ["one", "65.00 ± 7.07", "0.4500 ± 0.0707", "", ""])
        self.assertEqual(second[3:], ["+1.00 ± 0.00", "0.0000 ± 0.0000"])
        self.assertEqual(rank.signed([-1e-9], 2), "0.00 ± 0.00")


class Heads(unittest.TestCase):
    def problem(self):
        rng = np.random.default_rng(1)
        weights, bias = rng.standard_normal((300, 20)).astype(np.float16), rng.standard_normal(300)
        return head.Problem(weights, bias, rng.standard_normal((24, 20)).astype(np.float32))

    def test_rows_with_their_bias_have_the_order_of_the_logits(self):
        problem = self.problem()
        for one_length in (False, True):
            rows, states = problem.with_bias(one_length)
            self.assertEqual(rows.shape[1] % 8, 0)
            np.testing.assert_allclose(states @ rows.T, problem.logits, rtol=1e-4, atol=1e-4)
        distances = ((states[:, None] - rows[None]) ** 2).sum(axis=2)
        nearest = np.argpartition(distances, head.K, axis=1)[:, : head.K]
        self.assertEqual(problem.recall(nearest), 1)

    def test_recall_counts_a_word_once_and_none_as_missed(self):
        problem = self.problem()
        best = head.best_of(problem.logits)
        self.assertEqual(problem.recall(best), 1)
        twice, none = best.copy(), best.copy()
        twice[:, 1], none[:, 3] = twice[:, 0], -1
        for wrong in (twice, none):
            self.assertAlmostEqual(problem.recall(wrong), 1 - 1 / head.K)
        worst = np.argsort(problem.logits, axis=1)[:, : head.K]
        self.assertEqual(problem.recall(worst), 0)

    def test_the_fastest_setting_with_enough_recall_is_taken(self):
        problem = self.problem()
        best = head.best_of(problem.logits)
        few = np.where(np.arange(head.K) < head.K // 2, best, -1)

        def settings(answers):
            return lambda _: ((words, lambda first, end, a=a: a[first:end]) for words, a in answers)

        found = head.measure_way(problem, "made up", settings([("few", few), ("all", best)]), False)
        self.assertEqual((found[0], found[2]), ("all", 1))
        found = head.measure_way(problem, "made up", settings([("few", few)]), False)
        self.assertEqual((found[0], found[2]), ("few", 0.5))
        with self.assertRaises(SystemExit):
            head.measure_way(problem, "made up", settings([("few", few)]), True)



class Exchangeable(live_peers.Turning):
    """An index that keeps its vectors and scores them all."""

    title, settings = "all of them", (1,)

    def build(self, base):
        self.vectors = base.copy()

    def replace(self, ids, vectors):
        self.vectors[ids] = vectors

    def search(self, queries, k, setting):
        return np.argsort(-(queries @ self.vectors.T), axis=1)[:, :k]

    def bytes(self):
        return self.vectors.nbytes


class Live(unittest.TestCase):
    def test_a_turnover_replaces_every_item_and_answers_follow_it(self):
        data = small(n_items=2500)
        live_peers.PEERS["made-up"] = Exchangeable
        try:
            out = live.turnovers("made-up", data, 3, tempfile.gettempdir(), 0.01)
        finally:
            del live_peers.PEERS["made-up"]
        self.assertEqual(out["recalls"], [1.0] * 3)
        self.assertEqual(out["after"]["recall"], 1.0)

        index = Exchangeable(data, None)
        index.build(data.base)
        order = live.turn(index, data.base, np.arange(2500), np.random.default_rng(1))
        self.assertEqual(sorted(order.tolist()), list(range(2500)))
        self.assertGreater((order != np.arange(2500)).mean(), 0.99)
        np.testing.assert_array_equal(index.vectors, data.base[order])

    def test_figures_are_held_against_their_targets(self):
        parts = {"remove": {"before": 100, "removed": 101, "after": 60, "s": 1.0}}
        self.assertEqual([cell.missed for _, cell, _ in live.rows_of(parts)], [True])
        parts["remove"]["after"] = 50
        self.assertEqual([cell.missed for _, cell, _ in live.rows_of(parts)], [False])


if __name__ == "__main__":
    unittest.main()

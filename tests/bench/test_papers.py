# SPDX-License-Identifier: Apache-2.0
"""The page of the papers, on figures that are made up: tools/check-peers"""

import itertools
import json
import os
import tempfile
import unittest
from math import inf

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
os.chdir(ROOT)

from bench.papers import beams, buckets, page
from bench.papers.verdict import (
    EMPTY,
    HOLDS,
    NOT,
    NOT_RUN,
    PARTLY,
    REPRODUCED,
    REVERSED,
    ROWS,
    SMALLER,
    Claim,
    Figure,
    Judged,
    Missing,
    Results,
    chain,
    gain,
    less,
    most,
    order,
    reaches,
    same,
    verdict,
)
from bench.shared import results
from bench.shared.common import published

PUBLISHED = published()


def claims(*outcomes, error=0):
    return [Claim("", 1, 1, outcome, error=error) for outcome in outcomes]


class Buckets(unittest.TestCase):
    def test_table_7_of_the_paper(self):
        exact = (88.03960574126395, 99.2562990255504, 99.9689220391243, 99.99902438659075)  # by rational numbers
        for at_most, percent in enumerate(exact):
            self.assertAlmostEqual(100 * buckets.miss(10**9, 1000, 256, at_most), percent, 9)
        # The paper prints 88.039, 99.256 and 99.969: the first is truncated.
        self.assertAlmostEqual(buckets.recall(1_200_000_000, 1000, 256), 1 - 999 / (2 * 1_200_000_000 / 256), 6)

    def test_every_draw_of_a_few_is_counted(self):
        for n_items, bucket_items in itertools.product(range(1, 10), range(1, 5)):
            for n_wanted in range(1, n_items + 1):
                draws = itertools.combinations(range(n_items), n_wanted)
                missed = [n_wanted - len({item // bucket_items for item in draw}) for draw in draws]
                found = 1 - sum(missed) / len(missed) / n_wanted
                self.assertAlmostEqual(buckets.recall(n_items, n_wanted, bucket_items), found, 12)
                for at_most in range(n_wanted if n_items % bucket_items == 0 else 0):
                    share = sum(n <= at_most for n in missed) / len(missed)
                    self.assertAlmostEqual(buckets.miss(n_items, n_wanted, bucket_items, at_most), share, 12)


class Rule(unittest.TestCase):
    def test_a_reversal_is_never_reproduced_and_never_in_order(self):
        for n in range(1, 5):
            for outcomes in itertools.product((HOLDS, SMALLER, REVERSED), repeat=n):
                state, n_held = verdict(claims(*outcomes)), sum(outcome != REVERSED for outcome in outcomes)
                wanted = NOT if 2 * n_held <= n else REPRODUCED if set(outcomes) == {HOLDS} else PARTLY
                self.assertEqual(wanted, state, outcomes)
                self.assertEqual(REVERSED not in outcomes, Judged({"a": claims(*outcomes)}).in_order, outcomes)

    def test_what_is_unsure_or_departs_is_partly(self):
        self.assertEqual(PARTLY, verdict(claims(HOLDS), departs="C = 1e-4"))
        self.assertEqual(
            [REPRODUCED, PARTLY, PARTLY], [verdict(claims(HOLDS, error=error)) for error in (0.49, 0.5, inf)]
        )
        self.assertEqual(NOT_RUN, verdict([]))

    def test_data_sets_that_differ_are_partly_and_half_of_them_reversed_are_not(self):
        wanted = {
            (HOLDS, HOLDS): REPRODUCED,
            (HOLDS, SMALLER): PARTLY,
            (HOLDS, HOLDS, REVERSED): PARTLY,
            (HOLDS, REVERSED): NOT,
            (REVERSED, REVERSED): NOT,
        }
        for outcomes, state in wanted.items():
            row = Judged({str(i): claims(outcome) for i, outcome in enumerate(outcomes)})
            self.assertEqual(state, row.verdict, outcomes)
        both = Judged({"0": claims(HOLDS), "1": claims(REVERSED)})
        self.assertEqual("**not reproduced**<br>reproduced: 0<br>**not reproduced**: 1", page.verdict_cell(both))

    def test_rows_without_content_or_a_run_are_not_counted(self):
        rows = [
            Judged({"a": claims(HOLDS)}),
            Judged({"a": claims(SMALLER)}),
            Judged({"a": claims(HOLDS, HOLDS, REVERSED)}),
            Judged({"a": claims(REVERSED)}),
            Judged({}, verdict=EMPTY),
            Judged({}, verdict=NOT_RUN),
            Judged({}),
        ]
        words = page.count(rows)
        self.assertIn(
            "4 rows were run and have empirical content: 1 are reproduced, 2 have the paper's sign in every comparison, 1",
            words,
        )
        self.assertIn("| no empirical content | 1 |\n| not run | 2 |", words)

    def test_comparisons_on_their_bounds(self):
        def outcomes(compare, *values):
            return [compare(Figure(value)).outcome for value in values]

        self.assertEqual([HOLDS, REVERSED, REVERSED], outcomes(lambda f: order("", f), 1e-9, 0, -1e-9))
        self.assertEqual([HOLDS, SMALLER, REVERSED], outcomes(lambda f: gain("", f, 2), 2, 1.01, 1))
        self.assertEqual([HOLDS, REVERSED], outcomes(lambda f: gain("", f, None), 1.01, 1))
        self.assertEqual([HOLDS, REVERSED], outcomes(lambda f: reaches("", f, 2), 2, 1.99))
        self.assertEqual([HOLDS, REVERSED], outcomes(lambda f: most("", f, 2), 2, 2.01))
        self.assertEqual([HOLDS, REVERSED, REVERSED], outcomes(lambda f: same("", f, 2, 0.5), 2.5, 1.4, 2.6))
        difference = less(Figure(0.6, 0.03), Figure(0.5, 0.04), 1)
        self.assertEqual((0.1, 0.05), (round(difference.value, 9), difference.spread))
        self.assertEqual([("x", "y"), ("y", "z")], chain({"z": 3, "x": 1, "y": 2}))


class Made(unittest.TestCase):
    """Rows of the page, on results/ of our own."""

    def setUp(self):
        self.folder = (
            self.enterContext(tempfile.TemporaryDirectory()) if hasattr(self, "enterContext") else tempfile.mkdtemp()
        )

    def put(self, subject, *rows):
        """case | system | setting | unit | value [| spread [| date]]"""
        parts = [[*row.split(" | "), "", ""] for row in rows]
        results.write(
            subject,
            [
                {
                    "machine": f"m{date}",
                    "date": date or "2026-01-01",
                    "subject": subject,
                    "case": case,
                    "system": system,
                    "setting": setting,
                    "unit": unit,
                    "value": value,
                    "spread": spread,
                }
                for case, system, setting, unit, value, spread, date, *_ in parts
            ],
            self.folder,
        )

    def judged(self, paper, item):
        return page.judged(Results(self.folder), paper, item, PUBLISHED[paper][item])

    def test_the_newest_of_equal_figures_is_taken(self):
        self.put("s", "a | b |  | x | 1 |  | 2026-01-01", "a | b |  | x | 2 |  | 2026-01-02", "a | c |  | x | ")
        found = Results(self.folder)
        self.assertEqual(2, found.get("s", case="a", system="b").value)
        for wanted in ({"case": "a"}, {"system": "c"}, {"system": "d"}):  # of several, without a value, of none
            with self.assertRaises(Missing):
                found.get("s", **wanted)
        with self.assertRaises(Missing):
            found.get("t", case="a")

    def test_a_reversal_within_two_errors_is_no_order(self):
        rows = []
        for data, first in (("a", "0.0121"), ("a, the paper's recipe", "-0.0023")):
            rows += [
                f"{data}: trends | rbe_2 | table 4; less that of m_2 | d | {first} | 0.0013",
                f"{data}: trends | rbe* | table 4; less that of rbe_2 | d | 0.0011 | 0.0001",
                f"{data}: trends | rbe_3 | table 4; less that of rbe* | d | -0.0000 | 0.0026",
            ]
            rows += [
                f"{data}: table 4 | {model} |  | log loss | {loss}"
                for model, loss in (("m_2", 4), ("rbe_2", 5), ("rbe*", 2), ("rbe_3", 1))
            ]
        self.put("tower", *rows)
        row = self.judged("RBE", "Table 4")
        self.assertEqual(
            {"a": PARTLY, "a, the paper's recipe": NOT}, {data: verdict(some) for data, some in row.data.items()}
        )
        self.assertIn("**-0.0023~**", page.ours_cell(row, False))

    def test_one_training_is_never_sure(self):
        self.put(
            "tower",
            *(
                f"a, one training: trends | {more} | table 5; less that of {fewer} | d | 1"
                for more, fewer in (
                    ("m_2 tanh", "m_2"),
                    ("rbe_2", "rbe_2 tanh"),
                    ("rbe* tanh", "rbe*"),
                    ("rbe_3", "rbe_3 tanh"),
                )
            ),
        )
        self.assertEqual(PARTLY, self.judged("RBE", "Table 5").verdict)

    def test_preparation_is_compared_with_the_fastest_of_each_kind(self):
        case = "books100d: preparation"
        self.put(
            "xfbq",
            f"{case} | Thresher |  | s | 2",
            f"{case} | Faiss IVF-Flat |  | s | 3",
            f"{case} | Faiss IVF-PQ | 8 bytes | s | 60",
            f"{case} | Faiss HNSW |  | s | 1",
        )
        row = self.judged("XFBQ", "Table 2")
        self.assertEqual([1.5, 30, 0.5], [claim.ours for claim in row.data["books100d"]])
        self.assertEqual([HOLDS, HOLDS, REVERSED], [claim.outcome for claim in row.data["books100d"]])

    def test_trees_are_compared_with_the_papers_trees(self):
        self.put(
            "rank",
            *(
                f"{data}: the classic way | {way} |  | solve, s | {s}"
                for data in ("MQ2007-list", "MSLR-WEB30K")
                for way, s in (("Thresher", 1), ("classic", 99))
            ),
        )
        row = self.judged("RankSVM", "Table 2")
        self.assertEqual(["9.04", "18.12"], [claim.bound[3:] for some in row.data.values() for claim in some])
        self.assertEqual(PARTLY, row.verdict)  # at another C, on other rows
        self.assertIn("C = 1e-4", page.verdict_cell(row))

    def test_where_the_papers_way_is_later_ours_has_to_be(self):
        self.put(
            "rank-convergence",
            *(
                f"{data}: seconds | {way} |  | s to 1e-{n} | {s}"
                for data in ("MQ2007", "MQ2008")
                for n in (2, 4, 8)
                for way, s in (("trust region", 1), ("classic", 2))
            ),
        )
        self.assertEqual(
            {"MQ2007": PARTLY, "MQ2008": NOT},
            {data: verdict(some, "x") for data, some in self.judged("RankSVM", "Figure 1").data.items()},
        )

    def test_a_third_bit_of_queries_must_cost_something_and_less_than_its_share(self):
        wanted = {8.2: REVERSED, 9.99: REVERSED, 10: REVERSED, 10.4: HOLDS, 10.5: SMALLER, 14.9: SMALLER, 15: REVERSED}
        for ms, outcome in wanted.items():
            self.put(
                "papers-runs",
                *(
                    f"2 M items of 64 d, best 1,000 | codes, {n} query bits | one query | ms | {x}"
                    for n, x in ((2, 10), (3, ms))
                ),
            )
            self.assertEqual(
                [outcome],
                [claim.outcome for some in self.judged("RBE", "8.3, third bit").data.values() for claim in some],
                ms,
            )

    def translations(self, *points):
        """screen | parameters | speed-up | BLEU, of a beam of 12"""
        rows = []
        for point in points:
            screen, parameters, speed, bleu = point.split(" | ")
            units = {
                "speed-up": speed,
                "BLEU": bleu,
                "BLEU less than full": 28 - float(bleu),
                "head's speed-up": speed,
                "all, s": 9,
                "head, s": 8,
            }
            rows += [f"en-de | {screen} | {parameters}; beam 12 | {unit} | {value}" for unit, value in units.items()]
        self.put("head-translation", *rows)

    def test_hashes_are_chosen_by_the_loss_that_the_paper_has(self):
        self.translations("full |  | 1 | 28", "wta | T 1 | 9 | 20", "wta | T 2 | 5 | 27.9")
        row = self.judged("WTA-LSH", "Table 7")
        self.assertEqual([5, 5], [claim.ours for claim in row.data["en-de"][:2]])
        self.assertIn("en-de 28.00 / 89%", row.note)
        self.translations("full |  | 1 | 28", "wta | T 1 | 9 | 20")
        self.assertEqual(NOT_RUN, self.judged("WTA-LSH", "Table 7").verdict)

    def test_points_are_beaten_by_faster_ones_that_are_not_worse(self):
        hashes = "wta | T 6 | 4 | 20", "wta | T 2 | 2.5 | 27"
        for last, beaten in (("wta | T 1 | 2 | 28", 2), ("wta | T 1 | 7 | 1", 2), ("wta | T 1 | 4 | 27", 3)):
            self.translations(*hashes, last, "align | T 9 | 5 | 27.7")
            self.assertEqual(beaten, sum(claim.holds for claim in self.judged("WTA-LSH", "Figure 6, WA").data["en-de"]))

    def test_curves_are_compared_where_both_are(self):
        self.translations(
            "wta | a | 2 | 5", "wta | b | 3 | 1", "wta | c | 9 | 9", "frequent | a | 1 | 4", "frequent | b | 5 | 2"
        )
        row = self.judged("WTA-LSH", "Figure 6")
        self.assertEqual("1 of 2 points", page.ours_cell(row, True))
        points = [{"speed-up": Figure(x), "BLEU": Figure(y)} for x, y in ((1, 4), (5, 2))]
        self.assertEqual([3.5, None, None], [beams.at_speed(points, speed) for speed in (2, 0.5, 5.1)])


class Page(unittest.TestCase):
    def test_every_item_has_a_judge_or_a_verdict(self):
        for name, paper in PUBLISHED.items():
            for item, about in paper.items():
                if isinstance(about, dict):
                    self.assertEqual("verdict" not in about, (name, item) in ROWS, f"{name}, {item}")
                    self.assertIn(about.get("verdict", EMPTY), (EMPTY, NOT_RUN))
        self.assertEqual([], [key for key in ROWS if key[1] not in PUBLISHED[key[0]]])

    def test_what_no_figure_has_is_not_run(self):
        with tempfile.TemporaryDirectory() as folder:
            for paper, item in ROWS:
                row = page.judged(Results(folder), paper, item, PUBLISHED[paper][item])
                self.assertEqual((NOT_RUN, {}), (row.verdict, row.data), (paper, item))

    def test_tables_without_content_are_named(self):
        found = Results()
        for paper, item in (("RBE", "Table 1"), ("RBE", "Table 7"), ("XFBQ", "Table 1"), ("RankSVM", "Table 1")):
            self.assertEqual(EMPTY, page.judged(found, paper, item, PUBLISHED[paper][item]).verdict, (paper, item))

    def test_rows_of_gpu_check_exist(self):
        self.assertTrue(list(page.gpu_lines(Results(), PUBLISHED)))
        with self.assertRaises(SystemExit):
            list(page.gpu_lines(Results(), {"a": {"b": {"gpu": "no | such | row"}}}))

    def test_the_page_is_that_of_the_figures(self):
        """./run bench papers --docs writes both; no row lacks a figure."""
        found = Results()
        words = page.text(found, PUBLISHED)
        self.assertNotIn("not run: results/", words)
        with open(page.PAGE, encoding="utf-8") as file:
            self.assertEqual(words, file.read())
        own = [
            {name: row[name] for name in (*results.KEY[1:], "value", "target")}
            for row in page.rows_of(found, PUBLISHED)
        ]
        kept = [{name: row[name] for name in own[0]} for row in results.read(page.SUBJECT)]
        self.assertEqual(own, kept)
        self.assertEqual(json.loads(json.dumps(own)), own)


if __name__ == "__main__":
    unittest.main()

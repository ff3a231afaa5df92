# SPDX-License-Identifier: Apache-2.0
"""The page of the papers, on reports that are made up: tools/check-peers"""

import json
import os
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAPERS = os.path.join(ROOT, "programs", "bench", "papers")
os.chdir(ROOT)

from bench.head import warps
from bench.papers import beams, learned, page, solvers
from bench.shared.markdown import Missing, number, sections_of, tables_of
from bench.papers.tables import Reports, chain, reversed_pairs
from bench.papers.verdict import GPU, NONE, NOT, ORDER, PART, REPRODUCED, Verdict, gained, ordered

with open(os.path.join(PAPERS, "published.json"), encoding="utf-8") as file:
    PUBLISHED = json.load(file)


def table(heading, columns, *rows):
    lines = [columns, " | ".join("---" for _ in columns.split(" | ")), *rows]
    return f"### {heading}\n\n" + "\n".join(f"| {line} |" for line in lines) + "\n\n"


def models(*aucs, lift="90.0"):
    """Table 2 of one data set, of AUC cells of m_1, m_2, m_3, rbe* and m_5."""
    names = ("m_1", "m_2", "m_3", "rbe*", "m_5")
    bits = {
        "m_1": "64 | float | float",
        "m_2": "64 | 1 | 1",
        "m_3": "128 | 1 | 1",
        "rbe*": "64 | 3 | 2",
        "m_5": "64 | float | 2",
    }
    rows = [
        f"{name} | {bits[name]} | 0.4 | {auc} | {lift if name == 'rbe*' else '-'}" for name, auc in zip(names, aucs)
    ]
    return table("Table 2, made-up: AUC", "model | dims | query bits | item bits | log loss | AUC | lift %", *rows)


def judge(way, text, function, paper, item):
    return function(Reports({way: text}), PUBLISHED[paper][item])


class Tables(unittest.TestCase):
    def test_a_report_is_read_by_headings_and_columns(self):
        read = tables_of(table("One", "a  | b", "1 | x | y", "2 |  ")[:-1] + "words\n" + table("Two", "c | d", "3 | 4"))
        self.assertEqual(["One", "Two"], list(read))
        self.assertEqual({"a": "2", "b": ""}, read["One"][1])
        self.assertEqual([{"c": "3", "d": "4"}], read["Two"])

    def test_sections_are_those_between_marks(self):
        self.assertEqual({"bench a": "one\n", "bench b": "two\n"},
                         sections_of("<!-- bench a -->\none\n<!-- end -->\n<!-- bench b -->\ntwo\n<!-- end -->\n"))  # fmt: skip

    def test_numbers_of_cells(self):
        for cell, wanted in (("0.9969 ± 0.0001", (0.9969, 0.0001)), ("741,539", (741539, 0)), ("+0.5", (0.5, 0)),
                             ("**-2.5**", (-2.5, 0)), ("1.5e-05", (1.5e-5, 0))):  # fmt: skip
            self.assertEqual(wanted, number(cell))
        with self.assertRaises(Missing):
            number("-")

    def test_a_reversed_pair_is_chance_within_two_standard_errors(self):
        pairs, close, far = [["a", "b"]], {"a": (0.51, 0.01), "b": (0.5, 0.01)}, {"a": (0.6, 0.01), "b": (0.5, 0.01)}
        self.assertEqual((1, 0), tuple(map(len, reversed_pairs(pairs, close, 3))))
        self.assertEqual((0, 1), tuple(map(len, reversed_pairs(pairs, far, 3))))
        self.assertEqual(([], []), reversed_pairs([["b", "a"]], far, 3))
        self.assertEqual([("x", "y"), ("y", "z")], chain({"z": 3, "x": 1, "y": 2}))


class Verdicts(unittest.TestCase):
    def test_rules(self):
        self.assertEqual(REPRODUCED, ordered(([], []), [(2, 1)])[0])
        self.assertEqual(ORDER, ordered(([], []), [(2, 1), (1, 2)])[0])
        self.assertEqual(ORDER, ordered(([], []))[0])
        self.assertEqual(ORDER, ordered((["x"], []), [(2, 1)])[0])
        self.assertEqual((NOT, "x"), ordered((["y"], ["x"]), [(2, 1)]))
        self.assertEqual([REPRODUCED, ORDER, NOT], [gained(x, 2, "slow")[0] for x in (2, 1.5, 0.9)])

    def test_data_sets_are_named_where_they_differ(self):
        both = Verdict("", "", {"a": (ORDER, ""), "b": (NOT, "it fell")})
        self.assertEqual(PART, both.state)
        self.assertEqual("a: order reproduced; b: **not reproduced** because it fell", both.words())
        self.assertEqual("order reproduced", Verdict("", "", {"a": (ORDER, ""), "b": (ORDER, "")}).words())
        self.assertEqual(ORDER, Verdict("", "", {"a": (ORDER, ""), "b": (REPRODUCED, "")}).state)


class Rows(unittest.TestCase):
    def test_models_in_order_out_of_order_and_with_less_lift(self):
        def state(*aucs, **more):
            return judge("bench tower", models(*aucs, **more), learned.rbe_table_2, "RBE", "Table 2").state

        self.assertEqual(REPRODUCED, state("0.9", "0.5", "0.6", "0.7", "0.8"))
        self.assertEqual(ORDER, state("0.9", "0.5", "0.6", "0.7", "0.8", lift="70.0"))
        self.assertEqual(NOT, state("0.9", "0.6", "0.5", "0.7", "0.8"))
        self.assertEqual(ORDER, state("0.9", "0.61 ± 0.1", "0.6 ± 0.1", "0.7", "0.8"))

    def test_models_of_other_bits_are_others(self):
        text = models("0.9", "0.5", "0.6", "0.7", "0.8")
        self.assertEqual(REPRODUCED, judge("bench tower", text, learned.rbe_table_1, "RBE", "Table 1").state)
        text = text.replace("128 | 1 | 1", "64 | 1 | 1")
        self.assertEqual(NOT, judge("bench tower", text, learned.rbe_table_1, "RBE", "Table 1").state)

    def test_reports_of_other_recipes_sets_and_seeds_are_judged_by_their_own_trainings(self):
        def report(data, rbe_3):
            rows = ["m_2 | 0.5 ± 0.1", "rbe_2 | 0.6 ± 0.1", "rbe* | 0.7 ± 0.1", f"rbe_3 | {rbe_3}"]
            return table("Table 4: bits per dimension", f"model | {data}, AUC", *rows)

        reports = Reports({
            "bench tower": report("a", "0.65 ± 0.1"),
            "bench tower --sets b --seeds 1": report("b", "0.65").replace(" ± 0.1", ""),
            "bench tower --recipe paper --sets a --seeds 100": report("a", "0.65 ± 0.1"),
            "bench tower --vectors": table("Others", "model | a, AUC", "x | 1"),
        })  # fmt: skip
        parts = learned.rbe_table_4(reports, PUBLISHED["RBE"]["Table 4"]).parts
        wanted = {"a": ORDER, "b, one training": NOT, "a, the paper's recipe": NOT}
        self.assertEqual(wanted, {data: state for data, (state, _) in parts.items()})
        with self.assertRaises(Missing):
            learned.rbe_table_4(Reports({"bench tower": table("Table 2", "model | a, AUC", "x | 1")}), {})

    def test_a_third_bit_of_queries_must_cost_something_and_less_than_its_share(self):
        def found(ms):
            rows = ["9 | codes, 2 query bits | 10", f"9 | codes, 3 query bits | {ms}", "9 | floats | 99"]
            text = table("Items of 64 dimensions", "items | way | ms per query", *rows)
            return judge(learned.SCANS, text, learned.rbe_third_bit, "RBE", "8.3, third bit")

        wanted = {"8.2": NOT, "9.99": NOT, "10": REPRODUCED, "10.4": REPRODUCED, "10.5": ORDER, "14.9": ORDER, "15": NOT}
        self.assertEqual(wanted, {ms: found(ms).state for ms in wanted})
        self.assertIn("because queries of 3 bits are faster than queries of 2 bits, by 18.0 %", found("8.2").words())
        self.assertIn("because it adds 50 %", found("15").words())

    @unittest.skipUnless(os.path.exists(os.environ.get("THRESHER_LIBRARY", "")), "no library is built")
    def test_buckets_must_keep_what_is_computed(self):
        def state(recall, numbers=None):
            text = table(learned.BUCKETS, "items | recall, %", f"2,000,000 | {recall}")
            return learned.rbe_recall(Reports({learned.SCANS: text}), numbers or PUBLISHED["RBE"]["8.3"]).state

        wanted = {"93.80": REPRODUCED, "92.50": NOT, "95.00": NOT}
        self.assertEqual(wanted, {recall: state(recall) for recall in wanted})
        self.assertEqual(NOT, state("93.80", {"numbers": {"recall": 99.9}}))

    def test_hashes_gain_at_the_loss_that_is_allowed_only(self):
        columns = "screen | parameters | beam | head, s | all, s | head's speed-up | speed-up | BLEU | less than full"
        rows = ["full |  | 12 | 9 | 10 | 1 | 1 | 28 | 0", "wta | t 6 | 12 | 1 | 2 | 9 | 8 | 20 | 8",
                "wta | t 2 | 12 | 3 | 4 | 3 | 2.5 | 27.9 | 0.1"]  # fmt: skip
        text = table("A test set translated", columns, *rows)
        found = judge("bench head --model", text, beams.table_7, "WTA-LSH", "Table 7")
        self.assertEqual(ORDER, found.state)
        self.assertIn("one model 3.00 / 2.50 / 0.10", found.ours)
        lossy = table("A test set translated", columns, *rows[:2])
        pairs = Reports({"bench head --pair en-de": text, "bench head --pair en-fr": lossy})
        found = beams.table_7(pairs, PUBLISHED["WTA-LSH"]["Table 7"])
        self.assertEqual({"en-de": (ORDER, ""), "en-fr": (NOT, "8.00 of BLEU are lost")}, found.parts)

    def test_naive_steps_are_compared_with_published_ones(self):
        def found(naive):
            rows = [f"lanes (naive) | {naive}", "one (published) | 10", "all (ours) | 5"]
            text = table("Steps of warps", "way | steps per beam", *rows) + table("Bytes read", "way | bytes", "copy_if over all counts | 64", "marks | 2")
            return judge(beams.WARPS, text, beams.table_4_naive, "WTA-LSH", "Table 4, naive").parts["look-up"][0]

        self.assertEqual([REPRODUCED, ORDER, NOT], [found(naive) for naive in (34, 20, 9)])

    def test_steps_of_warps(self):
        self.assertEqual([7, 5, 4], warps.steps([1, 7, 3, 2], 4))  # the paper's figure 4
        self.assertEqual([7 + 3, 5 + 1, 4 + 1], warps.steps([1, 7, 3, 2, 3], 4))

    def test_alignments_beat_the_points_that_they_are_faster_and_not_worse_than(self):
        columns = "screen | parameters | beam | head, s | all, s | head's speed-up | speed-up | BLEU | less than full"
        rows = ["full |  | 12 | 9 | 10 | 1 | 1 | 28 | 0", "wta | t 6 | 12 | 1 | 2 | 9 | 4 | 20 | 8",
                "wta | t 2 | 12 | 3 | 4 | 3 | 2.5 | 27 | 1", "align | T 9 | 12 | 1 | 1 | 9 | 5 | 27.7 | 0.3"]  # fmt: skip

        def found(last):
            text = table("A test set translated", columns, *rows, last)
            return judge("bench head --alignment", text, beams.figure_6_alignments, "WTA-LSH", "Figure 6, WA")

        first = found("align | T 1 | 12 | 1 | 1 | 9 | 6 | 1 | 27")
        self.assertEqual(ORDER, first.state)
        self.assertIn("2 of 2 points of wta", first.ours)
        self.assertIn("5.00, BLEU lost 0.30 (T 9)", first.ours)
        for better in ("2 | 28 | 0", "7 | 1 | 27"):  # in BLEU, in speed
            self.assertIn("2 of 3 points of wta", found(f"wta | t 1 | 12 | 1 | 2 | 9 | {better}").ours)
        good, bad = (table("A test set translated", columns, *rows[:3], f"align | T 9 | 12 | 1 | 1 | 9 | {x}")
                     for x in ("5 | 27.7 | 0.3", "2 | 27.7 | 0.3"))  # fmt: skip
        both = beams.figure_6_alignments(Reports({beams.ALIGNMENT: good, f"{beams.PAIR} en-fr": bad}), {})
        self.assertEqual({"data/translate": ORDER, "en-fr": NOT}, {name: state for name, (state, _) in both.parts.items()})

    def test_curves_are_compared_where_both_are(self):
        curve = [{"speed-up": 2, "BLEU": 5}, {"speed-up": 3, "BLEU": 1}, {"speed-up": 9, "BLEU": 9}]
        other = [{"speed-up": 1, "BLEU": 4}, {"speed-up": 5, "BLEU": 2}]
        self.assertEqual((1, 2), beams.above(curve, other))

    def test_solvers_that_are_later_are_not_reproduced(self):
        columns = "examples | solver | steps | s to 1e-2 | s to 1e-4 | s to 1e-8"
        rows = ["A | Newton, line search | 5 | 1 | 2 | 3", "A | classic | 9 | 2 | 3 | 2.5"]
        found = judge(
            "bench rank --convergence", table("Seconds until", columns, *rows), solvers.figure_1, "RankSVM", "Figure 1"
        )
        self.assertEqual(NOT, found.state)
        self.assertIn("s to 1e-8", found.words())


class Page(unittest.TestCase):
    def test_every_item_has_a_row_or_no_figures(self):
        for name, paper in PUBLISHED.items():
            for item, about in paper.items():
                if item not in ("title", "note"):
                    self.assertEqual(about.get("kind") is None, (name, item) in page.ROWS, f"{name}, {item}")
        self.assertEqual([], [key for key in page.ROWS if key[1] not in PUBLISHED[key[0]]])

    def test_what_no_report_has_is_not_measured(self):
        for key, (way, _) in page.ROWS.items():
            if way and way.startswith("bench ") and way != "bench papers":
                verdict, command = page.judge(Reports({}), key, PUBLISHED[key[0]][key[1]])
                self.assertEqual(NONE, verdict.state, key)
                self.assertIn(command, verdict.words())

    def test_rows_of_gpu_check_exist(self):
        named = {key: PUBLISHED[key[0]][key[1]].get("gpu") for key in page.ROWS}
        for row in filter(None, named.values()):
            page.gpu_row(row)
        self.assertEqual([], [key for key, (way, _) in page.ROWS.items() if way == GPU and named[key] is None])
        with self.assertRaises(SystemExit):
            page.gpu_row("no | such | row")

    def test_rows_of_gpu_check_are_named_beside_figures_of_a_cpu(self):
        times = table("Which screen", "words x dimensions | states | full, ms", "9 x 9 | 1 | 1", "9 x 9 | 16 | 8")
        verdict, _ = page.judge(Reports({beams.HEAD: times}), ("WTA-LSH", "Table 3"), PUBLISHED["WTA-LSH"]["Table 3"])
        self.assertIn("row *a head, 40,000 x 1000 | GPU | full beam*", verdict.words())
        with self.assertRaises(SystemExit):
            page.judge(Reports({beams.HEAD: times}), ("WTA-LSH", "Table 3"), {**PUBLISHED["WTA-LSH"]["Table 3"], "gpu": "nothing"})

    def test_shares_are_of_what_a_cpu_can_measure(self):
        words = page.summary({REPRODUCED: 3, ORDER: 1, NOT: 1, GPU: 5})
        self.assertIn("4 of 5 rows that a CPU can measure are in order: 80 %", words)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The figures in results/; run by tools/check-peers"""

import csv
import math
import re
import tempfile
import unittest
import xml.etree.ElementTree as xml

from bench.results import page
from bench.shared import results


class Figures(unittest.TestCase):
    def subjects(self):
        paths = sorted(results.FOLDER.glob("*.csv"))
        self.assertTrue(paths)
        return [path.stem for path in paths]

    def test_every_file_has_the_columns_and_its_subject(self):
        for subject in self.subjects():
            with open(results.FOLDER / f"{subject}.csv", newline="", encoding="utf-8") as file:
                lines = list(csv.reader(file))
            self.assertEqual(tuple(lines[0]), results.COLUMNS, subject)
            for line in lines[1:]:
                self.assertEqual(len(line), len(results.COLUMNS), line)
                self.assertEqual(line[results.COLUMNS.index("subject")], subject, line)

    def test_numbers_and_dates_are_plain(self):
        for subject in self.subjects():
            for row in results.read(subject):
                if row["value"] or subject != "gpu":  # not yet measured
                    self.assertTrue(math.isfinite(float(row["value"])), row)
                self.assertTrue(row["spread"] == "" or float(row["spread"]) >= 0, row)
                self.assertRegex(row["target"], r"^((>=|<=) \S+)?$", row)
                results.target_of(row)
                self.assertRegex(row["date"], r"^(\d{4}-\d\d-\d\d)?$", row)
                self.assertRegex(row["commit"], r"^([0-9a-f]{7,12})?$", row)
                named = () if subject == "gpu" and not row["value"] else ("machine",)
                for column in (*named, "case", "system", "unit"):
                    self.assertRegex(row[column], r"^\S", row)
                self.assertIsNone(re.search(r"\*\*|±|\|", "".join(row.values())), row)

    def test_no_figure_is_there_twice(self):
        for subject in self.subjects():
            keys = [tuple(row[column] for column in results.KEY) for row in results.read(subject)]
            self.assertEqual(len(keys), len(set(keys)), [key for key in keys if keys.count(key) > 1][:3])

    def test_the_files_are_small(self):
        self.assertLess(sum(path.stat().st_size for path in results.FOLDER.iterdir()), 1_200_000)


class Targets(unittest.TestCase):
    def test_a_value_on_its_bound_meets_it(self):
        for target, value, missed in (
            (">= 2", "2", 0),
            (">= 2", "1.9", 1),
            ("<= 2", "2", 0),
            ("<= 2", "2.1", 1),
            ("", "0", 0),
            (">= 2", "", 0),
        ):
            self.assertEqual(results.missed({"target": target, "value": value}), bool(missed), (target, value))


class Page(unittest.TestCase):
    def test_the_page_and_its_pictures_are_those_of_the_figures(self):
        figures = page.all_figures()
        again = "; call python3 programs/bench/results/page.py with PYTHONPATH=programs"
        self.assertEqual(
            page.PAGE.read_text(encoding="utf-8"), page.text(figures), f"{page.PAGE} is older than results/{again}"
        )
        for name, picture in page.drawn(figures).items():
            self.assertEqual((page.PAGE.parent / name).read_text(encoding="utf-8"), picture, f"{name} is older{again}")
            self.assertEqual(xml.fromstring(picture).tag, "{http://www.w3.org/2000/svg}svg")
        self.assertEqual({path.name for path in page.PAGE.parent.glob("*.svg")}, set(page.drawn(figures)))

    def test_the_page_is_short(self):
        lines = page.PAGE.read_text(encoding="utf-8").splitlines()
        self.assertLessEqual(len(lines), 200)
        for section in page.SECTIONS:
            self.assertLessEqual(len(page.lines_of(section, page.all_figures())), 10, section.title)

    def test_every_subject_is_on_the_page(self):
        shown = {subject for section in page.SECTIONS for subject in section.commands}
        self.assertEqual(
            {path.stem for path in results.FOLDER.glob("*.csv")} - shown - {"gpu", "papers", "papers-runs"}, set()
        )  # of docs/gpu.md, docs/reproduction.md

    def test_a_case_is_of_the_machine_that_was_measured_last(self):
        about = [("old", "2026-01-01", "a", "x"), ("new", "2026-01-02", "a", "y"), ("old", "2026-01-01", "b", "x")]
        rows = [dict(zip(("machine", "date", "case", "system"), row)) for row in about]
        self.assertEqual([(row["machine"], row["case"]) for row in page.newest(rows)], [("new", "a"), ("old", "b")])

    def test_a_comparison_is_of_the_data_and_the_recall_that_lose_most(self):
        about = [("a", "0.95", 5, 10), ("a", "0.99", 2, 8), ("b", "0.99", 9, 1)]
        rows = [
            {"subject": "s", "case": case, "system": system, "setting": f"recall >= {recall}; x", "unit": "q", "value": value}
            for case, recall, *values in about
            for system, value in zip(("Thresher", "Faiss"), values)
        ]
        line = page.versus_line(rows, page.Versus("s", (), page.RECALLS, "q"))
        self.assertEqual((line.words, line.measured, line.beside, line.badness), ("q, a, recall >= 0.99", "2", "8 (Faiss)", 4))
        self.assertEqual(page.versus_line(rows, page.Versus("s", ("b",), page.RECALLS, "q")).lost, False)
        self.assertIsNone(page.versus_line(rows, page.Versus("s", ("c",), page.RECALLS, "q")))

    def test_losses_come_first_and_the_worst_before_the_others(self):
        for section in page.SECTIONS:
            lines = page.lines_of(section, page.all_figures())
            lost = [line.lost for line in lines]
            self.assertEqual(lost, sorted(lost, reverse=True), section.title)
            bad = [line.badness for line in lines if line.lost]
            self.assertEqual(bad, sorted(bad, reverse=True), section.title)

    def test_every_note_is_of_a_loss(self):
        figures, missed = page.all_figures(), set()
        for section in page.SECTIONS:
            rows = [row for subject in section.commands for row in figures[subject]]
            missed |= {(row["subject"], row["unit"]) for row in rows if row["target"] and results.missed(row)}
            lines = [(of.subject, page.versus_line(rows, of)) for of in section.versus]
            missed |= {(subject, line.words) for subject, line in lines if line and line.lost}
        for subject, words, reason in page.notes():
            self.assertTrue(any(subject == of and unit.startswith(words) for of, unit in missed), (subject, words))
            self.assertTrue(reason)


class Tables(unittest.TestCase):
    ABOUT = {"system": "Thresher", "setting": "", "spread": "", "target": ""}

    def figures(self, *about):
        return list(results.Table(*about).figures())

    def test_keys_are_data_system_and_setting(self):
        keys, units = ["data", "system", "what", "k"], ["ms", ("batches of 64", "queries/s")]
        found = self.figures("speed", keys, units, [["books", "Faiss", "exact", 10, "1.50", "12,345"]])
        about = {**self.ABOUT, "case": "books: speed", "system": "Faiss"}
        self.assertEqual(found[0], {**about, "setting": "exact; k 10", "unit": "ms", "value": "1.50"})
        self.assertEqual(
            found[1], {**about, "setting": "exact; k 10; batches of 64", "unit": "queries/s", "value": "12345"}
        )

    def test_cells_without_a_number_are_no_figures(self):
        found = self.figures("c", ["what"], ["a", "b", "c"], [["-", "", "-", "0.97 ± 0.01"]])
        self.assertEqual(found, [{**self.ABOUT, "case": "c", "unit": "c", "value": "0.97", "spread": "0.01"}])

    def test_rows_have_as_many_cells_as_columns(self):
        with self.assertRaisesRegex(ValueError, "2 columns"):
            results.Table("c", ["what"], ["a"], [["x", 1, 2]])

    def test_goals_are_marked_and_kept(self):
        table = results.Table("c", ["what"], ["ms"], [["x", results.Goal("2.0", most=1.5)]])
        self.assertIn("| x | 2.0 **missed** |", str(table))
        self.assertEqual([figure["target"] for figure in table.figures()], ["<= 1.5"])
        closing = results.Figures([["speed", results.Goal("2", least=2), "8 bits"], ["size", "3", ""]])
        self.assertIn("| speed | >= 2 | 2 | yes | 8 bits |", str(closing))
        self.assertEqual(
            [(f["unit"], f["setting"], f["target"]) for f in closing.figures()],
            [("speed", "8 bits", ">= 2"), ("size", "", "")],
        )

    def test_a_report_is_text_and_rows(self):
        report = results.Report(["words\n", results.Report([results.Table("c", [], ["ms"], [["2"]])])])
        self.assertTrue(str(report).startswith("words\n\n### c\n\n| ms |"))
        row = report.rows("scan", "avx2")[0]
        self.assertEqual((row["machine"], row["subject"], row["value"]), ("avx2", "scan", "2"))


class Merging(unittest.TestCase):
    def row(self, case, value):
        about = {"subject": "s", "system": "Thresher", "setting": "", "unit": "ms", "spread": "", "target": ""}
        return {**about, "machine": "avx2", "case": case, "value": value}

    def test_only_cases_that_were_measured_on_this_machine_are_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            results.write("s", [{**self.row("a", "9"), "machine": "another", "date": "", "commit": ""}], folder)
            self.assertEqual(results.merge([self.row("a", "1"), self.row("b", "2")], folder), ["s"])
            results.merge([self.row("a", "3")], folder)
            rows = results.read("s", folder)
            self.assertEqual([(row["case"], row["value"]) for row in rows], [("a", "9"), ("b", "2"), ("a", "3")])
            self.assertRegex(rows[1]["machine"], r"AVX2, \d+ CPUs$")
            self.assertRegex(rows[1]["date"], r"^\d{4}-")

    def test_rows_of_programs_in_c_have_no_header(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/rows.csv"
            with open(path, "w", encoding="utf-8") as file:
                file.write('"avx512",,,"s","a, b","Thresher","k 1; t = 2","ms",1.50,,<= 2\n')
            self.assertEqual(results.merge(results.read_measured(path), folder), ["s"])
            row = results.read("s", folder)[0]
            self.assertEqual(
                (row["case"], row["setting"], row["value"], row["target"]), ("a, b", "k 1; t = 2", "1.50", "<= 2")
            )
            self.assertIn("AVX-512", row["machine"])

    def test_rows_of_tables_in_c_are_figures(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/rows.csv"
            with open(path, "w", encoding="utf-8") as file:
                file.write("avx2\ts\tc\t2\tdata | system | ms | MB/s\td | Faiss | 1,250 | \t\navx2\ts\ttargets\t0\tspeed\t2\t>= 3\n")
            rows = [tuple(row[name] for name in ("case", "system", "unit", "value", "target")) for row in results.read_measured(path)]
        self.assertEqual(rows, [("d: c", "Faiss", "ms", "1250", ""), ("targets", "Thresher", "speed", "2", ">= 3")])

    def test_cores_have_their_names(self):
        for fields, name in (
            ((25, 1, 1), "Zen 3"),
            ((25, 17, 1), "Zen 4"),
            ((26, 2, 1), "Zen 5"),
            ((23, 49, 0), "Zen 2"),
        ):
            about = dict(zip(("cpu family", "model", "stepping"), map(str, fields)), vendor_id="AuthenticAMD")
            self.assertEqual(results.core_of(about), name)
        intel = {"vendor_id": "GenuineIntel", "cpu family": "6", "model": "85", "stepping": "7", "model name": "x"}
        self.assertEqual(results.core_of(intel), "Cascade Lake")
        self.assertEqual(results.core_of({**intel, "model": "1"}), "x")
        self.assertEqual(results.core_of({}), "unknown CPU")


if __name__ == "__main__":
    unittest.main()

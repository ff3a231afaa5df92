# SPDX-License-Identifier: Apache-2.0
"""The figures in results/; run by tools/check-peers"""

import csv
import math
import re
import unittest

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
                for column in ("case", "system", "unit"):
                    self.assertRegex(row[column], r"^\S", row)
                self.assertIsNone(re.search(r"\*\*|±|\|", "".join(row.values())), row)

    def test_no_figure_is_there_twice(self):
        for subject in self.subjects():
            keys = [tuple(row[column] for column in results.KEY) for row in results.read(subject)]
            self.assertEqual(len(keys), len(set(keys)), [key for key in keys if keys.count(key) > 1][:3])

    def test_the_files_are_small(self):
        self.assertLess(sum(path.stat().st_size for path in results.FOLDER.iterdir()), 1_500_000)


class Targets(unittest.TestCase):
    def test_a_value_on_its_bound_meets_it(self):
        for target, value, missed in ((">= 2", "2", 0), (">= 2", "1.9", 1), ("<= 2", "2", 0), ("<= 2", "2.1", 1), ("", "0", 0), (">= 2", "", 0)):
            self.assertEqual(results.missed({"target": target, "value": value}), bool(missed), (target, value))


if __name__ == "__main__":
    unittest.main()

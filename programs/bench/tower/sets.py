# SPDX-License-Identifier: Apache-2.0
"""Pairs of texts, read and split by query into a part to learn from and one to test.

A query is in one part with all its pairs. Queries that differ in case, punctuation or spaces alone are one query.
"""

import csv
import lzma
import os
import re
from dataclasses import dataclass, field

LEAST_LABEL = 2.0  # pairs of this label and better are good; without labels all are
TEST_SHARE, QUICK_SHARE = 0.1, 0.25
PART = re.compile(rb"(?:[0-9A-Za-z]|[\x80-\xff])+")
LETTER = re.compile(r"[0-9A-Za-z]")
BREAK = re.compile(r"[\t\r\n]")


@dataclass
class DataSet:
    name: str
    file: str
    columns: tuple  # of query, item and, where people judged the pairs, label; numbers, or names of the first row
    n_epochs: int  # suits its training, by the validation loss of rbe*
    word_dropout: float
    pairs: list = field(default_factory=list)  # (query, item, label, whether it is tested with)

    @property
    def labelled(self):
        return len(self.columns) == 3

    def part(self, test, least_label=-1.0):
        return [pair for pair in self.pairs if pair[3] == test and pair[2] >= least_label]


def all_sets():
    return [
        DataSet("debian", "debian_descriptions.tsv.xz", ("short", "long"), 40, 0.25),
        DataSet("tldr", "tldr_pages.en.tsv.xz", (1, 2), 40, 0.25),
        DataSet("homedepot", "homedepot.train.csv.xz", ("search_term", "product_title", "relevance"), 20, 0.4),
    ]


def read_rows(path, columns):
    """The columns of every row, tabs and line ends in them turned into spaces."""
    with lzma.open(path, "rt", encoding="utf-8", errors="surrogateescape", newline="") as file:
        rows = csv.reader(file) if ".csv" in path else (line.rstrip("\n").split("\t") for line in file)
        if isinstance(columns[0], str):
            titles = next(rows)
            columns = [titles.index(column) for column in columns]
        for row in rows:
            yield [BREAK.sub(" ", row[column]) for column in columns]


def place(query):
    """Of [0, 1): the same for queries that are one query. Below TEST_SHARE it is tested with."""
    mask, hashed = 2**64 - 1, 0xCBF29CE484222325
    for byte in b" ".join(PART.findall(query.encode(errors="surrogateescape"))).lower():
        hashed = (hashed ^ byte) * 0x100000001B3 & mask  # FNV-1a
    # The high bits of FNV's product hardly depend on the last letters: mix once more (splitmix64's end).
    hashed = (hashed ^ hashed >> 30) * 0xBF58476D1CE4E5B9 & mask
    hashed = (hashed ^ hashed >> 27) * 0x94D049BB133111EB & mask
    return ((hashed ^ hashed >> 31) >> 11) * 2.0**-53


def read(data, directory, share=1.0):
    """Fill pairs; False where the file is not there. share: of the queries of each part."""
    path = os.path.join(directory, "pairs", data.file)
    if not os.path.exists(path):
        return False
    for query, item, *label in read_rows(path, data.columns):
        if not (LETTER.search(query) and LETTER.search(item)):
            continue
        at = place(query)
        test = at < TEST_SHARE
        # The first of each part, so that shares of a data set have the parts' proportion.
        if (at / TEST_SHARE if test else (at - TEST_SHARE) / (1 - TEST_SHARE)) < share:
            data.pairs.append((query, item, float(label[0]) if label else 3.0, test))
    return True


def write_pairs(path, pairs):
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(f"{query}\t{item}\t{label:g}\n" for query, item, label, _ in pairs)


def part_path(scratch, name, part):
    return os.path.join(scratch, f"{name}.{part}.tsv")


def write_parts(data, scratch):
    """The files that models learn from and are tested with."""
    parts = {"train": data.part(False), "test": data.part(True), "good": data.part(True, LEAST_LABEL), "pairs": data.pairs}
    for part, pairs in parts.items():
        write_pairs(part_path(scratch, data.name, part), pairs)

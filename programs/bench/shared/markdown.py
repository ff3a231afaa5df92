# SPDX-License-Identifier: Apache-2.0
"""Markdown tables as the benches print them, read back. It needs nothing but Python itself."""

import re


class Missing(Exception):
    """A report, a table or a row is not there; the message names it."""


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")] if line.startswith("|") else None


def tables_of(text):
    """{heading: [{column: cell}]} of a report; of tables under one heading, the rows of all."""
    out, heading, columns = {}, "", None
    for line in text.splitlines():
        row = cells(line)
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if row is None:
            columns = None
        elif columns is None:
            columns = row
        elif not set("".join(row)) <= set("-| "):
            out.setdefault(heading, []).append(dict(zip(columns, row)))
    return out


def sections_of(document):
    """{mark: text} of a document's parts between <!-- mark --> and <!-- end -->."""
    return dict(re.findall(r"<!-- (?!end)(.*?) -->\n(.*?)<!-- end -->", document, re.DOTALL))


def number(cell):
    """(value, spread) of a cell as 0.9969 ± 0.0001, 12,345, 14.6 M or +0.0023; the spread is 0 where it has none."""
    found = re.findall(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", cell.replace(" ", ""))
    if not found:
        raise Missing(f'no number in "{cell}"')
    values = [float(word.replace(",", "")) for word in found]
    return values[0], values[1] if "±" in cell else 0.0

# SPDX-License-Identifier: Apache-2.0
"""
DIR/shards.json: the shards of a collection, in the order of their rows, and what they have in common.

Its rename is the commit of a build: a directory without it is no collection, and directories of shards that it does not
name are left from a build that was stopped.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _errors
from .._core.checks import path_of
from .._index import Index
from ._ids import has_given_ids

NAME = "shards.json"
FORMAT, CELLS_FORMAT = 1, 2
"""Formats that are written: of collections without cells, and of those built with cells=, which older programs refuse."""


class Shard(NamedTuple):
    """
    One shard. Its rows are first_row to first_row + n_items - 1 of the collection. Where ids are row numbers, an item's
    id is first_row plus its row in the shard; else the shard holds the ids. checksum is that of its MANIFEST, as the
    last line there has it.
    """

    directory: str
    first_row: int
    n_items: int
    least_id: int
    greatest_id: int
    checksum: str


class Manifest(NamedTuple):
    """
    A collection. quantiser is Index.quantiser_fingerprint of every shard; model is that of their model, or 0. cells is
    what build() was given, scaled to the items that there are now; n_cells counts the cells of all shards. has_removed:
    items were removed, so rows are not the places of the build.
    """

    metric: str
    n_dims: int
    bits: int
    lead_bits: int
    keep: str
    quantiser: int
    model: int
    has_ids: bool
    has_names: bool
    n_items: int
    shards: tuple[Shard, ...]
    cells: int | str | None = None
    n_cells: int = 0
    has_removed: bool = False

    @property
    def rows_in_order(self) -> bool:
        """Whether rows are the places of items as the collection was built, and added to."""
        return self.n_cells == 0 and not self.has_removed

    def first_id(self, shard: Shard) -> int:
        """What is added to the ids that the index of a shard returns, where no ids were given."""
        return 0 if self.has_ids else shard.first_row

    def cells_of(self, n_items: int) -> int | str | None:
        """The cells of a new shard with this many items, for build_shard()."""
        return cells_of_share(self.cells, n_items, self.n_items)


def cells_of_share(cells: int | str | None, n_items: int, n_all: int) -> int | str | None:
    """The cells of n_items items, if n_all items have `cells`; 1 means none. None and "auto" are returned unchanged."""
    return cells if cells is None or isinstance(cells, str) else min(max(round(cells * n_items / n_all), 1), n_items)


def wrong(path: str, why: str) -> _errors.FormatError:
    return _errors.FormatError(f"{os.path.join(path, NAME)}: {why}", "ECORRUPT")


def checksum_of(directory: str) -> str:
    """The checksum in the last line of an index's MANIFEST; "" if it has no such line."""
    with open(os.path.join(directory, "MANIFEST"), "rb") as file:
        last = file.read().splitlines()[-1:]
    return last[0][9:].decode("ascii", "replace") if last and last[0].startswith(b"checksum ") else ""


def describe(index: Index) -> dict[str, Any]:
    """What all shards of a collection have in common, as this index has it."""
    info, model = index.info, index.model
    return {
        "metric": info.metric,
        "n_dims": info.n_dims,
        "bits": info.bits,
        "lead_bits": info.lead_bits,
        "keep": info.keep,
        "quantiser": index.quantiser_fingerprint,
        "model": 0 if model is None else int(model.fingerprint),
        "has_ids": has_given_ids(index),
        "has_names": info.has_names,
    }


def to_json(manifest: Manifest) -> str:
    """The text of shards.json. 64-bit fingerprints are in hexadecimal, since many readers of JSON round integers."""
    document = {"thresher_shards": FORMAT if manifest.cells is None else CELLS_FORMAT, **manifest._asdict()}
    document["quantiser"] = f"{manifest.quantiser:016x}"
    document["model"] = f"{manifest.model:016x}"
    listed = document.pop("shards")
    if not manifest.has_removed:
        del document["has_removed"]
    if manifest.cells is None:
        del document["cells"], document["n_cells"]
    head = json.dumps(document, indent=2)[:-2]
    rows = ",\n".join("    " + json.dumps(shard._asdict()) for shard in listed)
    return f'{head},\n  "shards": [\n{rows}\n  ]\n}}\n'


_Check = tuple[Callable[[Any], bool], str]


def _is_text(value: Any, most: int) -> bool:
    """Whether a value is a string of ASCII that JSON holds without escapes."""
    return isinstance(value, str) and 0 < len(value) <= most and not re.search(r'[^ -~]|["\\]', value)


def _whole(low: int, high: int) -> _Check:
    return (lambda value: type(value) is int and low <= value <= high), f"a whole number from {low} to {high}"


_ROWS, _IDS = 2**63 - 1, 2**64 - 2
_HEX: _Check = (lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{16}", value) is not None), "16 hexadecimal digits"
_FLAG: _Check = (lambda value: type(value) is bool), "true or false"

# The keys of both objects, in the order of Shard and Manifest. The command line's parser accepts the same.
_SHARD: dict[str, _Check] = {
    "directory": (lambda value: _is_text(value, 63) and value[0] != "." and "/" not in value, "a name without a path"),
    "first_row": _whole(0, _ROWS),
    "n_items": _whole(1, _ROWS),
    "least_id": _whole(0, _IDS),
    "greatest_id": _whole(0, _IDS),
    "checksum": _HEX,
}
_COLLECTION: dict[str, _Check] = {
    "metric": (lambda value: value in ("cosine", "ip", "l2"), "cosine, ip or l2"),
    "n_dims": _whole(1, 2**32 - 1),
    "bits": _whole(1, 8),
    "lead_bits": _whole(1, 8),
    "keep": (lambda value: value in ("none", "float32", "float16", "int8"), "none, float32, float16 or int8"),
    "quantiser": _HEX,
    "model": _HEX,
    "has_ids": _FLAG,
    "has_names": _FLAG,
    "n_items": _whole(1, _ROWS),
    "shards": (lambda value: isinstance(value, list) and value != [], "a list of shards"),
}
_MOST_CELLS = 2**32 - 1
_CELLS: dict[str, _Check] = {
    "cells": (
        lambda value: value == "auto" or (type(value) is int and 1 <= value <= _MOST_CELLS),
        f'"auto" or a whole number from 1 to {_MOST_CELLS}',
    ),
    "n_cells": _whole(0, _MOST_CELLS),
}


_REMOVED: dict[str, _Check] = {"has_removed": _FLAG}  # optional


def _fields(path: str, where: str, found: Any, keys: dict[str, _Check], format: int) -> dict[str, Any]:
    """An object that has all of these keys and no others."""
    if not isinstance(found, dict):
        raise wrong(path, f"{where}expected an object")
    for key in sorted(found.keys() - keys.keys()):
        raise wrong(path, f"{where}{key!r} is no key of format {format}")
    for key, (is_right, expected) in keys.items():
        if key not in found:
            raise wrong(path, f"{where}the key {key} is missing")
        if not is_right(found[key]):
            raise wrong(path, f"{where}{key} is {found[key]!r}: expected {expected}")
    return {key: found[key] for key in keys}


def _whole_number(digits: str) -> int:
    """A number of the list; json also reads -0, and refuses digits beyond a limit of Python's."""
    if digits.startswith("-") or len(digits) > 20:
        raise _errors.ArgumentError(f"{digits[:30]} is no whole number below 2^64")
    return int(digits)


def _no_number(word: str) -> int:
    raise _errors.ArgumentError(f"{word[:30]} is no whole number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without repeated keys, which readers of JSON would treat differently."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _errors.ArgumentError("an object has a key twice")
    return found


def check_cells(path: str, manifest: Manifest, n_cells: int) -> None:
    """Raise an error unless all shards together have the cells that the list counts; format 1 counts none."""
    if manifest.cells is not None and n_cells != manifest.n_cells:
        raise wrong(path, f"has n_cells {manifest.n_cells}, and the shards have {n_cells}")


def check_ranges(path: str, shards: tuple[Shard, ...], n_items: int) -> None:
    """Raise an error unless every shard is there once, and their rows follow each other without gap or overlap."""
    seen: dict[str, int] = {}
    at = 0
    for number, shard in enumerate(shards):
        if shard.directory in seen:
            raise wrong(path, f"shard {number} is {shard.directory}, which is shard {seen[shard.directory]} already")
        seen[shard.directory] = number
        if shard.first_row != at:
            what = "overlap those of the shard before" if shard.first_row < at else "leave a gap: a shard is missing"
            where = f"shard {number} ({shard.directory}) begins at row {shard.first_row}, not {at}"
            raise wrong(path, f"{where}: its rows {what}")
        at += shard.n_items
    if at != n_items:
        raise wrong(path, f"the shards hold {at} items, and n_items is {n_items}: a shard is missing or doubled")


def parse(path: str, text: str) -> Manifest:
    """The manifest in the text of path/shards.json."""
    try:
        odd = re.search(r"[^ -~\t\r\n]|\\", text)
        if odd is not None:
            raise _errors.ArgumentError(f"{odd[0]!r} at character {odd.start()}: its texts are ASCII without escapes")
        document = json.loads(
            text,
            object_pairs_hook=_once,
            parse_int=_whole_number,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
    except (ValueError, RecursionError) as failure:
        raise wrong(path, f"is not JSON: {failure}") from None
    if not isinstance(document, dict) or type(document.get("thresher_shards")) is not int:
        raise wrong(path, "is not that of a collection of shards: it has no number thresher_shards")
    number = document.pop("thresher_shards")
    if number not in (FORMAT, CELLS_FORMAT):
        raise _errors.FormatError(
            f"{os.path.join(path, NAME)}: has format {number}, and this version reads {FORMAT} and {CELLS_FORMAT}: use a "
            "newer version",
            "EVERSION",
        )
    keys = _COLLECTION if number == FORMAT else {**_COLLECTION, **_CELLS}
    values = _fields(path, "", document, {**keys, **_REMOVED} if "has_removed" in document else keys, number)
    entries = enumerate(values.pop("shards"))
    shards = tuple(Shard(**_fields(path, f"shard {i}: ", entry, _SHARD, number)) for i, entry in entries)
    for i, shard in enumerate(shards):
        if shard.least_id > shard.greatest_id:
            raise wrong(path, f"shard {i}: greatest_id is {shard.greatest_id}: expected at least least_id")
    made = Manifest(**values, shards=shards)
    made = made._replace(quantiser=int(values["quantiser"], 16), model=int(values["model"], 16))
    check_ranges(path, made.shards, made.n_items)
    return made


def read(path: str | os.PathLike[str]) -> Manifest:
    """
    Read the manifest of the collection in directory path.

    Raises FileMissingError; FormatError (no collection, damaged, or too new); FileError (it cannot be read).
    """
    directory = path_of(path)
    place = os.path.join(directory, NAME)
    try:
        if os.path.exists(place) and not os.path.isfile(place):
            raise wrong(directory, "is no file")
        with open(place, encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError:
        raise wrong(directory, "is not UTF-8") from None
    except (FileNotFoundError, NotADirectoryError):
        if not os.path.isdir(directory):
            raise _errors.FileMissingError(f"{directory}: there is no such directory", "ENOTFOUND") from None
        raise _errors.FormatError(
            f"{directory}: is no collection of shards, there is no {NAME} in it (an interrupted build leaves none)",
            "EFORMAT",
        ) from None
    except OSError as raised:
        raise raised if isinstance(raised, _errors.Error) else _errors.of_os(raised, place, "cannot be read: ") from None
    return parse(directory, text)

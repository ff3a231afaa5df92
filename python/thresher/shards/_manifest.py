# SPDX-License-Identifier: Apache-2.0
"""
DIR/shards.json: the shards of a collection, in the order of their rows, and what they have in common.

Its rename is the commit of a build: a directory without it is no collection, and directories of shards that it does not
name are left from a build that was stopped.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from .. import _errors
from .._index import Index

NAME = "shards.json"
FORMAT = 1


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
    """A collection. quantiser is Index.quantiser_fingerprint of every shard; model is that of their model, or 0."""

    metric: str
    n_dims: int
    bits: int
    lead_bits: int
    keep: str
    quantiser: int
    model: int
    index_format: int
    has_ids: bool
    has_names: bool
    n_items: int
    shards: tuple[Shard, ...]

    def first_id(self, shard: Shard) -> int:
        """What is added to the ids that the index of a shard returns. An index whose ids are its rows stores none."""
        return 0 if self.has_ids else shard.first_row


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
        "index_format": info.format_version,
        "has_ids": info.has_ids,
        "has_names": info.has_names,
    }


def to_json(manifest: Manifest) -> str:
    """The text of shards.json. 64-bit fingerprints are in hexadecimal, since many readers of JSON round integers."""
    document = {"thresher_shards": FORMAT, **manifest._asdict()}
    document["quantiser"] = f"{manifest.quantiser:016x}"
    document["model"] = f"{manifest.model:016x}"
    listed = document.pop("shards")
    head = json.dumps(document, indent=2)[:-2]
    rows = ",\n".join("    " + json.dumps(shard._asdict()) for shard in listed)
    return f'{head},\n  "shards": [\n{rows}\n  ]\n}}\n'


def _number(path: str, document: Any, key: str, low: int, high: int, where: str = "") -> int:
    value = document.get(key)
    if type(value) is not int or not low <= value <= high:
        raise wrong(path, f"{where}{key} is {value!r}: expected a whole number from {low} to {high}")
    return value


def _text(path: str, document: Any, key: str, where: str = "") -> str:
    value = document.get(key)
    if not isinstance(value, str) or not value:
        raise wrong(path, f"{where}{key} is {value!r}: expected a text")
    return value


def _hex(path: str, document: Any, key: str) -> int:
    value = _text(path, document, key)
    if len(value) != 16 or value.strip("0123456789abcdef"):
        raise wrong(path, f"{key} is {value!r}: expected 16 hexadecimal digits")
    return int(value, 16)


def _flag(path: str, document: Any, key: str) -> bool:
    value = document.get(key)
    if type(value) is not bool:
        raise wrong(path, f"{key} is {value!r}: expected true or false")
    return value


def _shard(path: str, number: int, entry: Any) -> Shard:
    where = f"shard {number}: "
    if not isinstance(entry, dict):
        raise wrong(path, f"{where}expected an object")
    directory = _text(path, entry, "directory", where)
    if os.path.basename(directory) != directory or directory in (".", "..") or not directory.isprintable():
        raise wrong(path, f"{where}directory is {directory!r}: expected a name without a path")
    return Shard(
        directory,
        _number(path, entry, "first_row", 0, 2**63, where),
        _number(path, entry, "n_items", 1, 2**63, where),
        _number(path, entry, "least_id", 0, 2**64 - 2, where),
        _number(path, entry, "greatest_id", 0, 2**64 - 2, where),
        _text(path, entry, "checksum", where),
    )


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
        document = json.loads(text)
    except (ValueError, RecursionError) as failure:
        raise wrong(path, f"is not JSON: {failure}") from None
    if not isinstance(document, dict) or type(document.get("thresher_shards")) is not int:
        raise wrong(path, "is not that of a collection of shards: it has no number thresher_shards")
    if document["thresher_shards"] != FORMAT:
        raise _errors.FormatError(
            f"{os.path.join(path, NAME)}: has format {document['thresher_shards']}, and this version reads {FORMAT}: "
            "use a newer version",
            "EVERSION",
        )
    entries = document.get("shards")
    if not isinstance(entries, list) or not entries:
        raise wrong(path, "lists no shards")
    made = Manifest(
        _text(path, document, "metric"),
        _number(path, document, "n_dims", 1, 2**32),
        _number(path, document, "bits", 1, 8),
        _number(path, document, "lead_bits", 1, 8),
        _text(path, document, "keep"),
        _hex(path, document, "quantiser"),
        _hex(path, document, "model"),
        _number(path, document, "index_format", 1, 2**32),
        _flag(path, document, "has_ids"),
        _flag(path, document, "has_names"),
        _number(path, document, "n_items", 1, 2**63),
        tuple(_shard(path, number, entry) for number, entry in enumerate(entries)),
    )
    check_ranges(path, made.shards, made.n_items)
    return made


def read(path: str | os.PathLike[str]) -> Manifest:
    """
    Read the manifest of the collection in directory path.

    Raises FileMissingError; FormatError (no collection, damaged, or too new).
    """
    directory = os.fspath(path)
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
    return parse(directory, text)

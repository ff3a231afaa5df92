# SPDX-License-Identifier: Apache-2.0
"""Names and words in memory, written to temporary files for the library; messages name the argument instead."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from ctypes import c_char_p
from typing import Any

from .. import _errors
from . import arrays
from .checks import encoded, shown
from .notes import note

Rows = list[Any]
"""Each item's features: a list of words or numbers, or an array of numbers."""

_WANTED = "give each item's features as a list, [['color=green'], ...] or [[3, 17], ...]"


def _row(row: Any, number: int) -> Any:
    what = f"features of item {number}"
    if isinstance(row, (str, bytes)):
        raise _errors.ArgumentTypeError(f"{what}: {shown(row)} was given: give a list of words, ['color=green']")
    if isinstance(row, Mapping):
        raise _errors.ArgumentTypeError(f"{what}: {shown(row)} was given: items' features have no weights: {_WANTED}")
    if not isinstance(row, Iterable):
        raise _errors.ArgumentTypeError(f"{what}: {shown(row)} was given: {_WANTED}")
    if not arrays.is_array(row):
        return list(row)
    array = arrays.as_numpy(row, what)
    if array.ndim != 1:
        raise _errors.ArgumentError(f"{what}: an array of shape {list(array.shape)} was given: expected [n]")
    return array.tolist() if arrays.may_be_texts(array) else array


def _is_pair(features: Any) -> bool:
    """Whether features is (offsets, features), rather than the words of two items."""
    if not isinstance(features, tuple) or len(features) != 2 or not arrays.is_array(features[0]):
        return False
    return not arrays.may_be_texts(arrays.as_numpy(features[0], "offsets"))


def rows_of(features: Any) -> Any:
    """
    Convert an iterable of iterables to Rows, the features of each item. A scipy matrix or a pair of arrays gives the
    pair (offsets, features).
    """
    if hasattr(features, "tocsr"):
        features = features.tocsr()
    if hasattr(features, "indptr") and hasattr(features, "indices"):
        return features.indptr, features.indices
    if _is_pair(features):
        return features[0], features[1]
    if hasattr(features, "to_pylist"):  # an array of pyarrow
        features = features.to_pylist()
    if isinstance(features, Mapping):
        raise _errors.ArgumentTypeError(
            f"features: {shown(features)} was given: items' features have no weights: {_WANTED}"
        )
    if not isinstance(features, Iterable):
        raise _errors.ArgumentTypeError(f"features: {shown(features)} was given: {_WANTED}")
    return [_row(row, number) for number, row in enumerate(features)]


def are_words(rows: Any) -> bool:
    """Whether features are words; the first item that has any decides."""
    first: Any = next((row for row in rows if len(row)), ()) if isinstance(rows, list) else ()
    return not arrays.is_array(first) and any(isinstance(word, str) for word in first)


def _has_weight(word: str) -> bool:
    before, _, weight = word.rpartition(":")
    try:
        return before != "" and "_" not in weight and float(weight) is not None
    except ValueError:
        return False


def note_weighed(rows: Rows) -> None:
    """Warn of the first word that ends like a weight, in a colon and a number."""
    for number, row in enumerate(rows):
        for word in row:
            if isinstance(word, str) and ":" in word and _has_weight(word):
                what = f"features of item {number}: items' features have no weights"
                note(f"{what}, so {word!r} is one word, number included")
                return


def as_names(ids: Any) -> list[str] | None:
    """ids as a list of names; None if they are not names. numpy would drop NULs at their ends."""
    if arrays.is_array(ids):
        array = arrays.as_numpy(ids, "ids")
        given = array.tolist() if array.ndim == 1 and arrays.may_be_texts(array) else []
    else:
        given = list(ids) if isinstance(ids, Iterable) and not isinstance(ids, (str, bytes)) else []
    return given if given and all(isinstance(name, str) for name in given) else None


def name_pointers(names: Any) -> Any:
    """Names, a str or a sequence of str, as an array of C strings."""
    words = as_names([names] if isinstance(names, str) else names)
    if words is None and len(names) > 0:
        raise _errors.ArgumentTypeError("names: expected a sequence of str")
    words = words or []
    return (c_char_p * len(words))(*(encoded(name, f"name {i}") for i, name in enumerate(words)))


def _piece(text: Any, what: str, unwanted: str) -> str:
    encoded(text, what)
    if not text or any(character in text for character in unwanted):
        raise _errors.ArgumentError(
            f"{what} is {text!r}: it is empty, or holds white space that a line of a table cannot hold"
        )
    return str(text)


@contextmanager
def _written(name: str, lines: list[str], what: str) -> Iterator[bytes]:
    """Write lines to a file while the with statement runs, and give its path; errors name what in place of the path."""
    with tempfile.TemporaryDirectory(prefix="thresher-") as directory:
        path = os.path.join(directory, name)
        # With a byte order mark, which readers skip; without it they would skip one that the first text begins with.
        with open(path, "w", encoding="utf-8-sig", newline="\n") as file:
            file.writelines(line + "\n" for line in lines)
        try:
            yield os.fsencode(path)
        except _errors.Error as failure:
            failure.args = (str(failure).replace(path, what), *failure.args[1:])
            raise


def names_file(names: list[str]) -> Any:
    """Names as a text file, for a with statement."""
    return _written("names.txt", [_piece(name, f"ids: name {row}", "\n\r") for row, name in enumerate(names)], "ids")


def words_table(rows: Rows, ids: Any) -> Any:
    """Items' words as a table file, for a with statement. ids are integers or names; None: row numbers."""
    names = None if ids is None else as_names(ids)
    if names is None:
        names = [str(number) for number in (range(len(rows)) if ids is None else arrays.ids(ids, "ids").tolist())]
    if len(names) != len(rows):
        raise _errors.ArgumentError(f"ids: {len(names)} for {len(rows)} items")
    lines = []
    for row, (name, words) in enumerate(zip(names, rows)):
        pieces = [_piece(word, f"features: word {i} of item {row}", " \t\n\r") for i, word in enumerate(words)]
        lines.append(_piece(name, f"ids: name {row}", "\t\n\r") + "\t" + " ".join(pieces))
    return _written("words.tsv", lines, "features")

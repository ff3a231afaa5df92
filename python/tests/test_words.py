# SPDX-License-Identifier: Apache-2.0
"""Text to words and back."""

from __future__ import annotations


import thresher
from support import Case

JOIN = "\uffed"


class Words(Case):
    def test_joiners_stand_where_no_white_space_is(self) -> None:
        for text, words in {
            "Don't (ab).": ["don", "+'+", "t", "(+", "ab", "+)", "+."],
            "": [],
            "a\u00a0b\n": ["a", "b"],
            "\u00c9T\u00c9, \u65e5\u672c": ["\u00e9t\u00e9", "+,", "\u65e5\u672c"],
            "a\0b": ["a", "+\0+", "b"],
        }.items():
            self.assertEqual(thresher.split_words(text), [word.replace("+", JOIN) for word in words])

    def test_what_was_split_is_joined(self) -> None:
        text = "\u201cwell\u201d, he said: 10,000 \u20ac (or so) ... no?!"
        self.assertEqual(thresher.join_words(thresher.split_words(text)), text)
        self.assertEqual(thresher.join_words([]), "")

    def test_bytes_that_are_no_utf8_are_replaced(self) -> None:
        self.assertEqual(thresher.split_words(b"a \xff"), ["a", "\ufffd"])
        self.assertEqual(thresher.split_words("\ud800"), ["\ufffd", JOIN + "\ufffd", JOIN + "\ufffd"])

    def test_other_things_are_no_text(self) -> None:
        with self.assertRaises(TypeError):
            thresher.split_words(7)  # type: ignore[arg-type]

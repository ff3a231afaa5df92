# SPDX-License-Identifier: Apache-2.0
"""BLEU: scores that sacreBLEU printed, small letters of all of Unicode, and refusals."""

from __future__ import annotations

import unicodedata
import unittest

import thresher
from support import Case

HYPS = ["The cat sat, on the mat.", "", 'Hello "world" 1,000.5 end-to-end']
REFS = ["The cat sat on the mat.", "x y", 'Hello "world" 1,000.5 end to end']


class TestBleu(Case):
    def test_figures_are_sacrebleus(self) -> None:
        found = thresher.bleu(HYPS, REFS)
        self.assertEqual(f"{found.bleu:.2f}", "49.77")  # sacreBLEU 2.6.0, as all figures here
        self.assertEqual([f"{p:.1f}" for p in found.precisions], ["85.7", "75.0", "60.0", "37.5"])
        self.assertEqual(f"{found.brevity_penalty:.3f} {found.ratio:.3f}", "0.807 0.824")
        self.assertEqual((found.hypothesis_length, found.reference_length, found.n_sentences), (14, 17, 3))
        self.assertEqual((found.counts, found.totals), ((12, 9, 6, 3), (14, 12, 10, 8)))
        self.assertEqual(
            found.signature, f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:thresher-{thresher.__version__}"
        )

    def test_other_separators_of_lines_are_blanks(self) -> None:
        """A lone CR, NEL, LINE SEPARATOR and others, in a sentence and in the lines of a file, as sacreBLEU has them."""
        for mark in "\r\x85\u2028\u2029\x0b\x0c\x1c\xa0":
            hyps = [f"a b{mark}c d e f", "the cat sat on the mat"]
            refs = ["a b c d e f", "the cat sat on a mat"]
            with self.subTest(repr(mark)):
                self.assertEqual(f"{thresher.bleu(hyps, refs).bleu:.6f}", "77.815813")

    def test_several_references_are_a_list(self) -> None:
        self.assertEqual(thresher.bleu(HYPS, [REFS, REFS]).bleu, thresher.bleu(HYPS, REFS).bleu)
        best = thresher.bleu(HYPS, [REFS, HYPS])
        self.assertEqual(best.counts, best.totals)
        self.assertIn("nrefs:2|", best.signature)

    def test_sentences_are_judged_by_themselves(self) -> None:
        found = thresher.sentence_bleu(HYPS, REFS)
        self.assertEqual(found.shape, (3,))
        for i in range(3):
            alone = thresher.bleu(HYPS[i : i + 1], REFS[i : i + 1], effective_order=True)
            self.assertEqual(found[i], alone.bleu)

    def test_options_say_how(self) -> None:
        found = thresher.bleu(["A b"], ["a B"], lower_case=True, effective_order=True, smooth="floor", smooth_value=0.2)
        self.assertAlmostEqual(found.bleu, 100)
        self.assertIn("case:lc|eff:yes|tok:13a|smooth:floor[0.20]|", found.signature)
        self.assertEqual(thresher.bleu(["a,b"], ["a , b"], tokenise="none").counts[0], 0)
        self.assertEqual(thresher.bleu(["a,b"], ["a , b"]).counts[0], 3)

    @unittest.skipUnless(unicodedata.unidata_version == "14.0.0", "this Python has letters of another Unicode")
    def test_small_letters_are_pythons(self) -> None:
        numbers = [*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200)]  # none beyond has a case
        every = [chr(c) for c in numbers]
        for before, behind in (("", ""), ("A", ""), ("", "\u03a3"), ("A", "\u03a3"), ("A\u03a3", "B")):
            words = [before + c + behind for c in every]
            texts = [" ".join(words[i : i + 500]) for i in range(0, len(words), 500)]
            found = thresher.bleu(texts, [text.lower() for text in texts], tokenise="none", lower_case=True)
            self.assertEqual(found.counts, found.totals)
            self.assertEqual(found.hypothesis_length, found.reference_length)
            as_they_are = thresher.bleu(texts, [text.lower() for text in texts], tokenise="none")
            self.assertLess(as_they_are.counts[0], found.counts[0] - 1000)

    def test_what_is_wrong_is_told(self) -> None:
        with self.assertRaisesRegex(thresher.ArgumentError, "reference 1 has 1 sentences for 2 hypotheses"):
            thresher.bleu(["a", "b"], ["a"])
        with self.assertRaisesRegex(thresher.ArgumentError, "BLEU of no sentences"):
            thresher.bleu([], [[]])
        with self.assertRaisesRegex(TypeError, "hypotheses: str was given"):
            thresher.bleu("a", ["a"])
        with self.assertRaisesRegex(TypeError, "references: str was given"):
            thresher.bleu(["a"], "a")
        with self.assertRaisesRegex(TypeError, r"references\[1\]: number 0 is int"):
            thresher.bleu(["a"], [["a"], [1]])
        with self.assertRaisesRegex(ValueError, "smooth is 'method4'"):
            thresher.bleu(["a"], ["a"], smooth="method4")
        with self.assertRaisesRegex(ValueError, "smooth_value is 0"):
            thresher.bleu(["a"], ["a"], smooth="floor", smooth_value=0)
        with self.assertRaises(UnicodeEncodeError):
            thresher.bleu(["\ud800"], ["a"])

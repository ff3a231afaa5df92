# SPDX-License-Identifier: Apache-2.0
"""A test set translated with the full head and with screens before it, and what that costs in BLEU.

usage: ./run bench head-translation --model MODEL --source TEXTS --target TEXTS [--sentences N]
       [--alignment FILE [--pair]] [--docs]

Figures 6 and 7, tables 7 and 8 of the WTA-LSH paper. With a table of word translations (thresher head align) candidates
by word alignment are among the screens, for Figure 6's WA, and other beams than 12 are left out. --pair has fewer
settings of each screen and smaller beams, for a long test set. One thread, one head's file for all ways.

Sentences come one by one. Log-probabilities are over the candidates, those of planes over all words by a sample; BLEU
is of small letters. Ways take turns every 20 sentences. Hashes are 256 bands of 5, of 4 places each. A sentence's beams
share their candidates. Speed-ups are over the full head with the same beam.
"""

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace

from bench.shared.common import (  # first: one thread
    Timer, figure, heading, need_thresher, page, parser_of, publish, read_safetensors, thresher,
)  # fmt: skip

from bench.head import head
from bench.shared.results import Figures, Table

BEAM, BEAMS = 12, (1, 3, 6, 24, 36, 48)
BANDS, HASHES, PLACES = 256, 5, 4
MOST_STATES = 2400  # of the full head's search, that recall is measured on
GRID = (  # screens and their settings
    ("frequent", [{"frequent": n} for n in (500, 1000, 2000, 4000, 8000, 16000)]),
    ("wta", [{"frequent": n, "threshold": t} for n in (500, 2000) for t in (6, 4, 3, 2)]),
    ("align", [{"frequent": n, "aligned": m} for n in (200, 1000) for m in (5, 10, 20, 50)]),
    ("planes", [{"shortlist": n} for n in (16, 32, 64, 128, 256, 512)]),
)
PAIR_GRID = (  # fewer, and smaller beams with and without hashes, to be measured in the same turns
    ("frequent", [{"frequent": n} for n in (1000, 2000, 4000, 8000)]),
    ("wta", [{"frequent": n, "threshold": t} for n in (500, 2000) for t in (4, 3, 2)]),
    ("align", [{"frequent": n, "aligned": m} for n, m in ((200, 10), (1000, 20))]),
    ("planes", [{"shortlist": n} for n in (16, 64, 256)]),
    ("full", [{"beam": beam} for beam in (1, 3, 6)]),
    ("wta", [{"beam": beam, "frequent": 2000, "threshold": 3} for beam in (1, 3, 6)]),
)
TURN = 20  # sentences: ways take turns, so that other work on the machine slows all of them alike


@dataclass(frozen=True)
class Way:
    screen: str
    beam: int = BEAM
    frequent: int | None = None
    threshold: int | None = None
    shortlist: int | None = None
    aligned: int | None = None

    def parameters(self):
        words = {"T {}": self.frequent, "t {}": self.threshold, "{} translations": self.aligned, "{} words": self.shortlist}
        return ", ".join(word.format(n) for word, n in words.items() if n)


def screens(n_words, alignment=None, pair=False):
    """Ways with a beam of 12, speed against BLEU; with pair those of PAIR_GRID."""
    ways = [Way(screen, **asked) for screen, some in (PAIR_GRID if pair else GRID) for asked in some]
    return [w for w in ways if max(w.frequent or 0, w.shortlist or 0) < n_words and (alignment or w.screen != "align")]


@dataclass
class Outcome:
    way: Way
    seconds: float
    head_seconds: float
    bleu: float
    same: float  # share of the texts whose translation is the full head's with that beam
    recall: float | None  # of the full head's best words on the states of its search, with a beam of 12


def build_head(program, model, scratch):
    """The file of a model's head with hashes."""
    head = os.path.join(scratch, "model.head")
    words = ["--tensor", "output.weight", "--bands", str(BANDS), "--hashes", str(HASHES), "--places", str(PLACES)]
    built = [program, "head", "build", model, *words, "-o", head, "--threads", "1", "--quiet"]
    if subprocess.run(built, stdout=subprocess.DEVNULL).returncode != 0:
        sys.exit(f"bench head-translation: {model} has no head")
    return head


class Course:
    """All ways that were tried; the first of each beam has the full head."""

    def __init__(self, arguments, scratch):
        self.model, self.outcomes, self.full_texts = arguments.model, [], []
        self.alignment, self.pair = arguments.alignment, arguments.pair
        self.sources, self.references = (read_lines(path, arguments.sentences) for path in (arguments.source, arguments.target))
        if not self.sources or len(self.sources) != len(self.references):
            n = f"{arguments.source} has {len(self.sources)} lines and {arguments.target} {len(self.references)}"
            sys.exit(f"bench head-translation: {n}: as many are wanted, and one at least")
        self.head = build_head(arguments.thresher, self.model, scratch)
        n_texts = min(head.N_TEXTS, arguments.sentences)
        self.states = head.decoder_states(self.model, arguments.source, n_texts, arguments.thresher)[:MOST_STATES]
        self.opened = thresher.Head.open(self.head, threads=1)

    def translator(self, way):
        asked = {**asdict(way), "group": 0, "normaliser": "sampled" if way.screen == "planes" else "candidates"}
        asked["alignment"] = self.alignment if way.screen == "align" else None
        # Lines one by one, as a service has them; candidates are shared by the beams, as the paper has them.
        return thresher.Translator(self.model, head=self.head, batch=1, threads=1, **asked)

    def run(self, *ways):
        """Translate in turns, and judge; the full head, if among them, is the first."""
        texts, seconds, head_seconds = ([[] for _ in ways], [0.0] * len(ways), [0.0] * len(ways))
        with ExitStack() as stack:
            opened = [stack.enter_context(self.translator(way)) for way in ways]
            for first in range(0, len(self.sources), TURN):
                for i, translator in enumerate(opened):
                    with Timer() as timer:
                        texts[i] += translator.translate(self.sources[first : first + TURN])
                    seconds[i] += timer.seconds
                    head_seconds[i] += translator.times.head
        for outcome in zip(ways, texts, seconds, head_seconds):
            self.judge(*outcome)

    def judge(self, way, texts, seconds, head_seconds):
        bleu = thresher.bleu(texts, self.references, lower_case=True).bleu  # as the model's words are
        recall = None
        if way.screen == "full":
            self.full_texts = texts
        elif way.beam == BEAM and way.screen != "align":  # whose lists are of sentences, not of states
            names = {"n_frequent": way.frequent, "threshold": way.threshold, "n_shortlist": way.shortlist}
            recall = self.opened.measure(self.states, BEAM, screen=way.screen, group=BEAM, **names).recall
        same = sum(a == b for a, b in zip(texts, self.full_texts)) / len(texts)
        self.outcomes.append(Outcome(way, seconds, head_seconds, bleu, same, recall))
        print(f"{way.screen} {way.parameters()}, beam {way.beam}: {seconds:.1f} s, BLEU {bleu:.2f}", file=sys.stderr)

    def full(self, beam=BEAM):
        return next(o for o in self.outcomes if o.way.screen == "full" and o.way.beam == beam)

    def best(self, screen, loss, same=0.0, key="seconds"):
        """The fastest way by a screen with a beam of 12 where so much BLEU is lost at most, or None."""
        least, own = self.full().bleu - loss, [o for o in self.outcomes if o.way.screen == screen and o.way.beam == BEAM]
        return min((o for o in own if o.bleu >= least and o.same >= same), key=lambda o: getattr(o, key), default=None)

    def gain(self, outcome, key="seconds"):
        """The full head's time over a way's, of the same beam."""
        return getattr(self.full(outcome.way.beam), key) / getattr(outcome, key) if outcome else 0.0

    def run_all(self, n_words):
        self.run(Way("full"), *screens(n_words, self.alignment, self.pair))
        if self.alignment:
            return
        for beam in BEAMS:
            self.run(Way("full", beam))
            for best in (self.best("wta", 0.3), self.best("planes", 0.3)):
                if best:
                    self.run(replace(best.way, beam=beam))

    def at_wide_beams(self, screen):
        """The speed-up of a screen with a beam of 48 over that with 12."""
        wide = [o for o in self.outcomes if o.way.screen == screen and o.way.beam == 48]
        return self.gain(wide[0]) / self.gain(self.best(screen, 0.3)) if wide else 0.0


def read_lines(path, most):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n") for _, line in zip(range(most), file)]


# ---------------------------------------------------------------------------------------------------- report


def rows(course):
    for o in course.outcomes:
        full = course.full(o.way.beam)
        times = [f"{x:.2f}" for x in (o.head_seconds, o.seconds, course.gain(o, "head_seconds"), course.gain(o))]
        quality = [f"{o.bleu:.2f}", f"{full.bleu - o.bleu:.2f}", f"{100 * o.same:.1f}"]
        yield [o.way.screen, o.way.parameters(), o.way.beam, *times, *quality, f"{o.recall:.4f}" if o.recall else ""]


def figure_rows(course):
    def over(screen, loss, words, target, same=0):
        best = course.best(screen, loss, same, "head_seconds")
        return figure(f"full head's time over {screen}{words}", course.gain(best, "head_seconds"), target)

    wta = over("wta", 0.4, "'s, .4 BLEU lost at most", 4)
    if course.pair:
        return [over("planes", 0, "', no BLEU lost", 6), wta]
    if course.alignment:
        return [wta, over("align", 0.4, "'s, .4 BLEU lost at most", 4)]
    either = max(course.gain(course.best(screen, 0.3)) for screen in ("wta", "planes"))
    recall = getattr(course.best("planes", 0, 1, "head_seconds"), "recall", 0)
    return [
        wta, over("planes", 0, "', the same translations", 6, same=1),
        figure("translation with the full head over that with a screen, .3 BLEU lost at most", either, 2),
        *(figure(f"the speed-up of {screen} with a beam of 48 over that with 12", course.at_wide_beams(screen), 1)
          for screen in ("wta", "planes")),
        figure("planes with the same translations: recall@12 on the full head's states", recall, 0.999),
    ]  # fmt: skip


def text(course, arguments, shape):
    units = ["head, s", "all, s", "head's speed-up", "speed-up", "BLEU", "BLEU less than full", "same as full, %", "recall@12"]
    about = (
        f"A model of {shape[0]:,} target words, states of {shape[1]} dimensions, {shape[2]} LSTM units"
        f"{', without attention' * arguments.plain}; {len(course.sources)} sentences."
    )
    return page(
        *heading("head-translation", __doc__, more=about),
        Table(arguments.case, ["system", "what", "beam"], units, rows(course)),
        Figures(figure_rows(course), f"{arguments.case}: targets"),
    )


def main():
    parser = parser_of("bench head-translation", __doc__, "docs", "thresher")
    parser.add_argument("--model", required=True, help="a model of translations (docs/translate.md)")
    parser.add_argument("--source", required=True, metavar="TEXTS", help="texts, one per line")
    parser.add_argument("--target", required=True, metavar="TEXTS", help="their translations")
    parser.add_argument("--alignment", metavar="FILE", help="word translations of such texts, but not of these")
    parser.add_argument("--pair", action="store_true", help="with --alignment: fewer settings, and smaller beams")
    parser.add_argument("--sentences", type=int, default=300, metavar="N", help="so many of them at most; 300")
    arguments = parser.parse_args()
    need_thresher("bench head-translation")
    if arguments.pair and not arguments.alignment:
        sys.exit("bench head-translation: --pair compares word alignments, too: give --alignment")
    tensors, about = read_safetensors(arguments.model, ("output.weight", "decoder.lstm.weight_hh_l0", "attention.weight"))
    arguments.pair = f"{about.get('source', '?')}-{about.get('target', '?')}" if arguments.pair else ""
    model = os.path.splitext(os.path.basename(arguments.model))[0]
    arguments.case = arguments.pair or ("alignment" if arguments.alignment else model)
    shape = *tensors["output.weight"].shape, tensors["decoder.lstm.weight_hh_l0"].shape[1]
    arguments.plain = "attention.weight" not in tensors
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as scratch:
        course = Course(arguments, scratch)
        course.run_all(shape[0])
        publish(text(course, arguments, shape), "head-translation", arguments.docs)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""A wrong argument of any public function is a thresher.Error that is also the ValueError or TypeError of Python."""

from __future__ import annotations

import inspect
import io
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any, Callable, ClassVar
from unittest import mock

import numpy as np
import test_dual
import test_tower
import test_translate
from support import Case, random_vectors

import thresher
from thresher import Dual, Filter, Head, Hits, HitsTarget, Index, RankSVM, Tower, Translator, shards

N, DIMS, K = 64, 8, 3
ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 2, 2**70, 1.5, float("nan"), float("inf"), -float("inf"), 1j, "", "nothing", "a\ud800b"),
    *(b"octets", object(), [], ["a"], [["a"]], {}, {"a": "b"}, (1, 2), np.float32(3), np.array([["x"]]), Ellipsis),
)
Call = tuple[Callable[..., Any], dict[str, Any]]


class Decoder:
    def step(self, words: Any) -> Any:
        return np.ones((len(words), DIMS), np.float32)


class Arguments(Case):
    def calls(self) -> dict[str, Call]:
        """Public functions with arguments that they take."""
        x, q = random_vectors(N, DIMS), random_vectors(2, DIMS, 2)
        rows = [[i % 7, 7 + i % 3] for i in range(N)]
        index = Index.build(self.path("i"), x, features=rows, threads=1)
        self.index = index
        hits, new = Hits.build(self.path("h"), rows, ids=np.arange(N), threads=1), self.path("new")
        head, draw = Head.build(x, threads=1), np.random.default_rng(1)
        head.save(self.path("w.head"))
        features, labels, qid = draw.standard_normal((60, 4)), draw.integers(0, 3, 60), np.arange(60) // 10
        ranker = RankSVM(threads=1).fit(features, labels, qid)
        ranker.save(self.path("rank.model"))
        np.savetxt(self.path("r.svm"), [[1, 1]], "%d qid:1 1:%d")
        own = shards.build(self.path("s"), [x, x], threads=1)
        quantiser = self.path("quantiser")
        shards.build_quantiser(quantiser, [x], metric="cosine")
        thresher_calls: dict[str, Call] = {
            "Index.build": (Index.build, {"path": new, "vectors": x, "replace": True, "threads": 1}),
            "Index.create": (Index.create, {"path": new, "n_dims": 4, "replace": True, "threads": 1}),
            "Index.open": (Index.open, {"path": self.path("i")}),
            "Index.search": (index.search, {"queries": q, "k": K}),
            "Index.search_radius": (index.search_radius, {"queries": q, "least_score": 0.5}),
            "Index.tune": (index.tune, {"queries": q}),
            "Index.add": (index.add, {"vectors": q, "features": [[1], [2]]}),
            "Index.upsert": (index.upsert, {"vectors": q, "features": [[1], [2]]}),
            "Index.remove": (index.remove, {"ids": [2**40]}),
            "Index.compact": (index.compact, {}),
            "Index.verify": (index.verify, {}),
            "Index.filter_ids": (index.filter_ids, {"ids": [1]}),
            "Index.name": (index.name, {"id": 1}),
            "Index.find": (index.find, {"name": "a"}),
            "Index.row": (index.row, {"id": 1}),
            "Index.rows": (index.rows, {"ids": [1]}),
            "Index.vector": (index.vector, {"id": 1}),
            "Index.vectors": (index.vectors, {"ids": [1]}),
            "Filter": (Filter, {"n_items": N, "allowed": [1]}),
            "Filter.from_words": (Filter.from_words, {"n_items": N, "words": np.zeros(1, np.uint64)}),
            "Hits.build": (Hits.build, {"path": new, "features": rows, "replace": True, "threads": 1}),
            "Hits.search": (hits.search, {"query": {1: 1.0}, "k": K}),
            "Hits.explain": (hits.explain, {"id": 1, "query": {1: 1.0}}),
            "Hits.add": (hits.add, {"features": [[1]], "ids": [N]}),
            "Hits.remove": (hits.remove, {"items": [2**40]}),
            "Hits.set_values": (hits.set_values, {"multipliers": np.ones(N)}),
            "HitsTarget": (HitsTarget, {"hits": hits, "expression": "1 OR 2"}),
            "Head.build": (Head.build, {"weights": x, "threads": 1}),
            "Head.open": (Head.open, {"path": self.path("w.head")}),
            "Head.save": (head.save, {"path": new + ".head", "replace": True}),
            "Head.query": (head.query, {"states": q, "k": K}),
            "Head.measure": (head.measure, {"states": q, "k": K, "screen": "frequent"}),
            "Head.measure against": (head.measure, {"states": q, "k": K, "against": head}),
            "RankSVM.fit": (RankSVM(threads=1).fit, {"X": features, "y": labels, "qid": qid}),
            "RankSVM.open": (RankSVM.open, {"path": self.path("rank.model")}),
            "RankSVM.save": (ranker.save, {"path": new + ".model"}),
            "RankSVM.predict": (ranker.predict, {"X": features}),
            "RankSVM.rerank": (ranker.rerank, {"ids": [1, 2], "X": features[:2]}),
            "RankSVM.cross_validate": (ranker.cross_validate, {"X": features, "y": labels, "qid": qid, "Cs": [1, 2]}),
            "beam_search": (
                thresher.beam_search,
                {"head": head, "decoder": Decoder(), "n_sentences": 1, "start_word": 1, "end_word": 2, "max_length": 3},
            ),
            "bleu": (thresher.bleu, {"hypotheses": ["a b"], "references": ["a b"]}),
            "sentence_bleu": (thresher.sentence_bleu, {"hypotheses": ["a b"], "references": ["a b"]}),
            "recall": (thresher.recall, {"truth": [[1]], "result": [[1]]}),
            "rank_quality": (thresher.rank_quality, {"scores": [1.0, 2], "labels": [0, 1]}),
            "ndcg": (thresher.ndcg, {"scores": [1.0, 2], "labels": [0, 1]}),
            "read_ranking": (thresher.read_ranking, {"path": self.path("r.svm")}),
            "split_words": (thresher.split_words, {"text": "a b"}),
            "join_words": (thresher.join_words, {"words": "a b"}),
            "shards.build": (shards.build, {"path": new + ".s", "parts": [x], "replace": True, "threads": 1}),
            "shards.open": (shards.open, {"path": self.path("s")}),
            "shards.verify": (shards.verify, {"path": self.path("s")}),
            "shards.read": (shards.read, {"path": self.path("s")}),
            "shards.compact": (shards.compact, {"path": self.path("s")}),
            "shards.remove": (shards.remove, {"path": self.path("s"), "ids": [2**40]}),
            "shards.build_quantiser": (shards.build_quantiser, {"path": new + ".q", "samples": [x]}),
            "shards.build_shard": (
                shards.build_shard,
                {"path": self.path("s"), "number": 0, "vectors": x, "quantiser_from": quantiser, "first_row": 0},
            ),
            "shards.search_shard": (shards.search_shard, {"index": index, "first_row": 0, "queries": q, "k": K}),
            "Shards.search": (own.search, {"queries": q, "k": K}),
            "Shards.search_radius": (own.search_radius, {"queries": q, "least_score": 0.5}),
            "Shards.vectors": (own.vectors, {"ids": [1]}),
            "Shards.rows": (own.rows, {"ids": [1]}),
            "Shards.name": (own.name, {"id": 1}),
            "Shards.filter_ids": (own.filter_ids, {"ids": [1]}),
        }
        return thresher_calls

    def writer_calls(self) -> dict[str, Call]:
        writer = Index.create(self.path("w"), DIMS, threads=1).writer()
        q = random_vectors(2, DIMS, 2)
        return {
            "IndexWriter.add": (writer.add, {"vectors": q}),
            "IndexWriter.upsert": (writer.upsert, {"vectors": q, "ids": [1, 2]}),
            "IndexWriter.remove": (writer.remove, {"ids": [2**40]}),
        }

    def model_calls(self) -> dict[str, Call]:
        test_tower.train(self.path("tower"), 2, 2)
        test_translate.dictionary(self.path("translator"))
        test_dual.write_log(self.path("items.tsv"), self.path("requests.tsv"))
        small = {**test_dual.SMALL, "n_epochs": 1}
        dual = Dual.train(self.path("requests.tsv"), self.path("items.tsv"), self.path("dual"), **small)
        tower, translator = Tower(self.path("tower"), threads=1), Translator(self.path("translator"), threads=1)
        return {
            "Tower.encode": (tower.encode, {"texts": ["a"]}),
            "Tower.eval": (tower.eval, {"pairs": self.path("pairs.tsv")}),
            "Dual.encode": (dual.encode, {"texts": ["a=b"]}),
            "Dual.hits": (dual.hits, {"user": "a=b"}),
            "Translator.translate": (translator.translate, {"texts": ["a"]}),
            "Translator.n_best": (translator.n_best, {"texts": ["a"]}),
            "Translator.open": (Translator, {"path": self.path("translator")}),
        }

    def refused(self, name: str, call: Call) -> list[str]:
        """Odd values of each argument that end in another exception than a thresher.Error."""
        function, right = call
        bad = []
        for argument in inspect.signature(function).parameters:
            for odd in ODD if argument not in ("options", "screening", "effort", "params", "index", "decoder") else ():
                if argument == "progress" and odd is True:
                    continue
                try:
                    made = function(**{**right, argument: odd})
                    if hasattr(made, "close"):
                        made.close()
                except (thresher.Error, ImportError):  # scipy is optional
                    pass
                except BaseException as failure:
                    bad.append(f"{name}({argument}={odd!r}): {type(failure).__name__}: {str(failure)[:100]}")
        return bad

    def check(self, calls: dict[str, Call]) -> None:
        bad: list[str] = []
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for name, call in calls.items():
                bad += self.refused(name, call)
        self.assertEqual(bad, [], "\n" + "\n".join(bad))

    def test_wrong_arguments_are_errors_of_the_package_and_of_python(self) -> None:
        index = Index.build(self.path("i"), random_vectors(N, DIMS), threads=1)
        for call, kind, message in (
            (lambda: index.search(random_vectors(1, DIMS), 0), ValueError, "k is 0: 1 to "),
            (lambda: index.search(random_vectors(1, DIMS), "3"), TypeError, "k is '3': expected a whole number"),
            (lambda: index.search(random_vectors(1, 3), 1), ValueError, "dimensions"),
            (lambda: index.search_radius(random_vectors(1, DIMS), "x"), TypeError, "least_score is 'x': expected"),
        ):
            with self.assertRaisesRegex(kind, message) as raised:
                call()
            self.assertIsInstance(raised.exception, thresher.ArgumentError)
            self.assertIn(raised.exception.status, ("EINVAL", "EDIM"))
        index.close()
        with self.assertRaisesRegex(thresher.ArgumentError, "the index is closed"):
            index.search(random_vectors(1, DIMS), 1)

    def test_misspelt_keywords_name_the_nearest_one(self) -> None:
        rows = random_vectors(N, DIMS)
        index: Any = Index.build(self.path("k"), rows, threads=1)
        self.addCleanup(index.close)
        build: Any = Index.build
        for call, message in (
            (lambda: index.search(rows[:1], recal=0.9), "Index.search: .* argument 'recal'; did you mean 'recall'"),
            (lambda: index.search_radius(rows[:1], 0.5, filtr=[1]), "'filtr'; did you mean 'filter'"),
            (lambda: build(self.path("l"), rows, metrc="l2"), "'metrc'; did you mean 'metric'"),
            (lambda: index.add(rows, idds=[1]), "'idds'; did you mean 'ids'"),
            (lambda: index.search(rows[:1], nonsense=1), "unexpected keyword argument 'nonsense'$"),
        ):
            with self.assertRaisesRegex(thresher.ArgumentTypeError, message):
                call()
        with self.assertRaisesRegex(TypeError, "missing"):
            build(self.path("l"))

    def test_no_module_raises_an_error_outside_of_the_package(self) -> None:
        for path in Path(thresher.__file__).parent.rglob("*.py"):
            bare = re.findall(r"(?:raise|return) (?:ValueError|TypeError|IndexError|KeyError)\(.*", path.read_text())
            self.assertEqual(bare, [], path)

    def test_unknown_options_and_words_suggest_the_nearest(self) -> None:
        x = random_vectors(N, DIMS)
        for call, hint in (
            (lambda: shards.build(self.path("s"), [x], threads=1).search(x[:1], recal=0.9), "did you mean 'recall'?"),
            (lambda: Head.build(x).measure(x[:1], 1, screen="wta", treshold=1), "did you mean 'threshold'?"),
            (lambda: Tower.train_vectors(x, self.path("t"), queries=x, epoch=1), "did you mean 'n_epochs'?"),
            (lambda: Index.build(self.path("i"), x, metric="L2"), "did you mean 'l2'?"),
            (lambda: Index.build(self.path("i"), x, metric="Euclidean"), "did you mean 'l2'?"),
            (lambda: Index.build(self.path("i"), x, keep="float23"), "did you mean 'float32'?"),
        ):
            with self.assertRaises(thresher.ArgumentError) as raised:
                call()
            self.assertIn(hint, str(raised.exception))

    def test_a_tilde_is_the_home_directory(self) -> None:
        x, home = random_vectors(N, DIMS), self.path("home")
        os.mkdir(home)
        with mock.patch.dict(os.environ, HOME=home):
            np.save(os.path.join(home, "x.npy"), x)
            with Index.build("~/i", "~/x.npy", threads=1) as index:
                self.assertEqual(index.path, os.path.join(home, "i"))
            self.assertEqual(len(Index.open("~/i")), N)
            Head.build(x).save("~/w.head")
            self.assertEqual(Head.open(Path("~/w.head")).info.n_words, N)
            with shards.build("~/s", ["~/x.npy"], threads=1) as made:
                self.assertEqual(made.path, os.path.join(home, "s"))
            self.assertEqual(shards.verify("~/s").n_items, N)
            self.assertEqual(sorted(os.listdir(home)), ["i", "s", "w.head", "x.npy"])

    def test_progress_true_shows_a_bar_of_tqdm_or_a_line_on_a_terminal(self) -> None:
        class Bar:
            made: ClassVar[list[Any]] = []

            def __init__(self, desc: str, total: int | None) -> None:
                self.desc, self.total, self.n, self.open = desc, total, 0, True
                Bar.made.append(self)

            def update(self, n: int) -> None:
                self.n += n

            def close(self) -> None:
                self.open = False

        x = random_vectors(N, DIMS)
        with mock.patch.dict(sys.modules, {"tqdm": mock.Mock(), "tqdm.auto": mock.Mock(tqdm=Bar)}):
            Index.build(self.path("i"), x, progress=True, threads=1).verify(progress=True)
            shards.build(self.path("s"), [x, x], progress=True, threads=1)
        self.assertEqual([bar.desc for bar in Bar.made][:1], ["build"])
        self.assertIn(("build", 2 * N, 2 * N, False), [(bar.desc, bar.n, bar.total, bar.open) for bar in Bar.made])
        self.assertFalse(any(bar.open for bar in Bar.made))
        for terminal in (True, False):
            out = io.StringIO()
            out.isatty = mock.Mock(return_value=terminal)  # type: ignore[method-assign]
            with mock.patch.object(sys, "stderr", out):
                with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
                    Index.build(self.path("i"), x, progress=True, replace=True, threads=1)
            self.assertEqual("\rbuild 64 of 64" in out.getvalue() and out.getvalue().endswith("\n"), terminal)
            self.assertEqual(bool(out.getvalue()), terminal)
        with self.assertRaisesRegex(TypeError, "progress is 'yes': expected a function, or True to show a bar"):
            Index.build(self.path("i"), x, progress="yes", replace=True)  # type: ignore[arg-type]

    def test_odd_arguments_are_taken_or_are_errors_of_the_package(self) -> None:
        self.check(self.calls())

    def test_odd_arguments_of_writers_too(self) -> None:
        self.check(self.writer_calls())

    def test_odd_arguments_of_models_too(self) -> None:
        self.check(self.model_calls())

# SPDX-License-Identifier: Apache-2.0
"""
Thresher: the true nearest neighbours, by scoring every item cheaply and a few exactly.

    import numpy as np, thresher

    vectors = np.random.default_rng(1).standard_normal((100_000, 96), np.float32)
    with thresher.Index.build("my.index", vectors, metric="cosine") as index:
        ids, scores = index.search(vectors[:5], k=10)

Arrays go in and out as numpy arrays; whatever speaks DLPack on the CPU is taken as well. Calls release the GIL.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ._about import LibraryInfo, info
from ._beam import BeamSequence, beam_search
from ._bleu import Bleu, bleu, sentence_bleu
from ._core import abi as _abi
from ._core.checks import name_keywords as _name_keywords
from ._core.library import lib as _lib
from ._devices import DeviceInfo, devices
from ._dual import Dual, DualInfo, DualQuality
from ._errors import (
    ArgumentError,
    ArgumentTypeError,
    BusyError,
    CanceledError,
    DeviceError,
    Error,
    ExistsError,
    FileError,
    FileMissingError,
    FormatError,
    MemoryLimitError,
    MismatchError,
    NotFoundError,
    UnsupportedError,
)
from ._filters import Filter
from ._head import Head, HeadInfo, HeadRecall, HeadSource
from ._hits import Hits, HitsInfo, HitsTarget
from ._index import Index
from ._index_change import IndexChange
from ._index_info import IndexCells, IndexInfo
from ._metric import recall
from ._rank import RankingRows, RankQuality, RankReport, RankStep, RankSVM, ndcg, rank_quality, read_ranking
from ._tower import Tower, TowerInfo
from ._train import TowerEpoch, TowerQuality, TowerReport
from ._translate import Alignment, Translation, TranslationTimes, Translator, train_alignment
from ._words import join_words, split_words
from ._writer import IndexWriter

if _TYPE_CHECKING:
    from . import shards as shards

NO_ID: int = _abi.NO_ID
"""Fills the end of an answer that has fewer than k items."""

__version__: str = _lib.thr_version().decode()

__all__ = [
    "NO_ID",
    "Alignment",
    "ArgumentError",
    "ArgumentTypeError",
    "BusyError",
    "BeamSequence",
    "Bleu",
    "CanceledError",
    "DeviceError",
    "DeviceInfo",
    "Dual",
    "DualInfo",
    "DualQuality",
    "Error",
    "ExistsError",
    "FileError",
    "FileMissingError",
    "Filter",
    "FormatError",
    "Head",
    "HeadInfo",
    "HeadRecall",
    "HeadSource",
    "Hits",
    "HitsInfo",
    "HitsTarget",
    "Index",
    "IndexCells",
    "IndexChange",
    "IndexInfo",
    "IndexWriter",
    "LibraryInfo",
    "MemoryLimitError",
    "MismatchError",
    "NotFoundError",
    "RankQuality",
    "RankReport",
    "RankStep",
    "RankSVM",
    "RankingRows",
    "Tower",
    "TowerEpoch",
    "TowerInfo",
    "TowerQuality",
    "TowerReport",
    "Translation",
    "TranslationTimes",
    "Translator",
    "UnsupportedError",
    "beam_search",
    "bleu",
    "devices",
    "info",
    "join_words",
    "ndcg",
    "rank_quality",
    "read_ranking",
    "recall",
    "sentence_bleu",
    "shards",
    "split_words",
    "train_alignment",
]


_name_keywords(Index, "build", "create", "search_radius", "add", "upsert", "remove")
_name_keywords(Hits, "build")
_name_keywords(Head, "build")
_name_keywords(Dual, "train")


def __getattr__(name: str) -> _Any:
    """thresher.shards, imported when it is first used."""
    if name != "shards":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), "shards"})

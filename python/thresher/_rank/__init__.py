# SPDX-License-Identifier: Apache-2.0
"""RankSVM: reading rows by query, training in one process or by parts, and the quality of an order."""

from .quality import RankQuality, ndcg, rank_quality
from .rows import RankingRows, read_ranking
from .svm import OnStep, RankReport, RankStep, RankSVM

__all__ = ["OnStep", "RankQuality", "RankReport", "RankSVM", "RankStep", "RankingRows", "ndcg", "rank_quality", "read_ranking"]

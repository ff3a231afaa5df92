# SPDX-License-Identifier: Apache-2.0
"""The numbers and structs of include/thresher/*.h, as ctypes; tests compare them with the headers."""

from __future__ import annotations

import ctypes
from ctypes import c_bool, c_char, c_char_p, c_double, c_float, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

NO_ID = 2**64 - 1
ROWS_UNKNOWN = 2**64 - 1
MAX_DIMS = 32768
ERROR_TEXT_SIZE = 768
DEVICE_NAME_SIZE = 256

OK = 0
STATUS = {
    "EINVAL": -1,
    "ENOMEM": -2,
    "EIO": -3,
    "EFORMAT": -4,
    "ECORRUPT": -5,
    "EVERSION": -6,
    "EDIM": -7,
    "ERANGE": -8,
    "ENOTFOUND": -9,
    "EEXIST": -10,
    "EUNSUPPORTED": -11,
    "ECANCELED": -12,
    "ECHANGED": -13,
    "EDUPLICATE": -14,
    "ENOSPACE": -15,
    "EDEVICE": -16,
    "EMISMATCH": -17,
}
METRIC = {"cosine": 0, "ip": 1, "l2": 2}
SIDE = {"query": 0, "item": 1}
FLOAT_BITS = 32
ESTIMATOR = {"variant": 0, "straight": 1, "tanh": 2}
DUAL_LOSS = {"ndcg": 0, "product": 1, "sum": 2}
DUAL_VALUE = {"difference": 0, "swap": 1}
DUAL_OPTIMISER = {"adam": 0, "ftrl": 1}
ROTATE = {"auto": 0, "on": 1, "off": 2}
HITS_ORDER = {"features": 0, "rows": 1}
HITS_VALUE = {"sum": 0, "sigmoid": 1}
GAIN = {"exponential": 0, "linear": 1}
RANK_METHOD = {"line_search": 0, "trust_region": 1}
RANK_SCALE = {"pair": 0, "query": 1, "mean": 2}
CONVENTION = {"letor": 0, "lightgbm": 1, "xgboost": 2, "xgboost_minus": 3}
HEAD_SCREEN = {"full": 0, "frequent": 1, "wta": 2, "planes": 3, "auto": 4}
HEAD_NORMALISER = {"candidates": 0, "exact": 1, "sampled": 2}
HEAD_COMBINE = {"largest": 0, "sum": 1}
HEAD_AUTO = 2**32 - 1
HITS_MAX_FEATURE = 2**28 - 1
DTYPE = {
    "none": 0,
    "float32": 1,
    "float16": 2,
    "int8": 3,
    "uint8": 4,
    "float64": 5,
    "int32": 6,
    "uint32": 7,
    "int64": 8,
    "uint64": 9,
    "bfloat16": 10,
}
HEAD_DTYPE = {name: DTYPE[name] for name in ("float32", "float16", "bfloat16", "int8")}
"""What weights may be kept as."""

ProgressFn = ctypes.CFUNCTYPE(c_bool, c_void_p, c_char_p, c_uint64, c_uint64)
RowsFn = ctypes.CFUNCTYPE(c_uint64, c_void_p, c_uint64, c_uint64, c_void_p)


def fields(kind: Any, names: str) -> list[tuple[str, Any]]:
    """Fields of one type that follow each other, as entries of _fields_."""
    return [(name, kind) for name in names.split()]


class Error(ctypes.Structure):
    _fields_ = [
        ("status", c_int),
        ("text", c_char * ERROR_TEXT_SIZE),
    ]


class ContextOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        *fields(c_void_p, "allocate release allocator_user"),
        ("n_threads", c_uint32),
        ("isa", c_int),
        ("progress", ProgressFn),
        ("progress_user", c_void_p),
        ("device", c_char_p),
    ]


class DeviceInfo(ctypes.Structure):
    _fields_ = [
        ("number", c_uint32),
        ("name", c_char * DEVICE_NAME_SIZE),
        *fields(c_uint32, "major minor n_multiprocessors"),
        *fields(c_uint64, "memory_bytes free_bytes"),
        *fields(c_uint32, "driver runtime"),
    ]


class Matrix(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("n_rows", c_uint64),
        ("n_dims", c_uint32),
        ("dtype", c_int),
        ("stride", c_size_t),
    ]


class ReaderShape(ctypes.Structure):
    _fields_ = [
        ("n_rows", c_uint64),
        ("n_dims", c_uint32),
        ("dtype", c_int),
        ("seekable", c_bool),
    ]


class TowerConfig(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        *fields(c_uint32, "n_dims n_pooled query_bits item_bits max_grams max_words"),
        *fields(c_bool, "shared_words shared_steps plain_weights"),
    ]


class TowerInfo(ctypes.Structure):
    _fields_ = [
        ("config", TowerConfig),
        ("n_grams", c_uint32),
        *fields(c_uint64, "n_parameters file_bytes fingerprint"),
    ]


class PairsFormat(ctypes.Structure):
    _fields_ = [
        *fields(c_uint32, "query_column item_column label_column"),
        ("least_label", c_float),
        ("header", c_bool),
    ]


class TowerEpoch(ctypes.Structure):
    _fields_ = [
        ("epoch", c_uint32),
        ("n_pairs", c_uint64),
        *fields(c_double, "seconds examples_per_second loss valid_loss valid_auc"),
        *fields(c_bool, "as_floats best"),
    ]


EpochFn = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(TowerEpoch))


class TowerTrainOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("config", TowerConfig),
        ("valid_path", c_char_p),
        ("valid_share", c_float),
        ("format", PairsFormat),
        *fields(c_uint32, "n_epochs patience batch n_negatives"),
        *fields(c_float, "gamma rate word_dropout float_share"),
        ("estimator", c_int),
        ("seed", c_uint64),
        ("resume", c_bool),
        ("on_epoch", EpochFn),
        ("on_epoch_user", c_void_p),
    ]


class TowerReport(ctypes.Structure):
    _fields_ = [
        *fields(c_uint64, "n_pairs n_valid n_refused"),
        *fields(c_uint32, "n_grams n_epochs best_epoch"),
        *fields(c_double, "loss valid_loss valid_auc examples_per_second"),
    ]


class TowerQuality(ctypes.Structure):
    _fields_ = [
        *fields(c_uint64, "n_good n_bad n_refused"),
        *fields(c_double, "auc loss"),
    ]


class DualConfig(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        *fields(c_uint32, "n_embedding n_hidden n_dims n_products"),
        ("hits", c_bool),
    ]


class DualTrainOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("config", DualConfig),
        ("valid_path", c_char_p),
        ("valid_share", c_float),
        *fields(c_uint32, "min_count n_epochs patience batch"),
        *fields(c_int, "loss value"),
        ("rate", c_float),
        ("optimiser", c_int),
        *fields(c_float, "embedding_rate hits_rate l1 l2"),
        ("seed", c_uint64),
        ("resume", c_bool),
        ("on_epoch", EpochFn),
        ("on_epoch_user", c_void_p),
        ("adam_beta1", c_float),
        ("adam_beta2", c_float),
        ("adam_epsilon", c_float),
    ]


class DualReport(ctypes.Structure):
    _fields_ = [
        *fields(c_uint64, "n_requests n_valid n_items"),
        *fields(c_uint32, "n_user_words n_item_words n_epochs best_epoch"),
        *fields(c_double, "loss valid_loss valid_gauc requests_per_second"),
    ]


class DualInfo(ctypes.Structure):
    _fields_ = [
        ("config", DualConfig),
        *fields(c_uint32, "n_vector n_user_words n_item_words n_user_fields n_item_fields"),
        *fields(c_uint64, "n_parameters file_bytes fingerprint"),
    ]


class DualHit(ctypes.Structure):
    _fields_ = [
        ("word", c_void_p),
        ("length", c_size_t),
        ("weight", c_float),
    ]


class DualQuality(ctypes.Structure):
    _fields_ = [
        *fields(c_uint64, "n_requests n_ads"),
        *fields(c_double, "gauc recall_5 recall_10 value_recall_5 value_recall_10"),
    ]


class RecallRows(ctypes.Structure):
    _fields_ = [
        *fields(c_void_p, "ids scores"),
        ("n_columns", c_size_t),
    ]


class Judged(ctypes.Structure):
    _fields_ = [
        ("n_queries", c_size_t),
        *fields(c_void_p, "offsets scores labels"),
    ]


class QualityOptions(ctypes.Structure):
    _fields_ = [
        *fields(c_size_t, "size k"),
        *fields(c_int, "gain discount no_gain"),
        *fields(c_bool, "short_is_zero ties_are_right"),
        *fields(c_double, "relevant largest_label"),
    ]


class PairQuality(ctypes.Structure):
    _fields_ = [
        *fields(c_uint64, "n_pairs n_right n_tied"),
        *fields(c_double, "accuracy accuracy_ties_right"),
    ]


class Quality(ctypes.Structure):
    _fields_ = [
        *fields(c_uint64, "n_rows n_queries n_without_gain"),
        *fields(c_double, "ndcg map mrr err precision"),
        ("pairs", PairQuality),
        ("pair_accuracy", c_double),
    ]


class Csr(ctypes.Structure):
    _fields_ = [
        *fields(c_void_p, "starts columns values"),
        ("n_rows", c_uint64),
        ("n_columns", c_uint32),
    ]


class RankingOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        *fields(c_bool, "without_queries without_comments cache"),
    ]


class RankingView(ctypes.Structure):
    _fields_ = [
        *fields(c_uint64, "n_rows n_queries"),
        ("n_features", c_uint32),
        ("has_queries", c_bool),
        *fields(c_void_p, "offsets queries labels rows dense"),
        ("sparse", Csr),
    ]


class RankingViewRoom(ctypes.Structure):
    """The result of thr_ranking_get_view, with space for fields of later versions."""

    _fields_ = [
        ("view", RankingView),
        ("room", c_char * 512),
    ]


class RankStep(ctypes.Structure):
    _fields_ = [
        *fields(c_double, "objective gradient_norm first_gradient_norm seconds"),
        ("n_products", c_uint64),
        ("step", c_uint32),
    ]


RankStepFn = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(RankStep))


class RankOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        *fields(c_double, "c epsilon"),
        ("most_steps", c_uint32),
        *fields(c_int, "method scale"),
        *fields(c_void_p, "query_weights start row_weights"),
        ("on_step", RankStepFn),
        ("on_step_user", c_void_p),
    ]


class RankFolds(ctypes.Structure):
    _fields_ = [
        *fields(c_void_p, "cs accuracies"),
        ("n_cs", c_size_t),
        ("seed", c_uint64),
        ("n_folds", c_uint32),
    ]


class RankReport(ctypes.Structure):
    _fields_ = [
        *fields(
            c_double,
            "objective gradient_norm first_gradient_norm pairwise_accuracy seconds "
            "product_seconds",
        ),
        *fields(c_uint64, "n_pairs n_products"),
        ("n_steps", c_uint32),
        ("converged", c_bool),
    ]


class IndexBuildOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("metric", c_int),
        ("item_bits", c_uint32),
        ("keep", c_int),
        ("ids", c_void_p),
        ("n_ids", c_uint64),
        ("ids_path", c_char_p),
        ("replace", c_bool),
        ("sample_rows", c_uint32),
        ("segment_rows", c_uint64),
        ("lead_bits", c_uint32),
        ("rotate", c_int),
        ("calibration_queries", c_uint64),
        *fields(c_char_p, "model features_path"),
        *fields(c_void_p, "features multipliers offsets"),
        ("n_values", c_uint64),
    ]


class IndexInfo(ctypes.Structure):
    _fields_ = [
        ("n_items", c_uint64),
        ("n_dims", c_uint32),
        ("metric", c_int),
        ("item_bits", c_uint32),
        ("keep", c_int),
        *fields(c_uint32, "n_segments format_version"),
        *fields(c_uint64, "code_bytes vector_bytes file_bytes"),
        *fields(c_bool, "has_ids has_names"),
        ("lead_bits", c_uint32),
        *fields(c_bool, "rotated centred has_features"),
        ("tuned_queries", c_uint64),
    ]


class IndexInfoRoom(ctypes.Structure):
    """
    The result of thr_index_get_info, with space for fields of later versions; the library writes it to the caller's
    memory.
    """

    _fields_ = [
        ("info", IndexInfo),
        ("room", c_char * 512),
    ]


class SearchOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("query_bits", c_uint32),
        ("n_candidates", c_uint64),
        ("extra", c_float),
        ("exact", c_bool),
        ("filter", c_void_p),
        ("filter_bits", c_uint64),
        ("recall", c_float),
        ("n_survivors", c_uint64),
        *fields(c_void_p, "certified features"),
        ("value", c_int),
        *fields(c_void_p, "target n_unknown"),
        ("features_model", c_uint64),
    ]


class RadiusResult(ctypes.Structure):
    _fields_ = [
        ("n_queries", c_uint64),
        *fields(c_void_p, "offsets ids scores"),
    ]


class ItemFeatures(ctypes.Structure):
    _fields_ = [
        *fields(c_void_p, "offsets features"),
        ("n_items", c_uint64),
    ]


class HitsBuildOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("order", c_int),
        ("ids", c_void_p),
        ("n_ids", c_uint64),
        *fields(c_void_p, "multipliers offsets"),
        ("n_values", c_uint64),
        ("replace", c_bool),
        ("n_repeated", c_void_p),
        ("model", c_uint64),
    ]


class HitsInfo(ctypes.Structure):
    _fields_ = [
        ("n_items", c_uint64),
        ("n_features", c_uint32),
        *fields(
            c_uint64,
            "n_postings n_ids n_runs n_bitmaps bitmap_postings list_bytes file_bytes",
        ),
        ("format_version", c_uint32),
        ("order", c_int),
        *fields(c_bool, "has_ids has_names has_words"),
        *fields(c_uint64, "n_rows n_added n_removed model"),
    ]


class HitsInfoRoom(ctypes.Structure):
    """The result of thr_hits_get_info, with space for fields of later versions."""

    _fields_ = [
        ("info", HitsInfo),
        ("room", c_char * 512),
    ]


class HitsQueries(ctypes.Structure):
    _fields_ = [
        ("n_queries", c_uint64),
        *fields(c_void_p, "offsets features weights"),
    ]


class HitsSearchOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("value", c_int),
        ("filter", c_void_p),
        ("filter_bits", c_uint64),
        *fields(c_void_p, "target n_unknown"),
        ("model", c_uint64),
    ]


class HitsChanges(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("n_added", c_uint64),
        *fields(c_void_p, "ids names offsets features words multipliers item_offsets"),
        ("n_removed", c_uint64),
        *fields(c_void_p, "removed_ids removed_names"),
        *fields(c_char_p, "added_path removed_path"),
        ("n_missing", c_void_p),
    ]


class HeadBuildOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("dtype", c_int),
        ("bias", c_void_p),
        ("n_bias", c_uint64),
        ("frequent", c_void_p),
        ("n_frequent", c_uint64),
        *fields(c_uint32, "n_bands n_hashes n_places n_planes"),
        ("seed", c_uint64),
    ]


class HeadInfo(ctypes.Structure):
    _fields_ = [
        *fields(c_uint32, "n_words n_dims"),
        ("dtype", c_int),
        *fields(c_bool, "has_bias has_order"),
        *fields(c_uint32, "n_bands n_hashes n_places"),
        ("n_codes", c_uint64),
        ("n_planes", c_uint32),
        *fields(c_uint64, "weight_bytes hash_bytes plane_bytes file_bytes"),
        ("format_version", c_uint32),
    ]


class HeadInfoRoom(ctypes.Structure):
    """The result of thr_head_get_info, with space for fields of later versions."""

    _fields_ = [
        ("info", HeadInfo),
        ("room", c_char * 512),
    ]


class HeadQueryOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        *fields(c_int, "screen normaliser"),
        *fields(c_uint32, "n_frequent threshold"),
        ("combine", c_int),
        ("n_shortlist", c_uint32),
        ("group", c_uint64),
        ("always", c_void_p),
        ("n_always", c_uint64),
        *fields(c_void_p, "n_candidates times used certified"),
    ]


class HeadAnswers(ctypes.Structure):
    _fields_ = [
        *fields(c_void_p, "words logits log_probs"),
    ]


class HeadRecall(ctypes.Structure):
    _fields_ = [
        *fields(c_double, "recall worst candidates"),
    ]


class HeadLoss(ctypes.Structure):
    _fields_ = [
        *fields(c_double, "recall worst first candidates log_prob_error"),
    ]


class TranslatorOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("head", c_char_p),
        *fields(c_void_p, "build query"),
        *fields(c_uint32, "beam n_best"),
        *fields(c_int, "penalty stop"),
        *fields(c_double, "alpha length_ratio"),
        *fields(c_uint32, "length_extra max_length max_source batch"),
        *fields(c_bool, "unknown replace_unk"),
        *fields(c_void_p, "on_states on_states_user"),
    ]


class Translation(ctypes.Structure):
    _fields_ = [
        *fields(c_char_p, "text words"),
        ("n_words", c_uint32),
        ("ended", c_bool),
        *fields(c_double, "log_prob score"),
    ]


class TranslatorTimes(ctypes.Structure):
    _fields_ = [
        *fields(c_double, "encoder layers attention head expansion reorder"),
    ]


class Translations(ctypes.Structure):
    _fields_ = [
        ("n_texts", c_uint64),
        ("first_of", ctypes.POINTER(c_uint64)),
        ("translations", ctypes.POINTER(Translation)),
        *fields(c_uint64, "n_source_words n_unknown n_words n_steps n_states"),
        ("times", TranslatorTimes),
    ]

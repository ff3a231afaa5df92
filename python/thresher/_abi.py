# SPDX-License-Identifier: Apache-2.0
"""The numbers and structs of include/thresher/*.h, as ctypes; tests compare them with the headers."""

from __future__ import annotations

import ctypes
from ctypes import c_bool, c_char, c_char_p, c_double, c_float, c_int, c_size_t, c_uint32, c_uint64, c_void_p

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


class Error(ctypes.Structure):
    _fields_ = [("status", c_int), ("text", c_char * ERROR_TEXT_SIZE)]


class ContextOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("allocate", c_void_p),
        ("release", c_void_p),
        ("allocator_user", c_void_p),
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
        ("major", c_uint32),
        ("minor", c_uint32),
        ("n_multiprocessors", c_uint32),
        ("memory_bytes", c_uint64),
        ("free_bytes", c_uint64),
        ("driver", c_uint32),
        ("runtime", c_uint32),
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
        ("n_dims", c_uint32),
        ("n_pooled", c_uint32),
        ("query_bits", c_uint32),
        ("item_bits", c_uint32),
        ("max_grams", c_uint32),
        ("max_words", c_uint32),
        ("shared_words", c_bool),
        ("shared_steps", c_bool),
        ("plain_weights", c_bool),
    ]


class TowerInfo(ctypes.Structure):
    _fields_ = [
        ("config", TowerConfig),
        ("n_grams", c_uint32),
        ("n_parameters", c_uint64),
        ("file_bytes", c_uint64),
        ("fingerprint", c_uint64),
    ]


class PairsFormat(ctypes.Structure):
    _fields_ = [
        ("query_column", c_uint32),
        ("item_column", c_uint32),
        ("label_column", c_uint32),
        ("least_label", c_float),
        ("header", c_bool),
    ]


class TowerEpoch(ctypes.Structure):
    _fields_ = [
        ("epoch", c_uint32),
        ("n_pairs", c_uint64),
        ("seconds", c_double),
        ("examples_per_second", c_double),
        ("loss", c_double),
        ("valid_loss", c_double),
        ("valid_auc", c_double),
        ("as_floats", c_bool),
        ("best", c_bool),
    ]


EpochFn = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(TowerEpoch))


class TowerTrainOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("config", TowerConfig),
        ("valid_path", c_char_p),
        ("valid_share", c_float),
        ("format", PairsFormat),
        ("n_epochs", c_uint32),
        ("patience", c_uint32),
        ("batch", c_uint32),
        ("n_negatives", c_uint32),
        ("gamma", c_float),
        ("rate", c_float),
        ("word_dropout", c_float),
        ("float_share", c_float),
        ("estimator", c_int),
        ("seed", c_uint64),
        ("resume", c_bool),
        ("on_epoch", EpochFn),
        ("on_epoch_user", c_void_p),
    ]


class TowerReport(ctypes.Structure):
    _fields_ = [
        ("n_pairs", c_uint64),
        ("n_valid", c_uint64),
        ("n_refused", c_uint64),
        ("n_grams", c_uint32),
        ("n_epochs", c_uint32),
        ("best_epoch", c_uint32),
        ("loss", c_double),
        ("valid_loss", c_double),
        ("valid_auc", c_double),
        ("examples_per_second", c_double),
    ]


class TowerQuality(ctypes.Structure):
    _fields_ = [
        ("n_good", c_uint64),
        ("n_bad", c_uint64),
        ("n_refused", c_uint64),
        ("auc", c_double),
        ("loss", c_double),
    ]


class DualConfig(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("n_embedding", c_uint32),
        ("n_hidden", c_uint32),
        ("n_dims", c_uint32),
        ("n_products", c_uint32),
        ("hits", c_bool),
    ]


class DualTrainOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("config", DualConfig),
        ("valid_path", c_char_p),
        ("valid_share", c_float),
        ("min_count", c_uint32),
        ("n_epochs", c_uint32),
        ("patience", c_uint32),
        ("batch", c_uint32),
        ("loss", c_int),
        ("value", c_int),
        ("rate", c_float),
        ("optimiser", c_int),
        ("embedding_rate", c_float),
        ("hits_rate", c_float),
        ("l1", c_float),
        ("l2", c_float),
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
        ("n_requests", c_uint64),
        ("n_valid", c_uint64),
        ("n_items", c_uint64),
        ("n_user_words", c_uint32),
        ("n_item_words", c_uint32),
        ("n_epochs", c_uint32),
        ("best_epoch", c_uint32),
        ("loss", c_double),
        ("valid_loss", c_double),
        ("valid_gauc", c_double),
        ("requests_per_second", c_double),
    ]


class DualInfo(ctypes.Structure):
    _fields_ = [
        ("config", DualConfig),
        ("n_vector", c_uint32),
        ("n_user_words", c_uint32),
        ("n_item_words", c_uint32),
        ("n_user_fields", c_uint32),
        ("n_item_fields", c_uint32),
        ("n_parameters", c_uint64),
        ("file_bytes", c_uint64),
        ("fingerprint", c_uint64),
    ]


class DualHit(ctypes.Structure):
    _fields_ = [
        ("word", c_void_p),
        ("length", c_size_t),
        ("weight", c_float),
    ]


class DualQuality(ctypes.Structure):
    _fields_ = [
        ("n_requests", c_uint64),
        ("n_ads", c_uint64),
        ("gauc", c_double),
        ("recall_5", c_double),
        ("recall_10", c_double),
        ("value_recall_5", c_double),
        ("value_recall_10", c_double),
    ]


class RecallRows(ctypes.Structure):
    _fields_ = [("ids", c_void_p), ("scores", c_void_p), ("n_columns", c_size_t)]


class Judged(ctypes.Structure):
    _fields_ = [
        ("n_queries", c_size_t),
        ("offsets", c_void_p),
        ("scores", c_void_p),
        ("labels", c_void_p),
    ]


class QualityOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("k", c_size_t),
        ("gain", c_int),
        ("discount", c_int),
        ("no_gain", c_int),
        ("short_is_zero", c_bool),
        ("ties_are_right", c_bool),
        ("relevant", c_double),
        ("largest_label", c_double),
    ]


class PairQuality(ctypes.Structure):
    _fields_ = [
        ("n_pairs", c_uint64),
        ("n_right", c_uint64),
        ("n_tied", c_uint64),
        ("accuracy", c_double),
        ("accuracy_ties_right", c_double),
    ]


class Quality(ctypes.Structure):
    _fields_ = [
        ("n_rows", c_uint64),
        ("n_queries", c_uint64),
        ("n_without_gain", c_uint64),
        ("ndcg", c_double),
        ("map", c_double),
        ("mrr", c_double),
        ("err", c_double),
        ("precision", c_double),
        ("pairs", PairQuality),
        ("pair_accuracy", c_double),
    ]


class Csr(ctypes.Structure):
    _fields_ = [
        ("starts", c_void_p),
        ("columns", c_void_p),
        ("values", c_void_p),
        ("n_rows", c_uint64),
        ("n_columns", c_uint32),
    ]


class RankingOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("without_queries", c_bool),
        ("without_comments", c_bool),
        ("cache", c_bool),
    ]


class RankingView(ctypes.Structure):
    _fields_ = [
        ("n_rows", c_uint64),
        ("n_queries", c_uint64),
        ("n_features", c_uint32),
        ("has_queries", c_bool),
        ("offsets", c_void_p),
        ("queries", c_void_p),
        ("labels", c_void_p),
        ("rows", c_void_p),
        ("dense", c_void_p),
        ("sparse", Csr),
    ]


class RankingViewRoom(ctypes.Structure):
    """The result of thr_ranking_get_view, with space for fields of later versions."""

    _fields_ = [("view", RankingView), ("room", c_char * 512)]


class RankStep(ctypes.Structure):
    _fields_ = [
        ("objective", c_double),
        ("gradient_norm", c_double),
        ("first_gradient_norm", c_double),
        ("seconds", c_double),
        ("n_products", c_uint64),
        ("step", c_uint32),
    ]


RankStepFn = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(RankStep))


class RankOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("c", c_double),
        ("epsilon", c_double),
        ("most_steps", c_uint32),
        ("method", c_int),
        ("scale", c_int),
        ("query_weights", c_void_p),
        ("start", c_void_p),
        ("row_weights", c_void_p),
        ("on_step", RankStepFn),
        ("on_step_user", c_void_p),
    ]


class RankFolds(ctypes.Structure):
    _fields_ = [
        ("cs", c_void_p),
        ("accuracies", c_void_p),
        ("n_cs", c_size_t),
        ("seed", c_uint64),
        ("n_folds", c_uint32),
    ]


class RankReport(ctypes.Structure):
    _fields_ = [
        ("objective", c_double),
        ("gradient_norm", c_double),
        ("first_gradient_norm", c_double),
        ("pairwise_accuracy", c_double),
        ("seconds", c_double),
        ("product_seconds", c_double),
        ("n_pairs", c_uint64),
        ("n_products", c_uint64),
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
        ("model", c_char_p),
        ("features_path", c_char_p),
        ("features", c_void_p),
        ("multipliers", c_void_p),
        ("offsets", c_void_p),
        ("n_values", c_uint64),
    ]


class IndexInfo(ctypes.Structure):
    _fields_ = [
        ("n_items", c_uint64),
        ("n_dims", c_uint32),
        ("metric", c_int),
        ("item_bits", c_uint32),
        ("keep", c_int),
        ("n_segments", c_uint32),
        ("format_version", c_uint32),
        ("code_bytes", c_uint64),
        ("vector_bytes", c_uint64),
        ("file_bytes", c_uint64),
        ("has_ids", c_bool),
        ("has_names", c_bool),
        ("lead_bits", c_uint32),
        ("rotated", c_bool),
        ("centred", c_bool),
        ("has_features", c_bool),
        ("tuned_queries", c_uint64),
    ]


class IndexInfoRoom(ctypes.Structure):
    """
    The result of thr_index_get_info, with space for fields of later versions; the library writes it to the caller's
    memory.
    """

    _fields_ = [("info", IndexInfo), ("room", c_char * 512)]


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
        ("certified", c_void_p),
        ("features", c_void_p),
        ("value", c_int),
        ("target", c_void_p),
        ("n_unknown", c_void_p),
        ("features_model", c_uint64),
    ]


class RadiusResult(ctypes.Structure):
    _fields_ = [
        ("n_queries", c_uint64),
        ("offsets", c_void_p),
        ("ids", c_void_p),
        ("scores", c_void_p),
    ]


class ItemFeatures(ctypes.Structure):
    _fields_ = [
        ("offsets", c_void_p),
        ("features", c_void_p),
        ("n_items", c_uint64),
    ]


class HitsBuildOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("order", c_int),
        ("ids", c_void_p),
        ("n_ids", c_uint64),
        ("multipliers", c_void_p),
        ("offsets", c_void_p),
        ("n_values", c_uint64),
        ("replace", c_bool),
        ("n_repeated", c_void_p),
        ("model", c_uint64),
    ]


class HitsInfo(ctypes.Structure):
    _fields_ = [
        ("n_items", c_uint64),
        ("n_features", c_uint32),
        ("n_postings", c_uint64),
        ("n_ids", c_uint64),
        ("n_runs", c_uint64),
        ("n_bitmaps", c_uint64),
        ("bitmap_postings", c_uint64),
        ("list_bytes", c_uint64),
        ("file_bytes", c_uint64),
        ("format_version", c_uint32),
        ("order", c_int),
        ("has_ids", c_bool),
        ("has_names", c_bool),
        ("has_words", c_bool),
        ("n_rows", c_uint64),
        ("n_added", c_uint64),
        ("n_removed", c_uint64),
        ("model", c_uint64),
    ]


class HitsInfoRoom(ctypes.Structure):
    """The result of thr_hits_get_info, with space for fields of later versions."""

    _fields_ = [("info", HitsInfo), ("room", c_char * 512)]


class HitsQueries(ctypes.Structure):
    _fields_ = [
        ("n_queries", c_uint64),
        ("offsets", c_void_p),
        ("features", c_void_p),
        ("weights", c_void_p),
    ]


class HitsSearchOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("value", c_int),
        ("filter", c_void_p),
        ("filter_bits", c_uint64),
        ("target", c_void_p),
        ("n_unknown", c_void_p),
        ("model", c_uint64),
    ]


class HitsChanges(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("n_added", c_uint64),
        ("ids", c_void_p),
        ("names", c_void_p),
        ("offsets", c_void_p),
        ("features", c_void_p),
        ("words", c_void_p),
        ("multipliers", c_void_p),
        ("item_offsets", c_void_p),
        ("n_removed", c_uint64),
        ("removed_ids", c_void_p),
        ("removed_names", c_void_p),
        ("added_path", c_char_p),
        ("removed_path", c_char_p),
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
        ("n_bands", c_uint32),
        ("n_hashes", c_uint32),
        ("n_places", c_uint32),
        ("n_planes", c_uint32),
        ("seed", c_uint64),
    ]


class HeadInfo(ctypes.Structure):
    _fields_ = [
        ("n_words", c_uint32),
        ("n_dims", c_uint32),
        ("dtype", c_int),
        ("has_bias", c_bool),
        ("has_order", c_bool),
        ("n_bands", c_uint32),
        ("n_hashes", c_uint32),
        ("n_places", c_uint32),
        ("n_codes", c_uint64),
        ("n_planes", c_uint32),
        ("weight_bytes", c_uint64),
        ("hash_bytes", c_uint64),
        ("plane_bytes", c_uint64),
        ("file_bytes", c_uint64),
        ("format_version", c_uint32),
    ]


class HeadInfoRoom(ctypes.Structure):
    """The result of thr_head_get_info, with space for fields of later versions."""

    _fields_ = [("info", HeadInfo), ("room", c_char * 512)]


class HeadQueryOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("screen", c_int),
        ("normaliser", c_int),
        ("n_frequent", c_uint32),
        ("threshold", c_uint32),
        ("combine", c_int),
        ("n_shortlist", c_uint32),
        ("group", c_uint64),
        ("always", c_void_p),
        ("n_always", c_uint64),
        ("n_candidates", c_void_p),
        ("times", c_void_p),
        ("used", c_void_p),
        ("certified", c_void_p),
    ]


class HeadAnswers(ctypes.Structure):
    _fields_ = [("words", c_void_p), ("logits", c_void_p), ("log_probs", c_void_p)]


class HeadRecall(ctypes.Structure):
    _fields_ = [
        ("recall", c_double),
        ("worst", c_double),
        ("candidates", c_double),
    ]


class HeadLoss(ctypes.Structure):
    _fields_ = [
        ("recall", c_double),
        ("worst", c_double),
        ("first", c_double),
        ("candidates", c_double),
        ("log_prob_error", c_double),
    ]


class TranslatorOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("head", c_char_p),
        ("build", c_void_p),
        ("query", c_void_p),
        ("beam", c_uint32),
        ("n_best", c_uint32),
        ("penalty", c_int),
        ("stop", c_int),
        ("alpha", c_double),
        ("length_ratio", c_double),
        ("length_extra", c_uint32),
        ("max_length", c_uint32),
        ("max_source", c_uint32),
        ("batch", c_uint32),
        ("unknown", c_bool),
        ("replace_unk", c_bool),
        ("on_states", c_void_p),
        ("on_states_user", c_void_p),
    ]


class Translation(ctypes.Structure):
    _fields_ = [
        ("text", c_char_p),
        ("words", c_char_p),
        ("n_words", c_uint32),
        ("ended", c_bool),
        ("log_prob", c_double),
        ("score", c_double),
    ]


class TranslatorTimes(ctypes.Structure):
    _fields_ = [
        ("encoder", c_double),
        ("layers", c_double),
        ("attention", c_double),
        ("head", c_double),
        ("expansion", c_double),
        ("reorder", c_double),
    ]


class Translations(ctypes.Structure):
    _fields_ = [
        ("n_texts", c_uint64),
        ("first_of", ctypes.POINTER(c_uint64)),
        ("translations", ctypes.POINTER(Translation)),
        ("n_source_words", c_uint64),
        ("n_unknown", c_uint64),
        ("n_words", c_uint64),
        ("n_steps", c_uint64),
        ("n_states", c_uint64),
        ("times", TranslatorTimes),
    ]

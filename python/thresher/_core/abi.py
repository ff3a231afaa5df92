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
_ERRORS = (
    "EINVAL ENOMEM EIO EFORMAT ECORRUPT EVERSION EDIM ERANGE ENOTFOUND "
    "EEXIST EUNSUPPORTED ECANCELED ECHANGED EDUPLICATE ENOSPACE EDEVICE EMISMATCH EBUSY"
)
STATUS = {name: -i for i, name in enumerate(_ERRORS.split(), 1)}
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
RANK_METHOD = {"line_search": 0, "trust_region": 1, "sweep": 2}
RANK_SCALE = {"pair": 0, "query": 1, "mean": 2}
RANK_TASK = {"evaluate": 0, "product": 1, "count": 2, "scales": 3, "matrix": 4}
RANK_MAX_CHUNKS = 256
CONVENTION = {"letor": 0, "lightgbm": 1, "xgboost": 2, "xgboost_minus": 3}
HEAD_SCREEN = {"full": 0, "frequent": 1, "wta": 2, "planes": 3, "auto": 4, "align": 5}
HEAD_NORMALISER = {"candidates": 0, "exact": 1, "sampled": 2}
HEAD_COMBINE = {"largest": 0, "sum": 1}
HEAD_AUTO = 2**32 - 1
BEAM_PENALTY = {"none": 0, "wu": 1, "length": 2}
BEAM_STOP = {"exact": 0, "enough": 1}
BEAM_NO_WORD = 2**32 - 1
BEAM_MAX_LENGTH = 2**20
BLEU_TOKENISER = {"13a": 0, "none": 1}
BLEU_SMOOTHING = {"exp": 0, "none": 1, "floor": 2, "add-k": 3}
BLEU_ORDER = 4
BLEU_SIGNATURE_SIZE = 128
HITS_MAX_FEATURE = 2**28 - 1
_DTYPES = "none float32 float16 int8 uint8 float64 int32 uint32 int64 uint64 bfloat16"
DTYPE = {name: i for i, name in enumerate(_DTYPES.split())}
DTYPE_NAME = {number: name for name, number in DTYPE.items()}
HEAD_DTYPE = {name: DTYPE[name] for name in ("float32", "float16", "bfloat16", "int8")}
"""What weights may be kept as."""

ProgressFn = ctypes.CFUNCTYPE(c_bool, c_void_p, c_char_p, c_uint64, c_uint64)
RowsFn = ctypes.CFUNCTYPE(c_uint64, c_void_p, c_uint64, c_uint64, c_void_p)


_KINDS: dict[str, Any] = {
    "bool": c_bool,
    "char": c_char,
    "char*": c_char_p,
    "double": c_double,
    "float": c_float,
    "int": c_int,
    "size_t": c_size_t,
    "uint32": c_uint32,
    "uint64": c_uint64,
    "void*": c_void_p,
}


def _kind(name: str) -> Any:
    """The type of fields: a key of _KINDS, a name of this module, or either with "*" or "[length]" after it."""
    if name in _KINDS:
        return _KINDS[name]
    if name.endswith("*"):
        return ctypes.POINTER(_kind(name[:-1]))
    if name.endswith("]"):
        element, length = name[:-1].split("[")
        return _kind(element) * int(globals().get(length, length))
    return globals()[name]


def layout(declarations: str) -> list[tuple[str, Any]]:
    """_fields_ of declarations like those in C: "uint32 n_rows n_dims; void* data" has three fields."""
    return [(name, _kind(kind)) for kind, *names in map(str.split, declarations.split(";")) for name in names]


def with_room(name: str, kind: type[ctypes.Structure]) -> type[ctypes.Structure]:
    """A struct that a function returns, with space for fields of later versions: the library writes to our memory."""
    return type(f"{kind.__name__}Room", (ctypes.Structure,), {"_fields_": [(name, kind), ("room", c_char * 512)]})


class Error(ctypes.Structure):
    _fields_ = layout("int status; char[ERROR_TEXT_SIZE] text")


class ContextOptions(ctypes.Structure):
    _fields_ = layout(
        "size_t size; void* allocate release allocator_user; uint32 n_threads; int isa; ProgressFn progress; "
        "void* progress_user; char* device"
    )


class DeviceInfo(ctypes.Structure):
    _fields_ = layout(
        "uint32 number; char[DEVICE_NAME_SIZE] name; uint32 major minor n_multiprocessors; "
        "uint64 memory_bytes free_bytes; uint32 driver runtime"
    )


class Matrix(ctypes.Structure):
    _fields_ = layout("void* data; uint64 n_rows; uint32 n_dims; int dtype; size_t stride")


class ReaderShape(ctypes.Structure):
    _fields_ = layout("uint64 n_rows; uint32 n_dims; int dtype; bool seekable")


class TowerConfig(ctypes.Structure):
    _fields_ = layout(
        "size_t size; uint32 n_dims n_pooled query_bits item_bits max_grams max_words; "
        "bool shared_words shared_steps plain_weights; uint32 n_inputs"
    )


class TowerInfo(ctypes.Structure):
    _fields_ = layout("TowerConfig config; uint32 n_grams; uint64 n_parameters file_bytes fingerprint")


class PairsFormat(ctypes.Structure):
    _fields_ = layout("uint32 query_column item_column label_column; float least_label; bool header")


class TowerEpoch(ctypes.Structure):
    _fields_ = layout(
        "uint32 epoch; uint64 n_pairs; double seconds examples_per_second loss valid_loss valid_auc; "
        "bool as_floats best"
    )


EpochFn = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(TowerEpoch))


class TowerTrainOptions(ctypes.Structure):
    _fields_ = layout(
        "size_t size; TowerConfig config; char* valid_path; float valid_share; PairsFormat format; "
        "uint32 n_epochs patience batch n_negatives; float gamma rate word_dropout float_share; int estimator; "
        "uint64 seed; bool resume; EpochFn on_epoch; void* on_epoch_user; float teacher_share teacher_gamma noise"
    )


class TowerReport(ctypes.Structure):
    _fields_ = layout(
        "uint64 n_pairs n_valid n_refused; uint32 n_grams n_epochs best_epoch; "
        "double loss valid_loss valid_auc examples_per_second"
    )


class TowerQuality(ctypes.Structure):
    _fields_ = layout("uint64 n_good n_bad n_refused; double auc loss")


class DualConfig(ctypes.Structure):
    _fields_ = layout("size_t size; uint32 n_embedding n_hidden n_dims n_products; bool hits")


class DualTrainOptions(ctypes.Structure):
    _fields_ = layout(
        "size_t size; DualConfig config; char* valid_path; float valid_share; "
        "uint32 min_count n_epochs patience batch; int loss value; float rate; int optimiser; "
        "float embedding_rate hits_rate l1 l2; uint64 seed; bool resume; EpochFn on_epoch; void* on_epoch_user; "
        "float adam_beta1 adam_beta2 adam_epsilon"
    )


class DualReport(ctypes.Structure):
    _fields_ = layout(
        "uint64 n_requests n_valid n_items; uint32 n_user_words n_item_words n_epochs best_epoch; "
        "double loss valid_loss valid_gauc requests_per_second"
    )


class DualInfo(ctypes.Structure):
    _fields_ = layout(
        "DualConfig config; uint32 n_vector n_user_words n_item_words n_user_fields n_item_fields; "
        "uint64 n_parameters file_bytes fingerprint"
    )


class DualHit(ctypes.Structure):
    _fields_ = layout("void* word; size_t length; float weight")


class DualQuality(ctypes.Structure):
    _fields_ = layout("uint64 n_requests n_ads; double gauc recall_5 recall_10 value_recall_5 value_recall_10")


class RecallRows(ctypes.Structure):
    _fields_ = layout("void* ids scores; size_t n_columns")


class Judged(ctypes.Structure):
    _fields_ = layout("size_t n_queries; void* offsets scores labels")


class QualityOptions(ctypes.Structure):
    _fields_ = layout(
        "size_t size k; int gain discount no_gain; bool short_is_zero ties_are_right; double relevant largest_label"
    )


class PairQuality(ctypes.Structure):
    _fields_ = layout("uint64 n_pairs n_right n_tied; double accuracy accuracy_ties_right")


class Quality(ctypes.Structure):
    _fields_ = layout(
        "uint64 n_rows n_queries n_without_gain; double ndcg map mrr err precision; PairQuality pairs; "
        "double pair_accuracy"
    )


class Csr(ctypes.Structure):
    _fields_ = layout("void* starts columns values; uint64 n_rows; uint32 n_columns")


class RankingOptions(ctypes.Structure):
    _fields_ = layout("size_t size; bool without_queries without_comments cache")


class RankingView(ctypes.Structure):
    _fields_ = layout(
        "uint64 n_rows n_queries; uint32 n_features; bool has_queries; void* offsets queries labels rows dense; "
        "Csr sparse"
    )


RankingViewRoom = with_room("view", RankingView)


class RankStep(ctypes.Structure):
    _fields_ = layout("double objective gradient_norm first_gradient_norm seconds; uint64 n_products; uint32 step")


RankStepFn = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(RankStep))


class RankOptions(ctypes.Structure):
    _fields_ = layout(
        "size_t size; double c epsilon; uint32 most_steps; int method scale; void* query_weights start row_weights; "
        "RankStepFn on_step; void* on_step_user"
    )


class RankFolds(ctypes.Structure):
    _fields_ = layout("void* cs accuracies; size_t n_cs; uint64 seed; uint32 n_folds")


class RankSpan(ctypes.Structure):
    _fields_ = layout("size_t first end n_all; void* starts")


class RankRequest(ctypes.Structure):
    _fields_ = layout("int task; bool sweep diagonal; void* v costs; uint64 query_step row_step")


RankRunFn = ctypes.CFUNCTYPE(c_int, c_void_p, ctypes.POINTER(RankRequest), c_void_p, c_void_p)


class RankParts(ctypes.Structure):
    _fields_ = layout(
        "uint64 n_queries; uint32 n_features; void* offsets n_pairs pair_weights firsts; size_t n_parts; "
        "RankRunFn run; void* user"
    )


class RankReport(ctypes.Structure):
    _fields_ = layout(
        "double objective gradient_norm first_gradient_norm pairwise_accuracy seconds product_seconds; "
        "uint64 n_pairs n_products; uint32 n_steps; bool converged"
    )


class IndexBuildOptions(ctypes.Structure):
    _fields_ = layout(
        "size_t size; int metric; uint32 item_bits; int keep; void* ids; uint64 n_ids; char* ids_path; bool replace; "
        "uint32 sample_rows; uint64 segment_rows; uint32 lead_bits; int rotate; uint64 calibration_queries; "
        "char* model features_path; void* features multipliers offsets; uint64 n_values; char* quantiser_from; uint32 cells"
    )


class IndexInfo(ctypes.Structure):
    _fields_ = layout(
        "uint64 n_items; uint32 n_dims; int metric; uint32 item_bits; int keep; uint32 n_segments format_version; "
        "uint64 code_bytes vector_bytes file_bytes; bool has_ids has_names; uint32 lead_bits; "
        "bool rotated centred has_features; uint64 tuned_queries"
    )


class IndexCreateOptions(ctypes.Structure):
    _fields_ = layout("size_t size; uint32 n_dims; int metric; uint32 item_bits; int keep; uint32 lead_bits; bool names replace")


class IndexAddOptions(ctypes.Structure):
    _fields_ = layout(
        "size_t size; void* ids; uint64 n_ids; char* ids_path; bool replace; char* features_path; "
        "void* features multipliers offsets; uint64 n_values"
    )


class IndexChange(ctypes.Structure):
    _fields_ = layout("uint64 n_added n_removed first_id n_items n_commits")


class IndexCells(ctypes.Structure):
    _fields_ = layout("uint32 n_cells smallest largest; uint64 n_items")


IndexInfoRoom = with_room("info", IndexInfo)


class SearchOptions(ctypes.Structure):
    _fields_ = layout(
        "size_t size; uint32 query_bits; uint64 n_candidates; float extra; bool exact; void* filter; "
        "uint64 filter_bits; float recall; uint64 n_survivors; void* certified features; int value; "
        "void* target n_unknown; uint64 features_model; void* least_scores n_read"
    )
    kept_least: Any = None
    kept_read: Any = None


class RadiusResult(ctypes.Structure):
    _fields_ = layout("uint64 n_queries; void* offsets ids scores")


class ItemFeatures(ctypes.Structure):
    _fields_ = layout("void* offsets features; uint64 n_items")


class HitsBuildOptions(ctypes.Structure):
    _fields_ = layout(
        "size_t size; int order; void* ids; uint64 n_ids; void* multipliers offsets; uint64 n_values; bool replace; "
        "void* n_repeated; uint64 model"
    )


class HitsInfo(ctypes.Structure):
    _fields_ = layout(
        "uint64 n_items; uint32 n_features; "
        "uint64 n_postings n_ids n_runs n_bitmaps bitmap_postings list_bytes file_bytes; uint32 format_version; "
        "int order; bool has_ids has_names has_words; uint64 n_rows n_added n_removed model"
    )


HitsInfoRoom = with_room("info", HitsInfo)


class HitsQueries(ctypes.Structure):
    _fields_ = layout("uint64 n_queries; void* offsets features weights")


class HitsSearchOptions(ctypes.Structure):
    _fields_ = layout("size_t size; int value; void* filter; uint64 filter_bits; void* target n_unknown; uint64 model")


class HitsChanges(ctypes.Structure):
    _fields_ = layout(
        "size_t size; uint64 n_added; void* ids names offsets features words multipliers item_offsets; "
        "uint64 n_removed; void* removed_ids removed_names; char* added_path removed_path; void* n_missing"
    )


class HeadBuildOptions(ctypes.Structure):
    _fields_ = layout(
        "size_t size; int dtype; void* bias; uint64 n_bias; void* frequent; uint64 n_frequent; "
        "uint32 n_bands n_hashes n_places n_planes; uint64 seed"
    )


class HeadInfo(ctypes.Structure):
    _fields_ = layout(
        "uint32 n_words n_dims; int dtype; bool has_bias has_order; uint32 n_bands n_hashes n_places; "
        "uint64 n_codes; uint32 n_planes; uint64 weight_bytes hash_bytes plane_bytes file_bytes; "
        "uint32 format_version"
    )


HeadInfoRoom = with_room("info", HeadInfo)


class HeadQueryOptions(ctypes.Structure):
    _fields_ = layout(
        "size_t size; int screen normaliser; uint32 n_frequent threshold; int combine; uint32 n_shortlist; "
        "uint64 group; void* always; uint64 n_always; void* n_candidates times used certified lists"
    )


class HeadWordLists(ctypes.Structure):
    _fields_ = layout("uint64 n; void* starts words")


class HeadAnswers(ctypes.Structure):
    _fields_ = layout("void* words logits log_probs")


class HeadRecall(ctypes.Structure):
    _fields_ = layout("double recall worst candidates")


class HeadLoss(ctypes.Structure):
    _fields_ = layout("double recall worst first candidates log_prob_error")


class AlignOptions(ctypes.Structure):
    _fields_ = layout("size_t size; uint32 n_iterations n_best; double min_probability")


class AlignReport(ctypes.Structure):
    _fields_ = layout(
        "uint64 n_pairs n_skipped; uint32 n_source_words n_target_words; uint64 n_entries n_written; double perplexity"
    )


class TranslatorOptions(ctypes.Structure):
    _fields_ = layout(
        "size_t size; char* head; void* build query; uint32 beam n_best; int penalty stop; "
        "double alpha length_ratio; uint32 length_extra max_length max_source batch; bool unknown replace_unk; "
        "void* on_states on_states_user; char* alignment; uint32 n_aligned"
    )


class Translation(ctypes.Structure):
    _fields_ = layout("char* text words; uint32 n_words; bool ended; double log_prob score")


class TranslatorTimes(ctypes.Structure):
    _fields_ = layout("double encoder layers attention head expansion reorder")


class Translations(ctypes.Structure):
    _fields_ = layout(
        "uint64 n_texts; uint64* first_of; Translation* translations; "
        "uint64 n_source_words n_unknown n_words n_steps n_states; TranslatorTimes times"
    )


DecoderStart = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint64, c_void_p)
DecoderStep = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_uint64, c_void_p, c_void_p)
DecoderReorder = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_uint64, c_void_p)


class Decoder(ctypes.Structure):
    _fields_ = layout("void* self; DecoderStart start; DecoderStep step; DecoderReorder reorder")


class BeamOptions(ctypes.Structure):
    _fields_ = layout(
        "size_t size; uint32 beam n_best start_word end_word min_length max_length; int penalty stop; double alpha; "
        "void* never; uint64 n_never; void* query"
    )


class BeamResult(ctypes.Structure):
    _fields_ = layout(
        "uint64 n_sentences n_sequences; void* first_of offsets words word_log_probs log_probs scores ended; "
        "uint64 n_steps n_states; double head_seconds expand_seconds reorder_seconds"
    )


class BleuTexts(ctypes.Structure):
    _fields_ = layout("uint64 n; void* offsets; char* bytes")


class BleuOptions(ctypes.Structure):
    _fields_ = layout("size_t size; int tokeniser smoothing; double smoothing_value; bool lower_case effective_order")


class BleuScore(ctypes.Structure):
    _fields_ = layout(
        "double bleu; double[BLEU_ORDER] precisions; double brevity_penalty; "
        "uint64 n_sentences hypothesis_length reference_length; uint64[BLEU_ORDER] counts totals"
    )

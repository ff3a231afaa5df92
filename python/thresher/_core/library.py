# SPDX-License-Identifier: Apache-2.0
"""The shared library: load it, check it against abi.py, declare its functions."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_bool, c_char_p, c_double, c_float, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, TypeVar

from . import abi

# The names this package calls: what they return, and what they take.
_ERR = c_void_p  # thr_error *: byref() of one
_PROTOTYPES: dict[str, tuple[object, list[object]]] = {
    "thr_version": (c_char_p, []),
    "thr_build_features": (c_char_p, []),
    "thr_isa_name": (c_char_p, [c_int]),
    "thr_guard_files": (c_int, [_ERR]),
    "thr_context_create": (c_int, [c_void_p, POINTER(c_void_p), _ERR]),
    "thr_context_isa": (c_int, [c_void_p]),
    "thr_context_threads": (c_uint32, [c_void_p]),
    "thr_context_device": (c_char_p, [c_void_p]),
    "thr_device_count": (c_int, [POINTER(c_uint32), _ERR]),
    "thr_device_describe": (c_int, [c_uint32, c_void_p, _ERR]),
    "thr_reader_open": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), _ERR]),
    "thr_reader_from_matrix": (c_int, [c_void_p, c_void_p, POINTER(c_void_p), _ERR]),
    "thr_reader_from_function": (
        c_int,
        [c_void_p, c_uint64, c_uint32, abi.RowsFn, c_void_p, POINTER(c_void_p), _ERR],
    ),
    "thr_reader_get_shape": (abi.ReaderShape, [c_void_p]),
    "thr_tower_open": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), _ERR]),
    "thr_tower_get_info": (abi.TowerInfo, [c_void_p]),
    "thr_tower_packed_size": (c_uint32, [c_void_p, c_int]),
    "thr_tower_encode": (c_int, [c_void_p, c_int, c_void_p, c_void_p, c_size_t, c_void_p, _ERR]),
    "thr_tower_train": (c_int, [c_void_p, c_char_p, c_char_p, c_void_p, c_void_p, _ERR]),
    "thr_tower_train_options_init_vectors": (None, [c_void_p, c_bool]),
    "thr_tower_train_vectors": (c_int, [c_void_p, c_void_p, c_void_p, c_char_p, c_void_p, c_void_p, _ERR]),
    "thr_tower_encode_vectors": (c_int, [c_void_p, c_int, c_void_p, c_void_p, _ERR]),
    "thr_tower_eval": (c_int, [c_void_p, c_char_p, c_void_p, c_void_p, _ERR]),
    "thr_tower_reader": (c_int, [c_void_p, c_int, c_void_p, POINTER(c_void_p), _ERR]),
    "thr_dual_reader": (c_int, [c_void_p, c_int, c_void_p, POINTER(c_void_p), _ERR]),
    "thr_dual_probe": (c_int, [c_void_p, c_char_p, POINTER(c_bool), _ERR]),
    "thr_dual_open": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), _ERR]),
    "thr_dual_get_info": (abi.DualInfo, [c_void_p]),
    "thr_dual_encode": (c_int, [c_void_p, c_int, c_void_p, c_void_p, c_size_t, c_void_p, _ERR]),
    "thr_dual_hits": (c_int, [c_void_p, c_char_p, c_size_t, c_void_p, c_size_t, POINTER(c_size_t), _ERR]),
    "thr_dual_train": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, c_void_p, c_void_p, _ERR]),
    "thr_dual_eval": (c_int, [c_void_p, c_char_p, c_char_p, c_void_p, _ERR]),
    "thr_index_build": (c_int, [c_void_p, c_char_p, c_void_p, c_void_p, _ERR]),
    "thr_index_open": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), _ERR]),
    "thr_index_get_info": (abi.IndexInfoRoom, [c_void_p]),
    "thr_index_tower": (c_void_p, [c_void_p]),
    "thr_index_dual": (c_void_p, [c_void_p]),
    "thr_index_hits": (c_void_p, [c_void_p]),
    "thr_index_get_cells": (abi.IndexCells, [c_void_p]),
    "thr_index_quantiser_fingerprint": (c_uint64, [c_void_p]),
    "thr_index_verify": (c_int, [c_void_p, _ERR]),
    "thr_index_name": (c_char_p, [c_void_p, c_uint64]),
    "thr_index_row_ids": (c_int, [c_void_p, c_uint64, c_size_t, c_void_p, _ERR]),
    "thr_index_row": (c_bool, [c_void_p, c_uint64, POINTER(c_uint64)]),
    "thr_index_find": (c_int, [c_void_p, c_char_p, POINTER(c_uint64), _ERR]),
    "thr_index_vector": (c_int, [c_void_p, c_uint64, c_void_p, _ERR]),
    "thr_index_tune": (c_int, [c_void_p, c_void_p, _ERR]),
    "thr_index_create": (c_int, [c_void_p, c_char_p, c_void_p, _ERR]),
    "thr_index_writer_open": (c_int, [c_void_p, c_char_p, c_void_p, POINTER(c_void_p), _ERR]),
    "thr_index_writer_add": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, _ERR]),
    "thr_index_writer_upsert": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, _ERR]),
    "thr_index_writer_remove": (c_int, [c_void_p, c_void_p, c_uint64, c_void_p, _ERR]),
    "thr_index_writer_flush": (c_int, [c_void_p, _ERR]),
    "thr_index_writer_compact": (c_int, [c_void_p, c_void_p, _ERR]),
    "thr_index_writer_recode": (c_int, [c_void_p, c_void_p, _ERR]),
    "thr_index_add": (c_int, [c_void_p, c_char_p, c_void_p, c_void_p, c_void_p, _ERR]),
    "thr_index_remove": (c_int, [c_void_p, c_char_p, c_void_p, c_uint64, c_void_p, _ERR]),
    "thr_index_compact": (c_int, [c_void_p, c_char_p, c_void_p, _ERR]),
    "thr_index_recode": (c_int, [c_void_p, c_char_p, c_void_p, _ERR]),
    "thr_index_code_error": (c_int, [c_void_p, POINTER(c_float), POINTER(c_float), _ERR]),
    "thr_index_refresh": (c_int, [c_void_p, POINTER(c_void_p), _ERR]),
    "thr_index_n_rows": (c_uint64, [c_void_p]),
    "thr_index_n_commits": (c_uint64, [c_void_p]),
    "thr_index_n_removed": (c_uint64, [c_void_p]),
    "thr_index_rows": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p, _ERR]),
    "thr_index_find_many": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p, _ERR]),
    "thr_index_vectors": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p, _ERR]),
    "thr_search_candidates": (c_uint64, [c_uint64]),
    "thr_index_search": (c_int, [c_void_p, c_void_p, c_uint64, c_void_p, c_void_p, c_void_p, _ERR]),
    "thr_index_search_radius": (c_int, [c_void_p, c_void_p, c_float, c_void_p, POINTER(c_void_p), _ERR]),
    "thr_bitmap_count": (c_uint64, [c_void_p, c_uint64]),
    "thr_bitmap_from_rows": (c_int, [c_void_p, c_size_t, c_uint64, c_void_p, _ERR]),
    "thr_bitmap_from_roaring": (c_int, [c_char_p, c_size_t, c_uint64, c_void_p, _ERR]),
    "thr_bitmap_from_ids": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p, _ERR]),
    "thr_bitmap_from_roaring_ids": (c_int, [c_void_p, c_char_p, c_size_t, c_void_p, _ERR]),
    "thr_hits_build": (c_int, [c_void_p, c_char_p, c_void_p, c_void_p, _ERR]),
    "thr_hits_build_table": (c_int, [c_void_p, c_char_p, c_char_p, c_void_p, _ERR]),
    "thr_hits_open": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), _ERR]),
    "thr_hits_get_info": (abi.HitsInfoRoom, [c_void_p]),
    "thr_hits_verify": (c_int, [c_void_p, _ERR]),
    "thr_hits_feature": (c_bool, [c_void_p, c_char_p, POINTER(c_uint32)]),
    "thr_hits_name": (c_char_p, [c_void_p, c_uint64]),
    "thr_hits_row": (c_bool, [c_void_p, c_uint64, POINTER(c_uint64)]),
    "thr_hits_find": (c_bool, [c_void_p, c_char_p, POINTER(c_uint64)]),
    "thr_hits_set_values": (c_int, [c_void_p, c_void_p, c_void_p, c_uint64, _ERR]),
    "thr_hits_update": (c_int, [c_void_p, c_void_p, POINTER(c_void_p), _ERR]),
    "thr_hits_target_create": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), _ERR]),
    "thr_hits_target_unknown": (c_char_p, [c_void_p, c_size_t]),
    "thr_hits_target_count": (c_uint64, [c_void_p]),
    "thr_hits_search": (c_int, [c_void_p, c_void_p, c_uint64, c_void_p, c_void_p, c_void_p, _ERR]),
    "thr_hits_explain": (c_int, [c_void_p, c_uint64, c_void_p, c_uint64, c_void_p, c_void_p, _ERR]),
    "thr_head_create": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, _ERR]),
    "thr_head_create_file": (c_int, [c_void_p, c_char_p, c_char_p, c_void_p, c_void_p, _ERR]),
    "thr_head_save": (c_int, [c_void_p, c_char_p, c_bool, _ERR]),
    "thr_head_open": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), _ERR]),
    "thr_head_verify": (c_int, [c_void_p, _ERR]),
    "thr_head_get_info": (abi.HeadInfoRoom, [c_void_p]),
    "thr_head_query": (c_int, [c_void_p, c_void_p, c_uint32, c_void_p, c_void_p, _ERR]),
    "thr_head_measure": (c_int, [c_void_p, c_void_p, c_uint32, c_void_p, c_void_p, _ERR]),
    "thr_head_compare": (c_int, [c_void_p, c_void_p, c_void_p, c_uint32, c_void_p, c_void_p, _ERR]),
    "thr_quality_options_init": (None, [c_void_p, c_int]),
    "thr_ndcg": (c_int, [c_void_p, c_void_p, POINTER(c_double), c_void_p, _ERR]),
    "thr_rank_quality": (c_int, [c_void_p, c_void_p, c_void_p, _ERR]),
    "thr_ranking_open": (c_int, [c_void_p, c_char_p, c_void_p, POINTER(c_void_p), _ERR]),
    "thr_ranking_get_view": (abi.RankingViewRoom, [c_void_p]),
    "thr_ranking_from_matrix": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, POINTER(c_void_p), _ERR]),
    "thr_ranking_from_csr": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, POINTER(c_void_p), _ERR]),
    "thr_rank_train": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(c_void_p), c_void_p, _ERR]),
    "thr_rank_train_parts": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(c_void_p), c_void_p, _ERR]),
    "thr_rank_chunks": (c_size_t, [c_void_p, c_void_p, c_uint64, c_uint32, c_void_p]),
    "thr_rank_part_create": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, POINTER(c_void_p), _ERR]),
    "thr_rank_part_queries": (None, [c_void_p, c_void_p, c_void_p]),
    "thr_rank_part_output_size": (c_size_t, [c_void_p, c_void_p]),
    "thr_rank_part_run": (c_int, [c_void_p, c_void_p, c_void_p, _ERR]),
    "thr_rank_cross_validate": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, _ERR]),
    "thr_rank_model_open": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), _ERR]),
    "thr_rank_model_save": (c_int, [c_void_p, c_char_p, _ERR]),
    "thr_rank_model_from_weights": (c_int, [c_void_p, c_void_p, c_uint32, POINTER(c_void_p), _ERR]),
    "thr_rank_model_n_features": (c_uint32, [c_void_p]),
    "thr_rank_model_weights": (c_void_p, [c_void_p]),
    "thr_rank_model_rerank": (
        c_int,
        [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, _ERR],
    ),
    "thr_beam_options_init": (None, [c_void_p, c_uint32, c_uint32]),
    "thr_beam_create": (c_int, [c_void_p, c_void_p, c_void_p, _ERR]),
    "thr_beam_search": (c_int, [c_void_p, c_void_p, c_uint64, c_void_p, c_void_p, _ERR]),
    "thr_bleu": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, _ERR]),
    "thr_bleu_signature": (c_int, [c_void_p, c_size_t, c_char_p, _ERR]),
    "thr_align_train": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, c_void_p, c_void_p, _ERR]),
    "thr_translator_open": (c_int, [c_void_p, c_char_p, c_void_p, POINTER(c_void_p), _ERR]),
    "thr_translator_translate": (c_int, [c_void_p, c_void_p, c_void_p, c_uint64, c_void_p, _ERR]),
    "thr_words_split": (c_size_t, [c_char_p, c_size_t, c_void_p, c_size_t]),
    "thr_words_join": (c_size_t, [c_char_p, c_size_t, c_void_p, c_size_t]),
    "thr_recall": (c_int, [c_void_p, c_void_p, c_size_t, c_size_t, POINTER(c_double), _ERR]),
}

# Structs that begin with their size, by the function that fills them.
_SIZED: dict[str, type[ctypes.Structure]] = {
    "thr_context_options_init": abi.ContextOptions,
    "thr_tower_train_options_init": abi.TowerTrainOptions,
    "thr_dual_train_options_init": abi.DualTrainOptions,
    "thr_ranking_options_init": abi.RankingOptions,
    "thr_rank_options_init": abi.RankOptions,
    "thr_bleu_options_init": abi.BleuOptions,
    "thr_index_build_options_init": abi.IndexBuildOptions,
    "thr_index_create_options_init": abi.IndexCreateOptions,
    "thr_index_add_options_init": abi.IndexAddOptions,
    "thr_search_options_init": abi.SearchOptions,
    "thr_hits_build_options_init": abi.HitsBuildOptions,
    "thr_hits_search_options_init": abi.HitsSearchOptions,
    "thr_hits_changes_init": abi.HitsChanges,
    "thr_head_build_options_init": abi.HeadBuildOptions,
    "thr_head_query_options_init": abi.HeadQueryOptions,
    "thr_align_options_init": abi.AlignOptions,
    "thr_translator_options_init": abi.TranslatorOptions,
}

# Objects that the library frees: thr_NAME_free.
_FREED = "context reader tower dual index index_writer radius_result hits hits_target head ranking rank_model rank_part beam translator"
_PROTOTYPES.update((name, (None, [c_void_p])) for name in (*_SIZED, *(f"thr_{name}_free" for name in _FREED.split())))


def _candidates() -> list[str]:
    """Possible places of the library, best first. $THRESHER_LIBRARY, if set, is the only one."""
    named = os.environ.get("THRESHER_LIBRARY")
    if named:
        return [os.path.join(named, "libthresher.so") if os.path.isdir(named) else named]
    return [str(Path(__file__).parent.with_name("libthresher.so")), "libthresher.so.0"]


def _load() -> tuple[ctypes.CDLL, str]:
    failures = []
    for place in _candidates():
        try:
            return ctypes.CDLL(place), place
        except OSError as failure:
            failures.append(str(failure))
    raise ImportError(
        "libthresher.so cannot be loaded: install the package with pip, or name the library in THRESHER_LIBRARY ("
        + "; ".join(failures)
        + ")"
    )


def _declare(library: ctypes.CDLL, place: str) -> None:
    for name, (result, arguments) in _PROTOTYPES.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{place} has no {name}: it is of another version than this package") from None
        function.restype = result
        function.argtypes = arguments


def _check_sizes(library: ctypes.CDLL, place: str) -> None:
    """Check struct sizes. Structs only grow at their end, so the library's may be larger than ours, never smaller."""
    room = (ctypes.c_size_t * 512)()
    for name, struct in _SIZED.items():
        getattr(library, name)(room)
        if room[0] < ctypes.sizeof(struct):
            raise ImportError(
                f"{place}: {name} fills {room[0]} bytes where this package has {ctypes.sizeof(struct)}: "
                "it is of an older version than this package"
            )


_MADE_FROM: dict[str, type[ctypes.Structure]] = {
    "thr_beam_options_init": abi.BeamOptions,
    "thr_quality_options_init": abi.QualityOptions,
    "thr_tower_train_options_init_vectors": abi.TowerTrainOptions,
}
"""Those whose function takes further arguments."""


def defaults(init: str, *arguments: int) -> Any:
    """A struct of options with the library's defaults, and the size of this package's struct."""
    struct = _MADE_FROM[init] if arguments else _SIZED[init]
    room = (ctypes.c_size_t * 512)()
    getattr(lib, init)(room, *arguments)
    made = struct.from_buffer_copy(room)
    made.size = ctypes.sizeof(struct)
    return made


_Tuple = TypeVar("_Tuple")


def read(kind: type[_Tuple], *structs: Any, **others: Any) -> _Tuple:
    """The NamedTuple `kind` of others, and of the fields of the first struct that has one by the name."""
    named: Any = kind
    own = [name for name in named._fields if name not in others]
    return kind(**{name: next(getattr(s, name) for s in structs if hasattr(s, name)) for name in own}, **others)


lib, path = _load()
_declare(lib, path)
_check_sizes(lib, path)

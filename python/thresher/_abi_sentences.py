# SPDX-License-Identifier: Apache-2.0
"""The numbers and structs of beam search and BLEU; _abi has the others."""

from __future__ import annotations

import ctypes
from ctypes import c_bool, c_char_p, c_double, c_int, c_size_t, c_uint32, c_uint64, c_void_p

BEAM_PENALTY = {"none": 0, "wu": 1, "length": 2}
BEAM_STOP = {"exact": 0, "enough": 1}
BEAM_NO_WORD = 2**32 - 1
BEAM_MAX_LENGTH = 2**20
BLEU_TOKENISER = {"13a": 0, "none": 1}
BLEU_SMOOTHING = {"exp": 0, "none": 1, "floor": 2, "add-k": 3}
BLEU_ORDER = 4
BLEU_SIGNATURE_SIZE = 128

DecoderStart = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint64, c_void_p)
DecoderStep = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_uint64, c_void_p, c_void_p)
DecoderReorder = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_uint64, c_void_p)


class Decoder(ctypes.Structure):
    _fields_ = [
        ("self", c_void_p),
        ("start", DecoderStart),
        ("step", DecoderStep),
        ("reorder", DecoderReorder),
    ]


class BeamOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("beam", c_uint32),
        ("n_best", c_uint32),
        ("start_word", c_uint32),
        ("end_word", c_uint32),
        ("min_length", c_uint32),
        ("max_length", c_uint32),
        ("penalty", c_int),
        ("stop", c_int),
        ("alpha", c_double),
        ("never", c_void_p),
        ("n_never", c_uint64),
        ("query", c_void_p),
    ]


class BeamResult(ctypes.Structure):
    _fields_ = [
        ("n_sentences", c_uint64),
        ("n_sequences", c_uint64),
        ("first_of", c_void_p),
        ("offsets", c_void_p),
        ("words", c_void_p),
        ("word_log_probs", c_void_p),
        ("log_probs", c_void_p),
        ("scores", c_void_p),
        ("ended", c_void_p),
        ("n_steps", c_uint64),
        ("n_states", c_uint64),
        ("head_seconds", c_double),
        ("expand_seconds", c_double),
        ("reorder_seconds", c_double),
    ]


class BleuTexts(ctypes.Structure):
    _fields_ = [
        ("n", c_uint64),
        ("offsets", c_void_p),
        ("bytes", c_char_p),
    ]


class BleuOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("tokeniser", c_int),
        ("smoothing", c_int),
        ("smoothing_value", c_double),
        ("lower_case", c_bool),
        ("effective_order", c_bool),
    ]


class BleuScore(ctypes.Structure):
    _fields_ = [
        ("bleu", c_double),
        ("precisions", c_double * BLEU_ORDER),
        ("brevity_penalty", c_double),
        ("n_sentences", c_uint64),
        ("hypothesis_length", c_uint64),
        ("reference_length", c_uint64),
        ("counts", c_uint64 * BLEU_ORDER),
        ("totals", c_uint64 * BLEU_ORDER),
    ]

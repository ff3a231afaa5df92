# SPDX-License-Identifier: Apache-2.0
"""The numbers and structs of beam search and BLEU; _abi has the others."""

from __future__ import annotations

import ctypes
from ctypes import c_bool, c_char_p, c_double, c_int, c_size_t, c_uint32, c_uint64, c_void_p

from ._abi import fields

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
        *fields(c_uint32, "beam n_best start_word end_word min_length max_length"),
        *fields(c_int, "penalty stop"),
        ("alpha", c_double),
        ("never", c_void_p),
        ("n_never", c_uint64),
        ("query", c_void_p),
    ]


class BeamResult(ctypes.Structure):
    _fields_ = [
        *fields(c_uint64, "n_sentences n_sequences"),
        *fields(c_void_p, "first_of offsets words word_log_probs log_probs scores ended"),
        *fields(c_uint64, "n_steps n_states"),
        *fields(c_double, "head_seconds expand_seconds reorder_seconds"),
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
        *fields(c_int, "tokeniser smoothing"),
        ("smoothing_value", c_double),
        *fields(c_bool, "lower_case effective_order"),
    ]


class BleuScore(ctypes.Structure):
    _fields_ = [
        ("bleu", c_double),
        ("precisions", c_double * BLEU_ORDER),
        ("brevity_penalty", c_double),
        *fields(c_uint64, "n_sentences hypothesis_length reference_length"),
        *fields(c_uint64 * BLEU_ORDER, "counts totals"),
    ]

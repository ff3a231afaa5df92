# SPDX-License-Identifier: Apache-2.0
"""The numbers, structs, callbacks and functions of the public headers, as ctypes; tests compare them with the headers.

tools/declarations.py reads them from the headers into abi.json.
thr_index_info is IndexInfo here, and THR_NO_ID is NO_ID.
"""

from __future__ import annotations

import ctypes
import json
from ctypes import c_bool, c_char, c_char_p, c_double, c_float, c_int, c_size_t, c_uint16, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


_READ = json.loads(Path(__file__).with_name("abi.json").read_text())
NUMBERS: dict[str, int] = _READ["numbers"]
REALS: dict[str, float] = _READ["reals"]
ENUMS: dict[str, dict[str, int]] = _READ["enums"]
FUNCTIONS: dict[str, str] = _READ["functions"]
_KINDS: dict[str, Any] = {
    "bool": c_bool,
    "char": c_char,
    "char*": c_char_p,
    "double": c_double,
    "float": c_float,
    "int": c_int,
    "size_t": c_size_t,
    "uint16": c_uint16,
    "uint32": c_uint32,
    "uint64": c_uint64,
    "void": None,
    "void*": c_void_p,
}


def _python_name(name: str) -> str:
    return "".join(map(str.capitalize, name.removeprefix("thr_").split("_")))


_FIELDS = {_python_name(name): fields for name, fields in _READ["structs"].items()}


def _make(name: str) -> Any:
    if name.endswith("*"):
        return ctypes.POINTER(kind(name[:-1]))
    if name.endswith("]"):
        element, length = name[:-1].split("[")
        return kind(element) * NUMBERS[length]
    if name in _FIELDS:
        fields = [(field, kind(of)) for of, field in map(str.split, _FIELDS[name].split("; "))]
        return type(name, (ctypes.Structure,), {"_fields_": fields})
    return ctypes.CFUNCTYPE(*map(kind, _READ["callbacks"][name].split()))


def kind(name: str) -> Any:
    """The type of a field, an argument or a result, by its name in abi.json."""
    if name not in _KINDS:
        _KINDS[name] = _make(name)
    return _KINDS[name]


def signature(function: str) -> tuple[Any, list[Any]]:
    """What a function returns and takes."""
    result, *arguments = map(kind, FUNCTIONS[function].split())
    return result, arguments


STRUCTS: dict[str, type[ctypes.Structure]] = {name: kind(_python_name(name)) for name in _READ["structs"]}
globals().update({name: kind(name) for name in (*_FIELDS, *_READ["callbacks"])})
globals().update({name.removeprefix("THR_"): number for name, number in (NUMBERS | REALS).items()})


def _choices(enum: str, prefix: str) -> dict[str, int]:
    """The members of an enum, by their names without the prefix, spelled as on the command line."""
    return {name.removeprefix(prefix).lower().replace("_", "-"): number for name, number in ENUMS[enum].items()}


OK = 0
STATUS = {name.removeprefix("THR_"): number for name, number in ENUMS["thr_status"].items() if number != OK}
METRIC = _choices("thr_metric", "THR_METRIC_")
SIDE = _choices("thr_side", "THR_SIDE_")
ESTIMATOR = _choices("thr_estimator", "THR_ESTIMATOR_")
DUAL_LOSS = _choices("thr_dual_loss", "THR_DUAL_LOSS_")
DUAL_VALUE = _choices("thr_dual_value", "THR_DUAL_VALUE_")
DUAL_OPTIMISER = _choices("thr_dual_optimiser", "THR_DUAL_")
ROTATE = _choices("thr_rotate", "THR_ROTATE_")
HITS_ORDER = _choices("thr_hits_order", "THR_HITS_ORDER_")
HITS_VALUE = _choices("thr_hits_value", "THR_HITS_VALUE_")
GAIN = _choices("thr_gain", "THR_GAIN_")
RANK_METHOD = _choices("thr_rank_method", "THR_RANK_")
RANK_SCALE = _choices("thr_rank_scale", "THR_RANK_SCALE_")
RANK_TASK = _choices("thr_rank_task", "THR_RANK_")
CONVENTION = _choices("thr_convention", "THR_CONVENTION_")
HEAD_SCREEN = _choices("thr_head_screen", "THR_HEAD_SCREEN_")
HEAD_NORMALISER = _choices("thr_head_normaliser", "THR_HEAD_NORMALISER_")
HEAD_COMBINE = _choices("thr_head_combine", "THR_HEAD_COMBINE_")
BEAM_PENALTY = _choices("thr_beam_penalty", "THR_BEAM_PENALTY_")
BEAM_STOP = _choices("thr_beam_stop", "THR_BEAM_STOP_")
BLEU_TOKENISER = _choices("thr_bleu_tokeniser", "THR_BLEU_TOKENISER_")
BLEU_SMOOTHING = _choices("thr_bleu_smoothing", "THR_BLEU_SMOOTHING_")
_LONG = {"f": "float", "i": "int", "u": "uint", "bf": "bfloat"}
DTYPE = {
    _LONG.get(name.rstrip("0123456789"), "") + name.lstrip("fiub") if name != "none" else name: number
    for name, number in _choices("thr_dtype", "THR_DTYPE_").items()
}
DTYPE_NAME = {number: name for name, number in DTYPE.items()}
HEAD_DTYPE = {name: DTYPE[name] for name in ("float32", "float16", "bfloat16", "int8")}
"""What weights may be kept as."""

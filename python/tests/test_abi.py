# SPDX-License-Identifier: Apache-2.0
"""The ctypes structs and numbers against the headers, through a C compiler."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import unittest

from support import SOURCES, Case
from thresher import _abi, _errors

STRUCTS = {
    "thr_error": _abi.Error,
    "thr_context_options": _abi.ContextOptions,
    "thr_device_info": _abi.DeviceInfo,
    "thr_matrix": _abi.Matrix,
    "thr_reader_shape": _abi.ReaderShape,
    "thr_tower_config": _abi.TowerConfig,
    "thr_tower_info": _abi.TowerInfo,
    "thr_pairs_format": _abi.PairsFormat,
    "thr_tower_epoch": _abi.TowerEpoch,
    "thr_tower_train_options": _abi.TowerTrainOptions,
    "thr_tower_report": _abi.TowerReport,
    "thr_tower_quality": _abi.TowerQuality,
    "thr_dual_config": _abi.DualConfig,
    "thr_dual_train_options": _abi.DualTrainOptions,
    "thr_dual_report": _abi.DualReport,
    "thr_dual_info": _abi.DualInfo,
    "thr_dual_hit": _abi.DualHit,
    "thr_dual_quality": _abi.DualQuality,
    "thr_csr": _abi.Csr,
    "thr_ranking_options": _abi.RankingOptions,
    "thr_ranking_view": _abi.RankingView,
    "thr_rank_step": _abi.RankStep,
    "thr_rank_options": _abi.RankOptions,
    "thr_rank_folds": _abi.RankFolds,
    "thr_rank_report": _abi.RankReport,
    "thr_recall_rows": _abi.RecallRows,
    "thr_judged": _abi.Judged,
    "thr_quality_options": _abi.QualityOptions,
    "thr_pair_quality": _abi.PairQuality,
    "thr_quality": _abi.Quality,
    "thr_decoder": _abi.Decoder,
    "thr_beam_options": _abi.BeamOptions,
    "thr_beam_result": _abi.BeamResult,
    "thr_bleu_texts": _abi.BleuTexts,
    "thr_bleu_options": _abi.BleuOptions,
    "thr_bleu_score": _abi.BleuScore,
    "thr_index_build_options": _abi.IndexBuildOptions,
    "thr_index_info": _abi.IndexInfo,
    "thr_index_create_options": _abi.IndexCreateOptions,
    "thr_index_add_options": _abi.IndexAddOptions,
    "thr_index_change": _abi.IndexChange,
    "thr_index_cells": _abi.IndexCells,
    "thr_search_options": _abi.SearchOptions,
    "thr_radius_result": _abi.RadiusResult,
    "thr_item_features": _abi.ItemFeatures,
    "thr_hits_build_options": _abi.HitsBuildOptions,
    "thr_hits_info": _abi.HitsInfo,
    "thr_hits_queries": _abi.HitsQueries,
    "thr_hits_search_options": _abi.HitsSearchOptions,
    "thr_hits_changes": _abi.HitsChanges,
    "thr_head_build_options": _abi.HeadBuildOptions,
    "thr_head_info": _abi.HeadInfo,
    "thr_head_query_options": _abi.HeadQueryOptions,
    "thr_head_answers": _abi.HeadAnswers,
    "thr_head_recall": _abi.HeadRecall,
    "thr_head_loss": _abi.HeadLoss,
    "thr_head_word_lists": _abi.HeadWordLists,
    "thr_align_options": _abi.AlignOptions,
    "thr_align_report": _abi.AlignReport,
    "thr_translator_options": _abi.TranslatorOptions,
    "thr_translation": _abi.Translation,
    "thr_translations": _abi.Translations,
    "thr_translator_times": _abi.TranslatorTimes,
}
FIELDS = {"allocate": "allocator.allocate", "release": "allocator.release", "allocator_user": "allocator.user"}
DTYPES = {"float32": "F32", "float16": "F16", "float64": "F64", "bfloat16": "BF16"}


def numbers() -> dict[str, int]:
    """C expressions, and what they should be."""
    wanted = {
        "THR_NO_ID": _abi.NO_ID,
        "THR_ROWS_UNKNOWN": _abi.ROWS_UNKNOWN,
        "THR_MAX_DIMS": _abi.MAX_DIMS,
        "THR_DEVICE_NAME_SIZE": _abi.DEVICE_NAME_SIZE,
        "THR_OK": _abi.OK,
        "THR_FLOAT_BITS": _abi.FLOAT_BITS,
        "THR_HEAD_AUTO": _abi.HEAD_AUTO,
        "THR_HITS_MAX_FEATURE": _abi.HITS_MAX_FEATURE,
        "THR_BEAM_NO_WORD": _abi.BEAM_NO_WORD,
        "THR_BEAM_MAX_LENGTH": _abi.BEAM_MAX_LENGTH,
        "THR_BLEU_ORDER": _abi.BLEU_ORDER,
        "THR_BLEU_SIGNATURE_SIZE": _abi.BLEU_SIGNATURE_SIZE,
    }
    wanted.update({f"THR_{name}": number for name, number in _abi.STATUS.items()})
    wanted.update({f"THR_METRIC_{name.upper()}": number for name, number in _abi.METRIC.items()})
    wanted.update({f"THR_SIDE_{name.upper()}": number for name, number in _abi.SIDE.items()})
    wanted.update({f"THR_ESTIMATOR_{name.upper()}": number for name, number in _abi.ESTIMATOR.items()})
    wanted.update({f"THR_DUAL_LOSS_{name.upper()}": number for name, number in _abi.DUAL_LOSS.items()})
    wanted.update({f"THR_DUAL_VALUE_{name.upper()}": number for name, number in _abi.DUAL_VALUE.items()})
    wanted.update({f"THR_RANK_{name.upper()}": number for name, number in _abi.RANK_METHOD.items()})
    wanted.update({f"THR_RANK_SCALE_{name.upper()}": number for name, number in _abi.RANK_SCALE.items()})
    wanted.update({f"THR_DUAL_{name.upper()}": number for name, number in _abi.DUAL_OPTIMISER.items()})
    wanted.update({f"THR_GAIN_{name.upper()}": number for name, number in _abi.GAIN.items()})
    wanted.update({f"THR_BEAM_PENALTY_{name.upper()}": number for name, number in _abi.BEAM_PENALTY.items()})
    wanted.update({f"THR_BEAM_STOP_{name.upper()}": number for name, number in _abi.BEAM_STOP.items()})
    tokenisers = _abi.BLEU_TOKENISER
    wanted.update({f"THR_BLEU_TOKENISER_{name.upper()}": number for name, number in tokenisers.items()})
    smoothing = {name.upper().replace("-", "_"): number for name, number in _abi.BLEU_SMOOTHING.items()}
    wanted.update({f"THR_BLEU_SMOOTHING_{name}": number for name, number in smoothing.items()})
    wanted.update({f"THR_CONVENTION_{name.upper()}": number for name, number in _abi.CONVENTION.items()})
    wanted.update({f"THR_HITS_ORDER_{name.upper()}": number for name, number in _abi.HITS_ORDER.items()})
    wanted.update({f"THR_HITS_VALUE_{name.upper()}": number for name, number in _abi.HITS_VALUE.items()})
    wanted.update({f"THR_HEAD_SCREEN_{name.upper()}": number for name, number in _abi.HEAD_SCREEN.items()})
    wanted.update({f"THR_HEAD_NORMALISER_{name.upper()}": number for name, number in _abi.HEAD_NORMALISER.items()})
    wanted.update({f"THR_HEAD_COMBINE_{name.upper()}": number for name, number in _abi.HEAD_COMBINE.items()})
    wanted.update({f"THR_ROTATE_{name.upper()}": number for name, number in _abi.ROTATE.items()})
    for name, number in _abi.DTYPE.items():
        short = DTYPES.get(name, name.upper().replace("UINT", "U").replace("INT", "I"))
        wanted[f"THR_DTYPE_{short}"] = number
    for name, struct in STRUCTS.items():
        wanted[f"sizeof({name})"] = ctypes.sizeof(struct)
        for field, *_ in struct._fields_:
            place = getattr(struct, field)
            member = FIELDS.get(field, field)
            wanted[f"offsetof({name}, {member})"] = place.offset
            wanted[f"sizeof((({name} *)0)->{member})"] = place.size
    return wanted


class Abi(Case):
    def setUp(self) -> None:
        super().setUp()
        compiler = shutil.which(os.environ.get("CC") or "cc")
        if compiler is None or not os.path.isdir(os.path.join(SOURCES, "include")):
            self.skipTest("no C compiler, or no headers")
        self.compiler = compiler

    def run_c(self, body: str) -> str:
        source, program = self.path("abi.c"), self.path("abi")
        with open(source, "w") as file:
            file.write(f"#include <thresher/thresher.h>\n#include <stdio.h>\nint main(void) {{\n{body}\n}}\n")
        include = os.path.join(SOURCES, "include")
        subprocess.run([self.compiler, "-std=c17", "-I", include, source, "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout

    def test_numbers_and_layouts_are_those_of_the_headers(self) -> None:
        wanted = numbers()
        self.assertGreater(len(wanted), 60)
        got = self.run_c("\n".join(f'printf("%llu\\n", (unsigned long long)({name}));' for name in wanted))
        for (name, number), printed in zip(wanted.items(), got.split()):
            self.assertEqual(int(printed), number % 2**64, name)

    def test_every_status_has_a_class(self) -> None:
        listed = self.run_c('#define SAY(number, name, text) printf("%s %d\\n", #name, number);\nTHR_STATUS_LIST(SAY)')
        statuses = dict(line.split() for line in listed.splitlines())
        self.assertEqual({n: int(v) for n, v in statuses.items() if n != "OK"}, _abi.STATUS)
        self.assertEqual(set(_errors._CLASSES), set(_abi.STATUS))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The ctypes structs and numbers against the headers, through a C compiler."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import unittest

from support import SOURCES, Case
from thresher import _errors
from thresher._core import abi

STRUCTS = {
    "thr_error": abi.Error,
    "thr_context_options": abi.ContextOptions,
    "thr_device_info": abi.DeviceInfo,
    "thr_matrix": abi.Matrix,
    "thr_reader_shape": abi.ReaderShape,
    "thr_tower_config": abi.TowerConfig,
    "thr_tower_info": abi.TowerInfo,
    "thr_pairs_format": abi.PairsFormat,
    "thr_tower_epoch": abi.TowerEpoch,
    "thr_tower_train_options": abi.TowerTrainOptions,
    "thr_tower_report": abi.TowerReport,
    "thr_tower_quality": abi.TowerQuality,
    "thr_dual_config": abi.DualConfig,
    "thr_dual_train_options": abi.DualTrainOptions,
    "thr_dual_report": abi.DualReport,
    "thr_dual_info": abi.DualInfo,
    "thr_dual_hit": abi.DualHit,
    "thr_dual_quality": abi.DualQuality,
    "thr_csr": abi.Csr,
    "thr_ranking_options": abi.RankingOptions,
    "thr_ranking_view": abi.RankingView,
    "thr_rank_step": abi.RankStep,
    "thr_rank_options": abi.RankOptions,
    "thr_rank_folds": abi.RankFolds,
    "thr_rank_span": abi.RankSpan,
    "thr_rank_request": abi.RankRequest,
    "thr_rank_parts": abi.RankParts,
    "thr_rank_report": abi.RankReport,
    "thr_recall_rows": abi.RecallRows,
    "thr_judged": abi.Judged,
    "thr_quality_options": abi.QualityOptions,
    "thr_pair_quality": abi.PairQuality,
    "thr_quality": abi.Quality,
    "thr_decoder": abi.Decoder,
    "thr_beam_options": abi.BeamOptions,
    "thr_beam_result": abi.BeamResult,
    "thr_bleu_texts": abi.BleuTexts,
    "thr_bleu_options": abi.BleuOptions,
    "thr_bleu_score": abi.BleuScore,
    "thr_index_build_options": abi.IndexBuildOptions,
    "thr_index_info": abi.IndexInfo,
    "thr_index_create_options": abi.IndexCreateOptions,
    "thr_index_add_options": abi.IndexAddOptions,
    "thr_index_change": abi.IndexChange,
    "thr_index_cells": abi.IndexCells,
    "thr_search_options": abi.SearchOptions,
    "thr_radius_result": abi.RadiusResult,
    "thr_item_features": abi.ItemFeatures,
    "thr_hits_build_options": abi.HitsBuildOptions,
    "thr_hits_info": abi.HitsInfo,
    "thr_hits_queries": abi.HitsQueries,
    "thr_hits_search_options": abi.HitsSearchOptions,
    "thr_hits_changes": abi.HitsChanges,
    "thr_head_build_options": abi.HeadBuildOptions,
    "thr_head_info": abi.HeadInfo,
    "thr_head_query_options": abi.HeadQueryOptions,
    "thr_head_answers": abi.HeadAnswers,
    "thr_head_recall": abi.HeadRecall,
    "thr_head_loss": abi.HeadLoss,
    "thr_head_word_lists": abi.HeadWordLists,
    "thr_align_options": abi.AlignOptions,
    "thr_align_report": abi.AlignReport,
    "thr_translator_options": abi.TranslatorOptions,
    "thr_translation": abi.Translation,
    "thr_translations": abi.Translations,
    "thr_translator_times": abi.TranslatorTimes,
}
FIELDS = {"allocate": "allocator.allocate", "release": "allocator.release", "allocator_user": "allocator.user"}
DTYPES = {"float32": "F32", "float16": "F16", "float64": "F64", "bfloat16": "BF16"}


def numbers() -> dict[str, int]:
    """C expressions, and what they should be."""
    wanted = {
        "THR_NO_ID": abi.NO_ID,
        "THR_ROWS_UNKNOWN": abi.ROWS_UNKNOWN,
        "THR_MAX_DIMS": abi.MAX_DIMS,
        "THR_DEVICE_NAME_SIZE": abi.DEVICE_NAME_SIZE,
        "THR_OK": abi.OK,
        "THR_FLOAT_BITS": abi.FLOAT_BITS,
        "THR_HEAD_AUTO": abi.HEAD_AUTO,
        "THR_HITS_MAX_FEATURE": abi.HITS_MAX_FEATURE,
        "THR_BEAM_NO_WORD": abi.BEAM_NO_WORD,
        "THR_BEAM_MAX_LENGTH": abi.BEAM_MAX_LENGTH,
        "THR_BLEU_ORDER": abi.BLEU_ORDER,
        "THR_BLEU_SIGNATURE_SIZE": abi.BLEU_SIGNATURE_SIZE,
    }
    wanted.update({f"THR_{name}": number for name, number in abi.STATUS.items()})
    wanted.update({f"THR_METRIC_{name.upper()}": number for name, number in abi.METRIC.items()})
    wanted.update({f"THR_SIDE_{name.upper()}": number for name, number in abi.SIDE.items()})
    wanted.update({f"THR_ESTIMATOR_{name.upper()}": number for name, number in abi.ESTIMATOR.items()})
    wanted.update({f"THR_DUAL_LOSS_{name.upper()}": number for name, number in abi.DUAL_LOSS.items()})
    wanted.update({f"THR_DUAL_VALUE_{name.upper()}": number for name, number in abi.DUAL_VALUE.items()})
    wanted.update({f"THR_RANK_{name.upper()}": number for name, number in abi.RANK_METHOD.items()})
    wanted.update({f"THR_RANK_SCALE_{name.upper()}": number for name, number in abi.RANK_SCALE.items()})
    wanted.update({f"THR_RANK_{name.upper()}": number for name, number in abi.RANK_TASK.items()})
    wanted["THR_RANK_MAX_CHUNKS"] = abi.RANK_MAX_CHUNKS
    wanted.update({f"THR_DUAL_{name.upper()}": number for name, number in abi.DUAL_OPTIMISER.items()})
    wanted.update({f"THR_GAIN_{name.upper()}": number for name, number in abi.GAIN.items()})
    wanted.update({f"THR_BEAM_PENALTY_{name.upper()}": number for name, number in abi.BEAM_PENALTY.items()})
    wanted.update({f"THR_BEAM_STOP_{name.upper()}": number for name, number in abi.BEAM_STOP.items()})
    tokenisers = abi.BLEU_TOKENISER
    wanted.update({f"THR_BLEU_TOKENISER_{name.upper()}": number for name, number in tokenisers.items()})
    smoothing = {name.upper().replace("-", "_"): number for name, number in abi.BLEU_SMOOTHING.items()}
    wanted.update({f"THR_BLEU_SMOOTHING_{name}": number for name, number in smoothing.items()})
    wanted.update({f"THR_CONVENTION_{name.upper()}": number for name, number in abi.CONVENTION.items()})
    wanted.update({f"THR_HITS_ORDER_{name.upper()}": number for name, number in abi.HITS_ORDER.items()})
    wanted.update({f"THR_HITS_VALUE_{name.upper()}": number for name, number in abi.HITS_VALUE.items()})
    wanted.update({f"THR_HEAD_SCREEN_{name.upper()}": number for name, number in abi.HEAD_SCREEN.items()})
    wanted.update({f"THR_HEAD_NORMALISER_{name.upper()}": number for name, number in abi.HEAD_NORMALISER.items()})
    wanted.update({f"THR_HEAD_COMBINE_{name.upper()}": number for name, number in abi.HEAD_COMBINE.items()})
    wanted.update({f"THR_ROTATE_{name.upper()}": number for name, number in abi.ROTATE.items()})
    for name, number in abi.DTYPE.items():
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
        self.assertEqual({n: int(v) for n, v in statuses.items() if n != "OK"}, abi.STATUS)
        self.assertEqual(set(_errors._CLASSES), set(abi.STATUS))


if __name__ == "__main__":
    unittest.main()

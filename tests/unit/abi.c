/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abi.c - numbers that files and bindings of other languages hold. When an assertion here fails, undo the change, or
 * add a new name beside the old one. Layouts of structs are no promise (thresher.h).
 */
#include <thresher/thresher.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define PINNED(name, number) _Static_assert((name) == (number), #name " is pinned to " #number)

/* Statuses are pinned for ever. */
PINNED(THR_OK, 0);
PINNED(THR_EINVAL, -1);
PINNED(THR_ENOMEM, -2);
PINNED(THR_EIO, -3);
PINNED(THR_EFORMAT, -4);
PINNED(THR_ECORRUPT, -5);
PINNED(THR_EVERSION, -6);
PINNED(THR_EDIM, -7);
PINNED(THR_ERANGE, -8);
PINNED(THR_ENOTFOUND, -9);
PINNED(THR_EEXIST, -10);
PINNED(THR_EUNSUPPORTED, -11);
PINNED(THR_ECANCELED, -12);
PINNED(THR_ECHANGED, -13);
PINNED(THR_EDUPLICATE, -14);
PINNED(THR_ENOSPACE, -15);
PINNED(THR_EDEVICE, -16);
PINNED(THR_EMISMATCH, -17);
PINNED(THR_EBUSY, -18);

/* Written into files, too. */
PINNED(THR_DTYPE_NONE, 0);
PINNED(THR_DTYPE_F32, 1);
PINNED(THR_DTYPE_F16, 2);
PINNED(THR_DTYPE_I8, 3);
PINNED(THR_DTYPE_U8, 4);
PINNED(THR_DTYPE_F64, 5);
PINNED(THR_DTYPE_I32, 6);
PINNED(THR_DTYPE_U32, 7);
PINNED(THR_DTYPE_I64, 8);
PINNED(THR_DTYPE_U64, 9);
PINNED(THR_METRIC_COSINE, 0);
PINNED(THR_METRIC_IP, 1);
PINNED(THR_METRIC_L2, 2);
PINNED(THR_MAX_BITS, 8);

PINNED(THR_ISA_BEST, 0);
PINNED(THR_ISA_SCALAR, 1);
PINNED(THR_ISA_AVX2, 2);
PINNED(THR_ISA_AVX512, 3);
PINNED(THR_ISA_NEON, 4);
PINNED(THR_ISA_NEON_DOT, 5);
PINNED(THR_ISA_AVX512_VNNI, 6);
PINNED(THR_WAY_XOR, 0);
PINNED(THR_WAY_TABLE, 1);
PINNED(THR_WAY_TILE, 2);
PINNED(THR_ERROR_TEXT_SIZE, 768);
PINNED(THR_HITS_ORDER_FEATURES, 0); /* written into files, as are the two numbers */
PINNED(THR_HITS_ORDER_ROWS, 1);
PINNED(THR_HITS_MAX_ITEMS, 16777216);
PINNED(THR_HITS_MAX_FEATURE, 268435455);
PINNED(THR_HITS_VALUE_SUM, 0);
PINNED(THR_HITS_VALUE_SIGMOID, 1);
PINNED(THR_HEAD_SCREEN_FULL, 0);
PINNED(THR_HEAD_SCREEN_FREQUENT, 1);
PINNED(THR_HEAD_SCREEN_WTA, 2);
PINNED(THR_HEAD_SCREEN_PLANES, 3);
PINNED(THR_HEAD_SCREEN_AUTO, 4);
PINNED(THR_HEAD_SCREEN_ALIGN, 5);
PINNED(THR_HEAD_NORMALISER_CANDIDATES, 0);
PINNED(THR_HEAD_NORMALISER_EXACT, 1);
PINNED(THR_HEAD_NORMALISER_SAMPLED, 2);
PINNED(THR_HEAD_COMBINE_LARGEST, 0);
PINNED(THR_HEAD_COMBINE_SUM, 1);
PINNED(THR_HEAD_MAX_WORDS, 16777216);
PINNED(THR_HEAD_AUTO, 4294967295);
PINNED(THR_DUAL_LOSS_NDCG, 0);
PINNED(THR_DUAL_LOSS_PRODUCT, 1);
PINNED(THR_DUAL_LOSS_SUM, 2);
PINNED(THR_DUAL_VALUE_DIFFERENCE, 0);
PINNED(THR_DUAL_VALUE_SWAP, 1);
PINNED(THR_DUAL_ADAM, 0);
PINNED(THR_DUAL_FTRL, 1);
PINNED(THR_GAIN_EXPONENTIAL, 0);
PINNED(THR_GAIN_LINEAR, 1);
PINNED(THR_CONVENTION_LIGHTGBM, 0);
PINNED(THR_CONVENTION_LETOR, 1);
PINNED(THR_CONVENTION_XGBOOST, 2);
PINNED(THR_CONVENTION_XGBOOST_MINUS, 3);
PINNED(THR_RANK_LINE_SEARCH, 0);
PINNED(THR_RANK_TRUST_REGION, 1);
PINNED(THR_RANK_SWEEP, 2);
PINNED(THR_RANK_SCALE_PAIR, 0);
PINNED(THR_RANK_SCALE_QUERY, 1);
PINNED(THR_RANK_SCALE_MEAN, 2);
PINNED(THR_BLEU_TOKENISER_13A, 0);
PINNED(THR_BLEU_TOKENISER_NONE, 1);
PINNED(THR_BLEU_SMOOTHING_EXP, 0);
PINNED(THR_BLEU_SMOOTHING_NONE, 1);
PINNED(THR_BLEU_SMOOTHING_FLOOR, 2);
PINNED(THR_BLEU_SMOOTHING_ADD_K, 3);
PINNED(THR_BEAM_PENALTY_LENGTH, 0);
PINNED(THR_BEAM_PENALTY_WU, 1);
PINNED(THR_BEAM_PENALTY_NONE, 2);
PINNED(THR_BEAM_STOP_EXACT, 0);
PINNED(THR_BEAM_STOP_ENOUGH, 1);

static void the_library_answers_the_header_version(void **state) {
    (void)state;
    assert_string_equal(thr_version(), THR_VERSION_STRING);
}

static void every_status_has_its_name_and_text(void **state) {
    (void)state;
#define CHECK(number, name, text)                                                                                      \
    assert_string_equal(thr_status_name(THR_##name), #name);                                                           \
    assert_string_equal(thr_status_text(THR_##name), text);                                                            \
    assert_null(strchr(thr_status_text(THR_##name), '\n'));
    THR_STATUS_LIST(CHECK)
#undef CHECK
}

static void a_number_that_is_no_status_has_a_name(void **state) {
    (void)state;
    thr_status strange;
    int number = -9999;
    memcpy(&strange, &number, sizeof strange);
    assert_string_equal(thr_status_name(strange), "E?");
    assert_non_null(thr_status_text(strange));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_answers_the_header_version),
        cmocka_unit_test(every_status_has_its_name_and_text),
        cmocka_unit_test(a_number_that_is_no_status_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Posting lists from tables of text: names or ids, words or numbers. */
#include "hits_support.h"

#define TABLE "unit-hits-table.tsv"

static const char PATH[] = "unit-hits-table.hits";

static thr_status build(thr_context *context, const char *text, thr_error *error) {
    test_write_text(TABLE, text);
    (void)unlink(PATH);
    return thr_hits_build_table(context, PATH, TABLE, NULL, error);
}

static thr_hits *built(thr_context *context, const char *text) {
    expect_ok(build(context, text, &err));
    thr_hits *hits = test_hits_open(context, PATH);
    expect_ok(thr_hits_verify(hits, &err));
    return hits;
}

TEST(words_and_names_are_kept) {
    thr_hits *hits = built(
        *state, "red chair\tcolour=red  kind=chair \n12\tkind=table\nnothing\t\nblue\tcolour=blue kind=chair 7\n");
    const thr_hits_info info = thr_hits_get_info(hits);
    uint32_t feature;
    uint64_t id;
    assert_true(info.has_names && info.has_words && !info.has_ids);
    assert_int_equal(info.n_items, 4);
    assert_int_equal(info.n_features, 5);
    assert_int_equal(info.n_postings, 6);
    static const char *const words[] = {"7", "colour=blue", "colour=red", "kind=chair", "kind=table"};
    static const uint64_t items[] = {1, 1, 1, 2, 1};
    for (uint32_t f = 0; f < 5; f++) {
        assert_string_equal(thr_hits_word(hits, f), words[f]);
        assert_true(thr_hits_feature(hits, words[f], &feature) && feature == f);
        assert_int_equal(thr_hits_feature_items(hits, f), items[f]);
    }
    assert_false(thr_hits_feature(hits, "kind", &feature));
    assert_false(thr_hits_feature(hits, "", &feature));
    assert_null(thr_hits_word(hits, 5));
    static const char *const names[] = {"red chair", "12", "nothing", "blue"};
    for (uint64_t row = 0; row < 4; row++) {
        assert_string_equal(thr_hits_name(hits, row), names[row]);
        assert_true(thr_hits_find(hits, names[row], &id) && id == row);
    }
    assert_null(thr_hits_name(hits, 4));
    assert_false(thr_hits_find(hits, "chair", &id));
    thr_hits_free(hits);
}

TEST(words_of_a_target_that_no_item_has_are_reported) {
    OWNED(thr_hits, hits) = built(*state, "chair\tkind=chair colour=red\ntable\tkind=table\n");
    thr_hits_target *target = NULL;
    const char *expression = "kind=chair OR NOT (kind=chiar AND\"in two\")OR price<10 AND colour=red OR kind=chiar";
    static const char *const unknown[] = {"kind=chiar", "in two", "price<10", "kind=chiar"};
    expect_ok(thr_hits_target_create(hits, expression, &target, &err));
    assert_int_equal(thr_hits_target_count(target), 2);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(thr_hits_target_unknown(target, i), unknown[i]);
    assert_null(thr_hits_target_unknown(target, 4));
    assert_null(thr_hits_target_unknown(target, SIZE_MAX));
    thr_hits_target_free(target);
    expect_ok(thr_hits_target_create(hits, "kind=chair OR colour=red", &target, &err));
    assert_null(thr_hits_target_unknown(target, 0));
    thr_hits_target_free(target);
    expect_error(thr_hits_target_create(hits, "price < 10", &target, &err), THR_EINVAL,
                 "character 7: a target does not compare values");
}

TEST(numbers_are_taken_as_they_are) {
    OWNED(thr_hits, hits) = built(*state, "900\t5 3\n18446744073709551614\t268435455\n7\t3 5 5\n");
    const thr_hits_info info = thr_hits_get_info(hits);
    uint32_t feature;
    uint64_t row, id;
    assert_true(!info.has_names && !info.has_words && info.has_ids);
    assert_int_equal(info.n_postings, 5);
    assert_true(thr_hits_feature(hits, "268435455", &feature) && feature == THR_HITS_MAX_FEATURE);
    assert_false(thr_hits_feature(hits, "4", &feature));
    assert_false(thr_hits_feature(hits, "03", &feature));
    assert_int_equal(thr_hits_feature_items(hits, 3), 2);
    assert_true(thr_hits_row(hits, 7, &row) && row == 2);
    assert_true(thr_hits_find(hits, "18446744073709551614", &id) && id == THR_NO_ID - 1);
    assert_false(thr_hits_row(hits, 8, &row));
}

TEST(a_wrong_line_is_refused) {
    static const struct {
        const char *text;
        thr_status status;
        const char *part;
    } cases[] = {
        {"a\tx\nb x\n", THR_EFORMAT, "line 2 has 1 columns"},
        {"a\tx\ty\n", THR_EFORMAT, "line 1 has 3 columns"},
        {"a\tx\nb\ty\na\tz\n", THR_EDUPLICATE, "line 3: item a is repeated: it is row 0"},
        {"\tx\n", THR_EFORMAT, "line 1: the item has no name"},
        {"", THR_EDIM, "holds no items"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        expect_error(build(*state, cases[i].text, &err), cases[i].status, cases[i].part);
        assert_true(access(PATH, F_OK) != 0);
    }
}

TEST(every_failing_allocation_is_enomem) {
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        test_oom_arm(&oom);
        const thr_status status = build(context, "a\tx y\nb\ty z\nc\t\n", &err);
        (void)test_oom_check(&oom, status, &err, "no memory for");
    }
    assert_true(oom.n_failed > 18);
    thr_context_free(context);
    assert_int_equal(atomic_load(&memory.live), 0);
}

TEST_IN_CONTEXT(3, NULL)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of posting lists that are kept in the tree: each must open and give the same answers, bit for bit, at every
 * CPU level; damaged copies must be refused.
 *
 * "unit_hits_golden --write" writes all of them anew into tests/golden/hits of the sources. That is right after
 * a change of the format, and wrong as a way to make this test pass.
 */
#include "index_support.h"

#include "kernel/kernel.h"

#include <thresher/hits.h>

#include <inttypes.h>

static const char GOLDEN[] = THR_SOURCE_DIR "/tests/golden/hits";

enum { K = 5, N_QUERIES = 6, WORDS = 300, IDS = 500, WINDOWS = 70000, TEXT = 1 << 15 };

/* ------------------------------------------------------------------------------------------------ items */

/*
 * Features of an item, at most 8; returns how many. A run, bitmaps, places far apart, one item alone; ends of windows.
 */
static uint32_t features_of(uint64_t item, uint64_t n_items, uint32_t step, uint32_t *features) {
    uint32_t n = 0;
    if (item >= 20 && item < n_items - 30)
        features[n++] = 0 * step;
    if (item % 3 == 0 && item < 2000)
        features[n++] = 1 * step;
    if (item % (n_items / 30 + 8) == 7)
        features[n++] = 2 * step;
    if (item == n_items - 1)
        features[n++] = 3 * step;
    if (item == 5)
        features[n++] = 4 * step;
    if (item % 256 < 2 && item < 1024)
        features[n++] = 5 * step;
    return n;
}

static void write_items(thr_context *context, const char *path, uint64_t n, uint32_t step, const uint64_t *ids,
                        thr_hits_order order) {
    uint64_t *offsets = test_new(n + 1, sizeof *offsets);
    uint32_t *features = test_new(8 * n, sizeof *features);
    thr_hits_build_options options = {0};
    for (uint64_t i = 0; i < n; i++)
        offsets[i + 1] = offsets[i] + features_of(i, n, step, features + offsets[i]);
    const thr_item_features items = {offsets, features, n};
    options.order = order;
    options.ids = ids;
    options.n_ids = ids == NULL ? 0 : n;
    options.replace = true;
    expect_ok(thr_hits_build(context, path, &items, &options, &err));
}

/* Names, words, multipliers and offsets. */
static void write_words(thr_context *context, const char *path) {
    float multipliers[WORDS], offsets[WORDS];
    thr_hits_build_options options = {0};
    FILE *table = fopen("golden-items.tsv", "w");
    assert_non_null(table);
    for (uint64_t i = 0; i < WORDS; i++) {
        uint32_t features[8];
        const uint32_t n = features_of(i, WORDS, 1, features);
        (void)fprintf(table, "item %" PRIu64 "\t", i);
        for (uint32_t f = 0; f < n; f++)
            (void)fprintf(table, "%skind=%" PRIu32, f == 0 ? "" : " ", features[f]);
        (void)fprintf(table, "\n");
        multipliers[i] = (float)(i % 7 + 1) / 4;
        offsets[i] = (float)(i % 5) / 8;
    }
    (void)fclose(table);
    options.multipliers = multipliers;
    options.offsets = offsets;
    options.n_values = WORDS;
    options.model = 0x1234;
    options.replace = true;
    expect_ok(thr_hits_build_table(context, path, "golden-items.tsv", &options, &err));
    (void)unlink("golden-items.tsv");
}

static void write_kind(thr_context *context, int kind, const char *path) {
    uint64_t ids[IDS];
    for (uint64_t i = 0; i < IDS; i++)
        ids[i] = (i * 37 % IDS) * 1000;
    if (kind == 0)
        write_words(context, path);
    else if (kind == 1)
        write_items(context, path, IDS, 7, ids, THR_HITS_ORDER_FEATURES);
    else
        write_items(context, path, WINDOWS, 1, NULL, THR_HITS_ORDER_ROWS);
}

static const struct {
    const char *name;
    uint32_t step; /* of the numbers of features */
} KINDS[] = {{"words.hits", 1}, {"ids.hits", 7}, {"windows.hits", 1}};
enum { N_KINDS = COUNT_OF(KINDS) };

/* ------------------------------------------------------------------------------------------------ answers */

static char *golden_path(char path[PATH_ROOM], const char *name, const char *ending) {
    (void)snprintf(path, PATH_ROOM, "%s/%s%s", GOLDEN, name, ending);
    return path;
}

/* What every query finds, ids and the bits of values; as sums, and as sigmoids. */
static void print_answers(thr_context *context, int kind, char *text) {
    static const uint64_t offsets[N_QUERIES + 1] = {0, 1, 2, 4, 8, 9, 11};
    static const uint32_t kinds[] = {0, 1, 2, 3, 0, 1, 2, 4, 5, 3, 6};
    static const float weights[] = {1, 0.5f, -1, 2, 0.1f, 0.2f, 0.4f, 3, 1, -1, 1};
    uint32_t features[COUNT_OF(kinds)];
    char path[PATH_ROOM];
    size_t at = 0;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        features[i] = kinds[i] * KINDS[kind].step;
    const thr_hits_queries queries = {N_QUERIES, offsets, features, weights};
    OWNED(thr_hits, hits) = test_hits_open(context, golden_path(path, KINDS[kind].name, ""));
    expect_ok(thr_hits_verify(hits, &err));
    for (int value = 0; value < 2; value++) {
        uint64_t ids[N_QUERIES * K];
        float values[N_QUERIES * K];
        uint32_t n_unknown[N_QUERIES];
        thr_hits_search_options options = {.value = value == 0 ? THR_HITS_VALUE_SUM : THR_HITS_VALUE_SIGMOID,
                                           .n_unknown = n_unknown};
        expect_ok(thr_hits_search(hits, &queries, K, &options, ids, values, &err));
        for (size_t q = 0; q < N_QUERIES; q++) {
            at += (size_t)snprintf(text + at, TEXT - at, "%zu unknown %" PRIu32, q, n_unknown[q]);
            for (size_t i = q * K; i < (q + 1) * K; i++) {
                uint32_t bits;
                memcpy(&bits, &values[i], sizeof bits);
                at += (size_t)snprintf(text + at, TEXT - at, "  %" PRIu64 " %08" PRIx32, ids[i], bits);
            }
            at += (size_t)snprintf(text + at, TEXT - at, "\n");
        }
    }
    for (uint32_t f = 0; f < 7; f++)
        at += (size_t)snprintf(text + at, TEXT - at, "%" PRIu64 "%s",
                               thr_hits_feature_items(hits, f * KINDS[kind].step), f < 6 ? " " : "\n");
    assert_true(at < TEXT);
}

static void answer_as_then(thr_context *context, const char *level) {
    for (int kind = 0; kind < N_KINDS; kind++) {
        char path[PATH_ROOM], text[TEXT];
        size_t size;
        uint8_t *wanted = test_bytes_of(golden_path(path, KINDS[kind].name, ".answers"), &size);
        print_answers(context, kind, text);
        if (size != strlen(text) || memcmp(wanted, text, size) != 0)
            fail_msg("%s, %s:\n%s", KINDS[kind].name, level, text);
    }
}

TEST(good_files_give_the_same_answers_at_every_level) {
    test_at_every_level(answer_as_then);
}

/* Names, words and what else a table gives. */
TEST(what_a_table_gave_is_there) {
    char path[PATH_ROOM];
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    uint32_t feature;
    uint64_t id;
    OWNED(thr_hits, hits) = test_hits_open(context, golden_path(path, KINDS[0].name, ""));
    const thr_hits_info info = thr_hits_get_info(hits);
    assert_true(info.n_items == WORDS && info.n_features == 6 && info.model == 0x1234);
    assert_true(thr_hits_feature(hits, "kind=3", &feature) && feature == 3);
    assert_true(thr_hits_find(hits, "item 5", &id) && id == 5);
    assert_string_equal(thr_hits_name(hits, 299), "item 299");
    assert_string_equal(thr_hits_word(hits, 4), "kind=4");
}

/* ------------------------------------------------------------------------------------------------ damage */

static const struct {
    size_t at; /* byte to change, or with `cut` the size */
    uint8_t byte;
    bool cut;
    thr_status opened, verified;
} BAD[] = {{5000, 0, true, THR_ECORRUPT, THR_OK},    {0, 0, true, THR_EFORMAT, THR_OK},
           {0, 't', false, THR_EFORMAT, THR_OK},     {8, 0, false, THR_EVERSION, THR_OK},
           {8, 2, false, THR_EVERSION, THR_OK},      {12, 1, false, THR_ECORRUPT, THR_OK},
           {5000, 0xff, false, THR_OK, THR_ECORRUPT} /* in names */};
enum { N_BAD = COUNT_OF(BAD) };

TEST(damaged_files_are_refused) {
    static const char PATH[] = "golden-damaged.hits";
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    for (size_t i = 0; i < N_BAD; i++) {
        char path[PATH_ROOM];
        size_t size;
        OWNED(thr_hits, hits) = NULL;
        uint8_t *bytes = test_bytes_of(golden_path(path, KINDS[0].name, ""), &size);
        if (!BAD[i].cut)
            bytes[BAD[i].at] = BAD[i].byte;
        test_write_file(PATH, bytes, BAD[i].cut ? BAD[i].at : size);
        expect_status(thr_hits_open(context, PATH, &hits, &err), BAD[i].opened);
        if (BAD[i].opened == THR_OK)
            expect_status(thr_hits_verify(hits, &err), BAD[i].verified);
        assert_non_null(strstr(err.text, PATH));
    }
    (void)unlink(PATH);
}

/* ------------------------------------------------------------------------------------------------ write */

static void write_all(void) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    for (int kind = 0; kind < N_KINDS; kind++) {
        char path[PATH_ROOM], text[TEXT];
        write_kind(context, kind, golden_path(path, KINDS[kind].name, ""));
        print_answers(context, kind, text);
        test_write_text(golden_path(path, KINDS[kind].name, ".answers"), text);
    }
}
TEST_WRITER(write_all)

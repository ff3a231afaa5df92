/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexes with features change as one: after every change the index answers as one that is built of the same items,
 * with features, values and targets; and features that do not fit are refused.
 */
#include "index_hits_support.h"

static const char DIR_A[] = "index-hits-change", DIR_B[] = "index-hits-fresh", TABLE[] = "index-hits-change.tsv";
enum { DIMS = 8, MOST = 1500, STEPS = 24, BATCH = 90, K = 12 };

/* ------------------------------------------------------------------------------------------------ the model */

/* Items by id. Feature f of an item is bit f. */
typedef struct item {
    bool there;
    float vector[DIMS], multiplier, offset;
    uint32_t features;
} item;

static item items[MOST];

/* Items of a call, in the form of the library. */
typedef struct batch {
    uint64_t n, ids[MOST], offsets[MOST + 1];
    float rows[MOST * DIMS], multipliers[MOST], item_offsets[MOST];
    uint32_t features[MOST * N_FEATURES];
} batch;

static batch given;

static void append(batch *b, uint64_t id) {
    const item *one = &items[id];
    b->ids[b->n] = id;
    memcpy(b->rows + b->n * DIMS, one->vector, sizeof one->vector);
    b->multipliers[b->n] = one->multiplier;
    b->item_offsets[b->n] = one->offset;
    b->offsets[b->n + 1] = b->offsets[b->n];
    for (uint32_t f = 0; f < N_FEATURES; f++)
        if ((one->features >> f & 1) != 0)
            b->features[b->offsets[b->n + 1]++] = f;
    b->n++;
}

/* The features of a few items change over time, so that some have no item any more. */
static void draw(uint64_t id, uint64_t *rng, uint32_t most) {
    float *row = random_rows(1, DIMS, thr_rng_next(rng));
    item *one = &items[id];
    *one = (item){.there = true,
                  .multiplier = 1 + (float)thr_rng_below(rng, 8) / 4,
                  .offset = (float)thr_rng_below(rng, 100) / 50};
    memcpy(one->vector, row, sizeof one->vector);
    for (uint32_t f = 0; f < most; f++)
        one->features |= (uint32_t)(thr_rng_below(rng, f + 2) == 0) << f;
}

/* ------------------------------------------------------------------------------------------------ words */

static const char *name_of(uint64_t id) {
    static char name[24];
    (void)snprintf(name, sizeof name, "item %llu", (unsigned long long)id);
    return name;
}

/* The table of a batch, with names and words. */
static void write_table(const batch *b) {
    FILE *file = fopen(TABLE, "w");
    assert_non_null(file);
    for (uint64_t i = 0; i < b->n; i++) {
        (void)fprintf(file, "%s\t", name_of(b->ids[i]));
        for (uint64_t e = b->offsets[i]; e < b->offsets[i + 1]; e++)
            (void)fprintf(file, "word%u ", (unsigned)b->features[e] * 37 % 101);
        (void)fprintf(file, "\n");
    }
    assert_int_equal(fclose(file), 0);
}

/* The number of feature f in an index: UINT32_MAX if none of its items has it. */
static uint32_t number_in(thr_index *index, uint32_t f, bool words) {
    char word[16];
    uint32_t number;
    (void)snprintf(word, sizeof word, "word%u", (unsigned)f * 37 % 101);
    return !words ? f : thr_hits_feature(thr_index_hits(index), word, &number) ? number : THR_HITS_MAX_FEATURE;
}

/* ------------------------------------------------------------------------------------------------ answers */

typedef struct answers {
    uint64_t ids[N_QUERIES * K];
    float values[N_QUERIES * K];
    uint32_t n_unknown[N_QUERIES];
} answers;

static void search(thr_index *index, bool words, bool corpus, uint64_t seed, answers *found) {
    float *rows = random_rows(N_QUERIES, DIMS, seed);
    const thr_matrix queries = thr_matrix_f32(rows, N_QUERIES, DIMS);
    thr_search_options options = {0};
    OWNED(thr_hits_target, made) = NULL;
    asked a;
    ask(&a, seed + 1);
    for (uint64_t i = 0; i < a.offsets[N_QUERIES]; i++)
        a.features[i] = number_in(index, a.features[i], words);
    options.exact = true;
    options.features = &a.queries;
    options.n_unknown = found->n_unknown;
    if (corpus)
        expect_ok(thr_hits_target_create(thr_index_hits(index), words ? "word37 AND NOT word74" : "1 AND NOT 2", &made,
                                         &err));
    options.target = made;
    expect_ok(thr_index_search(index, &queries, K, &options, found->ids, found->values, &err));
}

/* Explanations and lookups by the ids of the index. */
static void expect_lookups(thr_index *index, bool words) {
    for (uint64_t id = 0; id < MOST; id += 7) {
        const uint64_t ends[] = {0, 1};
        uint64_t row, found;
        uint32_t feature = number_in(index, 1, words);
        float share;
        const thr_hits_queries one = {1, ends, &feature, NULL};
        if (!words)
            assert_int_equal(thr_hits_row(thr_index_hits(index), id, &row), items[id].there);
        if (words)
            assert_int_equal(thr_hits_find(thr_index_hits(index), name_of(id), &found), items[id].there);
        if (words && items[id].there)
            assert_string_equal(thr_hits_name(thr_index_hits(index), found), name_of(id));
        if (words || !items[id].there)
            continue;
        expect_ok(thr_hits_explain(thr_index_hits(index), id, &one, 0, &share, NULL, &err));
        assert_true((share != 0) == ((items[id].features & 2) != 0));
    }
}

static thr_index *open_checked(thr_context *context, const char *dir) {
    thr_index *index = test_index_open(context, dir);
    expect_ok(thr_index_verify(index, &err));
    return index;
}

static uint32_t n_cells; /* of the index that changes; the fresh one has none */

static void build(thr_context *context, const char *dir, bool words) {
    thr_index_build_options options = {0};
    memset(&given, 0, sizeof given);
    for (uint64_t id = 0; id < MOST; id++)
        if (items[id].there)
            append(&given, id);
    const thr_item_features features = {given.offsets, given.features, given.n};
    options.metric = THR_METRIC_IP;
    options.calibration_queries = THR_NO_CALIBRATION;
    options.ids = words ? NULL : given.ids;
    options.n_ids = words ? 0 : given.n;
    options.features = words ? NULL : &features;
    options.features_path = words ? TABLE : NULL;
    options.multipliers = given.multipliers;
    options.offsets = given.item_offsets;
    options.n_values = given.n;
    options.cells = dir == DIR_A ? n_cells : 0;
    write_table(&given);
    test_remove_directory(dir);
    expect_ok(build_rows(context, dir, given.rows, given.n, DIMS, &options, &err));
}

/* Names instead of ids, which differ. */
static void expect_same(thr_index *a, thr_index *b, const answers *of_a, const answers *of_b, bool words) {
    for (size_t i = 0; i < N_QUERIES * K; i++) {
        assert_true(of_a->values[i] == of_b->values[i]);
        assert_int_equal(of_a->ids[i] == THR_NO_ID, of_b->ids[i] == THR_NO_ID);
        if (words && of_a->ids[i] != THR_NO_ID)
            assert_string_equal(thr_index_name(a, of_a->ids[i]), thr_index_name(b, of_b->ids[i]));
        else
            assert_true(of_a->ids[i] == of_b->ids[i]);
    }
    assert_memory_equal(of_a->n_unknown, of_b->n_unknown, sizeof of_a->n_unknown);
}

/* The changed index and one that is built of its items answer the same. */
static void expect_as_fresh(thr_context *context, bool words, uint64_t seed) {
    static answers changed, fresh;
    build(context, DIR_B, words);
    thr_index *a = open_checked(context, DIR_A), *b = open_checked(context, DIR_B);
    assert_int_equal(thr_index_get_info(a).n_items, given.n);
    for (int corpus = 0; corpus < 2; corpus++) {
        search(a, words, corpus == 1, seed, &changed);
        search(b, words, corpus == 1, seed, &fresh);
        expect_same(a, b, &changed, &fresh, words);
    }
    for (uint32_t f = 0; f < N_FEATURES; f++)
        assert_int_equal(thr_hits_feature_items(thr_index_hits(a), number_in(a, f, words)),
                         thr_hits_feature_items(thr_index_hits(b), number_in(b, f, words)));
    expect_lookups(a, words);
    thr_index_free(a);
    thr_index_free(b);
}

/* ------------------------------------------------------------------------------------------------ changes */

/* NULL, or open: changes are its calls. */
static thr_index_writer *writer;

static thr_status write_rows(thr_context *context, const thr_matrix *rows, const thr_index_add_options *options) {
    if (writer != NULL)
        return thr_index_writer_write(writer, rows, NULL, options, NULL, &err);
    return add_matrix(context, DIR_A, rows, options, NULL, &err);
}

static thr_status add(thr_context *context, const batch *b, bool words, bool replace) {
    const thr_item_features features = {b->offsets, b->features, b->n};
    const thr_matrix rows = thr_matrix_f32(b->rows, b->n, DIMS);
    thr_index_add_options options = {.ids = words ? NULL : b->ids,
                                     .n_ids = words ? 0 : b->n,
                                     .replace = replace,
                                     .features = words ? NULL : &features,
                                     .features_path = words ? TABLE : NULL,
                                     .multipliers = b->multipliers,
                                     .offsets = b->item_offsets,
                                     .n_values = b->n};
    write_table(b);
    return write_rows(context, &rows, &options);
}

static void upsert_some(thr_context *context, bool words, uint64_t *rng, uint32_t most_features) {
    const uint64_t first = thr_rng_below(rng, MOST - BATCH), n = 1 + thr_rng_below(rng, BATCH);
    memset(&given, 0, sizeof given);
    for (uint64_t id = first; id < first + n; id++) {
        draw(id, rng, most_features);
        append(&given, id);
    }
    expect_ok(add(context, &given, words, true));
}

static void remove_some(thr_context *context, bool words, uint64_t *rng) {
    const uint64_t first = thr_rng_below(rng, MOST - BATCH), n = 1 + thr_rng_below(rng, BATCH);
    uint64_t ids[BATCH], n_ids = 0;
    thr_index *index = open_checked(context, DIR_A);
    for (uint64_t id = first; id < first + n; id++) {
        if (items[id].there && words)
            expect_ok(thr_index_find(index, name_of(id), &ids[n_ids++], &err));
        else if (items[id].there)
            ids[n_ids++] = id;
        items[id].there = false;
    }
    thr_index_free(index);
    expect_ok(writer != NULL ? thr_index_writer_remove(writer, ids, n_ids, NULL, &err)
                             : thr_index_remove(context, DIR_A, ids, n_ids, NULL, &err));
}

static thr_status compact(thr_context *context) {
    return writer != NULL ? thr_index_writer_compact(writer, NULL, &err)
                          : thr_index_compact(context, DIR_A, NULL, &err);
}

static void open_writer(thr_context *context) {
    expect_ok(thr_index_writer_open(context, DIR_A, NULL, &writer, &err));
}

static void close_writer(void) {
    thr_index_writer_free(writer);
    writer = NULL;
}

static void run_sequence(thr_context *context, bool words, bool by_writer, uint64_t seed) {
    uint64_t rng = seed;
    memset(items, 0, sizeof items);
    for (uint64_t id = 0; id < 300; id++)
        draw(id, &rng, N_FEATURES);
    build(context, DIR_A, words);
    if (by_writer)
        open_writer(context);
    for (int step = 0; step < STEPS; step++) {
        const uint64_t what = thr_rng_below(&rng, 5);
        if (what == 0)
            remove_some(context, words, &rng);
        else if (what == 1)
            expect_ok(compact(context));
        else
            upsert_some(context, words, &rng, step < STEPS / 2 ? 5 : N_FEATURES);
        expect_as_fresh(context, words, thr_rng_next(&rng));
    }
    for (uint64_t id = 0; id < MOST; id++) /* features of which no item is left */
        if (items[id].there && items[id].features >= 1u << 6) {
            items[id].features &= (1u << 6) - 1;
            memset(&given, 0, sizeof given);
            append(&given, id);
            break;
        }
    expect_ok(add(context, &given, words, true));
    expect_as_fresh(context, words, 1);
    close_writer();
}

TEST(answers_are_those_of_a_fresh_index) {
    run_sequence(*state, false, false, 1);
    run_sequence(*state, false, false, 2);
}

TEST(words_and_names_come_and_go) {
    run_sequence(*state, true, false, 3);
}

TEST(a_writer_changes_features) {
    run_sequence(*state, false, true, 4);
    run_sequence(*state, true, true, 5);
}

/* Merges and compactions put items in the order of new cells, and with them their features, bids and offsets. */
TEST(features_follow_items_through_cells) {
    n_cells = 12;
    run_sequence(*state, false, false, 6);
    thr_index *index = open_checked(*state, DIR_A);
    assert_true(thr_index_get_cells(index).n_cells > 0);
    thr_index_free(index);
    run_sequence(*state, true, false, 7);
    run_sequence(*state, false, true, 8);
    n_cells = 0;
}

/* The index has no items, and then a few, which are too few to learn codes from. */
TEST(an_index_may_become_empty) {
    thr_context *context = *state;
    for (int by_writer = 0; by_writer < 2; by_writer++) {
        uint64_t ids[MOST], rng = 6;
        memset(items, 0, sizeof items);
        for (uint64_t id = 0; id < 300; id++) {
            ids[id] = id;
            draw(id, &rng, N_FEATURES);
        }
        build(context, DIR_A, false);
        if (by_writer == 1)
            open_writer(context);
        for (uint64_t id = 0; id < 300; id++)
            items[id].there = false;
        expect_ok(writer != NULL ? thr_index_writer_remove(writer, ids, 300, NULL, &err)
                                 : thr_index_remove(context, DIR_A, ids, 300, NULL, &err));
        expect_ok(compact(context));
        for (int i = 0; i < 3; i++) {
            upsert_some(context, false, &rng, N_FEATURES);
            expect_as_fresh(context, false, 7);
        }
        close_writer();
    }
}

/* ------------------------------------------------------------------------------------------------ refused */

static thr_status add_options(thr_context *context, const thr_index_add_options *options) {
    static const float two[2 * DIMS] = {1, 2};
    const thr_matrix rows = thr_matrix_f32(two, 2, DIMS);
    return write_rows(context, &rows, options);
}

TEST(features_that_do_not_fit_are_refused) {
    thr_context *context = *state;
    uint64_t rng = 5, three[] = {0, 1, 1, 2}, wrong[] = {0, 2, 1}, late[] = {1, 1, 2}, good[] = {0, 1, 2};
    uint32_t numbers[] = {1, 2}, huge[] = {1, THR_HITS_MAX_FEATURE + 1};
    float values[] = {1, NAN};
    const struct {
        thr_item_features items;
        const float *multipliers;
        uint64_t n_values;
        thr_status status;
    } cases[] = {
        {{three, numbers, 3}, NULL, 0, THR_EDIM},    {{wrong, numbers, 2}, NULL, 0, THR_EINVAL},
        {{late, numbers, 2}, NULL, 0, THR_EINVAL},   {{good, huge, 2}, NULL, 0, THR_ERANGE},
        {{good, numbers, 2}, values, 2, THR_ERANGE}, {{good, numbers, 2}, values, 1, THR_EDIM},
    };
    thr_index_add_options options = {0};
    memset(items, 0, sizeof items);
    for (uint64_t id = 0; id < 100; id++)
        draw(id, &rng, N_FEATURES);
    build(context, DIR_A, false);
    expect_error(add_options(context, &options), THR_EINVAL, NULL); /* without features */
    for (size_t i = 0; i < 2 * (COUNT_OF(cases)); i++) {
        const size_t at = i / 2;
        if (i % 2 == 1)
            open_writer(context);
        options.features = &cases[at].items;
        options.multipliers = cases[at].multipliers;
        options.n_values = cases[at].n_values;
        expect_error(add_options(context, &options), cases[at].status, NULL);
        close_writer();
    }
    expect_as_fresh(context, false, 9);
    open_writer(context);
    options = (thr_index_add_options){0};
    expect_error(add_options(context, &options), THR_EINVAL, NULL);
    close_writer();
    expect_as_fresh(context, false, 9);
}

TEST(tables_that_do_not_fit_are_refused) {
    thr_context *context = *state;
    uint64_t rng = 5, good[] = {0, 1, 2};
    uint32_t numbers[] = {1, 2};
    const uint64_t others[] = {700, 702};
    const thr_item_features two = {good, numbers, 2};
    thr_index_add_options options = {0};
    memset(items, 0, sizeof items);
    for (uint64_t id = 0; id < 100; id++)
        draw(id, &rng, N_FEATURES);
    build(context, DIR_A, false);
    options.features_path = TABLE;
    test_write_text(TABLE, "700\t1 2\n701\tred\n");
    expect_error(add_options(context, &options), THR_EFORMAT, NULL);
    test_write_text(TABLE, "700\t1 2\n5\t1\n");
    expect_error(add_options(context, &options), THR_EDUPLICATE, NULL);
    options.ids = others;
    options.n_ids = 2;
    test_write_text(TABLE, "700\t1 2\n701\t1\n");
    expect_error(add_options(context, &options), THR_EMISMATCH, NULL);
    options.features = &two;
    expect_error(add_options(context, &options), THR_EINVAL, NULL); /* both */
    expect_as_fresh(context, false, 9);
    build(context, DIR_A, true);
    options = (thr_index_add_options){0};
    options.features = &two;
    test_write_text("index-hits-change.txt", "a\nb\n");
    options.ids_path = "index-hits-change.txt";
    expect_error(add_options(context, &options), THR_EINVAL, NULL); /* numbers for words */
    expect_as_fresh(context, true, 9);
    thr_hits *updated = NULL;
    thr_hits_changes changes = {0};
    thr_index *index = open_checked(context, DIR_A);
    expect_error(thr_hits_update(thr_index_hits(index), &changes, &updated, &err), THR_EUNSUPPORTED, NULL);
    thr_index_free(index);
    (void)unlink("index-hits-change.txt");
}

TEST_IN_CONTEXT(2, NULL)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards.c - collections: the answers of one index over all rows, lists that are read as they were written, and lists,
 * shards and searches that must be refused.
 */
#include "index_support.h"

#include "base/files/checksum.h"
#include "shards/impl.h"

static const char WHOLE[] = "shards-whole", DIR_A[] = "shards-collection", LIST[] = "shards-collection/shards.json";
enum { N = 300, DIMS = 12, QUERIES = 7, N_SHARDS = 3, MOST = N + 5 };

static const uint64_t cuts[N_SHARDS + 1] = {0, 1, 130, N};
static const char *const names[N_SHARDS] = {"000000-a", "000001-b", "000002-c"};

static uint64_t given_ids[N];

/* Rows with a common direction and ties between shards. */
static float *tied_rows(void) {
    float *rows = random_rows(N, DIMS, 5);
    for (size_t i = 0; i < (size_t)N * DIMS; i++)
        rows[i] += 0.5f;
    for (size_t r = 50; r < N; r += 50)
        memcpy(rows + r * DIMS, rows, DIMS * sizeof *rows);
    return rows;
}

/* The list of the shards that are in DIR_A. */
static thr_shards_info describe(thr_context *context, bool has_ids, thr_shard list[N_SHARDS]) {
    thr_shards_info all = {.has_ids = has_ids, .n_items = N};
    for (uint64_t i = 0; i < N_SHARDS; i++) {
        char path[PATH_ROOM], manifest[PATH_ROOM];
        thr_index *index = NULL;
        size_t size;
        join_path(path, DIR_A, names[i]);
        join_path(manifest, path, "MANIFEST");
        uint8_t *text = test_bytes_of(manifest, &size);
        expect_ok(thr_index_open(context, path, &index, &err));
        const thr_index_info info = thr_index_get_info(index);
        list[i] = (thr_shard){.first_row = cuts[i], .n_items = cuts[i + 1] - cuts[i]};
        (void)snprintf(list[i].directory, sizeof list[i].directory, "%s", names[i]);
        list[i].least_id = has_ids ? given_ids[cuts[i]] : cuts[i];
        list[i].greatest_id = has_ids ? given_ids[cuts[i + 1] - 1] : cuts[i + 1] - 1;
        list[i].checksum = strtoull((const char *)text + size - 17, NULL, 16);
        all.metric = info.metric;
        all.keep = info.keep;
        all.n_dims = info.n_dims;
        all.item_bits = info.item_bits;
        all.lead_bits = info.lead_bits;
        all.quantiser = thr_index_quantiser_fingerprint(index);
        thr_index_free(index);
    }
    return all;
}

/* Build an index of all rows, and a collection of shards with its quantiser. */
static thr_shards_info build(thr_context *context, const float *rows, thr_index_build_options options, bool has_ids,
                             thr_shard list[N_SHARDS]) {
    options.replace = true;
    options.calibration_queries = 0;
    for (uint64_t i = 0; i < N; i++)
        given_ids[i] = 3 * i + 7;
    options.ids = has_ids ? given_ids : NULL;
    options.n_ids = has_ids ? N : 0;
    expect_ok(build_rows(context, WHOLE, rows, N, DIMS, &options, &err));
    (void)mkdir(DIR_A, 0777);
    options.quantiser_from = WHOLE;
    for (size_t i = 0; i < N_SHARDS; i++) {
        char path[PATH_ROOM];
        join_path(path, DIR_A, names[i]);
        options.ids = has_ids ? given_ids + cuts[i] : NULL;
        options.n_ids = has_ids ? cuts[i + 1] - cuts[i] : 0;
        expect_ok(build_rows(context, path, rows + cuts[i] * DIMS, cuts[i + 1] - cuts[i], DIMS, &options, &err));
    }
    const thr_shards_info info = describe(context, has_ids, list);
    expect_ok(thr_shards_write(context, DIR_A, &info, list, N_SHARDS, &err));
    return info;
}

static thr_shards *open_shards(thr_context *context) {
    thr_shards *shards = NULL;
    expect_ok(thr_shards_open(context, DIR_A, &shards, &err));
    return shards;
}

static thr_index *open_whole(thr_context *context) {
    thr_index *index = NULL;
    expect_ok(thr_index_open(context, WHOLE, &index, &err));
    return index;
}

static int tear_down(void **state) {
    for (size_t i = 0; i < N_SHARDS; i++) {
        char path[PATH_ROOM];
        join_path(path, DIR_A, names[i]);
        test_remove_directory(path);
    }
    test_remove_directory(WHOLE);
    test_remove_directory(DIR_A);
    return test_drop_context(state);
}

TEST_GROUP(test_make_context, tear_down)

/* ------------------------------------------------------------------------------------------------ answers */

typedef struct answers {
    uint64_t ids[QUERIES * MOST];
    float scores[QUERIES * MOST];
    uint8_t certified[QUERIES];
} answers;

static void compare_best(thr_shards *shards, thr_index *whole, const thr_matrix *queries, uint64_t k,
                         thr_search_options common) {
    static answers one, many;
    thr_shards_search_options options = {.common = common};
    common.certified = one.certified;
    expect_ok(thr_index_search(whole, queries, k, &common, one.ids, one.scores, &err));
    options.common.certified = many.certified;
    expect_ok(thr_shards_search(shards, queries, k, &options, many.ids, many.scores, &err));
    assert_memory_equal(one.ids, many.ids, QUERIES * k * sizeof *one.ids);
    assert_memory_equal(one.scores, many.scores, QUERIES * k * sizeof *one.scores);
    for (size_t q = 0; q < QUERIES; q++)
        assert_int_equal(many.certified[q], thr_shards_get_info(shards).keep == THR_DTYPE_F32);
}

static void compare_radius(thr_shards *shards, thr_index *whole, const thr_matrix *queries, float least,
                           const thr_search_options *options) {
    thr_radius_result *one = NULL, *many = NULL;
    expect_ok(thr_index_search_radius(whole, queries, least, options, &one, &err));
    expect_ok(thr_shards_search_radius(shards, queries, least, options, &many, &err));
    const uint64_t n = one->offsets[QUERIES];
    assert_int_equal(many->n_queries, QUERIES);
    assert_memory_equal(one->offsets, many->offsets, (QUERIES + 1) * sizeof *one->offsets);
    assert_memory_equal(one->ids, many->ids, n * sizeof *one->ids);
    assert_memory_equal(one->scores, many->scores, n * sizeof *one->scores);
    assert_in_range(n, 1, N * QUERIES);
    thr_radius_result_free(one);
    thr_radius_result_free(many);
}

static void compare(thr_context *context, thr_metric metric, thr_dtype keep, bool has_ids) {
    float *rows = tied_rows(), *given = random_rows(QUERIES, DIMS, 6);
    uint64_t filter[(N + 63) / 64];
    thr_shard list[N_SHARDS];
    const thr_matrix queries = thr_matrix_f32(given, QUERIES, DIMS);
    (void)build(context, rows, build_options(metric, keep, 3), has_ids, list);
    thr_shards *shards = open_shards(context);
    thr_index *whole = open_whole(context);
    thr_search_options options = {.exact = true};
    memset(filter, 0xd5, sizeof filter);
    for (int filtered = 0; filtered < 2; filtered++) {
        options.filter = filtered ? filter : NULL;
        options.filter_bits = N;
        compare_best(shards, whole, &queries, 1, options);
        compare_best(shards, whole, &queries, 40, options);
        compare_best(shards, whole, &queries, MOST, options);
        compare_radius(shards, whole, &queries, metric == THR_METRIC_L2 ? -9 : 0.3f, &options);
    }
    thr_index_free(whole);
    thr_shards_free(shards);
}

TEST(the_answers_are_those_of_one_index) {
    for (int metric = 0; metric < 3; metric++)
        for (int has_ids = 0; has_ids < 2; has_ids++)
            compare(*state, (thr_metric)metric, has_ids ? THR_DTYPE_F16 : THR_DTYPE_F32, has_ids);
}

TEST(items_below_the_least_scores_are_left_out) {
    float *rows = tied_rows(), *given = random_rows(QUERIES, DIMS, 6), least[QUERIES];
    thr_shard list[N_SHARDS];
    static answers found;
    const thr_matrix queries = thr_matrix_f32(given, QUERIES, DIMS);
    (void)build(*state, rows, build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3), false, list);
    thr_shards *shards = open_shards(*state);
    const thr_shards_search_options options = {.common = {.exact = true, .least_scores = least}};
    for (size_t q = 0; q < QUERIES; q++)
        least[q] = 0.25f;
    expect_ok(thr_shards_search(shards, &queries, N, &options, found.ids, found.scores, &err));
    assert_true(found.scores[0] >= 0.25f);
    for (size_t i = 0; i < (size_t)QUERIES * N; i++)
        assert_true(found.ids[i] == THR_NO_ID || found.scores[i] >= 0.25f);
    thr_shards_free(shards);
}

/* ------------------------------------------------------------------------------------------------ lists */

TEST(a_list_is_read_as_it_was_written) {
    float *rows = tied_rows();
    thr_shard list[N_SHARDS];
    const thr_shards_info given = build(*state, rows, build_options(THR_METRIC_IP, THR_DTYPE_F32, 3), true, list);
    thr_shards *shards = open_shards(*state), *parsed = NULL;
    const thr_shards_info info = thr_shards_get_info(shards);
    size_t size;
    assert_int_equal(info.n_shards, N_SHARDS);
    assert_true(info.quantiser == given.quantiser && info.has_ids && !info.has_names && info.n_items == N);
    for (size_t i = 0; i < N_SHARDS; i++) {
        const thr_shard *one = &thr_shards_list(shards)[i];
        assert_string_equal(one->directory, list[i].directory);
        assert_true(one->first_row == list[i].first_row && one->n_items == list[i].n_items);
        assert_true(one->least_id == list[i].least_id && one->greatest_id == list[i].greatest_id);
        assert_true(one->checksum == list[i].checksum);
    }
    uint8_t *text = test_bytes_of(LIST, &size);
    expect_ok(thr_shards_parse(*state, "elsewhere", (const char *)text, size, &parsed, &err));
    assert_true(thr_shards_get_info(parsed).n_shards == N_SHARDS);
    thr_shards_free(parsed);
    thr_shards_free(shards);
}

TEST(a_list_that_does_not_fit_together_is_not_written) {
    const thr_shards_info good = {.keep = THR_DTYPE_F32, .n_dims = 4, .item_bits = 3, .lead_bits = 1, .n_items = 5};
    const thr_shard list[2] = {{.directory = "a", .n_items = 2, .greatest_id = 1},
                               {.directory = "b", .first_row = 2, .n_items = 3, .least_id = 2, .greatest_id = 4}};
    thr_shard wrong[2];
#define REFUSED(change, part)                                                                                          \
    do {                                                                                                               \
        thr_shards_info info = good;                                                                                   \
        memcpy(wrong, list, sizeof wrong);                                                                             \
        change;                                                                                                        \
        assert_true(thr_shards_write(*state, DIR_A, &info, wrong, 2, &err) < 0);                                       \
        assert_non_null(strstr(err.text, part));                                                                       \
    } while (0)
    REFUSED(info.n_dims = 0, "n_dims: expected");
    REFUSED(info.item_bits = 9, "bits: expected");
    REFUSED(info.metric = (thr_metric)3, "metric: expected");
    REFUSED(info.keep = THR_DTYPE_U8, "keep: expected");
    REFUSED(info.n_items = 6, "a shard is missing or doubled");
    REFUSED(info.n_items = 4, "a shard is missing or doubled");
    REFUSED(wrong[1].first_row = 1, "overlap");
    REFUSED(wrong[1].first_row = 3, "leave a gap");
    REFUSED(wrong[1].least_id = 5, "greatest_id");
    REFUSED(wrong[0].n_items = 0, "n_items: expected");
    REFUSED(wrong[1].n_items = (uint64_t)INT64_MAX, "a shard is missing or doubled");
    REFUSED(wrong[0].greatest_id = THR_NO_ID, "greatest_id: expected");
    REFUSED(wrong[1].directory[0] = 'a', "the shards 0 and 1 are both a");
    REFUSED(memcpy(wrong[1].directory, "a/b", 4), "a name without a path");
    REFUSED(memcpy(wrong[1].directory, "..", 3), "a name without a path");
    REFUSED(memcpy(wrong[1].directory, "a\xff", 3), "a name without a path");
    REFUSED(wrong[1].directory[0] = '\0', "a name without a path");
    REFUSED(memset(wrong[1].directory, 'a', sizeof wrong[1].directory), "has no end");
#undef REFUSED
}

TEST(a_list_of_many_shards_is_read_in_proportion_to_them) {
    enum { MANY = 100000 };
    thr_shard *list = test_new(MANY, sizeof *list);
    thr_shards *shards = NULL;
    const thr_shards_info info = {.keep = THR_DTYPE_F32, .n_dims = 4, .item_bits = 3, .lead_bits = 1, .n_items = MANY};
    for (unsigned i = 0; i < MANY; i++) {
        list[i] = (thr_shard){.first_row = i, .n_items = 1, .least_id = i, .greatest_id = i};
        (void)snprintf(list[i].directory, sizeof list[i].directory, "%06u-00000000", i);
    }
    (void)mkdir(DIR_A, 0777);
    expect_ok(thr_shards_write(*state, DIR_A, &info, list, MANY, &err));
    expect_ok(thr_shards_open(*state, DIR_A, &shards, &err));
    assert_memory_equal(thr_shards_list(shards), list, MANY * sizeof *list);
    thr_shards_free(shards);
}

/* Replace the checksum at the end of a list. */
static void seal(char *text, size_t size) {
    char digits[17];
    if (size < 20)
        return;
    (void)snprintf(digits, sizeof digits, "%016llx", (unsigned long long)thr_checksum_of(text, size - 20));
    memcpy(text + size - 20, digits, 16);
}

/* A text whose checksum is right is refused, or it is a list of other values, with which verification fails. */
static void expect_refused(thr_context *context, char *text, size_t size, const char *original) {
    thr_shards *shards = NULL;
    thr_status status;
    seal(text, size);
    if (strcmp(text, original) == 0)
        return;
    status = thr_shards_parse(context, DIR_A, text, size, &shards, &err);
    assert_true((status == THR_OK) == (shards != NULL));
    if (status == THR_OK) {
        const thr_shards_info info = thr_shards_get_info(shards);
        status = info.has_removed || info.cells != 0 ? THR_EINVAL : thr_shards_verify(shards, &err); /* only Python's */
    }
    if (status == THR_OK)
        fail_msg("accepted: %s", text);
    thr_shards_free(shards);
}

TEST(mutants_of_a_list_with_a_right_checksum_are_errors) {
    static const char others[] = "09a-\"\\{}[],: .e\xff\n";
    float *rows = tied_rows();
    thr_shard list[N_SHARDS];
    size_t size;
    (void)build(*state, rows, build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3), true, list);
    char *text = (char *)test_bytes_of(LIST, &size), *mutant = test_new(size + 2, 1);
    for (size_t at = 0; at < size; at++) {
        for (size_t o = 0; o < sizeof others; o++) { /* one is NUL */
            memcpy(mutant, text, size + 1);
            mutant[at] = others[o];
            expect_refused(*state, mutant, size, text);
            memcpy(mutant + at + 1, text + at, size - at + 1); /* inserted */
            expect_refused(*state, mutant, size + 1, text);
        }
        memcpy(mutant, text, at);
        memcpy(mutant + at, text + at + 1, size - at); /* left out */
        expect_refused(*state, mutant, size - 1, text);
        memcpy(mutant, text, at);
        mutant[at] = '\0';
        expect_refused(*state, mutant, at, text);
    }
}

TEST(a_list_of_another_version_or_with_a_wrong_checksum_is_refused) {
    float *rows = tied_rows();
    thr_shard list[N_SHARDS];
    thr_shards *shards = NULL;
    size_t size;
    (void)build(*state, rows, build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3), false, list);
    char *text = (char *)test_bytes_of(LIST, &size);
    char *version = strstr(text, "_shards\":1");
    assert_non_null(version);
    version[9] = '2';
    expect_error(thr_shards_parse(*state, DIR_A, text, size, &shards, &err), THR_EVERSION, NULL);
    version[9] = '1';
    strstr(text, "\"n_items\":")[11] ^= 1;
    expect_error(thr_shards_parse(*state, DIR_A, text, size, &shards, &err), THR_ECORRUPT,
                 "shards.json: the checksum at its end does not fit");
}

/* ------------------------------------------------------------------------------------------------ shards */

static void expect_index(thr_context *context, uint64_t i, thr_status wanted, const char *part) {
    thr_shards *shards = open_shards(context);
    thr_index *index = NULL;
    if (wanted == THR_OK)
        expect_ok(thr_shards_index(shards, i, &index, &err));
    else
        expect_error(thr_shards_index(shards, i, &index, &err), wanted, part);
    assert_true((index != NULL) == (wanted == THR_OK));
    thr_shards_free(shards);
}

TEST(shards_that_the_list_does_not_describe_are_refused) {
    float *rows = tied_rows();
    thr_shard list[N_SHARDS];
    char path[PATH_ROOM];
    thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    (void)build(*state, rows, options, true, list);
    expect_index(*state, 1, THR_OK, NULL);
    expect_index(*state, N_SHARDS, THR_EINVAL, "there is no shard 3");
    join_path(path, DIR_A, names[1]);
    options.replace = true;
    options.quantiser_from = WHOLE;
    expect_ok(build_rows(*state, path, rows, cuts[2] - cuts[1], DIMS, &options, &err));
    expect_index(*state, 1, THR_ECORRUPT, "shard 1 was changed or replaced since");
    options.metric = THR_METRIC_L2;
    options.quantiser_from = NULL;
    expect_ok(build_rows(*state, path, rows, cuts[2] - cuts[1], DIMS, &options, &err));
    expect_index(*state, 1, THR_EMISMATCH, "shard 1 has metric l2, and the collection has cosine");
    test_remove_directory(path);
    expect_index(*state, 1, THR_ECORRUPT, "shard 1 of the collection is missing");
}

TEST(a_shard_of_a_list_that_was_replaced_is_reported_as_changed) {
    float *rows = tied_rows();
    thr_shard list[N_SHARDS];
    char path[PATH_ROOM];
    thr_index *index = NULL;
    thr_shards_info info = build(*state, rows, build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3), true, list);
    thr_shards *shards = open_shards(*state);
    info.n_items = cuts[2];
    expect_ok(thr_shards_write(*state, DIR_A, &info, list, 2, &err));
    join_path(path, DIR_A, names[2]);
    test_remove_directory(path);
    expect_error(thr_shards_index(shards, 2, &index, &err), THR_ECHANGED, NULL);
    expect_ok(thr_shards_index(shards, 1, &index, &err));
    thr_shards_free(shards);
}

static void expect_verify(thr_context *context, thr_status wanted, const char *part) {
    thr_shards *shards = open_shards(context);
    if (wanted == THR_OK)
        expect_ok(thr_shards_verify(shards, &err));
    else
        expect_error(thr_shards_verify(shards, &err), wanted, part);
    thr_shards_free(shards);
}

TEST(verify_compares_the_shards_with_the_list) {
    float *rows = tied_rows();
    thr_shard list[N_SHARDS];
    thr_shards_info info = build(*state, rows, build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3), true, list);
    expect_verify(*state, THR_OK, NULL);
    info.n_cells = 1;
    expect_ok(thr_shards_write(*state, DIR_A, &info, list, N_SHARDS, &err));
    expect_verify(*state, THR_ECORRUPT, "has another n_cells");
    info.n_cells = 0;
    info.has_names = true;
    expect_ok(thr_shards_write(*state, DIR_A, &info, list, N_SHARDS, &err));
    expect_verify(*state, THR_ECORRUPT, "has another has_names");
    info.has_names = false;
    list[1].greatest_id--;
    expect_ok(thr_shards_write(*state, DIR_A, &info, list, N_SHARDS, &err));
    expect_verify(*state, THR_ECORRUPT, "has wrong ids of shard 1: they are from 10 to 394");
}

TEST(directories_without_a_list_are_no_collections) {
    thr_shards *shards = NULL;
    float *rows = tied_rows();
    thr_shard list[N_SHARDS];
    (void)build(*state, rows, build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3), true, list);
    expect_error(thr_shards_open(*state, "shards-nowhere", &shards, &err), THR_ENOTFOUND, NULL);
    expect_error(thr_shards_open(*state, WHOLE, &shards, &err), THR_EFORMAT, "is no collection of shards");
    expect_error(thr_shards_open(*state, "", &shards, &err), THR_EINVAL, NULL);
    assert_null(shards);
}

/* ------------------------------------------------------------------------------------------------ refusals, memory */

TEST(searches_that_cannot_be_are_refused) {
    float *rows = tied_rows();
    thr_shard list[N_SHARDS];
    uint64_t ids[QUERIES], filter[MOST] = {0};
    float scores[QUERIES];
    const thr_matrix queries = thr_matrix_f32(rows, QUERIES, DIMS);
    thr_radius_result *result = NULL;
    (void)build(*state, rows, build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3), true, list);
    thr_shards *shards = open_shards(*state);
    thr_shards_search_options options = {.features = NULL};
    expect_error(thr_shards_search(shards, &queries, 0, &options, ids, scores, &err), THR_EINVAL, NULL);
    expect_error(thr_shards_search(shards, &queries, 1, &options, ids, NULL, &err), THR_EINVAL, NULL);
    options.common.filter = filter;
    options.common.filter_bits = N - 1;
    expect_error(thr_shards_search(shards, &queries, 1, &options, ids, scores, &err), THR_EINVAL,
                 "the filter has 299 bits, and the collection has 300 items");
    options.common.filter = NULL;
    options.common.n_read = filter;
    expect_error(thr_shards_search_radius(shards, &queries, 0.5f, &options.common, &result, &err), THR_EINVAL, NULL);
    assert_null(result);
    expect_error(thr_shards_search_radius(shards, NULL, 0.5f, NULL, &result, &err), THR_EINVAL, NULL);
    thr_shards_free(shards);
    thr_shards_free(NULL);
}

TEST(without_memory_a_search_fails_and_leaks_nothing) {
    test_memory memory = {.fail_at = 0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    float *rows = tied_rows();
    thr_shard list[N_SHARDS];
    uint64_t ids[QUERIES];
    float scores[QUERIES];
    const thr_matrix queries = thr_matrix_f32(rows, QUERIES, DIMS);
    (void)build(*state, rows, build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3), true, list);
    test_oom oom = test_oom_start(&memory);
    oom.tolerant = true; /* the choice of a kernel does without memory */
    while (test_oom_next(&oom)) {
        thr_shards *shards = NULL;
        thr_radius_result *result = NULL;
        test_oom_arm(&oom);
        thr_status status = thr_shards_open(context, DIR_A, &shards, &err);
        if (status == THR_OK)
            status = thr_shards_search(shards, &queries, 1, NULL, ids, scores, &err);
        if (status == THR_OK)
            status = thr_shards_search_radius(shards, &queries, 0.5f, NULL, &result, &err);
        (void)test_oom_check(&oom, status, &err, "no memory");
        thr_radius_result_free(result);
        thr_shards_free(shards);
    }
    assert_true(oom.n_failed > 20);
    thr_context_free(context);
}

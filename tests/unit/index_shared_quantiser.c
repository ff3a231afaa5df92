/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes that share a quantiser: parts of a collection that are searched as one. */
#include "index_support.h"

static const char WHOLE[] = "index-shared-whole", PART[] = "index-shared-part", OTHER[] = "index-shared-other";
enum { N = 400, CUT = 189, DIMS = 24, N_QUERIES = 9, K = 12 };

static thr_context *context;

static int set_up(void **state) {
    (void)state;
    context = test_context(2, THR_ISA_BEST, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    thr_context_free(context);
    test_remove_directory(WHOLE);
    test_remove_directory(PART);
    test_remove_directory(OTHER);
    return 0;
}

/* Rows with a common direction, so that the quantiser has a centre, and ties. */
static float *shifted_rows(void) {
    float *rows = random_rows(N, DIMS, 5);
    for (size_t i = 0; i < (size_t)N * DIMS; i++)
        rows[i] += 0.7f;
    for (size_t r = 0; r < N; r += 50)
        memcpy(rows + r * DIMS, rows, DIMS * sizeof *rows);
    return rows;
}

static thr_index *open_index(const char *dir) {
    return test_index_open(context, dir);
}

typedef struct answer {
    uint64_t ids[N_QUERIES * K];
    float scores[N_QUERIES * K];
} answer;

static void search(const char *dir, const float *queries, bool exact, answer *found) {
    const thr_matrix matrix = thr_matrix_f32(queries, N_QUERIES, DIMS);
    OWNED(thr_index, index) = open_index(dir);
    thr_search_options options = {.exact = exact, .n_survivors = N};
    expect_ok(thr_index_search(index, &matrix, K, &options, found->ids, found->scores, &err));
}

/* Merge two answers, in which rows of the second follow those of the first. */
static void merge(const answer *one, const answer *two, answer *both) {
    for (size_t q = 0; q < N_QUERIES; q++)
        for (size_t i = 0, a = q * K, b = q * K; i < K; i++) {
            const bool first = one->scores[a] >= two->scores[b];
            both->scores[q * K + i] = first ? one->scores[a] : two->scores[b];
            both->ids[q * K + i] = first ? one->ids[a++] : two->ids[b++];
        }
}

/* Build the whole, then parts with its quantiser, and compare merged answers with those of the whole. */
static void compare(thr_metric metric, thr_dtype keep, uint32_t bits, uint32_t lead, thr_rotate rotate) {
    float *rows = shifted_rows();
    uint64_t ids[N];
    thr_index_build_options options = build_options(metric, keep, bits);
    static answer whole, one, two, both;
    for (uint64_t i = 0; i < N; i++)
        ids[i] = i;
    options.rotate = rotate;
    options.lead_bits = lead;
    options.calibration_queries = THR_NO_CALIBRATION;
    options.replace = true;
    expect_ok(build_rows(context, WHOLE, rows, N, DIMS, &options, &err));
    options.quantiser_from = WHOLE;
    options.item_bits = 8; /* ignored, as these are */
    options.lead_bits = 3;
    options.rotate = THR_ROTATE_AUTO;
    options.n_ids = CUT;
    options.ids = ids;
    expect_ok(build_rows(context, PART, rows, CUT, DIMS, &options, &err));
    options.n_ids = N - CUT;
    options.ids = ids + CUT;
    options.quantiser_from = PART; /* handed on */
    expect_ok(build_rows(context, OTHER, rows + CUT * DIMS, N - CUT, DIMS, &options, &err));
    search(WHOLE, rows + 7 * DIMS, keep != THR_DTYPE_NONE, &whole);
    search(PART, rows + 7 * DIMS, keep != THR_DTYPE_NONE, &one);
    search(OTHER, rows + 7 * DIMS, keep != THR_DTYPE_NONE, &two);
    merge(&one, &two, &both);
    assert_memory_equal(both.ids, whole.ids, sizeof whole.ids);
    assert_memory_equal(both.scores, whole.scores, sizeof whole.scores);
}

TEST(parts_that_share_a_quantiser_merge_to_the_answer_of_the_whole) {
    for (int metric = THR_METRIC_COSINE; metric <= THR_METRIC_L2; metric++) {
        compare((thr_metric)metric, THR_DTYPE_NONE, 2, 2, THR_ROTATE_OFF);
        compare((thr_metric)metric, THR_DTYPE_NONE, 4, 4, THR_ROTATE_ON);
        compare((thr_metric)metric, THR_DTYPE_NONE, 3, 1, THR_ROTATE_AUTO);
        compare((thr_metric)metric, THR_DTYPE_F16, 3, 2, THR_ROTATE_ON);
    }
}

TEST(the_fingerprint_is_that_of_the_quantiser) {
    float *rows = shifted_rows();
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    options.replace = true;
    expect_ok(build_rows(context, WHOLE, rows, N, DIMS, &options, &err));
    expect_ok(build_rows(context, OTHER, rows + CUT * DIMS, N - CUT, DIMS, &options, &err));
    options.quantiser_from = WHOLE;
    expect_ok(build_rows(context, PART, rows + CUT * DIMS, N - CUT, DIMS, &options, &err));
    thr_index *whole = open_index(WHOLE), *part = open_index(PART), *other = open_index(OTHER);
    assert_true(thr_index_quantiser_fingerprint(whole) == thr_index_quantiser_fingerprint(part));
    assert_true(thr_index_quantiser_fingerprint(whole) != thr_index_quantiser_fingerprint(other));
    assert_true(thr_index_get_info(whole).centred && thr_index_get_info(part).centred);
    expect_ok(thr_index_verify(part, &err));
    thr_index_free(whole);
    thr_index_free(part);
    thr_index_free(other);
}

TEST(a_quantiser_that_does_not_fit_is_refused) {
    float *rows = shifted_rows();
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    options.replace = true;
    expect_ok(build_rows(context, WHOLE, rows, N, DIMS, &options, &err));
    test_remove_directory(PART);
    options.quantiser_from = WHOLE;
    expect_error(build_rows(context, PART, rows, N, DIMS / 2, &options, &err), THR_EDIM, "12 dimensions");
    options.metric = THR_METRIC_L2;
    expect_error(build_rows(context, PART, rows, N, DIMS, &options, &err), THR_EMISMATCH, "for ip");
    options.quantiser_from = "index-shared-nowhere";
    expect_error(build_rows(context, PART, rows, N, DIMS, &options, &err), THR_ENOTFOUND, NULL);
    assert_int_equal(count_files(PART, "", NULL), 0);
}

TEST(every_allocation_may_fail) {
    float *rows = shifted_rows();
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_NONE, 3);
    options.replace = true;
    options.rotate = THR_ROTATE_ON;
    expect_ok(build_rows(context, WHOLE, rows, N, DIMS, &options, &err));
    options.quantiser_from = WHOLE;
    test_memory memory = {0};
    thr_context *limited = test_context(2, THR_ISA_BEST, &memory);
    test_oom oom = test_oom_start(&memory);
    oom.tolerant = true; /* the choice of a kernel does without memory */
    while (test_oom_next(&oom)) {
        test_oom_arm(&oom);
        const thr_status status = build_rows(limited, PART, rows, N, DIMS, &options, &err);
        (void)test_oom_check(&oom, status, &err, NULL);
    }
    assert_true(oom.n_failed > 3);
    thr_context_free(limited);
    assert_int_equal(atomic_load(&memory.live), 0);
}

TEST_GROUP(set_up, tear_down)

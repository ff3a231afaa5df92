/* SPDX-License-Identifier: Apache-2.0 */
#include "index_support.h"

#include "index/impl.h"

static const char DIR_A[] = "index-a", DIR_B[] = "index-b";

static const thr_metric metrics[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
static const thr_dtype keeps[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8, THR_DTYPE_NONE};
static const uint32_t all_dims[] = {1, 7, 8, 9, 64, 100};
static const uint64_t all_sizes[] = {1, 63, 64, 65, 1000};
static const uint32_t all_bits[] = {1, 3, 8};

enum { K = 10, N_QUERIES = 5 };

/* Doubles, largest first. */
static int by_score(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/*
 * The answer's scores are the true ones, of distinct rows, in order, and place i holds the i-th best of all scores,
 * within tolerance. kept are the vectors as the index keeps them.
 */
static void check_answer(thr_metric metric, const float *query, const float *kept, uint64_t n, uint32_t n_dims,
                         const uint64_t *ids, const float *scores, double tolerance) {
    double *all = test_new(n, sizeof *all);
    for (uint64_t r = 0; r < n; r++)
        all[r] = naive_score(metric, query, kept + r * n_dims, n_dims);
    for (uint64_t i = 0; i < K; i++) {
        if (i >= n) {
            assert_true(ids[i] == THR_NO_ID && isinf(scores[i]) && scores[i] < 0);
            continue;
        }
        assert_true(ids[i] < n);
        for (uint64_t j = 0; j < i; j++)
            assert_true(ids[j] != ids[i]);
        assert_true(fabs((double)scores[i] - all[ids[i]]) <= tolerance);
        if (i > 0)
            assert_true(scores[i] < scores[i - 1] || (scores[i] == scores[i - 1] && ids[i] > ids[i - 1]));
    }
    qsort(all, (size_t)n, sizeof *all, by_score);
    for (uint64_t i = 0; i < K && i < n; i++)
        assert_true(fabs((double)scores[i] - all[i]) <= tolerance);
}

static void read_back(const thr_index *index, uint64_t n, uint32_t n_dims, float *kept) {
    for (uint64_t r = 0; r < n; r++)
        expect_ok(thr_index_vector(index, r, kept + r * n_dims, &err));
}

/* As many candidates as items: the answer must be exact, by whatever way. */
static void check_index(const thr_index_info *info, thr_index *index, const float *rows, uint64_t seed) {
    uint32_t n_dims = info->n_dims;
    float *queries = random_rows(N_QUERIES, n_dims, seed), *kept = test_new(info->n_items * n_dims, sizeof *kept);
    thr_matrix matrix = thr_matrix_f32(queries, N_QUERIES, n_dims);
    uint64_t ids[N_QUERIES * K], exact_ids[N_QUERIES * K];
    float scores[N_QUERIES * K], exact_scores[N_QUERIES * K];
    thr_search_options options = {0};
    memset(queries, 0, n_dims * sizeof *queries); /* the first is the zero vector */
    options.n_candidates = info->n_items;
    expect_ok(thr_index_search(index, &matrix, K, &options, ids, scores, &err));
    options.exact = true;
    if (info->keep == THR_DTYPE_NONE) {
        expect_error(thr_index_search(index, &matrix, K, &options, exact_ids, exact_scores, &err), THR_EUNSUPPORTED,
                     NULL);
        expect_error(thr_index_vector(index, 0, kept, &err), THR_EUNSUPPORTED, NULL);
    } else {
        expect_ok(thr_index_search(index, &matrix, K, &options, exact_ids, exact_scores, &err));
        assert_memory_equal(ids, exact_ids, sizeof ids);
        assert_memory_equal(scores, exact_scores, sizeof scores);
        read_back(index, info->n_items, n_dims, kept);
        double tolerance = 1e-5 * n_dims;
        if (info->metric == THR_METRIC_COSINE && info->keep != THR_DTYPE_F32) /* lengths of kept vectors are not 1 */
            tolerance += info->keep == THR_DTYPE_F16 ? 1e-3 : 1e-2;
        for (uint64_t q = 0; q < N_QUERIES; q++)
            check_answer(info->metric, queries + q * n_dims, kept, info->n_items, n_dims, ids + q * K, scores + q * K,
                         tolerance);
        /* kept vectors are the given ones, up to rounding: half a step of 2^-11, or of largest / 127 */
        double step = info->keep == THR_DTYPE_F32   ? 0
                      : info->keep == THR_DTYPE_F16 ? 5.0 / 2048
                                                    : 5.0 / 127 / 2 * 1.001;
        for (uint64_t i = 0; i < info->n_items * n_dims; i++)
            assert_true(fabs((double)kept[i] - (double)rows[i]) <= step);
    }
}

/* Bytes of the codes and of all numbers beside them, as documented in docs/format.md. */
static uint64_t bytes_of_codes(const thr_index_info *info) {
    const uint64_t items = (info->n_items + 63) / 64 * 64, plane = (info->n_dims + 7) / 8;
    const bool cosine = info->metric == THR_METRIC_COSINE, offsets = info->metric == THR_METRIC_L2 || info->centred;
    const uint64_t numbers = offsets ? 2 : 1;
    if (info->lead_bits < info->item_bits)
        return items * (info->item_bits * plane + 2 * numbers + (info->item_bits > 4 ? 4 : 2) * numbers);
    if (cosine && !info->centred)
        return items * info->item_bits * plane + items / 64 * 4;
    return items * (info->item_bits * plane + 4 * numbers);
}

static void check_shape(thr_context *context, thr_metric metric, thr_dtype keep, uint32_t bits, uint64_t n,
                        uint32_t n_dims) {
    float *rows = random_rows(n, n_dims, n * 1000 + n_dims);
    thr_index_build_options options = build_options(metric, keep, bits);
    if (n > 2)
        memset(rows + n_dims, 0, n_dims * sizeof *rows); /* a zero vector */
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, n, n_dims, &options, &err));
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    thr_index_info info = thr_index_get_info(index);
    assert_int_equal(info.n_items, n);
    assert_int_equal(info.n_dims, n_dims);
    assert_int_equal(info.metric, metric);
    assert_int_equal(info.item_bits, bits);
    assert_int_equal(info.keep, keep);
    assert_in_range(info.lead_bits, 1, bits);
    assert_int_equal(info.code_bytes, bytes_of_codes(&info));
    assert_int_equal(info.vector_bytes, n * n_dims * thr_dtype_size(keep));
    assert_false(info.has_ids || info.has_names);
    expect_ok(thr_index_verify(index, &err));
    check_index(&info, index, rows, n + n_dims);
}

TEST(answers_are_those_of_the_naive_model_for_every_size) {
    for (size_t m = 0; m < 3; m++)
        for (size_t d = 0; d < COUNT_OF(all_dims); d++)
            for (size_t n = 0; n < COUNT_OF(all_sizes); n++)
                check_shape(*state, metrics[m], keeps[(d + n) % 4], all_bits[(d + n) % 3], all_sizes[n], all_dims[d]);
}

TEST(answers_are_those_of_the_naive_model_for_every_kind) {
    for (size_t m = 0; m < 3; m++)
        for (size_t k = 0; k < 4; k++)
            for (size_t b = 0; b < 3; b++) {
                check_shape(*state, metrics[m], keeps[k], all_bits[b], 1, 1);
                check_shape(*state, metrics[m], keeps[k], all_bits[b], 500, 30);
            }
}

/* Search both with default candidates and few; the answers must have the same bits. */
static void expect_same_answers(thr_index *a, thr_index *b, const thr_matrix *queries) {
    uint64_t ids_a[N_QUERIES * K], ids_b[N_QUERIES * K];
    float scores_a[N_QUERIES * K], scores_b[N_QUERIES * K];
    thr_search_options options = {0};
    for (int mode = 0; mode < 2; mode++) {
        options.n_candidates = mode == 0 ? 0 : 20;
        memset(ids_a, 0, sizeof ids_a);
        expect_ok(thr_index_search(a, queries, K, &options, ids_a, scores_a, &err));
        expect_ok(thr_index_search(b, queries, K, &options, ids_b, scores_b, &err));
        assert_memory_equal(ids_a, ids_b, sizeof ids_a);
        assert_memory_equal(scores_a, scores_b, sizeof scores_a);
    }
}

TEST(many_segments_answer_as_one) {
    enum { N = 1000, DIMS = 24 };
    float *rows = random_rows(N, DIMS, 5), *queries = random_rows(N_QUERIES, DIMS, 6);
    thr_matrix matrix = thr_matrix_f32(queries, N_QUERIES, DIMS);
    for (size_t m = 0; m < 3; m++)
        for (size_t k = 0; k < 4; k++) {
            thr_index_build_options options = build_options(metrics[m], keeps[k], 3);
            test_remove_directory(DIR_A);
            test_remove_directory(DIR_B);
            expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
            options.segment_rows = 100; /* 128 */
            expect_ok(build_rows(*state, DIR_B, rows, N, DIMS, &options, &err));
            thr_index *a = test_index_open(*state, DIR_A), *b = test_index_open(*state, DIR_B);
            assert_int_equal(thr_index_get_info(a).n_segments, 1);
            assert_int_equal(thr_index_get_info(b).n_segments, 8);
            expect_ok(thr_index_verify(b, &err));
            expect_same_answers(a, b, &matrix);
            thr_index_free(a);
            thr_index_free(b);
        }
}

/* A stream gives odd pieces and no random access; the index must not depend on that once the sample is the same. */
typedef struct stream {
    const float *rows;
    uint64_t n;
    uint32_t n_dims;
    uint64_t piece;
} stream;

static uint64_t give(void *user, uint64_t first, uint64_t max_rows, float *out) {
    stream *s = user;
    uint64_t n = s->n - first < max_rows ? s->n - first : max_rows;
    n = n < s->piece ? n : s->piece;
    memcpy(out, s->rows + first * s->n_dims, (size_t)n * s->n_dims * sizeof *out);
    return n;
}

TEST(pieces_of_any_size_give_the_same_index) {
    enum { N = 700, DIMS = 10 };
    float *rows = random_rows(N, DIMS, 9), *queries = random_rows(N_QUERIES, DIMS, 10);
    thr_matrix matrix = thr_matrix_f32(queries, N_QUERIES, DIMS);
    static const uint64_t pieces[] = {1, 63, 64, 65, 699};
    thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    options.sample_rows = N;
    test_remove_directory(DIR_A);
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
    OWNED(thr_index, a) = test_index_open(*state, DIR_A);
    options.segment_rows = 256;
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        stream s = {rows, N, DIMS, pieces[i]};
        thr_reader *reader;
        test_remove_directory(DIR_B);
        expect_ok(thr_reader_from_function(*state, N, DIMS, give, &s, &reader, &err));
        expect_ok(thr_index_build(*state, DIR_B, reader, &options, &err));
        thr_reader_free(reader);
        OWNED(thr_index, b) = test_index_open(*state, DIR_B);
        expect_same_answers(a, b, &matrix);
    }
}

TEST(every_type_of_rows_can_be_indexed) {
    enum { N = 130, DIMS = 12 };
    static const thr_dtype dtypes[] = {THR_DTYPE_F16, THR_DTYPE_I8,  THR_DTYPE_U8,  THR_DTYPE_F64,
                                       THR_DTYPE_I32, THR_DTYPE_U32, THR_DTYPE_I64, THR_DTYPE_U64};
    static const uint16_t halves[4] = {0x3c00, 0x4000, 0x4200, 0x4400}; /* 1 2 3 4 */
    unsigned char data[N * (DIMS * 8 + 3)];
    float vector[DIMS];
    for (size_t t = 0; t < COUNT_OF(dtypes); t++)
        for (size_t k = 0; k < 3; k++)
            for (size_t gap = 0; gap < 4; gap += 3) {
                thr_matrix rows = {data, N, DIMS, dtypes[t], DIMS * thr_dtype_size(dtypes[t]) + gap};
                uint64_t seed = 1;
                for (uint64_t r = 0; r < N; r++)
                    for (uint32_t d = 0; d < DIMS; d++) {
                        uint64_t value = d == 0 ? 4 : thr_rng_below(&seed, 4) + 1;
                        double real = (double)value;
                        const void *bytes = dtypes[t] == THR_DTYPE_F16   ? (const void *)&halves[value - 1]
                                            : dtypes[t] == THR_DTYPE_F64 ? (const void *)&real
                                                                         : (const void *)&value;
                        memcpy(data + r * rows.stride + d * thr_dtype_size(dtypes[t]), bytes,
                               thr_dtype_size(dtypes[t]));
                    }
                thr_index_build_options options = build_options(THR_METRIC_L2, keeps[k], 4);
                test_remove_directory(DIR_A);
                expect_ok(build_matrix(*state, DIR_A, &rows, &options, &err));
                OWNED(thr_index, index) = test_index_open(*state, DIR_A);
                expect_ok(thr_index_verify(index, &err));
                bool exact = keeps[k] != THR_DTYPE_I8 || dtypes[t] == THR_DTYPE_I8;
                seed = 1;
                for (uint64_t r = 0; r < N; r++) {
                    expect_ok(thr_index_vector(index, r, vector, &err));
                    for (uint32_t d = 0; d < DIMS; d++) {
                        double value = d == 0 ? 4 : (double)(thr_rng_below(&seed, 4) + 1);
                        assert_true(fabs((double)vector[d] - value) <= (exact ? 0 : 4.0 / 127 / 2 * 1.001));
                    }
                }
            }
}

TEST(a_filter_is_obeyed) {
    enum { N = 300, DIMS = 16 };
    float *rows = random_rows(N, DIMS, 1);
    uint64_t filter[(N + 63) / 64] = {0}, ids[K];
    float scores[K];
    thr_matrix query = thr_matrix_f32(rows, 1, DIMS);
    thr_index_build_options build = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    thr_search_options options = {0};
    test_remove_directory(DIR_A);
    build.segment_rows = 64;
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &build, &err));
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    options.filter = filter;
    options.filter_bits = N;
    for (uint64_t r = 5; r < N; r += 50) /* 5 55 105 155 205 255 */
        filter[r / 64] |= (uint64_t)1 << r % 64;
    expect_ok(thr_index_search(index, &query, K, &options, ids, scores, &err));
    for (size_t i = 0; i < K; i++)
        assert_true(i < 6 ? ids[i] % 50 == 5 : ids[i] == THR_NO_ID);
    options.filter_bits = N - 1;
    expect_error(thr_index_search(index, &query, K, &options, ids, scores, &err), THR_EINVAL, NULL);
}

TEST(wrong_questions_are_refused) {
    enum { N = 70, DIMS = 8 };
    float *rows = random_rows(N, DIMS, 1);
    uint64_t ids[K];
    float scores[K];
    thr_matrix query = thr_matrix_f32(rows, 1, DIMS), none = thr_matrix_f32(rows, 0, DIMS), other;
    thr_search_options good = {0}, bad;
    test_remove_directory(DIR_A);
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, NULL, &err));
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    expect_ok(thr_index_search(index, &query, K, NULL, ids, NULL, &err));
    expect_ok(thr_index_search(index, &none, K, &good, ids, scores, &err));
    expect_error(thr_index_search(index, &query, 0, &good, ids, scores, &err), THR_EINVAL, NULL);
    expect_error(thr_index_search(index, &query, UINT64_MAX, &good, ids, scores, &err), THR_EINVAL, NULL);
    expect_error(thr_index_search(index, &query, K, &good, NULL, scores, &err), THR_EINVAL, NULL);
    expect_error(thr_index_search(index, NULL, K, &good, ids, scores, &err), THR_EINVAL, NULL);
    bad = good;
    bad.query_bits = 9;
    expect_error(thr_index_search(index, &query, K, &bad, ids, scores, &err), THR_EINVAL, NULL);
    other = thr_matrix_f32(rows, 1, DIMS - 1);
    expect_error(thr_index_search(index, &other, K, &good, ids, scores, &err), THR_EDIM, NULL);
    other = query;
    other.dtype = (thr_dtype)77;
    expect_error(thr_index_search(index, &other, K, &good, ids, scores, &err), THR_EINVAL, NULL);
    other = thr_matrix_f32(rows, 2, DIMS);
    other.stride = 4;
    expect_error(thr_index_search(index, &other, K, &good, ids, scores, &err), THR_EINVAL, NULL);
    rows[3] = NAN;
    expect_error(thr_index_search(index, &query, K, &good, ids, scores, &err), THR_ERANGE, NULL);
    rows[3] = INFINITY;
    expect_error(thr_index_search(index, &query, K, &good, ids, scores, &err), THR_ERANGE, NULL);
}

TEST(a_second_search_allocates_nothing) {
    enum { N = 5000, DIMS = 20 };
    float *rows = random_rows(N, DIMS, 1), *queries = random_rows(N_QUERIES, DIMS, 2);
    uint64_t *ids = test_new(N_QUERIES * 100, sizeof *ids);
    float *scores = test_new(N_QUERIES * 100, sizeof *scores);
    thr_matrix matrix = thr_matrix_f32(queries, N_QUERIES, DIMS);
    for (uint32_t n_threads = 1; n_threads <= 3; n_threads++)
        for (size_t k = 0; k < 4; k++) {
            test_memory count = {0};
            thr_context *context = test_context(n_threads, THR_ISA_BEST, &count);
            thr_index_build_options options = build_options(metrics[k % 3], keeps[k], 3);
            thr_search_options search = {0};
            test_remove_directory(DIR_A);
            expect_ok(build_rows(context, DIR_A, rows, N, DIMS, &options, &err));
            thr_index *index = test_index_open(context, DIR_A);
            search.exact = false;
            expect_ok(thr_index_search(index, &matrix, 100, &search, ids, scores, &err));
            size_t calls = atomic_load(&count.calls);
            for (int i = 0; i < 3; i++)
                expect_ok(thr_index_search(index, &matrix, 100, &search, ids, scores, &err));
            assert_int_equal(atomic_load(&count.calls), calls);
            thr_index_free(index);
            thr_context_free(context);
            assert_int_equal(atomic_load(&count.live), 0);
        }
}

typedef struct searcher {
    thr_index *index;
    const thr_matrix *queries;
    uint64_t ids[N_QUERIES * K];
    thr_status status;
} searcher;

static void *search_often(void *arg) {
    searcher *s = arg;
    float scores[N_QUERIES * K];
    for (int i = 0; i < 50 && s->status == THR_OK; i++)
        s->status = thr_index_search(s->index, s->queries, K, NULL, s->ids, scores, NULL);
    return NULL;
}

TEST(searches_at_the_same_time_agree) {
    enum { N = 2000, DIMS = 16, THREADS = 4 };
    float *rows = random_rows(N, DIMS, 1), *queries = random_rows(N_QUERIES, DIMS, 2);
    thr_matrix matrix = thr_matrix_f32(queries, N_QUERIES, DIMS);
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    searcher searchers[THREADS];
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, N, DIMS, NULL, &err));
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    for (size_t i = 0; i < THREADS; i++)
        searchers[i] = (searcher){.index = index, .queries = &matrix};
    test_at_once(THREADS, search_often, searchers, sizeof *searchers);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(searchers[i].status, THR_OK);
        assert_memory_equal(searchers[i].ids, searchers[0].ids, sizeof searchers[i].ids);
    }
}

TEST(names_of_metrics_and_defaults_are_as_documented) {
    const thr_index_build_options build = thr_index_complete_build(NULL);
    const thr_search_options search = thr_index_complete_search(NULL);
    assert_string_equal(thr_metric_name(THR_METRIC_COSINE), "cosine");
    assert_string_equal(thr_metric_name(THR_METRIC_IP), "ip");
    assert_string_equal(thr_metric_name(THR_METRIC_L2), "l2");
    assert_string_equal(thr_metric_name((thr_metric)9), "?");
    assert_int_equal(build.item_bits, 3);
    assert_int_equal(build.keep, THR_DTYPE_F32);
    assert_int_equal(build.sample_rows, 4096);
    assert_int_equal(build.calibration_queries, 1000);
    assert_true(search.recall == 0.99f);
    for (uint64_t k = 1; k != 0; k <<= 1)
        assert_true(thr_search_candidates(k) >= k);
    assert_true(thr_search_candidates(UINT64_MAX) == UINT64_MAX);
}

TEST_IN_CONTEXT(2, NULL)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_cells_batches.c - queries that skip cells and read blocks together have the answers of each query alone: the
 * same ids, scores and numbers of rows read.
 */
#include "index_cells_support.h"
#include "little.h"

#include "index/impl.h"

static const char PLACE[] = "index-cells-batches";

enum { N = 8000, MANY = 100000, CELLS = 60, QUERIES = 300, MOST_RESULTS = QUERIES * 40 };

/* Sanitizers see every way of a batch with fewer of them; other builds compare them all. */
#ifdef THR_SANITIZED
enum { KINDS_STEP = 3, THREADS_STEP = 2 };
#else
enum { KINDS_STEP = 1, THREADS_STEP = 1 };
#endif

static float *rows, *queries;
static uint64_t some[MANY / 64 + 1], few[N / 64 + 1]; /* filters */

static int make_rows(void **state) {
    uint64_t seed = 5;
    (void)state;
    rows = clustered_rows(MANY, 0.6f, 1);
    queries = clustered_queries(QUERIES, 0.6f);
    for (uint64_t i = 0; i < MANY; i++)
        some[i / 64] |= (uint64_t)(thr_rng_below(&seed, 3) == 0) << i % 64;
    for (uint64_t i = 0; i < N; i += 501)
        few[i / 64] |= (uint64_t)1 << i % 64;
    return 0;
}

static int free_rows(void **state) {
    (void)state;
    test_remove_directory(PLACE);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ searches */

static void build(const kind *k, uint64_t n) {
    build_kind(PLACE, k, rows, n, CELLS);
}

/* What is searched for. */
typedef struct request {
    uint64_t n_queries, k;
    float recall;
    const uint64_t *filter;
} request;

typedef struct answer {
    uint64_t ids[MOST_RESULTS], n_read[QUERIES];
    float scores[MOST_RESULTS];
} answer;

/* Search for all queries of a request, `batch` at a time. */
static void search(thr_index *index, const request *r, uint64_t batch, answer *out) {
    thr_search_options options = {.recall = r->recall, .filter = r->filter, .filter_bits = thr_index_n_rows(index)};
    memset(out, 0, sizeof *out);
    assert_true(r->n_queries * r->k <= MOST_RESULTS);
    for (uint64_t q = 0; q < r->n_queries; q += batch) {
        const uint64_t left = r->n_queries - q;
        const thr_matrix some_queries = thr_matrix_f32(queries + q * DIMS, left < batch ? left : batch, DIMS);
        options.n_read = out->n_read + q;
        expect_ok(
            thr_index_search(index, &some_queries, r->k, &options, out->ids + q * r->k, out->scores + q * r->k, &err));
    }
}

static thr_index *open_index(uint32_t n_threads, thr_context **context) {
    *context = test_context(n_threads, THR_ISA_BEST, NULL);
    return test_index_open(*context, PLACE);
}

/* Batches of several sizes, on 1 to 3 threads, have the answers of queries one at a time. */
static void expect_equal_batches(const request *requests, size_t n_requests) {
    static const uint64_t batches[] = {2, 7, 40, QUERIES};
    answer *alone = test_new(1, sizeof *alone), *together = test_new(1, sizeof *together);
    for (size_t r = 0; r < n_requests; r++) {
        thr_context *context = NULL;
        thr_index *index = open_index(1, &context);
        search(index, &requests[r], 1, alone);
        for (uint32_t t = 1; t <= 3; t += THREADS_STEP) {
            thr_index_free(index);
            thr_context_free(context);
            index = open_index(t, &context);
            for (size_t b = 0; b < 4; b++) {
                search(index, &requests[r], batches[b], together);
                assert_memory_equal(alone, together, sizeof *alone);
            }
        }
        thr_index_free(index);
        thr_context_free(context);
    }
}

/* ------------------------------------------------------------------------------------------------ tests */

TEST(batches_have_the_bits_of_single_queries) {
    for (size_t i = 0; i < N_KINDS; i += KINDS_STEP) {
        const request requests[] = {{QUERIES, 10, 0.9f, NULL}, {QUERIES, 1, 0.99f, some}};
        build(&KINDS[i], N);
        expect_equal_batches(requests, i < 3 ? 2 : 1);
    }
}

/* With two planes, passes by a least score find more rows than they have memory for at once. */
TEST(many_results_have_the_bits_of_single_queries) {
    build(&(kind){THR_METRIC_L2, THR_DTYPE_F32, 2, 1, 0}, MANY);
    expect_equal_batches((const request[]){{6, MOST_RESULTS / 6, 0.999f, NULL}, {40, 100, 0.99f, some}}, 2);
}

/* So few items pass that vectors are scored without a screen. */
TEST(strict_filters_have_the_bits_of_single_queries) {
    build(&KINDS[1], N);
    expect_equal_batches((const request[]){{QUERIES, 5, 0.95f, few}}, 1);
}

/* Items that were added have no cells; every query reads their blocks. */
TEST(added_items_have_the_bits_of_single_queries) {
    const uint64_t with_cells = N - 1000;
    build(&KINDS[0], with_cells);
    thr_context *context = test_context(1, THR_ISA_BEST, NULL);
    const thr_matrix more = thr_matrix_f32(rows + with_cells * DIMS, N - with_cells, DIMS);
    expect_ok(add_matrix(context, PLACE, &more, NULL, NULL, &err));
    thr_context_free(context);
    expect_equal_batches((const request[]){{QUERIES, 10, 0.95f, NULL}}, 1);
}

TEST(a_second_batch_allocates_nothing) {
    answer *out = test_new(1, sizeof *out);
    test_memory count = {0};
    build(&KINDS[0], N);
    thr_context *context = test_context(1, THR_ISA_BEST, &count);
    thr_index *index = test_index_open(context, PLACE);
    search(index, &(request){QUERIES, 10, 0.95f, NULL}, 40, out);
    const size_t calls = atomic_load(&count.calls);
    search(index, &(request){QUERIES, 10, 0.95f, NULL}, 40, out);
    assert_int_equal(atomic_load(&count.calls), calls);
    thr_index_free(index);
    thr_context_free(context);
    assert_int_equal(atomic_load(&count.live), 0);
}

TEST_GROUP(make_rows, free_rows)

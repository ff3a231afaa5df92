/* SPDX-License-Identifier: Apache-2.0 */
/* scan_certify.c - estimates never fall below their bounds, so an answer that is certified is the exact one. */
#include "owned.h"

#include "naive.h"
#include "run_scan.h"
#include "scan/margins/bounds.h"

static const thr_metric METRICS[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
static const thr_dtype KEEPS[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8};
static const uint32_t QUERY_BITS[] = {1, 4, 8};
static const struct {
    uint32_t bits, lead;
} CODES[] = {{1, 0}, {3, 0}, {8, 0}, {2, 1}, {3, 1}, {3, 2}, {5, 1}, {8, 1}, {8, 2}, {8, 4}};

enum { N_CODES = COUNT_OF(CODES) };

/* ------------------------------------------------------------------------------------------------ data */

typedef enum data_kind {
    GAUSSIAN,
    CLUSTERS,  /* a hundred rows around each of a few points */
    LENGTHS,   /* of all sizes, some zero */
    SPARSE,    /* mostly zeros */
    DIRECTION, /* almost all the same */
    TINY,      /* as small as float16 can hold, and smaller */
    KINDS
} data_kind;

static float *make_rows(uint64_t *rng, data_kind kind, uint32_t n, uint32_t n_dims) {
    float *rows = test_new((size_t)n * n_dims, sizeof *rows);
    test_gaussian(rng, rows, (size_t)n * n_dims);
    for (uint32_t i = 0; i < n; i++) {
        float *row = rows + (size_t)i * n_dims;
        const float length = kind == TINY ? 0x1p-20f : exp2f(8 * test_normal(rng));
        for (uint32_t d = 0; d < n_dims; d++)
            switch (kind) {
            case CLUSTERS:
                row[d] = i < 8 ? row[d] : rows[(size_t)(i % 8) * n_dims + d] + 0.05f * row[d];
                break;
            case LENGTHS:
                row[d] = i % 16 == 0 ? 0 : row[d] * length;
                break;
            case SPARSE:
                row[d] = thr_rng_below(rng, 5) == 0 ? row[d] : 0;
                break;
            case DIRECTION:
                row[d] = 3 + 0.1f * row[d];
                break;
            case TINY:
                row[d] *= i % 16 == 0 ? 1 : length;
                break;
            default:
                break;
            }
    }
    return rows;
}

/* A row of the corpus's, one near it, or one that has nothing to do with it. */
static void make_query(uint64_t *rng, const float *rows, const test_shape *shape, uint32_t number, float *query) {
    test_gaussian(rng, query, shape->n_dims);
    const float *row = rows + (size_t)thr_rng_below(rng, shape->n_items) * shape->n_dims;
    const float noise[] = {0, 0.02f, 0.3f};
    for (uint32_t d = 0; d < shape->n_dims && number % 4 != 3; d++)
        query[d] = row[d] * (1 + noise[number % 4] * query[d]);
}

typedef struct bench {
    thr_context *context;
    uint64_t rng;
    test_shape shape;
    float *rows;
    test_corpus corpus;
} bench;

static void open_bench(bench *b, data_kind kind, uint32_t n_items, uint32_t n_dims, size_t code) {
    b->rows = make_rows(&b->rng, kind, n_items, n_dims);
    b->shape.n_items = n_items;
    b->shape.n_dims = n_dims;
    b->shape.bits = CODES[code].bits;
    b->shape.lead = CODES[code].lead;
    b->shape.segment_items = 128;
    test_target_make(&b->corpus, &b->shape, b->rows);
}

static void close_bench(bench *b) {
    test_target_free(&b->corpus);
}

/* ------------------------------------------------------------------------------------------------ bounds */

static float factor_of(const test_corpus *corpus, uint64_t row) {
    return corpus->shape.bits > 4 ? corpus->factors[row] : corpus->factors[row] * (1 + 0x1p-8f);
}

static void assert_bound(const bench *b, uint32_t query_bits, const char *what, uint32_t row, const char *kind,
                         double estimate, double bound) {
    assert_case(estimate >= bound,
                "%s: seed %llu: %u dims, %u bits, %u leading, %u query bits, %s, kept as %s: row %u: its %s estimate "
                "%.9g is below the bound %.9g",
                what, (unsigned long long)test_seed(), b->shape.n_dims, b->shape.bits, b->shape.lead, query_bits,
                thr_metric_name(b->shape.metric), thr_dtype_name(b->shape.keep), row, kind, estimate, bound);
}

/* The bounds for each item's own exact score, where they are tightest. */
static void check_bounds(bench *b, const float *vector, uint32_t query_bits, const char *what) {
    OWNED(thr_scan, scan) = NULL;
    uint8_t certified = 0;
    thr_search_options options = {.recall = 0.99f};
    test_query naive;
    thr_scan_query query;
    options.recall = 0; /* the counts decide */
    options.query_bits = query_bits;
    options.certified = &certified;
    const thr_matrix matrix = thr_matrix_f32(vector, 1, b->shape.n_dims);
    const test_corpus *corpus = &b->corpus;
    const bool nested = test_is_nested(&b->shape);
    expect_ok(thr_scan_create(b->context, &scan, &err));
    expect_ok(thr_scan_make_room(scan, &corpus->scan, 1, 1, 1, &err));
    const thr_job job =
        thr_scan_job_make(b->context, &corpus->scan, &options, &(thr_answers){.k = 1, .certified = options.certified});
    thr_scan_query_prepare(&job, &matrix, 0, &scan->lanes[0], &query);
    test_query_make(&naive, corpus, vector, query_bits);
    for (uint32_t i = 0; i < b->shape.n_items && query.norm > 0; i++) {
        const float score = test_exact(corpus, &naive, i);
        const double screened = thr_scan_screen_bound(&query, score, job.kept_error);
        const float estimate = nested ? test_lead_estimate(corpus, &naive, i) : test_estimate(corpus, &naive, i);
        assert_bound(b, query_bits, what, i, "screened", (double)estimate, screened);
        if (!nested)
            continue;
        const double rescored = thr_scan_rescore_bound(&query, score, job.kept_error, (double)factor_of(corpus, i));
        assert_bound(b, query_bits, what, i, "rescored", (double)test_estimate(corpus, &naive, i), rescored);
    }
    test_query_free(&naive);
}

/* ------------------------------------------------------------------------------------------------ answers */

/* Certified answers are the exact ones. Returns how many are certified. */
static size_t count_certified(const thr_answers *found, const thr_answers *exact, size_t n_queries, const char *shape,
                              uint64_t candidates) {
    const uint64_t k = found->k;
    size_t n = 0;
    for (size_t q = 0; q < n_queries; q++) {
        assert_in_range(found->certified[q], 0, 1);
        n += found->certified[q];
        assert_case(found->certified[q] == 0 ||
                        (memcmp(found->ids + q * k, exact->ids + q * k, k * sizeof *found->ids) == 0 &&
                         memcmp(found->scores + q * k, exact->scores + q * k, k * sizeof *found->scores) == 0),
                    "%s: seed %llu: query %zu with %llu candidates is certified, but not exact", shape,
                    (unsigned long long)test_seed(), q, (unsigned long long)candidates);
    }
    return n;
}

/* Searches with few and more rows going on; returns how many answers were certified. */
static size_t check_answers(bench *b, const float *queries, size_t n_queries, uint64_t k, uint32_t query_bits,
                            const char *what) {
    const size_t places = n_queries * (size_t)k;
    uint64_t *rows = test_new(places, sizeof *rows), *exact_rows = test_new(places, sizeof *rows);
    float *scores = test_new(places, sizeof *scores), *exact_scores = test_new(places, sizeof *scores);
    uint8_t *certified = test_new(n_queries, 1);
    const thr_matrix matrix = thr_matrix_f32(queries, n_queries, b->shape.n_dims);
    size_t n = 0;
    thr_search_options options = {.recall = 0.99f};
    char shape[160];
    (void)snprintf(shape, sizeof shape, "%s: %u dims, %u bits, %u leading, %u query bits, %s, kept as %s", what,
                   b->shape.n_dims, b->shape.bits, b->shape.lead, query_bits, thr_metric_name(b->shape.metric),
                   thr_dtype_name(b->shape.keep));
    options.recall = 0; /* the counts decide */
    options.query_bits = query_bits;
    options.exact = true;
    OWNED(thr_scan, scan) = test_scan_create(b->context);
    const thr_answers exact = {.k = k, .ids = exact_rows, .scores = exact_scores},
                      found = {.k = k, .ids = rows, .scores = scores, .certified = certified};
    expect_ok(test_run_scan(scan, &b->corpus.scan, &matrix, &options, &exact, &err));
    options.exact = false;
    options.certified = certified;
    for (uint64_t candidates = k; candidates <= 8 * k; candidates *= 2) {
        options.n_candidates = candidates;
        options.n_survivors = 3 * candidates;
        memset(certified, 7, n_queries);
        expect_ok(test_run_scan(scan, &b->corpus.scan, &matrix, &options, &found, &err));
        n += count_certified(&found, &exact, n_queries, shape, candidates);
    }
    return n;
}

/* ------------------------------------------------------------------------------------------------ tests */

TEST(no_estimate_is_below_its_bound_and_no_certified_answer_is_wrong) {
    static const char *const names[KINDS] = {"gaussian", "clusters", "lengths", "sparse", "direction", "tiny"};
    enum { ITEMS = 300, QUERIES = 8 };
    bench b = {.context = test_context(1, THR_ISA_BEST, NULL), .rng = test_seed()};
    size_t n_certified = 0;
    for (size_t m = 0; m < 3; m++)
        for (size_t keep = 0; keep < 3; keep++)
            for (size_t code = 0; code < N_CODES; code++)
                for (data_kind kind = GAUSSIAN; kind < KINDS; kind++) {
                    b.shape = (test_shape){.metric = METRICS[m],
                                           .keep = KEEPS[keep],
                                           .centre = thr_rng_below(&b.rng, 2) == 0,
                                           .rotate = thr_rng_below(&b.rng, 2) == 0};
                    if (kind == LENGTHS && KEEPS[keep] == THR_DTYPE_F16)
                        continue; /* too long for float16 */
                    open_bench(&b, kind, ITEMS, 1 + (uint32_t)thr_rng_below(&b.rng, 70), code);
                    float *queries = test_new((size_t)QUERIES * b.shape.n_dims, sizeof *queries);
                    for (uint32_t q = 0; q < QUERIES; q++) {
                        make_query(&b.rng, b.rows, &b.shape, q, queries + (size_t)q * b.shape.n_dims);
                        check_bounds(&b, queries + (size_t)q * b.shape.n_dims, QUERY_BITS[q % 3], names[kind]);
                    }
                    for (size_t bits = 0; bits < 3; bits++)
                        n_certified += check_answers(&b, queries, QUERIES, 1 + thr_rng_below(&b.rng, 5),
                                                     QUERY_BITS[bits], names[kind]);
                    close_bench(&b);
                }
    print_message("%zu answers certified\n", n_certified);
    assert_true(n_certified > 1000);
    thr_context_free(b.context);
}

/* Queries beside tight groups of k rows that are far from all others. */
TEST(near_neighbours_are_certified_and_hopeless_data_is_not) {
    enum { ITEMS = 4000, DIMS = 64, K = 4, QUERIES = 50, SEARCHES = 4 };
    bench b = {.context = test_context(2, THR_ISA_BEST, NULL), .rng = test_seed()};
    for (size_t m = 0; m < 3; m++)
        for (int easy = 0; easy < 2; easy++) {
            b.shape = (test_shape){.metric = METRICS[m], .keep = THR_DTYPE_F32, .rotate = true};
            open_bench(&b, GAUSSIAN, ITEMS, DIMS, easy ? N_CODES - 1 : 4);
            float *queries = test_new((size_t)QUERIES * DIMS, sizeof *queries), noise[DIMS];
            for (size_t q = 0; q < QUERIES; q++) {
                memcpy(queries + q * DIMS, b.rows + q * K * DIMS, sizeof noise);
                for (size_t i = 1; i < K && easy; i++) {
                    test_gaussian(&b.rng, noise, DIMS);
                    for (size_t d = 0; d < DIMS; d++)
                        b.rows[(q * K + i) * DIMS + d] = queries[q * DIMS + d] + 0.05f * noise[d];
                }
                test_gaussian(&b.rng, noise, DIMS);
                for (size_t d = 0; d < DIMS; d++)
                    queries[q * DIMS + d] = easy ? queries[q * DIMS + d] + 0.05f * noise[d] : noise[d];
            }
            test_target_free(&b.corpus);
            test_target_make(&b.corpus, &b.shape, b.rows);
            const size_t n = check_answers(&b, queries, QUERIES, K, 8, easy ? "easy" : "hopeless");
            print_message("%s: %s: %zu of %d answers certified\n", thr_metric_name(b.shape.metric),
                          easy ? "easy" : "hopeless", n, QUERIES * SEARCHES);
            assert_true(easy ? n > QUERIES * SEARCHES / 3 : n == 0);
            close_bench(&b);
        }
    thr_context_free(b.context);
}

static uint8_t certified_one(bench *b, const float *query, const thr_search_options *given) {
    uint64_t rows[4];
    uint8_t certified = 7;
    thr_search_options options = *given;
    const thr_matrix matrix = thr_matrix_f32(query, 1, b->shape.n_dims);
    options.certified = &certified;
    OWNED(thr_scan, scan) = test_scan_create(b->context);
    expect_ok(test_run_scan(scan, &b->corpus.scan, &matrix, &options,
                            &(thr_answers){.k = 4, .ids = rows, .certified = options.certified}, &err));
    return certified;
}

enum { CERTAIN_ITEMS = 1000, CERTAIN_DIMS = 20 };

/* Every way to leave nothing out, and with codes of one bit that 8 candidates are not enough. */
static void check_certain(bench *b, float *query, bool one_bit) {
    enum { ITEMS = CERTAIN_ITEMS };
    uint64_t filter[(ITEMS + 63) / 64] = {0};
    thr_search_options options = {.recall = 0.99f};
    options.recall = 0; /* the counts decide */
    options.n_candidates = options.n_survivors = 8;
    if (one_bit)
        assert_int_equal(certified_one(b, query, &options), 0);
    options.n_candidates = options.n_survivors = ITEMS;
    assert_int_equal(certified_one(b, query, &options), 1);
    options.n_candidates = options.n_survivors = 8;
    options.exact = true;
    assert_int_equal(certified_one(b, query, &options), 1);
    options.exact = false;
    options.filter = filter;
    options.filter_bits = ITEMS;
    assert_int_equal(certified_one(b, query, &options), 1); /* nothing is allowed */
    filter[3] = 0x111;                                      /* so few that their vectors are scored */
    assert_int_equal(certified_one(b, query, &options), 1);
    memset(filter, 0xff, sizeof filter);
    if (one_bit)
        assert_int_equal(certified_one(b, query, &options), 0);
    memset(query, 0, CERTAIN_DIMS * sizeof *query);
    if (b->shape.metric != THR_METRIC_L2)
        assert_int_equal(certified_one(b, query, &options), 1); /* all scores are 0 */
}

TEST(searches_that_leave_nothing_out_are_certain) {
    bench b = {.context = test_context(1, THR_ISA_BEST, NULL), .rng = test_seed()};
    for (size_t m = 0; m < 3; m++)
        for (size_t code = 0; code < N_CODES; code++) {
            float query[CERTAIN_DIMS];
            test_gaussian(&b.rng, query, CERTAIN_DIMS);
            b.shape = (test_shape){.metric = METRICS[m], .keep = THR_DTYPE_F32};
            open_bench(&b, GAUSSIAN, CERTAIN_ITEMS, CERTAIN_DIMS, code);
            check_certain(&b, query, CODES[code].bits == 1 || CODES[code].lead == 1);
            close_bench(&b);
        }
    thr_context_free(b.context);
}

TEST(what_is_not_known_is_not_certified) {
    enum { ITEMS = 500, DIMS = 40 };
    bench b = {.context = test_context(1, THR_ISA_BEST, NULL), .rng = test_seed()};
    for (size_t m = 0; m < 3; m++)
        for (int vectors = 0; vectors < 2; vectors++) {
            b.shape = (test_shape){.metric = METRICS[m], .keep = vectors ? THR_DTYPE_F32 : THR_DTYPE_NONE};
            open_bench(&b, CLUSTERS, ITEMS, DIMS, N_CODES - 1);
            thr_search_options options = {.recall = 0.99f};
            options.recall = 0; /* the counts decide */
            options.query_bits = 8;
            options.n_candidates = options.n_survivors = 100;
            assert_int_equal(certified_one(&b, b.rows, &options), vectors);
            b.corpus.scan.errors = (thr_code_errors){0};
            assert_int_equal(certified_one(&b, b.rows, &options), 0);
            options.n_candidates = options.n_survivors = ITEMS;
            assert_int_equal(certified_one(&b, b.rows, &options), vectors);
            close_bench(&b);
        }
    thr_context_free(b.context);
}

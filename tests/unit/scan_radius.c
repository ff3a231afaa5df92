/* SPDX-License-Identifier: Apache-2.0 */
/* scan_radius.c - all rows within a radius, beside a loop that scores every row. */
#include "owned.h"

#include "naive.h"
#include "scan/way.h"
#include "scan/radius.h"

static const thr_metric METRICS[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
static const thr_dtype KEEPS[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8, THR_DTYPE_NONE};
static const struct { uint32_t bits, lead; } CODES[] = {{1, 0}, {3, 0}, {3, 1}, {8, 2}};

enum { N_CODES = COUNT_OF(CODES) };

/* ------------------------------------------------------------------------------------------------ data and truth */

/* Clusters of rows of several lengths, some of them zero, some twice. */
static float *make_rows(uint64_t *rng, uint32_t n, uint32_t n_dims, uint32_t n_clusters, float spread) {
    float *rows = test_new((size_t)n * n_dims, sizeof *rows);
    test_gaussian(rng, rows, (size_t)n * n_dims);
    for (uint32_t i = n_clusters; i < n; i++) {
        float *row = rows + (size_t)i * n_dims;
        const float *middle = rows + (size_t)thr_rng_below(rng, n_clusters) * n_dims;
        const float length = 0.5f + (float)thr_rng_below(rng, 1000) / 1000;
        for (uint32_t d = 0; d < n_dims; d++)
            row[d] = i % 97 == 5 ? 0 : length * (middle[d] + spread * row[d]);
        if (i % 50 == 7)
            memcpy(row, row - n_dims, n_dims * sizeof *row);
    }
    return rows;
}

static float *make_queries(uint64_t *rng, const float *rows, uint32_t n_items, uint32_t n_dims, uint32_t n) {
    float *queries = test_new((size_t)n * n_dims, sizeof *queries);
    test_gaussian(rng, queries, (size_t)n * n_dims);
    for (uint32_t q = 0; q < n; q++) {
        const float *row = rows + (size_t)thr_rng_below(rng, n_items) * n_dims;
        for (uint32_t d = 0; d < n_dims; d++)
            queries[(size_t)q * n_dims + d] = row[d] + 0.3f * queries[(size_t)q * n_dims + d];
    }
    return queries;
}

static float shown_score(const test_corpus *corpus, const test_query *query, uint64_t row) {
    if (corpus->shape.keep != THR_DTYPE_NONE)
        return test_exact(corpus, query, row);
    const bool scaled = test_has_factors(corpus) || test_is_nested(&corpus->shape);
    return test_estimate(corpus, query, row) * (scaled ? 1.0f : query->code_gain) + query->bias;
}

static bool passes(const thr_search_options *options, uint64_t row) {
    return options->filter == NULL || (options->filter[row / 64] >> row % 64 & 1) != 0;
}

/* All allowed rows, best first; returns how many. */
static size_t score_all(const test_corpus *corpus, const float *vector, const thr_search_options *options,
                        thr_candidate *items) {
    test_query query;
    size_t n = 0;
    test_query_make(&query, corpus, vector, options->query_bits);
    const bool zero = query.norm == 0 && corpus->shape.metric != THR_METRIC_L2;
    for (uint32_t row = 0; row < corpus->shape.n_items; row++)
        if (passes(options, row))
            items[n++] = (thr_candidate){.row = row, .score = zero ? 0 : shown_score(corpus, &query, row)};
    test_query_free(&query);
    qsort(items, n, sizeof *items, test_candidate_order);
    for (size_t i = 0; i < n; i++)
        items[i].score = test_shown(corpus, items[i].score);
    return n;
}

static size_t count_from(const thr_candidate *items, size_t n, float least) {
    size_t m = 0;
    while (m < n && items[m].score >= least)
        m++;
    return m;
}

static thr_search_options options_of(float recall, uint8_t *certified) {
    thr_search_options options = {.recall = recall, .certified = certified};
    return options;
}

/* How many rows of `right` are in an answer, which holds nothing else, in the same order with the same scores. */
static size_t count_found(const thr_found *found, const thr_candidate *right, size_t n_right, const char *what) {
    size_t n = 0;
    for (size_t i = 0; i < n_right && n < found->n; i++)
        n += found->items[n].row == right[i].row && found->items[n].score == right[i].score;
    assert_case(n == found->n,
                "%s: seed %llu: place %zu of %zu holds row %llu with score %.9g, which does not belong there", what,
                (unsigned long long)test_seed(), n, found->n, (unsigned long long)found->items[n].row,
                (double)found->items[n].score);
    return n;
}

/* One search of some queries; the answers are freed by free_found. */
static thr_found *search(thr_context *context, const test_corpus *corpus, const float *queries, uint64_t n_queries,
                         float least, const thr_search_options *options) {
    thr_found *found = test_new((size_t)n_queries, sizeof *found);
    const thr_matrix matrix = thr_matrix_f32(queries, n_queries, corpus->shape.n_dims);
    OWNED(thr_scan, scan) = test_scan_create(context);
    expect_ok(thr_scan_radius(scan, &corpus->scan, &matrix, least, options, found, &err));
    return found;
}

static void free_found(thr_context *context, thr_found *found, uint64_t n_queries) {
    for (uint64_t q = 0; q < n_queries; q++)
        thr_scan_found_free(context, &found[q]);
}

/* ------------------------------------------------------------------------------------------------ exactly all */

/* With recall 1, exactly, and with less: nothing wrong; an answer that is certified, all of it. */
static void check_answers(thr_context *context, const test_corpus *corpus, const float *queries, uint64_t n_queries,
                          const thr_search_options *given, const char *what) {
    thr_candidate *right = test_new(corpus->shape.n_items, sizeof *right);
    uint8_t *certified = test_new((size_t)n_queries, 1);
    const bool vectors = corpus->shape.keep != THR_DTYPE_NONE;
    for (int way = 0; way < 3; way++) {
        thr_search_options options = *given;
        options.recall = way == 0 ? 1 : 0.9f;
        options.exact = way == 2;
        options.certified = certified;
        if (options.exact && !vectors)
            continue;
        for (size_t border = 0; border < 4; border++) {
            /* The score of a row of the first answer, so that it, and its double, are just within the radius. */
            size_t n = score_all(corpus, queries, &options, right);
            const float least = n == 0 ? 0.5f : right[border * (n - 1) / 3].score;
            thr_found *found = search(context, corpus, queries, n_queries, least, &options);
            for (uint64_t q = 0; q < n_queries; q++) {
                n = score_all(corpus, queries + q * corpus->shape.n_dims, &options, right);
                n = count_from(right, n, least);
                const size_t n_found = count_found(&found[q], right, n, what);
                assert_in_range(certified[q], 0, vectors);
                const bool all = way != 1 || certified[q];
                assert_case(!all || n_found == n,
                            "%s: seed %llu: %u dims, %u bits, %u leading, %s, kept as %s: %zu of %zu rows found from a "
                            "score of %.9g on",
                            what, (unsigned long long)test_seed(), corpus->shape.n_dims, corpus->shape.bits,
                            corpus->shape.lead, thr_metric_name(corpus->shape.metric),
                            thr_dtype_name(corpus->shape.keep), n_found, n, (double)least);
                assert_case(way == 1 || !vectors || certified[q], "%s: a complete answer is not certified", what);
            }
            free_found(context, found, n_queries);
        }
    }
}

/* Check certain searches of drawn rows, whose number the shape has, with all rows and with a filter. */
static void check_certain(thr_context *context, uint64_t *rng, const test_shape *shape, const uint64_t *filter,
                          const char *name) {
    enum { QUERIES = 4 };
    float *rows = make_rows(rng, shape->n_items, shape->n_dims, 8, 0.1f);
    float *queries = make_queries(rng, rows, shape->n_items, shape->n_dims, QUERIES);
    memset(queries + (size_t)(QUERIES - 1) * shape->n_dims, 0, shape->n_dims * sizeof *queries);
    test_corpus corpus;
    test_target_make(&corpus, shape, rows);
    thr_search_options options = options_of(1, NULL);
    check_answers(context, &corpus, queries, QUERIES, &options, "all rows");
    options.filter = filter;
    options.filter_bits = shape->n_items;
    if (filter != NULL)
        check_answers(context, &corpus, queries, QUERIES, &options, name);
    test_target_free(&corpus);
}

TEST(a_certain_search_finds_just_the_rows_within_the_radius) {
    enum { ITEMS = 350, WORDS = (ITEMS + 63) / 64 };
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    uint64_t rng = test_seed(), half[WORDS], few[WORDS] = {1, 0, 1}, none[WORDS] = {0};
    for (size_t i = 0; i < WORDS; i++)
        half[i] = thr_rng_next(&rng);
    const uint64_t *filters[] = {NULL, half, few, none};
    static const char *const names[] = {"all rows", "half the rows", "two rows", "no rows"};
    for (size_t m = 0; m < 3; m++)
        for (size_t keep = 0; keep < 4; keep++)
            for (size_t code = 0; code < N_CODES; code++)
                for (int centre = 0; centre < 2; centre++) {
                    const uint32_t n_dims = 1 + (uint32_t)thr_rng_below(&rng, 60);
                    const test_shape shape = {.n_items = ITEMS,
                                              .n_dims = n_dims,
                                              .bits = CODES[code].bits,
                                              .lead = CODES[code].lead,
                                              .metric = METRICS[m],
                                              .keep = KEEPS[keep],
                                              .segment_items = 192,
                                              .centre = centre,
                                              .rotate = code % 2 == 0};
                    const size_t f = (m + keep + code + (size_t)centre) % 4;
                    check_certain(context, &rng, &shape, filters[f], names[f]);
                }
}

/* ------------------------------------------------------------------------------------------------ most of all */

typedef struct big {
    thr_context *context;
    uint64_t rng;
    test_shape shape;
    float *rows, *queries;
    test_corpus corpus;
} big;

enum { BIG_ITEMS = 5000, BIG_DIMS = 48, BIG_QUERIES = 24 };

static void open_big(big *b, thr_metric metric, thr_dtype keep, size_t code, bool centre) {
    b->shape = (test_shape){.n_items = BIG_ITEMS,
                            .n_dims = BIG_DIMS,
                            .bits = CODES[code].bits,
                            .lead = CODES[code].lead,
                            .metric = metric,
                            .keep = keep,
                            .segment_items = 2560,
                            .centre = centre,
                            .rotate = true};
    b->rows = make_rows(&b->rng, BIG_ITEMS, BIG_DIMS, 300, 0.5f);
    for (size_t i = 0; centre && i < (size_t)BIG_ITEMS * BIG_DIMS; i++)
        b->rows[i] += b->rows[i] != 0; /* zero rows stay: they would all be the same one */
    b->queries = make_queries(&b->rng, b->rows, BIG_ITEMS, BIG_DIMS, BIG_QUERIES);
    test_target_make(&b->corpus, &b->shape, b->rows);
}

static void close_big(big *b) {
    test_target_free(&b->corpus);
}

/* The median over the queries of their rank-th best score. */
static float usual_score(const big *b, const thr_search_options *options, size_t rank) {
    thr_candidate *right = test_new(BIG_ITEMS, sizeof *right), scores[BIG_QUERIES];
    for (uint32_t q = 0; q < BIG_QUERIES; q++) {
        (void)score_all(&b->corpus, b->queries + (size_t)q * BIG_DIMS, options, right);
        scores[q] = right[rank];
    }
    qsort(scores, BIG_QUERIES, sizeof *scores, test_candidate_order);
    return scores[BIG_QUERIES / 2].score;
}

TEST(a_recall_is_kept_and_nothing_wrong_is_found) {
    big b = {.context = test_context(2, THR_ISA_BEST, NULL), .rng = test_seed()};
    thr_candidate *right = test_new(BIG_ITEMS, sizeof *right);
    size_t n_screened = 0;
    for (size_t m = 0; m < 3; m++)
        for (size_t code = 2; code < N_CODES; code++)
            for (int centre = 0; centre < 2; centre++) {
                open_big(&b, METRICS[m], code == 2 && centre ? THR_DTYPE_NONE : THR_DTYPE_F16, code, centre);
                thr_search_options options = options_of(1, NULL);
                const float least = usual_score(&b, &options, 15);
                for (int high = 0; high < 2; high++) {
                    uint8_t certified[BIG_QUERIES];
                    const float recall = high ? 0.99f : 0.9f;
                    options = options_of(recall, certified);
                    thr_found *found = search(b.context, &b.corpus, b.queries, BIG_QUERIES, least, &options);
                    size_t n_right = 0, n_found = 0;
                    for (uint32_t q = 0; q < BIG_QUERIES; q++) {
                        size_t n = score_all(&b.corpus, b.queries + (size_t)q * BIG_DIMS, &options, right);
                        n = count_from(right, n, least);
                        n_right += n;
                        n_found += count_found(&found[q], right, n, "recall");
                        n_screened += !certified[q] && b.shape.keep != THR_DTYPE_NONE;
                    }
                    assert_case((double)n_found >= (double)recall * (double)n_right,
                                "seed %llu: %s, %u bits, %u leading, kept as %s: %zu of %zu rows found with recall %g",
                                (unsigned long long)test_seed(), thr_metric_name(b.shape.metric), b.shape.bits,
                                b.shape.lead, thr_dtype_name(b.shape.keep), n_found, n_right, (double)recall);
                    free_found(b.context, found, BIG_QUERIES);
                }
                close_big(&b);
            }
    print_message("%zu queries were answered by a screen with a margin\n", n_screened);
    assert_true(n_screened > BIG_QUERIES);
    thr_context_free(b.context);
}

/* ------------------------------------------------------------------------------------------------ always the same */

static void same_answers(const thr_found *a, const thr_found *b, uint64_t n_queries, const char *what) {
    for (uint64_t q = 0; q < n_queries; q++) {
        assert_case(a[q].n == b[q].n, "%s: query %llu: %zu rows and %zu rows", what, (unsigned long long)q, a[q].n,
                    b[q].n);
        for (size_t i = 0; i < a[q].n; i++)
            assert_case(a[q].items[i].row == b[q].items[i].row && a[q].items[i].score == b[q].items[i].score,
                        "%s: query %llu: place %zu differs", what, (unsigned long long)q, i);
    }
}

/* Groups of all sizes, one query over all threads, every level and every way to distances. */
TEST(answers_depend_on_nothing_but_the_question) {
    static const thr_isa isas[] = {THR_ISA_SCALAR, THR_ISA_BEST};
    big b = {.rng = test_seed()};
    for (size_t m = 0; m < 3; m++) {
        open_big(&b, METRICS[m], THR_DTYPE_F32, 2 + m % 2, m == 1);
        memset(b.queries + 5 * BIG_DIMS, 0, BIG_DIMS * sizeof *b.queries);
        uint8_t certified[BIG_QUERIES], again[BIG_QUERIES];
        thr_search_options options = options_of(0.95f, certified);
        const float least = usual_score(&b, &options, 30);
        thr_context *first = test_context(1, THR_ISA_BEST, NULL);
        thr_found *found = search(first, &b.corpus, b.queries, BIG_QUERIES, least, &options);
        options.certified = again;
        for (uint32_t n_threads = 1; n_threads <= 3; n_threads++)
            for (int way = -1; way < THR_N_WAYS; way++)
                for (size_t isa = 0; isa < 2; isa++) {
                    const uint32_t each = n_threads == 1 ? 1 : n_threads == 2 ? BIG_QUERIES : 2;
                    OWNED(thr_context, context) = test_context(n_threads, isas[isa], NULL);
                    context->forced_way = way;
                    for (uint32_t q = 0; q < (isa == 0 ? 2 * each : BIG_QUERIES) && q < BIG_QUERIES; q += each) {
                        thr_found *other =
                            search(context, &b.corpus, b.queries + (size_t)q * BIG_DIMS, each, least, &options);
                        same_answers(found + q, other, each, thr_metric_name(METRICS[m]));
                        assert_memory_equal(certified + q, again, each);
                        free_found(context, other, each);
                    }
                }
        free_found(first, found, BIG_QUERIES);
        thr_context_free(first);
        close_big(&b);
    }
}

/* ------------------------------------------------------------------------------------------------ the ends */

TEST(all_rows_or_none_are_found) {
    big b = {.context = test_context(2, THR_ISA_BEST, NULL), .rng = test_seed()};
    for (size_t m = 0; m < 3; m++)
        for (size_t code = 1; code < 3; code++)
            for (int vectors = 0; vectors < 2; vectors++) {
                open_big(&b, METRICS[m], vectors ? THR_DTYPE_I8 : THR_DTYPE_NONE, code, false);
                for (int recall = 0; recall < 2; recall++) {
                    uint8_t certified[BIG_QUERIES];
                    const thr_search_options options = options_of(recall ? 1 : 0.9f, certified);
                    const float all[] = {-INFINITY, -1e30f};
                    for (size_t i = 0; i < 2; i++) {
                        thr_found *found = search(b.context, &b.corpus, b.queries, BIG_QUERIES, all[i], &options);
                        for (uint32_t q = 0; q < BIG_QUERIES; q++) {
                            assert_int_equal(found[q].n, BIG_ITEMS);
                            assert_true(certified[q] == vectors || (!recall && vectors));
                        }
                        free_found(b.context, found, BIG_QUERIES);
                    }
                    const float none[] = {INFINITY, 1e30f};
                    for (size_t i = 0; i < 2; i++) {
                        thr_found *found = search(b.context, &b.corpus, b.queries, 2, none[i], &options);
                        assert_int_equal(found[0].n + found[1].n, 0);
                        free_found(b.context, found, 2);
                    }
                }
                close_big(&b);
            }
    thr_context_free(b.context);
}

TEST(one_item_is_found_or_not) {
    OWNED(thr_context, context) = test_context(3, THR_ISA_BEST, NULL);
    const float row[] = {0, 2, 0}, queries[] = {0, 8, 0, 0, 0, 5};
    static const float scores[][2] = {{1, 0}, {16, 0}, {-36, -29}};
    for (size_t m = 0; m < 3; m++) {
        const test_shape shape = {
            .n_items = 1, .n_dims = 3, .bits = 3, .lead = 1, .metric = METRICS[m], .keep = THR_DTYPE_F32};
        test_corpus corpus;
        test_target_make(&corpus, &shape, row);
        for (size_t q = 0; q < 2; q++)
            for (int recall = 0; recall < 2; recall++) {
                const thr_search_options options = options_of(recall ? 1 : 0.5f, NULL);
                const float least[] = {nextafterf(scores[m][q], INFINITY), scores[m][q]};
                for (size_t n = 0; n < 2; n++) {
                    thr_found *found = search(context, &corpus, queries + 3 * q, 1, least[n], &options);
                    assert_int_equal(found->n, n);
                    free_found(context, found, 1);
                }
            }
        test_target_free(&corpus);
    }
}

/* ------------------------------------------------------------------------------------------------ memory */

TEST(memory_may_end_at_any_allocation) {
    enum { ITEMS = 5000, DIMS = 8 };
    uint64_t rng = test_seed();
    float *rows = make_rows(&rng, ITEMS, DIMS, 4, 1);
    const test_shape shape = {
        .n_items = ITEMS, .n_dims = DIMS, .bits = 3, .lead = 1, .metric = THR_METRIC_IP, .keep = THR_DTYPE_F32};
    test_corpus corpus;
    test_target_make(&corpus, &shape, rows);
    const thr_search_options options = options_of(0.9f, NULL);
    for (uint64_t n_queries = 1; n_queries <= 5; n_queries += 4) {
        test_memory memory = {0};
        test_oom oom = test_oom_start(&memory);
        oom.tolerant = true; /* the choice of a kernel does without memory */
        while (test_oom_next(&oom)) {
            OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, &memory);
            thr_found found[5] = {{0}};
            const thr_matrix queries = thr_matrix_f32(rows, n_queries, DIMS);
            OWNED(thr_scan, scan) = test_scan_create(context);
            test_oom_arm(&oom);
            const thr_status status = thr_scan_radius(scan, &corpus.scan, &queries, 0, &options, found, &err);
            (void)test_oom_check(&oom, status, &err, "no memory");
            for (uint64_t q = 0; q < n_queries; q++)
                thr_scan_found_free(context, &found[q]);
        }
        assert_true(oom.n_failed > 10);
    }
    test_target_free(&corpus);
}

TEST(a_bad_query_is_named) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const float rows[] = {1, 2, 3, 4}, queries[] = {1, 2, 1, NAN};
    const test_shape shape = {.n_items = 2, .n_dims = 2, .bits = 2, .keep = THR_DTYPE_F32};
    const thr_matrix matrix = thr_matrix_f32(queries, 2, 2);
    test_corpus corpus;
    test_target_make(&corpus, &shape, rows);
    thr_scan *scan = test_scan_create(context);
    expect_error(thr_scan_check_queries(scan, &corpus.scan, &matrix, &err), THR_ERANGE, "query 1");
    thr_scan_free(scan);
    test_target_free(&corpus);
}

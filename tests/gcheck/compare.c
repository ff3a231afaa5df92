/* SPDX-License-Identifier: Apache-2.0 */
/* Random corpora of all kinds, searched on devices and on the CPU. */
#include "gcheck.h"

#include "base/clock.h"
#include "naive.h"
#include "run_scan.h"

#include <thresher/way.h>

#include <inttypes.h>

static const thr_metric METRICS[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
static const thr_dtype KEEPS[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8, THR_DTYPE_NONE};

/* ------------------------------------------------------------------------------------------- one search */

typedef struct answers {
    uint64_t *rows;
    float *scores;
    uint8_t *certified;
} answers;

static answers search(gcheck *g, const thr_scan_corpus *corpus, const thr_matrix *queries, uint64_t k,
                      const thr_search_options *options, const char *what) {
    thr_search_options o = *options;
    answers a = {test_array(queries->n_rows * k, sizeof(uint64_t)), test_array(queries->n_rows * k, sizeof(float)),
                 test_array(queries->n_rows, 1)};
    if (corpus->keep != THR_DTYPE_NONE)
        o.certified = a.certified;
    gcheck_must(test_run_scan(g->scan, corpus, queries, &o,
                              &(thr_answers){.k = k, .ids = a.rows, .scores = a.scores, .certified = o.certified},
                              &err),
                &err, what);
    return a;
}

static void free_answers(answers *a) {
    free(a->rows);
    free(a->scores);
    free(a->certified);
}

/* The first place in which they differ, n where they do not. */
static uint64_t first_difference(const answers *a, const answers *b, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        if (a->rows[i] != b->rows[i] || memcmp(&a->scores[i], &b->scores[i], sizeof(float)) != 0)
            return i;
    return n;
}

bool gcheck_compare(gcheck *g, const thr_scan_corpus *corpus, const thr_matrix *queries, uint64_t k,
                    const thr_search_options *options, const char *what) {
    thr_scan_corpus on_cpu = *corpus;
    on_cpu.store = NULL;
    answers want = search(g, &on_cpu, queries, k, options, what), got = search(g, corpus, queries, k, options, what);
    const uint64_t n = queries->n_rows * k, at = first_difference(&want, &got, n);
    const bool same = at == n && memcmp(want.certified, got.certified, queries->n_rows) == 0;
    g->n_compared += queries->n_rows;
    if (!same) {
        g->n_failed++;
        if (at < n)
            (void)printf("FAIL %s: k %" PRIu64 ", query %" PRIu64 ", place %" PRIu64 ": row %" PRIu64
                         " (%a), should be %" PRIu64 " (%a)\n",
                         what, k, at / k, at % k, got.rows[at], (double)got.scores[at], want.rows[at],
                         (double)want.scores[at]);
        else
            (void)printf("FAIL %s: k %" PRIu64 ": answers are not certified alike\n", what, k);
    }
    free_answers(&want);
    free_answers(&got);
    return same;
}

/* ------------------------------------------------------------------------------------------ random cases */

/* How large a round is. */
typedef struct limits {
    uint64_t rounds, small_items, large_items, large_bytes, most_k, queries;
    uint64_t work; /* items times queries, about */
    uint32_t small_dims;
} limits;

static const limits LIMITS[] = {
    [GCHECK_SMALL] = {24, 300, 80000, 128 << 10, 3000, 70, 200000, 60},
    [GCHECK_QUICK] = {48, 2000, 3000000, 64 << 20, 20000, 80, 300000000, 200},
    [GCHECK_FULL] = {240, 3000, 60000000, 1 << 30, 60000, 300, 4000000000, 300},
};

/* Up to most, and as often small as large. */
static uint64_t spread(uint64_t *rng, uint64_t least, uint64_t most) {
    uint64_t top = least;
    for (uint64_t n = thr_rng_next(rng) % 64; n > 0 && top<most; n -= n> 3 ? 3 : n)
        top *= 2;
    top = top < most ? top : most;
    return least + thr_rng_below(rng, top - least + 1);
}

/* Sizes around those of blocks and tiles come often. */
static uint64_t draw_items(uint64_t *rng, uint64_t most) {
    static const uint64_t edges[] = {1, 63, 64, 65, 127, 128, 129, 255, 257};
    const uint64_t edge = edges[thr_rng_below(rng, COUNT_OF(edges))];
    switch (thr_rng_below(rng, 4)) {
    case 0:
        return edge;
    case 1:
        return most / 2 / 128 * 128 + edge;
    default:
        return 1 + thr_rng_below(rng, most);
    }
}

static uint64_t draw_k(uint64_t *rng, uint64_t most) {
    static const uint64_t ks[] = {1, 2, 10, 100, 1000, 10000, 30000, 50000};
    const uint64_t k = ks[thr_rng_below(rng, COUNT_OF(ks))] + thr_rng_below(rng, 3);
    return k < most ? k : most;
}

/*
 * One query, batches, a filter; on devices by each of the ways to distances, or by the one they choose.
 */
static void search_all_ways(gcheck *g, const limits *sizes, const thr_scan_corpus *corpus, uint64_t *rng,
                            const char *what) {
    const uint32_t n_dims = corpus->quantiser->n_dims;
    static const int forced[] = {-1, THR_WAY_XOR, THR_WAY_TILE};
    const uint64_t words = (corpus->n_rows + 63) / 64, affordable = sizes->work / corpus->n_rows + 1;
    for (int way = 0; way < 4; way++) {
        const uint64_t n_queries =
            way == 0 ? 1 : spread(rng, 1, sizes->queries < affordable ? sizes->queries : affordable);
        float *queries = test_queries(rng, n_queries, n_dims);
        if (corpus->keep == THR_DTYPE_F32)
            memcpy(queries, corpus->segments->vectors, n_dims * sizeof *queries);
        uint64_t *filter = test_array(words, sizeof *filter);
        const thr_matrix matrix = thr_matrix_f32(queries, n_queries, n_dims);
        thr_search_options options = {.recall = 0.99f};
        options.query_bits = 1 + (uint32_t)thr_rng_below(rng, 8);
        options.n_survivors = spread(rng, 1, sizes->most_k);
        options.n_candidates = spread(rng, 1, sizes->most_k / 4);
        if (way == 3) {
            options.filter = filter;
            options.filter_bits = corpus->n_rows;
            const uint64_t one_in = spread(rng, 2, 3000);
            for (uint64_t i = 0; i < corpus->n_rows / one_in + 1; i++) {
                const uint64_t row = thr_rng_below(rng, corpus->n_rows);
                filter[row / 64] |= UINT64_C(1) << row % 64;
            }
        }
        g->context->forced_way = forced[thr_rng_below(rng, 3)];
        (void)gcheck_compare(g, corpus, &matrix, draw_k(rng, sizes->most_k), &options, what);
        g->context->forced_way = -1;
        free(filter);
    }
}

/* Vectors with their codes, as the unit tests have them. */
static void small_round(gcheck *g, const limits *sizes, uint64_t seed, uint64_t *rng) {
    const uint32_t bits = 1 + (uint32_t)(seed % 8);
    const uint32_t n_items = (uint32_t)draw_items(rng, sizes->small_items);
    const test_shape shape = {.n_items = n_items,
                              .n_dims = 1 + (uint32_t)thr_rng_below(rng, sizes->small_dims),
                              .bits = bits,
                              .metric = METRICS[seed % 3],
                              .keep = KEEPS[thr_rng_below(rng, 4)],
                              .segment_items = seed % 4 == 0 ? 0 : 64 * (1 + (uint32_t)thr_rng_below(rng, 9)),
                              .centre = thr_rng_below(rng, 2) == 0,
                              .lead = seed % 16 < 8 || bits == 1 ? 0 : 1 + (uint32_t)thr_rng_below(rng, bits - 1)};
    char what[256];
    (void)snprintf(what, sizeof what,
                   "small, --seed %" PRIu64 ": %u x %u, %u bits, %u leading, %s, keep %s, centre %d, segments of %u",
                   seed, shape.n_items, shape.n_dims, bits, shape.lead, thr_metric_name(shape.metric),
                   thr_dtype_name(shape.keep), shape.centre, shape.segment_items);
    float *rows = test_tied_rows(rng, n_items, shape.n_dims, shape.centre);
    test_corpus corpus;
    test_target_make(&corpus, &shape, rows);
    gcheck_put(g, seed % 2 == 0 ? &g->one : &g->all, &corpus.scan);
    search_all_ways(g, sizes, &corpus.scan, rng, what);
    gcheck_take(&corpus.scan);
    test_target_free(&corpus);
}

/* As many items as there may be for so many bytes; or, of few dimensions, about as many as there may be at all. */
static uint64_t draw_many(uint64_t *rng, const limits *sizes, const gcheck_shape *shape, bool few_dims) {
    const uint64_t fit = sizes->large_bytes / ((uint64_t)shape->bits * ((shape->n_dims + 7) / 8)) + 1;
    const uint64_t most = fit < sizes->large_items ? fit : sizes->large_items;
    if (few_dims)
        return sizes->large_items / 2 + thr_rng_below(rng, sizes->large_items / 2);
    return draw_items(rng, spread(rng, most < 9000 ? most : 9000, most));
}

/* Codes of random bits, in numbers that fill a device, often with few different ones. */
static void large_round(gcheck *g, const limits *sizes, uint64_t seed, uint64_t *rng) {
    static const uint32_t patterns[] = {0, 0, 0, 3, 1000};
    const bool few_dims = seed % 4 == 1; /* on one device: enough for a sample also where devices are emulated */
    gcheck_shape shape = {.n_dims = (uint32_t)spread(rng, 1,
                                                     few_dims         ? 12
                                                     : seed % 10 == 0 ? 3500
                                                                      : 300),
                          .bits = 1 + (uint32_t)(seed / 3 % 8),
                          .metric = METRICS[seed % 3],
                          .centre = thr_rng_below(rng, 2) == 0,
                          .n_patterns = patterns[thr_rng_below(rng, COUNT_OF(patterns))]};
    if (few_dims) {
        shape.centre = seed % 8 == 5;
        shape.n_patterns = seed / 12 % 2 == 0 ? 0 : 3; /* far more rows than expected reach a threshold */
    }
    if (seed / 24 % 2 == 1 && shape.bits > 1)
        shape.lead = 1 + (uint32_t)thr_rng_below(rng, shape.bits - 1);
    shape.n_items = draw_many(rng, sizes, &shape, few_dims);
    shape.segment_items = thr_rng_below(rng, 2) == 0 ? 0 : 64 * (shape.n_items / 64 / (1 + thr_rng_below(rng, 4)) + 1);
    char what[256];
    (void)snprintf(what, sizeof what,
                   "large, --seed %" PRIu64 ": %" PRIu64
                   " x %u, %u bits, %u leading, %s, centre %d, %u patterns, segments of %" PRIu64,
                   seed, shape.n_items, shape.n_dims, shape.bits, shape.lead, thr_metric_name(shape.metric),
                   shape.centre, shape.n_patterns, shape.segment_items);
    gcheck_planes planes;
    gcheck_planes_make(g, &shape, thr_rng_next(rng), &planes);
    gcheck_put(g, seed % 2 == 0 ? &g->all : &g->one, &planes.scan);
    search_all_ways(g, sizes, &planes.scan, rng, what);
    gcheck_take(&planes.scan);
    gcheck_planes_free(g, &planes);
}

/* A whole test in which one of the operations never came is none. */
static void say_calls(gcheck *g, bool whole) {
    const gcheck_calls calls = gcheck_count_calls();
    gcheck_figure(g, (double)calls.sample, "test.calls.sample");
    gcheck_figure(g, (double)calls.screen, "test.calls.screen");
    gcheck_figure(g, (double)calls.batch, "test.calls.batch");
    gcheck_figure(g, (double)calls.count, "test.calls.count");
    gcheck_figure(g, (double)calls.rescore, "test.calls.rescore");
    gcheck_figure(g, (double)calls.refine, "test.calls.refine");
    if (whole && (calls.sample == 0 || calls.screen == 0 || calls.batch == 0 || calls.count == 0 ||
                  calls.rescore == 0 || calls.refine == 0)) {
        (void)printf("FAIL: an operation was never called\n");
        g->n_failed++;
    }
}

/* Each round has a seed of its own, so that --seed N --rounds 1 repeats one: what it does depends on N alone. */
void gcheck_test(gcheck *g) {
    const limits *sizes = &LIMITS[g->effort];
    const uint64_t rounds = g->rounds == 0 ? sizes->rounds : g->rounds;
    const double start = thr_clock();
    uint64_t round = 0;
    for (; round < rounds && g->n_failed < 10; round++) {
        const uint64_t seed = g->seed + round;
        uint64_t rng = seed;
        if (g->seconds > 0 && thr_clock() - start > g->seconds)
            break;
        small_round(g, sizes, seed, &rng);
        large_round(g, sizes, seed, &rng);
    }
    gcheck_figure(g, (double)round, "test.rounds");
    gcheck_figure(g, (double)rounds, "test.rounds_planned");
    gcheck_figure(g, (double)g->n_compared, "test.compared");
    gcheck_figure(g, thr_clock() - start, "test.seconds");
    say_calls(g, round >= sizes->rounds);
    gcheck_figure(g, (double)g->n_failed, "test.failed");
}

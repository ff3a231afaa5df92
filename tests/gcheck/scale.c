/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many items: 64 dimensions, 2-bit items and 3-bit queries (the RBE paper's shape), 16 bytes per item, as many as fit;
 * then a number that the paper's figure is for. Codes are random bits: as floats they would not fit anywhere.
 */
#include "gcheck.h"

#include "base/clock.h"

enum { DIMS = 64, ITEM_BITS = 2, QUERY_BITS = 3, K = 1000, QUERIES = 256, PER_BLOCK = 64 };

/* Items of the two parts, by effort. */
static const uint64_t MOST[] = {100000, 400000000, 4000000000}, FEWER[] = {50000, 120000000, 1200000000};
static const uint64_t ITEM_BYTES = ITEM_BITS * DIMS / 8;
static const uint64_t DEVICE_SPARE = UINT64_C(1) << 30, HOST_SPARE = UINT64_C(3) << 30;

/* Codes and what a block has beside them. */
static uint64_t bytes_of(uint64_t n_items) {
    return n_items * ITEM_BYTES + n_items / PER_BLOCK * sizeof(uint32_t);
}

static uint64_t as_many_as_fit(const gcheck *g) {
    if (g->effort == GCHECK_SMALL)
        return MOST[g->effort] / PER_BLOCK * PER_BLOCK;
    const uint64_t device = gcheck_device_free(g), host = gcheck_host_free();
    uint64_t fit = device > DEVICE_SPARE ? device - DEVICE_SPARE : 0;
    if (host < fit + HOST_SPARE)
        fit = host > HOST_SPARE ? host - HOST_SPARE : 0;
    const uint64_t n = fit * PER_BLOCK / (PER_BLOCK * ITEM_BYTES + sizeof(uint32_t)) / PER_BLOCK * PER_BLOCK;
    return n < MOST[g->effort] ? n : MOST[g->effort] / PER_BLOCK * PER_BLOCK;
}

static gcheck_case case_of(const char *name, const thr_scan_corpus *corpus, const float *queries, uint64_t n_queries) {
    gcheck_case c = {.name = name, .corpus = corpus, .queries = thr_matrix_f32(queries, n_queries, DIMS), .k = K};
    c.options = (thr_search_options){.recall = 0.99f};
    c.options.query_bits = QUERY_BITS;
    return c;
}

void gcheck_bench_scale(gcheck *g) {
    const bool emulated = g->effort == GCHECK_SMALL;
    const uint64_t n = as_many_as_fit(g), fewer = n < FEWER[g->effort] ? n : FEWER[g->effort] / PER_BLOCK * PER_BLOCK;
    const uint64_t n_queries = emulated ? 4 : QUERIES, n_checked = emulated ? 2 : 4;
    const gcheck_shape shape = {.n_items = n, .n_dims = DIMS, .bits = ITEM_BITS, .metric = THR_METRIC_COSINE};
    uint64_t rng = g->seed, free_before = gcheck_device_free(g);
    float *queries = test_array(n_queries * DIMS, sizeof *queries);
    gcheck_planes planes;
    test_gaussian(&rng, queries, n_queries * DIMS);
    gcheck_say("%.3f G items of 64 dimensions, %.1f GB: making them", (double)n * 1e-9, (double)bytes_of(n) * 1e-9);
    gcheck_planes_make(g, &shape, thr_rng_next(&rng), &planes);
    gcheck_say("copying them");
    gcheck_put_measured(g, "scale.most", &planes.scan, bytes_of(n));
    gcheck_case c = case_of("scale.most", &planes.scan, queries, n_queries);
    gcheck_say("searching");
    gcheck_figure(g, gcheck_time(g, &c, 1), "scale.most.one_s");
    gcheck_time_stages(g, &c);
    gcheck_measure_memory(g, "scale.most", &planes.scan, free_before);
    gcheck_check(g, &c, n_checked);
    gcheck_take(&planes.scan);
    gcheck_planes_cut(&planes, fewer);
    free_before = gcheck_device_free(g);
    gcheck_say("%.3f G items", (double)fewer * 1e-9);
    gcheck_put_measured(g, "scale.fewer", &planes.scan, bytes_of(fewer));
    c = case_of("scale.fewer", &planes.scan, queries, n_queries);
    gcheck_time_batches(g, &c);
    gcheck_time_ways(g, &c);
    gcheck_time_stages(g, &c);
    gcheck_measure_memory(g, "scale.fewer", &planes.scan, free_before);
    gcheck_check(g, &c, n_checked * 4);
    gcheck_take(&planes.scan);
    gcheck_planes_free(g, &planes);
    free(queries);
}

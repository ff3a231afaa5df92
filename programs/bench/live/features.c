/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features.c - durable additions to indexes of two sizes, with features. Checked: every item is there afterwards, and
 * verify finds no fault.
 */
#include "features.h"

#include <inttypes.h>

enum { DIMS = 100, FEATURES = 20, NUMBERS = 20000, BATCH = 1000, CALLS = 40, SMALL = 4000, LARGE = 400000 };

/* The features of n items, in bench_alloc's memory; low numbers are frequent. */
static thr_item_features draw(uint64_t n, uint64_t seed) {
    uint64_t *offsets = bench_alloc((n + 1) * sizeof *offsets);
    uint32_t *features = bench_alloc(n * FEATURES * sizeof *features);
    for (uint64_t i = 0; i <= n; i++)
        offsets[i] = i * FEATURES;
    for (uint64_t e = 0; e < n * FEATURES; e++) {
        const double x = (double)(bench_random(&seed) >> 11) * 0x1p-53;
        features[e] = (uint32_t)(NUMBERS * x * x * x);
    }
    return (thr_item_features){offsets, features, n};
}

static void build(thr_context *context, const char *dir, uint64_t n) {
    bench_normal normal = {.seed = bench.program->globals.seed, .n_dims = DIMS};
    const size_t mark = bench_mark();
    const thr_item_features features = draw(n, 1);
    BENCH_OPTIONS(thr_index_build, options);
    options.replace = true;
    options.features = &features;
    thr_index_free(bench_build(context, bench_reader(context, n, DIMS, bench_normal_rows, &normal), dir, &options));
    bench_release(mark);
}

static double add(thr_context *context, const char *dir, uint64_t call) {
    bench_normal normal = {.seed = bench.program->globals.seed + 2 + call, .n_dims = DIMS};
    const size_t mark = bench_mark();
    const thr_item_features features = draw(BATCH, 2 + call);
    double seconds;
    thr_reader *reader = bench_reader(context, BATCH, DIMS, bench_normal_rows, &normal);
    BENCH_OPTIONS(thr_index_add, options);
    options.features = &features;
    for (BENCH_BEST(seconds, 1))
        bench_check(thr_index_add(context, dir, reader, &options, NULL, &bench.err));
    thr_reader_free(reader);
    bench_release(mark);
    return seconds * 1e3;
}

/* Returns the mean in ms. */
static double measure(bench_table *table, thr_context *context, const char *dir, uint64_t n) {
    double ms[CALLS], sum = 0;
    build(context, dir, n);
    for (int i = 0; i < CALLS; i++)
        sum += ms[i] = add(context, dir, (uint64_t)i);
    thr_index *index = bench_open(context, dir);
    bench_check(thr_index_verify(index, &bench.err));
    if (thr_index_get_info(index).n_items != n + CALLS * BATCH)
        bench_fail("%" PRIu64 " items of %" PRIu64, thr_index_get_info(index).n_items, n + CALLS * BATCH);
    thr_index_free(index);
    bench_sort(ms, CALLS);
    bench_row(table, "%" PRIu64 " | %.0f | %.0f | %.0f", n, sum / CALLS, ms[CALLS / 2], ms[CALLS - 1]);
    return sum / CALLS;
}

void bench_live_features(thr_context *context, const char *dir) {
    bench_table *table = bench_table_begin("additions of 1,000 items with features", 1,
                                           "items before | mean, ms | median, ms | worst, ms");
    const double small = measure(table, context, dir, SMALL), large = measure(table, context, dir, LARGE);
    bench_print(table);
    bench_print_text("An addition in the large index takes %.1f times as long as in the small one.\n\n", large / small);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors by their codes and features by posting lists, in one pass: an index on the GPU beside the same on the CPU. */
#include "gcheck.h"

#include "base/clock.h"

static const struct {
    uint64_t n_items;
    uint32_t n_kinds, an_item, n_dims;
    int repeats; /* timed runs; the median counts */
} SIZES[] = {[GCHECK_SMALL] = {9000, 300, 6, 16, 1},
             [GCHECK_QUICK] = {500000, 20000, 20, 64, 9},
             [GCHECK_FULL] = {5000000, 200000, 20, 64, 15}};

enum { MOST_REPEATS = 15, BATCH = 16, K = 100, FEATURES = 200, BITS = 2 };

/* The index, opened where there is no GPU and where there is one. */
typedef struct job {
    gcheck *g;
    gcheck_vectors vectors;
    char dir[GCHECK_PLACE_SIZE];
    thr_context *contexts[2];
    thr_index *indexes[2];
    uint64_t offsets[BATCH + 1];
    uint32_t features[BATCH * FEATURES];
    float weights[BATCH * FEATURES];
    uint64_t ids[2][BATCH * K];
    float values[2][BATCH * K];
} job;

static void build(job *j, const gcheck_items *items) {
    thr_index_build_options options = {0};
    options.metric = THR_METRIC_IP;
    options.codes_only = true;
    options.item_bits = BITS;
    options.calibration_queries = THR_NO_CALIBRATION;
    options.features = &items->view;
    options.replace = true;
    gcheck_build_index(j->g, j->dir, &j->vectors, &options);
}

/* The first n queries, with features or by vectors alone. */
static double search(job *j, int which, uint64_t n, bool with_features) {
    const thr_hits_queries features = {n, j->offsets, j->features, j->weights};
    const thr_matrix queries = thr_matrix_f32(j->vectors.queries, n, j->vectors.n_dims);
    thr_search_options options = {.recall = 0.99f};
    options.n_survivors = options.n_candidates = K;
    options.features = with_features ? &features : NULL;
    const double start = thr_clock();
    gcheck_must(thr_index_search(j->indexes[which], &queries, K, &options, j->ids[which], j->values[which], &err), &err,
                "searching vectors and features");
    return thr_clock() - start;
}

/* The median, after a search that counts for nothing. */
static double time_search(job *j, int which, uint64_t n, bool with_features) {
    const int repeats = SIZES[j->g->effort].repeats;
    double seconds[MOST_REPEATS];
    (void)search(j, which, n, with_features);
    for (int i = 0; i < repeats; i++)
        seconds[i] = search(j, which, n, with_features);
    return gcheck_median(seconds, (size_t)repeats);
}

static void compare(job *j) {
    uint64_t n_wrong = 0;
    for (int which = 0; which < 2; which++)
        (void)search(j, which, BATCH, true);
    for (uint64_t q = 0; q < BATCH; q++) {
        const bool same = memcmp(j->ids[0] + q * K, j->ids[1] + q * K, K * sizeof *j->ids[0]) == 0 &&
                          memcmp(j->values[0] + q * K, j->values[1] + q * K, K * sizeof *j->values[0]) == 0;
        n_wrong += same ? 0 : 1;
        if (!same)
            (void)printf("FAIL vectors and features, query %u: not the CPU's answer\n", (unsigned)q);
    }
    gcheck_figure(j->g, BATCH, "both.compared");
    gcheck_figure(j->g, (double)n_wrong, "both.wrong");
    j->g->n_failed += n_wrong;
}

static void measure(job *j) {
    gcheck_figure(j->g, time_search(j, 1, 1, true), "both.one_s");
    gcheck_figure(j->g, time_search(j, 1, 1, false), "both.codes_s");
    gcheck_figure(j->g, BATCH / time_search(j, 1, BATCH, true), "both.batch_per_s");
    gcheck_figure(j->g, time_search(j, 0, 1, true), "both.cpu_s");
}

void gcheck_fused(gcheck *g, bool timed) {
    const gcheck_effort effort = timed || g->effort == GCHECK_SMALL ? g->effort : GCHECK_QUICK;
    uint64_t rng = g->seed;
    gcheck_items items;
    job *j = test_array(1, sizeof *j);
    j->g = g;
    gcheck_say("vectors and features: %u items", (unsigned)SIZES[effort].n_items);
    gcheck_vectors_make(g, SIZES[effort].n_items, BATCH, SIZES[effort].n_dims, &j->vectors);
    gcheck_items_make(SIZES[effort].n_items, SIZES[effort].n_kinds, SIZES[effort].an_item, &rng, &items);
    for (uint64_t q = 0; q <= BATCH; q++)
        j->offsets[q] = q * FEATURES;
    for (uint64_t i = 0; i < (uint64_t)BATCH * FEATURES; i++) {
        j->features[i] = gcheck_draw_feature(SIZES[effort].n_kinds, &rng);
        j->weights[i] = test_normal(&rng);
    }
    gcheck_make_place(j->dir);
    build(j, &items);
    gcheck_items_free(&items);
    gcheck_open_index(j->dir, "cpu", &j->contexts[0], &j->indexes[0]);
    gcheck_open_index(j->dir, "cuda:0", &j->contexts[1], &j->indexes[1]);
    gcheck_figure(g, (double)SIZES[effort].n_items, "both.items");
    compare(j);
    if (timed)
        measure(j);
    for (int which = 0; which < 2; which++) {
        thr_index_free(j->indexes[which]);
        thr_context_free(j->contexts[which]);
    }
    test_remove_directory(j->dir);
    gcheck_vectors_free(&j->vectors);
    free(j);
}

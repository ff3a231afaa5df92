/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches that skip cells: an index on the GPU beside the same on the CPU. Ids, the bits of scores and the numbers of
 * rows read must be equal.
 */
#include "gcheck.h"

#include "base/clock.h"

static const struct {
    uint64_t n_items;
    uint32_t n_dims, n_cells;
    int repeats; /* timed runs; the median counts */
} SIZES[] = {
    [GCHECK_SMALL] = {6000, 8, 60, 1}, [GCHECK_QUICK] = {100000, 96, 512, 9}, [GCHECK_FULL] = {1000000, 96, 1024, 15}};

static const struct {
    const char *name;
    uint64_t n_queries;
    bool filtered;
} CASES[] = {{"1", 1, false}, {"64", 64, false}, {"256", 256, false}, {"filter", 64, true}};

enum { N_CASES = COUNT_OF(CASES), MOST_REPEATS = 15, STAGE_REPEATS = 5, N_QUERIES = 256, K = 10 };
enum { PASSING = 4 }; /* one row in so many passes the filter */

static const float RECALL = 0.95f; /* as thr_index_measure_cells assumes, as well as K */

/* Answers to the same queries. */
typedef struct answers {
    uint64_t ids[N_QUERIES * K], n_read[N_QUERIES];
    float scores[N_QUERIES * K];
} answers;

/* The index, opened where there is no GPU and where there is one. */
typedef struct job {
    gcheck *g;
    gcheck_vectors vectors;
    char dir[GCHECK_PLACE_SIZE];
    thr_context *contexts[2];
    thr_index *indexes[2];
    uint64_t *filter;
    answers answers[2];
} job;

static void make_filter(job *j, uint64_t n_rows, uint64_t *rng) {
    j->filter = test_array(n_rows / 64 + 1, sizeof *j->filter);
    for (uint64_t i = 0; i < n_rows; i++)
        j->filter[i / 64] |= (uint64_t)(thr_rng_below(rng, PASSING) == 0) << i % 64;
}

static void build(job *j, uint32_t n_cells) {
    thr_index_build_options options = {0};
    options.cells = n_cells;
    options.calibration_queries = THR_NO_CALIBRATION;
    options.replace = true;
    gcheck_build_index(j->g, j->dir, &j->vectors, &options);
}

/* Search for the queries of a case; each turn takes the next ones. */
static double search(job *j, int which, size_t number, uint64_t turn) {
    const uint64_t n = CASES[number].n_queries, first = turn % (N_QUERIES / n) * n;
    const thr_matrix queries = thr_matrix_f32(j->vectors.queries + first * j->vectors.n_dims, n, j->vectors.n_dims);
    answers *out = &j->answers[which];
    thr_search_options options = {.recall = 0.99f};
    options.recall = RECALL;
    options.n_read = out->n_read;
    if (CASES[number].filtered) {
        options.filter = j->filter;
        options.filter_bits = thr_index_n_rows(j->indexes[which]);
    }
    const double start = thr_clock();
    gcheck_must(thr_index_search(j->indexes[which], &queries, K, &options, out->ids, out->scores, &err), &err,
                "searching cells");
    return thr_clock() - start;
}

/* --------------------------------------------------------------------------------------------- comparing */

static uint64_t count_wrong(const job *j, size_t number) {
    const answers *cpu = &j->answers[0], *gpu = &j->answers[1];
    uint64_t n_wrong = 0;
    for (uint64_t q = 0; q < CASES[number].n_queries; q++) {
        const bool same = memcmp(cpu->ids + q * K, gpu->ids + q * K, K * sizeof *cpu->ids) == 0 &&
                          memcmp(cpu->scores + q * K, gpu->scores + q * K, K * sizeof *cpu->scores) == 0 &&
                          cpu->n_read[q] == gpu->n_read[q];
        n_wrong += same ? 0 : 1;
        if (!same)
            (void)printf("FAIL cells, case %s, query %u: not the CPU's answer\n", CASES[number].name, (unsigned)q);
    }
    return n_wrong;
}

/* The first queries of every case. The GPU must have screened blocks for each. */
static void compare(job *j) {
    uint64_t n_compared = 0, n_wrong = 0;
    for (size_t i = 0; i < N_CASES; i++) {
        const uint64_t before = gcheck_count_calls().listed;
        for (int which = 0; which < 2; which++)
            (void)search(j, which, i, 0);
        n_compared += CASES[i].n_queries;
        n_wrong += count_wrong(j, i);
        if (gcheck_count_calls().listed == before) {
            (void)printf("FAIL cells, case %s: the GPU screened nothing\n", CASES[i].name);
            n_wrong++;
        }
    }
    gcheck_figure(j->g, (double)n_compared, "cells.compared");
    gcheck_figure(j->g, (double)n_wrong, "cells.wrong");
    j->g->n_failed += n_wrong;
}

/* --------------------------------------------------------------------------------------------- measuring */

/* Queries per second by the median time, after a search that is not counted. */
static double rate_of(job *j, int which, size_t number) {
    const int repeats = SIZES[j->g->effort].repeats;
    double seconds[MOST_REPEATS];
    (void)search(j, which, number, 0);
    for (int i = 0; i < repeats; i++)
        seconds[i] = search(j, which, number, (uint64_t)i);
    return (double)CASES[number].n_queries / gcheck_median(seconds, (size_t)repeats);
}

static void time_stages(job *j, size_t number) {
    const int repeats = j->g->effort == GCHECK_SMALL ? 1 : STAGE_REPEATS;
    const char *name = CASES[number].name;
    const uint64_t before = gcheck_count_calls().listed;
    double all = 0;
    gcheck_stages_start();
    for (int i = 0; i < repeats; i++)
        all += search(j, 1, number, (uint64_t)i);
    const gcheck_stages s = gcheck_stages_stop();
    gcheck_figure(j->g, (double)(gcheck_count_calls().listed - before) / repeats, "cells.%s.rounds", name);
    gcheck_figure(j->g, s.screen / repeats, "cells.%s.screen_s", name);
    gcheck_figure(j->g, s.select / repeats, "cells.%s.select_s", name);
    gcheck_figure(j->g, s.copies / repeats, "cells.%s.copies_s", name);
    gcheck_figure(j->g, (all - s.screen - s.select - s.copies) / repeats, "cells.%s.host_s", name);
}

static void measure(job *j) {
    thr_cells_choice choice = {0};
    gcheck_must(thr_index_measure_cells(j->indexes[0], &choice, &err), &err, "measuring cells");
    if (choice.read > 0)
        gcheck_figure(j->g, choice.read, "cells.screened_share");
    for (size_t i = 0; i < N_CASES; i++) {
        gcheck_figure(j->g, rate_of(j, 1, i), "cells.%s.gpu_per_s", CASES[i].name);
        gcheck_figure(j->g, rate_of(j, 0, i), "cells.%s.cpu_per_s", CASES[i].name);
        time_stages(j, i);
    }
}

void gcheck_cells(gcheck *g, bool timed) {
    const gcheck_effort effort = timed || g->effort == GCHECK_SMALL ? g->effort : GCHECK_QUICK;
    uint64_t rng = g->seed;
    job *j = test_array(1, sizeof *j);
    j->g = g;
    gcheck_say("cells: %u items", (unsigned)SIZES[effort].n_items);
    gcheck_vectors_make(g, SIZES[effort].n_items, N_QUERIES, SIZES[effort].n_dims, &j->vectors);
    gcheck_make_place(j->dir);
    build(j, SIZES[effort].n_cells);
    gcheck_say("cells: searching");
    gcheck_open_index(j->dir, "cpu", &j->contexts[0], &j->indexes[0]);
    gcheck_open_index(j->dir, "cuda:0", &j->contexts[1], &j->indexes[1]);
    gcheck_time_context(j->contexts[1]);
    make_filter(j, thr_index_n_rows(j->indexes[0]), &rng);
    gcheck_figure(g, (double)SIZES[effort].n_items, "cells.items");
    gcheck_figure(g, SIZES[effort].n_dims, "cells.dims");
    gcheck_figure(g, thr_index_get_cells(j->indexes[0]).n_cells, "cells.cells");
    compare(j);
    if (timed)
        measure(j);
    for (int which = 0; which < 2; which++) {
        thr_index_free(j->indexes[which]);
        thr_context_free(j->contexts[which]);
    }
    test_remove_directory(j->dir);
    gcheck_vectors_free(&j->vectors);
    free(j->filter);
    free(j);
}

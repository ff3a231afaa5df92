/* SPDX-License-Identifier: Apache-2.0 */
/* Times, stages, memory, and checks of the answers. */
#include "gcheck.h"

#include "base/clock.h"
#include "store/store.h"
#include "run_scan.h"

#include <thresher/way.h>

static const double TIME_LEAST = 0.5, TIME_MOST = 6; /* seconds that repeats of one measurement take */
enum { REPEATS_LEAST = 3, REPEATS_MOST = 200, STAGE_REPEATS = 5, STAGE_BATCH = 64 };

/* Queries [turn * batch, (turn + 1) * batch), from the start again where there are no more. */
static thr_matrix batch_of(const gcheck_case *c, uint64_t batch, uint64_t turn) {
    const uint64_t n_batches = c->queries.n_rows / batch;
    thr_matrix some = c->queries;
    some.data = (const char *)c->queries.data + turn % n_batches * batch * c->queries.stride;
    some.n_rows = batch;
    return some;
}

static double seconds_of(gcheck *g, const gcheck_case *c, uint64_t batch, uint64_t turn, uint64_t *rows,
                         float *scores) {
    const thr_matrix some = batch_of(c, batch, turn);
    const double start = thr_clock();
    gcheck_must(test_run_scan(
                    g->scan, c->corpus, &some, &c->options,
                    &(thr_answers){.k = c->k, .ids = rows, .scores = scores, .certified = c->options.certified}, &err),
                &err, c->name);
    return thr_clock() - start;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double gcheck_median(double *numbers, size_t n) {
    qsort(numbers, n, sizeof *numbers, ascending);
    return numbers[n / 2];
}

double gcheck_time(gcheck *g, const gcheck_case *c, uint64_t batch) {
    double times[REPEATS_MOST], sum = 0;
    uint64_t *rows = test_array(batch * c->k, sizeof *rows);
    float *scores = test_array(batch * c->k, sizeof *scores);
    size_t n = 0;
    const int warm = g->effort == GCHECK_SMALL ? 1 : 3;
    for (int i = 0; i < warm; i++)
        (void)seconds_of(g, c, batch, (uint64_t)i, rows, scores);
    while (n < REPEATS_MOST && (n < REPEATS_LEAST || sum < TIME_LEAST) && !(n > 0 && sum > TIME_MOST)) {
        times[n] = seconds_of(g, c, batch, n, rows, scores);
        sum += times[n++];
        if (g->effort == GCHECK_SMALL)
            break;
    }
    free(rows);
    free(scores);
    return gcheck_median(times, n);
}

void gcheck_time_batches(gcheck *g, const gcheck_case *c) {
    gcheck_figure(g, gcheck_time(g, c, 1), "%s.one_s", c->name);
    for (uint64_t batch = 1; batch <= 256 && batch <= c->queries.n_rows; batch *= 4)
        gcheck_figure(g, (double)batch / gcheck_time(g, c, batch), "%s.batch.%u_per_s", c->name, (unsigned)batch);
}

void gcheck_time_ways(gcheck *g, const gcheck_case *c) {
    static const struct {
        const char *name;
        int way;
    } ways[] = {{"xor", THR_WAY_XOR}, {"tile", THR_WAY_TILE}};
    for (uint64_t batch = 1; batch <= 16 && batch <= c->queries.n_rows; batch *= 2)
        for (int i = 0; i < 2; i++) {
            g->context->forced_way = ways[i].way;
            const double rate = (double)batch / gcheck_time(g, c, batch);
            g->context->forced_way = -1;
            gcheck_figure(g, rate, "%s.%s.%u_per_s", c->name, ways[i].name, (unsigned)batch);
        }
}

static void time_stages(gcheck *g, const gcheck_case *c, uint64_t batch, const char *prefix) {
    gcheck_stages sum = {0};
    uint64_t *rows = test_array(batch * c->k, sizeof *rows);
    float *scores = test_array(batch * c->k, sizeof *scores);
    double all = 0;
    const int repeats = g->effort == GCHECK_SMALL ? 1 : STAGE_REPEATS;
    (void)seconds_of(g, c, batch, 0, rows, scores);
    for (int i = 0; i < repeats; i++) {
        gcheck_stages_start();
        all += seconds_of(g, c, batch, (uint64_t)i, rows, scores) / repeats;
        const gcheck_stages s = gcheck_stages_stop();
        sum.sample += s.sample / repeats;
        sum.threshold += s.threshold / repeats;
        sum.screen += s.screen / repeats;
        sum.select += s.select / repeats;
        sum.rescore += s.rescore / repeats;
        sum.refine += s.refine / repeats;
        sum.count += s.count / repeats;
        sum.copies += s.copies / repeats;
    }
    const double device =
        sum.sample + sum.threshold + sum.screen + sum.select + sum.rescore + sum.refine + sum.count + sum.copies;
    gcheck_figure(g, sum.sample, "%s.stage.%ssample_s", c->name, prefix);
    gcheck_figure(g, sum.threshold, "%s.stage.%sthreshold_s", c->name, prefix);
    gcheck_figure(g, sum.screen, "%s.stage.%sscreen_s", c->name, prefix);
    gcheck_figure(g, sum.select, "%s.stage.%sselect_s", c->name, prefix);
    gcheck_figure(g, sum.rescore, "%s.stage.%srescore_s", c->name, prefix);
    gcheck_figure(g, sum.refine, "%s.stage.%srefine_s", c->name, prefix);
    gcheck_figure(g, sum.count, "%s.stage.%scount_s", c->name, prefix);
    gcheck_figure(g, sum.copies, "%s.stage.%scopies_s", c->name, prefix);
    gcheck_figure(g, all - device, "%s.stage.%shost_s", c->name, prefix);
    free(rows);
    free(scores);
}

void gcheck_time_stages(gcheck *g, const gcheck_case *c) {
    time_stages(g, c, 1, "");
    if (c->queries.n_rows >= STAGE_BATCH)
        time_stages(g, c, STAGE_BATCH, "batch_");
}

void gcheck_check(gcheck *g, const gcheck_case *c, uint64_t n) {
    const uint64_t failed = g->n_failed;
    n = n < c->queries.n_rows ? n : c->queries.n_rows;
    const thr_matrix some = batch_of(c, n, 0), first = batch_of(c, 1, 0);
    (void)gcheck_compare(g, c->corpus, &some, c->k, &c->options, c->name);
    (void)gcheck_compare(g, c->corpus, &first, c->k, &c->options, c->name);
    gcheck_figure(g, (double)(n + 1), "%s.compared", c->name);
    gcheck_figure(g, (double)(g->n_failed - failed), "%s.wrong", c->name);
}

void gcheck_put_measured(gcheck *g, const char *name, thr_scan_corpus *corpus, uint64_t code_bytes) {
    const double start = thr_clock();
    gcheck_put(g, &g->one, corpus);
    gcheck_figure(g, thr_clock() - start, "%s.upload_s", name);
    gcheck_figure(g, (double)corpus->n_rows, "%s.items", name);
    gcheck_figure(g, (double)code_bytes, "%s.code_bytes", name);
}

void gcheck_measure_memory(gcheck *g, const char *name, const thr_scan_corpus *corpus, uint64_t free_before) {
    const thr_store_size size = thr_store_get_size(corpus->store);
    const double used = (double)free_before - (double)gcheck_device_free(g);
    gcheck_figure(g, used, "%s.device_bytes", name);
    gcheck_figure(g, (double)size.row_bytes, "%s.row_bytes", name);
    gcheck_figure(g, (double)size.workspace_bytes, "%s.workspace_bytes", name);
}

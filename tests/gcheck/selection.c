/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to select on devices: the RBE paper's buckets, as published and with a certificate, beside the threshold. */
#include "gcheck.h"

#include "support.h"

#include <stdlib.h>

static const struct {
    const char *name;
    thr_selection selection;
} selections[] = {
    {"threshold", THR_SELECTION_THRESHOLD}, {"paper", THR_SELECTION_PAPER}, {"buckets", THR_SELECTION_BUCKETS}};

static int ascending(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* All queries' rows, each query's in order of number. */
static void search(gcheck *g, const gcheck_case *c, uint64_t *rows) {
    thr_error err;
    gcheck_must(thr_store_search(g->scan, c->target, &c->queries, &c->options,
                                 &(thr_answers){.k = c->k, .ids = rows, .certified = c->options.certified}, &err),
                &err, c->name);
    for (uint64_t q = 0; q < c->queries.n_rows; q++)
        qsort(rows + q * c->k, (size_t)c->k, sizeof *rows, ascending);
}

static uint64_t count_common(const uint64_t *a, const uint64_t *b, uint64_t n) {
    uint64_t common = 0;
    for (uint64_t i = 0, j = 0; i < n && j < n;)
        if (a[i] == b[j]) {
            common++;
            i++;
            j++;
        } else if (a[i] < b[j]) {
            i++;
        } else {
            j++;
        }
    return common;
}

void gcheck_compare_selections(gcheck *g, const gcheck_case *c) {
    const size_t n = (size_t)(c->queries.n_rows * c->k);
    uint64_t *wanted = test_array(n, sizeof *wanted), *rows = test_array(n, sizeof *rows);
    search(g, c, wanted);
    for (size_t i = 0; i < sizeof selections / sizeof *selections; i++) {
        uint64_t common = 0;
        g->context->selection = selections[i].selection;
        search(g, c, rows);
        for (uint64_t q = 0; q < c->queries.n_rows; q++)
            common += count_common(rows + q * c->k, wanted + q * c->k, c->k);
        gcheck_figure(g, (double)common / (double)n, "%s.%s.recall", c->name, selections[i].name);
        gcheck_figure(g, gcheck_time(g, c, 1), "%s.%s.one_s", c->name, selections[i].name);
    }
    g->context->selection = THR_SELECTION_THRESHOLD;
    free(wanted);
    free(rows);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * updates.c - what updates cost: a thousand items added and a thousand removed at a time, ten times, beside the
 * catalogue's file; and what searches cost then. The answers must be those of the file without the removed items and
 * of lists of the added ones, merged.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hits.h"

enum { K = BENCH_HITS_K, BATCH = 1000, BATCHES = 10, N = BATCH * BATCHES, ROUNDS = 5 };

typedef struct updates_bench {
    bench_scan_run *run;
    thr_hits *file, *updated, *added; /* added: lists of the added items alone, as a file */
    const bench_hits_query *queries;
    uint64_t n_items;
    bench_catalogue more; /* what is added */
    uint64_t removed[N];
    uint64_t *left; /* a filter of the file's rows */
    double seconds[BATCHES];
} updates_bench;

/* Different rows, in any order. */
static void draw_removed(updates_bench *b) {
    const uint64_t step = b->n_items / N;
    for (uint64_t i = 0; i < N; i++)
        b->removed[i] = i * 7919 % N * step + i % step;
    for (uint64_t i = 0; i < b->n_items; i++)
        b->left[i / 64] |= UINT64_C(1) << i % 64;
    for (uint64_t i = 0; i < N; i++)
        b->left[b->removed[i] / 64] &= ~(UINT64_C(1) << b->removed[i] % 64);
}

static void update(updates_bench *b, int batch) {
    const uint64_t first = (uint64_t)batch * BATCH, *offsets = b->more.offsets + first;
    uint64_t ids[BATCH], ends[BATCH + 1];
    thr_hits_changes changes;
    thr_hits *next = NULL;
    for (uint64_t i = 0; i <= BATCH; i++)
        ends[i] = offsets[i] - offsets[0];
    for (uint64_t i = 0; i < BATCH; i++)
        ids[i] = b->n_items + first + i;
    thr_hits_changes_init(&changes);
    changes.n_added = BATCH;
    changes.ids = ids;
    changes.offsets = ends;
    changes.features = b->more.features + offsets[0];
    changes.n_removed = BATCH;
    changes.removed_ids = b->removed + first;
    const double start = bench_clock();
    bench_must(b->run, thr_hits_update(b->updated == NULL ? b->file : b->updated, &changes, &next, &b->run->err));
    thr_hits_free(b->updated);
    b->seconds[batch] = bench_clock() - start;
    b->updated = next;
}

static void search(updates_bench *b, thr_hits *hits, int size, const uint64_t *filter, bench_hits_answer *a) {
    thr_hits_search_options options;
    thr_hits_search_options_init(&options);
    options.filter = filter;
    options.filter_bits = b->n_items;
    bench_hits_ask(b->run, hits, &b->queries[size], &options, a);
}

static void check(updates_bench *b, int size) {
    bench_hits_answer found, file, added;
    search(b, b->updated, size, NULL, &found);
    search(b, b->file, size, b->left, &file);
    search(b, b->added, size, NULL, &added);
    for (size_t i = 0, f = 0, a = 0; i < K; i++) {
        const bool is_added = added.values[a] > file.values[f];
        const uint64_t id = is_added ? b->n_items + added.ids[a] : file.ids[f];
        const float value = is_added ? added.values[a] : file.values[f];
        if (found.ids[i] != id || found.values[i] != value) /* to the bit */
            bench_fail(b->run, "after updates, number %zu is item %llu with %g, not %llu with %g", i,
                       (unsigned long long)found.ids[i], (double)found.values[i], (unsigned long long)id,
                       (double)value);
        *(is_added ? &a : &f) += 1;
    }
}

/* In turns, the best round of each. */
static void measure(updates_bench *b, int size, double *alone, double *changed) {
    bench_hits_answer a;
    *alone = *changed = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        double start = bench_clock();
        search(b, b->file, size, NULL, &a);
        *alone = fmin(*alone, bench_clock() - start);
        start = bench_clock();
        search(b, b->updated, size, NULL, &a);
        *changed = fmin(*changed, bench_clock() - start);
    }
}

static void report(updates_bench *b, int n_sizes) {
    static bench_table table;
    bench_table_begin(&table, "Updates: 1,000 items added and 1,000 removed at a time; one thread",
                      "what | ms | over the file alone");
    static const struct {
        const char *what;
        int batch;
    } rows[] = {{"the first update, which also indexes the file's rows", 0},
                {"the second", 1},
                {"the tenth, 9,000 added and 9,000 removed before it", BATCHES - 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench_row(&table, "%s | %.2f | ", rows[i].what, b->seconds[rows[i].batch] * 1e3);
    }
    for (int size = 0; size < n_sizes; size++) {
        double alone, changed;
        check(b, size);
        measure(b, size, &alone, &changed);
        for (int side = 0; side < 2; side++) {
            bench_row(&table, "a query of %u features, %s | %.2f | %.2f", b->queries[size].n,
                      side == 0 ? "the file alone" : "10,000 added and 10,000 removed",
                      (side == 0 ? alone : changed) * 1e3, side == 0 ? 1.0 : changed / alone);
        }
    }
    bench_print(b->run, &table);
}

void bench_hits_updates(bench_scan_run *run, thr_hits *hits, const bench_catalogue *c, const bench_hits_query *queries,
                        int n_queries) {
    if (c->n_items < 2 * N) {
        bench_say(run, "Too few items for %d to be removed: updates are not measured.\n\n", N);
        return;
    }
    updates_bench *b = bench_room(run, sizeof *b);
    char path[1100];
    (void)snprintf(path, sizeof path, "%s/added.hits", run->scratch);
    *b = (updates_bench){.run = run, .file = hits, .queries = queries, .n_items = c->n_items};
    b->left = bench_room(run, (c->n_items / 64 + 1) * sizeof *b->left);
    b->more = bench_catalogue_draw(run, N, c->n_features, 21);
    draw_removed(b);
    (void)bench_hits_build(run, run->context, &b->more, path, THR_HITS_ORDER_FEATURES);
    b->added = bench_hits_open(run, path);
    for (int batch = 0; batch < BATCHES; batch++)
        update(b, batch);
    report(b, n_queries);
    thr_hits_free(b->updated);
    thr_hits_free(b->added);
    bench_catalogue_free(&b->more);
    free(b->left);
    free(b);
}

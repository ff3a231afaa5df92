/* SPDX-License-Identifier: Apache-2.0 */
/*
 * updates.c - what updates cost: a thousand items added and a thousand removed at a time, ten times, beside the
 * catalogue's file; and what searches cost then. The answers must be those of the file without the removed items and
 * of lists of the added ones, merged.
 */
#include "hits.h"

enum { K = BENCH_HITS_K, BATCH = 1000, BATCHES = 10, N = BATCH * BATCHES, ROUNDS = 5 };

typedef struct updates_bench {
    thr_hits *file, *updated, *added; /* added: lists of the added items alone, as a file */
    uint64_t n_items;
    bench_catalogue more; /* added items */
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
    for (BENCH_BEST(b->seconds[batch], 1)) {
        bench_check(thr_hits_update(b->updated == NULL ? b->file : b->updated, &changes, &next, &bench.err));
        thr_hits_free(b->updated);
    }
    b->updated = next;
}

static void search(updates_bench *b, thr_hits *hits, const bench_hits_query *query, const uint64_t *filter,
                   bench_hits_answer *a) {
    BENCH_OPTIONS(thr_hits_search, options);
    options.filter = filter;
    options.filter_bits = b->n_items;
    bench_check(bench_hits_ask(hits, query, &options, a, &bench.err));
}

static void check(updates_bench *b, const bench_hits_query *query) {
    bench_hits_answer found, file, added;
    search(b, b->updated, query, NULL, &found);
    search(b, b->file, query, b->left, &file);
    search(b, b->added, query, NULL, &added);
    for (size_t i = 0, f = 0, a = 0; i < K; i++) {
        const bool is_added = added.values[a] > file.values[f];
        const uint64_t id = is_added ? b->n_items + added.ids[a] : file.ids[f];
        const float value = is_added ? added.values[a] : file.values[f];
        if (found.ids[i] != id || found.values[i] != value) /* to the bit */
            bench_fail("after updates, number %zu is item %llu with %g, not %llu with %g", i,
                       (unsigned long long)found.ids[i], (double)found.values[i], (unsigned long long)id,
                       (double)value);
        *(is_added ? &a : &f) += 1;
    }
}

static void report_query(updates_bench *b, const bench_hits_query *query, bench_table *table) {
    bench_hits_answer a;
    double alone = INFINITY, changed = INFINITY;
    check(b, query);
    for (int round = 0; round < ROUNDS; round++) {
        for (BENCH_ALSO(alone))
            search(b, b->file, query, NULL, &a);
        for (BENCH_ALSO(changed))
            search(b, b->updated, query, NULL, &a);
    }
    bench_row(table, "a query of %u features, the file alone | %.2f | 1.00", query->n, alone * 1e3);
    bench_row(table, "a query of %u features, 10,000 added and 10,000 removed | %.2f | %.2f", query->n, changed * 1e3,
              changed / alone);
}

void bench_hits_updates(thr_hits *hits, const bench_catalogue *c, const bench_hits_query *const *queries,
                        int n_queries) {
    if (c->n_items < 2 * N) {
        bench_print_text("Too few items for %d to be removed: updates are not measured.\n\n", N);
        return;
    }
    updates_bench *b = bench_alloc(sizeof *b);
    const char *path = bench_path("added.hits");
    *b = (updates_bench){.file = hits, .n_items = c->n_items};
    b->left = bench_alloc((c->n_items / 64 + 1) * sizeof *b->left);
    b->more = bench_catalogue_draw(N, c->n_features, 21);
    draw_removed(b);
    (void)bench_hits_build(bench.context, &b->more, path, THR_HITS_ORDER_FEATURES);
    b->added = bench_hits_open(path);
    for (int batch = 0; batch < BATCHES; batch++)
        update(b, batch);
    bench_table *table = bench_table_begin("updates of 1,000 items", 1, "what | ms | over the file alone");
    bench_row(table, "the first update, which also indexes the file's rows | %.2f | ", b->seconds[0] * 1e3);
    bench_row(table, "the second | %.2f | ", b->seconds[1] * 1e3);
    bench_row(table, "the tenth, 9,000 added and 9,000 removed before it | %.2f | ", b->seconds[BATCHES - 1] * 1e3);
    for (int q = 0; q < n_queries; q++)
        report_query(b, queries[q], table);
    bench_print(table);
    thr_hits_free(b->updated);
    thr_hits_free(b->added);
}

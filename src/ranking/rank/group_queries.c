/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_queries.c - reorder rows by query, run by run; a run is a sequence of adjacent rows of one query.
 *
 * In most files the rows of each query are adjacent: then there are as many runs as queries, and no row moves.
 */
#include "rank/group_queries.h"

#include <string.h>

#include "base/error.h"
#include "base/radix.h"

/* The runs, in file order and sorted by query; the runs of one query stay in file order. */
typedef struct query_runs {
    size_t n;
    uint64_t *starts;  /* n + 1: first row of each run */
    thr_keyed *sorted; /* key: the query; value: the run */
    size_t n_groups;
    thr_keyed *groups; /* one for each query, sorted by key; key: its first run; value: that run's index in sorted */
} query_runs;

static void drop_runs(thr_context *context, query_runs *runs) {
    THR_RELEASE(context, runs->starts, runs->sorted, runs->groups);
}

static size_t count_runs(const uint64_t *queries, size_t n_rows) {
    size_t n = 1;
    for (size_t r = 1; r < n_rows; r++)
        n += queries[r] != queries[r - 1];
    return n;
}

static bool begins_group(const query_runs *runs, size_t i) {
    return i == 0 || runs->sorted[i].key != runs->sorted[i - 1].key;
}

static thr_status find_runs(thr_context *context, const uint64_t *queries, size_t n_rows, query_runs *runs,
                            thr_error *err) {
    runs->n = count_runs(queries, n_rows);
    THR_TRY(thr_alloc(context, runs->n + 1, sizeof *runs->starts, &runs->starts, "runs of queries", err));
    THR_TRY(thr_alloc(context, runs->n, sizeof *runs->sorted, &runs->sorted, "runs of queries", err));
    size_t n = 0;
    for (size_t r = 0; r < n_rows; r++) {
        if (r != 0 && queries[r] == queries[r - 1])
            continue;
        runs->starts[n] = r;
        runs->sorted[n] = (thr_keyed){.key = queries[r], .value = n};
        n++;
    }
    runs->starts[n] = n_rows;
    THR_TRY(thr_radix_sort(context, runs->sorted, runs->n, err));
    for (size_t i = 0; i < runs->n; i++)
        runs->n_groups += begins_group(runs, i);
    THR_TRY(thr_alloc(context, runs->n_groups, sizeof *runs->groups, &runs->groups, "queries", err));
    n = 0;
    for (size_t i = 0; i < runs->n; i++)
        if (begins_group(runs, i))
            runs->groups[n++] = (thr_keyed){.key = runs->sorted[i].value, .value = i};
    return thr_radix_sort(context, runs->groups, runs->n_groups, err);
}

/* Fill in offsets and query numbers and, if r->rows is allocated, the permutation of rows. */
static void write_groups(const query_runs *runs, thr_ranking *r) {
    uint64_t place = 0;
    for (size_t g = 0; g < runs->n_groups; g++) {
        const size_t first = (size_t)runs->groups[g].value;
        r->offsets[g] = place;
        r->queries[g] = runs->sorted[first].key;
        for (size_t i = first; i < runs->n && (i == first || !begins_group(runs, i)); i++) {
            const size_t run = (size_t)runs->sorted[i].value;
            for (uint64_t row = runs->starts[run]; row < runs->starts[run + 1]; row++, place++)
                if (r->rows != NULL)
                    r->rows[place] = row;
        }
    }
    r->offsets[runs->n_groups] = place;
}

/* ------------------------------------------------------------------------------------------------ move rows */

/* Permute in place, cycle by cycle: row i becomes the former row rows[i]. moved: n_rows zero bytes. */
static void move_dense_in_place(float *dense, size_t n_rows, size_t width, const uint64_t *rows, float *kept,
                                uint8_t *moved) {
    const size_t bytes = width * sizeof *dense;
    for (size_t i = 0; i < n_rows; i++) {
        if (moved[i] != 0 || rows[i] == i)
            continue;
        memcpy(kept, dense + i * width, bytes);
        size_t to = i;
        for (; rows[to] != i; to = (size_t)rows[to]) {
            memcpy(dense + to * width, dense + (size_t)rows[to] * width, bytes);
            moved[to] = 1;
        }
        memcpy(dense + to * width, kept, bytes);
        moved[to] = 1;
    }
}

/* Rows of a mapped cache are read-only, so they are copied; others are permuted in place. */
static thr_status move_dense(thr_ranking *r, thr_error *err) {
    const size_t n_rows = (size_t)r->view.n_rows, width = r->view.n_features;
    if (width == 0)
        return THR_OK;
    if (r->text.from_cache) {
        THR_TRY(thr_alloc(r->context, n_rows * width, sizeof *r->dense, &r->dense, "rows by query", err));
        for (size_t i = 0; i < n_rows; i++)
            memcpy(r->dense + i * width, r->text.dense + (size_t)r->rows[i] * width, width * sizeof *r->dense);
        r->view.dense = r->dense;
        return THR_OK;
    }
    float *kept = NULL;
    uint8_t *moved = NULL;
    THR_TRY(thr_alloc(r->context, width, sizeof *kept, &kept, "a row of features", err));
    const thr_status status = thr_alloc_zero(r->context, n_rows, 1, &moved, "marks of rows", err);
    if (status == THR_OK)
        move_dense_in_place((float *)(uintptr_t)r->text.dense, n_rows, width, r->rows, kept, moved);
    THR_RELEASE(r->context, kept, moved);
    return status;
}

static thr_status move_sparse(thr_ranking *r, thr_error *err) {
    const size_t n_rows = (size_t)r->view.n_rows, n_values = r->text.n_values;
    const thr_svmlight *text = &r->text;
    THR_TRY(thr_alloc(r->context, n_rows + 1, sizeof *r->starts, &r->starts, "rows by query", err));
    THR_TRY(thr_alloc(r->context, n_values, sizeof *r->columns, &r->columns, "columns by query", err));
    THR_TRY(thr_alloc(r->context, n_values, sizeof *r->values, &r->values, "values by query", err));
    uint64_t place = 0;
    for (size_t i = 0; i < n_rows; i++) {
        const uint64_t first = text->starts[r->rows[i]], n = text->starts[r->rows[i] + 1] - first;
        r->starts[i] = place;
        if (n != 0) {
            memcpy(r->columns + place, text->columns + first, n * sizeof *r->columns);
            memcpy(r->values + place, text->values + first, n * sizeof *r->values);
        }
        place += n;
    }
    r->starts[n_rows] = place;
    r->view.sparse.starts = r->starts;
    r->view.sparse.columns = r->columns;
    r->view.sparse.values = r->values;
    return THR_OK;
}

static void drop(thr_ranking *r, const void *array) {
    if (!r->text.from_cache)
        thr_release(r->context, (void *)(uintptr_t)array);
}

/* Free the original arrays that have permuted copies. */
static void drop_moved(thr_ranking *r) {
    thr_svmlight *text = &r->text;
    drop(r, text->labels);
    drop(r, text->starts);
    drop(r, text->columns);
    drop(r, text->values);
    text->labels = NULL;
    text->starts = NULL;
    text->columns = NULL;
    text->values = NULL;
}

static thr_status move_rows(thr_ranking *r, thr_error *err) {
    THR_TRY(thr_alloc(r->context, (size_t)r->view.n_rows, sizeof *r->labels, &r->labels, "labels by query", err));
    for (size_t i = 0; i < (size_t)r->view.n_rows; i++)
        r->labels[i] = r->text.labels[r->rows[i]];
    r->view.labels = r->labels;
    THR_TRY(r->view.dense != NULL ? move_dense(r, err) : move_sparse(r, err));
    drop_moved(r);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ group */

static thr_status group_as_one(thr_ranking *r, thr_error *err) {
    THR_TRY(thr_alloc_zero(r->context, 2, sizeof *r->offsets, &r->offsets, "offsets of queries", err));
    THR_TRY(thr_alloc_zero(r->context, 1, sizeof *r->queries, &r->queries, "queries", err));
    r->offsets[1] = r->view.n_rows;
    r->view.n_queries = 1;
    r->view.offsets = r->offsets;
    r->view.queries = r->queries;
    return THR_OK;
}

thr_status thr_ranking_group(thr_ranking *r, thr_error *err) {
    const size_t n_rows = (size_t)r->view.n_rows;
    query_runs runs = {0};
    thr_status status = THR_OK;
    if (r->text.queries == NULL)
        return group_as_one(r, err);
    THR_TRY_OUT(find_runs(r->context, r->text.queries, n_rows, &runs, err));
    const bool apart = runs.n_groups != runs.n;
    THR_TRY_OUT(thr_alloc(r->context, runs.n_groups + 1, sizeof *r->offsets, &r->offsets, "offsets of queries", err));
    THR_TRY_OUT(thr_alloc(r->context, runs.n_groups, sizeof *r->queries, &r->queries, "queries", err));
    if (apart)
        THR_TRY_OUT(thr_alloc(r->context, n_rows, sizeof *r->rows, &r->rows, "the order of rows", err));
    write_groups(&runs, r);
    r->view.n_queries = runs.n_groups;
    r->view.offsets = r->offsets;
    r->view.queries = r->queries;
    r->view.rows = r->rows;
    drop(r, r->text.queries);
    r->text.queries = NULL;
    if (apart)
        status = move_rows(r, err);
out:
    drop_runs(r->context, &runs);
    return status;
}

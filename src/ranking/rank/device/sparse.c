/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparse.c - sparse rows on a device, and the same entries by chunk of queries, feature and row, so that a feature's
 * sum over a chunk is a run of adjacent entries in the order of the CPU's additions.
 *
 * The rows of a chunk are adjacent, so its entries are, and take the same range of both arrays. The host transposes
 * chunk by chunk, counting the entries of features; its memory is that of the largest chunk.
 */
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "rank/device/gpu_arrays.h"

/* A chunk's transposed entries, and where its features begin. */
typedef struct transposed {
    /* n_features + 1: feature d's count in d + 1; then in d its next free entry; in the end in d its first entry */
    uint64_t *starts;
    uint32_t *rows;
    float *values;
} transposed;

static uint64_t chunk_entry(const thr_rank_problem *problem, size_t chunk) {
    return problem->view.sparse.starts[problem->view.offsets[problem->chunks[chunk]]];
}

/* Fill t with a chunk; t->starts counts in all entries. */
static void transpose_chunk(const thr_rank_problem *problem, size_t chunk, transposed *t) {
    const thr_csr *sparse = &problem->view.sparse;
    const uint64_t first = chunk_entry(problem, chunk), end = chunk_entry(problem, chunk + 1);
    const uint64_t last_row = problem->view.offsets[problem->chunks[chunk + 1]];
    const size_t n = problem->view.n_features;
    memset(t->starts, 0, (n + 1) * sizeof *t->starts);
    for (uint64_t e = first; e < end; e++)
        t->starts[sparse->columns[e] + 1]++;
    t->starts[0] = first;
    for (size_t d = 0; d < n; d++)
        t->starts[d + 1] += t->starts[d];
    for (uint64_t row = problem->view.offsets[problem->chunks[chunk]]; row < last_row; row++)
        for (uint64_t e = sparse->starts[row]; e < sparse->starts[row + 1]; e++) {
            const uint64_t place = t->starts[sparse->columns[e]]++ - first;
            t->rows[place] = (uint32_t)row;
            t->values[place] = sparse->values[e];
        }
    /* Filling moved each start to that of the next feature: move them back. */
    memmove(t->starts + 1, t->starts, n * sizeof *t->starts);
    t->starts[0] = first;
}

static thr_status copy_chunks(thr_rank_gpu_problem *d, transposed *t, thr_error *err) {
    const thr_rank_problem *p = d->problem;
    const thr_backend *b = d->memory.backend;
    const size_t n = p->view.n_features;
    const uint64_t n_entries = p->view.sparse.starts[p->view.n_rows];
    uint64_t *starts = NULL;
    uint32_t *rows = NULL;
    float *values = NULL;
    const thr_device_array table[] = {{NULL, p->n_chunks * n + 1, sizeof *starts, &starts},
                                      {NULL, (size_t)n_entries, sizeof *rows, &rows},
                                      {NULL, (size_t)n_entries, sizeof *values, &values}};
    THR_TRY(thr_device_arrays_put(&d->memory, table, sizeof table / sizeof *table, err));
    for (size_t chunk = 0; chunk < p->n_chunks; chunk++) {
        const uint64_t first = chunk_entry(p, chunk);
        const size_t n_here = (size_t)(chunk_entry(p, chunk + 1) - first);
        transpose_chunk(p, chunk, t);
        THR_TRY(b->upload(d->memory.stream, starts + chunk * n, t->starts, (n + 1) * sizeof *starts, err));
        if (n_here > 0) { /* without entries, rows and values are NULL */
            THR_TRY(b->upload(d->memory.stream, rows + first, t->rows, n_here * sizeof *rows, err));
            THR_TRY(b->upload(d->memory.stream, values + first, t->values, n_here * sizeof *values, err));
        }
        THR_TRY(b->wait(d->memory.stream, err)); /* before t is overwritten */
    }
    d->x.feature_starts = starts;
    d->x.feature_rows = rows;
    d->x.feature_values = values;
    return THR_OK;
}

thr_status thr_rank_device_copy_sparse(thr_rank_gpu_problem *d, thr_error *err) {
    const thr_rank_problem *p = d->problem;
    const thr_csr *sparse = &p->view.sparse;
    thr_context *context = p->context;
    const size_t n_rows = (size_t)p->view.n_rows, n_entries = (size_t)sparse->starts[n_rows];
    transposed t = {.starts = NULL};
    size_t longest = 0;
    thr_status status = THR_OK;
    for (size_t chunk = 0; chunk < p->n_chunks; chunk++) {
        const size_t n_here = (size_t)(chunk_entry(p, chunk + 1) - chunk_entry(p, chunk));
        longest = THR_MAX(n_here, longest);
    }
    const thr_device_array table[] = {{sparse->starts, n_rows + 1, sizeof *sparse->starts, &d->x.starts},
                                      {sparse->columns, n_entries, sizeof *sparse->columns, &d->x.columns},
                                      {sparse->values, n_entries, sizeof *sparse->values, &d->x.values}};
    THR_TRY(thr_device_arrays_put(&d->memory, table, sizeof table / sizeof *table, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)p->view.n_features + 1, sizeof *t.starts, &t.starts, "features", err));
    THR_TRY_OUT(thr_alloc(context, longest, sizeof *t.rows, &t.rows, "entries by feature", err));
    THR_TRY_OUT(thr_alloc(context, longest, sizeof *t.values, &t.values, "entries by feature", err));
    status = copy_chunks(d, &t, err);
out:
    THR_RELEASE(context, t.values, t.rows, t.starts);
    return status;
}

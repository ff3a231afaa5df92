/* SPDX-License-Identifier: Apache-2.0 */
/* vector_pairs.c - reading vectors to learn from, and assembling batches of them. */
#include "text_tower/vector_pairs.h"

#include <thresher/tower.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/rng.h"
#include "kernel/kernel.h"

enum { ROWS_AT_ONCE = 4096 };

static thr_status check_shape(thr_reader *reader, thr_error *err) {
    const thr_reader_shape shape = thr_reader_get_shape(reader);
    if (shape.dtype == THR_DTYPE_NONE)
        return thr_fail(err, THR_EINVAL, "%s: a text holds no vectors: give a file of numbers (.npy .fvecs .fbin ...)",
                        thr_reader_name(reader));
    return THR_OK;
}

/* Scale a row to length 1. */
static thr_status to_unit(thr_context *context, const char *name, uint64_t row, uint32_t n_dims, float *x,
                          thr_error *err) {
    for (uint32_t d = 0; d < n_dims; d++) {
        if (!isfinite(x[d]))
            return thr_fail(err, THR_ERANGE,
                            "%s: row %" PRIu64 ", dimension %" PRIu32
                            " is NaN, infinity or beyond float32: repair or leave out the row",
                            name, row, d);
    }
    const double length = sqrt(context->kernels->sum_squares(x, n_dims));
    if (length < 0x1p-100)
        return thr_fail(err, THR_ERANGE, "%s: row %" PRIu64 " is a zero vector, which has no direction: leave it out",
                        name, row);
    for (uint32_t d = 0; d < n_dims; d++)
        x[d] = (float)((double)x[d] / length);
    return THR_OK;
}

static thr_status read_side(thr_context *context, thr_reader *reader, uint32_t n_dims, float **rows, size_t *n,
                            thr_error *err) {
    const char *name = thr_reader_name(reader);
    const uint64_t total = thr_reader_get_shape(reader).n_rows;
    thr_progress progress = thr_progress_start(context, "reading vectors", total == THR_ROWS_UNKNOWN ? 0 : total);
    size_t capacity = 0;
    for (*n = 0;;) {
        thr_matrix piece;
        THR_TRY(thr_reader_next(reader, ROWS_AT_ONCE, &piece, err));
        if (piece.n_rows == 0)
            return thr_progress_end(&progress, *n, err);
        if (*n + piece.n_rows > UINT32_MAX)
            return thr_fail(err, THR_ERANGE, "%s: more than %u vectors: train on a part of them", name, UINT32_MAX);
        if (piece.n_dims != n_dims)
            return thr_fail(err, THR_EDIM, "%s: rows of %" PRIu32 " dimensions after rows of %" PRIu32, name,
                            piece.n_dims, n_dims);
        THR_TRY(thr_grow(context, rows, &capacity, *n + (size_t)piece.n_rows, n_dims * sizeof **rows, "vectors", err));
        THR_TRY(thr_matrix_to_f32(&piece, 0, piece.n_rows, *rows + *n * n_dims));
        for (uint64_t r = 0; r < piece.n_rows; r++, (*n)++)
            THR_TRY(to_unit(context, name, *n, n_dims, *rows + *n * n_dims, err));
        THR_TRY(thr_progress_step(&progress, *n, err));
    }
}

thr_status thr_text_vector_pairs_read(thr_context *context, thr_reader *queries, thr_reader *items,
                                      thr_vector_pairs *pairs, thr_error *err) {
    size_t n_queries = 0;
    THR_TRY(check_shape(items, err));
    pairs->n_dims = thr_reader_get_shape(items).n_dims;
    if (queries != NULL) {
        THR_TRY(check_shape(queries, err));
        const uint32_t n_dims = thr_reader_get_shape(queries).n_dims;
        if (n_dims != pairs->n_dims)
            return thr_fail(err, THR_EDIM,
                            "%s has vectors of %" PRIu32 " dimensions, %s of %" PRIu32 ": a model needs both alike",
                            thr_reader_name(queries), n_dims, thr_reader_name(items), pairs->n_dims);
    }
    THR_TRY(read_side(context, items, pairs->n_dims, &pairs->rows[THR_SIDE_ITEM], &pairs->n, err));
    if (queries == NULL) {
        pairs->rows[THR_SIDE_QUERY] = pairs->rows[THR_SIDE_ITEM];
        n_queries = pairs->n;
    } else {
        THR_TRY(read_side(context, queries, pairs->n_dims, &pairs->rows[THR_SIDE_QUERY], &n_queries, err));
    }
    if (n_queries != pairs->n)
        return thr_fail(err, THR_EDIM, "%s has %zu vectors, %s %zu: give each query's item in the same row",
                        thr_reader_name(queries), n_queries, thr_reader_name(items), pairs->n);
    THR_TRY(thr_alloc(context, pairs->n, sizeof *pairs->split, &pairs->split, "vectors", err));
    for (size_t i = 0; i < pairs->n; i++)
        pairs->split[i] =
            thr_checksum_of(pairs->rows[THR_SIDE_QUERY] + i * pairs->n_dims, pairs->n_dims * sizeof(float));
    return THR_OK;
}

void thr_text_vector_pairs_free(thr_context *context, thr_vector_pairs *pairs) {
    if (pairs->rows[THR_SIDE_QUERY] != pairs->rows[THR_SIDE_ITEM])
        thr_release(context, pairs->rows[THR_SIDE_QUERY]);
    thr_release(context, pairs->rows[THR_SIDE_ITEM]);
    thr_release(context, pairs->split);
    *pairs = (thr_vector_pairs){0};
}

void thr_text_vector_pairs_sum(thr_checksum *sum, const thr_vector_pairs *pairs) {
    for (size_t side = 0; side < THR_N_SIDES; side++)
        thr_checksum_add(sum, pairs->rows[side], pairs->n * pairs->n_dims * sizeof(float));
}

/* Add a vector of uniform components whose expected squared length is length^2. */
static void add_noise(uint64_t *rng, float length, uint32_t n_dims, float *x) {
    const double limit = (double)length * sqrt(3.0 / n_dims);
    for (uint32_t d = 0; d < n_dims; d++)
        x[d] += (float)(limit * ((double)(thr_rng_next(rng) >> 11) * 0x1p-52 - 1));
}

void thr_text_vector_pairs_gather(const thr_vector_pairs *pairs, const uint32_t *numbers, size_t n,
                                  const thr_vector_noise *noise, float *const out[THR_N_SIDES]) {
    const size_t n_dims = pairs->n_dims;
    uint64_t rng = noise->seed;
    for (size_t i = 0; i < n; i++) {
        for (size_t side = 0; side < THR_N_SIDES; side++)
            memcpy(out[side] + i * n_dims, pairs->rows[side] + numbers[i] * n_dims, n_dims * sizeof(float));
        if (noise->length > 0)
            add_noise(&rng, noise->length, pairs->n_dims, out[THR_SIDE_QUERY] + i * n_dims);
    }
}

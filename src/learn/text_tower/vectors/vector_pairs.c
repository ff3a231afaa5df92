/* SPDX-License-Identifier: Apache-2.0 */
/* vector_pairs.c - reading vectors to learn from, and assembling batches of them. */
#include "text_tower/vectors/vector_pairs.h"

#include <thresher/tower.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/shortest.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/rng.h"
#include "kernel/kernel.h"
#include "text_tower/vectors/vector_ids.h"
#include "io/reader.h"

enum { ROWS_AT_ONCE = 4096 };

static thr_status check_shape(thr_reader *reader, thr_error *err) {
    const thr_reader_shape shape = thr_reader_get_shape(reader);
    if (shape.dtype == THR_DTYPE_NONE)
        return thr_fail(err, THR_EINVAL, "%s: a text holds no vectors: give a file of numbers (.npy .fvecs .fbin ...)",
                        thr_io_reader_name(reader));
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
    if (length < THR_SHORTEST)
        return thr_fail(err, THR_ERANGE, "%s: row %" PRIu64 " is a zero vector, which has no direction: leave it out",
                        name, row);
    for (uint32_t d = 0; d < n_dims; d++)
        x[d] = (float)((double)x[d] / length);
    return THR_OK;
}

/* Rows of a side so far. */
typedef struct side_rows {
    float *rows;
    size_t n, capacity;
    uint32_t n_dims;
} side_rows;

/* Add all rows of a reader. */
static thr_status read_side(thr_context *context, thr_reader *reader, side_rows *side, thr_error *err) {
    const char *name = thr_io_reader_name(reader);
    const uint64_t total = thr_reader_get_shape(reader).n_rows;
    thr_progress progress = thr_progress_start(context, "reading vectors", total == THR_ROWS_UNKNOWN ? 0 : total);
    const size_t first = side->n;
    const uint32_t n_dims = side->n_dims;
    for (;;) {
        thr_matrix piece;
        THR_TRY(thr_reader_next(reader, ROWS_AT_ONCE, &piece, err));
        if (piece.n_rows == 0)
            return thr_progress_end(&progress, side->n - first, err);
        if (side->n + piece.n_rows > UINT32_MAX)
            return thr_fail(err, THR_ERANGE, "%s: more than %u vectors: train on a part of them", name, UINT32_MAX);
        if (piece.n_dims != n_dims)
            return thr_fail(err, THR_EDIM, "%s: rows of %" PRIu32 " dimensions after rows of %" PRIu32, name,
                            piece.n_dims, n_dims);
        THR_TRY(thr_grow(context, &side->rows, &side->capacity, side->n + (size_t)piece.n_rows,
                         n_dims * sizeof *side->rows, "vectors", err));
        THR_TRY(thr_matrix_to_f32(&piece, 0, piece.n_rows, side->rows + side->n * n_dims));
        for (uint64_t r = 0; r < piece.n_rows; r++, side->n++)
            THR_TRY(to_unit(context, name, side->n - first, n_dims, side->rows + side->n * n_dims, err));
        THR_TRY(thr_progress_step(&progress, side->n - first, err));
    }
}

static thr_status check_dims(thr_reader *reader, thr_reader *items, thr_error *err) {
    THR_TRY(check_shape(reader, err));
    const uint32_t n_dims = thr_reader_get_shape(reader).n_dims, wanted = thr_reader_get_shape(items).n_dims;
    if (n_dims != wanted)
        return thr_fail(err, THR_EDIM,
                        "%s has vectors of %" PRIu32 " dimensions, %s of %" PRIu32 ": a model needs both alike",
                        thr_io_reader_name(reader), n_dims, thr_io_reader_name(items), wanted);
    return THR_OK;
}

/* Pair the rows: by ids, or each query with the item in the same row. */
static thr_status pair_rows(thr_context *context, const thr_vector_source *source, thr_vector_pairs *pairs,
                            thr_error *err) {
    if (source->pairs_path != NULL) {
        const thr_vector_ids ids = {
            .pairs_path = source->pairs_path,
            .ids_paths = {source->ids_paths[0], source->ids_paths[1]},
            .vector_names = {thr_io_reader_name(source->queries), thr_io_reader_name(source->items)},
            .n_vectors = {pairs->n_rows[0], pairs->n_rows[1]}};
        return thr_text_vector_ids_read(context, &ids, pairs->row_of, &pairs->n, err);
    }
    pairs->n = pairs->n_rows[THR_SIDE_ITEM];
    if (pairs->n_rows[THR_SIDE_QUERY] != pairs->n)
        return thr_fail(err, THR_EDIM, "%s has %zu vectors, %s %zu: give each query's item in the same row",
                        thr_io_reader_name(source->queries), pairs->n_rows[THR_SIDE_QUERY],
                        thr_io_reader_name(source->items), pairs->n);
    return THR_OK;
}

thr_status thr_text_vector_pairs_read(thr_context *context, const thr_vector_source *source, thr_vector_pairs *pairs,
                                      thr_error *err) {
    thr_reader *const queries = source->queries, *const items = source->items, *const valid = source->valid;
    THR_TRY(check_shape(items, err));
    pairs->n_dims = thr_reader_get_shape(items).n_dims;
    side_rows sides[THR_N_SIDES] = {{.n_dims = pairs->n_dims}, {.n_dims = pairs->n_dims}};
    thr_status status = THR_OK;
    if (queries != NULL)
        THR_TRY(check_dims(queries, items, err));
    if (valid != NULL)
        THR_TRY(check_dims(valid, items, err));
    THR_TRY_OUT(read_side(context, items, &sides[THR_SIDE_ITEM], err));
    const size_t n_items = sides[THR_SIDE_ITEM].n;
    if (valid != NULL)
        THR_TRY_OUT(read_side(context, valid, &sides[THR_SIDE_ITEM], err));
    if (queries == NULL)
        sides[THR_SIDE_QUERY] = sides[THR_SIDE_ITEM];
    else
        THR_TRY_OUT(read_side(context, queries, &sides[THR_SIDE_QUERY], err));
    pairs->n_valid = sides[THR_SIDE_ITEM].n - n_items;
out:
    for (size_t side = 0; side < THR_N_SIDES; side++) {
        pairs->rows[side] = sides[side].rows;
        pairs->n_rows[side] = sides[side].n;
    }
    THR_TRY(status);
    THR_TRY(pair_rows(context, source, pairs, err));
    THR_TRY(thr_alloc(context, pairs->n, sizeof *pairs->split, &pairs->split, "vectors", err));
    for (size_t i = 0; i < pairs->n; i++)
        pairs->split[i] = thr_checksum_of(thr_vector_of(pairs, THR_SIDE_QUERY, i), pairs->n_dims * sizeof(float));
    return THR_OK;
}

void thr_text_vector_pairs_free(thr_context *context, thr_vector_pairs *pairs) {
    if (pairs->rows[THR_SIDE_QUERY] != pairs->rows[THR_SIDE_ITEM])
        thr_release(context, pairs->rows[THR_SIDE_QUERY]);
    thr_release(context, pairs->rows[THR_SIDE_ITEM]);
    THR_RELEASE(context, pairs->row_of[THR_SIDE_QUERY], pairs->row_of[THR_SIDE_ITEM], pairs->split);
    *pairs = (thr_vector_pairs){0};
}

void thr_text_vector_pairs_sum(thr_checksum *sum, const thr_vector_pairs *pairs) {
    for (size_t side = 0; side < THR_N_SIDES; side++) {
        thr_checksum_add(sum, pairs->rows[side], pairs->n_rows[side] * pairs->n_dims * sizeof(float));
        if (pairs->row_of[side] != NULL)
            thr_checksum_add(sum, pairs->row_of[side], pairs->n * sizeof(uint32_t));
    }
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
            memcpy(out[side] + i * n_dims, thr_vector_of(pairs, side, numbers[i]), n_dims * sizeof(float));
        if (noise->length > 0)
            add_noise(&rng, noise->length, pairs->n_dims, out[THR_SIDE_QUERY] + i * n_dims);
    }
}

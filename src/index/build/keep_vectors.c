/* SPDX-License-Identifier: Apache-2.0 */
/* keep_vectors.c - converts vectors to float16 or int8, and measures their lengths after rounding. */
#include "index/build/keep_vectors.h"

#include "base/error.h"
#include "base/int8.h"
#include "kernel/convert.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PIECE_ROWS = 16, F16_INFINITY = 0x7c00, F16_MAGNITUDE = 0x7fff };

thr_status thr_index_keeper_open(thr_context *context, const char *name, thr_dtype keep, uint32_t n_dims,
                                 uint64_t max_rows, thr_keeper *keeper, thr_error *err) {
    *keeper = (thr_keeper){.context = context, .name = name, .keep = keep, .n_dims = n_dims};
    if (keep == THR_DTYPE_NONE)
        return THR_OK;
    THR_TRY(thr_alloc(context, (size_t)max_rows * n_dims, thr_dtype_size(keep), &keeper->out, "kept vectors", err));
    return thr_alloc(context, (size_t)PIECE_ROWS * n_dims, sizeof(float), &keeper->floats, "kept vectors", err);
}

void thr_index_keeper_close(thr_keeper *keeper) {
    THR_RELEASE(keeper->context, keeper->out, keeper->floats);
    keeper->out = NULL;
    keeper->floats = NULL;
}

/* 1 / length, computed in double and rounded once; 0 for zero vectors. */
static float inverse(double length) {
    return length > 0 ? (float)(1 / length) : 0;
}

/* Four sums in a fixed order, which gives the same bits with every compiler. */
static double length_of(const float *x, uint32_t n) {
    double sums[4] = {0, 0, 0, 0};
    uint32_t d = 0;
    for (; d + 4 <= n; d += 4)
        for (uint32_t i = 0; i < 4; i++)
            sums[i] += (double)x[d + i] * (double)x[d + i];
    for (; d < n; d++)
        sums[0] += (double)x[d] * (double)x[d];
    return sqrt((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/* A sum of at most 2^15 squares of at most 128^2: exact. */
static double length_of_integers(const int8_t *x, uint32_t n) {
    uint32_t sum = 0;
    for (uint32_t d = 0; d < n; d++)
        sum += (uint32_t)(x[d] * x[d]);
    return sqrt((double)sum);
}

static thr_status to_f16(thr_keeper *k, uint64_t row, float norm, const float *in, uint16_t *out, thr_error *err) {
    thr_kernel_f32_to_f16(k->context, in, out, k->n_dims);
    uint32_t most = 0;
    for (uint32_t d = 0; d < k->n_dims; d++) {
        uint32_t magnitude = out[d] & (uint32_t)F16_MAGNITUDE;
        most = magnitude > most ? magnitude : most;
    }
    if (most >= F16_INFINITY)
        return thr_fail(err, THR_ERANGE,
                        "%s: row %" PRIu64 ": a value is too large for float16: keep float32, or scale the vectors",
                        k->name, row);
    if (most == 0 && norm > 0)
        return thr_fail(err, THR_ERANGE,
                        "%s: row %" PRIu64 ": all values are too small for float16: keep float32, or scale the vectors",
                        k->name, row);
    return THR_OK;
}

/* Return the rows unconverted: the source's own memory, or a dense copy if they have another stride. */
static const uint8_t *as_they_are(thr_keeper *k, const thr_matrix *rows) {
    const uint8_t *in = rows->data;
    size_t row_bytes = k->n_dims * thr_dtype_size(k->keep);
    if (rows->stride == row_bytes)
        return in;
    for (uint64_t r = 0; r < rows->n_rows; r++)
        memcpy(k->out + r * row_bytes, in + r * rows->stride, row_bytes);
    return k->out;
}

static thr_status convert(thr_keeper *k, const thr_matrix *rows, uint64_t first_row, const float *norms, float *scales,
                          thr_error *err) {
    uint64_t n = 0;
    for (uint64_t first = 0; first < rows->n_rows; first += n) {
        n = rows->n_rows - first < PIECE_ROWS ? rows->n_rows - first : PIECE_ROWS;
        if (k->keep == THR_DTYPE_F32) {
            THR_TRY(thr_matrix_to_f32(rows, first, n, (float *)(void *)k->out + first * k->n_dims));
            continue;
        }
        THR_TRY(thr_matrix_to_f32(rows, first, n, k->floats));
        for (uint64_t r = 0; r < n; r++) {
            const float *in = k->floats + r * k->n_dims;
            uint64_t at = (first + r) * k->n_dims;
            if (k->keep == THR_DTYPE_F16)
                THR_TRY(to_f16(k, first_row + first + r, norms[first + r], in, (uint16_t *)(void *)k->out + at, err));
            else
                scales[first + r] = thr_int8_from_f32((int8_t *)k->out + at, in, k->n_dims);
        }
    }
    return THR_OK;
}

/* Lengths of float32 vectors are known; those of the others are measured after rounding. */
static void measure(thr_keeper *k, uint64_t n_rows, const float *norms, const thr_kept_rows *kept) {
    for (uint64_t r = 0; r < n_rows; r++) {
        uint64_t at = r * k->n_dims;
        double length = (double)norms[r];
        if (length == 0) {
            /* too short to have a direction, whatever the rounded vector is */
        } else if (k->keep == THR_DTYPE_F16) {
            thr_kernel_f16_to_f32(k->context, (const uint16_t *)kept->bytes + at, k->floats, k->n_dims);
            length = length_of(k->floats, k->n_dims);
        } else if (k->keep == THR_DTYPE_I8) {
            length = (double)kept->scales[r] * length_of_integers((const int8_t *)kept->bytes + at, k->n_dims);
        }
        kept->inverse_norms[r] = inverse(length);
    }
}

thr_status thr_index_keep_rows(thr_keeper *k, const thr_matrix *rows, uint64_t first_row, const float *norms,
                               thr_kept_rows *kept, thr_error *err) {
    kept->bytes = k->out;
    if (rows->dtype == k->keep) {
        kept->bytes = as_they_are(k, rows);
        if (k->keep == THR_DTYPE_I8)
            for (uint64_t r = 0; r < rows->n_rows; r++)
                kept->scales[r] = 1;
    } else {
        THR_TRY(convert(k, rows, first_row, norms, kept->scales, err));
    }
    if (kept->inverse_norms != NULL)
        measure(k, rows->n_rows, norms, kept);
    return THR_OK;
}

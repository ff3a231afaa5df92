/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep_vectors.h - converts vectors to the copy that is kept for the exact pass: float32, float16, or 8-bit integers
 * with a scale.
 */
#pragma once

#include "base/memory.h"

#include <thresher/index.h>

typedef struct thr_keeper {
    thr_context *context;
    const char *name; /* of the source, for messages */
    thr_dtype keep;
    uint32_t n_dims;
    uint8_t *out;  /* max_rows converted rows */
    float *floats; /* a few rows, between two types */
} thr_keeper;

/* max_rows: most rows in a call of thr_index_keep_rows. THR_ENOMEM. */
thr_status thr_index_keeper_open(thr_context *context, const char *name, thr_dtype keep, uint32_t n_dims,
                                 uint64_t max_rows, thr_keeper *keeper, thr_error *err);
void thr_index_keeper_close(thr_keeper *keeper);

/* Rows in the kept format. */
typedef struct thr_kept_rows {
    float *scales;        /* per row; keep I8 only, else NULL */
    float *inverse_norms; /* per row: 1 / length of the kept vector; or NULL */
    const void *bytes;    /* the rows, dense; the source's own memory if no conversion is needed */
} thr_kept_rows;

/*
 * Convert rows with finite values. norms: their lengths.
 *
 * THR_ERANGE with the row if float16 cannot represent it.
 */
thr_status thr_index_keep_rows(thr_keeper *keeper, const thr_matrix *rows, uint64_t first_row, const float *norms,
                               thr_kept_rows *kept, thr_error *err);

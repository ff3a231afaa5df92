/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep_vectors.h - the copy of the vectors that is kept for the exact pass: float32, float16 or 8-bit integers with a
 * scale.
 */
#ifndef THR_INDEX_KEEP_VECTORS_H
#define THR_INDEX_KEEP_VECTORS_H

#include "base/memory.h"

#include <thresher/index.h>

typedef struct thr_keeper {
    thr_context *context;
    const char *name; /* of the source, for messages */
    thr_dtype keep;
    uint32_t n_dims;
    uint8_t *out;  /* max_rows converted rows */
    float *floats; /* a few rows between two types */
} thr_keeper;

/* max_rows: the most rows a call of thr_index_keep_rows will have. */
thr_status thr_index_keeper_open(thr_context *context, const char *name, thr_dtype keep, uint32_t n_dims,
                                 uint64_t max_rows, thr_keeper *keeper, thr_error *err);
void thr_index_keeper_close(thr_keeper *keeper);

/* Rows as they are kept. */
typedef struct thr_kept_rows {
    float *scales;        /* a place a row; keep I8, else NULL */
    float *inverse_norms; /* the same: 1 / length as kept; or NULL */
    const void *bytes;    /* the rows, dense: the source's own memory when nothing needs to be done */
} thr_kept_rows;

/*
 * Convert rows, whose values are known to be finite, with their lengths norms.
 *
 * THR_ERANGE with the row when float16 cannot hold it.
 */
thr_status thr_index_keep_rows(thr_keeper *keeper, const thr_matrix *rows, uint64_t first_row, const float *norms,
                               thr_kept_rows *kept, thr_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* keep.h - the copy of the vectors that is kept for the exact pass: float32, float16 or 8-bit integers with a scale. */
#ifndef THR_INDEX_KEEP_H
#define THR_INDEX_KEEP_H

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

/* max_rows: the most rows a call of thr_keep_rows will have. */
thr_status thr_keeper_open(thr_context *context, const char *name, thr_dtype keep, uint32_t n_dims, uint64_t max_rows,
                           thr_keeper *keeper, thr_error *err);
void thr_keeper_close(thr_keeper *keeper);

/*
 * Convert rows, whose values are known to be finite, with their lengths norms. *bytes are the kept rows, dense: the
 * source's own memory when nothing needs to be done. scales (keep I8) and inverse_norms (1 / length as kept) may be
 * NULL.
 *
 * THR_ERANGE with the row when float16 cannot hold it.
 */
thr_status thr_keep_rows(thr_keeper *keeper, const thr_matrix *rows, uint64_t first_row, const float *norms,
                         float *scales, float *inverse_norms, const void **bytes, thr_error *err);

#endif

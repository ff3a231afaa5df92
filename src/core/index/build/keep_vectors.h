/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep_vectors.h - converts vectors to the copy that is kept for the exact pass: float32, or residuals from a centre as
 * float16 or 8-bit integers, with a scale (scan/segment.h).
 */
#pragma once

#include "base/memory.h"
#include "scan/segment.h"

#include <thresher/index.h>

/* How an index keeps vectors. */
typedef struct thr_keep_form {
    thr_dtype keep;
    thr_metric metric;
    uint32_t n_dims;
    const float *centre; /* n_dims, borrowed; of float16 and int8 only */
} thr_keep_form;

typedef struct thr_keeper {
    thr_context *context;
    thr_keep_form form;
    bool centred;           /* the centre is not 0 */
    double centre_square;   /* its squared length */
    uint8_t *out;           /* max_rows converted rows */
    float *floats;          /* a few rows, between two types */
    double *residual;       /* a row */
    thr_kept_errors errors; /* of all rows since the caller set them to 0 */
} thr_keeper;

/* max_rows: most rows in a call of thr_index_keep_rows. THR_ENOMEM. */
thr_status thr_index_keeper_open(thr_context *context, const thr_keep_form *form, uint64_t max_rows, thr_keeper *keeper,
                                 thr_error *err);
void thr_index_keeper_close(thr_keeper *keeper);

/* Rows in the kept format. */
typedef struct thr_kept_rows {
    float *scales;        /* per row; float16 and int8 only, else NULL */
    float *inverse_norms; /* per row: 1 / length of the vector; cosine only, else NULL */
    float *halves;        /* per row; float16 and int8 by cosine only, else NULL */
    const void *bytes;    /* the rows, dense; the source's own memory if no conversion is needed */
} thr_kept_rows;

/* Convert rows with finite values. norms: their lengths, 0 for those that count as zero vectors. */
thr_status thr_index_keep_rows(thr_keeper *keeper, const thr_matrix *rows, const float *norms, thr_kept_rows *kept);

/*
 * Choose the centre of an index's kept vectors from a sample: the mean of the vectors that scores are of. It is 0 if
 * the kept type holds the sample's values as they are. The caller releases *centre. THR_ENOMEM.
 */
thr_status thr_index_keep_centre(thr_context *context, const thr_matrix *sample, thr_metric metric, thr_dtype keep,
                                 float **centre, thr_error *err);

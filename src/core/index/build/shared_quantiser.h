/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_quantiser.h - the quantiser of another index, for a build that shares it. Rows then have the same codes in
 * both indexes, and so the same estimated scores; and if both keep the same type, the same kept vectors and scores.
 */
#pragma once

#include "index/impl.h"
#include "index/build/row_source.h"

/* The index whose quantiser a build takes, and what both must have in common. */
typedef struct thr_quantiser_wanted {
    const char *dir;
    thr_metric metric;
    uint32_t n_dims;
    bool codes;           /* the rows are a model's codes, */
    uint64_t fingerprint; /* of this model; 0: there is no model */
    thr_dtype keep;       /* of the new index */
    const char *rows;     /* the name of the rows, for messages */
} thr_quantiser_wanted;

/* What rows have in common in indexes that share a quantiser. */
typedef struct thr_shared_codes {
    thr_quantiser quantiser;
    uint32_t lead;
    float *kept_centre; /* of the vectors kept; NULL unless both indexes keep them as the same scaled type */
} thr_shared_codes;

/*
 * Copy what the index in wanted->dir shares to *shared. The caller frees the quantiser and the centre.
 *
 * THR_EDIM; THR_EMISMATCH for another metric or model; what thr_index_open returns.
 */
thr_status thr_index_quantiser_copy(thr_context *context, const thr_quantiser_wanted *wanted, thr_shared_codes *shared,
                                    thr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_quantiser.h - the quantiser of another index, for a build that shares it. Rows then have the same codes in
 * both indexes, and so the same estimated scores.
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
    const char *rows;     /* the name of the rows, for messages */
} thr_quantiser_wanted;

/*
 * Copy the quantiser of the index in wanted->dir to *quantiser, which the caller frees, and its leading planes to
 * *lead.
 *
 * THR_EDIM; THR_EMISMATCH for another metric or model; THR_EUNSUPPORTED for format 1; what thr_index_open returns.
 */
thr_status thr_index_quantiser_copy(thr_context *context, const thr_quantiser_wanted *wanted, thr_quantiser *quantiser,
                                    uint32_t *lead, thr_error *err);

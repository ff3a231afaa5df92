/* SPDX-License-Identifier: Apache-2.0 */
/* code_error.h - the relative error of codes: how much of the items' spread around their mean the codes lose. */
#pragma once

#include "index/impl.h"

/*
 * Measure sqrt(sum |r - c|^2 / sum |x - m|^2) over some of the rows: r is what a row x has beside the centre, c the
 * multiple of its code nearest to r, and m the mean of the rows; rows have length 1 under cosine. Codes that fit the
 * rows err as little as their bits allow; rows that have moved away from the centre raise it. 0 if the rows do not
 * differ. THR_ERANGE; THR_ENOMEM.
 */
thr_status thr_index_code_error_of(thr_context *context, const thr_quantiser *quantiser, const thr_matrix *rows,
                                   float *error, thr_error *err);

/*
 * Copy up to `most` vectors of live items, at equal distances; index keeps vectors. *vectors is the caller's;
 * THR_ENOMEM.
 */
thr_status thr_index_sample_items(const thr_index *index, uint64_t most, float **vectors, uint64_t *n, thr_error *err);

/* As thr_index_spread, of up to `most` items. THR_ENOMEM. */
thr_status thr_index_spread_of(const thr_index *index, uint64_t most, float *spread, thr_error *err);

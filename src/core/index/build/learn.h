/* SPDX-License-Identifier: Apache-2.0 */
/* learn.h - what an index learns from a sample of its rows before it codes any. */
#pragma once

#include "index/build/row_source.h"

#include "code/quantiser.h"
#include <thresher/index.h>

typedef struct thr_learning {
    const thr_index_build_options *options; /* metric, item_bits, rotate, sample_rows, quantiser_from, scale */
    bool fixed;                             /* the rows are a model's codes */
} thr_learning;

/* THR_EINVAL: the scale is neither 0 nor possible. */
thr_status thr_index_check_scale(float scale, thr_error *err);

/*
 * Whether the quantiser was given a scale. Searched ranges differ by the number of bits, unless all components of the
 * rows have one magnitude.
 */
bool thr_index_has_one_scale(const thr_quantiser *quantiser);

/*
 * Sample the source, which the calibration needs too, and train the quantiser unless options name another index's. The
 * caller frees it. THR_ERANGE: a row has NaN or infinity (err names it), or the sample gives no scale; THR_ENOMEM; and
 * what the reader returns.
 */
thr_status thr_index_learn(thr_row_source *source, const thr_learning *learning, thr_quantiser *quantiser,
                           thr_error *err);

/* Check metric, item_bits and lead_bits. THR_EINVAL. */
thr_status thr_index_check_coding(const thr_index_build_options *options, thr_error *err);

/* options->lead_bits, or if that is 0 the number of leading planes that suits the dimensions. */
uint32_t thr_index_choose_lead(const thr_index_build_options *options, uint32_t n_dims);

/* SPDX-License-Identifier: Apache-2.0 */
/* learn.c - trains the quantiser on a sample of rows, and chooses the number of leading planes. */
#include "index/build/learn.h"

#include "base/error.h"
#include "base/minmax.h"

#include <inttypes.h>
#include <math.h>

enum { MANY_DIMS = 128 };

static const float MOST_SCALE = 1e6f;

/* Make an error message with the row's number in the file instead of the sample. */
static thr_status name_bad_row(const thr_row_source *source, const thr_matrix *sample, const thr_error *why,
                               thr_error *err) {
    float *row = NULL;
    THR_TRY(thr_alloc(source->context, sample->n_dims, sizeof *row, &row, "a row", err));
    thr_status status = thr_fail(err, THR_ERANGE, "%s: %s", source->name, why->text);
    for (uint64_t r = 0; r < sample->n_rows; r++) {
        (void)thr_matrix_to_f32(sample, r, 1, row);
        for (uint32_t d = 0; d < sample->n_dims; d++)
            if (!isfinite(row[d])) {
                status = thr_fail(err, THR_ERANGE,
                                  "%s: row %" PRIu64 ", dimension %" PRIu32
                                  " is NaN, infinity or beyond float32: repair or leave out the row",
                                  source->name, thr_index_row_source_sampled_row(source, r), d);
                goto out;
            }
    }
out:
    thr_release(source->context, row);
    return status;
}

thr_status thr_index_check_scale(float scale, thr_error *err) {
    if (scale != 0 && !(scale >= 1 && scale <= MOST_SCALE))
        return thr_fail(err, THR_EINVAL, "a scale of %g: give 1 to %g, or 0 to search for one", (double)scale,
                        (double)MOST_SCALE);
    return THR_OK;
}

bool thr_index_has_one_scale(const thr_quantiser *quantiser) {
    for (int i = 1; i < THR_MAX_BITS; i++)
        if (quantiser->ranges[i] != quantiser->ranges[0])
            return false;
    return true;
}

static uint32_t rotation_flag(thr_rotate rotate) {
    return rotate == THR_ROTATE_AUTO ? THR_QUANTISER_ROTATE : rotate == THR_ROTATE_ON ? THR_QUANTISER_ROTATED : 0;
}

thr_status thr_index_learn(thr_row_source *source, const thr_learning *learning, thr_quantiser *quantiser,
                           thr_error *err) {
    const thr_index_build_options *o = learning->options;
    thr_matrix sample;
    thr_error why = {0};
    uint32_t flags = o->metric == THR_METRIC_COSINE || learning->fixed ? THR_QUANTISER_UNIT : 0;
    flags |= learning->fixed ? THR_QUANTISER_FIXED : THR_QUANTISER_CENTRE | rotation_flag(o->rotate);
    THR_TRY(thr_index_row_source_sample(source, o->sample_rows, &sample, err));
    if (o->quantiser_from != NULL)
        return THR_OK;
    thr_status status = thr_code_quantiser_train(source->context, &sample, o->item_bits, flags, quantiser, &why);
    if (status == THR_ERANGE)
        return name_bad_row(source, &sample, &why, err);
    if (status != THR_OK)
        return thr_fail(err, status, "%s", why.text);
    for (int i = 0; i < THR_MAX_BITS; i++)
        if (!isnormal(quantiser->ranges[i]) || quantiser->ranges[i] < 0)
            return thr_fail(err, THR_ERANGE, "%s: the sample of %" PRIu64 " rows gives no scale for codes of %d bits",
                            source->name, sample.n_rows, i + 1);
    for (int i = 0; i < THR_MAX_BITS && o->scale > 0 && !learning->fixed; i++)
        quantiser->ranges[i] = 1 / o->scale;
    return THR_OK;
}

thr_status thr_index_check_coding(const thr_index_build_options *o, thr_error *err) {
    if ((unsigned)o->metric > THR_METRIC_L2)
        return thr_fail(err, THR_EINVAL, "the metric %d is unknown: use cosine, ip or l2", (int)o->metric);
    if (o->item_bits < 1 || o->item_bits > THR_MAX_BITS)
        return thr_fail(err, THR_EINVAL, "%" PRIu32 " bits per dimension: 1 to %d are possible", o->item_bits,
                        THR_MAX_BITS);
    if (o->lead_bits > o->item_bits)
        return thr_fail(err, THR_EINVAL, "%" PRIu32 " leading bits of %" PRIu32 ": at most all of them", o->lead_bits,
                        o->item_bits);
    return THR_OK;
}

/*
 * The number of leading planes. With few dimensions one plane discriminates too little, and a code of one or two planes
 * has few planes to leave out.
 */
uint32_t thr_index_choose_lead(const thr_index_build_options *o, uint32_t n_dims) {
    const uint32_t lead = n_dims >= MANY_DIMS ? 1 : 2;
    if (o->lead_bits != 0)
        return o->lead_bits;
    return THR_MIN(o->item_bits, lead);
}

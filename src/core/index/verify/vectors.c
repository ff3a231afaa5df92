/* SPDX-License-Identifier: Apache-2.0 */
/* vectors.c - checks that kept vectors and their scales are finite, and recomputes inverse norms and halves. */
#include "index/verify/verify.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/half.h"
#include "code/encode.h"
#include "kernel/kernel.h"

enum { STEP_ITEMS = 4096 }; /* between two checks for cancellation */

/* Inverse norms are rounded once; the error of the kernel's sums, and of 8-bit vectors as floats, is below this. */
static const double TOLERANCE = 0x1p-20;

/* A vector shorter than 2^-100 counts as zero. */
static const double LONGEST_ZERO = 0x1p-99;

/* Of a float16 or int8 vector the length may differ from the one that was given by the segment's unit_error. */
static bool is_inverse(const thr_segment *segment, uint32_t item, double length) {
    const float inverse = segment->inverse_norms[item];
    if (inverse == 0)
        return segment->halves != NULL ? segment->halves[item] == -1 : length <= LONGEST_ZERO;
    return fabs((double)inverse * length - 1) <= TOLERANCE + (double)segment->kept.unit_error;
}

/* Whether the scale and the half of an item are possible, and its residual within the segment's bound. */
static bool has_right_numbers(const thr_segment_view *view, uint32_t item) {
    const thr_segment *s = &view->scan;
    const uint32_t n_dims = thr_shape_vector_dims(&view->shape);
    const double scale = (double)s->scales[item];
    double square = 0;
    if (!(isfinite(scale) && scale >= 0))
        return false;
    for (size_t d = 0, at = (size_t)item * n_dims; d < n_dims; d++, at++) {
        const double v = view->shape.keep == THR_DTYPE_F16 ? (double)thr_half_to_f32(((const uint16_t *)s->vectors)[at])
                                                           : (double)((const int8_t *)s->vectors)[at];
        square += v * v;
    }
    if (scale * sqrt(square) > (double)s->kept.longest * (1 + TOLERANCE))
        return false;
    /* is_inverse checks zero vectors. */
    if (s->halves == NULL || s->inverse_norms == NULL || s->inverse_norms[item] == 0)
        return true;
    const double half = scale * scale * square / 2;
    return fabs((double)s->halves[item] - half) <= TOLERANCE * half + LONGEST_ZERO;
}

thr_status thr_index_verify_vectors(const thr_index *index, uint32_t segment, thr_file_sum *sum, thr_error *err) {
    const thr_segment_view *view = &index->mapped[segment].view;
    const uint32_t n_dims = thr_shape_vector_dims(&view->shape);
    const float *inverse_norms = view->scan.inverse_norms;
    const double longest = 2 * thr_longest_row(view->shape.metric == THR_METRIC_COSINE); /* kept ones are rounded */
    float *vector = NULL;
    thr_status status = THR_OK;
    if (view->scan.vectors == NULL)
        return THR_OK;
    THR_TRY(thr_alloc(index->context, n_dims, sizeof *vector, &vector, "a vector", err));
    for (uint32_t i = 0; i < view->shape.n_items; i++) {
        if (i % STEP_ITEMS == 0)
            THR_TRY_OUT(thr_file_sum_step(sum, err));
        thr_index_row_vector(index, index->segments[segment].first_row + i, vector);
        const double length = sqrt(index->context->kernels->sum_squares(vector, n_dims));
        if (!(length <= longest))
            THR_TRY_OUT(thr_fail(err, THR_ECORRUPT,
                                 "%s: section vectors: that of item %" PRIu32
                                 " holds NaN or infinity, or is longer than %g: build the index again",
                                 view->file.path, i, longest));
        if (inverse_norms != NULL && !is_inverse(&view->scan, i, length))
            THR_TRY_OUT(thr_fail(err, THR_ECORRUPT,
                                 "%s: section inverse norms: that of item %" PRIu32
                                 " is %g, but its vector has length %g: build the index again",
                                 view->file.path, i, (double)inverse_norms[i], length));
        if (view->scan.scales != NULL && !has_right_numbers(view, i))
            THR_TRY_OUT(thr_fail(err, THR_ECORRUPT,
                                 "%s: sections scales and halves: those of item %" PRIu32
                                 " do not match its vector: build the index again",
                                 view->file.path, i));
    }
out:
    thr_release(index->context, vector);
    return status;
}

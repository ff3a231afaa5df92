/* SPDX-License-Identifier: Apache-2.0 */
/* vectors.c - checks that kept vectors are finite, and recomputes their inverse norms. */
#include "index/verify/verify.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "kernel/kernel.h"

enum { STEP_ITEMS = 4096 }; /* between two checks for cancellation */

/* Inverse norms are rounded once; the error of the kernel's sums, and of 8-bit vectors as floats, is below this. */
static const double TOLERANCE = 0x1p-20;

/* A vector shorter than 2^-100 counts as zero; rounded to 8 or 16 bits it is no longer than this. */
static const double LONGEST_ZERO = 0x1p-99;

static bool is_inverse(float inverse, double length) {
    if (inverse == 0)
        return length <= LONGEST_ZERO;
    return fabs((double)inverse * length - 1) <= TOLERANCE;
}

thr_status thr_index_verify_vectors(const thr_index *index, uint32_t segment, thr_file_sum *sum, thr_error *err) {
    const thr_segment_view *view = &index->mapped[segment].view;
    const uint32_t n_dims = thr_shape_vector_dims(&view->shape);
    const float *inverse_norms = view->scan.inverse_norms;
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
        if (!isfinite(length))
            THR_TRY_OUT(thr_fail(err, THR_ECORRUPT,
                                 "%s: section vectors: that of item %" PRIu32
                                 " holds NaN or infinity: build the index again",
                                 view->file.path, i));
        if (inverse_norms != NULL && !is_inverse(inverse_norms[i], length))
            THR_TRY_OUT(thr_fail(err, THR_ECORRUPT,
                                 "%s: section inverse norms: that of item %" PRIu32
                                 " is %g, but its vector has length %g: build the index again",
                                 view->file.path, i, (double)inverse_norms[i], length));
    }
out:
    thr_release(index->context, vector);
    return status;
}

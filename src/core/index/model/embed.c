/* SPDX-License-Identifier: Apache-2.0 */
#include "index/model/embed.h"

#include "base/shortest.h"
#include "base/error.h"
#include "code/encode.h"
#include "index/impl.h"
#include "kernel/kernel.h"

#include <inttypes.h>
#include <math.h>

thr_status thr_index_embed(thr_embedder *e, thr_side side, const thr_matrix *rows, thr_matrix *embedded,
                           thr_error *err) {
    *embedded = *rows;
    if (e->encoder == NULL)
        return THR_OK;
    const thr_encoder_kind *kind = e->encoder->kind;
    const uint32_t n_dims = kind->shape(e->encoder->model).n_dims;
    THR_TRY(thr_grow(e->context, &e->rows, &e->capacity, (size_t)rows->n_rows * n_dims, sizeof *e->rows, "embeddings",
                     err));
    THR_TRY(kind->encode(e->encoder->model, side, rows, e->rows, err));
    *embedded = thr_matrix_f32(e->rows, rows->n_rows, n_dims);
    return THR_OK;
}

thr_status thr_index_embedder_norms(thr_embedder *e, const thr_matrix *rows, uint64_t first_row, thr_metric metric,
                                    float *norms, thr_error *err) {
    const double longest = thr_longest_row(metric == THR_METRIC_COSINE);
    if (e->encoder == NULL)
        return THR_OK;
    THR_TRY(thr_grow(e->context, &e->vector, &e->vector_capacity, rows->n_dims, sizeof *e->vector, "a row", err));
    for (uint64_t r = 0; r < rows->n_rows; r++) {
        (void)thr_matrix_to_f32(rows, r, 1, e->vector);
        const double norm = sqrt(e->context->kernels->sum_squares(e->vector, rows->n_dims));
        if (!(norm <= longest))
            return thr_fail(err, THR_ERANGE, "row %" PRIu64 " is longer than %g: scale the vectors", first_row + r,
                            longest);
        if (norm < THR_SHORTEST)
            THR_TRY(thr_code_check_short(rows, r, "row", first_row + r, err));
        norms[r] = norm < THR_SHORTEST ? 0 : (float)norm;
    }
    return THR_OK;
}

void thr_index_embedder_close(thr_embedder *e) {
    THR_RELEASE(e->context, e->rows, e->vector);
    *e = (thr_embedder){.context = e->context};
}

const thr_encoder *thr_index_encoder(const thr_index *index) {
    return &index->model.encoder;
}

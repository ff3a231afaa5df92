/* SPDX-License-Identifier: Apache-2.0 */
/* encode_pieces.c - running a model's encoder over pieces of texts on all threads. */
#include "training/encode_pieces.h"

#include "base/error.h"
#include "base/minmax.h"
#include "parallel/pool.h"

#include <math.h>

typedef struct job {
    const thr_encode_pieces *pieces;
    char *workspaces;
} job;

static thr_status run_piece(void *arg, size_t piece, uint32_t worker, thr_error *err) {
    const job *j = arg;
    const thr_encode_pieces *p = j->pieces;
    const size_t first = piece * THR_PIECE_TEXTS, left = p->n_texts - first;
    const size_t n = THR_MIN(left, THR_PIECE_TEXTS);
    THR_TRY(p->encode(p->user, first, n, j->workspaces + worker * p->workspace_size, err));
    for (size_t i = first * p->n_dims; i < (first + n) * p->n_dims; i++)
        if (!isfinite(p->out[i]))
            return thr_fail(err, THR_ERANGE,
                            "the vector of text %zu is not finite: the model's weights are too large: train it again",
                            i / p->n_dims);
    return THR_OK;
}

thr_status thr_training_encode_pieces_run(thr_context *context, const thr_encode_pieces *pieces, thr_error *err) {
    job j = {.pieces = pieces};
    thr_status status = THR_OK;
    if (pieces->side != THR_SIDE_QUERY && pieces->side != THR_SIDE_ITEM)
        return thr_fail(err, THR_EINVAL, "side %d: a model has a query side, %d, and an item side, %d",
                        (int)pieces->side, (int)THR_SIDE_QUERY, (int)THR_SIDE_ITEM);
    THR_TRY_OUT(
        thr_alloc_zero(context, context->n_threads, pieces->workspace_size, &j.workspaces, "memory to encode in", err));
    status = thr_parallel_try(context, THR_CEIL_DIV(pieces->n_texts, THR_PIECE_TEXTS), run_piece, &j, err);
out:
    for (uint32_t i = 0; j.workspaces != NULL && i < context->n_threads; i++)
        pieces->free_workspace(context, j.workspaces + i * pieces->workspace_size);
    thr_release(context, j.workspaces);
    return status;
}

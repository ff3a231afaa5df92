/* SPDX-License-Identifier: Apache-2.0 */
#include "tower/encode_pieces.h"

#include "base/error.h"
#include "parallel/pool.h"

/* How a thread's pieces went: it stops at the first that fails. */
typedef struct outcome {
    thr_status status;
    thr_error err;
} outcome;

typedef struct job {
    const thr_encode_pieces *pieces;
    char *rooms;
    outcome *outcomes;
} job;

static void run_piece(void *arg, size_t piece, uint32_t worker) {
    const job *j = arg;
    const thr_encode_pieces *p = j->pieces;
    outcome *o = &j->outcomes[worker];
    const size_t first = piece * THR_PIECE_TEXTS, left = p->n_texts - first;
    if (o->status == THR_OK)
        o->status = p->encode(p->user, first, left < THR_PIECE_TEXTS ? left : THR_PIECE_TEXTS,
                              j->rooms + worker * p->room_size, &o->err);
}

thr_status thr_encode_pieces_run(thr_context *context, const thr_encode_pieces *pieces, thr_error *err) {
    job j = {.pieces = pieces};
    thr_status status = THR_OK;
    if (pieces->side != THR_SIDE_QUERY && pieces->side != THR_SIDE_ITEM)
        return thr_fail(err, THR_EINVAL, "side %d: a model has a query side, %d, and an item side, %d",
                        (int)pieces->side, (int)THR_SIDE_QUERY, (int)THR_SIDE_ITEM);
    THR_TRY_OUT(thr_alloc_zero(context, context->n_threads, pieces->room_size, &j.rooms, "rooms to encode in", err));
    THR_TRY_OUT(
        thr_alloc_zero(context, context->n_threads, sizeof *j.outcomes, &j.outcomes, "rooms to encode in", err));
    thr_parallel_for(context, (pieces->n_texts + THR_PIECE_TEXTS - 1) / THR_PIECE_TEXTS, run_piece, &j);
    for (uint32_t i = 0; i < context->n_threads && status == THR_OK; i++) {
        status = j.outcomes[i].status;
        if (status != THR_OK && err != NULL)
            *err = j.outcomes[i].err;
    }
out:
    for (uint32_t i = 0; j.rooms != NULL && i < context->n_threads; i++)
        pieces->free_room(context, j.rooms + i * pieces->room_size);
    thr_release(context, j.rooms);
    thr_release(context, j.outcomes);
    return status;
}

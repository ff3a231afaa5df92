/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode_pieces.h - texts in pieces over all threads, each of which has a room of its own to encode in: what the
 * encoding of all models shares.
 */
#ifndef THR_TRAINING_ENCODE_PIECES_H
#define THR_TRAINING_ENCODE_PIECES_H

#include <thresher/tower.h>

#include "base/memory.h"

enum { THR_PIECE_TEXTS = 128 };

typedef struct thr_encode_pieces {
    thr_side side;
    size_t n_texts;
    size_t workspace_size; /* of what a thread encodes in, which starts zeroed */
    void *user;
    /* Texts first to first + n - 1, at most THR_PIECE_TEXTS. */
    thr_status (*encode)(void *user, size_t first, size_t n, void *workspace, thr_error *err);
    void (*free_workspace)(thr_context *context, void *workspace);
} thr_encode_pieces;

/* THR_OK; THR_EINVAL for a side that is none; the status of a piece that failed; THR_ENOMEM. */
thr_status thr_training_encode_pieces_run(thr_context *context, const thr_encode_pieces *pieces, thr_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* encode_pieces.h - encode texts in pieces over all threads, with a workspace for each thread; shared by all models. */
#pragma once

#include <thresher/tower.h>

#include "base/memory.h"

enum { THR_PIECE_TEXTS = 128 };

typedef struct thr_encode_pieces {
    thr_side side;
    size_t n_texts;
    size_t workspace_size; /* bytes of a thread's workspace, which starts zeroed */
    void *user;
    /* Encode texts first to first + n - 1; n is at most THR_PIECE_TEXTS. */
    thr_status (*encode)(void *user, size_t first, size_t n, void *workspace, thr_error *err);
    void (*free_workspace)(thr_context *context, void *workspace);
    const float *out; /* where encode puts the vectors, n_dims each */
    uint32_t n_dims;
} thr_encode_pieces;

/*
 * THR_OK; THR_EINVAL for an invalid side; THR_ERANGE for vectors that are not finite; the status of a piece that
 * failed; THR_ENOMEM.
 */
thr_status thr_training_encode_pieces_run(thr_context *context, const thr_encode_pieces *pieces, thr_error *err);

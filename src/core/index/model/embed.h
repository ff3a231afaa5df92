/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed.h - vectors encoded by the model of an index whose items and queries are the model's inputs (manifest.h,
 * n_inputs).
 */
#pragma once

#include "base/memory.h"
#include "index/model/encoder.h"

/* Memory for embeddings. Initialise with the context and the model; close it. */
typedef struct thr_embedder {
    thr_context *context;
    const thr_encoder *encoder; /* borrowed; NULL: rows are embeddings */
    float *rows, *vector;
    size_t capacity, vector_capacity;
} thr_embedder;

/*
 * Encode rows (any dtype) by a side of the model. *embedded is valid until the next call; it is the rows themselves
 * without a model. What the encoder returns; THR_ENOMEM.
 */
thr_status thr_index_embed(thr_embedder *embedder, thr_side side, const thr_matrix *rows, thr_matrix *embedded,
                           thr_error *err);

/*
 * Replace norms, the lengths of embeddings, by those of their rows. Does nothing without a model. THR_ERANGE with the
 * row, counted from first_row, for one that is too long for the metric, or too short.
 */
thr_status thr_index_embedder_norms(thr_embedder *embedder, const thr_matrix *rows, uint64_t first_row,
                                    thr_metric metric, float *norms, thr_error *err);

void thr_index_embedder_close(thr_embedder *embedder);

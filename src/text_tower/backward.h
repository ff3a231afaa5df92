/* SPDX-License-Identifier: Apache-2.0 */
/* backward.h - the way back through a side: from the gradient of its embeddings to those of its parameters. */
#ifndef THR_TEXT_TOWER_BACKWARD_H
#define THR_TEXT_TOWER_BACKWARD_H

#include "text_tower/model.h"

/* How the gradient passes signs. */
typedef struct thr_slope {
    thr_estimator estimator;
    float slope; /* of the annealing tanh */
} thr_slope;

/* Memory for the way back of n texts; starts zeroed, grows. */
typedef struct thr_text_backward_workspace {
    size_t capacity;
    float *memory;
} thr_text_backward_workspace;
thr_status thr_text_backward_reserve(thr_context *context, const thr_tower_config *config, size_t n_texts,
                                     thr_text_backward_workspace *workspace, thr_error *err);
void thr_text_backward_free(thr_context *context, thr_text_backward_workspace *workspace);

/* How gradients go back through a side, and where they go. */
typedef struct thr_side_gradients {
    thr_slope slope;
    float *d_embedding;                     /* n_texts x n_dims: where they come from; overwritten */
    float *const *d_parts;                  /* shaped like the side's parts; added to */
    float *d_vectors;                       /* like its vectors; added to */
    thr_text_backward_workspace *workspace; /* for n_texts at least */
} thr_side_gradients;

/* From the gradient of the embeddings through what forward left in pass. */
void thr_text_side_backward(thr_context *context, const thr_text_model *model, thr_side side, const thr_texts *texts,
                            const thr_pass *pass, const thr_side_gradients *to);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c - validation: log loss, and AUC or recall, on pairs that were not trained on. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "text_tower/pair_quality.h"
#include "text_tower/trainer.h"

/* Embed both sides of all validation pairs. */
static thr_status embed(thr_text_trainer *trainer, float *const embeddings[THR_N_SIDES], thr_error *err) {
    const thr_tower_config *config = &thr_trainer_model(trainer)->config;
    const thr_pairs *pairs = trainer->options.run.valid_path == NULL ? &trainer->pairs : &trainer->valid_pairs;
    const size_t n_dims = config->n_dims;
    for (size_t first = 0; first < trainer->base.split.n_valid; first += trainer->options.run.batch) {
        const size_t left = trainer->base.split.n_valid - first;
        const size_t n = THR_MIN(left, trainer->options.run.batch);
        THR_TRY(thr_text_trainer_forward(trainer, thr_trainer_model(trainer), pairs, trainer->base.split.valid + first,
                                         n, &(thr_batch_mode){0}, err));
        for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
            memcpy(embeddings[side] + first * n_dims, thr_pass_embedding(config, side, &trainer->scratch.passes[side]),
                   n * n_dims * sizeof(float));
    }
    return THR_OK;
}

static thr_status measure(thr_text_trainer *trainer, double *loss, double *quality, thr_error *err) {
    thr_context *context = trainer->base.context;
    const thr_tower_train_options *options = &trainer->options;
    thr_scored_pairs pairs = {.n = trainer->base.split.n_valid, .n_dims = trainer->model.config.n_dims};
    const thr_match_loss match = thr_text_trainer_match_loss(trainer);
    float *teachers[THR_N_SIDES] = {NULL};
    thr_status status = THR_OK;
    for (size_t side = 0; side < THR_N_SIDES && match.teacher_share > 0; side++) {
        THR_TRY_OUT(
            thr_alloc(context, pairs.n, match.n_teacher_dims * sizeof(float), &teachers[side], "a validation", err));
        pairs.teachers[side] = teachers[side];
    }
    if (match.teacher_share > 0)
        thr_text_vector_pairs_gather(&trainer->vectors, trainer->base.split.valid, pairs.n, &(thr_vector_noise){0},
                                     teachers);
    for (size_t side = 0; side < THR_N_SIDES; side++)
        THR_TRY_OUT(
            thr_alloc(context, pairs.n, pairs.n_dims * sizeof(float), &pairs.embeddings[side], "a validation", err));
    if (!thr_training_is_finite(&trainer->base))
        THR_TRY_OUT(thr_training_diverged(&trainer->base, trainer->options.run.rate, err));
    THR_TRY_OUT(embed(trainer, pairs.embeddings, err));
    THR_TRY_OUT(thr_text_scored_pairs_loss(context, &pairs, &match, options->run.batch, loss, err));
    if (!isfinite(*loss))
        THR_TRY_OUT(thr_training_diverged(&trainer->base, trainer->options.run.rate, err));
    THR_TRY_OUT(thr_text_kind_of(trainer)->measure(trainer, &pairs, quality, err));
out:
    for (size_t side = 0; side < THR_N_SIDES; side++)
        THR_RELEASE(context, pairs.embeddings[side], teachers[side]);
    return status;
}

/* After the last epoch of floats, initialise the planes. */
thr_status thr_text_trainer_validate(void *base, thr_tower_epoch *epoch, thr_error *err) {
    thr_text_trainer *trainer = base;
    const uint32_t n_float = thr_text_trainer_float_epochs(trainer);
    THR_TRY(measure(trainer, &epoch->valid_loss, &epoch->valid_quality, err));
    if (epoch->epoch == n_float) {
        THR_TRY(thr_text_trainer_init_planes(trainer, err));
        THR_TRY(thr_training_put(&trainer->base, err));
    }
    epoch->as_floats = epoch->epoch <= n_float;
    return THR_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - one step on a device: upload the batch, enqueue the whole step on one stream, download the rows' losses. */
#include "text_tower/device/learner.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "nn/adam_op.h"

static thr_status forward(const thr_device_learner *learner, const thr_text_model *model, thr_error *err) {
    const thr_tower_config *config = &model->config;
    const thr_backend *backend = learner->base.backend;
    THR_TRY(backend->clear(learner->base.stream, learner->broken, sizeof *learner->broken, err));
    for (size_t i = 0; i < thr_model_n_tables(config); i++) {
        const thr_device_table *table = &learner->tables[i];
        const thr_gather_op op = {.table = learner->base.tables[i].values,
                                  .offsets = table->offsets,
                                  .rows = table->rows,
                                  .n_bags = table->n_words,
                                  .n_columns = (uint32_t)thr_model_n_columns(config),
                                  .out = table->vectors};
        THR_TRY(backend->gather(learner->base.stream, &op, err));
    }
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        THR_TRY(thr_text_device_side_forward(learner, model, side, err));
    return THR_OK;
}

static thr_status match(const thr_device_learner *learner, const thr_text_trainer *trainer, const thr_text_model *model,
                        thr_error *err) {
    const thr_tower_config *config = &model->config;
    const thr_match_loss loss = thr_text_trainer_match_loss(trainer);
    const thr_device_side *query = &learner->sides[THR_SIDE_QUERY], *item = &learner->sides[THR_SIDE_ITEM];
    const thr_match_op op = {.queries = query->sums[thr_side_steps(config, THR_SIDE_QUERY)],
                             .items = item->sums[thr_side_steps(config, THR_SIDE_ITEM)],
                             .n_rows = learner->n,
                             .n_dims = config->n_dims,
                             .n_negatives = loss.n_negatives,
                             .shift = loss.shift,
                             .gamma = loss.gamma,
                             .losses = learner->losses,
                             .d_queries = query->d_embedding,
                             .d_items = item->d_embedding,
                             .scratch = learner->match_scratch};
    return learner->base.backend->match(learner->base.stream, &op, err);
}

static thr_status backward(const thr_device_learner *learner, const thr_text_trainer *trainer,
                           const thr_text_model *model, thr_error *err) {
    const thr_backend *backend = learner->base.backend;
    THR_TRY(backend->clear(learner->base.stream, learner->base.dense.gradients, trainer->base.dense.n * sizeof(float),
                           err));
    THR_TRY(backend->clear(learner->base.stream, learner->d_vectors, learner->n_vectors * sizeof(float), err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        THR_TRY(thr_text_device_side_backward(learner, model, side, thr_text_trainer_slope(trainer), err));
    return THR_OK;
}

static thr_device_adam find_adam(const thr_text_trainer *trainer, const thr_optimiser *optimiser) {
    const thr_optimiser_pass pass = thr_nn_optimiser_start(trainer->base.context->kernels, optimiser);
    return thr_nn_adam_op(&pass.adam);
}

static thr_status learn(const thr_device_learner *learner, const thr_text_trainer *trainer, thr_error *err) {
    const thr_tower_config *config = &trainer->model.config;
    const thr_backend *backend = learner->base.backend;
    const thr_optimiser of_tables = thr_text_trainer_optimiser(trainer),
                        of_dense = thr_text_trainer_dense_optimiser(trainer);
    const thr_adam_op dense = {.weights = learner->base.dense.values,
                               .m = learner->base.dense.slots[0],
                               .v = learner->base.dense.slots[1],
                               .gradient = learner->base.dense.gradients,
                               .n = trainer->base.dense.n,
                               .adam = find_adam(trainer, &of_dense)};
    THR_TRY(backend->adam(learner->base.stream, &dense, err));
    for (size_t i = 0; i < thr_model_n_tables(config); i++) {
        const thr_device_table *table = &learner->tables[i];
        const thr_adam_rows_op rows = {.table = learner->base.tables[i].values,
                                       .m = learner->base.tables[i].slots[0],
                                       .v = learner->base.tables[i].slots[1],
                                       .d_out = table->d_vectors,
                                       .rows = table->touched,
                                       .offsets = table->touched_offsets,
                                       .bags = table->touched_bags,
                                       .n_rows = table->n_touched,
                                       .n_columns = (uint32_t)thr_model_n_columns(config),
                                       .adam = find_adam(trainer, &of_tables)};
        THR_TRY(backend->adam_rows(learner->base.stream, &rows, err));
    }
    return THR_OK;
}

/* The mean of the rows' losses, added in order; NaN if a sign's argument was not finite. */
static double mean_loss(const thr_device_learner *learner) {
    uint32_t broken = 0;
    double sum = 0;
    memcpy(&broken, learner->results + learner->n, sizeof broken);
    if (broken != 0)
        return NAN;
    for (uint32_t i = 0; i < learner->n; i++)
        sum += learner->results[i];
    return sum / (double)learner->n;
}

thr_status thr_text_device_learner_step(void *copy, void *user, const uint32_t *numbers, double *loss, thr_error *err) {
    thr_device_learner *learner = copy;
    thr_text_trainer *trainer = user;
    const thr_text_model *model = thr_trainer_model(trainer);
    const thr_backend *backend = learner->base.backend;
    THR_TRY(thr_text_device_batch_put(learner, trainer, numbers, err));
    THR_TRY(forward(learner, model, err));
    THR_TRY(match(learner, trainer, model, err));
    THR_TRY(backward(learner, trainer, model, err));
    THR_TRY(learn(learner, trainer, err));
    THR_TRY(backend->download(learner->base.stream, learner->results, learner->losses,
                              ((size_t)learner->n + 1) * sizeof *learner->losses, err));
    THR_TRY(backend->wait(learner->base.stream, err));
    *loss = mean_loss(learner);
    return isfinite(*loss) ? THR_OK : thr_training_diverged(&trainer->base, trainer->options.run.rate, err);
}

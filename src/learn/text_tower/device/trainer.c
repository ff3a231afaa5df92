/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c - memory of a step on a device. */
#include "text_tower/device/learner.h"

#include "base/error.h"
#include "device/layout.h"

static void lay_out_side(const thr_tower_config *config, thr_side side, size_t n, thr_device_side *to,
                         thr_device_layout *at) {
    const size_t pooled = config->n_pooled * sizeof(float), dims = config->n_dims * sizeof(float);
    const size_t n_steps = thr_side_steps(config, side);
    to->where = thr_device_place(at, n, config->n_pooled * sizeof *to->where);
    to->pooled = thr_device_place(at, n, pooled);
    for (size_t t = 0; t <= n_steps; t++) {
        to->before[t] = thr_device_place(at, n, dims);
        to->sums[t] = thr_device_place(at, n, dims);
    }
    for (size_t t = 0; t < n_steps; t++) {
        to->rebuilt[t] = thr_device_place(at, n, pooled);
        to->residual[t] = thr_device_place(at, n, pooled);
    }
    to->d_embedding = thr_device_place(at, n, dims);
}

/* The binary model has all the tensors of the model of floats, and more, so its shapes determine the memory. */
static void lay_out_workspace(const thr_text_trainer *trainer, thr_device_learner *learner, thr_device_layout *at) {
    const thr_tower_config *config = &trainer->model.config;
    const size_t n = learner->n, pooled = config->n_pooled * sizeof(float), dims = config->n_dims * sizeof(float);
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        lay_out_side(config, side, n, &learner->sides[side], at);
    learner->d_pooled = thr_device_place(at, n, pooled);
    learner->d_rebuilt = thr_device_place(at, n, pooled);
    learner->d_before = thr_device_place(at, n, dims);
    learner->match_scratch =
        thr_device_place(at, n, (2 * (size_t)config->n_dims + trainer->options.n_negatives + 3) * sizeof(float));
    learner->losses = thr_device_place(at, n + 1, sizeof(double));
    learner->broken = at->memory == NULL ? NULL : (uint32_t *)(learner->losses + n);
}

static thr_status make_workspace(const thr_text_trainer *trainer, thr_device_learner *learner, thr_error *err) {
    thr_device_layout at = {0};
    lay_out_workspace(trainer, learner, &at);
    if (at.too_large)
        return thr_fail(err, THR_ENOMEM, "a batch of %u pairs: more bytes than there can be", learner->n);
    THR_TRY(thr_training_learner_alloc(&learner->base, at.used, &learner->workspace, "a batch", err));
    at = (thr_device_layout){.memory = learner->workspace};
    lay_out_workspace(trainer, learner, &at);
    return THR_OK;
}

/* Point to the dense parameters on the device. */
static void find_tensors(const thr_text_trainer *trainer, thr_device_learner *learner) {
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        for (size_t p = 0; p < thr_text_model_tensors(&trainer->model.config, side).n; p++) {
            learner->sides[side].tensors[p] = thr_learner_tensor(&learner->base, &trainer->base, side, p);
            learner->sides[side].d_tensors[p] = thr_learner_gradient(&learner->base, &trainer->base, side, p);
        }
}

/* The first product loads cuBLAS: multiply some of the gradients, which are still 0, to find a failure early. */
static thr_status try_product(const thr_device_learner *learner, const thr_text_trainer *trainer, thr_error *err) {
    const thr_backend *backend = learner->base.backend;
    float *numbers = learner->base.dense.gradients; /* holds three floats at least: the pooling bias is padded */
    const thr_product_op op = {
        .c = numbers, .a = numbers + 1, .b = numbers + 2, .n_rows = 1, .n_columns = 1, .n_inner = 1};
    THR_TRY(backend->clear(learner->base.stream, numbers, trainer->base.dense.n * sizeof *numbers, err));
    THR_TRY(backend->product(learner->base.stream, &op, err));
    return backend->wait(learner->base.stream, err);
}

static thr_status open_learner(const thr_text_trainer *trainer, thr_device_learner *learner, thr_error *err) {
    const thr_backend *backend = learner->base.backend;
    void *results = NULL;
    THR_TRY(make_workspace(trainer, learner, err));
    THR_TRY(backend->alloc_pinned(learner->base.device, ((size_t)learner->n + 1) * sizeof *learner->results, &results,
                                  "losses", err));
    learner->results = results;
    find_tensors(trainer, learner);
    return try_product(learner, trainer, err);
}

thr_status thr_text_device_learner_open(void *user, const thr_devices *devices, void **learner_out, thr_error *err) {
    const thr_text_trainer *trainer = user;
    thr_device_learner *learner = NULL;
    *learner_out = NULL;
    THR_TRY(thr_training_learner_open(&trainer->base, devices, sizeof *learner, &learner, err));
    learner->n = learner->base.batch;
    const thr_status status = open_learner(trainer, learner, err);
    THR_RETURN_MADE(status, learner, learner_out, thr_text_device_learner_close);
}

void thr_text_device_learner_close(void *copy) {
    thr_device_learner *learner = copy;
    if (learner == NULL)
        return;
    const thr_backend *backend = learner->base.backend;
    thr_device *device = learner->base.device;
    (void)backend->wait(learner->base.stream, NULL);
    backend->release(device, learner->workspace);
    backend->release(device, learner->vectors);
    backend->release(device, learner->numbers);
    backend->release_pinned(device, learner->pinned);
    backend->release_pinned(device, learner->results);
    thr_training_learner_close(&learner->base);
}

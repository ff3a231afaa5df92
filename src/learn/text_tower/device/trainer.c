/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c - a device learner's memory, and uploading and downloading the weights. */
#include "text_tower/device/learner.h"

#include "base/error.h"
#include "device/layout.h"

/* Weights and two moments of two tables and of the dense parameters. */
enum { ARRAYS_MAX = (1 + THR_WEIGHTS_SLOTS) * (THR_N_SIDES + 1) };

thr_status thr_text_device_learner_alloc(const thr_device_learner *learner, size_t size, void *memory_out,
                                         const char *what, thr_error *err) {
    thr_error why = {.status = THR_OK};
    const thr_status status = learner->backend->alloc(learner->device, size, memory_out, what, &why);
    if (status == THR_ENOMEM)
        return thr_fail(err, THR_ENOMEM,
                        "%s; batches smaller than %u pairs and fewer letter trigrams take less, and on the CPU (device "
                        "cpu) no GPU's memory is needed",
                        why.text, learner->n);
    if (status != THR_OK && err != NULL)
        *err = why;
    return status;
}

/* --------------------------------------------------------------------------------------------- layout */

static void lay_out_weights(const thr_text_trainer *trainer, thr_device_learner *learner, thr_device_layout *at) {
    for (size_t i = 0; i < thr_model_n_tables(&trainer->model.config); i++) {
        thr_device_table *table = &learner->tables[i];
        table->weights = thr_device_place(at, trainer->tables[0].n, sizeof(float));
        for (size_t s = 0; s < THR_WEIGHTS_SLOTS; s++)
            table->slots[s] = thr_device_place(at, trainer->tables[0].n, sizeof(float));
    }
    learner->dense = thr_device_place(at, trainer->dense.n, sizeof(float));
    learner->d_dense = thr_device_place(at, trainer->dense.n, sizeof(float));
    for (size_t s = 0; s < THR_WEIGHTS_SLOTS; s++)
        learner->dense_slots[s] = thr_device_place(at, trainer->dense.n, sizeof(float));
}

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

typedef void (*lay_out_fn)(const thr_text_trainer *trainer, thr_device_learner *learner, thr_device_layout *at);

static thr_status make_room(const thr_text_trainer *trainer, thr_device_learner *learner, lay_out_fn lay_out,
                            void **memory, const char *what, thr_error *err) {
    thr_device_layout at = {0};
    lay_out(trainer, learner, &at);
    if (at.too_large)
        return thr_fail(err, THR_ENOMEM, "%s of %u pairs: more bytes than there can be", what, learner->n);
    THR_TRY(thr_text_device_learner_alloc(learner, at.used, memory, what, err));
    at = (thr_device_layout){.memory = *memory};
    lay_out(trainer, learner, &at);
    return THR_OK;
}

/* Point to the dense parameters on the device, at the same offsets as in the host's array. */
static void find_tensors(const thr_text_trainer *trainer, thr_device_learner *learner) {
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        for (size_t p = 0; p < thr_text_model_n_tensors(&trainer->model.config, side); p++) {
            const ptrdiff_t at = trainer->model.tensors[side][p] - trainer->dense.values;
            learner->sides[side].tensors[p] = learner->dense + at;
            learner->sides[side].d_tensors[p] = learner->d_dense + at;
        }
}

/* --------------------------------------------------------------------------------------------- weights */

typedef struct array {
    float *host, *device;
    size_t size; /* bytes */
} array;

static size_t list_arrays(const thr_device_learner *learner, const thr_text_trainer *trainer,
                          array arrays[ARRAYS_MAX]) {
    const size_t table_size = trainer->tables[0].n * sizeof(float), dense_size = trainer->dense.n * sizeof(float);
    size_t n = 0;
    for (size_t i = 0; i < thr_model_n_tables(&trainer->model.config); i++) {
        const thr_device_table *table = &learner->tables[i];
        arrays[n++] = (array){trainer->tables[i].values, table->weights, table_size};
        for (size_t s = 0; s < THR_WEIGHTS_SLOTS; s++)
            arrays[n++] = (array){trainer->tables[i].slots[s], table->slots[s], table_size};
    }
    arrays[n++] = (array){trainer->dense.values, learner->dense, dense_size};
    for (size_t s = 0; s < THR_WEIGHTS_SLOTS; s++)
        arrays[n++] = (array){trainer->dense.slots[s], learner->dense_slots[s], dense_size};
    return n;
}

static thr_status copy_arrays(const thr_device_learner *learner, const thr_text_trainer *trainer, bool to_device,
                              thr_error *err) {
    const thr_backend *backend = learner->backend;
    array arrays[ARRAYS_MAX];
    const size_t n = list_arrays(learner, trainer, arrays);
    for (const array *a = arrays; a < arrays + n; a++)
        THR_TRY(to_device ? backend->upload(learner->stream, a->device, a->host, a->size, err)
                          : backend->download(learner->stream, a->host, a->device, a->size, err));
    return backend->wait(learner->stream, err);
}

thr_status thr_text_device_learner_put(thr_device_learner *learner, const thr_text_trainer *trainer, thr_error *err) {
    return copy_arrays(learner, trainer, true, err);
}

thr_status thr_text_device_learner_fetch(void *learner, void *trainer, thr_error *err) {
    return copy_arrays(learner, trainer, false, err);
}

/* --------------------------------------------------------------------------------------------- open and close */

/* The first product loads cuBLAS: multiply some of the gradients, which are still 0, to find a failure early. */
static thr_status try_product(const thr_device_learner *learner, const thr_text_trainer *trainer, thr_error *err) {
    const thr_backend *backend = learner->backend;
    float *numbers = learner->d_dense; /* holds three floats at least: the pooling bias is padded */
    const thr_product_op op = {
        .c = numbers, .a = numbers + 1, .b = numbers + 2, .n_rows = 1, .n_columns = 1, .n_inner = 1};
    THR_TRY(backend->clear(learner->stream, numbers, trainer->dense.n * sizeof *numbers, err));
    THR_TRY(backend->product(learner->stream, &op, err));
    return backend->wait(learner->stream, err);
}

static thr_status open_learner(const thr_text_trainer *trainer, thr_device_learner *learner, thr_error *err) {
    const thr_backend *backend = learner->backend;
    void *results = NULL;
    THR_TRY(backend->open_stream(learner->device, &learner->stream, err));
    THR_TRY(make_room(trainer, learner, lay_out_weights, &learner->weights, "weights and their moments", err));
    THR_TRY(make_room(trainer, learner, lay_out_workspace, &learner->workspace, "a batch", err));
    THR_TRY(backend->alloc_pinned(learner->device, ((size_t)learner->n + 1) * sizeof *learner->results, &results,
                                  "losses", err));
    learner->results = results;
    find_tensors(trainer, learner);
    THR_TRY(try_product(learner, trainer, err));
    return thr_text_device_learner_put(learner, trainer, err);
}

thr_status thr_text_device_learner_open(void *user, const thr_devices *devices, void **learner_out, thr_error *err) {
    const thr_text_trainer *trainer = user;
    thr_device_learner *learner = NULL;
    *learner_out = NULL;
    THR_TRY(thr_alloc_zero(trainer->context, 1, sizeof *learner, &learner, "a training on a GPU", err));
    learner->backend = devices->backend;
    learner->device = devices->devices[0];
    learner->context = trainer->context;
    learner->n = trainer->options.batch;
    const thr_status status = open_learner(trainer, learner, err);
    THR_RETURN_MADE(status, learner, learner_out, thr_text_device_learner_close);
}

void thr_text_device_learner_close(void *copy) {
    thr_device_learner *learner = copy;
    if (learner == NULL)
        return;
    const thr_backend *backend = learner->backend;
    backend->close_stream(learner->stream);
    backend->release(learner->device, learner->weights);
    backend->release(learner->device, learner->workspace);
    backend->release(learner->device, learner->vectors);
    backend->release(learner->device, learner->numbers);
    backend->release_pinned(learner->device, learner->pinned);
    backend->release_pinned(learner->device, learner->results);
    thr_release(learner->context, learner);
}

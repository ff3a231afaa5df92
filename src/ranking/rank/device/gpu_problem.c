/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_problem.c - creating a problem's copy on a device. */
#include <string.h>

#include "base/error.h"
#include "rank/device/gpu_arrays.h"

static thr_status copy_dense(thr_rank_gpu_problem *d, thr_error *err) {
    const thr_ranking_view *view = &d->problem->view;
    size_t n_values = 0;
    if (!thr_mul_size((size_t)view->n_rows, view->n_features, &n_values))
        return thr_fail(err, THR_ENOMEM, "%zu rows of %u features: too many", (size_t)view->n_rows, view->n_features);
    return thr_rank_device_upload(d, view->dense, n_values, sizeof(float), &d->x.dense, err);
}

static thr_status copy_rows(thr_rank_gpu_problem *d, thr_error *err) {
    const thr_rank_problem *p = d->problem;
    const size_t n = (size_t)p->view.n_rows, n_queries = (size_t)p->view.n_queries;
    d->x.n_features = p->view.n_features;
    THR_TRY((p->view.dense != NULL ? copy_dense : thr_rank_device_copy_sparse)(d, err));
    THR_TRY(thr_rank_device_upload(d, p->view.offsets, n_queries + 1, sizeof(uint64_t), &d->offsets, err));
    THR_TRY(thr_rank_device_upload(d, p->rows, n, sizeof(uint32_t), &d->rows, err));
    THR_TRY(thr_rank_device_upload(d, p->levels, n, sizeof(uint32_t), &d->levels, err));
    return p->weights == NULL ? THR_OK : thr_rank_device_upload(d, p->weights, n, sizeof(double), &d->weights, err);
}

/* Allocate the results of passes and their scratch memory. */
static thr_status make_room(thr_rank_gpu_problem *d, thr_error *err) {
    const thr_rank_problem *p = d->problem;
    const size_t n = (size_t)p->view.n_rows, n_queries = (size_t)p->view.n_queries, n_features = p->view.n_features;
    THR_TRY(thr_rank_device_alloc(d, n_queries, sizeof(uint32_t), &d->listed, err));
    THR_TRY(thr_rank_device_alloc(d, n_queries, sizeof(uint32_t), &d->all, err));
    THR_TRY(thr_rank_device_alloc(d, n_queries, sizeof(double), &d->costs, err));
    THR_TRY(thr_rank_device_alloc(d, n_queries, sizeof(double), &d->query_costs, err));
    THR_TRY(thr_rank_device_alloc(d, p->n_chunks + 1, sizeof(uint32_t), &d->chunks, err));
    THR_TRY(thr_rank_device_alloc(d, p->n_chunks, sizeof(double), &d->values, err));
    THR_TRY(thr_rank_device_alloc(d, p->n_chunks * n_features, sizeof(double), &d->partial, err));
    THR_TRY(thr_rank_device_alloc(d, n_features, sizeof(double), &d->v, err));
    THR_TRY(thr_rank_device_alloc(d, n_features, sizeof(double), &d->out, err));
    THR_TRY(thr_rank_device_alloc(d, n_features, sizeof(double), &d->diagonal, err));
    THR_TRY(thr_rank_device_alloc(d, n, sizeof(uint8_t), &d->masks, err));
    THR_TRY(thr_rank_device_alloc(d, n, sizeof(thr_rank_op_counts), &d->pair_counts, err));
    THR_TRY(thr_rank_device_alloc(d, n, 2 * sizeof(uint32_t), &d->spare, err));
    THR_TRY(thr_rank_device_alloc(d, n, sizeof(double), &d->scores, err));
    THR_TRY(thr_rank_device_alloc(d, n, sizeof(double), &d->r, err));
    THR_TRY(thr_rank_device_alloc(d, n, sizeof(double), &d->counts, err));
    THR_TRY(thr_rank_device_alloc(d, n, 4 * sizeof(double), &d->sums, err));
    /* queries that take no part never set theirs */
    return d->backend->clear(d->stream, d->counts, n * sizeof(double), err);
}

static thr_status make_host(thr_rank_gpu_problem *d, thr_error *err) {
    const thr_rank_problem *p = d->problem;
    const size_t n_queries = (size_t)p->view.n_queries, n_numbers = 3 * (size_t)p->view.n_features + p->n_chunks;
    void *pinned = NULL;
    THR_TRY(thr_alloc(p->context, n_queries, sizeof(double), &d->known_costs, "costs of queries", err));
    THR_TRY(
        thr_alloc(p->context, n_queries + p->n_chunks + 1, sizeof(uint32_t), &d->listing, "a list of queries", err));
    THR_TRY(thr_alloc(p->context, 2 * n_queries + 1, sizeof(uint32_t), &d->sampled, "a sample of queries", err));
    THR_TRY(d->backend->alloc_pinned(d->device, n_numbers * sizeof(double), &pinned, "a ranking", err));
    d->pinned = pinned;
    return THR_OK;
}

static thr_status fill(thr_rank_gpu_problem *d, thr_error *err) {
    THR_TRY(d->backend->open_stream(d->device, &d->stream, err));
    THR_TRY(make_host(d, err));
    THR_TRY(copy_rows(d, err));
    THR_TRY(make_room(d, err));
    return thr_rank_device_copy_tree(d, err); /* it also synchronises */
}

thr_status thr_rank_device_create(void *object, const thr_devices *devices, void **device, thr_error *err) {
    thr_rank_problem *problem = object;
    const thr_ranking_view *view = &problem->view;
    thr_rank_gpu_problem *d = NULL;
    *device = NULL;
    if (view->n_rows > UINT32_MAX || view->n_features == 0)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%llu rows of %u features: GPUs learn from fewer than 2^32 rows, of one "
                        "feature or more; take the CPU",
                        (unsigned long long)view->n_rows, view->n_features);
    THR_TRY(thr_alloc_zero(problem->context, 1, sizeof *d, &d, "a ranking on a device", err));
    d->problem = problem;
    d->backend = devices->backend;
    d->device = devices->devices[0];
    const thr_status status = fill(d, err);
    THR_RETURN_MADE(status, d, device, thr_rank_device_free);
}

void thr_rank_device_free(void *device) {
    thr_rank_gpu_problem *d = device;
    if (d == NULL)
        return;
    thr_context *context = d->problem->context;
    d->backend->close_stream(d->stream);
    for (uint32_t i = 0; i < d->n_arrays; i++)
        d->backend->release(d->device, d->arrays[i]);
    d->backend->release(d->device, d->sample_memory);
    d->backend->release_pinned(d->device, d->pinned);
    THR_RELEASE(context, d->sampled, d->listing, d->known_costs, d);
}

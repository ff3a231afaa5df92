/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_problem.c - creating a problem's copy on a device. */
#include <string.h>

#include "base/error.h"
#include "rank/device/gpu_arrays.h"

static thr_status copy_rows(thr_rank_gpu_problem *d, thr_error *err) {
    const thr_rank_problem *p = d->problem;
    const thr_ranking_view *view = &p->view;
    const size_t n = (size_t)view->n_rows;
    d->x.n_features = view->n_features;
    const thr_device_array table[] = {
        {view->dense, view->dense != NULL ? n : 0, view->n_features * sizeof(float), &d->x.dense},
        {view->offsets, (size_t)view->n_queries + 1, sizeof(uint64_t), &d->offsets},
        {p->rows, n, sizeof(uint32_t), &d->rows},
        {p->levels, n, sizeof(uint32_t), &d->levels},
        {p->weights, p->weights != NULL ? n : 0, sizeof(double), &d->weights}};
    THR_TRY(thr_device_arrays_put(&d->memory, table, sizeof table / sizeof *table, err));
    return view->dense != NULL ? THR_OK : thr_rank_device_copy_sparse(d, err);
}

/* Allocate the results of passes and their scratch memory. */
static thr_status make_room(thr_rank_gpu_problem *d, thr_error *err) {
    const thr_rank_problem *p = d->problem;
    const size_t n = (size_t)p->view.n_rows, n_queries = (size_t)p->view.n_queries, n_features = p->view.n_features;
    const thr_device_array table[] = {{NULL, n_queries, sizeof(uint32_t), &d->listed},
                                      {NULL, n_queries, sizeof(uint32_t), &d->all},
                                      {NULL, n_queries, sizeof(double), &d->costs},
                                      {NULL, n_queries, sizeof(double), &d->query_costs},
                                      {NULL, p->n_chunks + 1, sizeof(uint32_t), &d->chunks},
                                      {NULL, p->n_chunks, sizeof(double), &d->values},
                                      {NULL, p->n_chunks * n_features, sizeof(double), &d->partial},
                                      {NULL, n_features, sizeof(double), &d->v},
                                      {NULL, n_features, sizeof(double), &d->out},
                                      {NULL, n_features, sizeof(double), &d->diagonal},
                                      {NULL, n, sizeof(uint8_t), &d->masks},
                                      {NULL, n, sizeof(thr_rank_op_counts), &d->pair_counts},
                                      {NULL, n, 2 * sizeof(uint32_t), &d->spare},
                                      {NULL, n, sizeof(double), &d->scores},
                                      {NULL, n, sizeof(double), &d->r},
                                      {NULL, n, sizeof(double), &d->counts},
                                      {NULL, n, 4 * sizeof(double), &d->sums}};
    THR_TRY(thr_device_arrays_put(&d->memory, table, sizeof table / sizeof *table, err));
    /* queries that take no part never set theirs */
    return d->memory.backend->clear(d->memory.stream, d->counts, n * sizeof(double), err);
}

static thr_status make_host(thr_rank_gpu_problem *d, thr_error *err) {
    const thr_rank_problem *p = d->problem;
    const size_t n_queries = (size_t)p->view.n_queries, n_numbers = 3 * (size_t)p->view.n_features + p->n_chunks;
    void *pinned = NULL;
    THR_TRY(thr_alloc(p->context, n_queries, sizeof(double), &d->known_costs, "costs of queries", err));
    THR_TRY(
        thr_alloc(p->context, n_queries + p->n_chunks + 1, sizeof(uint32_t), &d->listing, "a list of queries", err));
    THR_TRY(thr_alloc(p->context, 2 * n_queries + 1, sizeof(uint32_t), &d->sampled, "a sample of queries", err));
    THR_TRY(d->memory.backend->alloc_pinned(d->memory.device, n_numbers * sizeof(double), &pinned, "a ranking", err));
    d->pinned = pinned;
    return THR_OK;
}

static thr_status fill(thr_rank_gpu_problem *d, thr_error *err) {
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
    thr_status status = thr_device_arrays_start(&d->memory, devices, "a ranking", err);
    if (status == THR_OK)
        status = fill(d, err);
    THR_RETURN_MADE(status, d, device, thr_rank_device_free);
}

void thr_rank_device_free(void *device) {
    thr_rank_gpu_problem *d = device;
    if (d == NULL)
        return;
    thr_context *context = d->problem->context;
    thr_device_arrays_free(&d->memory);
    thr_device_buffers_free(d->memory.backend, d->memory.device, &d->sample, 1);
    d->memory.backend->release_pinned(d->memory.device, d->pinned);
    THR_RELEASE(context, d->sampled, d->listing, d->known_costs, d);
}

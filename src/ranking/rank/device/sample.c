/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - computing the preconditioner's matrix on a device; the CPU chooses the sampled rows. */
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "rank/device/gpu_arrays.h"

/* List the sample's queries and the panel rows where they begin. Returns the number of rows. */
static uint32_t list_sample(thr_rank_gpu_problem *d, const thr_rank_sample *sample) {
    const thr_rank_problem *p = d->problem;
    uint32_t *starts = d->sampled + p->view.n_queries, n_rows = 0;
    uint64_t place = 0;
    d->n_sampled = 0;
    for (uint64_t q = 0; q < p->view.n_queries; q++) {
        if (!thr_rank_sample_may_have(p, q) || place++ % sample->query_step != 0)
            continue;
        starts[d->n_sampled] = n_rows;
        d->sampled[d->n_sampled++] = (uint32_t)q;
        n_rows += (uint32_t)THR_CEIL_DIV(p->view.offsets[q + 1] - p->view.offsets[q], sample->row_step);
    }
    starts[d->n_sampled] = n_rows;
    return n_rows;
}

/* Offsets within one allocation: means (doubles), scales, the panel, the matrix, the list and the starts. */
typedef struct sample_layout {
    size_t means, scales, panel, matrix, sampled, starts, size;
} sample_layout;

static bool lay_out(const thr_rank_gpu_problem *d, uint32_t n_rows, sample_layout *l) {
    const size_t n = d->problem->view.n_features, n_sampled = d->n_sampled;
    size_t n_means, n_panel;
    if (!thr_mul_size(n_sampled, n * sizeof(double), &n_means) || !thr_mul_size(n_rows, n * sizeof(float), &n_panel))
        return false;
    l->means = 0;
    l->scales = n_means;
    l->panel = l->scales + n * sizeof(double);
    l->matrix = l->panel + n_panel;
    l->sampled = l->matrix + n * n * sizeof(float);
    l->starts = l->sampled + n_sampled * sizeof(uint32_t);
    l->size = l->starts + (n_sampled + 1) * sizeof(uint32_t);
    return l->size > n_means && l->size > n_panel;
}

thr_status thr_rank_device_matrix(thr_rank_gpu_problem *d, const thr_rank_sample *sample, double *scales, float *matrix,
                                  thr_error *err) {
    const thr_rank_problem *p = d->problem;
    const thr_backend *b = d->memory.backend;
    const size_t n = p->view.n_features, n_queries = (size_t)p->view.n_queries;
    const uint32_t n_rows = list_sample(d, sample);
    sample_layout l;
    if (!lay_out(d, n_rows, &l))
        return thr_fail(err, THR_ENOMEM, "a sample of %u rows of %zu features: too many", n_rows, n);
    char *workspace = NULL;
    THR_TRY(thr_device_buffer_grow(d->memory.backend, d->memory.device, &d->sample, l.size, "a sample of a ranking",
                                   &workspace, err));
    const thr_rank_sample_op op = {.queries = thr_rank_device_queries(d),
                                   .x = d->x,
                                   .n_sampled = d->n_sampled,
                                   .n_panel_rows = n_rows,
                                   .row_step = sample->row_step,
                                   .share = (double)(sample->query_step * sample->row_step),
                                   .sampled = (uint32_t *)(void *)(workspace + l.sampled),
                                   .starts = (uint32_t *)(void *)(workspace + l.starts),
                                   .counts = d->counts,
                                   .means = (double *)(void *)(workspace + l.means),
                                   .scales = (double *)(void *)(workspace + l.scales),
                                   .panel = (float *)(void *)(workspace + l.panel),
                                   .matrix = (float *)(void *)(workspace + l.matrix)};
    THR_TRY(b->upload(d->memory.stream, workspace + l.sampled, d->sampled, d->n_sampled * sizeof(uint32_t), err));
    THR_TRY(b->upload(d->memory.stream, workspace + l.starts, d->sampled + n_queries,
                      (d->n_sampled + (size_t)1) * sizeof(uint32_t), err));
    THR_TRY(b->rank_sample(d->memory.stream, &op, err));
    THR_TRY(b->download(d->memory.stream, scales, op.scales, n * sizeof(double), err));
    THR_TRY(b->download(d->memory.stream, matrix, op.matrix, n * n * sizeof(float), err));
    return b->wait(d->memory.stream, err);
}

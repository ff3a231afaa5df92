/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the kernels of wide.h. */
#include "kcheck.h"

#include <string.h>

typedef struct wide_input {
    const float *rows;
    const double *v, *start; /* v: by dimension, or by row */
    size_t n_rows, n_dims;
} wide_input;

static double *some(kcheck *check, size_t n) {
    double *values = kcheck_buffer(check, n * sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = (double)kcheck_float(check) * 1.0000000123;
    return values;
}

static void run_times_wide(const thr_kernels *kernels, void *out, void *arg) {
    const wide_input *in = arg;
    kernels->times_wide(out, in->v, in->rows, in->n_rows, in->n_dims);
}

static void run_add_wide(const thr_kernels *kernels, void *out, void *arg) {
    const wide_input *in = arg;
    memcpy(out, in->start, in->n_dims * sizeof *in->start);
    kernels->add_wide(out, in->v, in->rows, in->n_rows, in->n_dims);
}

/* A query's rows, as they lie in cache. */
static void check_rows(kcheck *check, bool adds, size_t n_rows, size_t n_dims) {
    float *rows = kcheck_buffer(check, n_rows * n_dims * sizeof *rows);
    for (size_t i = 0; i < n_rows * n_dims; i++)
        rows[i] = kcheck_float(check);
    const wide_input in = {.rows = rows,
                           .v = some(check, adds ? n_rows : n_dims),
                           .start = some(check, n_dims),
                           .n_rows = n_rows,
                           .n_dims = n_dims};
    const size_t out_size = (adds ? n_dims : n_rows) * sizeof(double);
    wide_input arg = in;
    kcheck_call(check, adds ? run_add_wide : run_times_wide, &arg, out_size, n_rows * n_dims,
                n_rows * n_dims * sizeof *rows, "%zu rows of %zu", n_rows, n_dims);
}

static void check_wide(kcheck *check, bool adds) {
    if (!kcheck_timed(check)) {
        check_rows(check, adds, kcheck_below(check, 14), kcheck_below(check, 70));
        return;
    }
    check_rows(check, adds, 120, 46);
    check_rows(check, adds, 120, 136);
}

void check_times_wide(kcheck *check) {
    check_wide(check, false);
}

void check_add_wide(kcheck *check) {
    check_wide(check, true);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The specification of the kernels of layers.h: plain loops, compiled without vectorisation. */
#include "kernel/elementwise.h"
#include "kernel/kernel.h"

static void matmul(const thr_product *p) {
    for (size_t i = 0; i < p->n_rows; i++)
        for (size_t j = 0; j < p->n_columns; j++) {
            float sum = p->c[i * p->c_row + j];
            for (size_t k = 0; k < p->n_inner; k++)
                sum += p->a[i * p->a_row + k * p->a_step] * p->b[k * p->b_row + j];
            p->c[i * p->c_row + j] = sum;
        }
}

static void tanh_f32(float *out, const float *in, size_t n) {
    for (size_t i = 0; i < n; i++)
        out[i] = thr_kernel_tanh_one(in[i]);
}

static void exp_f32(float *out, const float *in, size_t n) {
    for (size_t i = 0; i < n; i++)
        out[i] = thr_kernel_exp_one(in[i]);
}

static void gather_sum(float *out, const float *table, size_t n_columns, const uint32_t *rows, size_t n_rows,
                       size_t n_ahead) {
    (void)n_ahead;
    for (size_t c = 0; c < n_columns; c++) {
        float sum = n_rows == 0 ? 0.0f : table[rows[0] * n_columns + c];
        for (size_t r = 1; r < n_rows; r++)
            sum += table[rows[r] * n_columns + c];
        out[c] = sum;
    }
}

static void gather_scaled(float *out, const float *table, size_t n_columns, const uint32_t *rows, const float *weights,
                          size_t n_rows, size_t n_ahead) {
    (void)n_ahead;
    for (size_t c = 0; c < n_columns; c++) {
        float sum = n_rows == 0 ? 0.0f : weights[0] * table[rows[0] * n_columns + c];
        for (size_t r = 1; r < n_rows; r++)
            sum += weights[r] * table[rows[r] * n_columns + c];
        out[c] = sum;
    }
}

static void logistic_pairs(float *losses, float *slopes, const float *scores, const float *weights, size_t n,
                           float score) {
    for (size_t j = 0; j < n; j++) {
        float slope = 0;
        losses[j] = weights[j] * thr_kernel_logistic_one(score - scores[j], &slope);
        slopes[j] = weights[j] * slope;
    }
}

static void window_max(float *best, uint16_t *where, const float *vectors, const uint32_t *words, size_t n_words,
                       const float *bias, size_t n_columns) {
    const size_t n = n_columns, left = 0, middle = n, right = 2 * n; /* the three parts of a word's 3 n numbers */
    for (size_t t = 0; t < n_words; t++)
        for (size_t c = 0; c < n; c++) {
            float z = vectors[words[t] * 3 * n + middle + c];
            if (t > 0)
                z = vectors[words[t - 1] * 3 * n + left + c] + z;
            if (t + 1 < n_words)
                z += vectors[words[t + 1] * 3 * n + right + c];
            z += bias[c];
            if (t == 0 || z > best[c]) {
                best[c] = z;
                where[c] = (uint16_t)t;
            }
        }
}

static void add_where(float *out, const float *in, const uint16_t *where, uint16_t at, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (where[i] == at)
            out[i] += in[i];
}

static void adam_step(float *w, float *m, float *v, const float *gradient, size_t n, const thr_adam_step *step) {
    for (size_t i = 0; i < n; i++)
        thr_kernel_adam_one(&w[i], &m[i], &v[i], gradient[i], step);
}

static void ftrl_step(float *w, float *z, float *n, const float *gradient, size_t n_weights,
                      const thr_ftrl_step *step) {
    for (size_t i = 0; i < n_weights; i++)
        thr_kernel_ftrl_one(&w[i], &z[i], &n[i], gradient[i], step);
}

void thr_kernels_fill_scalar_layers(thr_kernels *kernels) {
#define FILL(name, type) kernels->name = name;
    THR_LAYER_KERNEL_LIST(FILL)
#undef FILL
}

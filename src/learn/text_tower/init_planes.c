/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init_planes.c - turning a model learned as floats into one of planes that continues from it.
 *
 * Planes learned from random weights fail on some ten thousand pairs. But if x = f W + b was learned as floats, the
 * parameters of RBE (8) to (11) can be set to make a uniform quantiser of x: x is scaled to the range of the planes'
 * sum e; the residual of step t should be x - e_(t-1), so R_t = W, and B_t inverts W, B_t = (W' W)^-1 W' (tanh is near
 * the identity in the range used). From there training continues on all parameters.
 *
 * e has as much variance along directions in which W is small as along others, and the weights B needs to reproduce it
 * there are too large for tanh. The quantiser is as good without these directions: RIDGE times the mean diagonal is
 * added to W' W. That also handles a singular W' W, which occurs if n_dims exceeds n_pooled.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "text_tower/trainer.h"

/*
 * By number of bits, the range of the uniform quantiser with the least error on standard normal numbers (Max 1960), as
 * the weight of its first plane. RANGE_SHARE of it is used: texts with large numbers, beyond the range, keep their
 * direction.
 */
static const double ranges[] = {1.0, 1.0, 1.17, 1.34, 1.50, 1.67, 1.82, 1.97};
static const double RANGE_SHARE = 0.8;

static const double RIDGE = 0.03;

static void add_ridge(double *a, size_t n) {
    double trace = 0;
    for (size_t i = 0; i < n; i++)
        trace += a[i * n + i];
    for (size_t i = 0; i < n; i++)
        a[i * n + i] += RIDGE * trace / (double)n;
}

/* a = L L', in place, n x n. A diagonal entry that is not positive is replaced by a small one. */
static void cholesky(double *a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? sqrt(sum > 1e-12 ? sum : 1e-12) : sum / a[j * n + j];
        }
    }
}

/* x = (L L')^-1 x. */
static void solve(const double *l, size_t n, double *x) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            x[i] -= l[k * n + i] * x[k];
        x[i] /= l[i * n + i];
    }
}

/* back (n_out x n_in) = (W' W + ridge)^-1 W' for W (n_in x n_out): x W back is the best estimate of x from x W. */
static thr_status invert(thr_context *context, const float *weight, size_t n_in, size_t n_out, float *back,
                         thr_error *err) {
    double *square = NULL;
    THR_TRY(thr_alloc_zero(context, (n_out + 1) * n_out, sizeof *square, &square, "a change to signs", err));
    double *column = square + n_out * n_out;
    for (size_t r = 0; r < n_in; r++)
        for (size_t i = 0; i < n_out; i++)
            for (size_t j = 0; j <= i; j++)
                square[i * n_out + j] += (double)weight[r * n_out + i] * (double)weight[r * n_out + j];
    add_ridge(square, n_out);
    cholesky(square, n_out);
    for (size_t r = 0; r < n_in; r++) {
        for (size_t i = 0; i < n_out; i++)
            column[i] = (double)weight[r * n_out + i];
        solve(square, n_out, column);
        for (size_t i = 0; i < n_out; i++)
            back[i * n_in + r] = (float)column[i];
    }
    thr_release(context, square);
    return THR_OK;
}

static thr_status put_side(thr_text_trainer *trainer, thr_side side, const float *x, size_t n_x, thr_error *err) {
    const thr_tower_config *config = &trainer->model.config;
    const thr_tensor_list list = thr_text_model_tensors(config, side);
    const size_t n_weights = thr_tensor_size(&list.shapes[THR_TEXT_BASE_WEIGHT]);
    float *const *tensors = trainer->base.tensors[side];
    float *weight = tensors[THR_TEXT_BASE_WEIGHT], *bias = tensors[THR_TEXT_BASE_BIAS];
    double square = 0;
    for (size_t i = 0; i < n_x; i++)
        square += (double)x[i] * (double)x[i];
    const double range = RANGE_SHARE * ranges[thr_side_bits(config, side) - 1] * sqrt(square / (double)n_x);
    const float scale = (float)(range > 0 ? 1 / range : 1);
    for (size_t i = 0; i < n_weights; i++)
        weight[i] *= scale;
    for (size_t i = 0; i < config->n_dims; i++)
        bias[i] *= scale;
    for (size_t tensor = THR_TEXT_REBUILD_WEIGHT; tensor < list.n; tensor += 4) {
        THR_TRY(invert(trainer->base.context, weight, config->n_pooled, config->n_dims, tensors[tensor], err));
        memset(tensors[tensor + 1], 0, thr_tensor_size(&list.shapes[tensor + 1]) * sizeof(float));
        memcpy(tensors[tensor + 2], weight, n_weights * sizeof *weight);
        memcpy(tensors[tensor + 3], bias, config->n_dims * sizeof *bias);
    }
    return THR_OK;
}

thr_status thr_text_trainer_init_planes(thr_text_trainer *trainer, thr_error *err) {
    const thr_tower_config *config = &trainer->model.config;
    const size_t n = trainer->options.run.batch;
    THR_TRY(thr_text_trainer_forward(trainer, &trainer->as_floats, &trainer->pairs, trainer->base.split.train, n,
                                     &(thr_batch_mode){0}, err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        if (thr_side_bits(config, side) != THR_FLOAT_BITS)
            THR_TRY(put_side(trainer, side, trainer->scratch.passes[side].before[0], n * config->n_dims, err));
        thr_text_pass_free(trainer->base.context,
                           &trainer->scratch.passes[side]); /* it has memory for float sides only */
    }
    for (size_t s = 0; s < THR_WEIGHTS_SLOTS; s++) /* the moments belong to other weights */
        memset(trainer->base.dense.slots[s], 0, trainer->base.dense.n * sizeof *trainer->base.dense.slots[s]);
    return THR_OK;
}

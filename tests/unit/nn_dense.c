/* SPDX-License-Identifier: Apache-2.0 */
/* nn_dense.c - products of batches bit by bit in the promised order; tanh, sign and the gradients of both. */
#include "nn/dense.h"

#include "nn_support.h"

typedef struct shape {
    size_t n_rows, n_in, n_out;
} shape;

static const shape shapes[] = {{1, 1, 1},    {1, 288, 64},   {5, 3, 17},    {7, 130, 33}, {100, 64, 64},
                               {301, 20, 5}, {64, 288, 128}, {12, 257, 96}, {40, 1, 100}, {200, 70, 1}};

typedef struct layer {
    shape s;
    float *x, *weights, *bias, *d_y;
    float *y, *d_x, *d_weights, *d_bias; /* expected; the gradients are added to these first */
    float *d_x_before, *d_weights_before, *d_bias_before;
} layer;

/* In the order dense.h promises: every sum in that of its index. */
static void naive(layer *l) {
    const shape s = l->s;
    for (size_t i = 0; i < s.n_rows; i++)
        for (size_t j = 0; j < s.n_out; j++) {
            float sum = l->bias[j];
            for (size_t k = 0; k < s.n_in; k++)
                sum += l->x[i * s.n_in + k] * l->weights[k * s.n_out + j];
            l->y[i * s.n_out + j] = sum;
        }
    for (size_t i = 0; i < s.n_rows; i++)
        for (size_t k = 0; k < s.n_in; k++)
            for (size_t j = 0; j < s.n_out; j++)
                l->d_x[i * s.n_in + k] += l->d_y[i * s.n_out + j] * l->weights[k * s.n_out + j];
    for (size_t k = 0; k < s.n_in; k++)
        for (size_t j = 0; j < s.n_out; j++)
            for (size_t i = 0; i < s.n_rows; i++)
                l->d_weights[k * s.n_out + j] += l->x[i * s.n_in + k] * l->d_y[i * s.n_out + j];
    for (size_t j = 0; j < s.n_out; j++)
        for (size_t i = 0; i < s.n_rows; i++)
            l->d_bias[j] += l->d_y[i * s.n_out + j];
}

static layer make_layer(shape s, uint64_t *rng) {
    layer l = {.s = s,
               .x = nn_normal(rng, s.n_rows * s.n_in),
               .weights = nn_normal(rng, s.n_in * s.n_out),
               .bias = nn_normal(rng, s.n_out),
               .d_y = nn_normal(rng, s.n_rows * s.n_out),
               .y = test_new(s.n_rows * s.n_out, sizeof(float)),
               .d_x_before = nn_normal(rng, s.n_rows * s.n_in),
               .d_weights_before = nn_normal(rng, s.n_in * s.n_out),
               .d_bias_before = nn_normal(rng, s.n_out)};
    l.d_x = nn_copy(l.d_x_before, s.n_rows * s.n_in);
    l.d_weights = nn_copy(l.d_weights_before, s.n_in * s.n_out);
    l.d_bias = nn_copy(l.d_bias_before, s.n_out);
    naive(&l);
    return l;
}

static void check_layer(thr_context *context, void *arg) {
    const layer *l = arg;
    const shape s = l->s;
    float *y = test_new(s.n_rows * s.n_out, sizeof *y), *d_x = nn_copy(l->d_x_before, s.n_rows * s.n_in);
    float *d_weights = nn_copy(l->d_weights_before, s.n_in * s.n_out), *d_bias = nn_copy(l->d_bias_before, s.n_out);
    float *scratch = test_new(thr_nn_dense_scratch(s.n_in, s.n_out), sizeof *scratch);
    const thr_dense dense = {l->weights, l->bias, s.n_in, s.n_out};
    thr_nn_dense_forward(context, &dense, l->x, s.n_rows, y);
    assert_same_floats(y, l->y, s.n_rows * s.n_out, "forward %zux%zux%zu", s.n_rows, s.n_in, s.n_out);
    thr_nn_dense_backward(context, &dense, l->x, l->d_y, s.n_rows,
                          &(thr_dense_gradients){d_x, true, d_weights, d_bias, scratch});
    assert_same_floats(d_x, l->d_x, s.n_rows * s.n_in, "d_x %zux%zux%zu", s.n_rows, s.n_in, s.n_out);
    assert_same_floats(d_weights, l->d_weights, s.n_in * s.n_out, "d_weights %zux%zux%zu", s.n_rows, s.n_in, s.n_out);
    assert_same_floats(d_bias, l->d_bias, s.n_out, "d_bias %zux%zux%zu", s.n_rows, s.n_in, s.n_out);
}

RANDOM_TEST(layers_are_the_naive_sums_at_every_level_and_number_of_threads) {
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        layer l = make_layer(shapes[i], &rng);
        nn_each_context(check_layer, &l);
    }
}

RANDOM_TEST(without_add_what_stood_in_d_x_does_not_count) {
    thr_context *context = test_new_context(1);
    layer l = make_layer((shape){20, 30, 40}, &rng);
    float *zeros = test_new(20 * 30, sizeof *zeros), *scratch = test_new(30 * 40, sizeof *scratch);
    thr_dense dense = {l.weights, NULL, 30, 40};
    thr_dense_gradients to = {zeros, true, l.d_weights, l.d_bias, scratch};
    thr_nn_dense_backward(context, &dense, l.x, l.d_y, 20, &to);
    to.d_x = l.d_x;
    to.add_to_d_x = false;
    thr_nn_dense_backward(context, &dense, l.x, l.d_y, 20, &to);
    assert_same_floats(l.d_x, zeros, 20 * 30, "not added");
    to.d_x = NULL;
    thr_nn_dense_backward(context, &dense, l.x, l.d_y, 20, &to);
    thr_nn_dense_forward(context, &dense, l.x, 20, l.y);
    memset(zeros, 0, 40 * sizeof *zeros);
    float *with_zeros = test_new(20 * 40, sizeof *with_zeros);
    dense.bias = zeros;
    thr_nn_dense_forward(context, &dense, l.x, 20, with_zeros);
    assert_same_floats(l.y, with_zeros, 20 * 40, "no bias");
}

RANDOM_TEST(a_row_is_the_same_in_every_batch) {
    thr_context *context = test_new_context(2);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        layer l = make_layer(shapes[i], &rng);
        const shape s = l.s;
        const thr_dense dense = {l.weights, l.bias, s.n_in, s.n_out};
        float *y = test_new(s.n_rows * s.n_out, sizeof *y);
        for (size_t first = 0, n = 1; first < s.n_rows; first += n, n = n * 2 + 1) {
            n = s.n_rows - first < n ? s.n_rows - first : n;
            thr_nn_dense_forward(context, &dense, l.x + first * s.n_in, n, y + first * s.n_out);
        }
        assert_same_floats(y, l.y, s.n_rows * s.n_out, "batches of 1, 3, 7, ... of %zu", s.n_rows);
    }
}

/* The sum of r tanh(x W + b) in double; parts: x, W and b. */
static double loss_of(const layer *l, double *const parts[3]) {
    const shape s = l->s;
    double sum = 0;
    for (size_t i = 0; i < s.n_rows; i++)
        for (size_t j = 0; j < s.n_out; j++) {
            double y = parts[2][j];
            for (size_t k = 0; k < s.n_in; k++)
                y += parts[0][i * s.n_in + k] * parts[1][k * s.n_out + j];
            sum += (double)l->d_y[i * s.n_out + j] * tanh(y);
        }
    return sum;
}

RANDOM_TEST(gradients_are_those_of_finite_differences) {
    enum { ROWS = 9, IN = 13, OUT = 18 };
    thr_context *context = test_new_context(2);
    layer l = make_layer((shape){ROWS, IN, OUT}, &rng);
    const size_t sizes[3] = {ROWS * IN, IN * OUT, OUT};
    const float *from[3] = {l.x, l.weights, l.bias};
    double *parts[3];
    for (size_t p = 0; p < 3; p++) {
        parts[p] = test_new(sizes[p], sizeof *parts[p]);
        for (size_t i = 0; i < sizes[p]; i++)
            parts[p][i] = (double)from[p][i];
    }
    float d_y[ROWS * OUT], scratch[IN * OUT], d_x[ROWS * IN], d_weights[IN * OUT] = {0}, d_bias[OUT] = {0};
    const thr_dense dense = {l.weights, l.bias, IN, OUT};
    thr_nn_dense_forward(context, &dense, l.x, ROWS, l.y);
    thr_nn_tanh_forward(context, l.y, ROWS * OUT, l.y);
    thr_nn_tanh_backward(context, l.y, l.d_y, ROWS * OUT, d_y);
    thr_nn_dense_backward(context, &dense, l.x, d_y, ROWS,
                          &(thr_dense_gradients){d_x, false, d_weights, d_bias, scratch});
    const float *gradients[3] = {d_x, d_weights, d_bias};
    for (size_t p = 0; p < 3; p++)
        for (size_t i = 0; i < sizes[p]; i++) {
            const double h = 1e-5, x = parts[p][i];
            parts[p][i] = x + h;
            double slope = loss_of(&l, parts);
            parts[p][i] = x - h;
            slope = (slope - loss_of(&l, parts)) / (2 * h);
            parts[p][i] = x;
            /* Sums of up to 18 products of numbers about 1, whose tanh is off by 2e-7 and 1 - tanh^2 by twice that. */
            assert_case(fabs(slope - (double)gradients[p][i]) <= 1e-5, "part %zu, number %zu: %.9g, should be %.9g", p,
                        i, (double)gradients[p][i], slope);
        }
}

/* ------------------------------------------------------------------------------------------- element by element */

TEST(tanh_is_right_to_2e_7_and_odd_and_grows) {
    enum { N = 400000 };
    thr_context *context = test_new_context(2);
    float *x = test_new(N, sizeof *x), *y = test_new(N, sizeof *y), *mirrored = test_new(N, sizeof *mirrored);
    for (size_t i = 0; i < N; i++)
        x[i] = (float)i * (12.0f / N);
    thr_nn_tanh_forward(context, x, N, y);
    for (size_t i = 0; i < N; i++) {
        assert_case(fabs((double)y[i] - tanh((double)x[i])) <= 2e-7, "tanh(%.9g) = %.9g", (double)x[i], (double)y[i]);
        assert_case(i == 0 || y[i] >= y[i - 1] - 1.2e-7f, "tanh falls at %.9g", (double)x[i]);
        assert_case(x[i] < 10.0f || y[i] == 1.0f, "tanh(%.9g) is not 1", (double)x[i]);
        x[i] = -x[i];
    }
    memcpy(mirrored, x, N * sizeof *x);
    thr_nn_tanh_forward(context, mirrored, N, mirrored);
    for (size_t i = 0; i < N; i++)
        assert_true(mirrored[i] == -y[i]);
    float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-40f, 3e38f};
    thr_nn_tanh_forward(context, odd, 7, odd);
    assert_true(isnan(odd[0]) && odd[1] == 1.0f && odd[2] == -1.0f && odd[3] == 0.0f && odd[4] == 0.0f);
    assert_true(signbit(odd[4]) && odd[5] == 1e-40f && odd[6] == 1.0f);
}

TEST(exp_is_right_to_2e_7_of_itself) {
    enum { N = 350000 };
    float *x = test_new(N, sizeof *x), *y = test_new(N, sizeof *y);
    for (size_t i = 0; i < N; i++)
        x[i] = -87.0f + (float)i * (175.0f / N);
    const thr_kernels *kernels = thr_kernels_get(thr_kernel_isa_best());
    kernels->exp_f32(y, x, N);
    for (size_t i = 0; i < N; i++) {
        const double want = exp((double)x[i]);
        assert_case(fabs((double)y[i] - want) <= 2e-7 * want, "exp(%.9g) = %.9g", (double)x[i], (double)y[i]);
    }
    const float ends[] = {-1e9f, -87.0f, 1e9f, 88.0f, NAN, 0.0f};
    kernels->exp_f32(y, ends, 6);
    assert_true(y[0] == y[1] && y[2] == y[3] && isnan(y[4]) && y[5] == 1.0f);
}

RANDOM_TEST(tanh_sends_back_its_slope) {
    enum { N = 5000 };
    thr_context *context = test_new_context(3);
    float *x = nn_normal(&rng, N), *d_y = nn_normal(&rng, N), *y = test_new(N, sizeof *y);
    thr_nn_tanh_forward(context, x, N, y);
    float *d_x = nn_copy(d_y, N);
    thr_nn_tanh_backward(context, y, d_x, N, d_x);
    for (size_t i = 0; i < N; i++) {
        const double h = 1e-6, slope = (tanh((double)x[i] + h) - tanh((double)x[i] - h)) / (2 * h);
        /* 1 - y^2 of a y that is wrong by 2e-7, times d_y. */
        assert_true(fabs((double)d_x[i] - (double)d_y[i] * slope) <= 1e-6 * (1 + fabs((double)d_y[i])));
    }
}

TEST(sign_is_1_above_0_only) {
    thr_context *context = test_new_context(1);
    const float x[] = {0.0f, -0.0f, 1e-40f, -1e-40f, 3.0f, -3.0f, INFINITY, -INFINITY};
    const float want[] = {-1, -1, 1, -1, 1, -1, 1, -1};
    float y[8];
    thr_nn_sign_forward(context, x, 8, y);
    assert_memory_equal(y, want, sizeof y);
}

typedef struct back {
    thr_estimator estimator;
    float *x, *d_y, *want;
    size_t n;
} back;

static void check_back(thr_context *context, void *arg) {
    const back *b = arg;
    float *d_x = test_new(b->n, sizeof *d_x), *in_place = nn_copy(b->d_y, b->n);
    thr_nn_sign_backward(context, b->estimator, 2.5f, b->x, b->d_y, b->n, d_x);
    thr_nn_sign_backward(context, b->estimator, 2.5f, b->x, in_place, b->n, in_place);
    for (size_t i = 0; i < b->n; i++)
        assert_case(fabsf(d_x[i] - b->want[i]) <= (b->estimator == THR_ESTIMATOR_TANH ? 4e-6f : 0.0f),
                    "estimator %d at %.9g: %.9g of %.9g", (int)b->estimator, (double)b->x[i], (double)d_x[i],
                    (double)b->d_y[i]);
    assert_same_floats(in_place, d_x, b->n, "in place");
    memcpy(b->want, d_x, b->n * sizeof *d_x); /* the next context gives the same bits or is wrong by more than 0 */
}

RANDOM_TEST(every_estimator_has_its_own_gradient) {
    enum { N = 9000 };
    back b = {.x = nn_normal(&rng, N), .d_y = nn_normal(&rng, N), .want = test_new(N, sizeof(float)), .n = N};
    b.x[0] = 1.0f;
    b.x[1] = -1.0f;
    b.x[2] = nextafterf(1.0f, 2.0f);
    for (int e = THR_ESTIMATOR_VARIANT; e <= THR_ESTIMATOR_TANH; e++) {
        b.estimator = (thr_estimator)e;
        for (size_t i = 0; i < N; i++) {
            const double t = tanh(2.5 * (double)b.x[i]);
            b.want[i] = e == THR_ESTIMATOR_STRAIGHT ? b.d_y[i]
                        : e == THR_ESTIMATOR_TANH   ? (float)((double)b.d_y[i] * 2.5 * (1 - t * t))
                        : fabsf(b.x[i]) <= 1.0f     ? b.d_y[i]
                                                    : 0.0f;
        }
        nn_each_context(check_back, &b);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* nn_lstm.c - layers beside a model in double and beside PyTorch, and the same bits however they are run. */
#include "nn/lstm.h"

#include "nn_support.h"

/* Sequences of falling lengths, and a layer for them. */
typedef struct layer {
    size_t n_in, n_units, n_sequences, n_steps, n_rows;
    size_t starts[12], lengths[8];
    float *in, *own, *bias, *x;
} layer;

static layer make_layer(size_t n_in, size_t n_units, size_t n_sequences, uint64_t *rng) {
    layer l = {.n_in = n_in, .n_units = n_units, .n_sequences = n_sequences};
    for (size_t i = 0; i < n_sequences; i++)
        l.lengths[i] = 10 - i; /* the longest first */
    if (n_sequences > 2)
        l.lengths[2] = l.lengths[1];
    if (n_sequences > 3)
        l.lengths[n_sequences - 1] = 1;
    l.n_steps = l.lengths[0];
    for (size_t t = 0; t < l.n_steps; t++) {
        l.starts[t] = l.n_rows;
        for (size_t i = 0; i < n_sequences; i++)
            l.n_rows += l.lengths[i] > t;
    }
    l.starts[l.n_steps] = l.n_rows;
    l.in = nn_normal(rng, n_in * 4 * n_units);
    l.own = nn_normal(rng, n_units * 4 * n_units);
    l.bias = nn_normal(rng, 4 * n_units);
    l.x = nn_normal(rng, l.n_rows * n_in);
    return l;
}

static thr_lstm view(const layer *l) {
    return (thr_lstm){l->n_in, l->n_units, l->in, l->own, l->bias};
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* One step of one row, all in double. */
static void naive_step(const layer *l, const float *x, double *h, double *c) {
    const size_t n = l->n_units;
    double gates[4 * 64], next[64];
    for (size_t j = 0; j < 4 * n; j++) {
        gates[j] = l->bias[j];
        for (size_t k = 0; k < l->n_in; k++)
            gates[j] += (double)x[k] * l->in[k * 4 * n + j];
        for (size_t k = 0; k < n; k++)
            gates[j] += h[k] * l->own[k * 4 * n + j];
    }
    for (size_t j = 0; j < n; j++) {
        c[j] = sigmoid(gates[n + j]) * c[j] + sigmoid(gates[j]) * tanh(gates[2 * n + j]);
        next[j] = sigmoid(gates[3 * n + j]) * tanh(c[j]);
    }
    memcpy(h, next, n * sizeof *h);
}

static void run(thr_context *context, const layer *l, bool backward, float *out, float *c) {
    const thr_lstm lstm = view(l);
    const thr_lstm_sequences sequences = {l->n_steps, l->starts, backward};
    float *gates = test_new(l->n_rows * 4 * l->n_units, sizeof *gates);
    thr_nn_lstm_inputs(context, &lstm, l->x, l->n_rows, gates);
    thr_nn_lstm_run(context, &lstm, &sequences, gates, out, l->n_units, c);
}

RANDOM_TEST(sequences_are_what_a_model_in_double_has) {
    for (size_t n_sequences = 1; n_sequences < 6; n_sequences++)
        for (int backward = 0; backward < 2; backward++) {
            layer l = make_layer(3 + n_sequences, 1 + 7 * n_sequences, n_sequences, &rng);
            const size_t n = l.n_units;
            float *out = test_new(l.n_rows * n, sizeof *out), *c = test_new(n_sequences * n, sizeof *c);
            run(*state, &l, backward != 0, out, c);
            for (size_t i = 0; i < n_sequences; i++) {
                double h[64] = {0}, right[64] = {0};
                for (size_t s = 0; s < l.lengths[i]; s++) {
                    const size_t row = l.starts[backward ? l.lengths[i] - 1 - s : s] + i;
                    naive_step(&l, l.x + row * l.n_in, h, right);
                    for (size_t j = 0; j < n; j++)
                        assert_case(fabs(out[row * n + j] - h[j]) < 2e-5, "seed %llu: sequence %zu, step %zu, unit %zu",
                                    (unsigned long long)test_seed(), i, s, j);
                }
                for (size_t j = 0; j < n; j++)
                    assert_true(fabs(c[i * n + j] - right[j]) < 1e-4);
            }
        }
}

/* What is right, of the first context. */
typedef struct bits {
    const layer *l;
    float *out, *c;
} bits;

static void check_bits(thr_context *context, void *arg) {
    const bits *right = arg;
    const layer *l = right->l;
    const thr_lstm lstm = view(l);
    const size_t n = l->n_units;
    float *out = test_new(l->n_rows * n, sizeof *out), *c = test_new(l->n_sequences * n, sizeof *c);
    run(context, l, false, out, c);
    assert_same_floats(out, right->out, l->n_rows * n, "h of a run");
    assert_same_floats(c, right->c, l->n_sequences * n, "c of a run");
    /* each sequence by itself, step by step */
    for (size_t i = 0; i < l->n_sequences; i++) {
        float h[64] = {0}, own_c[64] = {0}, gates[4 * 64];
        for (size_t t = 0; t < l->lengths[i]; t++) {
            const size_t row = l->starts[t] + i;
            thr_nn_lstm_inputs(context, &lstm, l->x + row * l->n_in, 1, gates);
            thr_nn_lstm_step(context, &lstm, gates, 1, h, own_c);
            assert_same_floats(h, right->out + row * n, n, "h of a step");
        }
        assert_same_floats(own_c, right->c + i * n, n, "c of a step");
    }
}

RANDOM_TEST(bits_depend_on_neither_batch_nor_threads_nor_cpu) {
    rng += 1;
    layer l = make_layer(19, 37, 8, &rng);
    bits right = {&l, test_new(l.n_rows * 37, sizeof(float)), test_new(8 * 37, sizeof(float))};
    run(*state, &l, false, right.out, right.c);
    nn_each_context(check_bits, &right);
}

/* ------------------------------------------------------------------------------------------------ PyTorch */

/* Number i of the array that salt names, what the model below was made of there. */
static float drawn(size_t i, size_t salt) {
    return (float)(((double)((i * 7919 + salt * 104729) % 2001) - 1000.0) / 1000.0);
}

enum { IN = 3, UNITS = 2, ROWS = 8, SEQUENCES = 3 };

/*
 * torch.nn.LSTM(3, 2, bidirectional=True) of PyTorch 2 over sequences of 4, 3 and 1 steps, packed: weight_ih_l0,
 * weight_hh_l0, bias_ih_l0, bias_hh_l0 and those of _reverse are drawn(, 1) to drawn(, 8), the data drawn(, 20).
 */
static const float torch_out[ROWS * 2 * UNITS] = {
    0.0442867018f,  0.0446468107f,    -0.26702711f,   -0.209615514f,  0.0313866064f,  0.0175297391f,  -0.157643512f,
    -0.134291515f,  -0.00329498551f,  -0.0412737429f, -0.0513312519f, -0.0782969519f, -0.0323928036f, -0.111943953f,
    0.01180276f,    -0.0741518661f,   -0.0873187408f, -0.207872704f,  0.00213991734f, -0.0173680633f, -0.169580206f,
    -0.306285977f,  -0.000396348507f, -0.0342089683f, -0.0512942597f, -0.0989087075f, -0.171077564f,  0.0108132139f,
    -0.0549205206f, -0.138162389f,    -0.381819367f,  -0.218849525f};
/* c_n: forward's, then backward's, of each sequence. */
static const float torch_c[2 * SEQUENCES * UNITS] = {-0.100170068f,   -0.358173132f, -0.112909421f, -0.266305447f,
                                                     -0.00765081495f, -0.103362285f, -0.534281373f, -0.545678079f,
                                                     -0.416681111f,   -0.43629089f,  -0.192577899f, -0.329394579f};

TEST(numbers_are_those_of_pytorch) {
    static const size_t starts[] = {0, 3, 5, 7, 8};
    float x[ROWS * IN], out[ROWS * 2 * UNITS], c[SEQUENCES * UNITS], gates[ROWS * 4 * UNITS];
    float in[IN * 4 * UNITS], own[UNITS * 4 * UNITS], bias[4 * UNITS];
    for (size_t i = 0; i < ROWS * IN; i++)
        x[i] = drawn(i, 20);
    for (size_t side = 0; side < 2; side++) {
        const thr_lstm_sequences sequences = {4, starts, side == 1};
        const size_t salt = 1 + 4 * side;
        for (size_t g = 0; g < 4 * UNITS; g++) {
            for (size_t k = 0; k < IN; k++)
                in[k * 4 * UNITS + g] = drawn(g * IN + k, salt);
            for (size_t k = 0; k < UNITS; k++)
                own[k * 4 * UNITS + g] = drawn(g * UNITS + k, salt + 1);
            bias[g] = drawn(g, salt + 2) + drawn(g, salt + 3);
        }
        const thr_lstm lstm = {IN, UNITS, in, own, bias};
        thr_nn_lstm_inputs(*state, &lstm, x, ROWS, gates);
        thr_nn_lstm_run(*state, &lstm, &sequences, gates, out + side * UNITS, 2 * UNITS, c);
        for (size_t i = 0; i < SEQUENCES * UNITS; i++)
            assert_true(fabsf(c[i] - torch_c[side * SEQUENCES * UNITS + i]) < 1e-5f);
    }
    for (size_t i = 0; i < ROWS * 2 * UNITS; i++)
        assert_true(fabsf(out[i] - torch_out[i]) < 1e-5f);
}

TEST_IN_CONTEXT(2, NULL)

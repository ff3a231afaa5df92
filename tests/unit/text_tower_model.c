/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_tower_model.c - a side computes RBE (8) to (11), and its gradient is that of a smooth function.
 *
 * Signs have no derivative, so gradients are compared with differences of the model in which each sign is what the
 * estimator takes it for: with the straight-through estimator the identity, around the point where forward was.
 */
#include "test.h"

#include "text_tower/backward.h"

enum { N_TEXTS = 5, N_WORDS = 7, POOLED = 6, DIMS = 4 };

typedef struct sample {
    thr_text_model model;
    float *dense, *vectors;
    size_t n_dense;
    uint32_t words[32];
    size_t offsets[N_TEXTS + 1];
    thr_texts texts;
    thr_side_input input;
} sample;

typedef struct side_shape {
    uint32_t bits;
    bool shared_steps, plain_weights, reads_vectors;
} side_shape;

static void make_sample(sample *s, const side_shape *of, uint64_t *rng) {
    thr_tower_config *config = &s->model.config;
    memset(s, 0, sizeof *s);
    config->n_dims = DIMS;
    config->n_pooled = POOLED;
    config->query_bits = config->item_bits = of->bits;
    config->shared_steps = of->shared_steps;
    config->plain_weights = of->plain_weights;
    config->n_inputs = of->reads_vectors ? POOLED : 0;
    size_t at = 0;
    const thr_tensor_list list = thr_text_model_tensors(config, THR_SIDE_QUERY);
    for (size_t p = 0; p < list.n; p++)
        s->n_dense += thr_tensor_size(&list.shapes[p]);
    s->dense = test_new(s->n_dense, sizeof(float));
    test_gaussian(rng, s->dense, s->n_dense);
    for (size_t p = 0; p < list.n; p++) {
        s->model.tensors[THR_SIDE_QUERY][p] = s->dense + at;
        at += thr_tensor_size(&list.shapes[p]);
    }
    s->vectors = test_new((size_t)N_WORDS * 3 * POOLED, sizeof(float));
    test_gaussian(rng, s->vectors, (size_t)N_WORDS * 3 * POOLED);
    for (size_t i = 0; i < N_TEXTS; i++) { /* the last text is empty */
        const size_t n = i + 1 == N_TEXTS ? 0 : 1 + (size_t)thr_rng_below(rng, 6);
        for (size_t w = 0; w < n; w++)
            s->words[s->offsets[i] + w] = (uint32_t)thr_rng_below(rng, N_WORDS);
        s->offsets[i + 1] = s->offsets[i] + n;
    }
    s->texts = (thr_texts){N_TEXTS, s->offsets, s->words};
    s->input = (thr_side_input){N_TEXTS, of->reads_vectors ? NULL : &s->texts, s->vectors};
}

/* y = x W + b, by the book. */
static void layer(const double *x, const float *weight, const float *bias, size_t n_in, size_t n_out, double *y) {
    for (size_t o = 0; o < n_out; o++) {
        y[o] = (double)bias[o];
        for (size_t i = 0; i < n_in; i++)
            y[o] += x[i] * (double)weight[i * n_out + o];
    }
}

static double window(const sample *s, size_t text, size_t t, size_t column) {
    const size_t n = s->offsets[text + 1] - s->offsets[text];
    double sum = (double)s->model.tensors[0][THR_TEXT_POOL_BIAS][column];
    for (size_t j = 0; j < 3; j++)
        if (t + j >= 1 && t + j - 1 < n)
            sum += (double)s->vectors[((size_t)s->words[s->offsets[text] + t + j - 1] * 3 + j) * POOLED + column];
    return sum;
}

/*
 * One text's embedding in double. point NULL: with signs. Else plane t of dimension d is its sign at the point plus
 * the change of the argument since then: what straight-through takes the sign for. at keeps the arguments.
 */
static void embed(const sample *s, size_t text, double (*point)[DIMS], double (*at)[DIMS], double *e) {
    const thr_tower_config *config = &s->model.config;
    const float *const *tensors = s->model.tensors[0];
    double f[POOLED], r[POOLED], a[DIMS];
    const size_t n = s->offsets[text + 1] - s->offsets[text];
    double length = 0;
    for (size_t c = 0; c < POOLED; c++)
        length += pow((double)s->vectors[text * POOLED + c], 2);
    for (size_t c = 0; c < POOLED; c++) {
        f[c] = (double)s->vectors[text * POOLED + c] / sqrt(length) + (double)tensors[THR_TEXT_POOL_BIAS][c];
        if (config->n_inputs != 0)
            continue;
        f[c] = -INFINITY;
        for (size_t t = 0; t < (n == 0 ? 1 : n); t++)
            f[c] = fmax(f[c], window(s, text, t, c));
        f[c] = tanh(f[c]);
    }
    layer(f, tensors[THR_TEXT_BASE_WEIGHT], tensors[THR_TEXT_BASE_BIAS], POOLED, DIMS, a);
    for (uint32_t t = 0; t <= thr_side_steps(config, THR_SIDE_QUERY); t++) {
        if (t > 0) {
            layer(e, tensors[thr_text_step_tensor(config, t, THR_TEXT_REBUILD_WEIGHT)],
                  tensors[thr_text_step_tensor(config, t, THR_TEXT_REBUILD_BIAS)], DIMS, POOLED, r);
            for (size_t c = 0; c < POOLED; c++)
                r[c] = f[c] - tanh(r[c]);
            layer(r, tensors[thr_text_step_tensor(config, t, THR_TEXT_RESIDUAL_WEIGHT)],
                  tensors[thr_text_step_tensor(config, t, THR_TEXT_RESIDUAL_BIAS)], POOLED, DIMS, a);
        }
        for (size_t d = 0; d < DIMS; d++) {
            double plane = a[d] > 0 ? 1 : -1;
            if (config->query_bits == THR_FLOAT_BITS)
                plane = config->n_inputs != 0 ? a[d] : tanh(a[d]);
            if (point != NULL && config->query_bits != THR_FLOAT_BITS)
                plane = (point[t][d] > 0 ? 1 : -1) + a[d] - point[t][d];
            e[d] = (t == 0 ? 0 : e[d]) + plane * (config->plain_weights ? 1 : pow(0.5, t));
            if (at != NULL)
                at[t][d] = a[d];
        }
    }
}

static const side_shape shapes[] = {{.bits = THR_FLOAT_BITS},
                                    {.bits = 1},
                                    {.bits = 2},
                                    {.bits = 3},
                                    {.bits = 3, .shared_steps = true},
                                    {.bits = 3, .plain_weights = true},
                                    {.bits = 8},
                                    {.bits = THR_FLOAT_BITS, .reads_vectors = true},
                                    {.bits = 1, .reads_vectors = true},
                                    {.bits = 4, .reads_vectors = true}};

RANDOM_TEST(a_side_computes_the_papers_equations) {
    OWNED(thr_context, context) = test_context(2, THR_ISA_SCALAR, NULL);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        sample s;
        thr_pass pass = {0};
        make_sample(&s, &shapes[i], &rng);
        expect_ok(thr_text_pass_reserve(context, &s.model.config, THR_SIDE_QUERY, N_TEXTS, &pass, &err));
        thr_text_side_forward(context, &s.model, THR_SIDE_QUERY, &s.input, &pass);
        const float *got = thr_pass_embedding(&s.model.config, THR_SIDE_QUERY, &pass);
        for (size_t text = 0; text < N_TEXTS; text++) {
            double e[DIMS] = {0};
            embed(&s, text, NULL, NULL, e);
            for (size_t d = 0; d < DIMS; d++)
                assert_case(fabs((double)got[text * DIMS + d] - e[d]) < 1e-5, "shape %zu text %zu dim %zu: %g not %g",
                            i, text, d, (double)got[text * DIMS + d], e[d]);
        }
        thr_text_pass_free(context, &pass);
    }
}

/* sum of goal * embedding, with planes as they are around the point. */
static double objective(const sample *s, double (*points)[8][DIMS], const float *goal) {
    double sum = 0;
    for (size_t text = 0; text < N_TEXTS; text++) {
        double e[DIMS] = {0};
        embed(s, text, points[text], NULL, e);
        for (size_t d = 0; d < DIMS; d++)
            sum += e[d] * (double)goal[text * DIMS + d];
    }
    return sum;
}

/* Central differences; the step is a power of two, so that weights are moved by exactly that. */
static void check_gradient(const sample *s, double (*points)[8][DIMS], const float *goal, float *weights,
                           const float *gradient, size_t n, size_t shape, const char *what) {
    const float step = 0x1p-9f;
    for (size_t i = 0; i < n; i++) {
        const float kept = weights[i];
        weights[i] = kept + step;
        const double moved_up = (double)weights[i], up = objective(s, points, goal);
        weights[i] = kept - step;
        const double moved = moved_up - (double)weights[i], difference = (up - objective(s, points, goal)) / moved;
        weights[i] = kept;
        /* Error of the difference: its third derivative times step^2; the gradient is of single precision. */
        assert_case(fabs(difference - (double)gradient[i]) < 2e-3 * (1 + fabs(difference)),
                    "seed %llu shape %zu: %s %zu: gradient %g, difference %g", (unsigned long long)test_seed(), shape,
                    what, i, (double)gradient[i], difference);
    }
}

RANDOM_TEST(gradients_are_those_of_differences) {
    OWNED(thr_context, context) = test_context(2, THR_ISA_SCALAR, NULL);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        if (shapes[i].bits == 8)
            continue; /* seven chained identities: differences of them are of no use */
        sample s;
        thr_pass pass = {0};
        thr_text_backward_workspace workspace = {0};
        float goal[N_TEXTS * DIMS], d_embedding[N_TEXTS * DIMS], *d_tensors[THR_TEXT_TENSORS_MAX] = {NULL};
        double points[N_TEXTS][8][DIMS];
        make_sample(&s, &shapes[i], &rng);
        test_gaussian(&rng, goal, N_TEXTS * DIMS);
        memcpy(d_embedding, goal, sizeof goal);
        float *d_dense = test_new(s.n_dense, sizeof(float));
        float *d_vectors = test_new((size_t)N_WORDS * 3 * POOLED, sizeof(float));
        for (size_t p = 0; p < thr_text_model_tensors(&s.model.config, THR_SIDE_QUERY).n; p++)
            d_tensors[p] = d_dense + (s.model.tensors[0][p] - s.dense);
        for (size_t text = 0; text < N_TEXTS; text++) {
            double e[DIMS] = {0};
            embed(&s, text, NULL, points[text], e);
        }
        expect_ok(thr_text_pass_reserve(context, &s.model.config, THR_SIDE_QUERY, N_TEXTS, &pass, &err));
        expect_ok(thr_text_backward_reserve(context, &s.model.config, N_TEXTS, &workspace, &err));
        thr_text_side_forward(context, &s.model, THR_SIDE_QUERY, &s.input, &pass);
        const thr_side_gradients to = {{THR_ESTIMATOR_STRAIGHT, 1}, d_embedding, d_tensors, d_vectors, &workspace};
        thr_text_side_backward(context, &s.model, THR_SIDE_QUERY, &s.input, &pass, &to);
        check_gradient(&s, points, goal, s.dense, d_dense, s.n_dense, i, "weight");
        if (!shapes[i].reads_vectors) /* given vectors are not learned */
            check_gradient(&s, points, goal, s.vectors, d_vectors, (size_t)N_WORDS * 3 * POOLED, i, "word");
        thr_text_backward_free(context, &workspace);
        thr_text_pass_free(context, &pass);
    }
}

TEST(numbers_out_of_range_are_named) {
    thr_tower_train_options options = DEFAULTS(thr_tower_train_options);
    thr_tower_config config = options.config;
    expect_ok(thr_text_model_check(&config, &err));
    config.query_bits = 9;
    expect_error(thr_text_model_check(&config, &err), THR_EINVAL, "9 query bits");
    config.query_bits = THR_FLOAT_BITS;
    config.item_bits = 0;
    expect_error(thr_text_model_check(&config, &err), THR_EINVAL, "0 item bits");
    config.item_bits = 2;
    config.n_dims = 0;
    expect_error(thr_text_model_check(&config, &err), THR_EINVAL, "0 dimensions");
}

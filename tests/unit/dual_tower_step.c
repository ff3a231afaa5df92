/* SPDX-License-Identifier: Apache-2.0 */
/* dual_tower_step.c - scores and gradients of a whole small model beside a naive one in double. */
#define TOWER_TEST "dual-step"
#include "dual_tower_support.h"

#include "dual_tower/trainer.h"
#include "training/train.h"

static const char items_path[] = NAME("items.tsv"), requests_path[] = NAME("requests.tsv"),
                  model_path[] = NAME("model");

enum { BATCH = 30, MOST_INPUTS = 64, MOST_HIDDEN = 16, MOST_VECTOR = 16 };

/* All weights in double. */
typedef struct naive {
    const thr_dual_trainer *t;
    double *tables[THR_N_SIDES], *dense, *hits;
} naive;

static thr_dual_trainer *start(thr_context *context, const thr_dual_train_options *options) {
    const thr_training_files files = {model_path, {requests_path, items_path}};
    const thr_dual_task task = {options, requests_path, items_path};
    thr_trainer *trainer = NULL;
    expect_ok(thr_training_begin(context, &thr_dual_trainer_kind, &files, &options->run, &task, &trainer, &err));
    return (thr_dual_trainer *)trainer;
}

static double *widen(const float *values, size_t n) {
    double *wide = test_new(n + 1, sizeof *wide);
    for (size_t i = 0; i < n; i++)
        wide[i] = (double)values[i];
    return wide;
}

static const double *tensor_of(const naive *m, thr_side side, thr_dual_tensor tensor) {
    return m->dense + (m->t->model.tensors[side][tensor] - m->t->base.dense.values);
}

/* dual_tower/model.h's equations, word by word. */
static void naive_vector(const naive *m, thr_side side, const uint32_t *words, const float *x, size_t n,
                         double vector[MOST_VECTOR]) {
    const thr_dual_model *model = &m->t->model;
    const thr_dual_config *c = &model->config;
    double inputs[MOST_INPUTS] = {0}, hidden[MOST_HIDDEN];
    const size_t n_fields = thr_dual_n_fields(&model->words[side]), n_inputs = n_fields * c->n_embedding;
    for (uint32_t f = 0; f < n_fields; f++) {
        double all = 0;
        for (size_t i = 0; i < n; i++) {
            const uint32_t row = m->t->map.rows[side][words[i]];
            if (row != THR_DUAL_NONE && model->words[side].fields[row] == f)
                all += fabs(x != NULL ? (double)x[i] : 1);
        }
        for (size_t i = 0; i < n; i++) {
            const uint32_t row = m->t->map.rows[side][words[i]];
            for (size_t e = 0; row != THR_DUAL_NONE && model->words[side].fields[row] == f && e < c->n_embedding; e++)
                inputs[f * c->n_embedding + e] +=
                    (x != NULL ? (double)x[i] : 1) / all * m->tables[side][row * c->n_embedding + e];
        }
    }
    for (size_t h = 0; h < c->n_hidden; h++) {
        hidden[h] = tensor_of(m, side, THR_DUAL_HIDDEN_BIAS)[h];
        for (size_t i = 0; i < n_inputs; i++)
            hidden[h] += inputs[i] * tensor_of(m, side, THR_DUAL_HIDDEN_WEIGHT)[i * c->n_hidden + h];
        hidden[h] = tanh(hidden[h]);
    }
    for (size_t d = 0; d < c->n_dims; d++) {
        vector[d] = tensor_of(m, side, THR_DUAL_OUTPUT_BIAS)[d];
        for (size_t h = 0; h < c->n_hidden; h++)
            vector[d] += hidden[h] * tensor_of(m, side, THR_DUAL_OUTPUT_WEIGHT)[h * c->n_dims + d];
    }
    for (size_t p = 0; p < c->n_products; p++) {
        vector[c->n_dims + p] = 0;
        for (size_t i = 0; i < n_inputs; i++)
            vector[c->n_dims + p] += inputs[i] * tensor_of(m, side, THR_DUAL_PRODUCT_WEIGHT)[i * c->n_products + p];
    }
}

/* Words are compared as they are spelled. */
static bool is_hit(const naive *m, uint32_t word, uint32_t feature) {
    char user[THR_DUAL_WORD_MAX], item[THR_DUAL_WORD_MAX];
    const size_t n_user = thr_dual_get_bytes(&m->t->lexicon.words[THR_SIDE_QUERY], word, user);
    const size_t n_item = thr_dual_get_bytes(&m->t->lexicon.words[THR_SIDE_ITEM], feature, item);
    const char *dot = memchr(user, '.', n_user);
    return dot != NULL && n_user - (size_t)(dot + 1 - user) == n_item && memcmp(dot + 1, item, n_item) == 0;
}

static double naive_hits(const naive *m, const uint32_t *words, const float *x, size_t n, const uint32_t *features,
                         size_t n_features) {
    const size_t n_words = thr_dual_n_words(&m->t->model.words[THR_SIDE_QUERY]);
    double sum = 0;
    for (size_t i = 0; m->t->model.config.hits && i < n; i++)
        for (size_t f = 0; f < n_features; f++) {
            const uint32_t row = m->t->map.rows[THR_SIDE_QUERY][words[i]], field = m->t->map.fields[words[i]];
            if (is_hit(m, words[i], features[f]) && field != THR_DUAL_NONE)
                sum += (double)x[i] * (m->hits[n_words + field] + (row != THR_DUAL_NONE ? m->hits[row] : 0));
        }
    return sum;
}

static void naive_scores(const naive *m, uint32_t r, double scores[DUAL_ADS]) {
    const thr_dual_requests *q = &m->t->requests;
    const thr_dual_items *items = &m->t->items;
    const size_t word = q->word_offsets[r], n = q->word_offsets[r + 1] - word;
    double user[MOST_VECTOR], vector[MOST_VECTOR];
    naive_vector(m, THR_SIDE_QUERY, q->words + word, q->x + word, n, user);
    for (size_t a = 0; a < DUAL_ADS; a++) {
        const uint32_t ad = q->ads[q->ad_offsets[r] + a];
        const uint32_t *features = items->words + items->offsets[ad];
        const size_t n_features = items->offsets[ad + 1] - items->offsets[ad];
        naive_vector(m, THR_SIDE_ITEM, features, NULL, n_features, vector);
        scores[a] = naive_hits(m, q->words + word, q->x + word, n, features, n_features);
        for (size_t d = 0; d < thr_dual_n_vector(&m->t->model.config); d++)
            scores[a] += user[d] * vector[d];
    }
}

/* The scores times their gradients, which are frozen: its gradient is the loss's. */
static double naive_sum(const naive *m, const uint32_t *numbers) {
    double sum = 0;
    for (size_t r = 0; r < BATCH; r++) {
        double scores[DUAL_ADS];
        naive_scores(m, numbers[r], scores);
        for (size_t a = 0; a < DUAL_ADS; a++)
            sum += (double)m->t->scores.d_scores[r * DUAL_ADS + a] * scores[a];
    }
    return sum;
}

static void check_scores(const naive *m, const uint32_t *numbers, double loss) {
    const thr_dual_trainer *t = m->t;
    const thr_rank_loss rank = thr_dual_trainer_loss(t);
    double sum = 0;
    for (size_t r = 0; r < BATCH; r++) {
        double scores[DUAL_ADS], scratch[6 * DUAL_ADS];
        const float *got = t->scores.scores + r * DUAL_ADS;
        const size_t first = (size_t)t->requests.ad_offsets[numbers[r]];
        const thr_rank_list list = {DUAL_ADS, t->requests.levels + first, t->requests.values + first};
        naive_scores(m, numbers[r], scores);
        for (size_t a = 0; a < DUAL_ADS; a++)
            assert_case(fabs((double)got[a] - scores[a]) <= 2e-6, "score %zu of request %zu: %.9g, should be %.9g", a,
                        r, (double)got[a], scores[a]);
        sum += thr_nn_rank_loss_run(thr_kernels_get(thr_kernel_isa_best()), &rank, &list, got, NULL, scratch);
    }
    assert_true(sum / BATCH == loss);
}

/* Central differences by some of n weights, which a gradient of the trainer's is beside. */
static void check_gradient(const naive *m, const uint32_t *numbers, double *weights, const float *gradient, size_t n,
                           const char *what, uint64_t *rng) {
    for (int probe = 0; probe < 60; probe++) {
        const size_t at = (size_t)thr_rng_below(rng, n);
        const double h = 1e-5, w = weights[at];
        weights[at] = w + h;
        const double above = naive_sum(m, numbers);
        weights[at] = w - h;
        const double below = naive_sum(m, numbers);
        weights[at] = w;
        const double want = (above - below) / (2 * h);
        assert_case(fabs((double)gradient[at] - want) <= 1e-6 + 1e-5 * fabs(want),
                    "seed %llu: gradient of %s %zu is %.9g, should be %.9g", (unsigned long long)test_seed(), what, at,
                    (double)gradient[at], want);
    }
}

/* What the optimiser would be given of a side's embeddings. */
static float *table_gradient(const thr_dual_trainer *t, thr_side side) {
    const thr_dual_bags *bags = &t->scores.batch.examples[side];
    const size_t n = t->model.config.n_embedding, n_fields = thr_dual_n_fields(&t->model.words[side]);
    const size_t first = side == THR_SIDE_QUERY ? 0 : t->scores.batch.n * thr_dual_n_inputs(&t->model, THR_SIDE_QUERY);
    float *gradient = test_new(t->base.tables[side].n, sizeof *gradient);
    for (size_t bag = 0; bag < bags->n * n_fields; bag++)
        for (size_t e = bags->offsets[bag]; e < bags->offsets[bag + 1]; e++)
            for (size_t c = 0; c < n; c++)
                gradient[bags->rows[e] * n + c] += bags->weights[e] * t->back.d_inputs[first + bag * n + c];
    return gradient;
}

static float *hits_gradient(const thr_dual_trainer *t) {
    const thr_dual_batch *batch = &t->scores.batch;
    float *gradient = test_new(t->base.hits.n, sizeof *gradient);
    for (size_t h = 0; h < batch->history_offsets[batch->n]; h++) {
        const thr_dual_history *word = &batch->history[h];
        gradient[thr_dual_n_words(&t->model.words[THR_SIDE_QUERY]) + word->field] += t->scores.d_history[h];
        if (word->row != THR_DUAL_NONE)
            gradient[word->row] += t->scores.d_history[h];
    }
    return gradient;
}

static void check_model(thr_context *context, const thr_dual_train_options *options, uint64_t *rng) {
    thr_dual_trainer *t = start(context, options);
    double loss = 0;
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        for (size_t i = 0; i < t->base.tables[side].n; i++)
            t->base.tables[side].values[i] *= 10; /* so that tanh bends */
    for (size_t i = 0; i < t->base.hits.n; i++)
        t->base.hits.values[i] = 0.3f * test_normal(rng);
    const uint32_t *numbers = t->base.split.train + thr_rng_below(rng, t->base.split.n_train - BATCH);
    expect_ok(thr_dual_gradient(t, numbers, BATCH, &loss, &err));
    naive m = {
        t,
        {widen(t->base.tables[0].values, t->base.tables[0].n), widen(t->base.tables[1].values, t->base.tables[1].n)},
        widen(t->base.dense.values, t->base.dense.n),
        widen(t->base.hits.values, t->base.hits.n)};
    assert_true(thr_dual_n_inputs(&t->model, THR_SIDE_QUERY) <= MOST_INPUTS);
    check_scores(&m, numbers, loss);
    check_gradient(&m, numbers, m.dense, t->base.dense.gradients, t->base.dense.n, "dense weight", rng);
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        float *gradient = table_gradient(t, side);
        check_gradient(&m, numbers, m.tables[side], gradient, t->base.tables[side].n, "embedding", rng);
    }
    if (options->config.hits) {
        float *gradient = hits_gradient(t);
        check_gradient(&m, numbers, m.hits, gradient, t->base.hits.n, "hit", rng);
    }
    thr_training_end(&t->base);
}

RANDOM_TEST(scores_and_gradients_are_the_naive_models) {
    thr_dual_train_options options;
    dual_write_items(items_path);
    dual_write_requests(requests_path, 0, DUAL_REQUESTS);
    for (unsigned kind = 0; kind < 12; kind++) {
        dual_small(&options);
        options.config.n_products = kind % 2 == 0 ? 3 : 0;
        options.config.hits = kind / 2 % 2 == 0;
        options.loss = (thr_dual_loss)(kind / 4);
        check_model(*state, &options, &rng);
    }
}

/* A step moves every weight as the optimiser would by the gradient, and no other. */
TEST(words_that_a_batch_lacks_stay) {
    thr_dual_train_options options;
    double loss = 0;
    dual_small(&options);
    dual_write_items(items_path);
    dual_write_requests(requests_path, 0, DUAL_REQUESTS);
    for (int optimiser = THR_DUAL_ADAM; optimiser <= THR_DUAL_FTRL; optimiser++) {
        options.optimiser = (thr_dual_optimiser)optimiser;
        options.l1 = optimiser == THR_DUAL_FTRL ? 1e-3f : 0;
        thr_dual_trainer *t = start(*state, &options);
        double *before = widen(t->base.tables[THR_SIDE_ITEM].values, t->base.tables[THR_SIDE_ITEM].n);
        expect_ok(thr_training_step(&t->base, t->base.split.train, &loss, &err));
        float *gradient = table_gradient(t, THR_SIDE_ITEM);
        size_t n_moved = 0;
        for (size_t i = 0; i < t->base.tables[THR_SIDE_ITEM].n; i++) {
            const double moved = (double)t->base.tables[THR_SIDE_ITEM].values[i] - before[i];
            if (gradient[i] == 0)
                assert_true(fabs(moved) <= 1e-7); /* FTRL computes a weight anew from its state */
            else if (fabsf(gradient[i]) > 1e-5f)
                assert_case(moved * (double)gradient[i] < 0, "optimiser %d, weight %zu: moved %g with a gradient of %g",
                            optimiser, i, moved, (double)gradient[i]);
            n_moved += moved != 0;
        }
        assert_true(n_moved > 20);
        thr_training_end(&t->base);
    }
}

/* Two steps of Adam as Kingma and Ba print them; more do not fit a float's precision. */
TEST(dense_layers_take_adam) {
    static const double b1 = 0.9, b2 = 0.999, epsilon = 1e-8;
    thr_dual_train_options options;
    double loss = 0;
    dual_write_items(items_path);
    dual_write_requests(requests_path, 0, DUAL_REQUESTS);
    dual_small(&options);
    thr_dual_trainer *t = start(*state, &options);
    const thr_weights *dense = &t->base.dense;
    double *w = widen(dense->values, dense->n), *m = test_new(dense->n, sizeof *m);
    double *v = test_new(dense->n, sizeof *v),
           all = (double)(t->base.split.n_train / options.run.batch * options.run.n_epochs);
    for (int step = 1; step <= 2; step++) {
        const double rate = (double)options.run.rate * (1 - (step - 1) / all);
        expect_ok(thr_training_step(&t->base, t->base.split.train, &loss, &err));
        for (size_t i = 0; i < dense->n; i++) {
            const double g = (double)dense->gradients[i];
            m[i] = b1 * m[i] + (1 - b1) * g;
            v[i] = b2 * v[i] + (1 - b2) * g * g;
            w[i] -= rate * (m[i] / (1 - pow(b1, step))) / (sqrt(v[i] / (1 - pow(b2, step))) + epsilon);
            assert_case(fabs((double)dense->values[i] - w[i]) <= 1e-5 * (fabs(w[i]) + rate),
                        "step %d, weight %zu: %.9g, not %.9g", step, i, (double)dense->values[i], w[i]);
        }
    }
    thr_training_end(&t->base);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_tower_device_steps.c - steps of a training on an emulated GPU against the CPU's: losses, moments and weights.
 *
 * The GPU may differ in the order in which products of matrices and the loss are added up. Losses are held to LOSSES of
 * the CPU's; moments, which are the gradients but for a factor, to GRADIENTS of the largest of their array. Weights can
 * only be compared where the gradient is more than rounding: Adam divides it by its own length, so that the first step
 * takes every weight by the rate, in a direction that rounding decides where all else cancels out.
 */
#define TOWER_TEST "device-steps"
#include "text_tower_support.h"

#include "emulator.h"
#include "text_tower/trainer.h"
#include "training/train.h"

static const double LOSSES = 1e-5, GRADIENTS = 1e-5;
/* Gradients of less than this share of their array's largest may be rounding; where they are more, how far weights may
 * be from the CPU's, as a share of the rate. */
static const double SURE = 1e-2, WEIGHTS = 1e-4;

static const char pairs[] = NAME("pairs.tsv"), *const models[] = {NAME("one"), NAME("two")};
static test_emulator emulator;

typedef struct kind {
    const char *name;
    uint32_t query_bits, item_bits;
    thr_estimator estimator;
    bool shared_words, shared_steps, plain_weights;
    float floats;
    uint32_t max_grams;
} kind;

static const kind kinds[] = {
    {"m_1", 32, 32, THR_ESTIMATOR_VARIANT, false, false, false, 0, 300},
    {"rbe", 3, 2, THR_ESTIMATOR_VARIANT, false, false, false, 0, 300},
    {"rbe, as floats", 3, 2, THR_ESTIMATOR_VARIANT, false, false, false, 0.5f, 300},
    {"m_5", 32, 2, THR_ESTIMATOR_STRAIGHT, false, false, false, 0, 300},
    {"shared words", 3, 2, THR_ESTIMATOR_TANH, true, false, false, 0, 300},
    {"shared steps", 4, 3, THR_ESTIMATOR_STRAIGHT, false, true, false, 0, 300},
    {"plain weights", 3, 3, THR_ESTIMATOR_VARIANT, false, false, true, 0, 300},
    {"all shared", 4, 4, THR_ESTIMATOR_TANH, true, true, true, 0, 300},
    {"words without trigrams", 2, 1, THR_ESTIMATOR_VARIANT, false, false, false, 0, 1},
};

/* Two trainings write two models. */
static thr_text_trainer *start(thr_context *context, const kind *k, int number) {
    thr_tower_train_options options;
    tower_small(&options);
    options.config.n_dims = 16;
    options.config.n_pooled = 24;
    options.config.max_grams = k->max_grams;
    options.config.query_bits = k->query_bits;
    options.config.item_bits = k->item_bits;
    options.config.shared_words = k->shared_words;
    options.config.shared_steps = k->shared_steps;
    options.config.plain_weights = k->plain_weights;
    options.estimator = k->estimator;
    options.float_share = k->floats;
    options.run.batch = 16;
    const thr_training_files files = {models[number], {pairs}};
    const thr_text_task task = {.options = &options, .pairs_path = pairs};
    thr_trainer *trainer = NULL;
    expect_ok(thr_training_begin(context, &thr_texts_trainer.base, &files, &options.run, &task, &trainer, &err));
    expect_ok(thr_training_choose_device(trainer, &err));
    return (thr_text_trainer *)trainer;
}

static double step(thr_trainer *trainer) {
    double loss = 0;
    expect_ok(
        thr_training_step(trainer, trainer->split.train + trainer->state.step * trainer->options->batch, &loss, &err));
    return loss;
}

static double largest(const float *x, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)x[i]));
    return most;
}

/* An array of the model after a step: weights and moments of both. */
typedef struct learned {
    const float *weights[2], *m[2], *v[2];
    size_t n;
} learned;

static void compare(const kind *k, const char *what, const learned *l, double rate) {
    const double most = largest(l->m[0], l->n), most_v = largest(l->v[0], l->n);
    for (size_t i = 0; i < l->n; i++) {
        const double m = (double)l->m[0][i], v = (double)l->v[0][i], w = (double)l->weights[0][i];
        assert_case(fabs(m - (double)l->m[1][i]) <= GRADIENTS * most, "%s, %s: gradient %zu is %g, not %g of %g",
                    k->name, what, i, (double)l->m[1][i], m, most);
        assert_case(fabs(v - (double)l->v[1][i]) <= GRADIENTS * most_v, "%s, %s: square %zu is %g, not %g of %g",
                    k->name, what, i, (double)l->v[1][i], v, most_v);
        const double allowed = fabs(m) >= SURE * most ? WEIGHTS * rate : 2.001 * rate;
        assert_case(fabs(w - (double)l->weights[1][i]) <= allowed, "%s, %s: weight %zu is %.9g, not %.9g", k->name,
                    what, i, (double)l->weights[1][i], w);
    }
}

static void compare_all(const kind *k, const thr_text_trainer *cpu, const thr_text_trainer *gpu) {
    const thr_tower_config *config = &cpu->model.config;
    const double rate = (double)cpu->options.run.rate;
    for (size_t t = 0; t < thr_model_n_tables(config); t++) {
        const learned words = {.weights = {cpu->base.tables[t].values, gpu->base.tables[t].values},
                               .m = {cpu->base.tables[t].slots[0], gpu->base.tables[t].slots[0]},
                               .v = {cpu->base.tables[t].slots[1], gpu->base.tables[t].slots[1]},
                               .n = cpu->base.tables[0].n};
        compare(k, t == 0 ? "words" : "words of items", &words, rate);
    }
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        for (size_t p = 0; p < thr_text_model_tensors(config, side).n; p++) {
            const thr_tensor_shape shape = thr_text_model_tensors(config, side).shapes[p];
            const size_t at = (size_t)(cpu->model.tensors[side][p] - cpu->base.dense.values);
            const learned part = {.weights = {cpu->base.dense.values + at, gpu->base.dense.values + at},
                                  .m = {cpu->base.dense.slots[0] + at, gpu->base.dense.slots[0] + at},
                                  .v = {cpu->base.dense.slots[1] + at, gpu->base.dense.slots[1] + at},
                                  .n = thr_tensor_size(&shape)};
            compare(k, shape.name, &part, rate);
        }
}

TEST(steps_have_the_losses_and_gradients_of_the_cpu) {
    thr_context *const *contexts = *state;
    enum { STEPS = 4 };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        thr_text_trainer *cpu = start(contexts[0], &kinds[i], 0), *gpu = start(contexts[1], &kinds[i], 1);
        assert_true(cpu->base.learner == NULL && gpu->base.learner != NULL);
        for (int s = 0; s < STEPS; s++) {
            const uint64_t before = emulator.launches();
            const double wanted = step(&cpu->base), got = step(&gpu->base);
            assert_true(emulator.launches() > before && gpu->base.is_ahead);
            assert_case(fabs(got - wanted) <= LOSSES * wanted, "%s, step %d: loss %.9g, not %.9g", kinds[i].name, s,
                        got, wanted);
            if (s == 0) {
                expect_ok(thr_training_fetch(&gpu->base, &err));
                compare_all(&kinds[i], cpu, gpu);
            }
        }
        thr_training_end(&cpu->base);
        thr_training_end(&gpu->base);
        assert_true(emulator.allocated() == 0 && emulator.pinned() == 0);
    }
}

/* Fetched weights and state are complete: another learner continues with the same bits. */
TEST(a_learner_can_take_anothers_place) {
    thr_context *const *contexts = *state;
    thr_trainer *one = &start(contexts[1], &kinds[1], 0)->base, *two = &start(contexts[1], &kinds[1], 1)->base;
    for (int s = 0; s < 3; s++) {
        assert_true(step(one) == step(two));
        expect_ok(thr_training_fetch(two, &err));
        thr_device_policy_end(&two->policy);
        thr_device_policy_start(&two->policy, contexts[1]);
        expect_ok(thr_training_choose_device(two, &err));
    }
    expect_ok(thr_training_fetch(one, &err));
    assert_memory_equal(one->dense.values, two->dense.values, one->dense.n * sizeof *one->dense.values);
    assert_memory_equal(one->tables[1].values, two->tables[1].values, one->tables[0].n * sizeof(float));
    assert_memory_equal(one->tables[0].slots[1], two->tables[0].slots[1], one->tables[0].n * sizeof(float));
    thr_training_end(one);
    thr_training_end(two);
}

static int setup(void **state) {
    static thr_context *contexts[2];
    static const char *const devices[] = {"cpu", "cuda"};
    for (size_t i = 0; i < 2; i++) {
        thr_context_options options = {0};
        options.n_threads = 1;
        options.device = devices[i];
        expect_ok(thr_context_create(&options, &contexts[i], &err));
    }
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    *state = contexts;
    return 0;
}

static int teardown(void **state) {
    thr_context *const *contexts = *state;
    for (size_t i = 0; i < 2; i++)
        thr_context_free(contexts[i]);
    (void)unlink(pairs);
    return 0;
}

TEST_NEEDS(test_emulator_take(&emulator, 1))
TEST_GROUP(setup, teardown)

/* SPDX-License-Identifier: Apache-2.0 */
/* text_tower_signs.c - signs take the place of floats: planes quantise the learned floats, in every shape. */
#define TOWER_TEST "signs"
#include "text_tower_support.h"

#include "text_tower/trainer.h"
#include "training/train.h"

static const char pairs[] = NAME("pairs.tsv"), model[] = NAME("model");
enum { BATCH = 40 };

/* A training of which the epochs as floats are over, without having learned anything. */
static thr_text_trainer *start(thr_context *context, const thr_tower_train_options *options) {
    const thr_training_files files = {model, {pairs}};
    const thr_text_task task = {.options = options, .pairs_path = pairs};
    thr_trainer *base = NULL;
    expect_ok(thr_training_begin(context, &thr_texts_trainer.base, &files, &options->run, &task, &base, &err));
    thr_text_trainer *trainer = (thr_text_trainer *)base;
    assert_true(thr_text_trainer_float_epochs(trainer) == 1);
    return trainer;
}

/* The least error of c e, for any c, as a share of x: 1 - cosine^2. The first plane must be x's sign. */
static double error_of_planes(const float *x, const float *e, const float *before, size_t n) {
    double product = 0, x_square = 0, e_square = 0;
    for (size_t i = 0; i < n; i++) {
        product += (double)x[i] * (double)e[i];
        x_square += (double)x[i] * (double)x[i];
        e_square += (double)e[i] * (double)e[i];
        assert_true((before[i] > 0) == (x[i] > 0));
    }
    return 1 - product * product / (x_square * e_square);
}

/* The error of planes that quantise normal numbers, as a share of their square (Max 1960); a limit twice as large. */
TEST(planes_are_a_quantiser_of_the_floats) {
    static const double errors[] = {0, 0.363, 0.119, 0.0374, 0.0115};
    for (uint32_t bits = 1; bits <= 4; bits++) {
        for (int shared = 0; shared < 2; shared++) {
            thr_tower_train_options options;
            tower_small(&options);
            options.config.n_dims = 16;
            options.config.n_pooled = 64;
            options.config.query_bits = options.config.item_bits = bits;
            options.config.shared_steps = shared == 1;
            options.run.batch = BATCH;
            options.run.n_epochs = 2;
            thr_text_trainer *trainer = start(*state, &options);
            const size_t n = (size_t)BATCH * options.config.n_dims;
            float *x = test_new(n, sizeof *x);
            const thr_batch_mode mode = {0};
            expect_ok(thr_text_trainer_forward(trainer, thr_trainer_model(trainer), &trainer->pairs,
                                               trainer->base.split.train, BATCH, &mode, &err));
            memcpy(x, trainer->scratch.passes[THR_SIDE_ITEM].before[0], n * sizeof *x);
            expect_ok(thr_text_trainer_init_planes(trainer, &err));
            trainer->base.state.epoch++;
            expect_ok(thr_text_trainer_forward(trainer, thr_trainer_model(trainer), &trainer->pairs,
                                               trainer->base.split.train, BATCH, &mode, &err));
            const thr_pass *pass = &trainer->scratch.passes[THR_SIDE_ITEM];
            const float *e = thr_pass_embedding(&trainer->model.config, THR_SIDE_ITEM, pass);
            const double error = error_of_planes(x, e, pass->before[0], n);
            assert_case(error < 2 * errors[bits], "%u bits, %s steps: an error of %g, %g is to be had", bits,
                        shared == 1 ? "the same" : "other", error, errors[bits]);
            thr_training_end(&trainer->base);
        }
    }
}

/* Adam's moments begin anew, and so does their correction: the first step is the rate, a tenth for dense layers. */
TEST(the_first_step_with_signs_is_as_long_as_the_rate) {
    thr_tower_train_options options;
    double loss = 0;
    tower_small(&options);
    options.run.batch = BATCH;
    options.run.n_epochs = 2;
    thr_text_trainer *trainer = start(*state, &options);
    const size_t n_steps = trainer->base.split.n_train / BATCH;
    float *before = test_new(trainer->base.dense.n, sizeof *before);
    for (size_t i = 0; i < n_steps; i++)
        expect_ok(thr_training_step(&trainer->base, trainer->base.split.train + i * BATCH, &loss, &err));
    expect_ok(thr_text_trainer_init_planes(trainer, &err));
    trainer->base.state.epoch++;
    const float rate = thr_text_trainer_dense_optimiser(trainer).rate;
    assert_true(rate == 0.1f * thr_text_trainer_optimiser(trainer).rate);
    memcpy(before, trainer->base.dense.values, trainer->base.dense.n * sizeof *before);
    expect_ok(thr_training_step(&trainer->base, trainer->base.split.train, &loss, &err));
    float most = 0;
    for (size_t i = 0; i < trainer->base.dense.n; i++)
        most = fmaxf(most, fabsf(trainer->base.dense.values[i] - before[i]));
    assert_case(most > 0.99f * rate && most < 1.01f * rate, "a weight moved by %g at a rate of %g", (double)most,
                (double)rate);
    thr_training_end(&trainer->base);
}

TEST(shapes_that_cannot_be_inverted_do_no_harm) {
    static const uint32_t shapes[][2] = {{32, 24}, {32, 25}, {33, 3}, {50, 1}, {2, 64}, {1, 1}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        for (uint32_t bits = 2; bits <= 8; bits += 3) {
            thr_tower_train_options options;
            tower_small(&options);
            options.config.n_dims = shapes[i][0];
            options.config.n_pooled = shapes[i][1];
            options.config.query_bits = options.config.item_bits = bits;
            options.run.n_epochs = 4;
            options.run.rate = 0.002f;
            const thr_tower_report report = tower_train(*state, pairs, model, &options);
            assert_true(report.best_epoch > 2 && isfinite(report.valid_loss));
        }
    }
}

TEST(one_epoch_at_least_has_signs) {
    static const float shares[] = {0, 0.5f, 0.9f, 0.99999994f};
    for (size_t i = 0; i < COUNT_OF(shares); i++) {
        for (uint32_t n_epochs = 1; n_epochs <= 3; n_epochs++) {
            thr_tower_train_options options;
            tower_small(&options);
            options.run.n_epochs = n_epochs;
            options.float_share = shares[i];
            (void)unlink(model);
            assert_true(tower_train(*state, pairs, model, &options).best_epoch != 0);
        }
    }
}

typedef struct seen_epochs {
    uint32_t as_floats, as_signs;
} seen_epochs;

static void count_epochs(void *user, const thr_tower_epoch *epoch) {
    seen_epochs *seen = user;
    assert_true(!epoch->as_floats || (seen->as_signs == 0 && !epoch->best));
    *(epoch->as_floats ? &seen->as_floats : &seen->as_signs) += 1;
}

TEST(floats_come_first_and_are_not_kept) {
    thr_tower_train_options options;
    seen_epochs seen = {0};
    tower_small(&options);
    options.run.n_epochs = 8;
    options.run.patience = 1; /* counts from the first model on */
    options.run.on_epoch = count_epochs;
    options.run.on_epoch_user = &seen;
    (void)tower_train(*state, pairs, model, &options);
    assert_true(seen.as_floats == 4 && seen.as_signs >= 1);
    seen = (seen_epochs){0};
    options.config.query_bits = options.config.item_bits = THR_FLOAT_BITS;
    (void)tower_train(*state, pairs, model, &options);
    assert_true(seen.as_floats == 0);
}

static int setup(void **state) {
    tower_write_pairs(pairs, 0, 300);
    return tower_setup(state);
}

TEST_GROUP(setup, tower_teardown)

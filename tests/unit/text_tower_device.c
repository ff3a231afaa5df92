/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_tower_device.c - trainings in contexts that use GPUs, which are emulated: about the CPU's models, the same bits
 * where they are stopped and resumed, and messages and fallbacks where there are no GPUs, or they fail.
 */
#define TOWER_TEST "device"
#include "text_tower_support.h"
#include "tower_device_support.h"

static const char pairs[] = NAME("pairs.tsv"), model[] = NAME("model"), other[] = NAME("other"),
                  checkpoint[] = NAME("other.checkpoint");

static void small(thr_tower_train_options *options) {
    tower_small(options);
    options->run.n_epochs = 3;
    options->run.batch = 30;
    (void)unlink(other);
    (void)unlink(checkpoint);
}

static thr_status train(const char *device, const thr_tower_train_options *options, char said[256]) {
    thr_context *context = tower_context(device, NULL);
    const thr_status status = thr_tower_train(context, pairs, other, options, NULL, &error);
    (void)snprintf(said, 256, "%s", thr_context_device(context));
    tower_end(context);
    return status;
}

/* Comes first: once cuBLAS was there, it stays. */
TEST(without_cublas_auto_takes_the_cpu_and_cuda_names_what_is_missing) {
    thr_tower_train_options options;
    char said[256];
    const char *there = getenv("THR_CUBLAS_LIBRARY");
    char kept[1024];
    (void)snprintf(kept, sizeof kept, "%s", there == NULL ? "" : there);
    (void)setenv("THR_CUBLAS_LIBRARY", "/nowhere/libcublas.so", 1);
    small(&options);
    (void)tower_train(*state, pairs, model, &options);
    assert_ok(train("auto", &options, said), &error);
    assert_case(strncmp(said, "cpu; ", 5) == 0 && strstr(said, "cuBLAS") != NULL, "%s", said);
    assert_true(tower_same_files(model, other));
    small(&options);
    assert_error(train("cuda", &options, said), THR_EDEVICE, &error, "/nowhere/libcublas.so");
    assert_true(access(other, F_OK) != 0 && access(checkpoint, F_OK) != 0);
    (void)setenv("THR_CUBLAS_LIBRARY", kept, 1);
}

/* Through floats, the change to signs, and signs. */
TEST(a_training_ends_about_where_the_cpus_does) {
    static const char *const devices[] = {"cuda:0", "auto", "cuda"};
    thr_tower_train_options options;
    thr_tower_report wanted, got, again;
    small(&options);
    options.config.n_dims = options.config.n_pooled = 24;
    options.config.max_grams = 500;
    options.run.n_epochs = 8;
    options.float_share = 0.5f;
    wanted = tower_train(*state, pairs, model, &options);
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        thr_context *context = tower_context(devices[i], NULL);
        const uint64_t before = emulator.launches();
        got = tower_train(context, pairs, i == 0 ? model : other, &options);
        assert_true(emulator.launches() > before);
        assert_true(strncmp(thr_context_device(context), "cuda:0", 6) == 0);
        assert_case(fabs(got.valid_loss - wanted.valid_loss) < 0.1 * wanted.valid_loss, "validation %g, not %g",
                    got.valid_loss, wanted.valid_loss);
        assert_case(fabs(got.valid_quality - wanted.valid_quality) < 0.03, "AUC %g, not %g", got.valid_quality,
                    wanted.valid_quality);
        assert_true(got.n_epochs == wanted.n_epochs && got.n_pairs == wanted.n_pairs);
        tower_end(context);
        again = i == 0 ? got : again;
        assert_true(again.valid_loss == got.valid_loss && (i == 0 || tower_same_files(model, other)));
    }
}

/* Trained on a device and stopped at this call; gone on with on another. */
static void train_with_stop(const thr_tower_train_options *given, unsigned stop_at, const char *device,
                            const char *then) {
    thr_tower_train_options options = *given;
    tower_stopper s = {.stop_at = stop_at};
    (void)unlink(other);
    thr_context *context = tower_context(device, &s);
    assert_error(thr_tower_train(context, pairs, other, &options, NULL, &error), THR_ECANCELED, &error,
                 "a checkpoint was written");
    tower_end(context);
    options.run.resume = true;
    context = tower_context(then, NULL);
    (void)tower_train(context, pairs, other, &options);
    assert_int_equal(strncmp(thr_context_device(context), then, 3), 0);
    tower_end(context);
    assert_int_equal(access(checkpoint, F_OK), -1);
}

/* Calls of tower_stop: pairs read; of each epoch its first step and its end. */
TEST(a_training_stopped_and_resumed_on_a_gpu_gives_the_same_model) {
    thr_tower_train_options options;
    char said[256];
    small(&options);
    options.config.shared_words = true;
    assert_ok(train("cuda", &options, said), &error);
    assert_int_equal(rename(other, model), 0);
    for (unsigned at = 2; at <= 7; at++) {
        train_with_stop(&options, at, "cuda", "cuda");
        assert_case(tower_same_files(model, other), "stopped at call %u: another model", at);
    }
}

TEST(a_checkpoint_may_be_resumed_on_the_other_kind) {
    thr_tower_train_options options;
    small(&options);
    train_with_stop(&options, 4, "cuda", "cpu");
    train_with_stop(&options, 5, "cpu", "cuda");
    (void)tower_train(*state, pairs, model, &options);
    train_with_stop(&options, 2, "cuda", "cpu"); /* before a step was made */
    assert_true(tower_same_files(model, other));
}

TEST(auto_takes_gpus_for_trainings_that_are_worth_it) {
    thr_tower_train_options options;
    small(&options);
    options.run.n_epochs = 1;
    (void)tower_train(*state, pairs, model, &options);
    thr_context *context = tower_context("auto", NULL);
    context->gpus->wake_up = 0.5;
    const uint64_t before = emulator.launches();
    (void)tower_train(context, pairs, other, &options);
    assert_int_equal(emulator.launches(), before);
    assert_string_equal(thr_context_device(context), "cpu");
    assert_true(tower_same_files(model, other));
    tower_end(context);
}

/* Whatever fails before weights have moved leaves a training of the CPU. */
TEST(auto_falls_back_before_the_first_step_and_reports_why) {
    static const char *const failures[] = {"no device", "driver missing", "alloc 1", "alloc 2", "alloc 3",
                                           "alloc 4",   "alloc 5",        "alloc 6", "copy 1",  "copy 9",
                                           "copy 11",   "launch 1",       "launch 9"};
    thr_tower_train_options options;
    char said[256];
    small(&options);
    options.run.n_epochs = 1;
    (void)tower_train(*state, pairs, model, &options);
    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        small(&options);
        options.run.n_epochs = 1;
        emulator.let_fail(failures[i]);
        const thr_status status = train("auto", &options, said);
        assert_case(status == THR_OK, "%s: %s", failures[i], error.text);
        assert_case(strncmp(said, "cpu; ", 5) == 0, "%s: %s", failures[i], said);
        assert_case(tower_same_files(model, other), "%s: another model", failures[i]);
    }
}

TEST(a_gpu_that_fails_later_ends_a_training_which_can_be_resumed) {
    static const char *const devices[] = {"auto", "cuda"};
    thr_tower_train_options options;
    char said[256];
    char failure[32];
    small(&options);
    const uint64_t before = emulator.launches();
    assert_ok(train("cuda", &options, said), &error);
    assert_int_equal(rename(other, model), 0);
    (void)snprintf(failure, sizeof failure, "launch %u", (unsigned)(emulator.launches() - before) - 5); /* last step */
    for (size_t i = 0; i < 2; i++) {
        small(&options);
        emulator.let_fail(failure);
        assert_error(train(devices[i], &options, said), THR_EDEVICE, &error, "cuda:0");
        options.run.resume = access(checkpoint, F_OK) == 0;
        assert_true(options.run.resume); /* of the epoch before */
        assert_ok(train(devices[i], &options, said), &error);
        assert_true(tower_same_files(model, other));
    }
}

TEST(every_allocation_of_the_device_may_fail) {
    thr_tower_train_options options;
    thr_status status = THR_ENOMEM;
    char failure[32], said[256];
    unsigned n = 1;
    for (; status != THR_OK; n++) {
        small(&options);
        options.run.n_epochs = 1;
        (void)snprintf(failure, sizeof failure, "alloc %u", n);
        emulator.let_fail(failure);
        status = train("cuda", &options, said);
        if (status != THR_OK)
            assert_error(status, THR_ENOMEM, &error,
                         strstr(error.text, "pinned") != NULL ? "pinned" : "smaller than 30");
    }
    assert_true(n > 6);
}

static thr_status do_train(void *arg, thr_error *problem) {
    thr_tower_train_options options;
    small(&options);
    options.run.n_epochs = 1;
    return thr_tower_train(arg, pairs, other, &options, NULL, problem);
}

TEST(every_allocation_of_the_host_may_fail) {
    test_memory memory = {0};
    thr_context_options options = {0};
    thr_context *context = NULL;
    options.n_threads = 1;
    options.device = "cuda:0";
    options.allocator = test_memory_allocator(&memory);
    assert_ok(thr_context_create(&options, &context, &error), &error);
    tower_fail_allocations(&memory, do_train, context);
    tower_end(context);
    assert_int_equal(atomic_load(&memory.live), 0);
}

TEST(too_little_memory_is_refused_with_the_numbers_and_a_remedy) {
    thr_tower_train_options options;
    char said[256];
    small(&options);
    (void)setenv("THR_SIMT_MEMORY", "20000", 1);
    assert_error(train("cuda", &options, said), THR_ENOMEM, &error, "0.0 MB are free; batches smaller than 30");
    assert_non_null(strstr(error.text, "device cpu"));
    (void)unsetenv("THR_SIMT_MEMORY");
}

TEST(numbers_that_run_away_end_a_training_and_name_the_step) {
    static const uint32_t bits[][2] = {{3, 2}, {1, 1}, {32, 32}};
    thr_tower_train_options options;
    char said[256];
    for (size_t i = 0; i < COUNT_OF(bits); i++) {
        small(&options);
        options.config.query_bits = bits[i][0];
        options.config.item_bits = bits[i][1];
        options.run.rate = 3e38f;
        assert_error(train(i == 0 ? "auto" : "cuda", &options, said), THR_ERANGE, &error, "at step ");
        assert_true(access(other, F_OK) != 0);
    }
}

/* *state is a context of the CPU. */
static int setup(void **state) {
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    return tower_setup(state);
}

TEST_NEEDS(test_emulator_take(&emulator, 2))
TEST_GROUP(setup, tower_teardown)

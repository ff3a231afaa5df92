/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dual_tower_device.c - dual towers trained in contexts that use GPUs, which are emulated: the CPU's models to the bit,
 * by every loss and optimiser, stopped and resumed on either, and fallbacks where a GPU fails.
 */
#define TOWER_TEST "dual_device"
#include "dual_tower_support.h"
#include "tower_device_support.h"

static const char requests[] = NAME("requests.tsv"), items[] = NAME("items.tsv"), model[] = NAME("model"),
                  other[] = NAME("other"), checkpoint[] = NAME("other.checkpoint");

static void small(thr_dual_train_options *options) {
    dual_small(options);
    options->run.n_epochs = 2;
    (void)unlink(other);
    (void)unlink(checkpoint);
}

TEST(a_model_is_the_cpus) {
    for (unsigned i = 0; i < 6; i++) {
        thr_dual_train_options options;
        small(&options);
        options.optimiser = i % 2 == 0 ? THR_DUAL_ADAM : THR_DUAL_FTRL;
        options.loss = i < 2 ? THR_DUAL_LOSS_NDCG : i < 4 ? THR_DUAL_LOSS_PRODUCT : THR_DUAL_LOSS_SUM;
        options.value = i == 3 ? THR_DUAL_VALUE_SWAP : options.value;
        options.config.n_products = i == 2 ? 0 : options.config.n_products;
        options.config.hits = i != 4;
        options.config.n_hidden = i == 5 ? 70 : options.config.n_hidden;
        const thr_tower_report right = dual_train(*state, requests, items, model, &options);
        thr_context *context = tower_context(i % 3 == 0 ? "auto" : "cuda", NULL);
        const uint64_t before = emulator.launches();
        const thr_tower_report got = dual_train(context, requests, items, other, &options);
        assert_true(emulator.launches() > before);
        assert_true(strncmp(thr_context_device(context), "cuda:0", 6) == 0);
        assert_case(tower_same_files(model, other), "options %u: another model", i);
        assert_true(got.valid_loss == right.valid_loss && got.valid_quality == right.valid_quality);
        assert_case(fabs(got.loss - right.loss) <= 1e-12 * right.loss, "loss %.17g, not %.17g", got.loss, right.loss);
        tower_end(context);
    }
}

TEST(a_training_goes_on_where_it_was_stopped_on_either) {
    static const char *const devices[][2] = {{"cuda", "cuda"}, {"cuda", "cpu"}, {"cpu", "cuda"}};
    thr_dual_train_options options;
    small(&options);
    (void)dual_train(*state, requests, items, model, &options);
    for (size_t i = 0; i < 3; i++) {
        tower_stopper s = {.stop_at = 3 + (unsigned)i};
        small(&options);
        thr_context *context = tower_context(devices[i][0], &s);
        assert_error(thr_dual_train(context, requests, items, other, &options, NULL, &error), THR_ECANCELED, &error,
                     "a checkpoint was written");
        tower_end(context);
        options.run.resume = true;
        context = tower_context(devices[i][1], NULL);
        (void)dual_train(context, requests, items, other, &options);
        assert_case(tower_same_files(model, other), "stopped on %s: another model", devices[i][0]);
        tower_end(context);
    }
}

/* "cuda" fails, and "auto" has the CPU's model, unless the device is lost after its first step. */
TEST(a_failing_gpu_is_an_error_or_the_cpus_work) {
    static const char *const failures[] = {"alloc 1", "alloc 2",  "alloc 4", "copy 2",
                                           "copy 15", "launch 1", "launch 9"};
    thr_dual_train_options options;
    small(&options);
    (void)dual_train(*state, requests, items, model, &options);
    for (size_t i = 0; i < COUNT_OF(failures); i++)
        for (int automatic = 0; automatic < 2; automatic++) {
            small(&options);
            thr_context *context = tower_context(automatic ? "auto" : "cuda", NULL);
            emulator.let_fail(failures[i]);
            const thr_status status = thr_dual_train(context, requests, items, other, &options, NULL, &error);
            if (automatic)
                assert_ok(status, &error);
            else
                assert_true(status == THR_EDEVICE || status == THR_ENOMEM);
            assert_case(status != THR_OK || tower_same_files(model, other), "%s: another model", failures[i]);
            tower_end(context);
        }
}

static int open_group(void **state) {
    dual_write_items(items);
    dual_write_requests(requests, 1, DUAL_REQUESTS);
    *state = test_context(1, THR_ISA_BEST, NULL);
    return 0;
}

static int close_group(void **state) {
    const char *const files[] = {requests, items, model, other, checkpoint};
    thr_context_free(*state);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        (void)unlink(files[i]);
    return 0;
}

TEST_NEEDS(test_emulator_take(&emulator, 1))
TEST_GROUP(open_group, close_group)

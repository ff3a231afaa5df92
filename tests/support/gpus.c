/* SPDX-License-Identifier: Apache-2.0 */
#include "gpus.h"

#include <stdio.h>
#include <stdlib.h>

static thr_devices *open_devices(thr_context *context, const char *words) {
    thr_device_choice choice;
    thr_devices *devices = NULL;
    thr_error err;
    assert_ok(thr_device_choice_read(words, &choice, &err), &err);
    assert_ok(thr_devices_open(context, &choice, &devices, &err), &err);
    return devices;
}

test_gpus *test_gpus_make(const char *const *ways) {
    test_gpus *gpus = test_array(1, sizeof *gpus);
    assert_true(test_emulator_take(&gpus->emulator, 3));
    for (; ways[gpus->n_contexts] != NULL; gpus->n_contexts++) {
        (void)setenv("THR_KERNEL", ways[gpus->n_contexts], 1);
        gpus->contexts[gpus->n_contexts] = test_context(1 + gpus->n_contexts % 2, THR_ISA_BEST, NULL);
    }
    (void)unsetenv("THR_KERNEL");
    gpus->one = open_devices(gpus->contexts[0], "cuda:1");
    gpus->three = open_devices(gpus->contexts[0], "cuda");
    assert_int_equal(gpus->three->n, 3);
    return gpus;
}

int test_gpus_free(void **state) {
    test_gpus *gpus = *state;
    thr_devices_close(gpus->contexts[0], gpus->one);
    thr_devices_close(gpus->contexts[0], gpus->three);
    const size_t left = gpus->emulator.allocated() + gpus->emulator.pinned();
    for (uint32_t i = 0; i < gpus->n_contexts; i++)
        thr_context_free(gpus->contexts[i]);
    free(gpus);
    if (left != 0)
        (void)fprintf(stderr, "%zu bytes are still allocated\n", left);
    return left != 0;
}

thr_search_options test_counts(uint64_t survivors, uint64_t candidates) {
    thr_search_options options = {.recall = 0.99f};
    options.recall = 0; /* the counts decide */
    options.n_survivors = survivors;
    options.n_candidates = candidates;
    return options;
}

void test_target_put(const test_gpus *gpus, const thr_devices *devices, test_corpus *corpus, const test_shape *shape,
                     const float *rows) {
    thr_error err;
    test_target_make(corpus, shape, rows);
    assert_ok(thr_store_create(gpus->contexts[0], devices, &corpus->scan, &corpus->scan.store, &err), &err);
}

void test_target_take(test_corpus *corpus) {
    thr_store_free(corpus->scan.store);
    test_target_free(corpus);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - three emulated GPUs, contexts to search in, and corpora whose codes are there. */
#pragma once

#include "emulator.h"
#include "store/store.h"
#include "support.h"

enum { TEST_MOST_CONTEXTS = 8 };

typedef struct test_gpus {
    thr_context *contexts[TEST_MOST_CONTEXTS]; /* of one thread and of two, in turns */
    uint32_t n_contexts;
    thr_devices *one, *three;
    test_emulator emulator;
} test_gpus;

/*
 * Devices, and a context for each way of THR_KERNEL; NULL ends the ways. The emulator must have been built.
 */
test_gpus *test_gpus_make(const char *const *ways);

/* A group teardown: fails when anything of the devices is still in use. */
int test_gpus_free(void **state);

/* Searches that let so many rows through, and refine so many. */
thr_search_options test_counts(uint64_t survivors, uint64_t candidates);

/* A corpus with its codes on devices; and its end. */
void test_target_put(const test_gpus *gpus, const thr_devices *devices, test_corpus *corpus, const test_shape *shape,
                     const float *rows);
void test_target_take(test_corpus *corpus);

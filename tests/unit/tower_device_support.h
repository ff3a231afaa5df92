/* SPDX-License-Identifier: Apache-2.0 */
/* tower_device_support.h - contexts of trainings on emulated GPUs; include it after the tower's own support. */
#pragma once

#include "test.h"

#include "device/gpus.h"
#include "emulator.h"

static test_emulator emulator;
static thr_error error;

/* "auto" finds every training worth a GPU in these. */
static inline thr_context *tower_context(const char *device, tower_stopper *s) {
    thr_context_options options = {0};
    thr_context *context = NULL;
    options.n_threads = 1;
    options.device = device;
    options.progress = s == NULL ? NULL : tower_stop;
    options.progress_user = s;
    assert_ok(thr_context_create(&options, &context, &error), &error);
    if (context->gpus != NULL)
        context->gpus->wake_up = -1;
    return context;
}

static inline void tower_end(thr_context *context) {
    thr_context_free(context);
    emulator.let_fail("none");
    assert_int_equal(emulator.allocated(), 0);
    assert_int_equal(emulator.pinned(), 0);
}

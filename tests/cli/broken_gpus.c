/* SPDX-License-Identifier: Apache-2.0 */
/* broken_gpus.c - a backend of two GPUs, neither of which can be opened, nor the second described. */
#include "device/device.h"

#include <stdio.h>

static thr_status fail(uint32_t number, thr_error *err) {
    if (err != NULL) {
        err->status = THR_EDEVICE;
        (void)snprintf(err->text, sizeof err->text, "cuda:%u: this GPU is broken", number);
    }
    return THR_EDEVICE;
}

static thr_status count(uint32_t *n, thr_error *err) {
    (void)err;
    *n = 2;
    return THR_OK;
}

static thr_status describe(uint32_t number, thr_device_info *info, thr_error *err) {
    if (number > 0)
        return fail(number, err);
    *info = (thr_device_info){.name = "Broken 3000",
                              .major = 9,
                              .n_multiprocessors = 7,
                              .memory_bytes = 2000000000,
                              .free_bytes = 1500000000,
                              .driver = 13000,
                              .runtime = 12040};
    return THR_OK;
}

static thr_status open_device(uint32_t number, thr_device **device, thr_error *err) {
    *device = NULL;
    return fail(number, err);
}

const thr_backend *thr_backend_get(void);
const thr_backend *thr_backend_get(void) {
    static const thr_backend backend = {.version = THR_BACKEND_VERSION,
                                        .size = sizeof(thr_backend),
                                        .name = "broken",
                                        .count = count,
                                        .describe = describe,
                                        .open = open_device};
    return &backend;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - arrays within one allocation of device memory: laid out first to add up the size, then in the memory. */
#pragma once

#include "base/memory.h"
#include "base/minmax.h"

/* A layout of arrays within one allocation; while there is no memory it only adds up the size. */
typedef struct thr_device_layout {
    char *memory;
    size_t used;
    bool too_large; /* for size_t */
} thr_device_layout;

static inline void *thr_device_place(thr_device_layout *at, size_t count, size_t size) {
    enum { ALIGN = 256 };
    void *here = at->memory == NULL ? NULL : at->memory + at->used;
    size_t bytes = 0;
    at->too_large =
        at->too_large || !thr_mul_size(count, size, &bytes) || bytes > SIZE_MAX / 4 || at->used > SIZE_MAX / 2;
    if (!at->too_large)
        at->used += THR_ROUND_UP(bytes, ALIGN);
    return here;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.h - the compiler's vector types. The including file defines the floats of a register, THR_LANES: 4, 8 or 16. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "kernel/unroll.h"

#ifndef THR_LANES
#define THR_LANES 4
#endif

enum { LANES = THR_LANES };

typedef float thr_lanes __attribute__((vector_size(4 * THR_LANES)));
typedef int32_t thr_lanes_int __attribute__((vector_size(4 * THR_LANES)));
typedef uint32_t thr_lanes_word __attribute__((vector_size(4 * THR_LANES)));
typedef uint16_t thr_lanes_half __attribute__((vector_size(2 * THR_LANES)));

THR_ALWAYS thr_lanes thr_kernel_load(const float *from) {
    thr_lanes x;
    memcpy(&x, from, sizeof x);
    return x;
}

THR_ALWAYS void thr_kernel_store(float *to, thr_lanes x) {
    memcpy(to, &x, sizeof x);
}

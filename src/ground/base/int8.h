/* SPDX-License-Identifier: Apache-2.0 */
/* int8.h - quantise a row of floats to bytes and a scale: |x[d] - scale * out[d]| is at most about scale / 2. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/minmax.h"

/*
 * Set out to x / scale, rounded to nearest even, from -127 to 127, and return the scale, the largest magnitude / 127.
 * The scale and all bytes are 0 if x is zero or too small for a scale. Adding and subtracting 1.5 * 2^52 rounds a
 * small double to an integer.
 */
static inline float thr_int8_from_f32(int8_t *out, const float *x, uint32_t n) {
    static const double ROUND = 6755399441055744.0, LARGEST = 127;
    float largest = 0;
    for (uint32_t d = 0; d < n; d++) {
        const float magnitude = fabsf(x[d]);
        largest = THR_MAX(magnitude, largest);
    }
    const float scale = (float)((double)largest / LARGEST);
    if (!(scale > 0)) {
        memset(out, 0, n);
        return 0;
    }
    const double factor = LARGEST / (double)largest;
    for (uint32_t d = 0; d < n; d++)
        out[d] = (int8_t)(((double)x[d] * factor + ROUND) - ROUND);
    return scale;
}

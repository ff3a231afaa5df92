/* SPDX-License-Identifier: Apache-2.0 */
/* int8.h - a row of floats as bytes and a scale: x[d] is about scale * out[d], within half of scale. */
#ifndef THR_BASE_INT8_H
#define THR_BASE_INT8_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/*
 * Returns the scale, the largest magnitude / 127, and x / scale rounded to nearest even, -127 to 127. 0, and zeros, of
 * zeros and of what is too small for a scale. Adding and taking off 1.5 * 2^52 rounds a small double to an integer.
 */
static inline float thr_int8_from_f32(int8_t *out, const float *x, uint32_t n) {
    static const double ROUND = 6755399441055744.0, LARGEST = 127;
    float largest = 0;
    for (uint32_t d = 0; d < n; d++) {
        const float magnitude = fabsf(x[d]);
        largest = magnitude > largest ? magnitude : largest;
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

#endif

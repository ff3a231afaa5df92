/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/arm/neon.h"

#include <arm_neon.h>

/*
 * 64 plane bits become byte masks that select digits. A pair of digits is at most 254; with 7 planes, each of twice
 * the weight of the next, sums are at most 254 (2^7 - 1) < 2^15.
 */
int32_t thr_kernel_rest_product_neon(const uint8_t *planes, uint32_t n_planes, size_t n_rows, const int8_t *digits,
                                     int32_t digit_sum) {
    const uint8x16_t places = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    /* byte 0 for 8 dimensions, byte 1 for the next 8 */
    const uint8x16_t spread = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
    int32x4_t sum = vdupq_n_s32(0);
    for (size_t r = 0; r < n_rows; r += 8) {
        int8x16_t digit[4];
        int16x8_t pairs[4];
        for (int v = 0; v < 4; v++) {
            digit[v] = vld1q_s8(digits + 8 * r + 16 * v);
            pairs[v] = vdupq_n_s16(0);
        }
        const uint8_t *at = planes + r;
        for (uint32_t j = 0; j < n_planes; j++, at += n_rows) {
            const uint8x8_t eight = vld1_u8(at);
            const uint8x16_t bits = vcombine_u8(eight, eight);
            for (int v = 0; v < 4; v++) {
                const uint8x16_t byte = vqtbl1q_u8(bits, vaddq_u8(spread, vdupq_n_u8((uint8_t)(2 * v))));
                const int8x16_t picked = vandq_s8(vreinterpretq_s8_u8(vtstq_u8(byte, places)), digit[v]);
                pairs[v] = vpadalq_s8(vaddq_s16(pairs[v], pairs[v]), picked);
            }
        }
        for (int v = 0; v < 4; v++)
            sum = vpadalq_s16(sum, pairs[v]);
    }
    return 2 * vaddvq_s32(sum) - ((1 << n_planes) - 1) * digit_sum;
}

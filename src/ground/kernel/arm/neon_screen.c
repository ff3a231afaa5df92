/* SPDX-License-Identifier: Apache-2.0 */
/* NEON kernels of the screen: bounds, and the kernels of vector_screen.h. */
#define THR_LANES 4
#include "kernel/arm/neon.h"
#include "kernel/vector_screen.h"

/* block_bounds of scalar.c, operation by operation, four blocks at a time. */
static inline int32x4_t bounds_of_4(uint32x4_t floors, float threshold, int32_t total) {
    float32x4_t needed = vmulq_n_f32(vsqrtq_f32(vcvtq_f32_u32(floors)), threshold);
    needed = vmulq_n_f32(needed, 1.0f - 0x1p-19f);
    float32x4_t slack = vmulq_n_f32(vsubq_f32(vdupq_n_f32((float)total), needed), 0.5f);
    slack = vaddq_f32(slack, vmulq_n_f32(vabsq_f32(slack), 0x1p-22f));
    int32x4_t bound = vaddq_s32(vcvtq_s32_f32(slack), vdupq_n_s32(1));
    bound = vbslq_s32(vcgeq_f32(slack, vdupq_n_f32(0x1p30f)), vdupq_n_s32(INT32_MAX), bound);
    return vbslq_s32(vcltzq_f32(slack), vdupq_n_s32(-1), bound);
}

static void block_bounds(int32_t *bounds, const uint32_t *floors, size_t n_blocks, float threshold, int32_t total) {
    size_t b = 0;
    for (; b + 4 <= n_blocks; b += 4)
        vst1q_s32(bounds + b, bounds_of_4(vld1q_u32(floors + b), threshold, total));
    if (b < n_blocks) {
        uint32_t rest[4] = {0};
        int32_t found[4];
        memcpy(rest, floors + b, (n_blocks - b) * sizeof *floors);
        vst1q_s32(found, bounds_of_4(vld1q_u32(rest), threshold, total));
        memcpy(bounds + b, found, (n_blocks - b) * sizeof *bounds);
    }
}

void thr_kernels_fill_neon_screen(thr_kernels *kernels) {
    thr_kernels_fill_screen(kernels);
    kernels->block_bounds = block_bounds;
}

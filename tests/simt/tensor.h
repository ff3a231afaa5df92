/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.h - what kernels write in PTX for tensor cores, in C++: mma.m16n8k32 of signed bytes.
 *
 * With g = lane / 4 and t = lane % 4 the PTX manual gives a lane of the 16 x 32 matrix A the rows g (a[0], a[2]) and
 * g + 8 (a[1], a[3]), columns 4 t to 4 t + 3 (a[0], a[1]) and 16 more (a[2], a[3]), a byte each; of the 32 x 8 matrix B
 * the column g, rows 4 t to 4 t + 3 (b[0]) and 16 more (b[1]); of C the rows g (c[0], c[1]) and g + 8 (c[2], c[3]),
 * columns 2 t and 2 t + 1.
 */
#pragma once

#include "warp.h"

namespace simt {

struct Mma {
    int *c;
    const uint32_t *a, *b;
};

inline int byte_of(uint32_t word, int i) {
    return static_cast<int8_t>(word >> 8 * i & 0xff);
}

/* Element (row, column) of the lanes' registers. */
inline int a_at(void *const *lanes, int row, int column) {
    const Mma &m = *static_cast<const Mma *>(lanes[row % 8 * 4 + column % 16 / 4]);
    return byte_of(m.a[row / 8 + column / 16 * 2], column % 4);
}
inline int b_at(void *const *lanes, int row, int column) {
    const Mma &m = *static_cast<const Mma *>(lanes[column * 4 + row % 16 / 4]);
    return byte_of(m.b[row / 16], row % 4);
}

inline void resolve_mma(void *const *lanes, uint32_t) {
    int a[16][32], b[32][8];
    for (int k = 0; k < 32; k++) {
        for (int row = 0; row < 16; row++)
            a[row][k] = a_at(lanes, row, k);
        for (int column = 0; column < 8; column++)
            b[k][column] = b_at(lanes, k, column);
    }
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            int sum = 0;
            for (int k = 0; k < 32; k++)
                sum += a[lane / 4 + i / 2 * 8][k] * b[k][lane % 4 * 2 + i % 2];
            static_cast<Mma *>(lanes[lane])->c[i] += sum;
        }
}

} // namespace simt

/* c += a b. All lanes. */
inline void simt_mma_s8(int *c, const uint32_t *a, const uint32_t *b, SIMT_HERE) {
    simt::Mma mine = {c, a, b};
    simt::warp_meet("mma.m16n8k32", {file, line}, 0xffffffffu, false, simt::resolve_mma, &mine);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * products.cuh - sums of products of bytes on tensor cores: mma.m16n8k32, available from sm_80 on.
 *
 * The only instruction written in PTX. For the emulator it is written in C++ (tests/simt/tensor.h, which documents
 * the layout of the operands over lanes).
 */
#pragma once

#include "cuda/portable.cuh"

#ifndef __CUDACC__
#include <tensor.h>
#endif

/* c += a b for 16 x 32 and 32 x 8 signed bytes. All lanes of a warp must call it. */
__device__ __forceinline__ void multiply_add(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#ifdef __CUDACC__
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    simt_mma_s8(c, a, b);
#endif
}

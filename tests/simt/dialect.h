/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect.h - the words that CUDA adds to C++: qualifiers, which mean nothing here, and vector types.
 *
 * __shared__ is left out with intent: shared memory is declared with THR_SHARED of shared.h, which checks it.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#define __global__
#define __device__
#define __forceinline__        inline /* a kernel in one piece takes compilers ten times as long */
#define __launch_bounds__(...)        /* registers are no matter here */
#define __grid_constant__

/* The SIMT emulator and not a GPU: what only nvcc takes can be put between #ifndef. */
#define THR_SIMT 1

struct uint3 {
    unsigned x, y, z;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};

constexpr int warpSize = 32;

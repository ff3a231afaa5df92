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
#define __host__
#define __constant__
#define __forceinline__        inline /* a kernel in one piece takes compilers ten times as long */
#define __align__(n)           alignas(n)
#define __launch_bounds__(...) /* registers are no matter here */
#define __grid_constant__

/* The SIMT emulator and not a GPU: what only nvcc takes can be put between #ifndef. */
#define THR_SIMT 1

#define SIMT_VECTOR2(name, type, alignment)                                                                            \
    struct alignas(alignment) name {                                                                                   \
        type x, y;                                                                                                     \
    };                                                                                                                 \
    inline name make_##name(type x, type y) {                                                                          \
        return name{x, y};                                                                                             \
    }
#define SIMT_VECTOR3(name, type)                                                                                       \
    struct name {                                                                                                      \
        type x, y, z;                                                                                                  \
    };                                                                                                                 \
    inline name make_##name(type x, type y, type z) {                                                                  \
        return name{x, y, z};                                                                                          \
    }
#define SIMT_VECTOR4(name, type, alignment)                                                                            \
    struct alignas(alignment) name {                                                                                   \
        type x, y, z, w;                                                                                               \
    };                                                                                                                 \
    inline name make_##name(type x, type y, type z, type w) {                                                          \
        return name{x, y, z, w};                                                                                       \
    }

SIMT_VECTOR2(char2, signed char, 2)
SIMT_VECTOR2(uchar2, unsigned char, 2)
SIMT_VECTOR2(short2, short, 4)
SIMT_VECTOR2(ushort2, unsigned short, 4)
SIMT_VECTOR2(int2, int, 8)
SIMT_VECTOR2(uint2, unsigned, 8)
SIMT_VECTOR2(float2, float, 8)
SIMT_VECTOR2(double2, double, 16)
SIMT_VECTOR2(longlong2, long long, 16)
SIMT_VECTOR2(ulonglong2, unsigned long long, 16)
SIMT_VECTOR3(int3, int)
SIMT_VECTOR3(uint3, unsigned)
SIMT_VECTOR3(float3, float)
SIMT_VECTOR4(char4, signed char, 4)
SIMT_VECTOR4(uchar4, unsigned char, 4)
SIMT_VECTOR4(short4, short, 8)
SIMT_VECTOR4(ushort4, unsigned short, 8)
SIMT_VECTOR4(int4, int, 16)
SIMT_VECTOR4(uint4, unsigned, 16)
SIMT_VECTOR4(float4, float, 16)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};

constexpr int warpSize = 32;

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arithmetic.h - the intrinsics of one thread that src/cuda uses: bits, products, conversions, correctly rounded
 * operations, loads. A kernel that needs another one does not compile until it is added here and in test_intrinsics.cc.
 *
 * Plain code that specifies each of them. The _rn operations need -ffp-contract=off, which the build has for all.
 */
#pragma once

#include <cmath>
#include <cstring>

#include <math.h> /* sqrtf and its like need no std:: with nvcc */

#include "dialect.h"

namespace simt {
template <typename To, typename From> inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits, of another type");
    To to;
    std::memcpy(&to, &from, sizeof(to));
    return to;
}
} // namespace simt

/* ------------------------------------------------------------------------------------------- bits and integers */

inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
inline int __clzll(long long x) {
    return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) {
    return __builtin_ffs(x);
}

/* The product of four signed bytes each, and c. Sums wrap around, as a GPU's do. */
inline int __dp4a(int a, int b, int c) {
    int sum = 0;
    for (int i = 0; i < 32; i += 8)
        sum += static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i);
    return static_cast<int>(static_cast<unsigned>(sum) + static_cast<unsigned>(c));
}

constexpr unsigned min(unsigned a, unsigned b) {
    return b < a ? b : a;
}

/* ----------------------------------------------------------------------------------------------------- floats */

inline float __fadd_rn(float a, float b) {
    return a + b;
}
inline float __fsub_rn(float a, float b) {
    return a - b;
}
inline float __fmul_rn(float a, float b) {
    return a * b;
}
inline __attribute__((no_sanitize("float-divide-by-zero"))) float __fdiv_rn(float a, float b) {
    return a / b;
}
inline float __fsqrt_rn(float a) {
    return std::sqrt(a);
}
inline float __fmaf_rn(float a, float b, float c) {
    return std::fma(a, b, c);
}
inline double __dadd_rn(double a, double b) {
    return a + b;
}
inline double __dmul_rn(double a, double b) {
    return a * b;
}

inline unsigned __float_as_uint(float x) {
    return simt::bits_as<unsigned>(x);
}
inline float __uint_as_float(unsigned x) {
    return simt::bits_as<float>(x);
}
inline float __int_as_float(int x) {
    return simt::bits_as<float>(x);
}
inline long long __double_as_longlong(double x) {
    return simt::bits_as<long long>(x);
}

inline float __int2float_rn(int x) {
    return static_cast<float>(x);
}
inline float __uint2float_rn(unsigned x) {
    return static_cast<float>(x);
}

/* ------------------------------------------------------------------------------------------------------ loads */

template <typename T> inline T __ldg(const T *p) {
    return *p;
}
template <typename T> inline T __ldcs(const T *p) {
    return *p;
}

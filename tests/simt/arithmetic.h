/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arithmetic.h - CUDA's intrinsics of one thread: bits, products, conversions, correctly rounded operations, loads.
 *
 * Plain code that specifies each of them; the overloads are CUDA's, not templates, so that arguments convert alike.
 * The _rn operations need -ffp-contract=off, which the build has for all.
 */
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include <math.h> /* sqrtf and its like need no std:: with nvcc */

#include "dialect.h"

namespace simt {
template <typename To, typename From> inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits, of another type");
    To to;
    std::memcpy(&to, &from, sizeof(to));
    return to;
}

/* What conversions to integers do with what they cannot hold: 0 for NaN, else the nearest. */
template <typename To, typename From> inline To saturate(From whole) {
    constexpr From least = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From beyond = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
    if (whole != whole)
        return 0;
    if (whole < least)
        return std::numeric_limits<To>::min();
    return whole >= beyond ? std::numeric_limits<To>::max() : static_cast<To>(whole);
}
} // namespace simt

/* ------------------------------------------------------------------------------------------------------- bits */

inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
inline int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __clzll(long long x) {
    return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) {
    return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
    return __builtin_ffsll(x);
}

inline unsigned __brev(unsigned x) {
    unsigned y = 0;
    for (unsigned i = 0; i < 32; i++)
        y |= (x >> i & 1u) << (31u - i);
    return y;
}

inline unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
           __brev(static_cast<unsigned>(x >> 32));
}

/* Byte i of the result is the one of y:x that nibble i of s names; the nibble's top bit spreads its sign instead. */
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
    const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned which = s >> (4 * i) & 0xfu;
        unsigned byte = static_cast<unsigned>(both >> (8 * (which & 7u))) & 0xffu;
        if (which & 8u)
            byte = byte & 0x80u ? 0xffu : 0;
        result |= byte << (8 * i);
    }
    return result;
}

/* The upper (l) or lower (r) half of hi:lo shifted by the lower five bits of shift; _lc, _rc: by at most 32. */
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift) {
    const unsigned long long both = static_cast<unsigned long long>(hi) << 32 | lo;
    return static_cast<unsigned>(both << (shift & 31u) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift) {
    const unsigned long long both = static_cast<unsigned long long>(hi) << 32 | lo;
    return static_cast<unsigned>(both >> (shift & 31u));
}
inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned shift) {
    return shift >= 32 ? lo : __funnelshift_l(lo, hi, shift);
}
inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned shift) {
    return shift >= 32 ? hi : __funnelshift_r(lo, hi, shift);
}

/* --------------------------------------------------------------------------------------------------- integers */

inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline int __mulhi(int a, int b) {
    return static_cast<int>(static_cast<long long>(a) * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    __extension__ typedef unsigned __int128 wide;
    return static_cast<unsigned long long>(static_cast<wide>(a) * b >> 64);
}

/* Sums wrap around, as a GPU's do. */
inline int __dp4a(char4 a, char4 b, int c) {
    const int sum = a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    return static_cast<int>(static_cast<unsigned>(sum) + static_cast<unsigned>(c));
}
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
    return static_cast<unsigned>(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w) + c;
}
inline int __dp4a(int a, int b, int c) {
    return __dp4a(simt::bits_as<char4>(a), simt::bits_as<char4>(b), c);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    return __dp4a(simt::bits_as<uchar4>(a), simt::bits_as<uchar4>(b), c);
}

/* CUDA's min and max; with one side unsigned, both are. */
#define SIMT_MIN_MAX(type, a_type, b_type)                                                                             \
    constexpr type min(a_type a, b_type b) {                                                                           \
        const type x = static_cast<type>(a), y = static_cast<type>(b);                                                 \
        return y < x ? y : x;                                                                                          \
    }                                                                                                                  \
    constexpr type max(a_type a, b_type b) {                                                                           \
        const type x = static_cast<type>(a), y = static_cast<type>(b);                                                 \
        return x < y ? y : x;                                                                                          \
    }
SIMT_MIN_MAX(int, int, int)
SIMT_MIN_MAX(unsigned, unsigned, unsigned)
SIMT_MIN_MAX(unsigned, int, unsigned)
SIMT_MIN_MAX(unsigned, unsigned, int)
SIMT_MIN_MAX(long, long, long)
SIMT_MIN_MAX(unsigned long, unsigned long, unsigned long)
SIMT_MIN_MAX(unsigned long, long, unsigned long)
SIMT_MIN_MAX(unsigned long, unsigned long, long)
SIMT_MIN_MAX(long long, long long, long long)
SIMT_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
SIMT_MIN_MAX(unsigned long long, long long, unsigned long long)
SIMT_MIN_MAX(unsigned long long, unsigned long long, long long)
inline float min(float a, float b) {
    return std::fmin(a, b);
}
inline float max(float a, float b) {
    return std::fmax(a, b);
}
inline double min(double a, double b) {
    return std::fmin(a, b);
}
inline double max(double a, double b) {
    return std::fmax(a, b);
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
inline float __frcp_rn(float a) {
    return __fdiv_rn(1.0f, a);
}
inline float __fmaf_rn(float a, float b, float c) {
    return std::fma(a, b, c);
}
inline double __dadd_rn(double a, double b) {
    return a + b;
}
inline double __dsub_rn(double a, double b) {
    return a - b;
}
inline double __dmul_rn(double a, double b) {
    return a * b;
}
inline __attribute__((no_sanitize("float-divide-by-zero"))) double __ddiv_rn(double a, double b) {
    return a / b;
}
inline double __dsqrt_rn(double a) {
    return std::sqrt(a);
}
inline double __fma_rn(double a, double b, double c) {
    return std::fma(a, b, c);
}

inline unsigned __float_as_uint(float x) {
    return simt::bits_as<unsigned>(x);
}
inline float __uint_as_float(unsigned x) {
    return simt::bits_as<float>(x);
}
inline int __float_as_int(float x) {
    return simt::bits_as<int>(x);
}
inline float __int_as_float(int x) {
    return simt::bits_as<float>(x);
}
inline long long __double_as_longlong(double x) {
    return simt::bits_as<long long>(x);
}
inline double __longlong_as_double(long long x) {
    return simt::bits_as<double>(x);
}

inline float __int2float_rn(int x) {
    return static_cast<float>(x);
}
inline float __uint2float_rn(unsigned x) {
    return static_cast<float>(x);
}
inline float __ll2float_rn(long long x) {
    return static_cast<float>(x);
}
inline float __ull2float_rn(unsigned long long x) {
    return static_cast<float>(x);
}
inline float __double2float_rn(double x) {
    return static_cast<float>(x);
}
inline double __int2double_rn(int x) {
    return x;
}
inline double __uint2double_rn(unsigned x) {
    return x;
}
inline double __ll2double_rn(long long x) {
    return static_cast<double>(x);
}

inline int __float2int_rz(float x) {
    return simt::saturate<int>(std::trunc(x));
}
inline int __float2int_rd(float x) {
    return simt::saturate<int>(std::floor(x));
}
inline int __float2int_ru(float x) {
    return simt::saturate<int>(std::ceil(x));
}
inline int __float2int_rn(float x) {
    return simt::saturate<int>(std::nearbyint(x));
}
inline unsigned __float2uint_rz(float x) {
    return simt::saturate<unsigned>(std::trunc(x));
}
inline unsigned __float2uint_rd(float x) {
    return simt::saturate<unsigned>(std::floor(x));
}
inline unsigned __float2uint_ru(float x) {
    return simt::saturate<unsigned>(std::ceil(x));
}
inline unsigned __float2uint_rn(float x) {
    return simt::saturate<unsigned>(std::nearbyint(x));
}
inline long long __float2ll_rz(float x) {
    return simt::saturate<long long>(std::trunc(x));
}

/* ---------------------------------------------------------------------------------------------- loads, stores */

template <typename T> inline T __ldg(const T *p) {
    return *p;
}
template <typename T> inline T __ldcs(const T *p) {
    return *p;
}
template <typename T> inline T __ldcg(const T *p) {
    return *p;
}
template <typename T> inline T __ldca(const T *p) {
    return *p;
}
template <typename T> inline void __stcs(T *p, T value) {
    *p = value;
}
template <typename T> inline void __stcg(T *p, T value) {
    *p = value;
}
template <typename T> inline void __stwb(T *p, T value) {
    *p = value;
}

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

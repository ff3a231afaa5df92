/* SPDX-License-Identifier: Apache-2.0 */
/*
 * half.h - float16 (IEEE 754 binary16) to and from float32, in integers only.
 *
 * Both directions give the bits of x86 F16C: widening is exact; narrowing rounds to nearest, ties to even, overflows to
 * infinity and keeps subnormals; a NaN becomes quiet and keeps the upper bits of its payload.
 */
#pragma once

#include <stdint.h>
#include <string.h>

static inline float thr_half_to_f32(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1fu;
    uint32_t fraction = half & 0x3ffu;
    uint32_t bits;
    if (exponent == 0x1f) {
        uint32_t quiet = fraction != 0 ? 0x00400000u : 0;
        bits = sign | 0x7f800000u | quiet | fraction << 13;
    } else if (exponent != 0) {
        bits = sign | (exponent + 127 - 15) << 23 | fraction << 13;
    } else if (fraction != 0) {
        /* Subnormal: fraction * 2^-24. Shift its highest bit to where float32 implies it. */
        uint32_t shift = (uint32_t)__builtin_clz(fraction) - 21;
        bits = sign | (127 - 14 - shift) << 23 | ((fraction << shift) & 0x3ffu) << 13;
    } else {
        bits = sign;
    }
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint16_t thr_half_from_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    if (magnitude >= 0x477ff000u) /* 65520: halfway from the largest finite half to the next power of two */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude <= 0x33000000u) /* 2^-25: halfway from 0 to the smallest subnormal; the tie rounds to 0 */
        return (uint16_t)sign;

    /* Drop the low bits of the significand; normal halves lose 13, subnormal ones more. */
    uint32_t exponent = magnitude >> 23;
    uint32_t significand, drop;
    if (exponent >= 127 - 14) {
        significand = magnitude - ((uint32_t)(127 - 15) << 23);
        drop = 13;
    } else {
        significand = (magnitude & 0x007fffffu) | 0x00800000u;
        drop = 13 + (127 - 14) - exponent;
    }
    uint32_t rest = significand & ((1u << drop) - 1);
    uint32_t half = 1u << (drop - 1);
    uint32_t result = significand >> drop;
    /* A carry out of the fraction increments the exponent, which gives the correct next number. */
    if (rest > half || (rest == half && (result & 1u) != 0))
        result++;
    return (uint16_t)(sign | result);
}

/* Round to bfloat16, the upper half of a float32, to nearest even. Finite numbers near the largest become infinite. */
static inline uint16_t thr_bf16_from_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float thr_bf16_to_f32(uint16_t half) {
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unroll.h - unroll loops over arrays that must stay in registers: registers have no index, so every index must become
 * a constant. THR_UNROLL goes before such a loop. If the body of another loop ends with it, THR_KEEP_LOOP goes before
 * that other loop; without it gcc applies the inner loop's pragma to both.
 *
 * THR_CALL_COUNT(count, most, f, a, b) calls f(a, b, count), which is compiled once for every count from 1 to most, up
 * to 8: loops to a count are unrolled, too. THR_ALWAYS declares such functions.
 */
#pragma once

#ifdef __clang__
#define THR_UNROLL _Pragma("clang loop unroll(full)")
#define THR_KEEP_LOOP
#else
#define THR_UNROLL    _Pragma("GCC unroll 16")
#define THR_KEEP_LOOP _Pragma("GCC unroll 1")
#endif

#define THR_ALWAYS static inline __attribute__((always_inline))

#define THR_COUNT_(n, count, most, f, ...)                                                                             \
    if ((count) == (n) && (n) <= (most))                                                                               \
        f(__VA_ARGS__, (n) <= (most) ? (n) : 1);

#define THR_CALL_COUNT(count, most, f, ...)                                                                            \
    THR_COUNT_(8, count, most, f, __VA_ARGS__)                                                                         \
    THR_COUNT_(7, count, most, f, __VA_ARGS__)                                                                         \
    THR_COUNT_(6, count, most, f, __VA_ARGS__)                                                                         \
    THR_COUNT_(5, count, most, f, __VA_ARGS__)                                                                         \
    THR_COUNT_(4, count, most, f, __VA_ARGS__)                                                                         \
    THR_COUNT_(3, count, most, f, __VA_ARGS__)                                                                         \
    THR_COUNT_(2, count, most, f, __VA_ARGS__)                                                                         \
    THR_COUNT_(1, count, most, f, __VA_ARGS__)

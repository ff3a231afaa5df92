/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planes.h - call a function that is compiled once for every number of planes, from 1 to 8, and every number of bits of
 * a query, from 1 to 4: its last arguments are constants.
 *
 *     THR_CALL_PLANES(planes, f, a, b);              f(a, b, planes)
 *     THR_CALL_FEW_PLANES(planes, f, a, b);          the same, but compiled once for all numbers from 5 to 8
 *     THR_CALL_PLANES_BITS(planes, bits, f, a, b);   f(a, b, planes, bits)
 */
#pragma once

#define THR_CASE_(value, f, ...)                                                                                       \
    case value:                                                                                                        \
        f(__VA_ARGS__);                                                                                                \
        break;

#define THR_FOUR_PLANES_(f, ...)                                                                                       \
    THR_CASE_(1, f, __VA_ARGS__, 1)                                                                                    \
    THR_CASE_(2, f, __VA_ARGS__, 2)                                                                                    \
    THR_CASE_(3, f, __VA_ARGS__, 3)                                                                                    \
    THR_CASE_(4, f, __VA_ARGS__, 4)

#define THR_CALL_PLANES(planes, f, ...)                                                                                \
    switch (planes) {                                                                                                  \
        THR_FOUR_PLANES_(f, __VA_ARGS__)                                                                               \
        THR_CASE_(5, f, __VA_ARGS__, 5)                                                                                \
        THR_CASE_(6, f, __VA_ARGS__, 6)                                                                                \
        THR_CASE_(7, f, __VA_ARGS__, 7)                                                                                \
        THR_CASE_(8, f, __VA_ARGS__, 8)                                                                                \
    default:                                                                                                           \
        break;                                                                                                         \
    }

#define THR_CALL_FEW_PLANES(planes, f, ...)                                                                            \
    switch (planes) {                                                                                                  \
        THR_FOUR_PLANES_(f, __VA_ARGS__)                                                                               \
    default:                                                                                                           \
        if ((planes) > 4)                                                                                              \
            f(__VA_ARGS__, planes);                                                                                    \
        break;                                                                                                         \
    }

#define THR_FOUR_BITS_(planes, f, ...)                                                                                 \
    THR_CASE_(8 * (planes) + 1, f, __VA_ARGS__, planes, 1)                                                             \
    THR_CASE_(8 * (planes) + 2, f, __VA_ARGS__, planes, 2)                                                             \
    THR_CASE_(8 * (planes) + 3, f, __VA_ARGS__, planes, 3)                                                             \
    THR_CASE_(8 * (planes) + 4, f, __VA_ARGS__, planes, 4)

#define THR_CALL_PLANES_BITS(planes, bits, f, ...)                                                                     \
    switch (8 * (planes) + (bits)) {                                                                                   \
        THR_FOUR_BITS_(1, f, __VA_ARGS__)                                                                              \
        THR_FOUR_BITS_(2, f, __VA_ARGS__)                                                                              \
        THR_FOUR_BITS_(3, f, __VA_ARGS__)                                                                              \
        THR_FOUR_BITS_(4, f, __VA_ARGS__)                                                                              \
        THR_FOUR_BITS_(5, f, __VA_ARGS__)                                                                              \
        THR_FOUR_BITS_(6, f, __VA_ARGS__)                                                                              \
        THR_FOUR_BITS_(7, f, __VA_ARGS__)                                                                              \
        THR_FOUR_BITS_(8, f, __VA_ARGS__)                                                                              \
    default:                                                                                                           \
        break;                                                                                                         \
    }

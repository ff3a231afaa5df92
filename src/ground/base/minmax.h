/* SPDX-License-Identifier: Apache-2.0 */
/*
 * minmax.h - the smaller, the larger, and division upward, for numbers of any type.
 *
 * Macros, so that the usual conversions apply: they may evaluate an argument twice, which must have no side effects.
 */
#pragma once

/* The smaller and the larger; b where the comparison is false, as of equal numbers and of NaN. */
#define THR_MIN(a, b) ((a) < (b) ? (a) : (b))
#define THR_MAX(a, b) ((a) > (b) ? (a) : (b))

/* The number of groups of size that hold n, and n rounded up to a multiple of size; n + size must not overflow. */
#define THR_CEIL_DIV(n, size) (((n) + (size)-1) / (size))
#define THR_ROUND_UP(n, size) (THR_CEIL_DIV(n, size) * (size))

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unroll.h - unroll loops over arrays that must stay in registers: registers have no index, so every index must become
 * a constant. THR_UNROLL goes before such a loop. If the body of another loop ends with it, THR_KEEP_LOOP goes before
 * that other loop; without it gcc applies the inner loop's pragma to both.
 */
#pragma once

#ifdef __clang__
#define THR_UNROLL _Pragma("clang loop unroll(full)")
#define THR_KEEP_LOOP
#else
#define THR_UNROLL    _Pragma("GCC unroll 16")
#define THR_KEEP_LOOP _Pragma("GCC unroll 1")
#endif

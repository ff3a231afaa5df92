/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unroll.h - unroll loops over arrays that must live in registers, which cannot be indexed. THR_KEEP_LOOP goes before a
 * loop around one whose body ends with it: gcc would apply the inner loop's pragma to both.
 */
#ifndef THR_KERNEL_UNROLL_H
#define THR_KERNEL_UNROLL_H

#ifdef __clang__
#define THR_UNROLL _Pragma("clang loop unroll(full)")
#define THR_KEEP_LOOP
#else
#define THR_UNROLL    _Pragma("GCC unroll 16")
#define THR_KEEP_LOOP _Pragma("GCC unroll 1")
#endif

#endif

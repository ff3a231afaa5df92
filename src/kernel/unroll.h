/* SPDX-License-Identifier: Apache-2.0 */
/* unroll.h - unroll loops over arrays that must live in registers, which cannot be indexed. */
#ifndef THR_KERNEL_UNROLL_H
#define THR_KERNEL_UNROLL_H

#ifdef __clang__
#define THR_UNROLL _Pragma("clang loop unroll(full)")
#else
#define THR_UNROLL _Pragma("GCC unroll 16")
#endif

#endif

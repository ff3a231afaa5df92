/* SPDX-License-Identifier: Apache-2.0 */
/*
 * portable.cuh - macros for the few keywords that nvcc has and a C++ compiler does not.
 *
 * Compiled as C++ against tests/simt, whose cuda_runtime.h defines the same keywords, the files of this room run on a
 * CPU under its sanitizers.
 */
#pragma once

#include <cuda_runtime.h>

#ifdef __CUDACC__

/* Declare an array in shared memory. */
#define THR_SHARED(type, name, count) __shared__ type name[count]

#define THR_LAUNCH(kernel, n_blocks, n_threads, stream, ...)                                                           \
    (kernel)<<<(n_blocks), (n_threads), 0, (stream)>>>(__VA_ARGS__)

/* A kernel parameter that stays in parameter memory, even if it is indexed dynamically. */
#define THR_PARAMETER(type) const __grid_constant__ type

/* For functions that are rarely called and would otherwise enlarge a kernel. */
#define THR_RARE __noinline__

#else

#define THR_PARAMETER(type) const type
#define THR_RARE            __attribute__((noinline))

#endif

static const uint32_t THR_WARP = 32, THR_ALL_LANES = 0xffffffffu;

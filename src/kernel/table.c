/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of all levels, filled once, and the CPU's answer to which of them it can run. */
#include "kernel/kernel.h"

#include <pthread.h>

static thr_kernels tables[THR_ISA_AVX512 + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void) {
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_AVX512; isa++) {
        thr_kernels_fill_scalar(&tables[isa]);
#if THR_X86
        if (isa >= THR_ISA_AVX2)
            thr_kernels_fill_avx2(&tables[isa]);
        if (isa >= THR_ISA_AVX512)
            thr_kernels_fill_avx512(&tables[isa]);
#endif
    }
}

const thr_kernels *thr_kernels_get(thr_isa isa) {
    (void)pthread_once(&once, fill);
    return &tables[isa];
}

thr_isa thr_isa_best(void) {
#if THR_X86
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
        return THR_ISA_SCALAR;
    /* Every CPU with AVX2 has F16C, which the compilers' tests do not all know. */
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512bitalg"))
        return THR_ISA_AVX512;
    return THR_ISA_AVX2;
#else
    return THR_ISA_SCALAR;
#endif
}

const char *thr_isa_name(thr_isa isa) {
    switch (isa) {
    case THR_ISA_SCALAR:
        return "scalar";
    case THR_ISA_AVX2:
        return "avx2";
    case THR_ISA_AVX512:
        return "avx512";
    case THR_ISA_BEST:
        return "best";
    }
    return "?";
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Fill the tables of all levels once, and detect which levels the CPU supports. */
#include "kernel/kernel.h"
#include "kernel/read_ahead.h"

#include <thresher/way.h>

#include <pthread.h>
#if THR_X86
#include <cpuid.h>
#elif THR_ARM64
#include <sys/auxv.h>
#endif

/* The levels of this architecture, in ascending order. */
static const struct {
    thr_isa isa;
    void (*fill)(thr_kernels *kernels);
} levels[] = {
    {THR_ISA_SCALAR, thr_kernels_fill_scalar},
#if THR_X86
    {THR_ISA_AVX2, thr_kernels_fill_avx2},
    {THR_ISA_AVX512_VNNI, thr_kernels_fill_avx512_vnni},
    {THR_ISA_AVX512, thr_kernels_fill_avx512},
#elif THR_ARM64
    {THR_ISA_NEON, thr_kernels_fill_neon},
    {THR_ISA_NEON_DOT, thr_kernels_fill_neon_dot},
#endif
};
enum { N_LEVELS = sizeof levels / sizeof levels[0] };

static thr_kernels tables[N_LEVELS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Return the index of a level in the list; N_LEVELS if it is not there. */
static size_t position(thr_isa isa) {
    size_t l = 0;
    while (l < N_LEVELS && levels[l].isa != isa)
        l++;
    return l;
}

/* The function that fills a level's table is compiled for that level, too: it must not run where the CPU lacks it. */
static void fill(void) {
#if THR_X86
    if (__builtin_cpu_is("amdfam19h")) /* Zen 3 and Zen 4 */
        thr_kernel_read_ahead = 0;
#endif
    const size_t best = position(thr_kernel_isa_best());
    for (size_t l = 0; l < N_LEVELS; l++) {
        if (l > 0)
            tables[l] = tables[l - 1];
        if (l <= best)
            levels[l].fill(&tables[l]);
    }
}

bool thr_kernel_isa_is_built(thr_isa isa) {
    return position(isa) < N_LEVELS;
}

bool thr_kernel_isa_has(thr_isa isa) {
    return thr_kernel_isa_is_built(isa) && position(isa) <= position(thr_kernel_isa_best());
}

thr_isa thr_kernel_isa_lower(thr_isa a, thr_isa b) {
    return position(a) < position(b) ? a : b;
}

const thr_kernels *thr_kernels_get(thr_isa isa) {
    (void)pthread_once(&once, fill);
    return &tables[thr_kernel_isa_is_built(isa) ? position(isa) : 0];
}

#if THR_X86
/* Detect F16C with CPUID: not all compilers' builtins support it, and virtual machines can hide it. */
static bool has_f16c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

thr_isa thr_kernel_isa_best(void) {
#if THR_X86
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt") ||
        !has_f16c())
        return THR_ISA_SCALAR;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512vnni"))
        return THR_ISA_AVX2;
    return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vpopcntdq") &&
                   __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("gfni")
               ? THR_ISA_AVX512
               : THR_ISA_AVX512_VNNI;
#elif THR_ARM64
    return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0 ? THR_ISA_NEON_DOT : THR_ISA_NEON;
#else
    return THR_ISA_SCALAR;
#endif
}

const char *thr_isa_name(thr_isa isa) {
    static const char *const names[] = {"best", "scalar", "avx2", "avx512", "neon", "neon-dot", "avx512-vnni"};
    return (unsigned)isa < sizeof names / sizeof names[0] ? names[isa] : "?";
}

const char *thr_way_name(thr_way way) {
    static const char *const names[] = {"xor", "table", "tile"};
    return (unsigned)way < sizeof names / sizeof names[0] ? names[way] : "?";
}

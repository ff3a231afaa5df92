/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on tensor cores by four warps together, operands in shared memory, as GPUs of compute capability 9.0 have
 * them: of bytes, and of bits by AND. Others report that they lack them; nor has code that was compiled for others.
 *
 * Operands are 64 x K and 128 x K, rows of 32 bytes in pieces of 8 rows x 16 bytes without a swizzle. What is in them
 * does not matter for the rate, so no care is taken which number is where.
 */
#include "probe.cuh"

enum { THREADS = 256, GROUPS = THREADS / 128, BLOCKS_A_SM = 2, STEPS = 8, ROUNDS = 512, OUTPUTS = 64 };
enum { A_BYTES = 64 * 32, B_BYTES = 128 * 32, PIECE = 128 };

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* Where an operand is, and how far its pieces are apart along K and along the other side, in 16 bytes. */
static __device__ uint64_t descriptor(const void *shared) {
    const uint64_t at = static_cast<uint64_t>(__cvta_generic_to_shared(shared));
    return (at & 0x3ffff) >> 4 | static_cast<uint64_t>(PIECE >> 4) << 16 | static_cast<uint64_t>(2 * PIECE >> 4) << 32;
}

#define EIGHT(d, i)                                                                                                    \
    "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), "+r"(d[i + 6]),        \
        "+r"(d[i + 7])
#define PROBE_WGMMA(words)                                                                                             \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0;\n" words                                                       \
                 " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "   \
                 "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "     \
                 "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, "     \
                 "%59, %60, %61, %62, %63}, %64, %65, p;}\n"                                                           \
                 : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48),     \
                   EIGHT(d, 56)                                                                                        \
                 : "l"(a), "l"(b), "r"(1))

template <bool BITS> static __device__ __forceinline__ void step(uint32_t (&d)[OUTPUTS], uint64_t a, uint64_t b) {
    if constexpr (BITS)
        PROBE_WGMMA("wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc");
    else
        PROBE_WGMMA("wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8");
}
#endif

template <bool BITS> static __global__ void __launch_bounds__(THREADS) repeat(uint32_t *to, int rounds) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    __shared__ __align__(1024) uint32_t shared[(A_BYTES + B_BYTES) / 4];
    uint32_t d[OUTPUTS] = {};
    for (uint32_t i = threadIdx.x; i < (A_BYTES + B_BYTES) / 4; i += THREADS)
        shared[i] = rounds > 1 ? probe_hash(i) : BITS ? 0xffffffffu : 0x01010101u;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    const uint64_t a = descriptor(shared), b = descriptor(shared + A_BYTES / 4);
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < STEPS; i++)
            step<BITS>(d, a, b);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    uint32_t sum = 0;
    for (int i = 0; i < OUTPUTS; i++)
        sum += d[i];
    to[blockIdx.x * THREADS + threadIdx.x] = sum;
#else
    (void)rounds;
    to[blockIdx.x * THREADS + threadIdx.x] = 0xffffffffu; /* not compiled for a GPU that has them */
#endif
}

template <bool BITS> static void measure(const char *name, uint32_t *to, double size, uint32_t product) {
    const int blocks = BLOCKS_A_SM * probe_multiprocessors();
    uint32_t first = 0;
    repeat<BITS><<<1, THREADS>>>(to, 1);
    PROBE_LAUNCHED();
    PROBE_CHECK(cudaMemcpy(&first, to, sizeof first, cudaMemcpyDeviceToHost));
    if (first != STEPS * OUTPUTS * product) {
        probe_words(name, first == 0xffffffffu ? "not there" : "wrong products");
        return;
    }
    const double seconds = probe_seconds([=] {
        repeat<BITS><<<blocks, THREADS>>>(to, ROUNDS);
        PROBE_LAUNCHED();
    });
    probe_figure(name, size * STEPS * ROUNDS * GROUPS * blocks / seconds);
}

void probe_wgmma() {
    uint32_t *to = probe_alloc<uint32_t>(static_cast<size_t>(BLOCKS_A_SM) * probe_multiprocessors() * THREADS);
    measure<false>("limit.wgmma_s8_mac_per_s", to, 64.0 * 128 * 32, 32);
    measure<true>("limit.wgmma_b1_and_per_s", to, 64.0 * 128 * 256, 256);
    PROBE_CHECK(cudaFree(to));
}

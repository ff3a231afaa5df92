/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reports.cc - planted faults: each is reported in the right words, with kernel, place, block and thread; what
 * differs from it by what makes it right is not.
 */
#include "harness.h"

#include <cstring>

/* Launch twice: with the fault a report has the words, without it there is none. */
#define EXPECT(kernel, n_threads, words)                                                                               \
    do {                                                                                                               \
        Caught caught;                                                                                                 \
        THR_LAUNCH(kernel, 2, n_threads, nullptr, true);                                                               \
        if (caught.n != 1 || !caught.says(words) || !caught.says(#kernel) || !caught.says("test_reports.cc:") ||       \
            !caught.says("seed ")) {                                                                                   \
            (void)std::fprintf(stderr, "%s: %u reports, wanted \"%s\":\n%s\n", #kernel, caught.n, words,               \
                               caught.text.c_str());                                                                   \
            std::exit(1);                                                                                              \
        }                                                                                                              \
        CHECK(cudaGetLastError() == cudaErrorLaunchFailure);                                                           \
        CHECK(all_well());                                                                                             \
        THR_LAUNCH(kernel, 2, n_threads, nullptr, false);                                                              \
        if (caught.n != 1)                                                                                             \
            (void)std::fprintf(stderr, "%s is right, but: %s\n", #kernel, caught.text.c_str());                        \
        CHECK(caught.n == 1 && all_well());                                                                            \
    } while (0)

/* --------------------------------------------------------------------------------------------- shared memory */

__global__ void race_of_warps(bool bad) {
    THR_SHARED(unsigned, slots, 64);
    slots[threadIdx.x] = 0;
    __syncthreads();
    slots[threadIdx.x] = threadIdx.x;
    if (bad)
        __syncwarp();
    else
        __syncthreads();
    (void)static_cast<unsigned>(slots[(threadIdx.x + 32) % 64]);
}

__global__ void race_in_warp(bool bad) {
    THR_SHARED(unsigned, slots, 64);
    slots[threadIdx.x] = 0;
    __syncthreads();
    slots[threadIdx.x] = threadIdx.x;
    if (!bad)
        __syncwarp();
    (void)static_cast<unsigned>(slots[threadIdx.x ^ 1]);
}

/* Two halves of a warp synchronise each by itself, then read across. */
__global__ void race_of_halves(bool bad) {
    THR_SHARED(unsigned, slots, 32);
    slots[threadIdx.x] = 0;
    __syncthreads();
    slots[threadIdx.x] = threadIdx.x;
    __syncwarp(threadIdx.x < 16 ? 0xffffu : 0xffff0000u);
    (void)static_cast<unsigned>(slots[bad ? threadIdx.x ^ 16 : threadIdx.x ^ 8]);
}

__global__ void race_after_read(bool bad) {
    THR_SHARED(unsigned, slots, 64);
    slots[threadIdx.x] = 1;
    __syncthreads();
    const unsigned x = slots[63 - threadIdx.x];
    if (!bad)
        __syncthreads();
    slots[threadIdx.x] = x;
}

__global__ void race_of_writes(bool bad) {
    THR_SHARED(unsigned, flag, 1);
    if (bad || threadIdx.x == 0)
        flag[0] = 1;
}

__global__ void race_with_atomics(bool bad) {
    THR_SHARED(unsigned, count, 1);
    if (threadIdx.x == 0)
        count[0] = 0;
    __syncthreads();
    atomicAdd(&count[0], 1);
    if (!bad)
        __syncthreads();
    if (threadIdx.x == 7)
        (void)static_cast<unsigned>(count[0]);
}

__global__ void atomics_too_early(bool bad) {
    THR_SHARED(unsigned, count, 1);
    if (threadIdx.x == 0)
        count[0] = 0;
    __syncthreads();
    if (threadIdx.x == 0)
        count[0] = 1;
    if (bad)
        __syncwarp();
    else
        __syncthreads();
    atomicMax(&count[0], threadIdx.x);
}

__global__ void unwritten(bool bad) {
    THR_SHARED(float, sums, 64);
    if (!bad || threadIdx.x != 13)
        sums[threadIdx.x] = 1;
    __syncthreads();
    (void)static_cast<float>(sums[threadIdx.x]);
}

/* Values that another block wrote are gone. */
__global__ void unwritten_but_before(bool bad) {
    THR_SHARED(unsigned, slots, 1);
    if (threadIdx.x == 0 && (!bad || blockIdx.x == 0))
        slots[0] = 1;
    __syncthreads();
    (void)static_cast<unsigned>(slots[0]);
}

__global__ void overrun(bool bad) {
    THR_SHARED(unsigned char, bytes, 64);
    bytes[threadIdx.x + (bad ? 1 : 0)] = 1;
}

__global__ void underrun(bool bad) {
    THR_SHARED(unsigned char, bytes, 64);
    bytes[static_cast<int>(threadIdx.x) - (bad ? 1 : 0)] = 1;
}

/* --------------------------------------------------------------------------------------------------- barriers */

__global__ void divergent_branch(bool bad) {
    if (bad && threadIdx.x % 2)
        __syncthreads();
    else
        __syncthreads();
}

__global__ void divergent_return(bool bad) {
    if (bad && threadIdx.x == 40)
        return;
    __syncthreads();
}

__global__ void divergent_vote(bool bad) {
    if (bad && threadIdx.x >= 32)
        __syncthreads();
    else
        (void)__syncthreads_or(1);
    if (bad && threadIdx.x >= 32)
        (void)__syncthreads_or(1);
}

__global__ void barrier_in_warp(bool bad) {
    if (bad && threadIdx.x == 3)
        __syncthreads();
    __syncwarp();
    if (!bad || threadIdx.x != 3)
        __syncthreads();
}

__global__ void warp_returned(bool bad) {
    if (threadIdx.x % 32 == 31)
        return;
    (void)__any_sync(bad ? 0xffffffffu : 0x7fffffffu, 1);
}

__global__ void warp_elsewhere(bool bad) {
    if (bad && threadIdx.x % 32 < 8)
        (void)__shfl_sync(0xffffffffu, 1, 0);
    else
        (void)__shfl_sync(0xffffffffu, 1, 0);
}

__global__ void not_in_mask(bool bad) {
    __syncwarp(bad ? 0xfffffff0u : 0xffffffffu);
}

__global__ void masks_differ(bool bad) {
    (void)__any_sync(bad && threadIdx.x % 32 < 16 ? 0x0001ffffu : 0xffffffffu, 1);
}

__global__ void no_such_lane(bool bad) {
    if (threadIdx.x >= 32)
        __syncwarp(bad ? 0xffffffffu : 0xffffu);
}

/* Lane 0 waits for 1, 1 for 2, 2 for 0: nobody's mask is at odds with who is there already. */
__global__ void deadlock(bool bad) {
    const unsigned lane = threadIdx.x;
    if (lane < 3)
        __syncwarp(bad ? 1u << lane | 1u << (lane + 1) % 3 : 7u);
}

__global__ void deadlock_of_two(bool bad) {
    const unsigned mask = threadIdx.x < 2 ? 3u : 0xfffffffcu;
    if (threadIdx.x == 1 || !bad)
        __syncwarp(mask);
}

/* -------------------------------------------------------------------------------------------------- the rest */

__global__ void too_much_shared(bool bad) {
    THR_SHARED(unsigned char, first, 40000);
    first[threadIdx.x] = 1;
    if (bad) {
        THR_SHARED(unsigned, second, 3000);
        second[threadIdx.x] = 1;
    }
}

__global__ void nothing() {}

static void test_configuration() {
    Caught caught;
    const auto refused = [](dim3 grid, dim3 dim) {
        THR_LAUNCH(nothing, grid, dim, nullptr);
        return cudaGetLastError() == cudaErrorInvalidConfiguration;
    };
    CHECK(refused(0, 32) && refused(1, 0) && refused(1, 1025) && refused(1, dim3(32, 33)) &&
          refused(1, dim3(1, 1, 65)));
    CHECK(refused(dim3(1, 65536), 1));
    THR_LAUNCH(nothing, 1, 1024, nullptr);
    THR_LAUNCH(nothing, dim3(3, 2, 2), dim3(2, 2, 64), nullptr);
    CHECK(all_well());
    CHECK(caught.n == 0);
    THR_LAUNCH(too_much_shared, 1, 32, nullptr, false);
    CHECK(all_well());
    THR_LAUNCH(too_much_shared, 1, 32, nullptr, true);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration && caught.says("52000 bytes") && all_well());
}

__global__ void write_at(unsigned char *p, long long i) {
    p[i] = 7;
}

/* AddressSanitizer is quicker than the margins; it ends the process. */
static void test_global_overrun() {
#ifndef SIMT_ASAN
    const OnDevice<unsigned char> bytes(100), others(50);
    for (const long long i : {-1ll, -200ll, 100ll, 300ll}) {
        Caught caught;
        THR_LAUNCH(write_at, 1, 1, nullptr, bytes, i);
        CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
        CHECK(caught.n == 1 && caught.says(i < 0 ? "before device allocation" : "behind device allocation"));
        CHECK(caught.says("global overrun") && caught.says("of 100 bytes") && caught.says("kernel write_at"));
        CHECK(all_well());
    }
    Caught caught;
    THR_LAUNCH(write_at, 1, 1, nullptr, bytes, 0ll);
    THR_LAUNCH(write_at, 1, 1, nullptr, bytes, 99ll);
    CHECK(all_well() && caught.n == 0);
#endif
}

/* Destructors of an abandoned kernel run, and the next kernel finds fibers as good as new. */
static int n_alive;
struct Alive {
    Alive() { n_alive++; }
    ~Alive() { n_alive--; }
};

__global__ void abandoned(bool bad) {
    const Alive here;
    if (bad && threadIdx.x == 100)
        (void)__shfl_sync(1u, 1, 0);
    __syncthreads();
}

static void test_abandoned() {
    for (int i = 0; i < 20; i++) {
        Caught caught;
        THR_LAUNCH(abandoned, 1, 128, nullptr, true);
        CHECK(caught.n == 1 && cudaGetLastError() == cudaErrorLaunchFailure && n_alive == 0);
        THR_LAUNCH(abandoned, 1, 128, nullptr, false);
        CHECK(caught.n == 1 && all_well() && n_alive == 0);
    }
}

static void test_launch_failure_waits() {
    Caught caught;
    THR_LAUNCH(divergent_return, 1, 64, nullptr, true);
    CHECK(cudaStreamSynchronize(nullptr) == cudaErrorLaunchFailure);
    CHECK(cudaStreamSynchronize(nullptr) == cudaSuccess);
    (void)cudaGetLastError();
    CHECK(all_well());
}

int main() {
    for (uint64_t seed = 1; seed <= 10; seed++) {
        simt_seed(seed);
        EXPECT(race_of_warps, 64, "race: thread ");
        EXPECT(race_in_warp, 64, "race: thread ");
        EXPECT(race_of_halves, 32, "race: thread ");
        EXPECT(race_after_read, 64, "race: thread ");
        EXPECT(race_of_writes, 64, "flag[0], which thread ");
        EXPECT(race_with_atomics, 64, "race: thread ");
        EXPECT(atomics_too_early, 64, "race: thread ");
        EXPECT(unwritten, 64, "unwritten shared memory: thread 13 reads sums[13]");
        EXPECT(unwritten_but_before, 64, "unwritten shared memory");
        EXPECT(overrun, 64, "shared index: thread 63 uses bytes[64], which has 64 elements");
        EXPECT(underrun, 64, "shared index: thread 0 uses bytes[-1]");
        EXPECT(divergent_branch, 64, "divergent barrier: thread ");
        EXPECT(divergent_return, 64, "thread 40 has returned");
        EXPECT(divergent_vote, 64, "divergent barrier: thread ");
        EXPECT(barrier_in_warp, 64, "barrier");
        EXPECT(warp_returned, 64, "has returned");
        EXPECT(warp_elsewhere, 64, "divergent warp: thread ");
        EXPECT(not_in_mask, 64, "calls it and is not in its mask");
        EXPECT(masks_differ, 64, "different masks: ");
        EXPECT(no_such_lane, 48, "does not exist in this block");
        EXPECT(deadlock, 3, "deadlock: all threads");
        EXPECT(deadlock_of_two, 32, "has returned");
        test_configuration();
        test_global_overrun();
        test_abandoned();
        test_launch_failure_waits();
    }
    CHECK(simt_allocated() == 0);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_intrinsics.cc - each intrinsic against a second implementation of CUDA's manual.
 */
#include "harness.h"

#include <cmath>
#include <limits>

static uint64_t random_state = 88172645463325252u;
static uint64_t next_random() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x9e3779b97f4a7c15u;
}
static unsigned random_word() {
    return static_cast<unsigned>(next_random() >> 32);
}

/* ------------------------------------------------------------------------------------------------- one thread */

/* Against a loop over the bits. */
static void test_bits(unsigned x, unsigned y, unsigned long long z) {
    int ones = 0, first = 0, last_ll = -1, dot = 0;
    for (int i = 0; i < 64; i++) {
        ones += i < 32 && x >> i & 1u;
        first = first == 0 && i < 32 && x >> i & 1u ? i + 1 : first;
        last_ll = z >> i & 1u ? i : last_ll;
    }
    for (int i = 0; i < 32; i += 8)
        dot += static_cast<signed char>(x >> i) * static_cast<signed char>(y >> i);
    CHECK(__popc(x) == ones && __ffs(static_cast<int>(x)) == first);
    CHECK(__clzll(static_cast<long long>(z)) == 63 - last_ll);
    CHECK(__dp4a(static_cast<int>(x), static_cast<int>(y), 5) == dot + 5);
    CHECK(min(x, y) == (x < y ? x : y));
}

static void test_floats() {
    CHECK(__float_as_uint(1.0f) == 0x3f800000u && __uint_as_float(0x40000000u) == 2.0f && __int_as_float(0) == 0.0f);
    CHECK(__double_as_longlong(-0.0) == std::numeric_limits<long long>::min());
    CHECK(__fmul_rn(3.0f, 0.5f) == 1.5f && __fadd_rn(1.0f, 2.0f) == 3.0f && __fsub_rn(1.0f, 2.0f) == -1.0f);
    CHECK(__fdiv_rn(1.0f, 4.0f) == 0.25f && std::isinf(__fdiv_rn(1.0f, 0.0f)) && __fsqrt_rn(2.25f) == 1.5f);
    const float a = 1.0f + 1.0f / 4096;
    CHECK(__fmaf_rn(a, a, -1.0f) != __fsub_rn(__fmul_rn(a, a), 1.0f)); /* one rounding, not two */
    CHECK(__dmul_rn(3.0, 0.5) == 1.5 && __dadd_rn(1.0, 2.0) == 3.0);
    CHECK(__int2float_rn(16777217) == 16777216.0f && __uint2float_rn(0xffffffffu) == 4294967296.0f);
}

/* ---------------------------------------------------------------------------------------------------- shuffles */

/* The manual's own words: each group of width lanes is a warp by itself; who would read past it keeps its own. */
template <typename T> static T value_of(unsigned lane) {
    return static_cast<T>(lane * 3 + 1);
}

template <typename T> __global__ void shuffles(unsigned mask, int width, unsigned delta, T *out) {
    const unsigned lane = threadIdx.x % 32;
    if (!(mask >> lane & 1u))
        return;
    const T mine = value_of<T>(threadIdx.x);
    out[threadIdx.x * 4 + 0] = __shfl_sync(mask, mine, static_cast<int>(delta), width);
    out[threadIdx.x * 4 + 1] = __shfl_up_sync(mask, mine, delta, width);
    out[threadIdx.x * 4 + 2] = __shfl_down_sync(mask, mine, delta, width);
    out[threadIdx.x * 4 + 3] = __shfl_xor_sync(mask, mine, static_cast<int>(delta), width);
}

template <typename T> static void test_shuffles(unsigned mask, unsigned width, unsigned delta) {
    const OnDevice<T> to(64 * 4);
    THR_LAUNCH(shuffles<T>, 1, 64, nullptr, mask, static_cast<int>(width), delta, to);
    CHECK(all_well());
    const std::vector<T> out = to.values();
    for (unsigned i = 0; i < 64; i++) {
        const unsigned lane = i % 32, group = lane / width * width, in_group = lane % width;
        if (!(mask >> lane & 1u))
            continue;
        const unsigned from[4] = {group + delta % width, in_group >= delta ? lane - delta : lane,
                                  in_group + delta < width ? lane + delta : lane,
                                  (lane ^ delta) / width <= lane / width ? lane ^ delta : lane};
        for (unsigned k = 0; k < 4; k++)
            if (mask >> from[k] & 1u)
                CHECK(out[i * 4 + k] == value_of<T>(i - lane + from[k]));
    }
}

/* ------------------------------------------------------------------------------------------------------- votes */

struct Votes {
    bool any, any_of_block;
};

__global__ void votes(const unsigned *in, unsigned mask, Votes *out) {
    const unsigned lane = threadIdx.x % 32, x = in[threadIdx.x];
    Votes v = {};
    v.any_of_block = __syncthreads_or(x == 3) != 0;
    if (mask >> lane & 1u)
        v.any = __any_sync(mask, x == 5) != 0;
    out[threadIdx.x] = v;
}

static void test_votes(unsigned mask) {
    std::vector<unsigned> in(64);
    for (unsigned &x : in)
        x = random_word() % 30;
    const OnDevice<unsigned> from(in);
    const OnDevice<Votes> to(64);
    THR_LAUNCH(votes, 1, 64, nullptr, from, mask, to);
    CHECK(all_well());
    const std::vector<Votes> out = to.values();
    for (unsigned i = 0; i < 64; i++) {
        bool any = false, any_of_block = false;
        for (unsigned j = 0; j < 64; j++) {
            any = any || (i / 32 == j / 32 && mask >> j % 32 & 1u && in[j] == 5);
            any_of_block = any_of_block || in[j] == 3;
        }
        CHECK(out[i].any_of_block == any_of_block && out[i].any == ((mask >> i % 32 & 1u) && any));
    }
}

/* ----------------------------------------------------------------------------------------------------- atomics */

/* The same operations on shared and on global memory; elements 0 to 3. */
template <typename P> __device__ void all_atomics(P p, unsigned x) {
    if (atomicAdd(p + 0, x) == 0)
        atomicAdd(p + 3, 1u);
    atomicMax(p + 1, x);
    atomicOr(p + 2, 1u << x % 32);
}

__global__ void atomics(unsigned *global, unsigned *from_shared) {
    THR_SHARED(unsigned, cells, 4);
    if (threadIdx.x < 4)
        cells[threadIdx.x] = global[threadIdx.x];
    __syncthreads();
    all_atomics(&cells[0], threadIdx.x + 1);
    all_atomics(global, threadIdx.x + 1);
    __syncthreads();
    if (threadIdx.x < 4)
        from_shared[threadIdx.x] = cells[threadIdx.x];
}

__global__ void other_atomics(unsigned long long *wide, int *sum) {
    atomicAdd(wide, 1ull << 40);
    atomicMax(wide + 1, static_cast<unsigned long long>(threadIdx.x) << 33);
    atomicAdd(sum, -1);
}

static void test_atomics() {
    const std::vector<unsigned> after = {64 * 65 / 2, 64, 0xffffffffu, 1};
    const OnDevice<unsigned> global(std::vector<unsigned>(4, 0)), shared(4);
    THR_LAUNCH(atomics, 1, 64, nullptr, global, shared);
    CHECK(all_well() && global.values() == after && shared.values() == after);
    const OnDevice<unsigned long long> wide(std::vector<unsigned long long>{0, 0});
    const OnDevice<int> sum(std::vector<int>{0});
    THR_LAUNCH(other_atomics, 1, 64, nullptr, wide, sum);
    CHECK(all_well() && sum.values()[0] == -64);
    CHECK(wide.values()[0] == 64ull << 40 && wide.values()[1] == 63ull << 33);
}

/* ----------------------------------------------------------------------------------------------- shared arrays */

/* Elements of all sizes, and what can be done with one. */
__global__ void elements(unsigned *out) {
    THR_SHARED(uint4, fours, 4);
    THR_SHARED(signed char, bytes, 8);
    THR_SHARED(float, floats, 2);
    THR_SHARED(unsigned, words, 4);
    if (threadIdx.x > 0)
        return;
    fours[1] = uint4{1, 2, 3, 4};
    fours[2] = fours[1];
    const uint4 four = fours[2];
    bytes[3] = -5;
    const int byte = bytes[3] + 1;
    floats[0] = 0.25f;
    floats[0] += 1;
    floats[1] = floats[0] * 2.0f - floats[0];
    words[0] = 6;
    words[1] = words[0]++;
    words[2] = words[words[1] - 5];
    words[words[1] - 3] = 1u << 4 | words[2];
    words[3] ^= 1;
    words[3] <<= 1;
    out[0] = four.x + four.y + four.z + four.w;
    out[1] = static_cast<unsigned>(-byte);
    out[2] = static_cast<unsigned>(floats[1] * 4);
    out[3] = words[0];
    out[4] = words[1];
    out[5] = words[2];
    out[6] = words[3];
    out[7] = min(words[0], 3u) + static_cast<unsigned>(__popc(words[1]));
}

static void test_elements() {
    const OnDevice<unsigned> to(8);
    THR_LAUNCH(elements, 1, 8, nullptr, to);
    CHECK(all_well());
    CHECK((to.values() == std::vector<unsigned>{10, 4, 5, 7, 6, 6, 46, 5}));
}

int main() {
    for (int time = 0; time < 1000; time++)
        test_bits(random_word() >> time % 32, random_word(), next_random() >> time % 64);
    test_bits(0, 0, 0);
    test_floats();
    test_elements();
    test_atomics();
    for (uint64_t seed = 1; seed <= 3; seed++) {
        simt_seed(seed);
        for (unsigned width = 1; width <= 32; width *= 2)
            for (unsigned delta = 0; delta < width; delta = delta * 2 + 1)
                for (const unsigned mask : {0xffffffffu, 0x00ffff0fu}) {
                    test_shuffles<unsigned>(mask, width, delta);
                    test_shuffles<int>(mask, width, delta);
                    test_shuffles<float>(mask, width, delta);
                    test_shuffles<double>(mask, width, delta);
                    test_shuffles<unsigned long long>(mask, width, delta);
                }
        for (const unsigned mask : {0xffffffffu, 0x8001ff00u, 1u})
            test_votes(mask);
    }
    CHECK(simt_allocated() == 0);
    return 0;
}

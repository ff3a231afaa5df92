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

/* __popc and the others against a loop over the bits. */
static void test_counts(unsigned x, unsigned long long z) {
    int ones = 0, ones_ll = 0, first = 0, last = -1, last_ll = -1;
    unsigned reversed = 0;
    for (int i = 0; i < 64; i++) {
        if (i < 32 && x >> i & 1u) {
            ones++;
            first = first ? first : i + 1;
            last = i;
            reversed |= 0x80000000u >> i;
        }
        if (z >> i & 1u) {
            ones_ll++;
            last_ll = i;
        }
    }
    CHECK(__popc(x) == ones && __popcll(z) == ones_ll);
    CHECK(__clz(static_cast<int>(x)) == 31 - last && __clzll(static_cast<long long>(z)) == 63 - last_ll);
    CHECK(__ffs(static_cast<int>(x)) == first && __brev(x) == reversed);
}

static void test_bits() {
    CHECK(__clz(0) == 32 && __clzll(0) == 64 && __ffs(0) == 0 && __ffsll(0) == 0);
    for (int time = 0; time < 1000; time++) {
        const unsigned x = random_word() >> time % 32, y = random_word(), s = random_word();
        const unsigned long long z = next_random() >> time % 64;
        test_counts(x, z);
        CHECK(__brev(__brev(y)) == y && __brevll(__brevll(z)) == z);
        unsigned char bytes[8];
        for (int i = 0; i < 4; i++) {
            bytes[i] = static_cast<unsigned char>(x >> 8 * i);
            bytes[4 + i] = static_cast<unsigned char>(y >> 8 * i);
        }
        const unsigned picked = __byte_perm(x, y, s & 0x7777u), spread = __byte_perm(x, y, s | 0x8888u);
        for (int i = 0; i < 4; i++) {
            const unsigned char byte = bytes[s >> 4 * i & 7u];
            CHECK((picked >> 8 * i & 0xffu) == byte);
            CHECK((spread >> 8 * i & 0xffu) == (byte >= 128 ? 255u : 0u));
        }
        const unsigned shift = s % 32;
        CHECK(__funnelshift_l(x, y, shift) == (shift ? y << shift | x >> (32 - shift) : y));
        CHECK(__funnelshift_r(x, y, shift) == (shift ? x >> shift | y << (32 - shift) : x));
        CHECK(__funnelshift_l(x, y, 32) == y && __funnelshift_lc(x, y, 32) == x && __funnelshift_rc(x, y, 40) == y);
        CHECK(__umulhi(x, y) == static_cast<unsigned>(static_cast<uint64_t>(x) * y >> 32));
        int dot = 0;
        unsigned udot = 0;
        for (int i = 0; i < 4; i++) {
            dot += static_cast<signed char>(bytes[i]) * static_cast<signed char>(bytes[4 + i]);
            udot += static_cast<unsigned>(bytes[i]) * bytes[4 + i];
        }
        CHECK(__dp4a(static_cast<int>(x), static_cast<int>(y), 5) == dot + 5);
        CHECK(__dp4a(x, y, s) == udot + s);
    }
    CHECK(__dp4a(char4{1, -2, 3, -4}, char4{5, 6, -7, -8}, 1) == 5 - 12 - 21 + 32 + 1);
    CHECK(__mulhi(-5, 1 << 30) == -2 && __umul64hi(1ull << 63, 6) == 3);
    CHECK(min(3, -4) == -4 && max(3u, 4u) == 4u && max(-1, 1u) == 0xffffffffu && min(-1ll, 1ll) == -1);
    CHECK(min(1.0f, NAN) == 1.0f);
}

static void test_floats() {
    CHECK(__float_as_uint(1.0f) == 0x3f800000u && __uint_as_float(0x40000000u) == 2.0f);
    CHECK(__float_as_int(-0.0f) == std::numeric_limits<int>::min() && __int_as_float(0) == 0.0f);
    CHECK(__fmul_rn(3.0f, 0.5f) == 1.5f && __fadd_rn(1.0f, 2.0f) == 3.0f && __fsub_rn(1.0f, 2.0f) == -1.0f);
    CHECK(__fdiv_rn(1.0f, 4.0f) == 0.25f && std::isinf(__fdiv_rn(1.0f, 0.0f)) && __fsqrt_rn(2.25f) == 1.5f);
    const float a = 1.0f + 1.0f / 4096;
    CHECK(__fmaf_rn(a, a, -1.0f) != __fsub_rn(__fmul_rn(a, a), 1.0f)); /* one rounding, not two */
    CHECK(__dmul_rn(3.0, 0.5) == 1.5 && __dadd_rn(1.0, 2.0) == 3.0);
    CHECK(__int2float_rn(16777217) == 16777216.0f && __uint2float_rn(0xffffffffu) == 4294967296.0f);
    CHECK(__float2int_rz(-1.9f) == -1 && __float2int_rd(-1.1f) == -2 && __float2int_ru(1.1f) == 2);
    CHECK(__float2int_rn(2.5f) == 2 && __float2int_rn(3.5f) == 4);
    CHECK(__float2int_rz(3e9f) == std::numeric_limits<int>::max() && __float2int_rz(NAN) == 0);
    CHECK(__float2int_rd(-3e9f) == std::numeric_limits<int>::min() && __float2int_rz(-2147483648.0f) < 0);
    CHECK(__float2uint_rz(-1.0f) == 0 && __float2uint_rz(4294967296.0f) == 0xffffffffu);
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
    unsigned ballot, any, all, match, match_all, or_, and_, count;
    unsigned add, least, most;
};

__global__ void votes(const unsigned *in, unsigned mask, Votes *out) {
    const unsigned lane = threadIdx.x % 32, x = in[threadIdx.x];
    Votes v = {};
    v.or_ = static_cast<unsigned>(__syncthreads_or(x == 3));
    v.and_ = static_cast<unsigned>(__syncthreads_and(x < 6));
    v.count = static_cast<unsigned>(__syncthreads_count(x > 2));
    if (mask >> lane & 1u) {
        v.ballot = __ballot_sync(mask, x & 1u);
        v.any = static_cast<unsigned>(__any_sync(mask, x == 5));
        v.all = static_cast<unsigned>(__all_sync(mask, x > 0));
        v.match = __match_any_sync(mask, x);
        int all;
        v.match_all = __match_all_sync(mask, x / 8, &all);
        v.add = __reduce_add_sync(mask, x);
        v.least = __reduce_min_sync(mask, x);
        v.most = __reduce_max_sync(mask, x);
    }
    out[threadIdx.x] = v;
}

static void test_votes(unsigned mask) {
    std::vector<unsigned> in(64);
    for (unsigned &x : in)
        x = random_word() % 7;
    const OnDevice<unsigned> from(in);
    const OnDevice<Votes> to(64);
    THR_LAUNCH(votes, 1, 64, nullptr, from, mask, to);
    CHECK(all_well());
    const std::vector<Votes> out = to.values();
    unsigned or_ = 0, and_ = 1, count = 0;
    for (unsigned x : in) {
        or_ |= x == 3;
        and_ &= x < 6;
        count += x > 2;
    }
    for (unsigned i = 0; i < 64; i++) {
        CHECK((out[i].or_ != 0) == (or_ != 0) && (out[i].and_ != 0) == (and_ != 0) && out[i].count == count);
        if (!(mask >> i % 32 & 1u))
            continue;
        Votes want = {};
        want.all = 1;
        want.least = 99;
        for (unsigned j = i / 32 * 32; j < i / 32 * 32 + 32; j++) {
            const unsigned bit = mask & 1u << j % 32, x = in[j];
            if (!bit)
                continue;
            want.ballot |= x & 1u ? bit : 0;
            want.any |= x == 5;
            want.all &= x > 0;
            want.match |= x == in[i] ? bit : 0;
            want.add += x;
            want.least = x < want.least ? x : want.least;
            want.most = x > want.most ? x : want.most;
        }
        CHECK(out[i].ballot == want.ballot && out[i].any == want.any && out[i].all == want.all);
        CHECK(out[i].match == want.match && out[i].match_all == mask);
        CHECK(out[i].add == want.add && out[i].least == want.least && out[i].most == want.most);
    }
}

/* ----------------------------------------------------------------------------------------------------- atomics */

/* The same operations on shared and on global memory; elements 0 to 8. */
template <typename P> __device__ void all_atomics(P p, unsigned x) {
    atomicAdd(p + 0, x);
    atomicMin(p + 1, x);
    atomicMax(p + 2, x);
    atomicOr(p + 3, 1u << x % 32);
    atomicAnd(p + 4, ~(1u << x % 32));
    atomicXor(p + 5, x);
    if (atomicExch(p + 6, x) == 0)
        atomicAdd(p + 7, 1u);
    atomicCAS(p + 8, 0u, x + 1);
}

__global__ void atomics(unsigned *global, unsigned *from_shared) {
    THR_SHARED(unsigned, cells, 9);
    if (threadIdx.x < 9)
        cells[threadIdx.x] = global[threadIdx.x];
    __syncthreads();
    all_atomics(&cells[0], threadIdx.x);
    all_atomics(global, threadIdx.x);
    __syncthreads();
    if (threadIdx.x < 9)
        from_shared[threadIdx.x] = cells[threadIdx.x];
}

__global__ void other_atomics(unsigned long long *wide, int *ints, float *floats) {
    atomicAdd(wide, 1ull << 40);
    atomicMax(wide + 1, static_cast<unsigned long long>(threadIdx.x) << 33);
    atomicAdd(ints, -1);
    atomicMin(ints + 1, -static_cast<int>(threadIdx.x));
    atomicSub(ints + 2, 2);
    atomicAdd(floats, 0.5f);
}

static void test_atomics() {
    const std::vector<unsigned> before = {0, 100, 0, 0, 0xffffffffu, 0, 0, 0, 0};
    const OnDevice<unsigned> global(before), shared(before);
    THR_LAUNCH(atomics, 1, 64, nullptr, global, shared);
    CHECK(all_well());
    for (const std::vector<unsigned> &after : {global.values(), shared.values()}) {
        CHECK(after[0] == 63 * 32 && after[1] == 0 && after[2] == 63 && after[3] == 0xffffffffu && after[4] == 0);
        CHECK(after[5] == 0 && after[6] < 64 && after[7] >= 1 && after[7] <= 2 && after[8] >= 1 && after[8] <= 64);
    }
    const OnDevice<unsigned long long> wide(std::vector<unsigned long long>{0, 0});
    const OnDevice<int> ints(std::vector<int>{0, 0, 0});
    const OnDevice<float> floats(std::vector<float>{0});
    THR_LAUNCH(other_atomics, 1, 64, nullptr, wide, ints, floats);
    CHECK(all_well());
    CHECK(wide.values()[0] == 64ull << 40 && wide.values()[1] == 63ull << 33);
    CHECK(ints.values()[0] == -64 && ints.values()[1] == -63 && ints.values()[2] == -128 && floats.values()[0] == 32);
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
    fours[1] = make_uint4(1, 2, 3, 4);
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
    test_bits();
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

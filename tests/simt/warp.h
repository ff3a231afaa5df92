/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp.h - barriers, shuffles, votes.
 *
 * The lanes of a warp keep no step of their own: a lane waits until all that its mask names are there. So a lane gets
 * nothing from a lane outside of the mask; a value that CUDA leaves undefined is one that spoils the result.
 */
#pragma once

#include "arithmetic.h"
#include "machine.h"

#define SIMT_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace simt {

struct Exchange {
    unsigned long long in, out;
    unsigned from; /* the lane whose value is wanted */
};

struct Vote {
    unsigned long long in;
    unsigned out;
    int all;
};

constexpr unsigned long long undefined_bits = 0xa5b6c7d8e9fadbccull;

void resolve_nothing(void *const *lanes, uint32_t mask);
void resolve_exchange(void *const *lanes, uint32_t mask);
void resolve_ballot(void *const *lanes, uint32_t mask);
void resolve_match(void *const *lanes, uint32_t mask);

/* The source lane, in segments of width lanes: as CUDA has it, its own where the segment has no such lane. */
unsigned lane_at(unsigned lane, int source, int width);
unsigned lane_up(unsigned lane, unsigned delta, int width);
unsigned lane_down(unsigned lane, unsigned delta, int width);
unsigned lane_xor(unsigned lane, int other, int width);

template <typename T> T exchange(const char *what, Place place, unsigned mask, T value, unsigned from) {
    Exchange mine = {0, 0, from};
    std::memcpy(&mine.in, &value, sizeof(value));
    warp_meet(what, place, mask, false, resolve_exchange, &mine);
    std::memcpy(&value, &mine.out, sizeof(value));
    return value;
}

inline unsigned ballot(const char *what, Place place, unsigned mask, int predicate) {
    Vote mine = {predicate != 0, 0, 0};
    warp_meet(what, place, mask, false, resolve_ballot, &mine);
    return mine.out;
}

} // namespace simt

/* --------------------------------------------------------------------------------------------------- barriers */

inline void __syncthreads(SIMT_HERE) {
    simt::block_meet("__syncthreads", {file, line}, 0);
}
inline int __syncthreads_or(int predicate, SIMT_HERE) {
    simt::block_meet("__syncthreads_or", {file, line}, predicate);
    return simt::block.any;
}
inline int __syncthreads_and(int predicate, SIMT_HERE) {
    simt::block_meet("__syncthreads_and", {file, line}, predicate);
    return simt::block.all;
}
inline int __syncthreads_count(int predicate, SIMT_HERE) {
    simt::block_meet("__syncthreads_count", {file, line}, predicate);
    return simt::block.count;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_HERE) {
    simt::warp_meet("__syncwarp", {file, line}, mask, true, simt::resolve_nothing, nullptr);
}

/* --------------------------------------------------------------------------------------------------- shuffles */

#define SIMT_SHUFFLE(type)                                                                                             \
    inline type __shfl_sync(unsigned mask, type value, int source, int width = 32, SIMT_HERE) {                        \
        return simt::exchange("__shfl_sync", {file, line}, mask, value,                                                \
                              simt::lane_at(simt::current->lane, source, width));                                      \
    }                                                                                                                  \
    inline type __shfl_up_sync(unsigned mask, type value, unsigned delta, int width = 32, SIMT_HERE) {                 \
        return simt::exchange("__shfl_up_sync", {file, line}, mask, value,                                             \
                              simt::lane_up(simt::current->lane, delta, width));                                       \
    }                                                                                                                  \
    inline type __shfl_down_sync(unsigned mask, type value, unsigned delta, int width = 32, SIMT_HERE) {               \
        return simt::exchange("__shfl_down_sync", {file, line}, mask, value,                                           \
                              simt::lane_down(simt::current->lane, delta, width));                                     \
    }                                                                                                                  \
    inline type __shfl_xor_sync(unsigned mask, type value, int other, int width = 32, SIMT_HERE) {                     \
        return simt::exchange("__shfl_xor_sync", {file, line}, mask, value,                                            \
                              simt::lane_xor(simt::current->lane, other, width));                                      \
    }
SIMT_SHUFFLE(int)
SIMT_SHUFFLE(unsigned)
SIMT_SHUFFLE(long)
SIMT_SHUFFLE(unsigned long)
SIMT_SHUFFLE(long long)
SIMT_SHUFFLE(unsigned long long)
SIMT_SHUFFLE(float)
SIMT_SHUFFLE(double)

/* ------------------------------------------------------------------------------------------------------ votes */

inline unsigned __ballot_sync(unsigned mask, int predicate, SIMT_HERE) {
    return simt::ballot("__ballot_sync", {file, line}, mask, predicate);
}
inline int __any_sync(unsigned mask, int predicate, SIMT_HERE) {
    return simt::ballot("__any_sync", {file, line}, mask, predicate) != 0;
}
inline int __all_sync(unsigned mask, int predicate, SIMT_HERE) {
    return simt::ballot("__all_sync", {file, line}, mask, predicate) == mask;
}

#define SIMT_MATCH(type)                                                                                               \
    inline unsigned __match_any_sync(unsigned mask, type value, SIMT_HERE) {                                           \
        simt::Vote mine = {0, 0, 0};                                                                                   \
        std::memcpy(&mine.in, &value, sizeof(value));                                                                  \
        simt::warp_meet("__match_any_sync", {file, line}, mask, false, simt::resolve_match, &mine);                    \
        return mine.out;                                                                                               \
    }                                                                                                                  \
    inline unsigned __match_all_sync(unsigned mask, type value, int *all, SIMT_HERE) {                                 \
        simt::Vote mine = {0, 0, 0};                                                                                   \
        std::memcpy(&mine.in, &value, sizeof(value));                                                                  \
        simt::warp_meet("__match_all_sync", {file, line}, mask, false, simt::resolve_match, &mine);                    \
        *all = mine.all;                                                                                               \
        return mine.all ? mask : 0;                                                                                    \
    }
SIMT_MATCH(int)
SIMT_MATCH(unsigned)
SIMT_MATCH(long)
SIMT_MATCH(unsigned long)
SIMT_MATCH(long long)
SIMT_MATCH(unsigned long long)
SIMT_MATCH(float)
SIMT_MATCH(double)

#define SIMT_REDUCE(name, type, combine)                                                                               \
    inline type name(unsigned mask, type value, SIMT_HERE) {                                                           \
        struct Both {                                                                                                  \
            type in, out;                                                                                              \
        } mine = {value, value};                                                                                       \
        const simt::Resolve resolve = [](void *const *lanes, uint32_t of) {                                            \
            type a = static_cast<Both *>(lanes[__builtin_ctz(of)])->in;                                                \
            for (uint32_t rest = of & (of - 1); rest; rest &= rest - 1) {                                              \
                const type b = static_cast<Both *>(lanes[__builtin_ctz(rest)])->in;                                    \
                a = combine;                                                                                           \
            }                                                                                                          \
            for (uint32_t rest = of; rest; rest &= rest - 1)                                                           \
                static_cast<Both *>(lanes[__builtin_ctz(rest)])->out = a;                                              \
        };                                                                                                             \
        simt::warp_meet(#name, {file, line}, mask, false, resolve, &mine);                                             \
        return mine.out;                                                                                               \
    }
SIMT_REDUCE(__reduce_add_sync, unsigned, a + b)
SIMT_REDUCE(__reduce_add_sync, int, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
SIMT_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
SIMT_REDUCE(__reduce_min_sync, int, a < b ? a : b)
SIMT_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
SIMT_REDUCE(__reduce_max_sync, int, a > b ? a : b)
SIMT_REDUCE(__reduce_and_sync, unsigned, a &b)
SIMT_REDUCE(__reduce_or_sync, unsigned, a | b)
SIMT_REDUCE(__reduce_xor_sync, unsigned, a ^ b)

/* The lanes that happen to run together: CUDA promises no more than the caller, and here it gets no more. */
inline unsigned __activemask() {
    return 1u << simt::current->lane;
}

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
    bool mine, any;
};

constexpr unsigned long long undefined_bits = 0xa5b6c7d8e9fadbccull;

void resolve_nothing(void *const *lanes, uint32_t mask);
void resolve_exchange(void *const *lanes, uint32_t mask);
void resolve_any(void *const *lanes, uint32_t mask);

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

} // namespace simt

/* --------------------------------------------------------------------------------------------------- barriers */

inline void __syncthreads(SIMT_HERE) {
    simt::block_meet("__syncthreads", {file, line}, 0);
}
inline int __syncthreads_or(int predicate, SIMT_HERE) {
    simt::block_meet("__syncthreads_or", {file, line}, predicate);
    return simt::block.any;
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

inline int __any_sync(unsigned mask, int predicate, SIMT_HERE) {
    simt::Vote mine = {predicate != 0, false};
    simt::warp_meet("__any_sync", {file, line}, mask, false, simt::resolve_any, &mine);
    return mine.any;
}

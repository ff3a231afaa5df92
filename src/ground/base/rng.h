/* SPDX-License-Identifier: Apache-2.0 */
/* rng.h - SplitMix64 (Steele, Lea, Flood 2014): one word of state, good enough for samples and test data. */
#pragma once

#include <stdint.h>

static inline uint64_t thr_rng_next(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Return an integer from [0, n), n > 0, uniform up to a bias of 2^-64 n. */
static inline uint64_t thr_rng_below(uint64_t *state, uint64_t n) {
    return (uint64_t)(((unsigned __int128)thr_rng_next(state) * n) >> 64);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutator.h - damage inputs, then recompute their checksums. A reader refuses a wrong checksum first, so only inputs
 * with right ones reach the code after that check.
 *
 * A target includes this and defines LLVMFuzzerCustomMutator, which libFuzzer and replay_main call.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/files/checksum.h"
#include "base/rng.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
/* The target's mutator is this function. */
#define FUZZ_MUTATOR(mutate)                                                                                           \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {                           \
        return mutate(data, size, room, seed);                                                                         \
    }

/* libFuzzer's own, where there is one. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

/* A number that is likely to break a reader. was: the number it replaces; size: the size of the file. */
static inline uint64_t fuzz_number(uint64_t *rng, uint64_t was, uint64_t size) {
    /* The last ones are infinity and NaN as floats, then as doubles. */
    static const uint64_t one = 1, edges[] = {0,
                                              1,
                                              2,
                                              63,
                                              64,
                                              65,
                                              255,
                                              256,
                                              UINT16_MAX,
                                              UINT16_MAX + 1,
                                              INT32_MAX,
                                              one << 31,
                                              UINT32_MAX,
                                              one << 32,
                                              one << 50,
                                              one << 55,
                                              INT64_MAX,
                                              one << 63,
                                              UINT64_MAX,
                                              0x7f800000,
                                              0x7fc00000,
                                              0x7ff0000000000000,
                                              0x7ff8000000000000};
    switch (thr_rng_below(rng, 8)) {
    case 0:
        return was + 1;
    case 1:
        return was - 1;
    case 2:
        return was ^ (uint64_t)1 << thr_rng_below(rng, 64);
    case 3:
        return size - 64 * thr_rng_below(rng, 4);
    case 4:
        return -(64 * thr_rng_below(rng, 8));
    default:
        return edges[thr_rng_below(rng, sizeof edges / sizeof edges[0])];
    }
}

/* Such a number in the place of width bytes at, 8 at most. */
static inline void fuzz_put(uint64_t *rng, uint8_t *at, size_t width, uint64_t size) {
    uint64_t number = 0;
    memcpy(&number, at, width); /* little-endian, as files are */
    number = fuzz_number(rng, number, size);
    memcpy(at, &number, width);
}

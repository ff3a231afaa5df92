/* SPDX-License-Identifier: Apache-2.0 */
/* text_mutator.h - lines and numbers of a text changed: for manifests and for the headers of models. */
#pragma once

#include "fuzz/mutator.h"

/* Replace n bytes at a place by others; the size afterwards, which stays where there is no room. */
static inline size_t fuzz_replace(uint8_t *data, size_t size, size_t room, size_t at, size_t n, const char *by) {
    const size_t length = strlen(by);
    if (size - n + length > room)
        return size;
    memmove(data + at + length, data + at + n, size - at - n);
    memcpy(data + at, by, length);
    return size - n + length;
}

/* One of the decimal numbers becomes another. */
static inline size_t fuzz_change_number(uint8_t *data, size_t size, size_t room, uint64_t *rng) {
    const size_t from = size > 0 ? (size_t)thr_rng_below(rng, size) : 0;
    for (size_t i = from; i < size; i++)
        if (data[i] >= '0' && data[i] <= '9') {
            char text[24];
            uint64_t was = 0;
            size_t n = 0;
            for (; i + n < size && n < 19 && data[i + n] >= '0' && data[i + n] <= '9'; n++)
                was = was * 10 + (uint64_t)(data[i + n] - '0');
            (void)snprintf(text, sizeof text, "%llu", (unsigned long long)fuzz_number(rng, was, size));
            return fuzz_replace(data, size, room, i, n, text);
        }
    return size;
}

/* A byte, a number, or a stretch that is lost or repeated. */
static inline size_t fuzz_change_text(uint8_t *data, size_t size, size_t room, uint64_t *rng) {
    static const char some[] = " \n\"0,:[]{}-e9";
    if (size == 0)
        return 0;
    const size_t at = (size_t)thr_rng_below(rng, size), left = size - at;
    const size_t n = 1 + (size_t)thr_rng_below(rng, left < 48 ? left : 48);
    switch (thr_rng_below(rng, 8)) {
    case 0:
        data[at] = (uint8_t)some[thr_rng_below(rng, sizeof some)];
        return size;
    case 1:
        memmove(data + at, data + at + n, left - n);
        return size - n;
    case 2:
        if (size + n > room)
            return size;
        memmove(data + at + n, data + at, left);
        return size + n;
    case 3:
        data[at] ^= (uint8_t)(1u << thr_rng_below(rng, 8));
        return size;
    default:
        return fuzz_change_number(data, size, room, rng);
    }
}

/* Some of these changes, or libFuzzer's own. */
static inline size_t fuzz_mutate_text(uint8_t *data, size_t size, size_t room, unsigned seed) {
    uint64_t rng = seed;
    if (LLVMFuzzerMutate != NULL && thr_rng_below(&rng, 3) == 0)
        size = LLVMFuzzerMutate(data, size, room);
    for (uint64_t n = 1 + thr_rng_below(&rng, 4); n > 0; n--)
        size = fuzz_change_text(data, size, room, &rng);
    return size;
}

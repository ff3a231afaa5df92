/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_mutator.h - models in safetensors (docs/format.md): change header or data, then recompute the header's length,
 * and the checksum of the metadata if there is one.
 */
#pragma once

#include "fuzz/text_mutator.h"

enum { FUZZ_LENGTH = 8 }; /* bytes of the header's length */

/* The strings of the metadata, in turn keys and values; NULL after the last. */
static inline uint8_t *fuzz_next_string(uint8_t *at, const uint8_t *end, size_t *length) {
    while (at < end && *at != '"' && *at != '}')
        at++;
    if (at >= end || *at == '}')
        return NULL;
    uint8_t *close = memchr(at + 1, '"', (size_t)(end - at - 1));
    if (close == NULL)
        return NULL;
    *length = (size_t)(close - at - 1);
    return at + 1;
}

/* XXH3 of all keys and values before "checksum", each with a NUL. */
static inline void fuzz_recompute_checksum(uint8_t *header, size_t size) {
    static const char start[] = "\"__metadata__\":{", last[] = "checksum";
    const uint8_t *end = header + size;
    thr_checksum_room room;
    thr_checksum *sum = thr_checksum_start(&room);
    size_t length = 0, at = 0;
    while (at + sizeof start <= size && memcmp(header + at, start, sizeof start - 1) != 0)
        at++;
    if (at + sizeof start > size)
        return;
    uint8_t *text = header + at + sizeof start - 1;
    for (bool is_key = true; (text = fuzz_next_string(text, end, &length)) != NULL; is_key = !is_key) {
        if (is_key && length == sizeof last - 1 && memcmp(text, last, length) == 0)
            break;
        thr_checksum_add(sum, text, length);
        thr_checksum_add(sum, "", 1);
        text += length + 1;
    }
    text = text == NULL ? NULL : fuzz_next_string(text + length + 1, end, &length);
    if (text == NULL || length != 16)
        return;
    char digits[17];
    (void)snprintf(digits, sizeof digits, "%016llx", (unsigned long long)thr_checksum_end(sum));
    memcpy(text, digits, 16);
}

static inline size_t fuzz_mutate_model(uint8_t *data, size_t size, size_t room, unsigned seed) {
    uint64_t rng = seed, n_header = 0;
    if (LLVMFuzzerMutate != NULL && thr_rng_below(&rng, 3) == 0)
        size = LLVMFuzzerMutate(data, size, room);
    if (size < FUZZ_LENGTH)
        return size;
    memcpy(&n_header, data, FUZZ_LENGTH);
    if (n_header > size - FUZZ_LENGTH)
        return fuzz_change_text(data, size, room, &rng); /* a text, no model */
    for (uint64_t n = 1 + thr_rng_below(&rng, 3); n > 0; n--) {
        const size_t n_data = size - FUZZ_LENGTH - (size_t)n_header;
        if (thr_rng_below(&rng, 3) == 0 && n_data >= 8) {
            fuzz_put(&rng, data + FUZZ_LENGTH + n_header + thr_rng_below(&rng, n_data / 4) * 4, 4, size);
            continue;
        }
        /* The header grows into a place of its own, the data after it moves. */
        uint8_t header[1 << 14];
        if (n_header > sizeof header)
            break;
        memcpy(header, data + FUZZ_LENGTH, (size_t)n_header);
        const size_t most = room - FUZZ_LENGTH - n_data < sizeof header ? room - FUZZ_LENGTH - n_data : sizeof header;
        const size_t now = fuzz_change_text(header, (size_t)n_header, most, &rng);
        memmove(data + FUZZ_LENGTH + now, data + FUZZ_LENGTH + n_header, n_data);
        memcpy(data + FUZZ_LENGTH, header, now);
        n_header = now;
        size = FUZZ_LENGTH + now + n_data;
    }
    fuzz_recompute_checksum(data + FUZZ_LENGTH, (size_t)n_header);
    memcpy(data, &n_header, FUZZ_LENGTH);
    return size;
}

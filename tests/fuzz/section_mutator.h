/* SPDX-License-Identifier: Apache-2.0 */
/* section_mutator.h - damage header, table and contents of files of sections; recompute checksums. */
#pragma once

#include <stdlib.h>

#include "fuzz/mutator.h"
#include "seal.h"

typedef struct fuzz_sections {
    uint8_t *data;
    size_t size;
    uint64_t table_offset;
    uint32_t n;
} fuzz_sections;

/* The table, where one lies in the file. */
static inline bool fuzz_find_table(uint8_t *data, size_t size, fuzz_sections *s) {
    *s = (fuzz_sections){.data = data, .size = size};
    if (size < THR_SECTIONS_HEADER)
        return false;
    memcpy(&s->n, data + THR_SECTIONS_COUNT_AT, sizeof s->n);
    memcpy(&s->table_offset, data + THR_SECTIONS_TABLE_AT, sizeof s->table_offset);
    return s->n > 0 && s->n <= THR_SECTIONS_MAX && s->table_offset <= size &&
           size - s->table_offset >= s->n * sizeof(thr_section);
}

static inline thr_section fuzz_get_section(const fuzz_sections *s, uint32_t i) {
    thr_section section;
    memcpy(&section, s->data + s->table_offset + i * sizeof section, sizeof section);
    return section;
}

static inline void fuzz_put_section(const fuzz_sections *s, uint32_t i, const thr_section *section) {
    memcpy(s->data + s->table_offset + i * sizeof *section, section, sizeof *section);
}

/* A number within the contents of a section. */
static inline void fuzz_change_contents(const fuzz_sections *s, uint64_t *rng) {
    static const size_t widths[] = {1, 2, 4, 8};
    const thr_section section = fuzz_get_section(s, (uint32_t)thr_rng_below(rng, s->n));
    const size_t width = widths[thr_rng_below(rng, 4)];
    if (section.offset > s->size || section.size > s->size - section.offset || section.size < width)
        return;
    const uint64_t n = section.size / width;
    /* Half of the time one of the first or last: offsets and sizes begin with 0 and end at the file's size. */
    uint64_t at = thr_rng_below(rng, n);
    if (thr_rng_below(rng, 2) == 0)
        at = thr_rng_below(rng, 2) == 0 ? thr_rng_below(rng, n < 4 ? n : 4) : n - 1 - thr_rng_below(rng, n < 4 ? n : 4);
    uint8_t *place = s->data + section.offset + at * width;
    if (thr_rng_below(rng, 3) == 0) /* bytes from elsewhere in the section */
        memmove(place, s->data + section.offset + thr_rng_below(rng, n) * width, width);
    else
        fuzz_put(rng, place, width, n);
}

/* A section longer or shorter by 64 bytes; the sections after it move along. */
static inline size_t fuzz_resize(fuzz_sections *s, size_t room, uint64_t *rng) {
    const uint32_t i = (uint32_t)thr_rng_below(rng, s->n);
    thr_section section = fuzz_get_section(s, i);
    const bool longer = thr_rng_below(rng, 2) == 0;
    enum { BY = THR_SECTION_ALIGN };
    if (section.offset > s->size || section.size > s->size - section.offset || section.size < BY ||
        (longer && s->size + BY > room))
        return s->size;
    const uint64_t end = section.offset + section.size;
    section.size = longer ? section.size + BY : section.size - BY;
    fuzz_put_section(s, i, &section);
    for (uint32_t j = 0; j < s->n; j++) {
        thr_section other = fuzz_get_section(s, j);
        if (other.offset >= end) {
            other.offset = longer ? other.offset + BY : other.offset - BY;
            fuzz_put_section(s, j, &other);
        }
    }
    const size_t tail = (size_t)(s->size - end);
    memmove(s->data + (longer ? end + BY : end - BY), s->data + end, tail);
    if (longer)
        memset(s->data + end, 0, BY);
    const uint64_t table = longer ? s->table_offset + BY : s->table_offset - BY;
    memcpy(s->data + THR_SECTIONS_TABLE_AT, &table, sizeof table);
    return longer ? s->size + BY : s->size - BY;
}

static inline void fuzz_swap(const fuzz_sections *s, uint64_t *rng) {
    const uint32_t a = (uint32_t)thr_rng_below(rng, s->n), b = (uint32_t)thr_rng_below(rng, s->n);
    const thr_section first = fuzz_get_section(s, a), second = fuzz_get_section(s, b);
    fuzz_put_section(s, a, &second);
    if (thr_rng_below(rng, 2) == 0)
        fuzz_put_section(s, b, &first);
}

/* Change one thing; the size afterwards. */
static inline size_t fuzz_change_sections(uint8_t *data, size_t size, size_t room, uint64_t *rng) {
    fuzz_sections s;
    if (!fuzz_find_table(data, size, &s)) {
        if (size >= THR_SECTIONS_HEADER)
            fuzz_put(rng, data + 4 * thr_rng_below(rng, THR_SECTIONS_HEADER / 4), 4, size);
        return size;
    }
    switch (thr_rng_below(rng, 16)) {
    case 0:
    case 1: { /* a number of the header */
        const size_t width = thr_rng_below(rng, 2) == 0 ? 4 : 8;
        fuzz_put(rng, data + 8 + width * thr_rng_below(rng, 48 / width), width, size);
        return size;
    }
    case 2: /* a number of the table */
        fuzz_put(rng, data + s.table_offset + 8 * thr_rng_below(rng, 4 * (uint64_t)s.n), 8, size);
        return size;
    case 3:
        fuzz_swap(&s, rng);
        return size;
    case 4:
    case 5:
        return fuzz_resize(&s, room, rng);
    default:
        fuzz_change_contents(&s, rng);
        return size;
    }
}

static inline size_t fuzz_mutate_sections(uint8_t *data, size_t size, size_t room, unsigned seed) {
    uint64_t rng = seed;
    if (LLVMFuzzerMutate != NULL && thr_rng_below(&rng, 3) == 0)
        size = LLVMFuzzerMutate(data, size, room);
    for (uint64_t n = 1 + thr_rng_below(&rng, 4); n > 0; n--)
        size = fuzz_change_sections(data, size, room, &rng);
    (void)test_seal(data, size);
    return size;
}

/* A copy of a file's bytes, aligned as a mapped file and with right checksums; the caller frees it. */
static inline uint8_t *fuzz_sealed_copy(const uint8_t *data, size_t size) {
    void *copy = NULL;
    if (posix_memalign(&copy, THR_SECTION_ALIGN, size > 0 ? size : 1) != 0)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    (void)test_seal(copy, size);
    return copy;
}

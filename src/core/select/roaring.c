/* SPDX-License-Identifier: Apache-2.0 */
#include "select/roaring.h"

#include "base/error.h"
#include "select/bitmap.h"

#include <inttypes.h>
#include <string.h>

enum {
    COOKIE_PLAIN = 12346, /* bitmap without runs; a count of containers follows */
    COOKIE_RUNS = 12347,  /* low half: bitmap with runs; the high half is the count less one, flags follow */
    OFFSETS_FROM = 4,     /* a bitmap with runs has offsets from this many containers on */
    LIST_MOST = 4096,     /* maximum values of a list; more are stored as a bitmap */
    WIDE_HEAD = 8, /* bytes before the first bucket of a wide bitmap; then each bucket has high bits and a cookie */
    CONTAINERS_MOST = 1 << 16,
};

static uint32_t load_u16(const uint8_t *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t load_u32(const uint8_t *bytes) {
    return load_u16(bytes) | load_u16(bytes + 2) << 16;
}

static uint64_t load_u64(const uint8_t *bytes) {
    return load_u32(bytes) | (uint64_t)load_u32(bytes + 4) << 32;
}

static void load_words(uint64_t *words, const uint8_t *bytes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        words[i] = load_u64(bytes + 8 * (size_t)i);
}

/* Return the next n bytes and advance; NULL with an error if fewer remain. */
static const uint8_t *next_bytes(thr_roaring *r, size_t n, const char *what, thr_error *err) {
    if (r->size - r->at < n) {
        (void)thr_fail(err, THR_ECORRUPT,
                       "a Roaring bitmap is damaged or cut short: %zu bytes of %s should be at byte %zu, but it has "
                       "%zu bytes in all",
                       n, what, r->at, r->size);
        return NULL;
    }
    const uint8_t *taken = r->bytes + r->at;
    r->at += n;
    return taken;
}

static bool is_cookie(uint32_t cookie) {
    return cookie == COOKIE_PLAIN || (cookie & 0xffff) == COOKIE_RUNS;
}

/* Read the header of a 32-bit bucket: cookie, run flags, keys with counts, offsets. */
static thr_status begin_bucket(thr_roaring *r, thr_error *err) {
    r->start = r->at;
    r->i = 0;
    r->run_flags = r->offsets = NULL;
    const uint8_t *head = next_bytes(r, 4, "a cookie", err);
    if (head == NULL)
        return THR_ECORRUPT;
    const uint32_t cookie = load_u32(head);
    if (!is_cookie(cookie))
        return thr_fail(err, THR_ECORRUPT,
                        "a Roaring bitmap is damaged: 0x%08" PRIx32
                        " at byte %zu is not a cookie (0x303a or 0x....303b)",
                        cookie, r->start);
    if (cookie == COOKIE_PLAIN) {
        if ((head = next_bytes(r, 4, "a count", err)) == NULL)
            return THR_ECORRUPT;
        r->n_containers = load_u32(head);
        if (r->n_containers > CONTAINERS_MOST)
            return thr_fail(err, THR_ECORRUPT,
                            "a Roaring bitmap is damaged: %" PRIu32 " containers at byte %zu, %d are possible",
                            r->n_containers, r->start + 4, CONTAINERS_MOST);
    } else {
        r->n_containers = (cookie >> 16) + 1;
        if ((r->run_flags = next_bytes(r, (r->n_containers + 7) / 8, "flags", err)) == NULL)
            return THR_ECORRUPT;
    }
    if ((r->keys = next_bytes(r, (size_t)4 * r->n_containers, "keys", err)) == NULL)
        return THR_ECORRUPT;
    if ((cookie == COOKIE_PLAIN || r->n_containers >= OFFSETS_FROM) &&
        (r->offsets = next_bytes(r, (size_t)4 * r->n_containers, "offsets", err)) == NULL)
        return THR_ECORRUPT;
    return THR_OK;
}

/* Read the high bits before a bucket of a wide bitmap. */
static thr_status begin_wide_bucket(thr_roaring *r, thr_error *err) {
    const uint8_t *head = next_bytes(r, 4, "high bits", err);
    if (head == NULL)
        return THR_ECORRUPT;
    const uint64_t high = (uint64_t)load_u32(head) << 32;
    if (!r->is_first && high <= r->high)
        return thr_fail(err, THR_ECORRUPT,
                        "a Roaring bitmap is damaged: the high bits %" PRIu64 " at byte %zu come after %" PRIu64,
                        high >> 32, r->at - 4, r->high >> 32);
    r->high = high;
    r->is_first = false;
    return begin_bucket(r, err);
}

thr_status thr_select_roaring_open(thr_roaring *r, const void *bytes, size_t size, thr_error *err) {
    *r = (thr_roaring){.bytes = bytes, .size = size, .is_first = true};
    if (size < 8) /* the size of an empty bitmap, 32-bit or 64-bit */
        return thr_fail(err, THR_ECORRUPT, "a Roaring bitmap has at least 8 bytes, not %zu: it is cut short", size);
    /*
     * A wide bitmap begins with its number of buckets, whose high bits increase. If that number equalled a cookie,
     * the bitmap would have 12,346 buckets, and the last would begin at row 12,345 * 2^32 or later: such a filter
     * would need 6 TiB, so the bytes are read as a 32-bit bitmap.
     */
    if (is_cookie(load_u32(r->bytes)))
        return begin_bucket(r, err);
    r->n_buckets = load_u64(r->bytes);
    r->at = WIDE_HEAD;
    if (r->n_buckets > UINT32_MAX ||
        (r->n_buckets > 0 && size >= WIDE_HEAD + 8 && !is_cookie(load_u32(r->bytes + WIDE_HEAD + 4))))
        return thr_fail(err, THR_EFORMAT,
                        "these %zu bytes, beginning with 0x%016" PRIx64 ", are not a Roaring bitmap: write it in the "
                        "portable format (roaring_bitmap_portable_serialize, RoaringBitmap.serialize, "
                        "serializePortable)",
                        size, r->n_buckets);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ containers */

static thr_status damaged(const thr_roaring *r, const thr_roaring_container *c, const char *why, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT,
                    "a Roaring bitmap is damaged: the container of values from %" PRIu64 " on, at byte %zu, %s",
                    c->first, (size_t)(c->parts - r->bytes), why);
}

static thr_status check_list(const thr_roaring *r, thr_roaring_container *c, thr_error *err) {
    c->last = load_u16(c->parts);
    for (uint32_t i = 1; i < c->n_parts; i++) {
        const uint32_t value = load_u16(c->parts + 2 * (size_t)i);
        if (value <= c->last)
            return damaged(r, c, "holds values that do not increase", err);
        c->last = value;
    }
    return THR_OK;
}

static thr_status check_bitmap(const thr_roaring *r, thr_roaring_container *c, thr_error *err) {
    uint64_t words[THR_ROARING_WORDS];
    load_words(words, c->parts, THR_ROARING_WORDS);
    if (thr_select_bitmap_count_words(words, THR_ROARING_WORDS) != c->n_bits)
        return damaged(r, c, "does not have its header's number of bits", err);
    size_t top = THR_ROARING_WORDS - 1;
    while (words[top] == 0)
        top--;
    c->last = (uint32_t)(64 * top + 63) - (uint32_t)__builtin_clzll(words[top]);
    return THR_OK;
}

static thr_status check_runs(const thr_roaring *r, thr_roaring_container *c, thr_error *err) {
    uint32_t n_bits = 0, end = 0;
    for (uint32_t i = 0; i < c->n_parts; i++) {
        const uint32_t first = load_u16(c->parts + 4 * (size_t)i), more = load_u16(c->parts + 4 * (size_t)i + 2);
        if (first < end || first + more >= THR_ROARING_BITS)
            return damaged(r, c, "holds runs that do not increase or are too long", err);
        end = first + more + 1;
        n_bits += more + 1;
    }
    if (n_bits != c->n_bits)
        return damaged(r, c, "does not have its header's number of values in its runs", err);
    c->last = end - 1;
    return THR_OK;
}

static thr_status next_in_bucket(thr_roaring *r, thr_roaring_container *c, thr_error *err) {
    const uint32_t i = r->i++, key = load_u16(r->keys + 4 * (size_t)i);
    *c = (thr_roaring_container){.first = r->high | (uint64_t)key << 16,
                                 .n_bits = load_u16(r->keys + 4 * (size_t)i + 2) + 1,
                                 .parts = r->bytes + r->at};
    if (i > 0 && key <= load_u16(r->keys + 4 * (size_t)(i - 1)))
        return damaged(r, c, "does not come after the one before", err);
    if (r->offsets != NULL && load_u32(r->offsets + 4 * (size_t)i) != r->at - r->start)
        return damaged(r, c, "is not at its offset", err);
    if (r->run_flags != NULL && (r->run_flags[i / 8] >> i % 8 & 1) != 0) {
        const uint8_t *n_runs = next_bytes(r, 2, "a number of runs", err);
        if (n_runs == NULL)
            return THR_ECORRUPT;
        c->kind = THR_ROARING_RUNS;
        c->n_parts = load_u16(n_runs);
        c->parts = next_bytes(r, (size_t)4 * c->n_parts, "runs", err);
        return c->parts != NULL ? check_runs(r, c, err) : THR_ECORRUPT;
    }
    if (c->n_bits <= LIST_MOST) {
        c->kind = THR_ROARING_LIST;
        c->n_parts = c->n_bits;
        c->parts = next_bytes(r, (size_t)2 * c->n_parts, "values", err);
        return c->parts != NULL ? check_list(r, c, err) : THR_ECORRUPT;
    }
    c->kind = THR_ROARING_BITMAP;
    c->n_parts = THR_ROARING_WORDS;
    c->parts = next_bytes(r, THR_ROARING_WORDS * sizeof(uint64_t), "a bitmap", err);
    return c->parts != NULL ? check_bitmap(r, c, err) : THR_ECORRUPT;
}

thr_status thr_select_roaring_next(thr_roaring *r, thr_roaring_container *container, thr_error *err) {
    while (r->i == r->n_containers) {
        if (r->n_buckets == 0) {
            *container = (thr_roaring_container){.n_bits = 0};
            if (r->at != r->size)
                return thr_fail(err, THR_ECORRUPT,
                                "a Roaring bitmap ends at byte %zu of %zu: it is damaged, or something else follows",
                                r->at, r->size);
            return THR_OK;
        }
        r->n_buckets--;
        THR_TRY(begin_wide_bucket(r, err));
    }
    return next_in_bucket(r, container, err);
}

static void fill_run(uint64_t *words, uint32_t first, uint32_t last) {
    const uint64_t from = ~UINT64_C(0) << first % 64, to = ~UINT64_C(0) >> (63 - last % 64);
    if (first / 64 == last / 64) {
        words[first / 64] |= from & to;
        return;
    }
    words[first / 64] |= from;
    for (uint32_t word = first / 64 + 1; word < last / 64; word++)
        words[word] = ~UINT64_C(0);
    words[last / 64] |= to;
}

void thr_select_roaring_fill(const thr_roaring_container *c, uint64_t *words) {
    switch (c->kind) {
    case THR_ROARING_LIST:
        for (uint32_t i = 0; i < c->n_parts; i++)
            thr_bitmap_set(words, load_u16(c->parts + 2 * (size_t)i));
        break;
    case THR_ROARING_BITMAP:
        load_words(words, c->parts, c->last / 64 + 1);
        break;
    case THR_ROARING_RUNS:
        for (uint32_t i = 0; i < c->n_parts; i++) {
            const uint32_t first = load_u16(c->parts + 4 * (size_t)i);
            fill_run(words, first, first + load_u16(c->parts + 4 * (size_t)i + 2));
        }
        break;
    }
}

/* ------------------------------------------------------------------------------------------ <thresher/filter.h> */

static thr_status fill_all(thr_roaring *r, uint64_t n_bits, uint64_t *words, thr_error *err) {
    thr_roaring_container container;
    uint64_t largest = 0;
    bool fits = true;
    for (;;) {
        THR_TRY(thr_select_roaring_next(r, &container, err));
        if (container.n_bits == 0)
            return fits ? THR_OK : thr_select_bitmap_too_small(largest, n_bits, err);
        largest = container.first + container.last;
        fits = largest < n_bits;
        if (fits)
            thr_select_roaring_fill(&container, words + container.first / THR_WORD_BITS);
    }
}

thr_status thr_bitmap_from_roaring(const void *bytes, size_t size, uint64_t n_bits, uint64_t *words, thr_error *err) {
    thr_roaring roaring;
    if ((bytes == NULL && size > 0) || (words == NULL && n_bits > 0))
        return thr_fail(err, THR_EINVAL,
                        "a bitmap is made from the bytes of a Roaring bitmap, with room for its words");
    if (n_bits > 0)
        memset(words, 0, thr_bitmap_words(n_bits) * sizeof *words);
    thr_status status = thr_select_roaring_open(&roaring, bytes, size, err);
    if (status == THR_OK)
        status = fill_all(&roaring, n_bits, words, err);
    if (status != THR_OK && n_bits > 0)
        memset(words, 0, thr_bitmap_words(n_bits) * sizeof *words);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_roaring.c - bytes read as a Roaring bitmap; CRoaring reads the same from bytes that are accepted. */
#include <thresher/filter.h>

#include "fuzz/io_fuzz.h"
#include "select/bitmap.h"
#include "select/roaring.h"

#ifdef TEST_WITH_CROARING
#include <roaring/roaring.h>
#endif

enum { N_BITS = 3 * 65536 + 100, N_WORDS = (N_BITS + 63) / 64 };

/* All values added up, and how many there are: those below N_BITS are also in words. */
typedef struct content {
    uint64_t n, sum, largest;
    uint64_t words[N_WORDS];
} content;

/* Every container has the declared kind and size. */
static void take_container(const thr_roaring_container *c, content *all) {
    uint64_t bits[THR_ROARING_WORDS] = {0};
    fuzz_check(c->first % THR_ROARING_BITS == 0 && c->last < THR_ROARING_BITS);
    fuzz_check(all->n == 0 || c->first > all->largest);
    thr_select_roaring_fill(c, bits);
    fuzz_check(thr_select_bitmap_count_words(bits, THR_ROARING_WORDS) == c->n_bits);
    fuzz_check((bits[c->last / 64] >> c->last % 64 & 1) != 0);
    for (uint64_t row = 0; (row = thr_select_bitmap_next_row(bits, row, THR_ROARING_BITS)) < THR_ROARING_BITS; row++) {
        all->n++;
        all->sum += c->first + row;
        all->largest = c->first + row;
        if (c->first + row < N_BITS)
            thr_bitmap_set(all->words, c->first + row);
    }
    fuzz_check(all->largest == c->first + c->last);
}

static thr_status take_all(const uint8_t *data, size_t size, content *all, thr_error *err) {
    thr_roaring roaring;
    thr_roaring_container container;
    thr_status status = thr_select_roaring_open(&roaring, data, size, err);
    while (status == THR_OK) {
        status = thr_select_roaring_next(&roaring, &container, err);
        if (status != THR_OK || container.n_bits == 0)
            break;
        take_container(&container, all);
    }
    return status;
}

#ifdef TEST_WITH_CROARING
static bool add_value(uint32_t value, void *sum) {
    *(uint64_t *)sum += value;
    return true;
}

static void compare(const uint8_t *data, size_t size, const content *all) {
    uint64_t sum = 0;
    roaring_bitmap_t *bitmap = roaring_bitmap_portable_deserialize_safe((const char *)data, size);
    fuzz_check(bitmap != NULL && roaring_bitmap_get_cardinality(bitmap) == all->n);
    (void)roaring_iterate(bitmap, add_value, &sum);
    fuzz_check(sum == all->sum && (all->n == 0 || roaring_bitmap_maximum(bitmap) == all->largest));
    roaring_bitmap_free(bitmap);
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    content *all = calloc(1, sizeof *all);
    uint64_t *words = malloc(N_WORDS * sizeof *words);
    thr_error err;
    fuzz_check(all != NULL && words != NULL);
    memset(words, 0xff, N_WORDS * sizeof *words);
    thr_status status = take_all(data, size, all, &err);
    if (status != THR_OK)
        fuzz_check_error(&err, status);
    thr_status filled = thr_bitmap_from_roaring(data, size, N_BITS, words, &err);
    if (filled == THR_OK)
        fuzz_check(memcmp(words, all->words, sizeof all->words) == 0);
    else
        fuzz_check_error(&err, filled);
    fuzz_check(filled == (status != THR_OK ? status : all->n == 0 || all->largest < N_BITS ? THR_OK : THR_EINVAL));
    if (filled != THR_OK)
        fuzz_check(thr_bitmap_count(words, N_BITS) == 0);
#ifdef TEST_WITH_CROARING
    uint32_t cookie;
    if (status == THR_OK) {
        memcpy(&cookie, data, sizeof cookie);
        if (cookie == 12346 || (cookie & 0xffff) == 12347) /* 32 bits: the C interface has no others everywhere */
            compare(data, size, all);
    }
#endif
    free(words);
    free(all);
    return 0;
}

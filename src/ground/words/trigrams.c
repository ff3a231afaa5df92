/* SPDX-License-Identifier: Apache-2.0 */
/* trigrams.c - a hash table from trigrams to rows, and the choice of the most frequent trigrams. */
#include "words/trigrams.h"

#include <stdlib.h>

#include "base/error.h"

static size_t slot_of(uint64_t key, size_t mask) {
    key *= 0x9e3779b97f4a7c15u;
    return (size_t)(key ^ key >> 32) & mask;
}

thr_status thr_words_grams_make(thr_context *context, const uint64_t *keys, uint32_t n, thr_grams *grams,
                                thr_error *err) {
    *grams = (thr_grams){.n = n, .keys = keys};
    size_t n_slots = 16;
    while (n_slots < 2 * (size_t)n)
        n_slots *= 2;
    grams->mask = n_slots - 1;
    THR_TRY(thr_alloc_zero(context, n_slots, sizeof *grams->slots, &grams->slots, "a vocabulary", err));
    for (uint32_t row = 0; row < n; row++) {
        size_t slot = slot_of(keys[row], grams->mask);
        for (; grams->slots[slot] != 0; slot = (slot + 1) & grams->mask) {
            if (keys[grams->slots[slot] - 1] == keys[row]) {
                thr_words_grams_free(context, grams);
                return thr_fail(err, THR_EDUPLICATE, "row %u of the letter trigrams is repeated", row);
            }
        }
        grams->slots[slot] = row + 1;
    }
    return THR_OK;
}

void thr_words_grams_free(thr_context *context, thr_grams *grams) {
    THR_RELEASE(context, grams->slots, grams->own);
    *grams = (thr_grams){0};
}

int64_t thr_words_grams_row(const thr_grams *grams, uint64_t key) {
    for (size_t slot = slot_of(key, grams->mask); grams->slots[slot] != 0; slot = (slot + 1) & grams->mask)
        if (grams->keys[grams->slots[slot] - 1] == key)
            return grams->slots[slot] - 1;
    return THR_GRAM_UNKNOWN;
}

static int by_key(const void *a, const void *b) {
    const uint64_t x = ((const thr_gram_count *)a)->key, y = ((const thr_gram_count *)b)->key;
    return (x > y) - (x < y);
}

static int by_count(const void *a, const void *b) {
    const uint64_t x = ((const thr_gram_count *)a)->count, y = ((const thr_gram_count *)b)->count;
    return x != y ? (x < y) - (x > y) : by_key(a, b);
}

thr_status thr_words_grams_choose(thr_context *context, thr_gram_count *counts, size_t n, uint32_t most,
                                  thr_grams *grams, thr_error *err) {
    qsort(counts, n, sizeof *counts, by_key);
    size_t n_different = 0;
    for (size_t i = 0; i < n; i++) {
        if (n_different > 0 && counts[n_different - 1].key == counts[i].key)
            counts[n_different - 1].count += counts[i].count;
        else
            counts[n_different++] = counts[i];
    }
    qsort(counts, n_different, sizeof *counts, by_count);
    const uint32_t n_kept = n_different < most ? (uint32_t)n_different : most;
    uint64_t *keys = NULL;
    THR_TRY(thr_alloc(context, n_kept, sizeof *keys, &keys, "a vocabulary", err));
    for (uint32_t i = 0; i < n_kept; i++)
        keys[i] = counts[i].key;
    const thr_status status = thr_words_grams_make(context, keys, n_kept, grams, err);
    if (status != THR_OK)
        thr_release(context, keys);
    else
        grams->own = keys;
    return status;
}

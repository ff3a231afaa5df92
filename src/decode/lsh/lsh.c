/* SPDX-License-Identifier: Apache-2.0 */
/* lsh.c - building the word lists of lsh.h, and counting the words that a group of states hits. */
#include "lsh/lsh.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/radix.h"

enum { AHEAD = 8 }; /* slots are prefetched this many bands ahead */

/* ------------------------------------------------------------------------------------------------ build */

typedef struct building {
    thr_context *context;
    const uint32_t *codes;
    uint32_t n_words, n_bands;
    uint32_t *words; /* of all bands, n_words each */
    thr_keyed *keyed;
    thr_cuckoo_slot *spans; /* those found so far */
    size_t n_spans, spans_capacity;
} building;

/* Sort a band's words by their code and add one span for each distinct code. */
static thr_status sort_band(building *b, uint32_t band, thr_error *err) {
    const uint32_t n_words = b->n_words;
    for (uint32_t w = 0; w < n_words; w++)
        b->keyed[w] = (thr_keyed){b->codes[(size_t)w * b->n_bands + band], w};
    THR_TRY(thr_radix_sort(b->context, b->keyed, n_words, err));
    uint32_t *out = b->words + (size_t)band * n_words;
    for (uint32_t i = 0; i < n_words; i++) {
        out[i] = (uint32_t)b->keyed[i].value;
        if (i == 0 || b->keyed[i].key != b->keyed[i - 1].key) {
            THR_TRY(thr_grow(b->context, &b->spans, &b->spans_capacity, b->n_spans + 1, sizeof *b->spans, "band codes",
                             err));
            b->spans[b->n_spans++] = (thr_cuckoo_slot){band, (uint32_t)b->keyed[i].key, band * n_words + i, 0};
        }
        b->spans[b->n_spans - 1].n++;
    }
    return THR_OK;
}

thr_status thr_lsh_build(thr_context *context, const uint32_t *codes, const thr_lsh_shape *shape,
                         thr_lsh_memory *memory, thr_lsh *lsh, thr_error *err) {
    building b = {.context = context, .codes = codes, .n_words = shape->n_words, .n_bands = shape->n_bands};
    thr_status status = THR_OK;
    *memory = (thr_lsh_memory){NULL, NULL};
    *lsh = (thr_lsh){.n_words = b.n_words, .n_bands = b.n_bands};
    const uint64_t n = (uint64_t)b.n_words * b.n_bands;
    if (n == 0 || n > UINT32_MAX)
        return thr_fail(err, THR_EDIM,
                        "%" PRIu32 " words in %" PRIu32 " bands: lists have 1 to %" PRIu32 " words in all bands",
                        b.n_words, b.n_bands, UINT32_MAX);
    THR_TRY_OUT(thr_alloc(context, (size_t)n, sizeof *memory->words, &memory->words, "lists of words", err));
    THR_TRY_OUT(thr_alloc(context, b.n_words, sizeof *b.keyed, &b.keyed, "words to sort", err));
    lsh->words = b.words = memory->words;
    for (uint32_t band = 0; band < b.n_bands; band++)
        THR_TRY_OUT(sort_band(&b, band, err));
    lsh->table = (thr_cuckoo){.n_slots = thr_lsh_cuckoo_n_slots(b.n_spans), .seed = shape->seed};
    if (lsh->table.n_slots == 0)
        THR_TRY_OUT(
            thr_fail(err, THR_EDIM, "%zu band codes are too many for a hash table: choose fewer bands", b.n_spans));
    THR_TRY_OUT(thr_lsh_cuckoo_build(context, b.spans, b.n_spans, &memory->slots, &lsh->table, err));
out:
    THR_RELEASE(context, b.spans, b.keyed);
    return status;
}

void thr_lsh_free(thr_context *context, thr_lsh_memory *memory) {
    THR_RELEASE(context, memory->slots, memory->words);
    *memory = (thr_lsh_memory){NULL, NULL};
}

const char *thr_lsh_check(const thr_lsh *lsh) {
    const uint64_t n = (uint64_t)lsh->n_words * lsh->n_bands;
    for (uint64_t i = 0; i < (uint64_t)lsh->table.n_slots + lsh->table.n_stash; i++) {
        const thr_cuckoo_slot *slot = &lsh->table.slots[i];
        if (slot->n > n || slot->first > n - slot->n)
            return "a band code's list is out of bounds";
    }
    for (uint64_t i = 0; i < n; i++)
        if (lsh->words[i] >= lsh->n_words)
            return "a list has a word that is out of range";
    return NULL;
}

/* ------------------------------------------------------------------------------------------------ count */

thr_status thr_lsh_counter_make(thr_context *context, uint32_t n_words, thr_lsh_counter *counter, thr_error *err) {
    *counter = (thr_lsh_counter){NULL, NULL, 0};
    THR_TRY(thr_alloc_zero(context, n_words, sizeof *counter->counts, &counter->counts, "hits of words", err));
    return thr_alloc(context, (size_t)n_words + 1, sizeof *counter->touched, &counter->touched, "words that are hit",
                     err);
}

void thr_lsh_counter_free(thr_context *context, thr_lsh_counter *counter) {
    THR_RELEASE(context, counter->counts, counter->touched);
    *counter = (thr_lsh_counter){NULL, NULL, 0};
}

static void fetch(const thr_lsh *lsh, uint32_t band, uint32_t code) {
    const thr_cuckoo_places places = thr_lsh_cuckoo_where(&lsh->table, band, code);
    __builtin_prefetch(&lsh->table.slots[places.at[0]]);
    __builtin_prefetch(&lsh->table.slots[places.at[1]]);
}

/*
 * Count one state's hits. A word's bit is set when its count reaches the threshold; its number is appended to touched
 * at its first hit. The append is unconditional to avoid a branch, so touched has one spare entry.
 */
static void count_state(const thr_lsh *lsh, thr_lsh_counter *counter, const uint32_t *codes, uint32_t threshold,
                        uint64_t *marks) {
    uint32_t n_touched = counter->n_touched;
    for (uint32_t band = 0; band < lsh->n_bands && band < AHEAD; band++)
        fetch(lsh, band, codes[band]);
    for (uint32_t band = 0; band < lsh->n_bands; band++) {
        if (band + AHEAD < lsh->n_bands)
            fetch(lsh, band + AHEAD, codes[band + AHEAD]);
        const thr_cuckoo_slot *span = thr_lsh_cuckoo_find(&lsh->table, band, codes[band]);
        if (span == NULL)
            continue;
        const uint32_t *words = lsh->words + span->first;
        for (uint32_t i = 0; i < span->n; i++) {
            const uint32_t w = words[i], hits = ++counter->counts[w];
            counter->touched[n_touched] = w;
            n_touched += hits == 1;
            if (hits == threshold)
                marks[w / 64] |= UINT64_C(1) << w % 64;
        }
    }
    counter->n_touched = n_touched;
}

static void set_back(thr_lsh_counter *counter) {
    for (uint32_t i = 0; i < counter->n_touched; i++)
        counter->counts[counter->touched[i]] = 0;
    counter->n_touched = 0;
}

void thr_lsh_mark(const thr_lsh *lsh, thr_lsh_counter *counter, const uint32_t *codes, size_t n_states,
                  uint32_t threshold, thr_lsh_combine combine, uint64_t *marks) {
    for (size_t i = 0; i < n_states; i++) {
        count_state(lsh, counter, codes + i * lsh->n_bands, threshold, marks);
        if (combine == THR_LSH_LARGEST)
            set_back(counter);
    }
    set_back(counter);
}

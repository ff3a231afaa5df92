/* SPDX-License-Identifier: Apache-2.0 */
/* data.h - the files ITEMS and REQUESTS (thresher/dual.h), read once and kept as word numbers. */
#pragma once

#include "io/table.h"
#include "dual_tower/words.h"
#include "training/weights.h"

/* The most ads of a request and words of an item: training visits all pairs of the two. */
enum { THR_DUAL_ADS_MAX = 4096, THR_DUAL_ITEM_WORDS_MAX = 4096 };

/* The words of all files, numbered for each side. */
typedef struct thr_dual_lexicon {
    thr_lexicon words[THR_N_SIDES];
    uint32_t *hits;        /* for every user's word the items' word that it hits, or THR_DUAL_NONE */
    size_t *field_lengths; /* bytes of the name of every user's word's field */
    size_t hits_capacity, field_lengths_capacity;
} thr_dual_lexicon;

typedef struct thr_dual_items {
    size_t n;
    thr_lexicon ids;
    uint32_t *words; /* item i has words[offsets[i]] to words[offsets[i + 1] - 1], all different */
    size_t *offsets;
    size_t words_capacity, offsets_capacity;
} thr_dual_items;

/* Request r has words[word_offsets[r]], ... with numbers x, and ads[ad_offsets[r]], ..., best first. */
typedef struct thr_dual_requests {
    size_t n;
    uint32_t *words;
    float *x;
    size_t *word_offsets;
    uint32_t *ads;    /* numbers of items */
    uint32_t *levels; /* rank_loss.h */
    float *values;
    uint64_t *ad_offsets;
    uint64_t *split; /* a hash of every request, by which it trains or validates */
    size_t most_ads; /* the largest number of ads in a request */
    size_t words_capacity, x_capacity, word_offsets_capacity;
    size_t ads_capacity, levels_capacity, values_capacity, ad_offsets_capacity, split_capacity;
} thr_dual_requests;

/*
 * Read ITEMS; _take reads from an open table. *items starts zeroed. Returns THR_OK; for bad files the statuses of
 * thr_dual_train.
 */
thr_status thr_dual_items_read(thr_context *context, const char *path, thr_dual_lexicon *lexicon, thr_dual_items *items,
                               thr_error *err);
thr_status thr_dual_items_take(thr_context *context, thr_table *table, thr_dual_lexicon *lexicon, thr_dual_items *items,
                               thr_error *err);

/* Read REQUESTS. *requests starts zeroed. Returns the same statuses. */
thr_status thr_dual_requests_read(thr_context *context, const char *path, const thr_dual_items *items,
                                  thr_dual_lexicon *lexicon, thr_dual_requests *requests, thr_error *err);
thr_status thr_dual_requests_take(thr_context *context, thr_table *table, const thr_dual_items *items,
                                  thr_dual_lexicon *lexicon, thr_dual_requests *requests, thr_error *err);

void thr_dual_lexicon_free(thr_context *context, thr_dual_lexicon *lexicon);
void thr_dual_items_free(thr_context *context, thr_dual_items *items);
void thr_dual_requests_free(thr_context *context, thr_dual_requests *requests);

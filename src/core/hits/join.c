/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join.c - posting lists in an index: the second file as the delta of the first, and live rows from the index.
 *
 * Place p of the second file is row 65,536 w + p, where w is the window of the first row after the first file: a window
 * of rows is a window of each file, and the sums of both add up. Each file has words of its own; the second's get the
 * numbers of the first's, and others after them. Joining costs the second file's rows and words, and all values.
 */
#include "hits/hits.h"

#include <string.h>

#include "base/error.h"
#include "select/bitmap.h"

/* ------------------------------------------------------------------------------------------------ words */

/*
 * Number the second file's features. Words of the first file have its numbers, the others follow. Both files' words
 * ascend, so the numbers do in either part; references to lists are moved with them.
 */
static thr_status number_words(const thr_hits *hits, thr_hit_delta *d, thr_error *err) {
    const thr_hits_contents *c = &d->from->view.contents;
    const uint32_t n = c->lists.n_features;
    uint32_t at = 0;
    THR_TRY(thr_alloc(hits->context, n, sizeof *d->numbers, &d->numbers, "features", err));
    THR_TRY(thr_alloc(hits->context, n, sizeof *d->refs, &d->refs, "features", err));
    for (int is_second = 0; is_second < 2; is_second++)
        for (uint32_t f = 0; f < n; f++) {
            const char *word = thr_strings_get(&c->words, f);
            uint32_t number;
            if (word == NULL)
                return thr_fail(err, THR_ECORRUPT, "%s: the offsets of words are wrong: " THR_HITS_REMEDY,
                                d->from->path);
            /* The texts of a file that is cut meanwhile become others; opening then fails. */
            if (at == n || thr_hits_number(hits, word, &number) == (is_second == 1))
                continue;
            if (is_second == 1) {
                THR_TRY(thr_dictionary_add(hits->context, &d->words, word, strlen(word), &number, NULL, err));
                number += hits->view.contents.lists.n_features;
            }
            d->numbers[at] = number;
            d->refs[at++] = c->lists.refs[f];
        }
    d->built.lists.features = d->numbers;
    d->built.lists.refs = d->refs;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ values */

static void copy_values(float *all, const float *first, const float *added, const thr_hits *hits, float fallback) {
    const uint32_t n_first = hits->view.contents.lists.n_items;
    const uint64_t begin = hits->delta->first_row;
    for (uint64_t row = 0; row < hits->info.n_rows; row++) {
        const float *from = row < n_first ? first : added;
        all[row] = from == NULL ? fallback : from[row < n_first ? row : row - begin];
    }
}

/* Set the values of both files, if one has any. */
static thr_status set_values(thr_hits *hits, thr_error *err) {
    const thr_hits_contents *c = &hits->view.contents, *a = &hits->delta->from->view.contents;
    const bool has_multipliers = c->multipliers != NULL || a->multipliers != NULL;
    const bool has_offsets = c->offsets != NULL || a->offsets != NULL;
    float *multipliers = NULL, *offsets = NULL;
    thr_status status = THR_OK;
    if (has_multipliers)
        THR_TRY_OUT(
            thr_alloc(hits->context, (size_t)hits->info.n_rows, sizeof *multipliers, &multipliers, "values", err));
    if (has_offsets)
        THR_TRY_OUT(thr_alloc(hits->context, (size_t)hits->info.n_rows, sizeof *offsets, &offsets, "values", err));
    if (has_multipliers)
        copy_values(multipliers, c->multipliers, a->multipliers, hits, 1);
    if (has_offsets)
        copy_values(offsets, c->offsets, a->offsets, hits, 0);
    if (has_multipliers || has_offsets)
        THR_TRY_OUT(thr_hits_set_values(hits, multipliers, offsets, hits->info.n_rows, err));
out:
    THR_RELEASE(hits->context, multipliers, offsets);
    return status;
}

/* ------------------------------------------------------------------------------------------------ together */

static thr_status fill(thr_hits *hits, thr_hit_delta *d, thr_error *err) {
    const thr_hits_contents *c = &d->from->view.contents;
    const uint64_t n_first = hits->view.contents.lists.n_items, n = c->lists.n_items;
    d->first_row = (uint32_t)thr_hits_second_row(n_first);
    d->n_items = (uint32_t)n;
    d->built.lists = c->lists;
    if (d->first_row + n < n_first || d->first_row + n > THR_HITS_MAX_ITEMS || c->rows != NULL ||
        (c->words.offsets != NULL) != hits->info.has_words || c->model != hits->view.contents.model)
        return thr_fail(err, THR_ECORRUPT, "%s: does not go with %s: build the index again", d->from->path, hits->path);
    THR_TRY(thr_alloc(hits->context, (size_t)n, sizeof *d->rows, &d->rows, "rows", err));
    for (uint32_t i = 0; i < d->n_items; i++)
        d->rows[i] = d->first_row + i;
    return hits->info.has_words ? number_words(hits, d, err) : THR_OK;
}

thr_status thr_hits_join(thr_hits *hits, thr_hits *added, thr_error *err) {
    thr_hit_delta *delta = NULL;
    const thr_status status = thr_alloc_zero(hits->context, 1, sizeof *delta, &delta, "features", err);
    if (status != THR_OK) {
        thr_hits_free(added);
        return status;
    }
    delta->from = added;
    const thr_status filled = fill(hits, delta, err);
    hits->delta = delta;
    THR_TRY(filled);
    hits->info.n_rows = delta->first_row + (uint64_t)delta->n_items;
    hits->info.n_features += delta->words.n;
    hits->info.n_postings += added->info.n_postings;
    hits->info.list_bytes += added->info.list_bytes;
    hits->info.file_bytes += added->info.file_bytes;
    hits->info.has_ids = false;
    hits->info.has_names = false;
    return set_values(hits, err);
}

/* ------------------------------------------------------------------------------------------------ owner */

/* Set the live rows of joined lists, one bit per row; NULL: all rows have an item. */
static thr_status set_live(thr_hits *hits, const uint64_t *live, thr_error *err) {
    thr_hit_delta *d = hits->delta;
    const uint64_t n_first = hits->view.contents.lists.n_items, n_rows = hits->info.n_rows;
    THR_TRY(thr_alloc_zero(hits->context, thr_hits_file_words(hits), sizeof *d->live, &d->live, "live rows", err));
    THR_TRY(thr_alloc_zero(hits->context, thr_lists_n_words(&d->built.lists), sizeof *d->added_live, &d->added_live,
                           "live rows", err));
    /* Added rows begin with a word of their own, as segments do. */
    for (size_t w = 0; w < thr_bitmap_words(n_rows); w++) {
        const uint64_t all = n_rows - 64 * w >= 64 ? UINT64_MAX : (UINT64_C(1) << n_rows % 64) - 1;
        uint64_t *to = w < thr_bitmap_words(n_first) ? d->live + w : d->added_live + (w - d->first_row / 64);
        *to = live == NULL ? all : live[w];
    }
    const uint64_t n_left = thr_select_bitmap_count_range(d->live, 0, n_first);
    d->n_gone = (uint32_t)(n_first - n_left);
    hits->info.n_items = n_left + thr_select_bitmap_count_range(d->added_live, 0, d->n_items);
    return THR_OK;
}

thr_status thr_hits_set_owner(thr_hits *hits, const thr_hit_owner *owner, const uint64_t *live, thr_error *err) {
    const uint32_t n = hits->view.contents.lists.n_items;
    hits->owner = *owner;
    hits->values_are_set = false;
    if (hits->delta != NULL)
        return set_live(hits, live, err);
    if (live == NULL)
        return THR_OK;
    THR_TRY(thr_alloc_zero(hits->context, thr_hits_file_words(hits), sizeof *hits->owner_live, &hits->owner_live,
                           "live rows", err));
    memcpy(hits->owner_live, live, thr_bitmap_words(n) * sizeof *live);
    hits->info.n_items = thr_select_bitmap_count_range(live, 0, n);
    hits->n_without = n - (uint32_t)hits->info.n_items;
    return THR_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.h - what items have, turned round: the items of every feature, before they are compressed. */
#ifndef THR_LISTS_TRANSPOSE_H
#define THR_LISTS_TRANSPOSE_H

#include <thresher/hits.h>

/* Zeroed before they are sorted. */
typedef struct thr_postings {
    uint32_t n_features; /* that an item has */
    uint32_t *features;  /* their numbers, ascending */
    uint64_t *starts;    /* of feature f: items[starts[f]] to items[starts[f + 1] - 1], ascending */
    uint32_t *items;
} thr_postings;

/*
 * rows[p] is the row of what is to be item p; NULL: rows are items. What does not fit is told by row. All threads sort;
 * the result does not depend on how many there are.
 *
 * THR_OK; THR_EINVAL for offsets that do not ascend from 0; THR_ERANGE for a feature beyond THR_HITS_MAX_FEATURE (err
 * names the item); THR_ENOMEM.
 */
thr_status thr_lists_postings_sort(thr_context *context, const thr_item_features *items, const uint32_t *rows,
                                   thr_postings *postings, thr_error *err);
void thr_lists_postings_free(thr_context *context, thr_postings *postings);

/* How often each number stands, of *n_numbers up to the largest, for the caller to release. Checks items as above. */
thr_status thr_lists_postings_count(thr_context *context, const thr_item_features *items, uint64_t **counts,
                                    uint64_t *n_numbers, thr_error *err);

#endif

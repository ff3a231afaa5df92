/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.h - transposes the features of items into the items of features, before they are compressed. */
#pragma once

#include <thresher/hits.h>

/* The places of the items of every feature. Initialise with zeros. */
typedef struct thr_postings {
    uint32_t n_features; /* features that at least one item has */
    uint32_t *features;  /* feature numbers, ascending */
    uint64_t *starts;    /* feature at index f: places[starts[f]] to places[starts[f + 1] - 1], ascending */
    uint32_t *places;
} thr_postings;

/* THR_EINVAL unless the offsets of the features of n items ascend from 0; of: "item", for messages. */
thr_status thr_lists_check_offsets(const uint64_t *offsets, uint64_t n, const char *of, thr_error *err);

/*
 * Transpose on all threads; the result does not depend on their number. rows[p] is the row, in items, of the item that
 * gets place p; NULL: places are rows. Free with thr_lists_postings_free, after an error too.
 *
 * THR_OK; THR_EINVAL for offsets that do not ascend from 0; THR_ERANGE for a feature beyond THR_HITS_MAX_FEATURE (err
 * names the row); THR_ENOMEM.
 */
thr_status thr_lists_transpose(thr_context *context, const thr_item_features *items, const uint32_t *rows,
                               thr_postings *postings, thr_error *err);
void thr_lists_postings_free(thr_context *context, thr_postings *postings);

/*
 * Count the occurrences of each feature number below *n_numbers, the largest plus one. The caller releases *counts.
 * Checks items as thr_lists_transpose does, with the same statuses.
 */
thr_status thr_lists_postings_count(thr_context *context, const thr_item_features *items, uint64_t **counts,
                                    uint64_t *n_numbers, thr_error *err);

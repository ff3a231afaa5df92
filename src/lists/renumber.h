/* SPDX-License-Identifier: Apache-2.0 */
/* renumber.h - an order of items in which those that share features are neighbours (errata, HitMatch 4). */
#ifndef THR_LISTS_RENUMBER_H
#define THR_LISTS_RENUMBER_H

#include <thresher/hits.h>

/*
 * rows[p] becomes the row of the item in place p, n_items of them: items are in order of their most frequent feature,
 * those with the same one in order of the next, and so on; at last in order of rows. Features that hardly any item has
 * do not count. The order does not depend on the number of threads.
 *
 * THR_OK; THR_ENOMEM; and what thr_lists_postings_sort returns of items.
 */
thr_status thr_lists_renumber(thr_context *context, const thr_item_features *items, uint32_t *rows, thr_error *err);

#endif

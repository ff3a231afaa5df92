/* SPDX-License-Identifier: Apache-2.0 */
/* renumber.h - an order of items in which those with common features are neighbours (errata, HitMatch 4). */
#pragma once

#include <thresher/hits.h>

/*
 * Write to rows[p] the row of the item in place p, for all n_items places. Items are ordered by their most frequent
 * feature, then by the next, up to eight; ties by row. Features that occur once are ignored, as are all but the 65,535
 * most frequent. The order does not depend on the number of threads.
 *
 * THR_OK; THR_ENOMEM; and what thr_lists_postings_count returns.
 */
thr_status thr_lists_renumber(thr_context *context, const thr_item_features *items, uint32_t *rows, thr_error *err);

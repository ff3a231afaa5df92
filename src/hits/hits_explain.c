/* SPDX-License-Identifier: Apache-2.0 */
/* hits_explain.c - which of a query's features an item has, and what each is worth. */
#include <inttypes.h>

#include "base/error.h"
#include "hits/hits_impl.h"

/* Where a row stands in the lists. Cost: one pass over the rows, where items were numbered anew and never updated. */
static uint32_t find_place(const thr_hits *hits, uint32_t row) {
    const thr_hits_contents *c = &hits->view.contents;
    uint32_t place = 0;
    if (c->rows == NULL)
        return row;
    if (hits->delta != NULL)
        return thr_hit_index_place(hits->file->index, row);
    while (place < c->lists.n_items && c->rows[place] != row)
        place++;
    return place;
}

thr_status thr_hits_explain(const thr_hits *hits, uint64_t id, const uint32_t *features, const float *weights, size_t n,
                            float *shares, uint8_t *matched, thr_error *err) {
    uint64_t row;
    double unit;
    if (hits == NULL || (n > 0 && (features == NULL || shares == NULL)))
        return thr_fail(err, THR_EINVAL, "an explanation needs posting lists, features and room for shares");
    THR_TRY(thr_hits_check_unchanged(hits, err));
    if (!thr_hits_row(hits, id, &row))
        return thr_fail(err, THR_ENOTFOUND, "%s: holds no item with the id %" PRIu64, hits->path, id);
    THR_TRY(thr_hit_query_unit(features, weights, n, &unit, err));
    const bool added = hits->delta != NULL && row >= hits->delta->first_row;
    const thr_lists *lists = added ? &hits->delta->built.lists : &hits->view.contents.lists;
    const uint32_t place = added ? (uint32_t)row - hits->delta->first_row : find_place(hits, (uint32_t)row);
    for (size_t i = 0; i < n; i++) {
        const bool has = place < lists->n_items && thr_lists_has(lists, features[i], place);
        shares[i] = has ? (float)(thr_hit_query_weight(weights, i, unit) * unit) : 0;
        if (matched != NULL)
            matched[i] = has;
    }
    return THR_OK;
}

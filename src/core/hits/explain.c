/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - which of a query's features an item has, and what each adds to its score. */
#include <inttypes.h>

#include "base/error.h"
#include "hits/hits.h"

/* The place of a row. Cost: a pass over all places if the items were reordered and never updated, else constant. */
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

static thr_status explain(const thr_hits *hits, uint64_t id, const thr_hits_queries *queries, uint64_t query,
                          float *shares, uint8_t *matched, thr_error *err) {
    uint64_t row;
    double unit;
    const uint64_t at = queries->offsets[query];
    const size_t n = (size_t)(queries->offsets[query + 1] - at);
    const uint32_t *features = n > 0 ? queries->features + at : NULL;
    const float *weights = n > 0 && queries->weights != NULL ? queries->weights + at : NULL;
    if (!thr_hits_find_row(hits, id, &row))
        return thr_fail(err, THR_ENOTFOUND, "%s: holds no item with the id %" PRIu64, hits->path, id);
    THR_TRY(thr_lists_query_unit(features, weights, n, &unit, err));
    const bool added = thr_hits_is_added(hits, row);
    const thr_lists *lists = added ? &hits->delta->built.lists : &hits->view.contents.lists;
    const uint32_t place = added ? (uint32_t)row - hits->delta->first_row : find_place(hits, (uint32_t)row);
    for (size_t i = 0; i < n; i++) {
        const bool has = place < lists->n_items && thr_lists_has(lists, features[i], place);
        shares[i] = has ? (float)(thr_lists_query_weight(weights, i, unit) * unit) : 0;
        if (matched != NULL)
            matched[i] = has;
    }
    return THR_OK;
}

thr_status thr_hits_explain(const thr_hits *hits, uint64_t id, const thr_hits_queries *queries, uint64_t query,
                            float *shares, uint8_t *matched, thr_error *err) {
    if (hits == NULL || queries == NULL)
        return thr_fail(err, THR_EINVAL, "an explanation needs posting lists and queries");
    if (query >= queries->n_queries)
        return thr_fail(err, THR_EINVAL, "query %" PRIu64 " does not exist: there are %" PRIu64 ", numbered from 0",
                        query, queries->n_queries);
    const uint64_t at = queries->offsets[query], end = queries->offsets[query + 1];
    if (end < at)
        return thr_fail(err, THR_EINVAL, "the features of query %" PRIu64 " end before they begin", query);
    if (end > at && (queries->features == NULL || shares == NULL))
        return thr_fail(err, THR_EINVAL, "an explanation needs features and memory for shares");
    THR_TRY(thr_hits_check_unchanged(hits, err));
    return thr_hits_check_after(hits, explain(hits, id, queries, query, shares, matched, err), err);
}

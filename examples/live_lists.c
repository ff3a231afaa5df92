/* SPDX-License-Identifier: Apache-2.0 */
/* Search ads by their features, change some of them meanwhile, and put lists that are built anew in their place. */
#include <stdio.h>

#include <thresher/thresher.h>

enum { SHOES = 1, HATS = 2, RED = 10, MOST = 8 };

/* Ads of one feature each, as a file. */
static thr_status build(thr_context *context, const char *path, const uint64_t *ids, const uint32_t *features,
                        uint64_t n, thr_hits **hits, thr_error *err) {
    uint64_t offsets[MOST + 1];
    for (uint64_t i = 0; i <= n; i++)
        offsets[i] = i;
    const thr_item_features items = {offsets, features, n};
    thr_hits_build_options options = {0};
    options.ids = ids;
    options.n_ids = n;
    options.replace = true;
    const thr_status status = thr_hits_build(context, path, &items, &options, err);
    return status == THR_OK ? thr_hits_open(context, path, hits, err) : status;
}

/* What a thread that serves does for a query: the lists it takes stay as they are until it gives them back. */
static thr_status best(thr_hits_live *live, uint32_t feature, uint64_t *id, thr_error *err) {
    const uint64_t offsets[] = {0, 1};
    const thr_hits_queries query = {1, offsets, &feature, NULL};
    thr_hits *hits = thr_hits_live_take(live);
    const thr_status status = thr_hits_search(hits, &query, 1, NULL, id, NULL, err);
    thr_hits_live_put(live, hits);
    if (status == THR_OK)
        printf("the best ad for feature %u is %llu\n", feature, (unsigned long long)*id);
    return status;
}

/* Ad 7 ends, ad 9 is new: searches see both or neither. */
static thr_status change(thr_hits_live *live, thr_error *err) {
    const uint64_t gone = 7, ids[] = {9}, offsets[] = {0, 2};
    const uint32_t features[] = {SHOES, RED};
    thr_hits_changes changes = {0};
    changes.n_added = 1;
    changes.ids = ids;
    changes.offsets = offsets;
    changes.features = features;
    changes.n_removed = 1;
    changes.removed_ids = &gone;
    return thr_hits_live_update(live, &changes, err);
}

static thr_status serve(thr_context *context, thr_hits_live *live, uint64_t found[4], thr_error *err) {
    static const uint64_t ids[] = {7, 8, 12};
    static const uint32_t features[] = {SHOES, HATS, HATS};
    thr_hits *next = NULL;
    thr_status status = best(live, SHOES, &found[0], err);
    const uint64_t mark = thr_hits_live_mark(live); /* a build begins: this is the catalogue as it is read now ... */
    if (status == THR_OK)
        status = build(context, "live_lists_next.hits", ids, features, 3, &next, err);
    if (status == THR_OK)
        status = change(live, err); /* ... and this comes while it is built */
    if (status == THR_OK)
        status = best(live, SHOES, &found[1], err);
    if (status == THR_OK)
        status = thr_hits_live_swap_since(live, next, mark, err);
    if (status != THR_OK) {
        thr_hits_free(next);
        return status;
    }
    status = best(live, SHOES, &found[2], err); /* the change is in the new lists, too */
    return status == THR_OK ? best(live, RED, &found[3], err) : status;
}

int main(void) {
    static const uint64_t ids[] = {7, 8};
    static const uint32_t features[] = {SHOES, HATS};
    uint64_t found[4] = {0};
    thr_context *context = NULL;
    thr_hits *first = NULL;
    thr_hits_live *live = NULL;
    thr_error err;
    if (thr_context_create(NULL, &context, &err) != THR_OK ||
        build(context, "live_lists.hits", ids, features, 2, &first, &err) != THR_OK ||
        thr_hits_live_create(context, first, &live, &err) != THR_OK || serve(context, live, found, &err) != THR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    thr_hits_live_free(live);
    thr_context_free(context);
    return found[0] == 7 && found[1] == 9 && found[2] == 9 && found[3] == 9 ? 0 : 1;
}

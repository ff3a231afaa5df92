/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - decides whether a search of posting lists runs on a GPU, by the policy of device/policy.h. */
#include "base/error.h"
#include "hits/hits.h"
#include "scan/cost.h"

static thr_status copy_lists(void *object, const thr_devices *devices, void **copy, thr_error *err) {
    const thr_hits *hits = object;
    const thr_hits_contents *c = &hits->view.contents;
    thr_hit_store *store;
    THR_TRY(thr_hits_store_create(hits->context, devices, &c->lists, c->rows, &store, err));
    const thr_status status = thr_hits_check_unchanged(hits, err);
    THR_RETURN_MADE(status, store, copy, thr_hits_store_free);
}

static void free_lists(void *copy) {
    thr_hits_store_free(copy);
}

static const thr_device_copier LISTS = {.copy = copy_lists, .free = free_lists, .wake_ups = 1};

double thr_hits_cpu_seconds(const thr_hits *hits, const thr_hits_queries *queries) {
    const thr_lists *lists = &hits->view.contents.lists;
    const double n_threads = (double)hits->context->n_threads;
    const uint64_t n = queries->n_queries == 0 ? 0 : queries->offsets[queries->n_queries];
    double postings = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t f = thr_lists_find(lists, queries->features[i]);
        postings += f < lists->n_features ? (double)thr_lists_size(lists, f) : 0;
    }
    const double sums = (double)queries->n_queries * (double)lists->n_items;
    return (postings * THR_COST_POSTING_NS + sums * THR_COST_SUM_NS) * 1e-9 / n_threads;
}

static thr_device_use use_of(thr_hits *hits) {
    return (thr_device_use){
        .copier = &LISTS, .object = hits, .name = hits->path, .bytes = (double)hits->info.list_bytes};
}

thr_status thr_hits_borrow_store(thr_hits *hits, thr_hit_store **store, thr_error *err) {
    thr_device_use use = use_of(hits);
    use.forced = true;
    return thr_device_enter(&hits->on_device, &use, store, err);
}

void thr_hits_return_store(thr_hits *hits) {
    (void)thr_device_leave(&hits->on_device, THR_OK, NULL, NULL, NULL);
}

thr_status thr_hits_search_device(thr_hits *hits, const thr_lists_corpus *corpus, const thr_hits_queries *queries,
                                  size_t k, const thr_hit_caller *caller, bool *done, thr_error *err) {
    thr_device_use use = use_of(hits);
    thr_error why = {.status = THR_OK};
    thr_hit_store *store = NULL;
    uint64_t failed;
    *done = false;
    if (thr_device_needs_seconds(&hits->on_device))
        use.seconds = thr_hits_cpu_seconds(hits, queries);
    THR_TRY(thr_device_enter(&hits->on_device, &use, &store, err));
    if (store == NULL)
        return THR_OK;
    const thr_status status = thr_hits_store_search(store, corpus, queries, k, caller, &failed, &why);
    if (failed != UINT64_MAX)
        (void)thr_hits_name_query(status, failed, &why);
    return thr_device_leave(&hits->on_device, status, &why, done, err);
}

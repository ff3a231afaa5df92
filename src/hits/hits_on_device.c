/* SPDX-License-Identifier: Apache-2.0 */
/* hits_on_device.c - whether a search of posting lists runs on a GPU, and what happens when that fails. */
#include "base/error.h"
#include "context/gpus.h"
#include "hits/hits_impl.h"

/* "auto": bytes a second that are copied to a GPU, and what the CPU adds and looks at a second, a thread. */
static const double COPY_RATE = 5e9, POSTING_RATE = 5e9, ITEM_RATE = 5e9;

/* What the CPU is expected to take for a search. */
static double cpu_seconds(const thr_hits *hits, const thr_hits_queries *queries) {
    const thr_lists *lists = &hits->view.contents.lists;
    const double n_threads = (double)hits->context->n_threads;
    const uint64_t n = queries->n_queries == 0 ? 0 : queries->offsets[queries->n_queries];
    double postings = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t f = thr_lists_find(lists, queries->features[i]);
        postings += f < lists->n_features ? (double)lists->sizes[f] : 0;
    }
    return (postings / POSTING_RATE + (double)queries->n_queries * (double)lists->n_items / ITEM_RATE) / n_threads;
}

/*
 * "auto" waits until searches have taken so long here that copying the lists before the first one would have been worth
 * it: many callers search for one query at a time, and nobody knows how many will follow.
 */
static bool is_worth_it(thr_hits *hits, double more) {
    hits->cpu_seconds += more;
    return hits->cpu_seconds > thr_gpus_wake_up(hits->context) + (double)hits->info.list_bytes / COPY_RATE;
}

/* Whether the CPU takes over where GPUs have failed so. */
static bool falls_back(const thr_hits *hits, thr_status status) {
    return !thr_gpus_required(hits->context) && (status == THR_EDEVICE || status == THR_ENOMEM);
}

static bool has_store(thr_hits *hits) {
    (void)pthread_mutex_lock(&hits->store_mutex);
    const bool has = hits->store != NULL;
    (void)pthread_mutex_unlock(&hits->store_mutex);
    return has;
}

/* With the store's mutex. */
static thr_status make_store(thr_hits *hits, const thr_devices *devices, thr_error *err) {
    const thr_hits_contents *c = &hits->view.contents;
    if (hits->store != NULL)
        return THR_OK;
    return thr_hit_store_create(hits->context, devices, &c->lists, c->rows, &hits->store, err);
}

thr_status thr_hits_get_store(thr_hits *hits, const thr_devices *devices, thr_hit_store **store, thr_error *err) {
    (void)pthread_mutex_lock(&hits->store_mutex);
    const thr_status status = make_store(hits, devices, err);
    *store = hits->store;
    (void)pthread_mutex_unlock(&hits->store_mutex);
    return status;
}

/* The lists on a GPU, copied there by the first search that wants them; NULL: the CPU is to be used. */
static thr_status get_store(thr_hits *hits, const thr_hits_queries *queries, thr_hit_store **store, thr_error *err) {
    thr_error why = {.status = THR_OK};
    const thr_devices *devices = NULL;
    const bool required = thr_gpus_required(hits->context);
    const double more = required || has_store(hits) ? 0 : cpu_seconds(hits, queries); /* not while others wait */
    thr_status status = THR_OK;
    (void)pthread_mutex_lock(&hits->store_mutex);
    if (hits->store != NULL || required || is_worth_it(hits, more))
        devices = thr_gpus_get(hits->context);
    if (devices != NULL)
        status = make_store(hits, devices, &why);
    if (falls_back(hits, status))
        thr_gpus_give_up(hits->context, &why);
    *store = devices == NULL ? NULL : hits->store;
    (void)pthread_mutex_unlock(&hits->store_mutex);
    if (status == THR_OK || falls_back(hits, status))
        return THR_OK;
    if (err != NULL)
        *err = why;
    return status;
}

thr_status thr_hits_search_device(thr_hits *hits, const thr_hit_target *target, const thr_hit_values *values,
                                  const thr_hits_queries *queries, size_t k, const thr_hit_caller *caller,
                                  uint64_t *failed, bool *done, thr_error *err) {
    thr_error why = {.status = THR_OK};
    thr_hit_store *store = NULL;
    *failed = UINT64_MAX;
    *done = false;
    THR_TRY(get_store(hits, queries, &store, err));
    if (store == NULL)
        return THR_OK;
    const thr_status status =
        thr_hit_store_search(store, target, values == NULL ? 0 : values->number, queries, k, caller, failed, &why);
    if (falls_back(hits, status)) {
        thr_gpus_give_up(hits->context, &why);
        *failed = UINT64_MAX;
        return THR_OK;
    }
    *done = status == THR_OK;
    if (err != NULL && status != THR_OK)
        *err = why;
    return status;
}

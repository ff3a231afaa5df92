/* SPDX-License-Identifier: Apache-2.0 */
/* on_device.c - whether a search's screen runs on GPUs, and what happens when they fail. */
#include "index/index_impl.h"

#include "context/gpus.h"
#include "scan/store.h"

/* "auto" takes GPUs where that is sure to be faster, copying included: bytes a second of copies and of a CPU's scan. */
static const double COPY_RATE = 5e9, SCAN_RATE = 25e9;

static bool is_worth_it(const thr_index *index, uint64_t n_queries) {
    const double bytes = (double)index->info.code_bytes;
    return (double)n_queries * bytes / SCAN_RATE > thr_gpus_wake_up(index->context) + bytes / COPY_RATE;
}

/* Whether the CPU takes over where GPUs have failed so. */
static bool falls_back(const thr_index *index, thr_status status) {
    return !thr_gpus_required(index->context) &&
           (status == THR_EDEVICE || status == THR_ENOMEM || status == THR_EUNSUPPORTED);
}

/* The index's codes on GPUs, copied there at the first search that wants them; NULL: the CPU is to be used. */
static thr_status get_store(thr_index *index, uint64_t n_queries, thr_store **store, thr_error *err) {
    thr_error why = {.status = THR_OK};
    const thr_devices *devices = NULL;
    thr_status status = THR_OK;
    (void)pthread_mutex_lock(&index->store_mutex);
    if (index->store != NULL || thr_gpus_required(index->context) || is_worth_it(index, n_queries))
        devices = thr_gpus_get(index->context);
    if (devices != NULL && index->store == NULL) {
        status = thr_store_create(index->context, devices, &index->target, &index->store, &why);
        if (falls_back(index, status))
            thr_gpus_give_up(index->context, &why);
    }
    *store = devices == NULL ? NULL : index->store;
    (void)pthread_mutex_unlock(&index->store_mutex);
    if (status == THR_OK || falls_back(index, status))
        return THR_OK;
    if (err != NULL)
        *err = why;
    return status;
}

thr_status thr_index_scan(thr_index *index, thr_scan *scan, const thr_matrix *queries, uint64_t k,
                          const thr_search_options *options, const thr_scan_hits *hits, uint64_t *rows, float *scores,
                          thr_error *err) {
    thr_error why = {.status = THR_OK};
    thr_scan_target target = index->target;
    target.hits = hits;
    if (index->context->gpus != NULL && !options->exact && hits == NULL) {
        const thr_status status = get_store(index, queries->n_rows, &target.store, err);
        if (status != THR_OK)
            return status;
    }
    if (target.store != NULL) {
        const thr_status status = thr_scan_search(scan, &target, queries, k, options, rows, scores, &why);
        if (status == THR_OK || !falls_back(index, status)) {
            if (err != NULL && status != THR_OK)
                *err = why;
            return status;
        }
        thr_gpus_give_up(index->context, &why);
        target.store = NULL;
    }
    return thr_scan_search(scan, &target, queries, k, options, rows, scores, err);
}

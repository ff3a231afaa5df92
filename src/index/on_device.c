/* SPDX-License-Identifier: Apache-2.0 */
/* on_device.c - whether a search's screen runs on GPUs, and what happens when they fail. */
#include "index/index_impl.h"

#include "base/error.h"
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

/* What a search uses on GPUs; NULL: nothing. */
typedef struct stores {
    thr_store *codes;
    thr_hit_store *lists;
} stores;

/*
 * Copied there by the first search that wants them, with the store's mutex. Lists are on the first device, and so are
 * the codes that are scored with them; lists go first, for codes make room for nobody.
 */
static thr_status make_stores(thr_index *index, const thr_devices *devices, bool with_hits, stores *s, thr_error *err) {
    const bool apart = with_hits && devices->n > 1;
    thr_store **codes = apart ? &index->first_store : &index->store;
    thr_devices first = *devices;
    first.n = 1;
    if (with_hits)
        THR_TRY(thr_hits_get_store(index->hits, devices, &s->lists, err));
    if (*codes == NULL)
        THR_TRY(thr_store_create(index->context, apart ? &first : devices, &index->target, codes, err));
    s->codes = *codes;
    return THR_OK;
}

static thr_status get_stores(thr_index *index, uint64_t n_queries, bool with_hits, stores *s, thr_error *err) {
    thr_error why = {.status = THR_OK};
    const thr_devices *devices = NULL;
    thr_status status = THR_OK;
    *s = (stores){NULL, NULL};
    (void)pthread_mutex_lock(&index->store_mutex);
    if (index->store != NULL || index->first_store != NULL || thr_gpus_required(index->context) ||
        is_worth_it(index, n_queries))
        devices = thr_gpus_get(index->context);
    if (devices != NULL)
        status = make_stores(index, devices, with_hits, s, &why);
    if (falls_back(index, status))
        thr_gpus_give_up(index->context, &why);
    (void)pthread_mutex_unlock(&index->store_mutex);
    if (with_hits && s->codes != NULL && !thr_store_can_add_hits(s->codes))
        s->codes = NULL; /* there is no room for all of them */
    if (status == THR_OK || falls_back(index, status))
        return THR_OK;
    if (err != NULL)
        *err = why;
    return status;
}

thr_status thr_index_scan(thr_index *index, thr_scan *scan, const thr_matrix *queries, uint64_t k,
                          const thr_search_options *options, thr_scan_hits *hits, uint64_t *rows, float *scores,
                          thr_error *err) {
    thr_error why = {.status = THR_OK};
    thr_scan_target target = index->target;
    stores s = {NULL, NULL};
    if (index->context->gpus != NULL && !options->exact)
        THR_TRY(get_stores(index, queries->n_rows, hits != NULL, &s, err));
    target.hits = hits;
    target.store = s.codes;
    if (target.store != NULL) {
        if (hits != NULL)
            thr_hits_room_use(hits, s.lists);
        const thr_status status = thr_scan_search(scan, &target, queries, k, options, rows, scores, &why);
        /* A value that is not finite need not be in an answer: the CPU says. */
        const bool left_to_cpu = hits != NULL && status == THR_ERANGE;
        if (status == THR_OK || (!left_to_cpu && !falls_back(index, status))) {
            if (err != NULL && status != THR_OK)
                *err = why;
            return status;
        }
        if (!left_to_cpu)
            thr_gpus_give_up(index->context, &why);
        target.store = NULL;
    }
    return thr_scan_search(scan, &target, queries, k, options, rows, scores, err);
}

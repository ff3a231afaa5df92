/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.c - decides whether a search of an index runs on GPUs: of codes alone, of some cells, or of codes and posting
 * lists together. If codes have origins (scan/origins.h), GPUs run only searches that skip cells; those that read all
 * cells, such as with features or a certificate, run on the CPU.
 */
#include "index/search/plan.h"

#include "base/error.h"
#include "scan/cost.h"
#include "store/store.h"

/* ------------------------------------------------------------------------------------------------ codes alone */

static thr_status copy_codes(void *object, const thr_devices *devices, void **copy, thr_error *err) {
    const thr_index *index = object;
    thr_store *store;
    const thr_status status = thr_store_create(index->context, devices, &index->corpus, &store, err);
    *copy = store;
    return status;
}

static void free_codes(void *copy) {
    thr_store_free(copy);
}

static const thr_device_copier CODES = {.copy = copy_codes, .free = free_codes, .wake_ups = 1};

static thr_device_use use_of_codes(thr_index *index, uint64_t n_queries) {
    const thr_index_info *info = &index->info;
    return (thr_device_use){.copier = &CODES,
                            .object = index,
                            .name = index->dir,
                            .bytes = (double)info->code_bytes + (double)info->vector_bytes,
                            .seconds =
                                thr_cost_ns(THR_COST_CODES, 0, (double)n_queries * (double)info->code_bytes) * 1e-9};
}

/* ------------------------------------------------------------------------------------------------ with features */

/*
 * The device data of searches with features, all on the first device. Both are borrowed from other policies, unless the
 * codes needed a second copy there.
 */
typedef struct fused {
    thr_index *index;
    thr_hit_store *lists;
    thr_store *codes;
    bool own_codes;
} fused;

static void free_fused(void *copy) {
    fused *f = copy;
    if (f->own_codes)
        thr_store_free(f->codes);
    else if (f->codes != NULL)
        (void)thr_device_leave(&f->index->codes, THR_OK, NULL, NULL, NULL);
    if (f->lists != NULL)
        thr_hits_return_store(f->index->hits);
    thr_release(f->index->context, f);
}

/* Lists are copied first, since codes can leave memory for them but not the reverse. */
static thr_status borrow_lists(fused *f, thr_error *err) {
    THR_TRY(thr_hits_borrow_store(f->index->hits, &f->lists, err));
    return f->lists != NULL ? THR_OK : thr_fail(err, THR_EUNSUPPORTED, "its posting lists are on the CPU");
}

static thr_status get_codes(fused *f, const thr_devices *devices, thr_error *err) {
    thr_device_use use = use_of_codes(f->index, 0);
    thr_devices first = *devices;
    first.n = 1;
    if (devices->n > 1) {
        f->own_codes = true;
        return thr_store_create(f->index->context, &first, &f->index->corpus, &f->codes, err);
    }
    use.forced = true;
    THR_TRY(thr_device_enter(&f->index->codes, &use, &f->codes, err));
    return f->codes != NULL ? THR_OK : thr_fail(err, THR_EUNSUPPORTED, "its codes are on the CPU");
}

static thr_status copy_fused(void *object, const thr_devices *devices, void **copy, thr_error *err) {
    thr_index *index = object;
    fused *f = NULL;
    THR_TRY(thr_alloc_zero(index->context, 1, sizeof *f, &f, "a search", err));
    f->index = index;
    thr_status status = borrow_lists(f, err);
    if (status == THR_OK)
        status = get_codes(f, devices, err);
    THR_RETURN_MADE(status, f, copy, free_fused);
}

static const thr_device_copier FUSED = {.copy = copy_fused, .free = free_fused, .wake_ups = 1};

static thr_device_use use_of_fused(thr_index *index, uint64_t n_queries, const thr_hits_queries *features) {
    thr_device_use use = use_of_codes(index, n_queries);
    use.copier = &FUSED;
    use.bytes += (double)thr_hits_get_info(index->hits).list_bytes;
    if (thr_device_needs_seconds(&index->fused))
        use.seconds += thr_hits_cpu_seconds(index->hits, features);
    return use;
}

/* ------------------------------------------------------------------------------------------------ searches */

/* Whether GPUs can run a plan: their screens of all codes have no bases of origins. */
static bool can_scan_on_devices(const thr_search_plan *plan) {
    return plan->source == THR_SOURCE_CODES && plan->corpus.origins == NULL;
}

/* Borrow the store of codes, and with hits the copy of the lists; *codes is NULL if the CPU must search. */
static thr_status enter(thr_index *index, const thr_search_plan *plan, uint64_t n_queries, thr_store **codes,
                        thr_error *err) {
    thr_device_use use;
    if (plan->hits == NULL) {
        use = use_of_codes(index, n_queries);
        return thr_device_enter(&index->codes, &use, codes, err);
    }
    fused *f;
    *codes = NULL;
    if (index->hits->delta != NULL)
        return THR_OK;
    use = use_of_fused(index, n_queries, plan->options.features);
    THR_TRY(thr_device_enter(&index->fused, &use, &f, err));
    *codes = f == NULL ? NULL : f->codes;
    if (f != NULL)
        thr_index_feature_scores_use(plan->hits, f->lists);
    return THR_OK;
}

thr_status thr_index_scan(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                          const thr_answers *answers, thr_error *err) {
    thr_scan *scan = plan->memory->scan;
    thr_error why = {.status = THR_OK};
    thr_scan_corpus corpus = plan->corpus;
    thr_job job = plan->job;
    thr_index *root = index->root;
    bool done = false;
    job.corpus = &corpus;
    job.answers = answers;
    if (can_scan_on_devices(plan))
        THR_TRY(enter(root, plan, queries->n_rows, &corpus.store, err));
    if (corpus.store != NULL) {
        /*
         * The CPU must search if the codes are not all resident, or if a value is not finite, which need not be in an
         * answer.
         */
        const bool fuses = plan->hits != NULL;
        bool left_to_cpu = fuses && !thr_store_can_add_hits(corpus.store);
        thr_status status = THR_OK;
        if (!left_to_cpu)
            status = thr_store_run(scan, &job, queries, &why);
        left_to_cpu = left_to_cpu || (fuses && status == THR_ERANGE);
        THR_TRY(thr_device_leave(fuses ? &root->fused : &root->codes, left_to_cpu ? THR_OK : status, &why, &done, err));
        if (done && !left_to_cpu)
            return THR_OK;
        corpus.store = NULL;
    }
    return thr_scan_run(scan, &job, queries, err);
}

thr_status thr_index_scan_cells(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                const thr_answers *answers, thr_error *err) {
    thr_error why = {.status = THR_OK};
    thr_scan_corpus corpus = index->corpus;
    const thr_cells_corpus cells = {&corpus, index->cells, index->n_segments};
    const thr_search_memory *m = plan->memory;
    thr_device_policy *policy = &index->root->codes;
    thr_device_use use = use_of_codes(index->root, queries->n_rows);
    bool done = false;
    use.seconds *= THR_COST_CELLS_SHARE;
    THR_TRY(thr_device_enter(policy, &use, &corpus.store, err));
    if (corpus.store != NULL) {
        const thr_status status = thr_cells_search(m->scan, m->cells, &cells, queries, &plan->options, answers, &why);
        THR_TRY(thr_device_leave(policy, status, &why, &done, err));
        if (done)
            return THR_OK;
        corpus.store = NULL;
    }
    return thr_cells_search(m->scan, m->cells, &cells, queries, &plan->options, answers, err);
}

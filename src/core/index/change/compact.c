/* SPDX-License-Identifier: Apache-2.0 */
/* compact.c - thr_index_compact, thr_index_recode and thr_index_rewrite. */
#include "base/error.h"
#include "base/minmax.h"
#include "index/build/segment_stream.h"
#include "index/change/change.h"
#include "index/journal/snapshot.h"

enum {
    ID_BYTES = 12,                /* an id and its place in their order */
    LEAST_ITEMS_TO_RECODE = 4096, /* fewer give no reliable error */
};

/*
 * Whether a rewrite saves space: it drops the removed items, but stores ID_BYTES for each item whose segment has no ids
 * yet.
 */
static bool can_shrink(const thr_commit *commit) {
    const thr_manifest *m = &commit->manifest;
    uint64_t bytes = 0, n = 0, n_without_ids = 0;
    for (uint32_t i = 0; i < m->n_segments; i++) {
        bytes += m->segments[i].file_bytes;
        n += m->segments[i].n_items;
        n_without_ids += m->segments[i].has_ids ? 0 : m->segments[i].n_items;
    }
    return n > m->n_items && (double)(n - m->n_items) * (double)bytes / (double)n > (double)n_without_ids * ID_BYTES;
}

/* Whether the segments could be fewer, or smaller. */
static bool can_gain(const thr_commit *commit) {
    const thr_manifest *m = &commit->manifest;
    const uint64_t most = thr_index_segment_items(m->quantiser.n_dims, m->quantiser.item_bits, 0);
    return m->n_items > 0 && (can_shrink(commit) || m->n_segments > THR_CEIL_DIV(m->n_items, most));
}

/* Whether the codes' errors have grown so much since the quantiser was learned that a new one pays. */
static thr_status recode_pays(const thr_index *index, bool *pays, thr_error *err) {
    float now = 0, learned = 0;
    if (index->manifest.n_items >= LEAST_ITEMS_TO_RECODE)
        THR_TRY(thr_index_code_error(index, &now, &learned, err));
    *pays = learned > 0 && (double)now > THR_RECODE_PAYS * (double)learned;
    return THR_OK;
}

static thr_status rewrite_all(thr_commit *c, thr_compaction kind, bool *done, thr_error *err) {
    bool recode = kind == THR_COMPACT_RECODE;
    *done = false;
    if (kind == THR_COMPACT)
        THR_TRY(recode_pays(c->index, &recode, err));
    if (recode)
        THR_TRY(thr_index_commit_recode(c, err));
    else if (!thr_index_snapshot_has_changes(c->index) &&
             (kind == THR_COMPACT_REWRITE ? c->manifest.n_items > 0 : can_gain(c)))
        THR_TRY(thr_index_commit_rewrite(c, 0, c->manifest.n_segments, err));
    else
        return THR_OK;
    *done = !recode || c->learned;
    return *done ? thr_index_commit_publish(c, err) : THR_OK;
}

thr_status thr_index_compact_held(thr_context *context, const char *dir, const thr_build_dir *held, thr_compaction kind,
                                  thr_index_change *change, thr_error *err) {
    thr_commit commit;
    bool done = false;
    *change = (thr_index_change){.first_id = THR_NO_ID};
    THR_TRY(thr_index_fold_journal(context, dir, held, false, err));
    thr_status status = thr_index_commit_begin(context, dir, held, &commit, err);
    if (status == THR_OK)
        status = rewrite_all(&commit, kind, &done, err);
    if (status == THR_OK && !done)
        commit.manifest.n_commits--;
    if (status == THR_OK)
        thr_index_commit_report(&commit, change);
    thr_index_commit_end(&commit);
    return status;
}

static thr_status compact(thr_context *context, const char *dir, thr_compaction kind, thr_index_change *change,
                          thr_error *err) {
    thr_index_change unused;
    if (context == NULL)
        return thr_fail(err, THR_EINVAL, "compacting an index needs a context");
    return thr_index_compact_held(context, dir, NULL, kind, change != NULL ? change : &unused, err);
}

thr_status thr_index_compact(thr_context *context, const char *dir, thr_index_change *change, thr_error *err) {
    return compact(context, dir, THR_COMPACT, change, err);
}

thr_status thr_index_recode(thr_context *context, const char *dir, thr_index_change *change, thr_error *err) {
    return compact(context, dir, THR_COMPACT_RECODE, change, err);
}

thr_status thr_index_rewrite(thr_context *context, const char *dir, thr_index_change *change, thr_error *err) {
    return compact(context, dir, THR_COMPACT_REWRITE, change, err);
}

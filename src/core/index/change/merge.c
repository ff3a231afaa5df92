/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - rewrites a run of segments beside other commits. */
#include "index/change/merge.h"

#include "base/error.h"
#include "index/build/segment_stream.h"
#include "index/change/merge_policy.h"
#include "select/bitmap.h"

/* ------------------------------------------------------------------------------------------------ begin */

/* *has_run: whether there is a run to merge, segments *first to *end - 1. */
static thr_status choose_run(const thr_commit *c, uint32_t *first, uint32_t *end, bool *has_run, thr_error *err) {
    const thr_manifest *m = &c->manifest;
    thr_segment_size *sizes = NULL;
    const uint64_t most = thr_index_segment_items(m->quantiser.n_dims, m->quantiser.item_bits, 0);
    uint64_t row = 0;
    *has_run = false;
    if (m->n_segments == 0)
        return THR_OK;
    THR_TRY(thr_alloc(c->context, m->n_segments, sizeof *sizes, &sizes, "segments", err));
    for (uint32_t i = 0; i < m->n_segments; i++) {
        const uint32_t n = m->segments[i].n_items;
        sizes[i] = (thr_segment_size){n, (uint32_t)thr_select_bitmap_count_range(c->live, row, row + n)};
        row += thr_padded_items(n);
    }
    *has_run = thr_index_merge_choose(sizes, m->n_segments, most, first, end);
    thr_release(c->context, sizes);
    return THR_OK;
}

bool thr_index_merge_is_due(const thr_commit *commit) {
    uint32_t first, end;
    bool has_run;
    return choose_run(commit, &first, &end, &has_run, NULL) != THR_OK || has_run;
}

thr_status thr_index_merge_begin(thr_context *context, const char *dir, const thr_build_dir *held, thr_merge *merge,
                                 thr_error *err) {
    *merge = (thr_merge){.active = false};
    thr_status status = thr_index_commit_begin(context, dir, held, &merge->commit, err);
    if (status == THR_OK)
        status = thr_index_commit_keep_journal(&merge->commit, err);
    if (status == THR_OK)
        status = choose_run(&merge->commit, &merge->first, &merge->end, &merge->active, err);
    if (!merge->active)
        thr_index_commit_end(&merge->commit);
    return status;
}

thr_status thr_index_merge_write(thr_merge *merge, thr_error *err) {
    THR_TRY(thr_index_commit_write_run(&merge->commit, merge->first, merge->end, &merge->made, err));
    return thr_index_check_after(merge->commit.index, THR_OK, err);
}

/* ------------------------------------------------------------------------------------------------ install */

/* Whether the segments up to the end of the run are still the same, so that their rows are, too. */
static bool has_same_rows(const thr_merge *merge, const thr_manifest *now) {
    const thr_manifest *then = &merge->commit.index->manifest;
    for (uint32_t i = 0; i < merge->end; i++)
        if (i >= now->n_segments || now->segments[i].number != then->segments[i].number ||
            now->segments[i].build != then->segments[i].build)
            return false;
    return true;
}

thr_status thr_index_merge_install(thr_merge *merge, thr_error *err) {
    thr_commit now;
    thr_status status =
        thr_index_commit_begin(merge->commit.context, merge->commit.dir.path, &merge->commit.dir, &now, err);
    if (status == THR_OK)
        status = thr_index_commit_keep_journal(&now, err);
    if (status == THR_OK && has_same_rows(merge, &now.index->manifest)) {
        status = thr_index_commit_replace(&now, merge->first, merge->end, &merge->made, err);
        if (status == THR_OK)
            status = thr_index_commit_publish(&now, err);
        merge->commit.dir.committed = now.dir.committed;
    }
    thr_index_commit_end(&now);
    return status;
}

void thr_index_merge_end(thr_merge *merge) {
    if (!merge->active)
        return;
    thr_index_rewritten_free(merge->commit.context, &merge->made);
    thr_index_commit_end(&merge->commit);
    merge->active = false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* maintain.c - after a change, writes segments again where the policy requires it. */
#include "base/error.h"
#include "index/change/change.h"
#include "index/change/merge_policy.h"
#include "index/journal/snapshot.h"
#include "select/bitmap.h"

/* Write one run of segments again. *done: there is none. */
static thr_status maintain_once(thr_commit *c, bool *done, thr_error *err) {
    const thr_manifest *m = &c->manifest;
    thr_segment_size *sizes = NULL;
    uint32_t first, end;
    uint64_t row = 0;
    *done = true;
    if (m->n_segments == 0 || thr_index_snapshot_has_changes(c->index))
        return THR_OK;
    THR_TRY(thr_alloc(c->context, m->n_segments, sizeof *sizes, &sizes, "segments", err));
    for (uint32_t i = 0; i < m->n_segments; i++) {
        const uint32_t n = m->segments[i].n_items;
        sizes[i] = (thr_segment_size){n, (uint32_t)thr_select_bitmap_count_range(c->live, row, row + n)};
        row += thr_padded_items(n);
    }
    *done = !thr_index_merge_choose(sizes, m->n_segments, &first, &end);
    thr_release(c->context, sizes);
    if (*done)
        return THR_OK;
    THR_TRY(thr_index_commit_rewrite(c, first, end, err));
    return thr_index_commit_publish(c, err);
}

void thr_index_maintain(thr_context *context, const char *dir, const thr_build_dir *held) {
    bool done = false;
    while (!done) {
        thr_commit commit;
        thr_status status = thr_index_commit_begin(context, dir, held, &commit, NULL);
        if (status == THR_OK)
            status = maintain_once(&commit, &done, NULL);
        thr_index_commit_end(&commit);
        done = done || status != THR_OK;
    }
}

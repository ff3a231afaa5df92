/* SPDX-License-Identifier: Apache-2.0 */
/* ids.c - checks that ids are unique over all segments, and equal in the posting lists. */
#include "index/verify/verify.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "hits/hits.h"

enum { STEP_ITEMS = 1 << 16 };

/* ------------------------------------------------------------------------------------------------ ids */

/* The position in a segment's order, and the id there. */
typedef struct cursor {
    uint64_t id;
    uint32_t segment, place;
} cursor;

static uint32_t item_at(const thr_index *index, const cursor *c) {
    const uint32_t *order = index->mapped[c->segment].view.id_order;
    return order != NULL ? order[c->place] : c->place;
}

/* Go to the first place from c->place on whose item was not removed, and read its id; false if there is none. */
static bool read_id(const thr_index *index, cursor *c) {
    const thr_segment *segment = &index->segments[c->segment];
    for (; c->place < segment->n_items; c->place++) {
        const uint64_t row = segment->first_row + item_at(index, c);
        c->id = thr_index_id_of(index, row);
        if (thr_live_has(&index->live, row))
            return true;
    }
    return false;
}

/* Move the root down until no child has a smaller id. */
static void sift(cursor *heap, uint32_t n, uint32_t root) {
    for (uint32_t child; (child = 2 * root + 1) < n; root = child) {
        child += child + 1 < n && heap[child + 1].id < heap[child].id;
        if (heap[root].id <= heap[child].id)
            return;
        const cursor moved = heap[root];
        heap[root] = heap[child];
        heap[child] = moved;
    }
}

static thr_status fail_twice(const thr_index *index, const cursor *a, const cursor *b, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT,
                    "%s: ids: item %" PRIu32 " has the id %" PRIu64 " of item %" PRIu32 " of %s: build the index again",
                    index->mapped[b->segment].path, item_at(index, b), b->id, item_at(index, a),
                    index->mapped[a->segment].path);
}

/* Items that are added get ids from the MANIFEST's next on. */
static thr_status check_next(const thr_index *index, thr_error *err) {
    for (uint32_t i = 0; i < index->n_segments; i++) {
        const thr_segment_view *view = &index->mapped[i].view;
        if (view->ids == NULL)
            continue;
        const uint32_t last = view->id_order[view->shape.n_items - 1];
        if (view->ids[last] >= index->manifest.next_id)
            return thr_fail(err, THR_ECORRUPT,
                            "%s: item %" PRIu32 " has the id %" PRIu64 ", but the MANIFEST's 'next' is %" PRIu64
                            ": build the index again",
                            view->file.path, last, view->ids[last], index->manifest.next_id);
    }
    return THR_OK;
}

thr_status thr_index_verify_ids(const thr_index *index, thr_file_sum *sum, thr_error *err) {
    cursor *heap = NULL, last = {.segment = UINT32_MAX};
    uint32_t n = 0;
    thr_status status = THR_OK;
    THR_TRY(check_next(index, err));
    if (!index->manifest.has_ids || index->n_segments < 2)
        return THR_OK;
    THR_TRY(thr_alloc(index->context, index->n_segments, sizeof *heap, &heap, "segments", err));
    for (uint32_t i = 0; i < index->n_segments; i++) {
        heap[n] = (cursor){.segment = i};
        n += read_id(index, &heap[n]);
    }
    for (uint32_t i = n; i-- > 0;)
        sift(heap, n, i);
    for (uint64_t done = 0; n > 0; done++) {
        if (done % STEP_ITEMS == 0)
            THR_TRY_OUT(thr_file_sum_step(sum, err));
        if (last.segment != UINT32_MAX && last.id == heap[0].id)
            THR_TRY_OUT(fail_twice(index, &last, &heap[0], err));
        last = heap[0];
        heap[0].place++;
        if (!read_id(index, &heap[0]))
            heap[0] = heap[--n];
        sift(heap, n, 0);
    }
out:
    thr_release(index->context, heap);
    return status;
}

/* ------------------------------------------------------------------------------------------------ features */

static bool same_name(const thr_hits_contents *features, const thr_segment_view *view, uint32_t item) {
    const uint64_t row = view->scan.first_row + item;
    if (row >= features->lists.n_items) /* added lists have neither */
        return true;
    if (features->ids != NULL && view->ids != NULL)
        return features->ids[row] == view->ids[item];
    if (features->names.offsets == NULL || view->names.offsets == NULL)
        return true;
    const char *ours = thr_index_segment_item_name(view, item), *theirs = thr_strings_get(&features->names, row);
    return ours != NULL && theirs != NULL && strcmp(ours, theirs) == 0;
}

thr_status thr_index_verify_features(const thr_index *index, thr_error *err) {
    for (uint32_t s = 0; s < index->n_segments; s++) {
        const thr_segment_view *view = &index->mapped[s].view;
        for (uint32_t i = 0; i < view->shape.n_items; i++)
            if (!same_name(&index->hits->view.contents, view, i))
                return thr_fail(err, THR_ECORRUPT,
                                "%s: item %" PRIu32 " has another id or name in %s: build the index again",
                                view->file.path, i, index->hits->path);
    }
    return THR_OK;
}

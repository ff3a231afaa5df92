/* SPDX-License-Identifier: Apache-2.0 */
/* add.c - thr_index_add: new rows become segments; the items that they replace are removed in the same commit. */
#include "base/error.h"
#include "index/build/segment_stream.h"
#include "index/change/change.h"
#include "index/change/names.h"

#include <inttypes.h>
#include <stddef.h>

typedef struct adder {
    thr_commit commit;
    thr_ids ids;
    thr_row_source source;
    thr_manifest added; /* has the new segments, and the quantiser */
    uint64_t n_replaced;
    bool replace;
} adder;

void thr_index_add_options_init(thr_index_add_options *options) {
    *options = (thr_index_add_options){.size = sizeof *options};
}

static thr_status check_kind(const adder *a, thr_error *err) {
    const thr_index *index = a->commit.index;
    const bool names = a->ids.offsets != NULL;
    if (index->hits != NULL)
        return thr_fail(err, THR_EUNSUPPORTED, "%s: has features, so items cannot be added: build it again",
                        index->dir);
    if (a->source.shape.n_dims != index->manifest.quantiser.n_dims)
        return thr_fail(err, THR_EDIM, "%s: rows of %" PRIu32 " dimensions for an index of %" PRIu32 ": %s",
                        a->source.name, a->source.shape.n_dims, index->manifest.quantiser.n_dims, index->dir);
    if (index->manifest.has_names && !names)
        return thr_fail(err, THR_EINVAL, "%s: its items have names: give a name for each new one", index->dir);
    if (!index->manifest.has_names && names)
        return thr_fail(err, THR_EINVAL, "%s: its items have no names: give ids, or nothing", index->dir);
    return a->source.shape.n_rows == THR_ROWS_UNKNOWN
               ? THR_OK
               : thr_index_ids_check_count(&a->ids, a->source.shape.n_rows, a->source.name, err);
}

/* ------------------------------------------------------------------------------------------------ what is replaced */

/* Item `new` of the call is the item of this row. */
static thr_status found(void *arg, uint64_t item, uint64_t row, thr_error *err) {
    adder *a = arg;
    if (!a->replace && a->ids.offsets != NULL)
        return thr_fail(err, THR_EDUPLICATE,
                        "%s: row %" PRIu64 ": %s holds an item with the name '%.200s' already: replace it, or leave "
                        "the row out",
                        a->ids.name, item, a->commit.index->dir, a->ids.names + a->ids.offsets[item]);
    if (!a->replace)
        return thr_fail(err, THR_EDUPLICATE,
                        "%s: row %" PRIu64 ": %s holds an item with the id %" PRIu64 " already: replace it, or leave "
                        "the row out",
                        a->ids.name, item, a->commit.index->dir, a->ids.ids[item]);
    a->commit.live[row / 64] &= ~(UINT64_C(1) << row % 64);
    a->n_replaced++;
    return THR_OK;
}

static thr_status find_replaced(adder *a, thr_error *err) {
    uint64_t row;
    if (a->ids.offsets != NULL)
        return thr_index_find_names(a->commit.index, &a->ids, found, a, err);
    for (uint64_t i = 0; i < a->ids.n; i++)
        if (thr_index_row(a->commit.index, a->ids.ids[i], &row))
            THR_TRY(found(a, i, row, err));
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ segments */

/* Ids that the index chooses follow all that it ever had; given ones move this place on. */
static thr_status take_ids(adder *a, uint64_t *first_id, thr_error *err) {
    uint64_t *next = &a->commit.manifest.next_id;
    *first_id = *next;
    if (a->ids.ids != NULL) {
        for (uint64_t i = 0; i < a->ids.n; i++)
            *next = a->ids.ids[i] >= *next ? a->ids.ids[i] + 1 : *next;
        return THR_OK;
    }
    if (a->added.n_items > THR_NO_ID - *next)
        return thr_fail(err, THR_ERANGE, "%s: no ids are left above %" PRIu64 ": give ids", a->commit.index->dir,
                        *next - 1);
    for (uint32_t i = 0; i < a->added.n_segments; i++) {
        a->added.segments[i].first_id = *next;
        *next += a->added.segments[i].n_items;
    }
    return THR_OK;
}

static thr_status write_segments(adder *a, thr_error *err) {
    const thr_manifest *old = &a->commit.index->manifest;
    a->added = *old;
    a->added.segments = NULL;
    a->added.n_segments = 0;
    a->added.n_items = a->added.n_rows = 0;
    thr_segment_stream stream = {.context = a->commit.context,
                                 .title = "add",
                                 .dir = &a->commit.dir,
                                 .ids = &a->ids,
                                 .source = &a->source,
                                 .manifest = &a->added};
    stream.segment_items = thr_index_segment_items(old->quantiser.n_dims, old->quantiser.item_bits, 0);
    thr_status status = thr_index_segment_stream_open(&stream, err);
    if (status == THR_OK)
        status = thr_index_segment_stream_write(&stream, old->segments[old->n_segments - 1].number + 1, err);
    if (status == THR_OK && a->added.n_items == 0)
        status = thr_fail(err, THR_EDIM, "%s: holds no rows: nothing to add", a->source.name);
    thr_index_code_errors_join(&a->commit.manifest.errors, &stream.gather.errors);
    thr_index_segment_stream_close(&stream);
    return status;
}

static thr_status add(adder *a, thr_reader *vectors, const thr_index_add_options *o, thr_index_change *change,
                      thr_error *err) {
    const thr_index_build_options named = {.ids = o->ids, .n_ids = o->n_ids, .ids_path = o->ids_path};
    a->replace = o->replace;
    THR_TRY(thr_index_row_source_open(a->commit.context, vectors, &a->source, err));
    THR_TRY(thr_index_ids_open(a->commit.context, &named, &a->ids, err));
    THR_TRY(check_kind(a, err));
    THR_TRY(find_replaced(a, err));
    THR_TRY(write_segments(a, err));
    THR_TRY(take_ids(a, &change->first_id, err));
    THR_TRY(thr_index_commit_append(&a->commit, a->added.segments, a->added.n_segments, err));
    THR_TRY(thr_index_commit_publish(&a->commit, err));
    change->n_added = a->added.n_items;
    change->n_removed = a->n_replaced;
    thr_index_commit_report(&a->commit, change);
    return THR_OK;
}

thr_status thr_index_add(thr_context *context, const char *dir, thr_reader *vectors,
                         const thr_index_add_options *options, thr_index_change *change, thr_error *err) {
    thr_index_add_options complete;
    thr_index_change unused;
    adder a = {.ids.context = context, .source.context = context};
    if (context == NULL || vectors == NULL)
        return thr_fail(err, THR_EINVAL, "adding items needs a context and a reader of vectors");
    thr_index_add_options_init(&complete);
    THR_TRY(thr_take_options(&complete, sizeof complete, options, offsetof(thr_index_add_options, replace),
                             "thr_index_add_options", err));
    change = change != NULL ? change : &unused;
    *change = (thr_index_change){0};
    thr_status status = thr_index_commit_begin(context, dir, &a.commit, err);
    if (status == THR_OK)
        status = add(&a, vectors, &complete, change, err);
    thr_release(context, a.added.segments);
    thr_index_row_source_close(&a.source);
    thr_index_ids_close(&a.ids);
    thr_index_commit_end(&a.commit);
    if (status == THR_OK)
        thr_index_maintain(context, dir);
    return status;
}

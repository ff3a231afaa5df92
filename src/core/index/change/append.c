/* SPDX-License-Identifier: Apache-2.0 */
/* append.c - encodes the rows of a source to segments of a commit, and learns the quantiser if there is none yet. */
#include "base/error.h"
#include "index/calibration/code_error.h"
#include "index/build/learn.h"
#include "index/build/segment_stream.h"
#include "index/change/change.h"

#include <inttypes.h>
#include <string.h>

thr_status thr_index_commit_learn(thr_commit *c, thr_row_source *source, thr_error *err) {
    thr_manifest *m = &c->manifest;
    thr_index_build_options o = thr_index_complete_build(NULL);
    thr_quantiser learned = {0};
    o.metric = m->metric;
    o.item_bits = m->quantiser.item_bits;
    if (m->n_segments > 0) /* the manifest does not record whether it was chosen */
        o.rotate = m->quantiser.rotation_seed != 0 ? THR_ROTATE_ON : THR_ROTATE_OFF;
    const thr_learning learning = {&o, false};
    const thr_status status = thr_index_learn(source, &learning, &learned, err);
    if (status != THR_OK) {
        thr_code_quantiser_free(c->context, &learned);
        return status;
    }
    const thr_matrix sample = {source->sample, source->sample_rows, learned.n_dims, source->shape.dtype,
                               source->row_bytes};
    if (m->n_segments > 0 && thr_index_has_one_scale(&m->quantiser))
        memcpy(learned.ranges, m->quantiser.ranges, sizeof learned.ranges);
    m->quantiser = learned;
    m->centred = learned.centre != NULL;
    c->learned = true;
    if (m->n_segments == 0) {
        THR_TRY(thr_index_keep_centre(c->context, &sample, m->metric, m->keep, &c->kept_centre, err));
        m->kept_centre = c->kept_centre;
    }
    return thr_index_code_error_of(c->context, &m->quantiser, &sample, &m->code_error, err);
}

/* Choose ids above all that the index ever had. */
static thr_status choose_ids(thr_commit *c, thr_manifest *added, thr_error *err) {
    uint64_t *next = &c->manifest.next_id;
    if (added->n_items > THR_NO_ID - *next)
        return thr_fail(err, THR_ERANGE, "%s: no ids are left above %" PRIu64 ": give ids", c->index->dir, *next - 1);
    for (uint32_t i = 0; i < added->n_segments; i++) {
        added->segments[i].first_id = *next;
        *next += added->segments[i].n_items;
    }
    return THR_OK;
}

static thr_status write_segments(thr_commit *c, thr_row_source *source, const thr_ids *ids, thr_manifest *added,
                                 thr_error *err) {
    const thr_manifest *m = &c->manifest;
    const uint32_t number = m->n_segments == 0 ? 0 : m->segments[m->n_segments - 1].number + 1;
    thr_segment_stream stream = {
        .context = c->context, .title = "add", .dir = &c->dir, .ids = ids, .source = source, .manifest = added};
    stream.encoder = m->model.n_inputs != 0 ? &c->index->model.encoder : NULL;
    stream.segment_items = thr_index_segment_items(m->quantiser.n_dims, m->quantiser.item_bits, 0);
    thr_status status = thr_index_segment_stream_open(&stream, err);
    stream.gather.shape.has_ids = ids->ids != NULL; /* items of the tail may have ids and names */
    if (status == THR_OK)
        status = thr_index_segment_stream_write(&stream, number, err);
    if (status == THR_OK && added->n_items == 0)
        status = thr_index_ids_check_count(ids, 0, source->name, err);
    if (status == THR_OK)
        thr_index_code_errors_join(&c->manifest.errors, &stream.gather.errors);
    thr_index_segment_stream_close(&stream);
    return status;
}

thr_status thr_index_commit_append_rows(thr_commit *commit, thr_row_source *source, const thr_ids *ids,
                                        thr_appended *appended, thr_error *err) {
    thr_manifest added = commit->manifest;
    added.segments = NULL;
    added.n_segments = 0;
    added.n_items = added.n_rows = 0;
    appended->first_id = commit->manifest.next_id;
    thr_status status = write_segments(commit, source, ids, &added, err);
    if (status == THR_OK && ids->ids == NULL)
        status = choose_ids(commit, &added, err);
    if (status == THR_OK)
        status = thr_index_commit_append(commit, added.segments, added.n_segments, err);
    appended->n = added.n_items;
    appended->n_zero = added.n_zero - commit->manifest.n_zero;
    commit->manifest.n_zero = added.n_zero;
    thr_release(commit->context, added.segments);
    return status;
}

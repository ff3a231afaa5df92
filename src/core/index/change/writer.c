/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - opens writers, checks writes, and queues them for the thread at work. */
#include "index/change/writer.h"

#include "base/error.h"
#include "code/encode.h"
#include "index/change/commit_add.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------ open */

static thr_status read_settings(thr_index_writer *w, uint32_t journal_rows, thr_error *err) {
    thr_index *index = NULL;
    THR_TRY(thr_index_open(w->context, w->dir, &index, err));
    const thr_manifest *m = &index->manifest;
    w->n_dims = thr_manifest_vector_dims(m);
    w->has_names = m->has_names;
    w->has_journal = thr_manifest_takes_journal(m);
    w->most_rows = thr_tail_capacity(w->n_dims);
    if (journal_rows > 0 && journal_rows < w->most_rows)
        w->most_rows = journal_rows;
    thr_index_free(index);
    return THR_OK;
}

thr_status thr_index_writer_open(thr_context *context, const char *dir, const thr_index_writer_options *options,
                                 thr_index_writer **writer, thr_error *err) {
    const thr_index_writer_options complete = options != NULL ? *options : (thr_index_writer_options){0};
    thr_index_writer *w = NULL;
    thr_status status = THR_OK;
    if (context == NULL || writer == NULL)
        return thr_fail(err, THR_EINVAL, "a writer needs a context and a pointer for the result");
    *writer = NULL;
    THR_TRY(thr_check_path(dir, "the directory of the index", err));
    THR_TRY(thr_alloc_zero(context, 1, sizeof *w, &w, "a writer", err));
    w->merge_in_calls = complete.merge_in_calls;
    w->context = w->frame.context = w->journal.context = thr_context_retain(context);
    w->lock.fd = w->journal.fd = -1;
    w->last = &w->first;
    (void)pthread_mutex_init(&w->mutex, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    (void)pthread_cond_init(&w->merge_wanted, NULL);
    THR_TRY_OUT(thr_path_append(context, dir, "", &w->dir, err));
    THR_TRY_OUT(thr_index_build_dir_change(context, w->dir, &w->lock, err));
    w->lock.committed = true; /* it writes no files itself, so closing it deletes none */
    THR_TRY_OUT(read_settings(w, complete.journal_rows, err));
    THR_TRY_OUT(thr_grow(context, &w->frame.bytes, &w->frame.capacity, THR_FRAME_HEADER, 1, "the journal", err));
    thr_index_frame_begin(&w->frame);
    thr_index_writer_start_merger(w);
    *writer = w;
    w = NULL;
out:
    thr_index_writer_free(w);
    return status;
}

void thr_index_writer_free(thr_index_writer *writer) {
    if (writer == NULL)
        return;
    thr_context *context = writer->context;
    thr_index_writer_join_merger(writer);
    if (writer->lock.owner == getpid()) /* a forked child leaves the file alone */
        thr_index_journal_note_end(&writer->journal);
    thr_index_writer_close_index(writer);
    writer->lock.context = context;
    thr_index_build_dir_close(&writer->lock);
    (void)pthread_cond_destroy(&writer->changed);
    (void)pthread_cond_destroy(&writer->merge_wanted);
    (void)pthread_mutex_destroy(&writer->mutex);
    THR_RELEASE(context, writer->frame.bytes, writer->ids, writer->removed, writer->dir, writer);
    thr_context_free(context);
}

/* ------------------------------------------------------------------------------------------------ writes */

static thr_status check_rows(const thr_index_writer *w, const thr_matrix *rows, const thr_write *write,
                             thr_error *err) {
    const bool names = write->ids.offsets != NULL;
    if (rows->n_dims != w->n_dims)
        return thr_fail(err, THR_EDIM, "rows of %" PRIu32 " dimensions for an index of %" PRIu32 ": %s", rows->n_dims,
                        w->n_dims, w->dir);
    if (w->has_names && !names)
        return thr_fail(err, THR_EINVAL, "%s: its items have names: give a name for each new one", w->dir);
    if (!w->has_names && names)
        return thr_fail(err, THR_EINVAL, "%s: its items have no names: give ids, or nothing", w->dir);
    return THR_OK;
}

/* Copy names to one string per row. */
static thr_status copy_names(thr_context *context, const char *const *names, uint64_t n, thr_ids *ids, thr_error *err) {
    uint64_t size = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (names[i] == NULL)
            return thr_fail(err, THR_EINVAL, "name %" PRIu64 " is NULL", i);
        size += strlen(names[i]) + 1;
    }
    THR_TRY(thr_alloc(context, (size_t)n + 1, sizeof *ids->offsets, &ids->offsets, "names", err));
    THR_TRY(thr_alloc(context, (size_t)size, 1, &ids->names, "names", err));
    ids->name = "names"; /* for messages */
    ids->offsets[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        const size_t length = strlen(names[i]) + 1;
        memcpy(ids->names + ids->offsets[i], names[i], length);
        ids->offsets[i + 1] = ids->offsets[i] + length;
    }
    ids->n = n;
    return THR_OK;
}

static thr_status add_rows(thr_index_writer *w, const thr_matrix *rows, thr_write *write, float **owned,
                           thr_index_change *change, thr_error *err) {
    THR_TRY(check_rows(w, rows, write, err));
    THR_TRY(thr_index_ids_check_unique(&write->ids, err));
    THR_TRY(thr_alloc(w->context, (size_t)rows->n_rows, w->n_dims * sizeof(float), owned, "rows", err));
    for (uint64_t r = 0; r < rows->n_rows; r++)
        THR_TRY(thr_code_check_short(rows, r, "row", r, err));
    THR_TRY(thr_matrix_to_f32(rows, 0, rows->n_rows, *owned));
    write->vectors = *owned;
    return thr_index_writer_run(w, write, change, err);
}

/* Ids or names of n rows, from an array or a file. */
static thr_status take_ids(const thr_index_writer *w, const thr_index_add_options *o, const char *const *names,
                           uint64_t n, thr_ids *ids, thr_error *err) {
    if (names != NULL && (o->ids != NULL || o->ids_path != NULL))
        return thr_fail(err, THR_EINVAL, "both ids and names are given: give one");
    if (names != NULL)
        return copy_names(w->context, names, n, ids, err);
    const thr_index_build_options given = {.ids = o->ids, .n_ids = o->n_ids, .ids_path = o->ids_path};
    if (n > 0 || o->n_ids > 0)
        THR_TRY(thr_index_ids_open(w->context, &given, true, ids, err));
    if (w->has_names)
        thr_index_ids_take_names(ids);
    return thr_index_ids_check_count(ids, n, "vectors", err);
}

thr_status thr_index_writer_write(thr_index_writer *writer, const thr_matrix *vectors, const char *const *names,
                                  const thr_index_add_options *options, thr_index_change *change, thr_error *err) {
    thr_index_add_options complete = options != NULL ? *options : (thr_index_add_options){0};
    thr_hits_changes features;
    float *owned = NULL;
    char *names_path = NULL;
    thr_status status = THR_OK;
    if (writer == NULL || vectors == NULL || (vectors->data == NULL && vectors->n_rows > 0))
        return thr_fail(err, THR_EINVAL, "adding items needs a writer and rows");
    thr_write write = {.kind = THR_WRITE_ADD, .n = vectors->n_rows, .ids.context = writer->context};
    write.replace = complete.replace;
    THR_TRY_OUT(thr_index_view_features(writer->context, &complete, names != NULL, &features, &names_path, err));
    if (features.added_path != NULL || features.offsets != NULL || features.multipliers != NULL ||
        features.item_offsets != NULL)
        write.features = &features;
    THR_TRY_OUT(take_ids(writer, &complete, names, vectors->n_rows, &write.ids, err));
    THR_TRY_OUT(add_rows(writer, vectors, &write, &owned, change, err));
out:
    THR_RELEASE(writer->context, owned, names_path);
    thr_index_ids_close(&write.ids);
    return status;
}

static thr_status add(thr_index_writer *w, const thr_matrix *rows, const uint64_t *ids, const char *const *names,
                      bool replace, thr_index_change *change, thr_error *err) {
    const thr_index_add_options options = {
        .ids = ids, .n_ids = ids != NULL && rows != NULL ? rows->n_rows : 0, .replace = replace};
    return thr_index_writer_write(w, rows, names, &options, change, err);
}

thr_status thr_index_writer_add(thr_index_writer *writer, const thr_matrix *vectors, const uint64_t *ids,
                                const char *const *names, thr_index_change *change, thr_error *err) {
    return add(writer, vectors, ids, names, false, change, err);
}

thr_status thr_index_writer_upsert(thr_index_writer *writer, const thr_matrix *vectors, const uint64_t *ids,
                                   const char *const *names, thr_index_change *change, thr_error *err) {
    return add(writer, vectors, ids, names, true, change, err);
}

thr_status thr_index_writer_remove(thr_index_writer *writer, const uint64_t *ids, uint64_t n_ids,
                                   thr_index_change *change, thr_error *err) {
    if (writer == NULL || (ids == NULL && n_ids > 0))
        return thr_fail(err, THR_EINVAL, "removing items needs a writer and ids");
    thr_write write = {.kind = THR_WRITE_REMOVE, .removed = ids, .n_removed = n_ids};
    return thr_index_writer_run(writer, &write, change, err);
}

thr_status thr_index_writer_remove_names(thr_index_writer *writer, const char *const *names, uint64_t n_names,
                                         thr_index_change *change, thr_error *err) {
    if (writer == NULL || (names == NULL && n_names > 0))
        return thr_fail(err, THR_EINVAL, "removing items needs a writer and names");
    if (!writer->has_names)
        return thr_fail(err, THR_EINVAL, "%s: its items have no names: give ids", writer->dir);
    thr_write write = {.kind = THR_WRITE_REMOVE, .n_removed = n_names, .ids = {.context = writer->context}};
    thr_status status = copy_names(writer->context, names, n_names, &write.ids, err);
    if (status == THR_OK)
        status = thr_index_writer_run(writer, &write, change, err);
    thr_index_ids_close(&write.ids);
    return status;
}

thr_status thr_index_writer_flush(thr_index_writer *writer, thr_error *err) {
    if (writer == NULL)
        return thr_fail(err, THR_EINVAL, "a flush needs a writer");
    thr_write write = {.kind = THR_WRITE_FOLD};
    return thr_index_writer_run(writer, &write, NULL, err);
}

static thr_status compact(thr_index_writer *writer, bool recode, thr_index_change *change, thr_error *err) {
    if (writer == NULL)
        return thr_fail(err, THR_EINVAL, "compacting an index needs a writer");
    thr_write write = {.kind = recode ? THR_WRITE_RECODE : THR_WRITE_COMPACT};
    return thr_index_writer_run(writer, &write, change, err);
}

thr_status thr_index_writer_compact(thr_index_writer *writer, thr_index_change *change, thr_error *err) {
    return compact(writer, false, change, err);
}

thr_status thr_index_writer_recode(thr_index_writer *writer, thr_index_change *change, thr_error *err) {
    return compact(writer, true, change, err);
}

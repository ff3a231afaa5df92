/* SPDX-License-Identifier: Apache-2.0 */
/* features.c - builds and opens the posting lists of an index. */
#include "index/features.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "hits/rewrite.h"
#include "index/impl.h"
#include "index/names.h"
#include "select/bitmap.h"

/* ------------------------------------------------------------------------------------------------ build */

thr_status thr_index_names_path(thr_context *context, const char *table, char **path, thr_error *err) {
    static const char column[] = ":1";
    const size_t length = strlen(table);
    THR_TRY(thr_alloc(context, length + sizeof column, 1, path, "a name", err));
    memcpy(*path, table, length);
    memcpy(*path + length, column, sizeof column);
    return THR_OK;
}

thr_status thr_index_hits_check_count(uint64_t n_listed, uint64_t n_rows, const char *rows_name, thr_error *err) {
    if (n_listed == n_rows)
        return THR_OK;
    return thr_fail(err, THR_EDIM,
                    "features of %" PRIu64 " items for the %" PRIu64 " rows of %s: give features for every row",
                    n_listed, n_rows, rows_name);
}

enum { ID_TEXT = 21 }; /* of 20 digits */

thr_status thr_index_fail_names(const thr_ids *ids, uint64_t row, const char *there, thr_error *err) {
    char id[ID_TEXT] = "";
    const char *here = id, *quote = ids->offsets == NULL ? "" : "'";
    if (ids->offsets == NULL)
        (void)snprintf(id, sizeof id, "%" PRIu64, ids->ids[row]);
    else
        here = ids->names + ids->offsets[row];
    return thr_fail(err, THR_EMISMATCH,
                    "row %" PRIu64 " is %s%.60s%s in %s, but %s%.60s%s where its features are: give both in the same "
                    "order",
                    row, quote, here, quote, ids->name, quote, there, quote);
}

/* Check that items with ids or names on both sides have the same ones. */
static thr_status check_names(const thr_hits *hits, const thr_ids *ids, thr_error *err) {
    const thr_hits_contents *c = &hits->view.contents;
    const uint64_t n = ids->n < c->lists.n_items ? ids->n : c->lists.n_items;
    for (uint64_t row = 0; c->names.offsets != NULL && ids->offsets != NULL && row < n; row++) {
        const char *there = thr_strings_get(&c->names, row);
        if (there == NULL || strcmp(there, ids->names + ids->offsets[row]) != 0)
            return thr_index_fail_names(ids, row, there == NULL ? "" : there, err);
    }
    for (uint64_t row = 0; c->ids != NULL && ids->ids != NULL && row < n; row++)
        if (c->ids[row] != ids->ids[row]) {
            char there[ID_TEXT];
            (void)snprintf(there, sizeof there, "%" PRIu64, c->ids[row]);
            return thr_index_fail_names(ids, row, there, err);
        }
    return THR_OK;
}

static thr_status write_lists(const thr_build_dir *dir, const thr_index_build_options *o, uint64_t fingerprint,
                              const char *path, thr_error *err) {
    thr_hits_build_options how = {0};
    how.order = THR_HITS_ORDER_ROWS;
    how.model = fingerprint;
    how.multipliers = o->multipliers;
    how.offsets = o->offsets;
    how.n_values = o->n_values;
    return o->features_path != NULL ? thr_hits_build_table(dir->context, path, o->features_path, &how, err)
                                    : thr_hits_build(dir->context, path, o->features, &how, err);
}

thr_manifest_hits thr_index_hits_line(const thr_build_dir *dir, const thr_hits *hits) {
    return (thr_manifest_hits){.there = true,
                               .build = dir->build,
                               .file_bytes = hits->view.file.size,
                               .header_checksum = hits->view.file.checksum};
}

thr_status thr_index_hits_build(const thr_build_dir *dir, const thr_index_build_options *options,
                                const thr_index_hits_of *of, thr_manifest_hits *listed, uint64_t *n_listed,
                                thr_error *err) {
    thr_status status = THR_OK;
    char *path = NULL;
    thr_hits *hits = NULL;
    THR_TRY_OUT(thr_index_build_dir_file_path(dir, THR_INDEX_FILE_HITS, &path, err));
    THR_TRY_OUT(write_lists(dir, options, of->fingerprint, path, err));
    THR_TRY_OUT(thr_hits_open(dir->context, path, &hits, err));
    *n_listed = hits->info.n_items;
    if (of->rows->shape.n_rows != THR_ROWS_UNKNOWN)
        THR_TRY_OUT(thr_index_hits_check_count(*n_listed, of->rows->shape.n_rows, of->rows->name, err));
    THR_TRY_OUT(check_names(hits, of->ids, err));
    *listed = thr_index_hits_line(dir, hits);
out:
    thr_hits_free(hits);
    thr_release(dir->context, path);
    return status;
}

/* The old file stays mapped while the new one, of the same name, is written. */
thr_status thr_index_hits_reorder(const thr_build_dir *dir, const uint64_t *rows, uint64_t n_rows,
                                  thr_manifest_hits *listed, thr_error *err) {
    const size_t n_words = thr_bitmap_words(n_rows);
    const thr_hits_run run = {.end = n_rows, .rows = rows, .n_rows = n_rows};
    thr_hits *old = NULL, *hits = NULL;
    uint64_t *all = NULL;
    char *path = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_index_build_dir_file_path(dir, THR_INDEX_FILE_HITS, &path, err));
    THR_TRY_OUT(thr_alloc(dir->context, n_words, sizeof *all, &all, "rows", err));
    memset(all, 0xff, n_words * sizeof *all);
    const thr_hits_moves moves = {.remaining = all, .filled = all, .n_rows = n_rows, .run = &run, .names = true};
    THR_TRY_OUT(thr_hits_open(dir->context, path, &old, err));
    THR_TRY_OUT(thr_hits_rewrite(old, &moves, NULL, path, err));
    THR_TRY_OUT(thr_hits_open(dir->context, path, &hits, err));
    *listed = thr_index_hits_line(dir, hits);
out:
    thr_hits_free(hits);
    thr_hits_free(old);
    THR_RELEASE(dir->context, all, path);
    return status;
}

/* ------------------------------------------------------------------------------------------------ open */

static bool row_of(const void *index, uint64_t id, uint64_t *row) {
    return thr_index_row(index, id, row);
}

static uint64_t id_of(const void *index, uint64_t row) {
    return thr_index_id_of(index, row);
}

static const char *name_of(const void *index, uint64_t id) {
    return thr_index_name(index, id);
}

static bool find(const void *index, const char *name, uint64_t *id) {
    return thr_index_find(index, name, id, NULL) == THR_OK;
}

static thr_status check_file(const thr_hits *hits, const thr_manifest_hits *listed, thr_error *err) {
    return hits->view.file.size == listed->file_bytes && hits->view.file.checksum == listed->header_checksum &&
                   hits->view.contents.rows == NULL
               ? THR_OK
               : thr_fail(err, THR_ECORRUPT,
                          "%s: is not the file that the index was built with: restore it or build the index again",
                          hits->path);
}

/* Open one of the files that the manifest names. */
static thr_status open_file(thr_index *index, const char *dir, thr_index_file file, const thr_manifest_hits *listed,
                            thr_hits **hits, thr_error *err) {
    char name[THR_INDEX_FILE_NAME_SIZE], *path = NULL;
    thr_error why = {.status = THR_OK};
    thr_index_file_name_print(file, listed->build, name);
    THR_TRY(thr_path_join(index->context, dir, name, &path, err));
    const thr_status status = thr_hits_open(index->context, path, hits, &why);
    thr_release(index->context, path);
    if (status != THR_OK)
        return thr_fail(err, status == THR_EFORMAT ? THR_ECORRUPT : status, "%s", why.text);
    return check_file(*hits, listed, err);
}

static thr_status join_added(thr_index *index, const char *dir, thr_error *err) {
    thr_hits *added = NULL;
    thr_status status = open_file(index, dir, THR_INDEX_FILE_ADDED, &index->manifest.added, &added, err);
    if (status == THR_OK)
        return thr_hits_join(index->hits, added, err);
    thr_hits_free(added);
    return status;
}

thr_status thr_index_hits_open(thr_index *index, const char *dir, thr_error *err) {
    const thr_manifest *m = &index->manifest;
    THR_TRY(open_file(index, dir, THR_INDEX_FILE_HITS, &m->hits, &index->hits, err));
    if (m->added.there)
        THR_TRY(join_added(index, dir, err));
    if (index->hits->info.n_rows != m->n_rows)
        return thr_fail(err, THR_ECORRUPT,
                        "%s: has %" PRIu64 " rows for the index's %" PRIu64 ": build the index again",
                        index->hits->path, index->hits->info.n_rows, m->n_rows);
    const bool has_own_names = index->hits->info.has_names && !m->has_names;
    const thr_hit_owner owner = {index, row_of, id_of, has_own_names ? NULL : name_of, has_own_names ? NULL : find};
    return thr_hits_set_owner(index->hits, &owner, index->live.words, err);
}

/* ------------------------------------------------------------------------------------------------ values */

typedef struct inheritance {
    const thr_index *before;
    const thr_index *now;
    thr_hit_set set, stored;      /* the values in `before`, and those in the files of `now` */
    float *multipliers, *offsets; /* by row of `now`, or NULL */
} inheritance;

static float value_at(const float *values, uint64_t row, float fallback) {
    return values == NULL ? fallback : values[row];
}

/* Find the row of an item of `now` in `before`: by its id or, since a replaced item gets a new id, by its name. */
static bool row_before(const inheritance *h, uint64_t row, uint64_t *old) {
    if (thr_index_row(h->before, thr_index_id_of(h->now, row), old))
        return true;
    if (!h->now->manifest.has_names || !h->before->manifest.has_names)
        return false;
    const thr_segment_view *view = &h->now->mapped[thr_index_segment_of(h->now, row)].view;
    const char *name = thr_index_segment_item_name(view, (uint32_t)(row - view->scan.first_row));
    return name != NULL && thr_index_name_row(h->before, name, old);
}

/* Set the values of a row: those set before, or those of the file if the item is new or a change gave it others. */
static void inherit_row(const inheritance *h, uint64_t row) {
    const thr_hits *then = h->before->hits;
    const uint32_t given = thr_hits_row_given(h->now->hits, row);
    uint64_t old = row;
    const bool kept = row_before(h, row, &old) && (given == 0 || given == thr_hits_row_given(then, old));
    const thr_hit_values *from = kept ? h->set.of_file : h->stored.of_file;
    old = kept ? old : row;
    if (h->multipliers != NULL)
        h->multipliers[row] = value_at(from == NULL ? NULL : from->multipliers, old, 1);
    if (h->offsets != NULL)
        h->offsets[row] = value_at(from == NULL ? NULL : from->offsets, old, 0);
}

/* Rows of a segment that was there before have the same items. */
static void inherit_segment(const inheritance *h, uint32_t s) {
    const thr_manifest_segment *own = &h->now->manifest.segments[s], *others = h->before->manifest.segments;
    const uint64_t first = h->now->segments[s].first_row, n = h->now->segments[s].n_items;
    uint32_t i = 0;
    while (i < h->before->n_segments && (others[i].number != own->number || others[i].build != own->build))
        i++;
    if (i == h->before->n_segments) {
        for (uint64_t row = first; row < first + n; row++)
            if (thr_live_has(&h->now->live, row))
                inherit_row(h, row);
        return;
    }
    for (uint64_t row = 0, old = h->before->segments[i].first_row; row < n; row++) {
        if (h->multipliers != NULL)
            h->multipliers[first + row] = value_at(h->set.of_file->multipliers, old + row, 1);
        if (h->offsets != NULL)
            h->offsets[first + row] = value_at(h->set.of_file->offsets, old + row, 0);
    }
}

static thr_status allocate(inheritance *h, thr_error *err) {
    const size_t n = (size_t)h->now->hits->info.n_rows;
    const thr_hit_values *set = h->set.of_file, *stored = h->stored.of_file;
    if (set->multipliers != NULL || (stored != NULL && stored->multipliers != NULL))
        THR_TRY(thr_alloc_zero(h->now->context, n, sizeof *h->multipliers, &h->multipliers, "multipliers", err));
    if (set->offsets != NULL || (stored != NULL && stored->offsets != NULL))
        THR_TRY(thr_alloc_zero(h->now->context, n, sizeof *h->offsets, &h->offsets, "offsets", err));
    return THR_OK;
}

thr_status thr_index_hits_inherit(const thr_index *before, thr_index *now, thr_error *err) {
    inheritance h = {.before = before, .now = now};
    if (before->hits == NULL || now->hits == NULL || !thr_hits_values_are_set(before->hits))
        return THR_OK;
    h.set = thr_hits_take_values(before->hits);
    h.stored = thr_hits_take_values(now->hits);
    thr_status status = allocate(&h, err);
    if (status == THR_OK) {
        for (uint32_t s = 0; s < now->n_segments; s++)
            inherit_segment(&h, s);
        status = thr_hits_set_values(now->hits, h.multipliers, h.offsets, now->hits->info.n_rows, err);
    }
    THR_RELEASE(now->context, h.multipliers, h.offsets);
    thr_hits_put_values(before->hits, &h.set);
    thr_hits_put_values(now->hits, &h.stored);
    return thr_index_check_after(before, status, err);
}

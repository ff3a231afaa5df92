/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commit_features.c - the posting lists of a commit. They are a file of the first rows, and one of those after them. A
 * commit that adds or moves rows rewrites the second file, which is small, or writes one file of all rows.
 */
#include "index/change/commit_features.h"

#include "base/error.h"
#include "index/features.h"

#include <string.h>

static bool has_features(const thr_hits_changes *features) {
    return features->added_path != NULL || features->offsets != NULL;
}

/* Check that the items of a table have the same ids or names there. */
static thr_status check_names(const thr_hits_rows *table, const thr_ids *ids, thr_error *err) {
    const bool numbers = ids->offsets == NULL && thr_hits_are_numbers(&table->items, THR_NO_ID - 1);
    for (uint32_t row = 0; row < table->items.n && row < ids->n; row++) {
        const char *there = thr_dictionary_text(&table->items, row);
        if (ids->offsets != NULL ? strcmp(ids->names + ids->offsets[row], there) != 0
                                 : numbers && thr_hits_number_at(&table->items, row) != ids->ids[row])
            return thr_index_fail_names(ids, row, there, err);
    }
    return THR_OK;
}

thr_status thr_index_commit_check_features(const thr_commit *c, const thr_hits_changes *features, thr_error *err) {
    const thr_index *index = c->index;
    if (index->hits == NULL && has_features(features))
        return thr_fail(err, THR_EINVAL, "%s: was built without features: leave them out, or build it with features",
                        index->dir);
    if (index->hits != NULL && !has_features(features))
        return thr_fail(err, THR_EINVAL, "%s: its items have features: give those of each new one", index->dir);
    return index->hits != NULL || (features->multipliers == NULL && features->item_offsets == NULL)
               ? THR_OK
               : thr_fail(err, THR_EINVAL, "multipliers and offsets need features: give those, too");
}

thr_status thr_index_commit_read_features(const thr_commit *c, const thr_hits_changes *features,
                                          const thr_row_source *source, const thr_ids *ids, thr_hits_added *added,
                                          thr_error *err) {
    if (c->index->hits == NULL)
        return THR_OK;
    THR_TRY(thr_hits_added_open(c->index->hits, features, added, err));
    if (source->shape.n_rows != THR_ROWS_UNKNOWN)
        THR_TRY(thr_index_hits_check_count(added->items.n_items, source->shape.n_rows, source->name, err));
    return features->added_path == NULL ? THR_OK : check_names(&added->table, ids, err);
}

/*
 * Whether the second file has grown so much that all rows go to one file. If each commit adds b = n_added items, the
 * d = n_second items of the second file have been written d / 2b times on average, d^2 / 2b writes in all. Once these
 * are as many as the n = n_first items of the first file, one file of all is cheaper: a commit then writes about
 * sqrt(2 b n) items on average.
 */
static bool is_second_file_large(uint64_t n_first, uint64_t n_second, uint64_t n_added) {
    return n_added > 0 && (double)n_second * (double)n_second >= 2 * (double)n_added * (double)n_first;
}

/* Whether the file of the first n rows stays as it is, and a second file has the rows after them. */
static bool is_first_kept(const thr_commit *c, uint64_t n, uint64_t first_moved, const thr_hits_added *added) {
    const bool has_features = c->index->hits->view.contents.lists.n_features > 0; /* else its words are not decided */
    return first_moved >= n && has_features &&
           !is_second_file_large(n, c->manifest.n_rows - n, added == NULL ? 0 : added->items.n_items);
}

/* Write the posting lists that `moves` describes to a file of this kind. *line receives its line of the manifest. */
static thr_status write_lists(const thr_commit *c, thr_index_file kind, const thr_hits_moves *moves,
                              const thr_hits_added *added, thr_manifest_hits *line, thr_error *err) {
    thr_hits *written = NULL;
    char *path = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_index_build_dir_file_path(&c->dir, kind, &path, err));
    THR_TRY_OUT(thr_hits_rewrite(c->index->hits, moves, added, path, err));
    THR_TRY_OUT(thr_hits_open(c->context, path, &written, err));
    *line = thr_index_hits_line(&c->dir, written);
out:
    thr_hits_free(written);
    thr_release(c->context, path);
    return status;
}

thr_status thr_index_commit_write_features(thr_commit *c, const uint64_t *remaining, uint64_t first_moved,
                                           const thr_hits_run *run, const thr_hits_added *added, thr_error *err) {
    thr_hits_moves moves = {.remaining = remaining, .filled = c->live, .n_rows = c->manifest.n_rows, .run = run};
    thr_manifest *m = &c->manifest;
    if (c->index->hits == NULL)
        return THR_OK;
    const uint64_t n = c->index->hits->view.contents.lists.n_items;
    m->added.there = false;
    if (!is_first_kept(c, n, first_moved, added))
        return write_lists(c, THR_INDEX_FILE_HITS, &moves, added, &m->hits, err);
    moves.first = n;
    return m->n_rows == n ? THR_OK : write_lists(c, THR_INDEX_FILE_ADDED, &moves, added, &m->added, err);
}

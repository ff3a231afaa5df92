/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_table.c - builds a file of posting lists from a text table of items and their features.
 *
 * If all names, or all words, are numbers, these become the ids, or the feature numbers; that can be decided only at
 * the end of the table. Words are numbered in ascending order, so that a binary search finds them.
 */
#include <string.h>

#include "base/error.h"
#include "base/files/out.h"
#include "hits/build.h"
#include "hits/read_items.h"

typedef struct table {
    thr_hits_rows rows;
    /* Results: ids, or names with word_offsets; NULL where not used. */
    uint64_t *ids;
    uint64_t *word_offsets;
    char *word_bytes;
} table;

/* ------------------------------------------------------------------------------------------------ numbers */

static thr_status names_to_ids(table *t, thr_error *err) {
    if (!thr_hits_are_numbers(&t->rows.items, THR_NO_ID - 1))
        return THR_OK;
    THR_TRY(thr_alloc(t->rows.context, t->rows.items.n, sizeof *t->ids, &t->ids, "ids", err));
    for (uint32_t i = 0; i < t->rows.items.n; i++)
        t->ids[i] = thr_hits_number_at(&t->rows.items, i);
    return THR_OK;
}

/* Replace the words' numbers in the rows: by the numbers that the words are, or by their sorted numbers. */
static thr_status number_words(table *t, thr_error *err) {
    thr_status status = THR_OK;
    uint32_t *numbers = NULL;
    THR_TRY_OUT(thr_alloc(t->rows.context, t->rows.words.n, sizeof *numbers, &numbers, "words", err));
    if (thr_hits_are_numbers(&t->rows.words, THR_HITS_MAX_FEATURE)) {
        for (uint32_t i = 0; i < t->rows.words.n; i++)
            numbers[i] = (uint32_t)thr_hits_number_at(&t->rows.words, i);
    } else {
        THR_TRY_OUT(
            thr_hits_words_sort(t->rows.context, &t->rows.words, numbers, &t->word_offsets, &t->word_bytes, err));
    }
    for (size_t e = 0; e < t->rows.n_postings; e++)
        t->rows.features[e] = numbers[t->rows.features[e]];
out:
    thr_release(t->rows.context, numbers);
    return status;
}

/* ------------------------------------------------------------------------------------------------ together */

static thr_status build(table *t, const char *path, thr_hits_build_options *options, thr_error *err) {
    if (t->rows.items.n == 0)
        return thr_fail(err, THR_EDIM, "%s: holds no items", t->rows.name);
    THR_TRY(names_to_ids(t, err));
    THR_TRY(number_words(t, err));
    const thr_item_features items = {t->rows.offsets, t->rows.features, t->rows.items.n};
    const thr_strings names = {t->rows.items.starts, t->rows.items.bytes, t->rows.items.n,
                               t->rows.items.starts[t->rows.items.n]};
    options->ids = t->ids;
    options->n_ids = t->ids == NULL ? 0 : t->rows.items.n;
    thr_hits_extras extras = {.names = t->ids == NULL ? &names : NULL};
    if (t->word_offsets == NULL)
        return thr_hits_build_all(t->rows.context, path, &items, options, &extras, err);
    const thr_strings words = {t->word_offsets, t->word_bytes, t->rows.words.n, t->word_offsets[t->rows.words.n]};
    extras.words = &words;
    return thr_hits_build_all(t->rows.context, path, &items, options, &extras, err);
}

thr_status thr_hits_build_table(thr_context *context, const char *path, const char *table_path,
                                const thr_hits_build_options *options, thr_error *err) {
    thr_status status = THR_OK;
    thr_hits_build_options complete;
    table t = {.ids = NULL};
    if (context == NULL)
        return thr_fail(err, THR_EINVAL, "a build needs a context");
    THR_TRY(thr_check_path(table_path, "the table of items", err));
    if (path != NULL)
        THR_TRY(thr_out_check_input(path, table_path, err));
    THR_TRY(thr_hits_take_build(context, path, options, &complete, err));
    if (complete.ids != NULL)
        return thr_fail(err, THR_EINVAL, "%s: a table has ids or names of its own: give no others", table_path);
    THR_TRY_OUT(thr_hits_rows_read(context, table_path, &t.rows, err));
    THR_TRY_OUT(build(&t, path, &complete, err));
out:
    thr_hits_rows_free(&t.rows);
    THR_RELEASE(context, t.ids, t.word_offsets, t.word_bytes);
    return status;
}

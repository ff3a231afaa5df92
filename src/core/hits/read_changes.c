/* SPDX-License-Identifier: Apache-2.0 */
/* read_changes.c - reads added items from a table and removed items from a text file. */
#include "hits/read_changes.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/decimal.h"
#include "base/error.h"
#include "hits/hits.h"
#include "io/reader.h"

/* ------------------------------------------------------------------------------------------------ added items */

static thr_status texts_of(thr_context *context, const thr_dictionary *strings, const char ***texts, thr_error *err) {
    THR_TRY(thr_alloc(context, strings->n, sizeof **texts, texts, "changes", err));
    for (uint32_t i = 0; i < strings->n; i++)
        (*texts)[i] = thr_dictionary_text(strings, i);
    return THR_OK;
}

/* Parse all strings as ids. path names the file that they come from. */
static thr_status ids_of(thr_context *context, const thr_dictionary *strings, const char *path, uint64_t **ids,
                         thr_error *err) {
    THR_TRY(thr_alloc(context, strings->n, sizeof **ids, ids, "changes", err));
    for (uint32_t i = 0; i < strings->n; i++) {
        const char *text = thr_dictionary_text(strings, i);
        if (!thr_decimal_parse(text, strlen(text), &(*ids)[i]))
            return thr_fail(err, THR_EFORMAT,
                            "%s: item %.200s: the items of these posting lists have ids, which are "
                            "whole numbers, and no names",
                            path, text);
    }
    return THR_OK;
}

static thr_status take_words(thr_hits_read_changes *read, thr_error *err) {
    THR_TRY(thr_alloc(read->context, read->rows.n_postings, sizeof *read->words, &read->words, "changes", err));
    for (size_t e = 0; e < read->rows.n_postings; e++)
        read->words[e] = thr_dictionary_text(&read->rows.words, read->rows.features[e]);
    read->changes.words = read->words;
    return THR_OK;
}

static thr_status take_features(thr_hits_read_changes *read, thr_error *err) {
    const thr_hits_rows *rows = &read->rows;
    THR_TRY(thr_alloc(read->context, rows->n_postings, sizeof *read->features, &read->features, "changes", err));
    THR_TRY(thr_hits_rows_parse(rows, read->features, err));
    read->changes.features = read->features;
    return THR_OK;
}

static thr_status read_added(const thr_hits *hits, thr_hits_read_changes *read, thr_error *err) {
    const char *path = read->changes.added_path;
    if (read->changes.n_added > 0)
        return thr_fail(err, THR_EINVAL, "%s: items are added from a table or from memory, not from both", path);
    THR_TRY(thr_hits_rows_read(read->context, path, &read->rows, err));
    read->changes.n_added = read->rows.items.n;
    read->changes.offsets = read->rows.offsets;
    if (hits->info.has_names)
        THR_TRY(texts_of(read->context, &read->rows.items, &read->names, err));
    else
        THR_TRY(ids_of(read->context, &read->rows.items, path, &read->ids, err));
    read->changes.names = read->names;
    read->changes.ids = read->ids;
    return hits->info.has_words ? take_words(read, err) : take_features(read, err);
}

/* ------------------------------------------------------------------------------------------------ removed items */

static thr_status read_lines(thr_hits_read_changes *read, thr_reader *reader, const char *path, thr_error *err) {
    if (reader->shape.dtype != THR_DTYPE_NONE)
        return thr_fail(err, THR_EFORMAT, "%s: holds numbers: a text is expected, of an id or a name per line", path);
    for (uint64_t line = 1;; line++) {
        const char *text;
        size_t length;
        THR_TRY(thr_reader_next_line(reader, &text, &length, err));
        if (text == NULL)
            return THR_OK;
        if (length == 0 || memchr(text, '\0', length) != NULL)
            return thr_fail(err, THR_EFORMAT, "%s: line %" PRIu64 ": an id or a name is expected", path, line);
        THR_TRY(thr_dictionary_add(read->context, &read->removed, text, length, NULL, NULL, err));
    }
}

static thr_status read_removed(const thr_hits *hits, thr_hits_read_changes *read, thr_error *err) {
    const char *path = read->changes.removed_path;
    thr_reader *reader = NULL;
    if (read->changes.n_removed > 0)
        return thr_fail(err, THR_EINVAL, "%s: items are removed by a file or from memory, not by both", path);
    thr_status status = thr_reader_open(read->context, path, &reader, err);
    if (status == THR_OK)
        status = read_lines(read, reader, path, err);
    thr_reader_free(reader);
    THR_TRY(status);
    read->changes.n_removed = read->removed.n;
    if (hits->info.has_names)
        THR_TRY(texts_of(read->context, &read->removed, &read->removed_names, err));
    else
        THR_TRY(ids_of(read->context, &read->removed, path, &read->removed_ids, err));
    read->changes.removed_names = read->removed_names;
    read->changes.removed_ids = read->removed_ids;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ both */

thr_status thr_hits_changes_read(const thr_hits *hits, const thr_hits_changes *given, thr_hits_read_changes *read,
                                 thr_error *err) {
    read->changes = *given;
    read->context = hits->context;
    if (given->added_path != NULL)
        THR_TRY(read_added(hits, read, err));
    if (given->removed_path != NULL)
        THR_TRY(read_removed(hits, read, err));
    return THR_OK;
}

void thr_hits_read_changes_free(thr_hits_read_changes *read) {
    thr_context *context = read->context;
    if (context == NULL)
        return;
    thr_hits_rows_free(&read->rows);
    thr_dictionary_free(context, &read->removed);
    THR_RELEASE(context, read->names, read->words, read->ids, read->features, read->removed_names, read->removed_ids);
    *read = (thr_hits_read_changes){.context = NULL};
}

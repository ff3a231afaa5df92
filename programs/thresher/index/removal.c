/* SPDX-License-Identifier: Apache-2.0 */
#include "index/removal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/filter.h"
#include "input/input.h"
#include "cli/messages.h"

enum { AT_ONCE = 4096 };

/* ------------------------------------------------------------------------------------------------ the list */

static int append(prog_removal *r, uint64_t id) {
    if (r->n == r->capacity) {
        const size_t capacity = r->capacity > 0 ? 2 * r->capacity : AT_ONCE;
        uint64_t *ids = capacity <= SIZE_MAX / sizeof *ids ? realloc(r->ids, capacity * sizeof *ids) : NULL;

        if (ids == NULL)
            return prog_no_memory();
        r->ids = ids;
        r->capacity = capacity;
    }
    r->ids[r->n++] = id;
    return PROG_DONE;
}

/* The place of an id or name, for messages: "ids.txt: line 3: ". */
typedef struct place {
    const char *path, *unit; /* NULL: the command line */
    uint64_t number;
} place;

static int missing(prog_removal *r, const place *at, const char *name) {
    r->n_missing++;
    if (!r->strict)
        return PROG_DONE;
    if (at->path != NULL)
        prog_error("%s: %s %" PRIu64 ": the index has no item \"%.200s\"; nothing was removed", at->path, at->unit,
                   at->number, name);
    else
        prog_error("the index has no item \"%.200s\"; nothing was removed", name);
    return PROG_FAILED;
}

static int add_id(prog_removal *r, const place *at, uint64_t id) {
    char text[24];
    uint64_t row;

    if (thr_index_row(r->index, id, &row))
        return append(r, id);
    (void)snprintf(text, sizeof text, "%" PRIu64, id);
    return missing(r, at, text);
}

/* Add lines: names, or ids where items have no names. at.number is that of the first. */
static int add_names(prog_removal *r, place at, const char *const *names, size_t n) {
    thr_error err = {.status = THR_OK};
    const bool has_names = thr_index_get_info(r->index).has_names;
    uint64_t ids[AT_ONCE], id, row;
    int rc = PROG_DONE;

    if (thr_index_find_many(r->index, names, n, ids, &err) != THR_OK)
        return prog_failed(&err);
    for (size_t i = 0; i < n && rc == PROG_DONE; i++, at.number++) {
        if (ids[i] != THR_NO_ID)
            rc = append(r, ids[i]);
        else if (!has_names && prog_read_count(names[i], &id) && thr_index_row(r->index, id, &row))
            rc = append(r, id);
        else if (!has_names && !prog_read_count(names[i], &id)) {
            prog_error("%s: %s %" PRIu64 " is \"%.100s\": the index has no names, give whole numbers", at.path, at.unit,
                       at.number, names[i]);
            rc = PROG_FAILED;
        } else
            rc = missing(r, &at, names[i]);
    }
    return rc;
}

/* ------------------------------------------------------------------------------------------------ files */

/* Lines of a text, some thousands at a time: their ends in one buffer. */
typedef struct line_batch {
    char *text;
    size_t used, capacity, n;
    size_t starts[AT_ONCE];
} line_batch;

static int batch_add(line_batch *batch, const char *line, size_t length) {
    if (batch->capacity - batch->used <= length) {
        const size_t capacity = 2 * (batch->used + length + 1);
        char *text = realloc(batch->text, capacity);

        if (text == NULL)
            return prog_no_memory();
        batch->text = text;
        batch->capacity = capacity;
    }
    batch->starts[batch->n++] = batch->used;
    memcpy(batch->text + batch->used, line, length + 1);
    batch->used += length + 1;
    return PROG_DONE;
}

static int add_batch(prog_removal *r, const place *at, line_batch *batch) {
    const char *names[AT_ONCE];
    int rc;

    for (size_t i = 0; i < batch->n; i++)
        names[i] = batch->text + batch->starts[i];
    rc = batch->n > 0 ? add_names(r, *at, names, batch->n) : PROG_DONE;
    batch->n = batch->used = 0;
    return rc;
}

static int read_lines(prog_removal *r, thr_reader *reader, const char *path) {
    line_batch batch = {.text = NULL};
    place at = {path, "line", 1};
    int rc = PROG_DONE;

    for (const char *line = ""; rc == PROG_DONE && line != NULL;) {
        size_t length = 0;

        rc = prog_input_line(reader, &line, &length);
        if (rc == PROG_DONE && line != NULL)
            rc = batch_add(&batch, line, length);
        if (rc == PROG_DONE && (line == NULL || batch.n == AT_ONCE)) {
            const uint64_t n = batch.n;

            rc = add_batch(r, &at, &batch);
            at.number += n;
        }
    }
    free(batch.text);
    return rc;
}

static int read_numbers(prog_removal *r, thr_reader *reader, const char *path) {
    place at = {path, "value", 0};
    thr_matrix rows;
    int rc = PROG_DONE;

    if (!prog_dtype_is_whole(thr_reader_get_shape(reader).dtype)) {
        prog_error("%s holds %s; ids are whole numbers", path, thr_dtype_name(thr_reader_get_shape(reader).dtype));
        return PROG_FAILED;
    }
    while (prog_input_next_rows(reader, AT_ONCE, &rows, &rc))
        for (uint64_t row = 0; rc == PROG_DONE && row < rows.n_rows; row++)
            for (uint32_t i = 0; rc == PROG_DONE && i < rows.n_dims; i++, at.number++) {
                uint64_t id;

                if (prog_id_at(&rows, row, i, &id) && id != THR_NO_ID) {
                    rc = add_id(r, &at, id);
                    continue;
                }
                prog_error("%s: value %" PRIu64 " is negative, so it is not an id", path, at.number);
                rc = PROG_FAILED;
            }
    return rc;
}

int prog_removal_file(prog_removal *removal, thr_context *context, const char *path) {
    thr_reader *reader = NULL;
    int rc = prog_input_open(context, path, &reader);

    if (rc != PROG_DONE)
        return rc;
    rc = thr_reader_get_shape(reader).dtype == THR_DTYPE_NONE ? read_lines(removal, reader, path)
                                                              : read_numbers(removal, reader, path);
    thr_reader_free(reader);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ other sources */

int prog_removal_ids(prog_removal *removal, const prog_list *ids) {
    const place at = {.path = NULL};
    int rc = PROG_DONE;

    for (size_t i = 0; i < ids->n && rc == PROG_DONE; i++) {
        uint64_t id;

        if (!prog_read_count(ids->items[i], &id) || id == THR_NO_ID) {
            prog_error("--id takes a whole number, not \"%.100s\"", ids->items[i]);
            return PROG_WRONG_WORDS;
        }
        rc = add_id(removal, &at, id);
    }
    return rc;
}

int prog_removal_names(prog_removal *removal, const prog_list *names) {
    int rc = PROG_DONE;

    if (names->n > 0 && !thr_index_get_info(removal->index).has_names) {
        prog_error("--name %.200s: the index has no names; its items have ids, for --id", names->items[0]);
        return PROG_FAILED;
    }
    for (size_t i = 0; i < names->n && rc == PROG_DONE; i++) {
        const place at = {.path = NULL};
        thr_error err = {.status = THR_OK};
        uint64_t id;

        if (thr_index_find(removal->index, names->items[i], &id, &err) == THR_OK)
            rc = append(removal, id);
        else
            rc = err.status == THR_ENOTFOUND ? missing(removal, &at, names->items[i]) : prog_failed(&err);
    }
    return rc;
}

int prog_removal_filter(prog_removal *removal, thr_context *context, const char *path) {
    prog_filter filter = {.skip_missing = !removal->strict};
    prog_items_part part;
    const prog_items items = prog_items_of_index(removal->index, "", &part);
    int rc = prog_filter_read(&filter, context, path, &items);

    removal->n_missing += filter.n_missing;

    for (uint64_t row = 0; rc == PROG_DONE && row < filter.n_bits; row++) {
        thr_error err = {.status = THR_OK};
        uint64_t id;

        if ((filter.words[row / 64] >> row % 64 & 1) == 0)
            continue;
        if (thr_index_row_ids(removal->index, row, 1, &id, &err) != THR_OK)
            rc = prog_failed(&err);
        else if (id != THR_NO_ID)
            rc = append(removal, id);
    }
    prog_filter_free(&filter);
    return rc;
}

void prog_removal_free(prog_removal *removal) {
    free(removal->ids);
    removal->ids = NULL;
}

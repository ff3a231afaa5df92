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

static int append_name(prog_removal *r, const char *name) {
    const size_t size = strlen(name) + 1;

    if (r->text_capacity - r->text_size < size) {
        const size_t capacity = 2 * (r->text_size + size);
        char *text = realloc(r->text, capacity);

        if (text == NULL)
            return prog_no_memory();
        r->text = text;
        r->text_capacity = capacity;
    }
    memcpy(r->text + r->text_size, name, size);
    r->text_size += size;
    r->n_names++;
    return PROG_DONE;
}

/* ------------------------------------------------------------------------------------------------ files */

/* Names, or ids where items have no names. */
static int read_lines(prog_removal *r, thr_reader *reader, const char *path) {
    const bool has_names = thr_index_get_info(r->index).has_names;
    const char *line = NULL;
    size_t length = 0;
    uint64_t id;
    int rc = PROG_DONE;

    r->unit = "line";
    r->first_number = 1;
    r->file_has_names = has_names;
    for (uint64_t number = 1; prog_input_next_line(reader, &line, &length, &rc); number++) {
        if (has_names) {
            rc = append_name(r, line);
        } else if (prog_read_count(line, &id)) {
            rc = append(r, id);
        } else {
            prog_error("%s: line %" PRIu64 " is \"%.100s\": the index has no names, give whole numbers", path, number,
                       line);
            rc = PROG_FAILED;
        }
        if (rc != PROG_DONE)
            return rc;
    }
    return rc;
}

static int read_numbers(prog_removal *r, thr_reader *reader, const char *path) {
    thr_matrix rows;
    uint64_t number = 0;
    int rc = PROG_DONE;

    r->unit = "value";
    if (thr_reader_get_shape(reader).n_rows == 0)
        return PROG_DONE;
    if (!prog_dtype_is_whole(thr_reader_get_shape(reader).dtype)) {
        prog_error("%s holds %s; ids are whole numbers", path, thr_dtype_name(thr_reader_get_shape(reader).dtype));
        return PROG_FAILED;
    }
    while (prog_input_next_rows(reader, AT_ONCE, &rows, &rc))
        for (uint64_t row = 0; rc == PROG_DONE && row < rows.n_rows; row++)
            for (uint32_t i = 0; rc == PROG_DONE && i < rows.n_dims; i++, number++) {
                uint64_t id;

                if (prog_id_at(&rows, row, i, &id) && id != THR_NO_ID) {
                    rc = append(r, id);
                    continue;
                }
                prog_error("%s: value %" PRIu64 " is negative, so it is not an id", path, number);
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
    removal->path = path;
    removal->n_from_file = removal->n + removal->n_names;
    return rc;
}

/* ------------------------------------------------------------------------------------------------ other sources */

int prog_removal_ids(prog_removal *removal, const prog_list *ids) {
    int rc = PROG_DONE;

    for (size_t i = 0; i < ids->n && rc == PROG_DONE; i++) {
        uint64_t id;

        if (!prog_read_count(ids->items[i], &id) || id == THR_NO_ID) {
            prog_error("--id takes a whole number, not \"%.100s\"", ids->items[i]);
            return PROG_WRONG_WORDS;
        }
        rc = append(removal, id);
    }
    return rc;
}

int prog_removal_names(prog_removal *removal, const prog_list *names) {
    int rc = PROG_DONE;

    if (names->n > 0 && !thr_index_get_info(removal->index).has_names) {
        prog_error("--name %.200s: the index has no names; its items have ids, for --id", names->items[0]);
        return PROG_FAILED;
    }
    for (size_t i = 0; i < names->n && rc == PROG_DONE; i++)
        rc = append_name(removal, names->items[i]);
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
        const char *name;
        uint64_t id;

        if ((filter.words[row / 64] >> row % 64 & 1) == 0)
            continue;
        if (thr_index_row_ids(removal->index, row, 1, &id, &err) != THR_OK ||
            thr_index_row_names(removal->index, row, 1, &name, &err) != THR_OK)
            rc = prog_failed(&err);
        else if (id != THR_NO_ID)
            rc = name != NULL ? append_name(removal, name) : append(removal, id);
    }
    prog_filter_free(&filter);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ removing */

/* Item number `number` of the ids, then the names, is not there. */
static void report_missing(const prog_removal *r, uint64_t number) {
    char id[24];
    const char *name = id;
    const bool is_name = number >= r->n;
    const uint64_t at = is_name ? number - r->n : number;

    if (is_name)
        for (name = r->text, number = 0; number < at; number++)
            name += strlen(name) + 1;
    else
        (void)snprintf(id, sizeof id, "%" PRIu64, r->ids[at]);
    if (at < r->n_from_file && is_name == r->file_has_names)
        prog_error("%s: %s %" PRIu64 ": the index has no item \"%.200s\"; nothing was removed", r->path, r->unit,
                   at + r->first_number, name);
    else
        prog_error("the index has no item \"%.200s\"; nothing was removed", name);
}

int prog_removal_run(prog_removal *r, thr_context *context, const char *dir, thr_index_change *change) {
    thr_error err = {.status = THR_OK};
    thr_index_removal removal = {0};
    uint64_t missing = UINT64_MAX;
    const char **names = calloc(r->n_names + 1, sizeof *names), *next = r->text;
    int rc = PROG_DONE;

    if (names == NULL)
        return prog_no_memory();
    for (size_t i = 0; i < r->n_names; i++, next += strlen(next) + 1)
        names[i] = next;
    removal.ids = r->ids;
    removal.n_ids = r->n;
    removal.names = names;
    removal.n_names = r->n_names;
    removal.strict = r->strict;
    removal.first_missing = &missing;
    if (thr_index_remove_items(context, dir, &removal, change, &err) != THR_OK) {
        if (err.status == THR_ENOTFOUND && missing < r->n + r->n_names)
            report_missing(r, missing);
        else
            (void)prog_failed(&err);
        rc = PROG_FAILED;
    }
    change->n_missing += r->n_missing;
    free(names);
    return rc;
}

void prog_removal_free(prog_removal *removal) {
    free(removal->ids);
    free(removal->text);
    removal->ids = NULL;
    removal->text = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "input/ids.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/filter.h"
#include "input/input.h"
#include "input/jsonl.h"
#include "cli/program.h"
#include "cli/messages.h"

enum {
    ROWS_AT_ONCE = 4096,
    LINE_BYTES = 256 << 20 /* some millions of ids with their scores */
};

/* Room for n_rows rows of n_columns values, doubling. */
static bool grow(void **values, uint64_t *room, uint64_t n_rows, uint64_t n_columns, size_t value_size) {
    uint64_t wanted = *room;
    void *larger;

    if (n_rows <= *room)
        return true;
    while (wanted < n_rows)
        wanted = wanted > 0 ? 2 * wanted : ROWS_AT_ONCE;
    if (n_columns == 0 || wanted > SIZE_MAX / value_size / n_columns)
        return false;
    larger = realloc(*values, (size_t)(wanted * n_columns) * value_size);
    if (larger == NULL)
        return false;
    *values = larger;
    *room = wanted;
    return true;
}

/* ------------------------------------------------------------------------------------------------ matrices of ids */

static int add_ids(prog_ids *ids, const thr_matrix *rows, const char *path) {
    uint64_t *out = ids->ids + ids->n_rows * ids->n_columns;

    for (uint64_t row = 0; row < rows->n_rows; row++) {
        for (uint32_t i = 0; i < rows->n_dims; i++) {
            if (!prog_id_at(rows, row, i, out++)) {
                prog_error("%s: row %" PRIu64 " holds a negative number, which is not an id", path, ids->n_rows + row);
                return PROG_FAILED;
            }
        }
    }
    ids->n_rows += rows->n_rows;
    return PROG_DONE;
}

static int read_matrix(prog_ids *ids, thr_context *context, const char *path) {
    thr_reader *reader = NULL;
    thr_reader_shape shape;
    uint64_t room = 0;
    int rc = prog_input_open(context, path, &reader);

    if (rc != PROG_DONE)
        return rc;
    shape = thr_reader_get_shape(reader);
    ids->n_columns = shape.n_dims;
    if (!prog_dtype_is_whole(shape.dtype)) {
        prog_error("%s holds %s; ids are whole numbers", path,
                   shape.dtype == THR_DTYPE_NONE ? "text" : thr_dtype_name(shape.dtype));
        rc = PROG_FAILED;
    }
    for (thr_matrix rows; prog_input_next_rows(reader, ROWS_AT_ONCE, &rows, &rc);)
        rc = grow((void **)&ids->ids, &room, ids->n_rows + rows.n_rows, ids->n_columns, sizeof *ids->ids)
                 ? add_ids(ids, &rows, path)
                 : prog_no_memory();
    thr_reader_free(reader);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ .jsonl */

/* Two passes: the first finds the number of columns, which is that of the longest row. */
static int read_lines(prog_ids *ids, thr_context *context, const char *path, bool counting) {
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    const char *line = NULL;
    size_t length = 0;
    uint64_t row = 0;
    int rc = PROG_DONE;

    if (thr_reader_open_lines(context, path, LINE_BYTES, &reader, &err) != THR_OK)
        return prog_failed(&err);
    for (; prog_input_next_line(reader, &line, &length, &rc); row++) {
        bool fits = counting || row < ids->n_rows; /* the file may have grown since it was counted */
        uint64_t *out = counting || !fits ? NULL : ids->ids + row * ids->n_columns;
        int64_t n = fits ? prog_jsonl_ids(line, length, out, counting ? 0 : ids->n_columns) : -1;

        if (n < 0) {
            prog_error("%s: line %" PRIu64 " is not a result of thresher index search", path, row + 1);
            rc = PROG_FAILED;
            break;
        }
        if (counting && (uint64_t)n > ids->n_columns)
            ids->n_columns = (uint64_t)n;
        for (uint64_t i = (uint64_t)n; !counting && i < ids->n_columns; i++)
            out[i] = THR_NO_ID;
    }
    thr_reader_free(reader);
    ids->n_rows = row;
    return rc;
}

static int read_jsonl(prog_ids *ids, thr_context *context, const char *path) {
    uint64_t room = 0;
    int rc = read_lines(ids, context, path, true);

    if (rc != PROG_DONE || ids->n_rows == 0 || ids->n_columns == 0)
        return rc;
    if (!grow((void **)&ids->ids, &room, ids->n_rows, ids->n_columns, sizeof *ids->ids))
        return prog_no_memory();
    return read_lines(ids, context, path, false);
}

int prog_ids_read(prog_ids *ids, thr_context *context, const char *path) {
    size_t length = strlen(path);

    *ids = (prog_ids){.ids = NULL};
    if (length > 6 && strcmp(path + length - 6, ".jsonl") == 0)
        return read_jsonl(ids, context, path);
    return read_matrix(ids, context, path);
}

void prog_ids_free(prog_ids *ids) {
    free(ids->ids);
    ids->ids = NULL;
}

/* ------------------------------------------------------------------------------------------------ scores */

static int add_scores(prog_scores *scores, const thr_matrix *rows, const char *path) {
    if (thr_matrix_to_f32(rows, 0, rows->n_rows, scores->scores + scores->n_rows * scores->n_columns) != THR_OK) {
        prog_error("%s holds %s, which are not scores", path, thr_dtype_name(rows->dtype));
        return PROG_FAILED;
    }
    scores->n_rows += rows->n_rows;
    return PROG_DONE;
}

int prog_scores_read(prog_scores *scores, thr_context *context, const char *path, bool missing_ok) {
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    uint64_t room = 0;
    int rc = PROG_DONE;

    *scores = (prog_scores){.scores = NULL};
    if (thr_reader_open(context, path, &reader, &err) != THR_OK) {
        if (missing_ok && (err.status == THR_ENOTFOUND || err.status == THR_EFORMAT))
            return PROG_DONE;
        return prog_failed(&err);
    }
    scores->n_columns = thr_reader_get_shape(reader).n_dims;
    if (thr_reader_get_shape(reader).dtype == THR_DTYPE_NONE) {
        prog_error("%s holds text; expected rows of numbers", path);
        rc = PROG_FAILED;
    }
    for (thr_matrix rows; prog_input_next_rows(reader, ROWS_AT_ONCE, &rows, &rc);)
        rc = grow((void **)&scores->scores, &room, scores->n_rows + rows.n_rows, scores->n_columns,
                  sizeof *scores->scores)
                 ? add_scores(scores, &rows, path)
                 : prog_no_memory();
    thr_reader_free(reader);
    return rc;
}

void prog_scores_free(prog_scores *scores) {
    free(scores->scores);
    scores->scores = NULL;
}

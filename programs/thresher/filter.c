/* SPDX-License-Identifier: Apache-2.0 */
#include "filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "talk.h"

enum { ROWS_AT_ONCE = 4096 };

/* ------------------------------------------------------------------------------------------------ numbers */

bool prog_dtype_is_whole(thr_dtype dtype) {
    switch (dtype) {
    case THR_DTYPE_I8:
    case THR_DTYPE_U8:
    case THR_DTYPE_I32:
    case THR_DTYPE_U32:
    case THR_DTYPE_I64:
    case THR_DTYPE_U64:
        return true;
    case THR_DTYPE_NONE:
    case THR_DTYPE_F16:
    case THR_DTYPE_F32:
    case THR_DTYPE_F64:
        break;
    }
    return false;
}

static bool from_signed(int64_t value, uint64_t *id) {
    *id = value == -1 ? THR_NO_ID : (uint64_t)value;
    return value >= -1;
}

bool prog_id_at(const thr_matrix *rows, uint64_t row, uint32_t i, uint64_t *id) {
    const char *value = (const char *)rows->data + row * rows->stride + i * thr_dtype_size(rows->dtype);
    int8_t i8;
    uint8_t u8;
    int32_t i32;
    uint32_t u32;
    int64_t i64;

    switch (rows->dtype) {
    case THR_DTYPE_I8:
        memcpy(&i8, value, sizeof i8);
        return from_signed(i8, id);
    case THR_DTYPE_U8:
        memcpy(&u8, value, sizeof u8);
        *id = u8;
        return true;
    case THR_DTYPE_I32:
        memcpy(&i32, value, sizeof i32);
        return from_signed(i32, id);
    case THR_DTYPE_U32:
        memcpy(&u32, value, sizeof u32);
        *id = u32;
        return true;
    case THR_DTYPE_I64:
        memcpy(&i64, value, sizeof i64);
        return from_signed(i64, id);
    case THR_DTYPE_U64:
        memcpy(id, value, sizeof *id);
        return true;
    case THR_DTYPE_NONE:
    case THR_DTYPE_F16:
    case THR_DTYPE_F32:
    case THR_DTYPE_F64:
        break;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------ bits */

static bool is_allowed(const prog_filter *filter, uint64_t row) {
    return (filter->words[row / 64] >> (row % 64) & 1) != 0;
}

static void allow(prog_filter *filter, uint64_t row) {
    if (is_allowed(filter, row))
        return;
    filter->words[row / 64] |= UINT64_C(1) << (row % 64);
    filter->n_allowed++;
}

static int allow_id(prog_filter *filter, const char *path, uint64_t id) {
    uint64_t row;

    if (!thr_index_row(filter->index, id, &row)) {
        prog_error("%s: the index has no item with the id %" PRIu64, path, id);
        return PROG_FAILED;
    }
    allow(filter, row);
    return PROG_DONE;
}

/* ------------------------------------------------------------------------------------------------ numeric files */

/* value number `at` of a mask or of a list of ids */
static int take(prog_filter *filter, const char *path, bool is_mask, uint64_t at, uint64_t value) {
    if (!is_mask)
        return allow_id(filter, path, value);
    if (value > 1) {
        prog_error("%s: value %" PRIu64 " is %" PRIu64 "; a mask holds 0 and 1 only", path, at, value);
        return PROG_FAILED;
    }
    if (value == 1)
        allow(filter, at);
    return PROG_DONE;
}

static int read_numbers(prog_filter *filter, thr_reader *reader, const char *path, bool is_mask) {
    thr_error err = {.status = THR_OK};
    uint64_t at = 0;

    for (;;) {
        thr_matrix rows;

        if (thr_reader_next(reader, ROWS_AT_ONCE, &rows, &err) != THR_OK)
            return prog_failed(&err);
        if (rows.n_rows == 0)
            return PROG_DONE;
        for (uint64_t row = 0; row < rows.n_rows; row++) {
            for (uint32_t i = 0; i < rows.n_dims; i++, at++) {
                uint64_t value;

                if (!prog_id_at(&rows, row, i, &value) || value == THR_NO_ID) {
                    prog_error("%s: value %" PRIu64 " is negative and no id", path, at);
                    return PROG_FAILED;
                }
                if (take(filter, path, is_mask, at, value) != PROG_DONE)
                    return PROG_FAILED;
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------------ text */

typedef struct line {
    char *text;
    uint64_t number;
    bool used;
} line;

typedef struct lines {
    line *items;
    size_t n;
    size_t room;
} lines;

static int compare_lines(const void *a, const void *b) {
    return strcmp(((const line *)a)->text, ((const line *)b)->text);
}

static void lines_free(lines *all) {
    for (size_t i = 0; i < all->n; i++)
        free(all->items[i].text);
    free(all->items);
}

static int lines_add(lines *all, const char *text, size_t length, uint64_t number) {
    if (all->n == all->room) {
        size_t room = all->room > 0 ? 2 * all->room : 256;
        line *items = room <= SIZE_MAX / sizeof *items ? realloc(all->items, room * sizeof *items) : NULL;

        if (items == NULL)
            return prog_no_memory();
        all->items = items;
        all->room = room;
    }
    all->items[all->n] = (line){.text = malloc(length + 1), .number = number};
    if (all->items[all->n].text == NULL)
        return prog_no_memory();
    memcpy(all->items[all->n].text, text, length + 1);
    all->n++;
    return PROG_DONE;
}

/* Empty lines are passed over. */
static int lines_read(lines *all, thr_reader *reader) {
    thr_error err = {.status = THR_OK};

    for (uint64_t number = 1;; number++) {
        const char *text = NULL;
        size_t length = 0;

        if (thr_reader_next_line(reader, &text, &length, &err) != THR_OK)
            return prog_failed(&err);
        if (text == NULL)
            return PROG_DONE;
        if (length > 0 && lines_add(all, text, length, number) != PROG_DONE)
            return PROG_FAILED;
    }
}

/*
 * Lines that are names. The wanted names are sorted and the index is gone through once, so that a long list costs no
 * pass over the names a line.
 */
static void allow_names(prog_filter *filter, lines *all, const thr_index *index) {
    if (all->n == 0)
        return;
    qsort(all->items, all->n, sizeof *all->items, compare_lines);
    for (uint64_t row = 0; row < filter->n_bits; row++) {
        line wanted = {.text = (char *)(uintptr_t)thr_index_name(index, row)};
        line *found =
            wanted.text != NULL ? bsearch(&wanted, all->items, all->n, sizeof *all->items, compare_lines) : NULL;

        if (found == NULL)
            continue;
        allow(filter, row);
        /* A line may be there twice, and bsearch finds any of its copies. */
        for (line *l = found; l >= all->items && strcmp(l->text, wanted.text) == 0; l--)
            l->used = true;
        for (line *l = found; l < all->items + all->n && strcmp(l->text, wanted.text) == 0; l++)
            l->used = true;
    }
}

static int read_text(prog_filter *filter, thr_reader *reader, const char *path, const thr_index *index) {
    bool has_names = thr_index_get_info(index).has_names;
    lines all = {.items = NULL};
    int rc = lines_read(&all, reader);

    if (rc == PROG_DONE && has_names)
        allow_names(filter, &all, index);
    for (size_t i = 0; i < all.n && rc == PROG_DONE; i++) {
        const line *l = &all.items[i];
        uint64_t id, row;

        if (l->used)
            continue;
        if (!prog_read_count(l->text, &id) || !thr_index_row(filter->index, id, &row)) {
            prog_error("%s: line %" PRIu64 ": the index has no item \"%.100s\"", path, l->number, l->text);
            rc = PROG_FAILED;
        } else {
            allow(filter, row);
        }
    }
    lines_free(&all);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ filter */

static int read_any(prog_filter *filter, thr_reader *reader, const char *path, const thr_index *index) {
    thr_reader_shape shape = thr_reader_get_shape(reader);
    thr_index_info info = thr_index_get_info(index);
    bool is_mask = shape.dtype == THR_DTYPE_U8 && shape.n_rows != THR_ROWS_UNKNOWN &&
                   (shape.n_dims == 1 || shape.n_rows == 1) && shape.n_rows * shape.n_dims == info.n_items;

    if (shape.dtype == THR_DTYPE_U8 && !is_mask) {
        prog_error("%s: a mask for this index is one row of %" PRIu64 " values, one an item", path, info.n_items);
        return PROG_FAILED;
    }
    if (shape.dtype == THR_DTYPE_NONE)
        return read_text(filter, reader, path, index);
    if (!prog_dtype_is_whole(shape.dtype)) {
        prog_error("%s holds %s; a filter is a mask (u8) or a list of whole numbers", path,
                   thr_dtype_name(shape.dtype));
        return PROG_FAILED;
    }
    return read_numbers(filter, reader, path, is_mask);
}

int prog_filter_read(prog_filter *filter, thr_context *context, const char *path, const thr_index *index) {
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    int rc;

    *filter = (prog_filter){.index = index, .n_bits = thr_index_get_info(index).n_items};
    filter->words = calloc((size_t)(filter->n_bits / 64 + 1), sizeof *filter->words);
    if (filter->words == NULL)
        return prog_no_memory();
    if (thr_reader_open(context, path, &reader, &err) != THR_OK)
        return prog_failed(&err);
    rc = read_any(filter, reader, path, index);
    thr_reader_free(reader);
    return rc;
}

void prog_filter_free(prog_filter *filter) {
    free(filter->words);
    filter->words = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "input/filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/input.h"
#include "cli/program.h"
#include "cli/messages.h"

enum { ROWS_AT_ONCE = 4096 };

/* ------------------------------------------------------------------------------------------------ numbers */

static bool is_signed(thr_dtype dtype) {
    return dtype == THR_DTYPE_I8 || dtype == THR_DTYPE_I32 || dtype == THR_DTYPE_I64;
}

bool prog_dtype_is_whole(thr_dtype dtype) {
    return is_signed(dtype) || dtype == THR_DTYPE_U8 || dtype == THR_DTYPE_U32 || dtype == THR_DTYPE_U64;
}

bool prog_id_at(const thr_matrix *rows, uint64_t row, uint32_t i, uint64_t *id) {
    const size_t size = thr_dtype_size(rows->dtype), unused = 64 - 8 * size;
    uint64_t value = 0;

    if (!prog_dtype_is_whole(rows->dtype))
        return false;
    memcpy(&value, (const char *)rows->data + row * rows->stride + i * size, size); /* little-endian */
    *id = is_signed(rows->dtype) ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
    return !is_signed(rows->dtype) || (int64_t)*id >= -1; /* -1 is THR_NO_ID */
}

static int allow_id(prog_filter *filter, const char *path, uint64_t id) {
    uint64_t row;

    if (prog_items_find_id(filter->items, id, &row) != NULL) {
        prog_filter_allow(filter, row);
    } else if (filter->skip_missing) {
        filter->n_missing++;
    } else {
        prog_error("%s: the %s has no item with the id %" PRIu64 "%s", path, filter->items->what, id,
                   prog_filter_hint(filter));
        return PROG_FAILED;
    }
    return PROG_DONE;
}

/* ------------------------------------------------------------------------------------------------ numeric files */

/* set the row of value number `at` of a mask or of a list of ids */
static int take(prog_filter *filter, const char *path, bool is_mask, uint64_t at, uint64_t value) {
    if (!is_mask)
        return allow_id(filter, path, value);
    if (value > 1) {
        prog_error("%s: value %" PRIu64 " is %" PRIu64 "; a mask holds 0 and 1 only", path, at, value);
        return PROG_FAILED;
    }
    if (value == 1)
        prog_filter_allow(filter, at);
    return PROG_DONE;
}

/* As many ids as items, all 0 or 1 and one of them repeated, are a mask of another type. */
static int check_ids(const prog_filter *filter, const char *path, uint64_t n, const uint64_t *n_of) {
    if (n != filter->n_bits || n_of[0] + n_of[1] != n || (n_of[0] < 2 && n_of[1] < 2))
        return PROG_DONE;
    prog_error("%s: holds only zeros and ones, as a mask would: save it as u1, mask.astype('u1')", path);
    return PROG_FAILED;
}

static int read_numbers(prog_filter *filter, thr_reader *reader, const char *path, bool is_mask) {
    uint64_t at = 0, n_of[2] = {0};

    for (;;) {
        thr_matrix rows;
        const int rc = prog_input_rows(reader, ROWS_AT_ONCE, &rows);

        if (rc != PROG_DONE)
            return rc;
        if (rows.n_rows == 0)
            return is_mask ? PROG_DONE : check_ids(filter, path, at, n_of);
        for (uint64_t row = 0; row < rows.n_rows; row++) {
            for (uint32_t i = 0; i < rows.n_dims; i++, at++) {
                uint64_t value;

                if (!prog_id_at(&rows, row, i, &value) || value == THR_NO_ID) {
                    prog_error("%s: value %" PRIu64 " is negative, so it is not an id", path, at);
                    return PROG_FAILED;
                }
                if (take(filter, path, is_mask, at, value) != PROG_DONE)
                    return PROG_FAILED;
                if (value <= 1)
                    n_of[value]++;
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------------ filter */

static int wrong_mask(const char *path, thr_reader_shape shape, const prog_items *items) {
    if (shape.n_rows == THR_ROWS_UNKNOWN)
        prog_error("%s: its number of values is unknown; write the mask as .npy", path);
    else
        prog_error("%s holds %" PRIu64 " x %" PRIu32 " values; a mask for this %s is one row of %" PRIu64
                   " values, one an item",
                   path, shape.n_rows, shape.n_dims, items->what, items->n_rows);
    return PROG_FAILED;
}

static int read_any(prog_filter *filter, thr_reader *reader, const char *path) {
    thr_reader_shape shape = thr_reader_get_shape(reader);
    bool is_mask = shape.dtype == THR_DTYPE_U8 && shape.n_rows != THR_ROWS_UNKNOWN &&
                   (shape.n_dims == 1 || shape.n_rows == 1) && shape.n_rows * shape.n_dims == filter->n_bits;

    if (shape.n_rows == 0) /* nothing may be found */
        return PROG_DONE;
    if (shape.dtype == THR_DTYPE_U8 && prog_items_disorder(filter->items) != NULL) {
        prog_error("%s: a mask has one value per item in the order of the build, and this %s was changed or has cells: "
                   "give ids or names",
                   path, filter->items->what);
        return PROG_FAILED;
    }
    if (shape.dtype == THR_DTYPE_U8 && !is_mask)
        return wrong_mask(path, shape, filter->items);
    if (shape.dtype == THR_DTYPE_NONE)
        return prog_filter_read_text(filter, reader, path);
    if (!prog_dtype_is_whole(shape.dtype)) {
        prog_error("%s holds %s; a filter is a mask (u8) or a list of whole numbers", path,
                   thr_dtype_name(shape.dtype));
        return PROG_FAILED;
    }
    return read_numbers(filter, reader, path, is_mask);
}

static int read_rows(prog_filter *filter, thr_context *context, const char *path) {
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    int rc;

    switch (thr_reader_open(context, path, &reader, &err)) {
    case THR_OK:
        rc = read_any(filter, reader, path);
        break;
    case THR_EINVAL: /* the usual cause is an unknown ending */
        prog_error("%s; a filter may also be a Roaring bitmap that ends in .roaring", err.text);
        rc = PROG_FAILED;
        break;
    default:
        rc = prog_failed(&err);
    }
    thr_reader_free(reader);
    return rc;
}

int prog_filter_read(prog_filter *filter, thr_context *context, const char *path, const prog_items *items) {
    int rc;

    *filter = (prog_filter){
        .items = items, .n_bits = items->n_rows, .skip_missing = filter->skip_missing, .hint = filter->hint};
    filter->words = calloc((size_t)(filter->n_bits / 64 + 1), sizeof *filter->words);
    if (filter->words == NULL)
        return prog_no_memory();
    rc = prog_is_roaring(path) ? prog_filter_read_roaring(filter, path) : read_rows(filter, context, path);
    filter->n_allowed = thr_bitmap_count(filter->words, filter->n_bits);
    return rc;
}

void prog_filter_free(prog_filter *filter) {
    free(filter->words);
    filter->words = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* table_rows.c - read a file as rows of fields. */
#include "io/table.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "io/endings.h"
#include "io/fields.h"

struct thr_table {
    thr_context *context;
    char *name;
    thr_stream stream;
    thr_fields fields;
    uint64_t n_refused, first_refused; /* first_refused: number of the first skipped row */
    thr_row_kind refused_as;
    thr_status broken; /* a failure after which no more rows are returned */
};

/* image NULL: open a file. */
static thr_status start(thr_table *table, const thr_source *source, const thr_image *image, thr_error *err) {
    const bool limited = image != NULL && image->buffer_bytes != 0;
    if (image != NULL)
        THR_TRY(thr_io_stream_open_memory(table->context, image, table->name, source->packing, &table->stream, err));
    else
        THR_TRY(thr_io_stream_open(table->context, source->path, table->name, source->packing, &table->stream, err));
    return thr_io_fields_start(table->context, &table->stream, strcmp(source->ending, ".csv") == 0,
                               limited ? image->buffer_bytes : SIZE_MAX, &table->fields, err);
}

static thr_status check_name(const char *name, const thr_source *source, const thr_ending *ending, thr_error *err) {
    if (ending->open != thr_io_column_open)
        return thr_fail(err, THR_EINVAL, "%s: is %s, not a table: give a .tsv or .csv file", name, ending->text);
    if (source->part != NULL)
        return thr_fail(err, THR_EINVAL, "%s: names a column, where all of a table are read: leave ':%s' off", name,
                        source->part);
    return THR_OK;
}

static thr_status open_any(thr_context *context, const char *name, const thr_image *image, thr_table **table,
                           thr_error *err) {
    *table = NULL;
    thr_table *made = NULL;
    thr_source source; /* points into path */
    char *path = NULL;
    const thr_ending *ending = NULL;
    thr_status status = THR_OK;
    THR_TRY(thr_check_path(name, "the table to read", err));
    const size_t size = strlen(name) + 1;
    THR_TRY_OUT(thr_alloc_zero(context, 1, sizeof *made, &made, "a table", err));
    made->context = context;
    made->stream.fd = -1;
    THR_TRY_OUT(thr_alloc(context, size, 1, &made->name, "a file name", err));
    memcpy(made->name, name, size);
    THR_TRY_OUT(thr_alloc(context, size, 1, &path, "a file name", err));
    if (image == NULL)
        THR_TRY_OUT(thr_io_ending_check_file(name, err));
    if (!thr_io_ending_is_known(name))
        THR_TRY_OUT(thr_io_ending_refuse(name, THR_ENDINGS_TABLES, "", err));
    THR_TRY_OUT(thr_io_ending_find(made->name, path, &source, &ending, err));
    THR_TRY_OUT(check_name(made->name, &source, ending, err));
    THR_TRY_OUT(start(made, &source, image, err));
    *table = made;
    made = NULL;
out:
    thr_release(context, path);
    thr_io_table_free(made);
    return status;
}

thr_status thr_io_table_open(thr_context *context, const char *path, thr_table **table, thr_error *err) {
    return open_any(context, path, NULL, table, err);
}

thr_status thr_io_table_open_memory(thr_context *context, const char *name, const thr_image *image, thr_table **table,
                                    thr_error *err) {
    return open_any(context, name, image, table, err);
}

thr_status thr_io_table_next(thr_table *table, const thr_field **fields, size_t *n_fields, thr_error *err) {
    thr_row_kind kind = THR_ROW_NONE;
    *fields = NULL;
    *n_fields = 0;
    if (table->broken != THR_OK)
        return thr_fail(err, table->broken, "%s: nothing more is read after an error: open it again", table->name);
    do {
        table->broken = thr_io_fields_next(&table->fields, &kind, err);
        if (table->broken != THR_OK)
            return table->broken;
        if ((kind == THR_ROW_LONG || kind == THR_ROW_NUL) && table->n_refused++ == 0) {
            table->first_refused = table->fields.row;
            table->refused_as = kind;
        }
    } while (kind == THR_ROW_LONG || kind == THR_ROW_NUL);
    if (kind == THR_ROW_GIVEN) {
        *fields = table->fields.fields;
        *n_fields = table->fields.n_fields;
    }
    return THR_OK;
}

thr_status thr_io_table_next_whole(thr_table *table, thr_progress *progress, const thr_field **fields, size_t *n_fields,
                                   thr_error *err) {
    enum { PROGRESS_ROWS = 1024 };
    THR_TRY(thr_io_table_next(table, fields, n_fields, err));
    const uint64_t row = table->fields.row;
    if (table->n_refused != 0 && table->refused_as == THR_ROW_NUL)
        return thr_fail(err, THR_EFORMAT,
                        "%s: line %" PRIu64 " holds a NUL byte: convert the text to UTF-8 (UTF-16 has such bytes)",
                        table->name, table->first_refused);
    if (table->n_refused != 0)
        return thr_fail(err, THR_EFORMAT,
                        "%s: line %" PRIu64 " is longer than %d bytes: shorten it, or look for a quote that is not "
                        "closed",
                        table->name, table->first_refused, THR_TABLE_ROW_MAX);
    if (*n_fields == 0)
        return thr_progress_end(progress, row, err);
    return row % PROGRESS_ROWS == 0 ? thr_progress_step(progress, row, err) : THR_OK;
}

uint64_t thr_io_table_n_refused(const thr_table *table) {
    return table->n_refused;
}

uint64_t thr_io_table_row(const thr_table *table) {
    return table->fields.row;
}

const char *thr_io_table_name(const thr_table *table) {
    return table->name;
}

void thr_io_table_free(thr_table *table) {
    if (table == NULL)
        return;
    thr_io_fields_stop(&table->fields);
    thr_io_stream_close(&table->stream);
    THR_RELEASE(table->context, table->name, table);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* read_pairs.c - parsing rows of pairs: columns and labels. */
#include "text_tower/read_pairs.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/text/number.h"

/* With more bad rows the file probably has another format. */
enum { REFUSED_ONE_IN = 20, PROGRESS_ROWS = 1024 };

thr_status thr_text_pair_rows_open(thr_context *context, const char *path, const thr_pairs_format *format,
                                   thr_pair_rows *rows, thr_error *err) {
    *rows = (thr_pair_rows){.context = context, .format = *format, .at_header = format->header};
    if (format->query_column < 1 || format->item_column < 1)
        return thr_fail(err, THR_EINVAL, "%s: columns are counted from 1", path);
    rows->progress = thr_progress_start(context, "reading pairs", 0);
    return thr_io_table_open(context, path, &rows->table, err);
}

/* Parse a label. Returns false if it is not a number. */
static bool read_label(const thr_field *field, float *label) {
    char *end = NULL;
    *label = thr_text_float(field->text, &end);
    return end != field->text && *end == '\0' && !isnan(*label);
}

static bool take(const thr_pairs_format *format, const thr_field *fields, size_t n_fields, thr_pair_row *row) {
    float label = 0;
    if (n_fields < format->query_column || n_fields < format->item_column || n_fields < format->label_column)
        return false;
    if (format->label_column != 0 && !read_label(&fields[format->label_column - 1], &label))
        return false;
    *row = (thr_pair_row){.query = fields[format->query_column - 1],
                          .item = fields[format->item_column - 1],
                          .good = format->label_column == 0 || label >= format->least_label};
    return true;
}

static thr_status check_file(thr_pair_rows *rows, thr_error *err) {
    const thr_pairs_format *format = &rows->format;
    const uint64_t n_refused = rows->n_refused + thr_io_table_n_refused(rows->table);
    if (n_refused * REFUSED_ONE_IN <= rows->n_rows + thr_io_table_n_refused(rows->table))
        return THR_OK;
    return thr_fail(err, THR_EFORMAT,
                    "%s: %" PRIu64 " of %" PRIu64
                    " rows lack words in column %u or column %u, or a number in the column of labels: are these the "
                    "right columns?",
                    thr_io_table_name(rows->table), n_refused, rows->n_rows + thr_io_table_n_refused(rows->table),
                    format->query_column, format->item_column);
}

thr_status thr_text_pair_rows_next(thr_pair_rows *rows, thr_pair_row *row, bool *got, thr_error *err) {
    *got = false;
    for (;;) {
        const thr_field *fields = NULL;
        size_t n_fields = 0;
        THR_TRY(thr_io_table_next(rows->table, &fields, &n_fields, err));
        if (n_fields == 0)
            break;
        if (rows->at_header) {
            rows->at_header = false;
            continue;
        }
        if (++rows->n_rows % PROGRESS_ROWS == 0)
            THR_TRY(thr_progress_step(&rows->progress, rows->n_rows, err));
        *got = take(&rows->format, fields, n_fields, row);
        if (*got)
            return THR_OK;
        rows->n_refused++;
    }
    THR_TRY(thr_progress_end(&rows->progress, rows->n_rows, err));
    return check_file(rows, err);
}

void thr_text_pair_rows_close(thr_pair_rows *rows) {
    if (rows->table != NULL)
        rows->n_refused += thr_io_table_n_refused(rows->table);
    thr_io_table_free(rows->table);
    rows->table = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "io/reader.h"

#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "io/endings.h"

enum {
    BUFFER_BYTES = 4 << 20, /* large enough that system calls cost nothing compared with the copy */
    LINE_BYTES = 1 << 20
};

thr_status thr_io_reader_make(thr_context *context, const char *name, thr_reader **reader, thr_error *err) {
    *reader = NULL;
    thr_reader *made = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *made, &made, "a reader", err));
    made->context = thr_context_retain(context);
    made->stream.fd = -1;
    made->buffer_bytes = BUFFER_BYTES;
    made->longest_line = LINE_BYTES;
    const thr_status status = thr_path_append(context, name, "", &made->name, err);
    THR_RETURN_MADE(status, made, reader, thr_reader_free);
}

/* Open image, or if it is NULL a file or standard input. */
static thr_status open_any(thr_context *context, const char *name, const thr_image *image, thr_reader **reader,
                           thr_error *err) {
    *reader = NULL;
    thr_reader *made = NULL;
    char *path = NULL;
    thr_source source;
    const thr_ending *ending = NULL;
    thr_status status = THR_OK;
    THR_TRY(thr_check_path(name, "the file to read", err));
    THR_TRY_OUT(thr_alloc(context, strlen(name) + 1, 1, &path, "a file name", err));
    if (image == NULL)
        THR_TRY_OUT(thr_io_ending_check_file(name, err));
    THR_TRY_OUT(thr_io_ending_find(name, path, &source, &ending, err));
    THR_TRY_OUT(thr_io_reader_make(context, name, &made, err));
    if (ending->by_name && (source.path == NULL || source.packing != THR_PACKING_NONE || image != NULL)) {
        status = thr_fail(err, THR_EUNSUPPORTED,
                          "%s: %s is read from plain files only: write it to a file that is not compressed", name,
                          source.ending);
        goto out;
    }
    if (image != NULL && image->buffer_bytes != 0)
        made->buffer_bytes = image->buffer_bytes;
    if (image != NULL)
        THR_TRY_OUT(thr_io_stream_open_memory(context, image, made->name, source.packing, &made->stream, err));
    else if (!ending->by_name)
        THR_TRY_OUT(thr_io_stream_open(context, source.path, made->name, source.packing, &made->stream, err));
    THR_TRY_OUT(ending->open(made, &source, err));
    *reader = made;
    made = NULL;
out:
    thr_reader_free(made);
    thr_release(context, path);
    return status;
}

thr_status thr_reader_open(thr_context *context, const char *path, thr_reader **reader, thr_error *err) {
    return open_any(context, path, NULL, reader, err);
}

thr_status thr_io_reader_open_memory(thr_context *context, const char *name, const thr_image *image,
                                     thr_reader **reader, thr_error *err) {
    return open_any(context, name, image, reader, err);
}

/* Open a file without a known ending as lines, or standard input if path is NULL. */
static thr_status open_plain_lines(thr_context *context, const char *path, thr_reader **reader, thr_error *err) {
    const char *name = path != NULL ? path : "standard input";
    size_t length = strlen(name);
    thr_reader *made = NULL;
    THR_TRY(thr_io_reader_make(context, name, &made, err));
    const thr_packing packing = path != NULL ? thr_io_packing_cut(path, &length) : THR_PACKING_NONE;
    thr_status status = thr_io_stream_open(context, path, made->name, packing, &made->stream, err);
    if (status == THR_OK)
        status = thr_io_text_open(made, NULL, err);
    THR_RETURN_MADE(status, made, reader, thr_reader_free);
}

thr_status thr_reader_open_lines(thr_context *context, const char *path, size_t longest, thr_reader **reader,
                                 thr_error *err) {
    *reader = NULL;
    if (path == NULL || strcmp(path, "-") == 0)
        THR_TRY(open_plain_lines(context, NULL, reader, err));
    else if (path[0] != '\0' && !thr_io_ending_is_known(path))
        THR_TRY(open_plain_lines(context, path, reader, err));
    else
        THR_TRY(thr_reader_open(context, path, reader, err));
    thr_reader *opened = *reader;
    if (opened == NULL || opened->ops->next_line == NULL) {
        thr_reader_free(opened);
        *reader = NULL;
        return thr_fail(err, THR_EINVAL, "%s: holds rows of numbers, not lines: give a text with one per line", path);
    }
    if (longest != 0)
        opened->longest_line = longest;
    return THR_OK;
}

thr_reader_shape thr_reader_get_shape(const thr_reader *reader) {
    return reader->shape;
}

const char *thr_io_reader_name(const thr_reader *reader) {
    return reader->name;
}

static thr_status fail_broken(const thr_reader *reader, thr_error *err) {
    return thr_fail(err, reader->broken, "%s: nothing more is read after an error: open it again", reader->name);
}

thr_status thr_reader_next(thr_reader *reader, uint64_t max_rows, thr_matrix *rows, thr_error *err) {
    *rows = (thr_matrix){.n_dims = reader->shape.n_dims, .dtype = reader->shape.dtype};
    if (reader->ops->next == NULL)
        return thr_fail(err, THR_EINVAL, "%s: is a text of lines, not rows of numbers: give a file of vectors",
                        reader->name);
    if (max_rows == 0)
        return thr_fail(err, THR_EINVAL, "%s: 0 rows requested: request at least 1", reader->name);
    if (reader->broken != THR_OK)
        return fail_broken(reader, err);
    reader->broken = reader->ops->next(reader, max_rows, rows, err);
    if (reader->broken != THR_OK)
        *rows = (thr_matrix){.n_dims = reader->shape.n_dims, .dtype = reader->shape.dtype};
    return reader->broken;
}

thr_status thr_reader_next_line(thr_reader *reader, const char **line, size_t *length, thr_error *err) {
    *line = NULL;
    *length = 0;
    if (reader->ops->next_line == NULL)
        return thr_fail(err, THR_EINVAL, "%s: holds rows of numbers, not lines: give a .txt, .tsv or .csv file",
                        reader->name);
    if (reader->broken != THR_OK)
        return fail_broken(reader, err);
    reader->broken = reader->ops->next_line(reader, line, length, err);
    return reader->broken;
}

thr_status thr_io_reader_seek(thr_reader *reader, uint64_t row, thr_error *err) {
    if (!reader->shape.seekable)
        return thr_fail(
            err, THR_EUNSUPPORTED,
            "%s: rows can only be read in order: use a plain file of vectors, not a pipe, compressed or text",
            reader->name);
    if (row > reader->shape.n_rows)
        return thr_fail(err, THR_EINVAL, "%s: row %llu is past the end: there are %llu rows", reader->name,
                        (unsigned long long)row, (unsigned long long)reader->shape.n_rows);
    reader->next_row = row;
    if (reader->ops->seek != NULL)
        reader->ops->seek(reader, row);
    reader->broken = THR_OK;
    return THR_OK;
}

void thr_reader_free(thr_reader *reader) {
    if (reader == NULL)
        return;
    if (reader->ops != NULL && reader->ops->close != NULL)
        reader->ops->close(reader);
    thr_io_stream_close(&reader->stream);
    thr_context *context = reader->context;
    THR_RELEASE(context, reader->name, reader);
    thr_context_free(context);
}

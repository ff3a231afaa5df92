/* SPDX-License-Identifier: Apache-2.0 */
/* text_reader.c - a reader of text lines, or of vectors, that returns their embeddings as rows. */
#include <thresher/dual.h>
#include <thresher/tower.h>

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "io/reader.h"

/* A batch of lines ends at this many lines or bytes. */
enum { ROWS_AT_ONCE = 4096, TEXT_BYTES = 4 << 20 };

/* Encodes n lines. */
typedef thr_status encoder(const void *model, thr_side side, const char *const *lines, const size_t *lengths, size_t n,
                           float *rows, thr_error *err);

typedef struct text_rows {
    const void *model;
    encoder *encode;
    thr_side side;
    thr_reader *texts;
    char *text; /* the lines, each with a NUL after it */
    size_t text_capacity;
    const char **lines;
    size_t *lengths;
    float *rows;
    uint64_t n_rows; /* vectors read */
} text_rows;

/* Read the next lines, n at most. Pointers are set when all lines are in text, which may move while it grows. */
static thr_status gather(thr_reader *reader, size_t n, size_t *n_lines, thr_error *err) {
    text_rows *s = reader->state;
    size_t used = 0, i = 0;
    for (; i < n && used < TEXT_BYTES; i++) {
        const char *line = NULL;
        size_t length = 0;
        THR_TRY(thr_reader_next_line(s->texts, &line, &length, err));
        if (line == NULL)
            break;
        THR_TRY(thr_grow(reader->context, &s->text, &s->text_capacity, used + length + 1, 1, "texts", err));
        memcpy(s->text + used, line, length + 1);
        s->lengths[i] = length;
        used += length + 1;
    }
    *n_lines = i;
    const char *next = s->text;
    for (size_t l = 0; l < i; l++) {
        s->lines[l] = next;
        next += s->lengths[l] + 1;
    }
    return THR_OK;
}

static thr_status next_rows(thr_reader *reader, uint64_t max_rows, thr_matrix *rows, thr_error *err) {
    text_rows *s = reader->state;
    size_t n = 0;
    THR_TRY(gather(reader, max_rows < ROWS_AT_ONCE ? (size_t)max_rows : ROWS_AT_ONCE, &n, err));
    THR_TRY(s->encode(s->model, s->side, s->lines, s->lengths, n, s->rows, err));
    *rows = thr_matrix_f32(s->rows, n, reader->shape.n_dims);
    return THR_OK;
}

static void close_rows(thr_reader *reader) {
    text_rows *s = reader->state;
    if (s == NULL)
        return;
    THR_RELEASE(reader->context, s->text, s->lines, s->lengths, s->rows, s);
}

static const thr_reader_ops ops = {.next = next_rows, .close = close_rows};

/* Encode the next rows of a reader of vectors. */
static thr_status next_vectors(thr_reader *reader, uint64_t max_rows, thr_matrix *rows, thr_error *err) {
    text_rows *s = reader->state;
    thr_matrix given;
    thr_error why = {.status = THR_OK};
    THR_TRY(thr_reader_next(s->texts, THR_MIN(max_rows, ROWS_AT_ONCE), &given, err));
    if (thr_tower_encode_vectors(s->model, s->side, &given, s->rows, &why) != THR_OK)
        return thr_fail(err, why.status, "%s, from row %" PRIu64 " on: %s", thr_io_reader_name(s->texts), s->n_rows,
                        why.text);
    s->n_rows += given.n_rows;
    *rows = thr_matrix_f32(s->rows, given.n_rows, reader->shape.n_dims);
    return THR_OK;
}

static void seek_vectors(thr_reader *reader, uint64_t row) {
    text_rows *s = reader->state;
    s->n_rows = row;
    (void)thr_io_reader_seek(s->texts, row, NULL); /* seekable, and the row exists */
}

static const thr_reader_ops vector_ops = {.next = next_vectors, .seek = seek_vectors, .close = close_rows};

/* A reader with memory for rows; the caller completes it. */
static thr_status make_reader(const void *model, thr_side side, thr_reader *texts, uint32_t n_dims,
                              thr_reader **reader_out, thr_error *err) {
    thr_context *context = texts->context;
    thr_reader *reader = NULL;
    *reader_out = NULL;
    THR_TRY(thr_io_reader_make(context, thr_io_reader_name(texts), &reader, err));
    thr_status status = THR_OK;
    text_rows *s = NULL;
    THR_TRY_OUT(thr_alloc_zero(context, 1, sizeof *s, &s, "a reader", err));
    reader->state = s;
    reader->ops = &ops;
    reader->shape = (thr_reader_shape){.n_rows = THR_ROWS_UNKNOWN, .n_dims = n_dims, .dtype = THR_DTYPE_F32};
    s->model = model;
    s->side = side;
    s->texts = texts;
    THR_TRY_OUT(thr_alloc(context, ROWS_AT_ONCE, n_dims * sizeof *s->rows, &s->rows, "texts' vectors", err));
    *reader_out = reader;
out:
    if (status != THR_OK)
        thr_reader_free(reader);
    return status;
}

static thr_status open_rows(const void *model, encoder *encode, uint32_t n_dims, thr_side side, thr_reader *texts,
                            thr_reader **reader_out, thr_error *err) {
    thr_context *context = texts->context;
    thr_reader *reader = NULL;
    *reader_out = NULL;
    if (thr_reader_get_shape(texts).dtype != THR_DTYPE_NONE)
        return thr_fail(err, THR_EINVAL, "%s: holds numbers, but a model reads texts: .txt .tsv .csv",
                        thr_io_reader_name(texts));
    THR_TRY(make_reader(model, side, texts, n_dims, &reader, err));
    text_rows *s = reader->state;
    thr_status status = THR_OK;
    s->encode = encode;
    THR_TRY_OUT(thr_alloc(context, ROWS_AT_ONCE, sizeof *s->lines, &s->lines, "texts", err));
    THR_TRY_OUT(thr_alloc(context, ROWS_AT_ONCE, sizeof *s->lengths, &s->lengths, "texts", err));
    *reader_out = reader;
out:
    if (status != THR_OK)
        thr_reader_free(reader);
    return status;
}

/* ------------------------------------------------------------------------------------------------ readers of models */

static thr_status encode_texts(const void *model, thr_side side, const char *const *lines, const size_t *lengths,
                               size_t n, float *rows, thr_error *err) {
    return thr_tower_encode(model, side, lines, lengths, n, rows, err);
}

static thr_status encode_words(const void *model, thr_side side, const char *const *lines, const size_t *lengths,
                               size_t n, float *rows, thr_error *err) {
    return thr_dual_encode(model, side, lines, lengths, n, rows, err);
}

static thr_status open_vectors(const thr_tower *tower, thr_side side, thr_reader *vectors, thr_reader **reader_out,
                               thr_error *err) {
    const thr_tower_config config = thr_tower_get_info(tower).config;
    const thr_reader_shape shape = thr_reader_get_shape(vectors);
    if (shape.dtype == THR_DTYPE_NONE)
        return thr_fail(err, THR_EINVAL, "%s: is a text, but the model reads vectors of %" PRIu32 " dimensions",
                        thr_io_reader_name(vectors), config.n_inputs);
    if (shape.n_dims != config.n_inputs && shape.n_rows != 0)
        return thr_fail(err, THR_EDIM, "%s: vectors of %" PRIu32 " dimensions, but the model reads those of %" PRIu32,
                        thr_io_reader_name(vectors), shape.n_dims, config.n_inputs);
    THR_TRY(make_reader(tower, side, vectors, config.n_dims, reader_out, err));
    (*reader_out)->ops = &vector_ops;
    (*reader_out)->shape.n_rows = shape.n_rows;
    (*reader_out)->shape.seekable = shape.seekable;
    return THR_OK;
}

thr_status thr_tower_reader(const thr_tower *tower, thr_side side, thr_reader *texts, thr_reader **reader,
                            thr_error *err) {
    if (thr_tower_get_info(tower).config.n_inputs != 0)
        return open_vectors(tower, side, texts, reader, err);
    return open_rows(tower, encode_texts, thr_tower_get_info(tower).config.n_dims, side, texts, reader, err);
}

thr_status thr_dual_reader(const thr_dual *dual, thr_side side, thr_reader *texts, thr_reader **reader,
                           thr_error *err) {
    return open_rows(dual, encode_words, thr_dual_get_info(dual).n_vector, side, texts, reader, err);
}

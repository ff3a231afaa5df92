/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_fuzz.h - read bytes as a file of some name, every way a reader can be used, and check what holds for all input.
 *
 * A failed check aborts, which is what a fuzzer looks for.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <thresher/context.h>
#include <thresher/matrix.h>

#include "io/reader.h"

static inline void fuzz_check(bool holds) {
    if (!holds)
        abort();
}

/* One for all inputs. */
static inline thr_context *fuzz_context(void) {
    static thr_context *context = NULL;
    if (context == NULL) {
        thr_context_options options = {0};
        options.n_threads = 1;
        fuzz_check(thr_context_create(&options, &context, NULL) == THR_OK);
    }
    return context;
}

/* FNV-1a over all values, so that every byte of a view is read, and results can be compared. */
static inline uint64_t fuzz_hash(uint64_t hash, const void *data, size_t size) {
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

enum { FUZZ_BUFFER_BYTES = 50 }; /* so that small inputs fill buffers several times */

typedef struct fuzz_result {
    thr_status status;
    uint64_t n; /* rows or lines */
    uint64_t hash;
} fuzz_result;

static inline void fuzz_check_error(const thr_error *err, thr_status status) {
    fuzz_check(err->status == status && status < 0);
    fuzz_check(memchr(err->text, '\0', sizeof err->text) != NULL && err->text[0] != '\0');
    for (const char *p = err->text; *p != '\0'; p++)
        fuzz_check((unsigned char)*p >= 0x20);
}

static inline void fuzz_rows(thr_reader *reader, uint64_t max_rows, fuzz_result *result, thr_error *err) {
    thr_reader_shape shape = thr_reader_get_shape(reader);
    size_t row = shape.n_dims * thr_dtype_size(shape.dtype);
    fuzz_check((row != 0 || shape.n_rows == 0) && shape.n_dims <= THR_MAX_DIMS);
    for (;;) {
        thr_matrix rows;
        result->status = thr_reader_next(reader, max_rows, &rows, err);
        if (result->status != THR_OK || rows.n_rows == 0)
            break;
        fuzz_check(rows.n_rows <= max_rows && rows.n_dims == shape.n_dims && rows.dtype == shape.dtype);
        fuzz_check(rows.stride >= row);
        for (uint64_t r = 0; r < rows.n_rows; r++)
            result->hash = fuzz_hash(result->hash, (const char *)rows.data + r * rows.stride, row);
        result->n += rows.n_rows;
    }
    if (result->status == THR_OK && shape.n_rows != THR_ROWS_UNKNOWN)
        fuzz_check(result->n == shape.n_rows);
}

static inline void fuzz_lines(thr_reader *reader, fuzz_result *result, thr_error *err) {
    for (;;) {
        const char *line = NULL;
        size_t length = 0;
        result->status = thr_reader_next_line(reader, &line, &length, err);
        if (result->status != THR_OK || line == NULL)
            break;
        fuzz_check(strlen(line) == length && length <= 1 << 20 && strchr(line, '\n') == NULL);
        result->hash = fuzz_hash(result->hash, line, length + 1);
        result->n++;
    }
}

static inline fuzz_result fuzz_read(const char *name, const uint8_t *data, size_t size, bool sized, uint64_t max_rows) {
    fuzz_result result = {.hash = 0xcbf29ce484222325u};
    thr_reader *reader = NULL;
    thr_error err;
    thr_image image = {.data = data, .size = size, .sized = sized, .buffer_bytes = FUZZ_BUFFER_BYTES};
    result.status = thr_io_reader_open_memory(fuzz_context(), name, &image, &reader, &err);
    fuzz_check((result.status == THR_OK) == (reader != NULL));
    if (reader != NULL && thr_reader_get_shape(reader).dtype == THR_DTYPE_NONE)
        fuzz_lines(reader, &result, &err);
    else if (reader != NULL)
        fuzz_rows(reader, max_rows, &result, &err);
    if (result.status != THR_OK)
        fuzz_check_error(&err, result.status);
    /* Going back to a row in the middle gives as many rows again as are left. */
    if (result.status == THR_OK && thr_reader_get_shape(reader).seekable) {
        fuzz_result rest = {.n = result.n / 2};
        fuzz_check(thr_io_reader_seek(reader, rest.n, &err) == THR_OK);
        fuzz_rows(reader, max_rows, &rest, &err);
        fuzz_check(rest.status == THR_OK);
    }
    thr_reader_free(reader);
    return result;
}

/* As a plain file and as a pipe, row by row and all at once: good input gives the same rows each time. */
static inline void fuzz_every_way(const char *name, const uint8_t *data, size_t size) {
    fuzz_result first = fuzz_read(name, data, size, true, UINT64_MAX);
    for (int way = 1; way < 4; way++) {
        fuzz_result other = fuzz_read(name, data, size, way / 2 == 0, way % 2 != 0 ? 1 : 3);
        fuzz_check((other.status == THR_OK) == (first.status == THR_OK));
        if (first.status == THR_OK)
            fuzz_check(other.n == first.n && other.hash == first.hash);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

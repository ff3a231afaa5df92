/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_files.h - what the tests of io share: a context whose memory is counted, files built byte by byte, and
 * one way to read everything a reader gives.
 */
#pragma once

#include "test.h"

#include <dirent.h>

#include <thresher/context.h>
#include <thresher/matrix.h>

#include "io/reader.h"

/* ------------------------------------------------------------------------------------------------ context */

/* The context of the test that runs, and its memory. */
static test_memory io_memory;
static thr_context *io_context;

static inline int setup_context(void **state) {
    (void)state;
    io_memory = (test_memory){.live = 0};
    io_context = test_context(1, THR_ISA_BEST, &io_memory);
    return 0;
}

static inline int teardown_context(void **state) {
    (void)state;
    thr_context_free(io_context);
    io_context = NULL;
    return io_memory.live == 0 ? 0 : -1;
}

TEST_EACH(setup_context, teardown_context)

/* -------------------------------------------------------------------------------------------------- bytes */

typedef struct bytes {
    uint8_t *data;
    size_t size, capacity;
} bytes;

static inline void put(bytes *b, const void *data, size_t size) {
    if (b->size + size > b->capacity) {
        b->capacity = 2 * (b->size + size);
        uint8_t *old = b->data;
        b->data = test_new(b->capacity, 1);
        if (b->size != 0)
            memcpy(b->data, old, b->size);
    }
    if (size != 0)
        memcpy(b->data + b->size, data, size);
    b->size += size;
}

static inline void put_text(bytes *b, const char *text) {
    put(b, text, strlen(text));
}

static inline void put_u32(bytes *b, uint32_t number) {
    uint8_t four[4] = {(uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16), (uint8_t)(number >> 24)};
    put(b, four, sizeof four);
}

/* Byte i of every test file's values, so that a wrong offset shows. */
static inline uint8_t pattern(size_t i) {
    return (uint8_t)(i * 37 + 11 + (i >> 8));
}

static inline void put_pattern(bytes *b, size_t first, size_t size) {
    for (size_t i = first; i < first + size; i++) {
        uint8_t byte = pattern(i);
        put(b, &byte, 1);
    }
}

static inline void drop(bytes *b) {
    *b = (bytes){0};
}

/* An npy file: a header as given, padded as numpy does. */
static inline void put_npy_header(bytes *b, unsigned version, const char *dictionary) {
    size_t lead = version == 1 ? 10 : 12;
    size_t length = (lead + strlen(dictionary) + 1 + 63) / 64 * 64 - lead;
    put_text(b, "\x93NUMPY");
    uint8_t numbers[6] = {(uint8_t)version, 0, (uint8_t)length, (uint8_t)(length >> 8), 0, 0};
    put(b, numbers, version == 1 ? 4 : 6);
    put_text(b, dictionary);
    for (size_t i = strlen(dictionary); i + 1 < length; i++)
        put_text(b, " ");
    put_text(b, "\n");
}

static inline void put_npy(bytes *b, const char *descr, size_t value, size_t n_rows, size_t n_dims) {
    char dictionary[128];
    (void)snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }",
                   descr, n_rows, n_dims);
    put_npy_header(b, 1, dictionary);
    put_pattern(b, 0, n_rows * n_dims * value);
}

static inline void put_vecs(bytes *b, size_t value, size_t n_rows, size_t n_dims) {
    for (size_t r = 0; r < n_rows; r++) {
        put_u32(b, (uint32_t)n_dims);
        put_pattern(b, r * n_dims * value, n_dims * value);
    }
}

static inline void put_bin(bytes *b, size_t value, size_t n_rows, size_t n_dims) {
    put_u32(b, (uint32_t)n_rows);
    put_u32(b, (uint32_t)n_dims);
    put_pattern(b, 0, n_rows * n_dims * value);
}

/* -------------------------------------------------------------------------------------------------- files */

static char test_dir[64];

static inline int setup_dir(void **state) {
    (void)state;
    (void)snprintf(test_dir, sizeof test_dir, "/tmp/thresher-io-XXXXXX");
    return mkdtemp(test_dir) != NULL ? 0 : -1;
}

static inline int teardown_dir(void **state) {
    (void)state;
    DIR *dir = opendir(test_dir);
    if (dir == NULL)
        return -1;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", test_dir, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && unlink(path) != 0)
            (void)rmdir(path);
    }
    (void)closedir(dir);
    return rmdir(test_dir);
}

TEST_GROUP(setup_dir, teardown_dir)

/* The full name of a file in the test's directory, good until the next but three. */
static inline const char *in_dir(const char *name) {
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", test_dir, name);
    return path;
}

static inline const char *write_file(const char *name, const bytes *b) {
    const char *path = in_dir(name);
    test_write_file(path, b->size != 0 ? b->data : (const uint8_t *)"", b->size);
    return path;
}

/* ------------------------------------------------------------------------------------------------ reading */

/* All rows, dense, until the end or an error; every view is checked to be what the header promises. */
static inline thr_status read_rows(thr_reader *reader, uint64_t max_rows, bytes *out, uint64_t *n_rows,
                                   thr_error *error) {
    thr_reader_shape shape = thr_reader_get_shape(reader);
    size_t row = shape.n_dims * thr_dtype_size(shape.dtype);
    *n_rows = 0;
    for (;;) {
        thr_matrix rows;
        thr_status status = thr_reader_next(reader, max_rows, &rows, error);
        if (status != THR_OK) {
            assert_int_equal(rows.n_rows, 0);
            assert_int_equal(error->status, status);
            return status;
        }
        if (rows.n_rows == 0)
            return THR_OK;
        assert_true(rows.n_rows <= max_rows);
        assert_int_equal(rows.n_dims, shape.n_dims);
        assert_int_equal(rows.dtype, shape.dtype);
        assert_true(rows.stride >= row);
        for (uint64_t r = 0; r < rows.n_rows; r++)
            put(out, (const char *)rows.data + r * rows.stride, row);
        *n_rows += rows.n_rows;
    }
}

/* All lines, each followed by a newline. */
static inline thr_status read_lines(thr_reader *reader, bytes *out, uint64_t *n_lines, thr_error *error) {
    *n_lines = 0;
    for (;;) {
        const char *line = NULL;
        size_t length = 0;
        thr_status status = thr_reader_next_line(reader, &line, &length, error);
        if (status != THR_OK || line == NULL)
            return status;
        assert_int_equal(strlen(line), length);
        put(out, line, length);
        put_text(out, "\n");
        ++*n_lines;
    }
}

/* Open, read everything in pieces of max_rows, close. What came before an error stays in out. */
static inline thr_status read_all(thr_context *context, const char *path, uint64_t max_rows, bytes *out,
                                  thr_error *error) {
    thr_reader *reader = NULL;
    thr_status status = thr_reader_open(context, path, &reader, error);
    assert_true((status == THR_OK) == (reader != NULL));
    if (status != THR_OK)
        return status;
    assert_string_equal(thr_io_reader_name(reader), path);
    uint64_t n = 0;
    status = thr_reader_get_shape(reader).dtype != THR_DTYPE_NONE ? read_rows(reader, max_rows, out, &n, error)
                                                                  : read_lines(reader, out, &n, error);
    thr_reader_free(reader);
    return status;
}

/* Reading the file in pieces of max_rows gives these bytes. */
static inline void assert_reads(const char *path, uint64_t max_rows, const bytes *expected) {
    bytes got = {0};
    expect_ok(read_all(io_context, path, max_rows, &got, &err));
    assert_int_equal(got.size, expected->size);
    assert_memory_equal(got.data, expected->data, got.size);
}

enum { PIPE_BUFFER_BYTES = 40 }; /* so small that it is filled several times */

/* The same from memory, as a plain file or as a pipe. */
static inline thr_status read_all_memory(thr_context *context, const char *name, const void *data, size_t size,
                                         bool sized, uint64_t max_rows, bytes *out, thr_error *error) {
    thr_reader *reader = NULL;
    thr_image image = {.data = data, .size = size, .sized = sized, .buffer_bytes = sized ? 0 : PIPE_BUFFER_BYTES};
    thr_status status = thr_io_reader_open_memory(context, name, &image, &reader, error);
    assert_true((status == THR_OK) == (reader != NULL));
    if (status != THR_OK)
        return status;
    uint64_t n = 0;
    status = thr_reader_get_shape(reader).dtype != THR_DTYPE_NONE ? read_rows(reader, max_rows, out, &n, error)
                                                                  : read_lines(reader, out, &n, error);
    thr_reader_free(reader);
    return status;
}

#define assert_contains(text, part)                                                                                    \
    do {                                                                                                               \
        if (strstr((text), (part)) == NULL)                                                                            \
            fail_msg("\"%s\" does not contain \"%s\"", (text), (part));                                                \
    } while (0)

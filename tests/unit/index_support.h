/* SPDX-License-Identifier: Apache-2.0 */
/* index_support.h - what the tests of the index share: paths, checksums made right, data. */
#pragma once

#include "index/journal/row_table.h" /* before test.h, whose err its parameter would shadow */
#include "owned.h"

#include <dirent.h>
#include <sys/stat.h>

#include <thresher/thresher.h>

#include "index/manifest.h"
#include "seal.h"

#ifndef THR_SOURCE_DIR
#define THR_SOURCE_DIR "."
#endif

/* Statuses are compared by name. */
#define expect_status(call, wanted) assert_string_equal(thr_status_name(call), thr_status_name(wanted))

/* -------------------------------------------------------------------------------------------- files */

enum { PATH_ROOM = 1200 };

/* dir/name */
static inline void join_path(char out[PATH_ROOM], const char *dir, const char *name) {
    int length = snprintf(out, PATH_ROOM, "%s/%s", dir, name);
    assert_true(length > 0 && length < PATH_ROOM);
}

/* Number of files that end in ending; name (PATH_ROOM), when not NULL, gets the path of one. */
static inline size_t count_files(const char *dir, const char *ending, char *name) {
    DIR *stream = opendir(dir);
    size_t n = 0;
    if (stream == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        size_t length = strlen(entry->d_name), tail = strlen(ending);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || length < tail ||
            strcmp(entry->d_name + length - tail, ending) != 0)
            continue;
        n++;
        if (name != NULL)
            join_path(name, dir, entry->d_name);
    }
    (void)closedir(stream);
    return n;
}

/* Seal a file of sections; *checksum is its header's. */
static inline void reseal_file(const char *path, uint64_t *checksum) {
    size_t size;
    uint8_t *bytes = test_bytes_of(path, &size);
    assert_true(test_seal(bytes, size));
    memcpy(checksum, bytes + THR_SECTIONS_CHECKSUM_AT, sizeof *checksum);
    test_write_file(path, bytes, size);
}

/* Make all checksums of an index right: those of its segments and posting lists, and of the manifest. */
static inline void reseal_index(thr_context *context, const char *dir) {
    char path[PATH_ROOM], name[THR_SEGMENT_NAME_SIZE], *text;
    thr_manifest manifest;
    size_t size;
    join_path(path, dir, "MANIFEST");
    expect_ok(thr_index_manifest_read(context, path, &manifest, NULL, NULL, &err));
    for (uint32_t i = 0; i < manifest.n_segments; i++) {
        thr_index_segment_name_print(manifest.segments[i].number, manifest.segments[i].build, name);
        join_path(path, dir, name);
        reseal_file(path, &manifest.segments[i].header_checksum);
    }
    if (manifest.hits.there) {
        char hits[THR_INDEX_FILE_NAME_SIZE];
        thr_index_file_name_print(THR_INDEX_FILE_HITS, manifest.hits.build, hits);
        join_path(path, dir, hits);
        reseal_file(path, &manifest.hits.header_checksum);
    }
    join_path(path, dir, "MANIFEST");
    expect_ok(thr_index_manifest_print(context, &manifest, &text, &size, &err));
    test_write_file(path, text, size);
    thr_release(context, text);
    thr_index_manifest_free(context, &manifest);
}

/* -------------------------------------------------------------------------------------------- data */

/* Lines "prefix0" to "prefix(n - 1)". */
static inline void write_lines(const char *path, const char *prefix, uint64_t n) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (uint64_t i = 0; i < n; i++)
        (void)fprintf(file, "%s%d\n", prefix, (int)i);
    assert_int_equal(fclose(file), 0);
}

/* Values of [-1, 1), as float, with a different length of every row. */
static inline float *random_rows(uint64_t n, uint32_t n_dims, uint64_t seed) {
    float *rows = test_new(n * n_dims, sizeof *rows);
    for (uint64_t r = 0; r < n; r++) {
        float length = 0.5f + (float)(thr_rng_below(&seed, 1000)) / 500.0f;
        for (uint32_t d = 0; d < n_dims; d++)
            rows[r * n_dims + d] = length * ((float)(thr_rng_next(&seed) >> 40) / 8388608.0f - 1.0f);
    }
    return rows;
}

static inline thr_status build_matrix(thr_context *context, const char *dir, const thr_matrix *rows,
                                      const thr_index_build_options *options, thr_error *error) {
    OWNED(thr_reader, reader) = NULL;
    THR_TRY(thr_reader_from_matrix(context, rows, &reader, error));
    return thr_index_build(context, dir, reader, options, error);
}

static inline thr_status build_rows(thr_context *context, const char *dir, const float *rows, uint64_t n,
                                    uint32_t n_dims, const thr_index_build_options *options, thr_error *error) {
    thr_matrix matrix = thr_matrix_f32(rows, n, n_dims);
    return build_matrix(context, dir, &matrix, options, error);
}

/* Add rows to an index. */
static inline thr_status add_matrix(thr_context *context, const char *dir, const thr_matrix *rows,
                                    const thr_index_add_options *options, thr_index_change *change, thr_error *error) {
    OWNED(thr_reader, reader) = NULL;
    THR_TRY(thr_reader_from_matrix(context, rows, &reader, error));
    return thr_index_add(context, dir, reader, options, change, error);
}

static inline thr_index_build_options build_options(thr_metric metric, thr_dtype keep, uint32_t bits) {
    thr_index_build_options options = {
        .metric = metric, .keep = keep, .codes_only = keep == THR_DTYPE_NONE, .item_bits = bits};
    options.calibration_queries = 200; /* a fifth of the usual number, to save time */
    return options;
}

/* The naive model: the score of two vectors, in double. */
static inline double naive_score(thr_metric metric, const float *q, const float *x, uint32_t n_dims) {
    double dot = 0, qq = 0, xx = 0, distance = 0;
    for (uint32_t d = 0; d < n_dims; d++) {
        double a = (double)q[d], b = (double)x[d];
        dot += a * b;
        qq += a * a;
        xx += b * b;
        distance += (a - b) * (a - b);
    }
    if (metric == THR_METRIC_IP)
        return dot;
    if (metric == THR_METRIC_L2)
        return -distance;
    return qq > 0 && xx > 0 ? dot / sqrt(qq * xx) : 0;
}

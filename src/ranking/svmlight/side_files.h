/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side_files.h - files next to an SVMlight file: FILE.query, and the cache, FILE.thr-cache (docs/format.md).
 */
#pragma once

#include "svmlight/read.h"

/* ------------------------------------------------------------------------------------------------ side file */

/*
 * Find the side file of path: the first that exists of "FILE.query", "FILE.query.gz" and "FILE.query.xz", where FILE
 * is path without .gz or .xz; otherwise *side is NULL. Free it with thr_release.
 */
thr_status thr_svmlight_find_side(thr_context *context, const char *path, char **side, thr_error *err);

/*
 * Fill queries, n_rows long, with 0, 1, 2, ... from the side file, which has a number of rows on each line.
 * THR_EFORMAT for a line that is not a positive number; THR_EMISMATCH if the total is not n_rows; statuses of
 * reading.
 */
thr_status thr_svmlight_take_side(thr_context *context, const char *path, const char *side, uint64_t *queries,
                                  size_t n_rows, thr_error *err);

/* ------------------------------------------------------------------------------------------------ cache */

/* The files that a cache was made from: checksums of their bytes, compressed or not. */
typedef struct thr_svmlight_source {
    uint64_t file;
    uint64_t side; /* 0 without a side file */
    uint64_t has_side;
} thr_svmlight_source;

static inline bool thr_svmlight_is_same(const thr_svmlight_source *a, const thr_svmlight_source *b) {
    return a->file == b->file && a->side == b->side && a->has_side == b->has_side;
}

/*
 * Sum the bytes of the file and its side file. THR_ENOTFOUND; THR_EIO; THR_ECHANGED; THR_ECANCELED; THR_ENOMEM.
 */
thr_status thr_svmlight_look(thr_context *context, const char *path, thr_svmlight_source *source, thr_error *err);

/*
 * Map the cache of path. *found is false, and nothing is held, if there is none or it is unusable: made from other
 * bytes or by another version, without the comments, or damaged. The caller then reads the file.
 * THR_ENOMEM; THR_ECANCELED.
 */
thr_status thr_svmlight_cache_open(thr_context *context, const char *path, const thr_svmlight_source *source,
                                   bool with_comments, thr_svmlight *out, bool *found, thr_error *err);

/* Validate a cache of any bytes and set the arrays. Returns false if it is incomplete, invalid or of another source. */
bool thr_svmlight_cache_take(const thr_map *map, const thr_svmlight_source *source, bool with_comments,
                             thr_svmlight *out);

/*
 * Write the cache; it appears when complete. with_comments: no comment was dropped. THR_EIO; THR_ENOSPACE;
 * THR_ENOMEM.
 */
thr_status thr_svmlight_cache_write(thr_context *context, const char *path, const thr_svmlight_source *source,
                                    bool with_comments, const thr_svmlight *svmlight, thr_error *err);

/*
 * Check the contents of arrays of known size: labels and values are finite, starts ascend to n_values, columns within
 * rows ascend below n_features, comments end at n_comment_bytes.
 */
bool thr_svmlight_is_sound(const thr_svmlight *svmlight, uint64_t n_comment_bytes);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svmlight_extra.h - what stands beside an SVMlight file: FILE.query, and the cache, FILE.thr-cache (docs/format.md).
 */
#ifndef THR_IO_SVMLIGHT_EXTRA_H
#define THR_IO_SVMLIGHT_EXTRA_H

#include "io/svmlight.h"

/* ------------------------------------------------------------------------------------------------ side file */

/*
 * The side file of path, "FILE.query", "FILE.query.gz" or "FILE.query.xz", where FILE is path without .gz or .xz; the
 * first that is there, or *side is NULL. Free with thr_release.
 */
thr_status thr_io_svmlight_find_side(thr_context *context, const char *path, char **side, thr_error *err);

/*
 * Fill queries, n_rows, with 0, 1, 2, ... by the numbers of rows that the side file has, one a line.
 * THR_EFORMAT for a line that is no number, or 0; THR_EMISMATCH where they are not n_rows in all; what reading returns.
 */
thr_status thr_io_svmlight_take_side(thr_context *context, const char *path, const char *side, uint64_t *queries,
                                     size_t n_rows, thr_error *err);

/* ------------------------------------------------------------------------------------------------ cache */

/* What a cache was made of: sizes in bytes, times of change. side_size is THR_SVMLIGHT_NO_SIDE where none was there. */
typedef struct thr_svmlight_source {
    uint64_t size;
    int64_t mtime_ns;
    uint64_t side_size;
    int64_t side_mtime_ns;
} thr_svmlight_source;

#define THR_SVMLIGHT_NO_SIDE UINT64_MAX

/* Look at the file and at the one beside it. THR_ENOTFOUND; THR_EIO; THR_ENOMEM. */
thr_status thr_io_svmlight_look(thr_context *context, const char *path, thr_svmlight_source *source, thr_error *err);

/*
 * Map the cache of path. *found is false, and nothing held, where there is none, or it was made of another state of the
 * file or by another version, lacks the comments, or is damaged: what it says can be read from the file again.
 * THR_ENOMEM; THR_ECANCELED.
 */
thr_status thr_io_svmlight_cache_open(thr_context *context, const char *path, const thr_svmlight_source *source,
                                      bool with_comments, thr_svmlight *out, bool *found, thr_error *err);

/* The arrays of a cache of any bytes: false for one that is not whole and right, or of another source. */
bool thr_io_svmlight_cache_take(const thr_map *map, const thr_svmlight_source *source, bool with_comments,
                                thr_svmlight *out);

/* Write it; it appears when it is complete. with_comments: none was left out. THR_EIO; THR_ENOSPACE; THR_ENOMEM. */
thr_status thr_io_svmlight_cache_write(thr_context *context, const char *path, const thr_svmlight_source *source,
                                       bool with_comments, const thr_svmlight *svmlight, thr_error *err);

/*
 * Whether arrays, but for their size, may be believed: labels and values are finite, starts ascend to n_values, columns
 * within rows below n_features, comments to n_comment_bytes.
 */
bool thr_io_svmlight_is_sound(const thr_svmlight *svmlight, uint64_t n_comment_bytes);

#endif

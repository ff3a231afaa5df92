/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items.h - many items of an index at once: their rows, ids, names and vectors.
 *
 * Every function that returns a status checks once per call that the index's files are unchanged. No allocation grows
 * with the index; thr_index_find_many allocates 16 bytes a name that it is given.
 *
 * Threads: any number of threads may call these on one index.
 */
#ifndef THRESHER_ITEMS_H
#define THRESHER_ITEMS_H

#include <thresher/index.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Fill rows with the rows of the items with these ids; THR_NO_ID for an id that no item has.
 *
 * Returns THR_OK; THR_EINVAL; THR_ECHANGED.
 */
THR_API thr_status thr_index_rows(const thr_index *index, const uint64_t *ids, size_t n, uint64_t *rows,
                                  thr_error *err);

/*
 * Fill ids with those of rows first to first + n - 1; THR_NO_ID for a row without an item (thr_index_n_rows).
 *
 * Returns THR_OK; THR_EINVAL; THR_ECHANGED.
 */
THR_API thr_status thr_index_row_ids(const thr_index *index, uint64_t first, size_t n, uint64_t *ids, thr_error *err);

/*
 * Fill ids with those of the items with these names; THR_NO_ID for a name that no item has. In an index without names
 * an item's name is its id in decimal.
 *
 * Returns THR_OK; THR_EINVAL, also for a name that is NULL; THR_ECHANGED; THR_ENOMEM.
 */
THR_API thr_status thr_index_find_many(const thr_index *index, const char *const *names, size_t n, uint64_t *ids,
                                       thr_error *err);

/*
 * Fill out, n x n_dims floats, with the stored vectors of the items with these ids, as thr_index_vector does for one.
 *
 * Returns THR_OK; THR_ENOTFOUND names the first id that no item has; and as thr_index_vector.
 */
THR_API thr_status thr_index_vectors(const thr_index *index, const uint64_t *ids, size_t n, float *out, thr_error *err);

/* The number of removed items whose rows are still in the files; thr_index_compact gives their bytes back. */
THR_API uint64_t thr_index_n_removed(const thr_index *index);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune.h - calibration: how many survivors and candidates reach a recall, learnt from queries whose true answer is
 * known.
 */
#ifndef THR_INDEX_TUNE_H
#define THR_INDEX_TUNE_H

#include "index/impl.h"

enum {
    THR_TUNE_LEAST_ITEMS = 512,  /* smaller indexes are searched exactly */
    THR_TUNE_LEAST_QUERIES = 30, /* fewer say too little about a share of a hundredth */
};

/* Queries to learn from. */
typedef struct thr_tune_queries {
    thr_matrix rows;
    const uint64_t *own_rows; /* queries that are items themselves: their rows, left out of their answers; or NULL */
} thr_tune_queries;

/*
 * Find the counts for all calibrated recalls and ks; the index is not changed. "Reaches" means: the mean over the
 * queries less two standard errors does, and a reserve is added to the counts. THR_ECANCELED; THR_ENOMEM; THR_ERANGE
 * for bad queries.
 */
thr_status thr_index_tune_by_queries(thr_index *index, const thr_tune_queries *queries, thr_tuning *tuning,
                                     thr_error *err);

/*
 * Calibrate a new index with wanted of its own items, fewer where that would take long; not at all where there are too
 * few. Of codes only, they are rows of the sample (sample_rows: the items they are).
 */
thr_status thr_index_tune_by_items(thr_index *index, const thr_matrix *sample, const uint64_t *sample_rows,
                                   uint64_t wanted, thr_tuning *tuning, thr_error *err);

#endif

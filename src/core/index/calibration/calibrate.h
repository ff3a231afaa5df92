/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate.h - calibration: the numbers of survivors and candidates that reach a recall, learnt from queries with
 * known answers.
 */
#pragma once

#include "index/impl.h"

enum {
    THR_TUNE_LEAST_ITEMS = 512,  /* smaller indexes are searched exactly */
    THR_TUNE_LEAST_QUERIES = 30, /* fewer cannot measure a share of a hundredth */
};

/* The queries of a calibration. */
typedef struct thr_tune_queries {
    thr_matrix rows;
    const uint64_t *own_rows; /* rows of queries that are items themselves, left out of their answers; or NULL */
} thr_tune_queries;

/*
 * Find the counts for all calibrated recalls and ks; does not change the index. A pair of counts reaches a recall if
 * the mean over the queries less two standard errors does; a reserve is added to the counts. THR_ECANCELED; THR_ENOMEM;
 * THR_ERANGE for invalid queries.
 */
thr_status thr_index_tune_by_queries(thr_index *index, const thr_tune_queries *queries, thr_tuning *tuning,
                                     thr_error *err);

/*
 * Calibrate a new index with `wanted` of its own items, with fewer where that would take long, and not at all if it has
 * too few. Without vectors the queries are rows of the sample; sample_rows are their row numbers. Statuses as above.
 */
thr_status thr_index_tune_by_items(thr_index *index, const thr_matrix *sample, const uint64_t *sample_rows,
                                   uint64_t wanted, thr_tuning *tuning, thr_error *err);

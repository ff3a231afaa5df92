/* SPDX-License-Identifier: Apache-2.0 */
/* run_scan.h - a search of a corpus, on its store if it has one. */
#pragma once

#include "scan/job.h"
#include "store/store.h"

/* thr_scan_search; the screen runs on the corpus's store unless there is none or vectors are scored. */
static inline thr_status test_run_scan(thr_scan *scan, const thr_scan_corpus *corpus, const thr_matrix *queries,
                                       const thr_search_options *options, const thr_answers *answers, thr_error *why) {
    const thr_job job = thr_scan_job_make(scan->context, corpus, options, answers);
    const thr_status status = thr_scan_check_queries(scan, corpus, queries, why);
    return status != THR_OK
               ? status
               : (corpus->store == NULL || job.exact ? thr_scan_run : thr_store_run)(scan, &job, queries, why);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - report the progress of long work to the caller, at most five times a second. */
#pragma once

#include "base/memory.h"

typedef struct thr_progress {
    thr_context *context;
    const char *what;
    uint64_t total;
    double next; /* time of the next report */
} thr_progress;

/* Start. total is 0 if unknown. */
thr_progress thr_progress_start(thr_context *context, const char *what, uint64_t total);

/* Report done items. Returns THR_ECANCELED if the caller cancelled. Cheap: call it every few thousand items. */
thr_status thr_progress_step(thr_progress *progress, uint64_t done, thr_error *err);

/* Send the last report, with total = done. */
thr_status thr_progress_end(thr_progress *progress, uint64_t done, thr_error *err);

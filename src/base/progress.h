/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - telling the caller how far long work is, five times a second at most. */
#ifndef THR_BASE_PROGRESS_H
#define THR_BASE_PROGRESS_H

#include "base/memory.h"

typedef struct thr_progress {
    thr_context *context;
    const char *what;
    uint64_t total;
    double next; /* when to speak again */
} thr_progress;

/* total 0 when it is not known. */
thr_progress thr_progress_start(thr_context *context, const char *what, uint64_t total);

/* THR_ECANCELED when the caller wants to stop. Cheap: call it for every few thousand items. */
thr_status thr_progress_step(thr_progress *progress, uint64_t done, thr_error *err);

/* The last report, done = total. */
thr_status thr_progress_end(thr_progress *progress, uint64_t done, thr_error *err);

#endif

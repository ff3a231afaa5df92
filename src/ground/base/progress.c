/* SPDX-License-Identifier: Apache-2.0 */
#include "base/progress.h"

#include "base/clock.h"
#include "base/error.h"

static const double INTERVAL = 0.2; /* seconds between reports */

thr_progress thr_progress_start(thr_context *context, const char *what, uint64_t total) {
    return (thr_progress){.context = context, .what = what, .total = total};
}

static thr_status report(thr_progress *progress, uint64_t done, thr_error *err) {
    thr_context *context = progress->context;
    if (!context->progress(context->progress_user, progress->what, done, progress->total))
        return thr_fail(err, THR_ECANCELED, "%s: stopped on request after %llu items; nothing was changed",
                        progress->what, (unsigned long long)done);
    return THR_OK;
}

thr_status thr_progress_step(thr_progress *progress, uint64_t done, thr_error *err) {
    if (progress->context->progress == NULL)
        return THR_OK;
    double now = thr_clock();
    if (now < progress->next)
        return THR_OK;
    progress->next = now + INTERVAL;
    return report(progress, done, err);
}

thr_status thr_progress_end(thr_progress *progress, uint64_t done, thr_error *err) {
    progress->total = done;
    return progress->context->progress == NULL ? THR_OK : report(progress, done, err);
}

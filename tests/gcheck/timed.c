/* SPDX-License-Identifier: Apache-2.0 */
/* A backend around the real one: while timing is on, it waits for every operation and sums the time of each kind. */
#include "gcheck.h"

#include "base/clock.h"
#include "device/gpus.h"

static const thr_backend *inner;
static thr_backend outer;
static bool recording;
static gcheck_stages stages;
static gcheck_calls calls;

static thr_status note(thr_stream *stream, double start, double *sum, thr_status status, thr_error *error) {
    if (!recording || status != THR_OK)
        return status;
    status = inner->wait(stream, error);
    *sum += thr_clock() - start;
    return status;
}

static thr_status timed_upload(thr_stream *stream, void *to, const void *from, size_t size, thr_error *error) {
    const double start = thr_clock();
    return note(stream, start, &stages.copies, inner->upload(stream, to, from, size, error), error);
}

static thr_status timed_download(thr_stream *stream, void *to, const void *from, size_t size, thr_error *error) {
    const double start = thr_clock();
    return note(stream, start, &stages.copies, inner->download(stream, to, from, size, error), error);
}

static thr_status timed_clear(thr_stream *stream, void *memory, size_t size, thr_error *error) {
    const double start = thr_clock();
    return note(stream, start, &stages.copies, inner->clear(stream, memory, size, error), error);
}

static thr_status timed_screen(thr_stream *stream, const thr_screen_op *op, thr_error *error) {
    const double start = thr_clock();
    calls.sample += op->samples != NULL;
    calls.screen += op->samples == NULL;
    return note(stream, start, op->samples != NULL ? &stages.sample : &stages.screen, inner->screen(stream, op, error),
                error);
}

static uint64_t uncounted;

/* The others: X(operation, its argument, its stage, its counter). */
#define OPERATIONS(X)                                                                                                  \
    X(listed, thr_listed_op, screen, calls.listed)                                                                     \
    X(batch, thr_batch_op, screen, calls.batch)                                                                        \
    X(threshold, thr_threshold_op, threshold, uncounted)                                                               \
    X(count_keys, thr_count_op, count, calls.count)                                                                    \
    X(rescore, thr_rescore_op, rescore, calls.rescore)                                                                 \
    X(refine, thr_refine_op, refine, calls.refine)                                                                     \
    X(select, thr_select_op, select, uncounted)                                                                        \
    X(head_hash, thr_head_hash_op, hash, uncounted)                                                                    \
    X(head_hits, thr_head_hits_op, hits, uncounted)                                                                    \
    X(head_found, thr_head_found_op, hits, uncounted)                                                                  \
    X(head_list, thr_head_list_op, list, uncounted)                                                                    \
    X(head_product, thr_head_product_op, product, uncounted)                                                           \
    X(head_sums, thr_head_sums_op, sums, uncounted)                                                                    \
    X(head_best, thr_head_best_op, best, uncounted)

#define TIMED(name, type, stage, counter)                                                                              \
    static thr_status timed_##name(thr_stream *stream, const type *op, thr_error *error) {                             \
        const double start = thr_clock();                                                                              \
        (counter)++;                                                                                                   \
        return note(stream, start, &stages.stage, inner->name(stream, op, error), error);                              \
    }
OPERATIONS(TIMED)

thr_devices gcheck_timed_devices(const thr_devices *devices) {
    thr_devices timed = *devices;
    inner = devices->backend;
    outer = *inner;
    outer.upload = timed_upload;
    outer.download = timed_download;
    outer.clear = timed_clear;
    outer.screen = timed_screen;
#define INSTALL(name, type, stage, counter) outer.name = timed_##name;
    OPERATIONS(INSTALL)
    timed.backend = &outer;
    return timed;
}

void gcheck_time_context(thr_context *context) {
    *context->gpus->devices = gcheck_timed_devices(context->gpus->devices);
}

void gcheck_stages_start(void) {
    stages = (gcheck_stages){0};
    recording = true;
}

gcheck_stages gcheck_stages_stop(void) {
    recording = false;
    return stages;
}

gcheck_calls gcheck_count_calls(void) {
    return calls;
}

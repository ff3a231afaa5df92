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

static thr_status note(thr_stream *stream, double start, double *sum, thr_status status, thr_error *err) {
    if (!recording || status != THR_OK)
        return status;
    status = inner->wait(stream, err);
    *sum += thr_clock() - start;
    return status;
}

static thr_status upload(thr_stream *stream, void *to, const void *from, size_t size, thr_error *err) {
    const double start = thr_clock();
    return note(stream, start, &stages.copies, inner->upload(stream, to, from, size, err), err);
}

static thr_status download(thr_stream *stream, void *to, const void *from, size_t size, thr_error *err) {
    const double start = thr_clock();
    return note(stream, start, &stages.copies, inner->download(stream, to, from, size, err), err);
}

static thr_status clear(thr_stream *stream, void *memory, size_t size, thr_error *err) {
    const double start = thr_clock();
    return note(stream, start, &stages.copies, inner->clear(stream, memory, size, err), err);
}

static thr_status screen(thr_stream *stream, const thr_screen_op *op, thr_error *err) {
    const double start = thr_clock();
    calls.sample += op->samples != NULL;
    calls.screen += op->samples == NULL;
    return note(stream, start, op->samples != NULL ? &stages.sample : &stages.screen, inner->screen(stream, op, err),
                err);
}

static thr_status listed(thr_stream *stream, const thr_listed_op *op, thr_error *err) {
    const double start = thr_clock();
    calls.listed++;
    return note(stream, start, &stages.screen, inner->listed(stream, op, err), err);
}

static thr_status batch(thr_stream *stream, const thr_batch_op *op, thr_error *err) {
    const double start = thr_clock();
    calls.batch++;
    return note(stream, start, &stages.screen, inner->batch(stream, op, err), err);
}

static thr_status threshold(thr_stream *stream, const thr_threshold_op *op, thr_error *err) {
    const double start = thr_clock();
    return note(stream, start, &stages.threshold, inner->threshold(stream, op, err), err);
}

static thr_status count_keys(thr_stream *stream, const thr_count_op *op, thr_error *err) {
    const double start = thr_clock();
    calls.count++;
    return note(stream, start, &stages.count, inner->count_keys(stream, op, err), err);
}

static thr_status rescore(thr_stream *stream, const thr_rescore_op *op, thr_error *err) {
    const double start = thr_clock();
    calls.rescore++;
    return note(stream, start, &stages.rescore, inner->rescore(stream, op, err), err);
}

static thr_status refine(thr_stream *stream, const thr_refine_op *op, thr_error *err) {
    const double start = thr_clock();
    calls.refine++;
    return note(stream, start, &stages.refine, inner->refine(stream, op, err), err);
}

static thr_status select_items(thr_stream *stream, const thr_select_op *op, thr_error *err) {
    const double start = thr_clock();
    return note(stream, start, &stages.select, inner->select(stream, op, err), err);
}

static thr_status head_hash(thr_stream *stream, const thr_head_hash_op *op, thr_error *err) {
    const double start = thr_clock();
    return note(stream, start, &stages.hash, inner->head_hash(stream, op, err), err);
}

static thr_status head_hits(thr_stream *stream, const thr_head_hits_op *op, thr_error *err) {
    const double start = thr_clock();
    return note(stream, start, &stages.hits, inner->head_hits(stream, op, err), err);
}

static thr_status head_found(thr_stream *stream, const thr_head_found_op *op, thr_error *err) {
    const double start = thr_clock();
    return note(stream, start, &stages.hits, inner->head_found(stream, op, err), err);
}

static thr_status head_list(thr_stream *stream, const thr_head_list_op *op, thr_error *err) {
    const double start = thr_clock();
    return note(stream, start, &stages.list, inner->head_list(stream, op, err), err);
}

static thr_status head_product(thr_stream *stream, const thr_head_product_op *op, thr_error *err) {
    const double start = thr_clock();
    return note(stream, start, &stages.product, inner->head_product(stream, op, err), err);
}

static thr_status head_sums(thr_stream *stream, const thr_head_sums_op *op, thr_error *err) {
    const double start = thr_clock();
    return note(stream, start, &stages.sums, inner->head_sums(stream, op, err), err);
}

static thr_status head_best(thr_stream *stream, const thr_head_best_op *op, thr_error *err) {
    const double start = thr_clock();
    return note(stream, start, &stages.best, inner->head_best(stream, op, err), err);
}

thr_devices gcheck_timed_devices(const thr_devices *devices) {
    thr_devices timed = *devices;
    inner = devices->backend;
    outer = *inner;
    outer.upload = upload;
    outer.download = download;
    outer.clear = clear;
    outer.screen = screen;
    outer.listed = listed;
    outer.batch = batch;
    outer.threshold = threshold;
    outer.count_keys = count_keys;
    outer.select = select_items;
    outer.rescore = rescore;
    outer.refine = refine;
    outer.head_hash = head_hash;
    outer.head_hits = head_hits;
    outer.head_found = head_found;
    outer.head_list = head_list;
    outer.head_product = head_product;
    outer.head_sums = head_sums;
    outer.head_best = head_best;
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

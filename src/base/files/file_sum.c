/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files/file_sum.h"

#include <inttypes.h>

#include "base/files/checksum.h"
#include "base/files/file.h"
#include "base/error.h"

enum { PIECE_BYTES = 1 << 20 };

thr_status thr_file_sum_start(thr_context *context, uint64_t total, uint64_t n_items, thr_file_sum *sum,
                              thr_error *err) {
    *sum = (thr_file_sum){.total = total, .n_items = n_items};
    sum->progress = thr_progress_start(context, "verify", n_items);
    return thr_alloc(context, PIECE_BYTES, 1, &sum->piece, "reading files", err);
}

void thr_file_sum_end(thr_file_sum *sum) {
    thr_release(sum->progress.context, sum->piece);
    sum->piece = NULL;
}

static thr_status read_all(thr_file_sum *sum, const char *path, int fd, uint64_t offset, size_t size, thr_error *err) {
    size_t got;
    THR_TRY(thr_read_at(fd, path, offset, sum->piece, size, &got, err));
    if (got < size)
        return thr_fail(err, THR_ECHANGED, "%s: offset %" PRIu64 ": the file was cut since it was opened", path,
                        offset + got);
    return THR_OK;
}

static uint64_t items_done(const thr_file_sum *sum) {
    return (uint64_t)((unsigned __int128)sum->n_items * sum->done / sum->total);
}

thr_status thr_file_sum_step(thr_file_sum *sum, thr_error *err) {
    return thr_progress_step(&sum->progress, items_done(sum), err);
}

thr_status thr_file_sum_bytes(thr_file_sum *sum, const char *path, int fd, uint64_t offset, uint64_t n,
                              uint64_t *checksum, thr_error *err) {
    thr_checksum_room room;
    thr_checksum *running = thr_checksum_start(&room);
    for (uint64_t at = 0; at < n;) {
        uint64_t left = n - at;
        size_t size = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        THR_TRY(read_all(sum, path, fd, offset + at, size, err));
        thr_checksum_add(running, sum->piece, size);
        at += size;
        sum->done += size;
        THR_TRY(thr_file_sum_step(sum, err));
    }
    *checksum = thr_checksum_end(running);
    return THR_OK;
}

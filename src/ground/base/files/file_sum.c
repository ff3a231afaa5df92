/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files/file_sum.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/files/checksum.h"
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

static uint64_t items_done(const thr_file_sum *sum) {
    return (uint64_t)((unsigned __int128)sum->n_items * sum->done / sum->total);
}

thr_status thr_file_sum_step(thr_file_sum *sum, thr_error *err) {
    return thr_progress_step(&sum->progress, items_done(sum), err);
}

thr_status thr_file_sum_bytes(thr_file_sum *sum, const char *path, const thr_map *map, uint64_t offset, uint64_t n,
                              uint64_t *checksum, thr_error *err) {
    thr_checksum_room room;
    thr_checksum *running = thr_checksum_start(&room);
    thr_status status = THR_OK;
    int fd;
    THR_TRY(thr_map_reopen(map, path, &fd, err));
    for (uint64_t at = 0; at < n;) {
        const uint64_t left = n - at;
        const size_t size = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        size_t got = size;
        THR_TRY_OUT(thr_map_read(map, fd, path, offset + at, sum->piece, &got, err));
        if (got < size)
            THR_TRY_OUT(thr_fail(err, THR_ECHANGED, "%s: offset %" PRIu64 ": the file was cut since it was opened",
                                 path, offset + at + got));
        thr_checksum_add(running, sum->piece, size);
        at += size;
        sum->done += size;
        THR_TRY_OUT(thr_file_sum_step(sum, err));
    }
    *checksum = thr_checksum_end(running);
out:
    if (fd >= 0)
        (void)close(fd);
    return status;
}

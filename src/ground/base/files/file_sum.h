/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_sum.h - checksums of mapped files, read through a descriptor and not through the map: an unreadable sector is
 * then an error instead of SIGBUS. A file that was deleted or replaced is read through the map. Reports progress.
 */
#pragma once

#include "base/files/file.h"
#include "base/progress.h"

typedef struct thr_file_sum {
    thr_progress progress;
    uint64_t done, total; /* bytes */
    uint64_t n_items;     /* progress is reported in items */
    uint8_t *piece;
} thr_file_sum;

/* Start a pass that reads total bytes, reported as n_items items. THR_ENOMEM. */
thr_status thr_file_sum_start(thr_context *context, uint64_t total, uint64_t n_items, thr_file_sum *sum,
                              thr_error *err);
void thr_file_sum_end(thr_file_sum *sum);

/* Return THR_ECANCELED if the caller cancelled. For use between reads, while other work is done. */
thr_status thr_file_sum_step(thr_file_sum *sum, thr_error *err);

/* Return the checksum of n bytes. THR_EIO; THR_ECHANGED if the file ends before them; THR_ECANCELED. */
thr_status thr_file_sum_bytes(thr_file_sum *sum, const char *path, const thr_map *map, uint64_t offset, uint64_t n,
                              uint64_t *checksum, thr_error *err);

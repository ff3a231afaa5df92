/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_sum.h - checksums of what files hold, read through their descriptors: a sector that cannot be read is an error
 * and no signal, as it would be through a map. Tells progress.
 */
#ifndef THR_BASE_FILE_SUM_H
#define THR_BASE_FILE_SUM_H

#include "base/progress.h"

typedef struct thr_file_sum {
    thr_progress progress;
    uint64_t done, total; /* bytes */
    uint64_t n_items;     /* progress is told in items */
    uint8_t *piece;
} thr_file_sum;

/* total bytes of n_items will be read. THR_ENOMEM. */
thr_status thr_file_sum_start(thr_context *context, uint64_t total, uint64_t n_items, thr_file_sum *sum,
                              thr_error *err);
void thr_file_sum_end(thr_file_sum *sum);

/* THR_ECANCELED where the caller wants to stop while something else than bytes is looked at. */
thr_status thr_file_sum_step(thr_file_sum *sum, thr_error *err);

/* The checksum of n bytes. THR_EIO; THR_ECHANGED where the file ends before them; THR_ECANCELED. */
thr_status thr_file_sum_bytes(thr_file_sum *sum, const char *path, int fd, uint64_t offset, uint64_t n,
                              uint64_t *checksum, thr_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* ids.h - the ids and names of the items that are being indexed: from the caller's array or from a file. */
#ifndef THR_INDEX_IDS_H
#define THR_INDEX_IDS_H

#include "index/segment_write.h"

typedef struct thr_ids {
    thr_context *context;
    const char *name;    /* where they come from, for messages */
    uint64_t n;          /* of ids or names; 0 when there are neither: row numbers are the ids */
    const uint64_t *ids; /* borrowed, or those below */
    uint64_t *owned;
    uint64_t *offsets; /* names: n + 1, in bytes from the first */
    char *names;       /* each ended by a zero byte */
    size_t owned_capacity, offsets_capacity, names_capacity;
} thr_ids;

/*
 * Take options->ids, or read options->ids_path, and check that each stands once.
 *
 * A text whose lines are all unsigned decimal integers holds ids, any other holds names.
 * THR_EINVAL for both options, a null array or a file that is neither text nor a column of integers; THR_ERANGE for a
 * negative id or 2^64 - 1; THR_EDUPLICATE; and what the reader returns.
 */
thr_status thr_index_ids_open(thr_context *context, const thr_index_build_options *options, thr_ids *ids,
                              thr_error *err);
void thr_index_ids_close(thr_ids *ids);

/* THR_EDIM unless there are as many as rows (or none at all). */
thr_status thr_index_ids_check_count(const thr_ids *ids, uint64_t n_rows, const char *rows_name, thr_error *err);

/* Write the sections ids, id order and names, for those that there are, of n rows from first on. */
thr_status thr_index_ids_write(const thr_ids *ids, uint64_t first, uint32_t n, thr_section_writer *writer,
                               thr_error *err);

#endif

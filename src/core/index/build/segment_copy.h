/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_copy.h - writes rows of an open index as a new segment. Vectors are copied. So are
 * codes, so every score stays the same; or they are made again, by another quantiser or relative to new centroids.
 */
#pragma once

#include "index/code_origins.h"
#include "index/build/segment_stream.h"
#include "index/impl.h"

/* Initialise with zeros and the borrowed pointers. Close it after any outcome of open. */
typedef struct thr_segment_copy {
    const thr_index *index;     /* has the rows */
    thr_segment_stream *stream; /* writes them; without a source, and its ids are this one's */
    bool recode;                /* by the quantiser of the stream's manifest; index keeps vectors */
    bool stores_ids;            /* even if they ascend by 1 */
    uint32_t n_cells;           /* of the new segment, at most its rows; below 2: none */
    uint64_t *rows;             /* of the new segment, in any order; the caller fills it */
    uint64_t n_rows;
    thr_index_code_origins origins; /* of the segment being written */
    thr_ids ids;                    /* of these rows */
    size_t names_capacity;
} thr_segment_copy;

/* Allocate for segments of at most `most` rows, which must be the stream's, and open the stream. THR_ENOMEM. */
thr_status thr_index_segment_copy_open(thr_segment_copy *copy, uint64_t most, uint64_t all, thr_error *err);
void thr_index_segment_copy_close(thr_segment_copy *copy);

/*
 * Write the rows as segment `number`, reordered if they are to have cells. Unless stores_ids, ids that ascend by 1 are
 * left out, with the first in the manifest. Statuses as thr_index_segment_stream_write.
 */
thr_status thr_index_segment_copy_write(thr_segment_copy *copy, uint32_t number, thr_error *err);

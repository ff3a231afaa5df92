/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - consecutive rows of one size in a stream: npy, vecs and bin files after their headers.
 *
 * Bytes are copied once, from the stream into a buffer, and returned as views of the buffer. A few bytes before each
 * row (the dimension in vecs) stay in the buffer; the view's stride skips them.
 */
#pragma once

#include "io/reader.h"

typedef struct thr_rows_layout {
    uint64_t offset;     /* of the first row, where the stream must be */
    size_t prefix;       /* bytes before each row's values: 0, or 4 for an int32 that must equal n_dims */
    uint64_t after;      /* bytes that may follow the last row */
    const char *mistake; /* for messages: a cause of a wrong size besides damage; NULL for none */
} thr_rows_layout;

/*
 * Finish opening a reader whose shape has n_rows (or THR_ROWS_UNKNOWN), n_dims and dtype: check the size of a plain
 * file, count its rows if unknown, and set ops.
 *
 * Returns THR_OK; THR_EFORMAT for n_dims 0 or above THR_MAX_DIMS; THR_ECORRUPT for a wrong size; THR_ENOMEM.
 */
thr_status thr_io_rows_start(thr_reader *reader, const thr_rows_layout *layout, thr_error *err);

/* Load a little-endian number. */
static inline uint32_t thr_load_u32(const uint8_t *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - rows of one size behind each other in a stream, which is what npy, vecs and bin files are after their
 * header.
 *
 * Bytes go once from the stream into a buffer, and views into that buffer are given out. A few bytes before each row
 * (the dimension of vecs) stay there and are stepped over by the view's stride.
 */
#ifndef THR_IO_ROWS_H
#define THR_IO_ROWS_H

#include "io/reader.h"

typedef struct thr_rows_layout {
    uint64_t offset;     /* of the first row in the stream, which must stand there */
    size_t prefix;       /* bytes before each row's values; 0, or 4 for an int32 that must be n_dims */
    uint64_t after;      /* bytes that may or may not follow the last row */
    const char *mistake; /* what a wrong size may come from, besides a cut or damaged file; NULL for nothing */
} thr_rows_layout;

/*
 * Finish opening a reader whose shape has n_rows (or THR_ROWS_UNKNOWN), n_dims and dtype: check a plain file's size,
 * count its rows when they are unknown, and set ops.
 *
 * Returns THR_OK; THR_EFORMAT for n_dims 0 or above THR_MAX_DIMS; THR_ECORRUPT for a wrong size; THR_ENOMEM.
 */
thr_status thr_io_rows_start(thr_reader *reader, const thr_rows_layout *layout, thr_error *err);

/* A number from little-endian bytes. */
static inline uint32_t thr_load_u32(const uint8_t *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* vecs.c - fvecs, bvecs, ivecs: an int32 dimension before every row (the TEXMEX corpora). There is no header. */
#include "base/error.h"
#include "io/rows.h"

enum { DIMENSION_BYTES = 4 };

thr_status thr_io_vecs_open(thr_reader *reader, const thr_source *source, thr_error *err) {
    uint8_t first[DIMENSION_BYTES];
    size_t got = 0;
    THR_TRY(thr_io_stream_peek(&reader->stream, first, sizeof first, &got, err));
    if (got > 0 && got < sizeof first)
        return thr_fail(err, THR_ECORRUPT,
                        "%s: is %zu bytes, less than the first row's dimension: write or fetch it again", reader->name,
                        got);
    const bool empty = got == 0;
    uint32_t n_dims = empty ? 0 : thr_load_u32(first);
    if ((n_dims == 0 && !empty) || n_dims > THR_MAX_DIMS)
        return thr_fail(err, THR_EFORMAT, "%s: row 0 has %ld dimensions, 1 to %d are possible: is it really %s?",
                        reader->name, (long)(int32_t)n_dims, THR_MAX_DIMS, source->ending);
    reader->shape.n_rows = empty ? 0 : THR_ROWS_UNKNOWN;
    reader->shape.n_dims = n_dims;
    reader->shape.dtype = source->dtype;
    if (reader->stream.seekable)
        thr_io_stream_seek(&reader->stream, 0);
    thr_rows_layout layout = {.prefix = DIMENSION_BYTES, .mistake = ", or rows differ in their dimensions"};
    return thr_io_rows_start(reader, &layout, err);
}

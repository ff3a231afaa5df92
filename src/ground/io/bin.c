/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bin.c - fbin, f16bin, u8bin, i8bin, ibin: uint32 rows, uint32 dimensions, then the rows (the big-ann benchmarks).
 *
 * A big-ann ground truth may also end in .ibin: uint32 queries, uint32 k, the ids, then as many float32 distances.
 * The file size distinguishes it from plain ibin; where the size is unknown, the end of the stream does.
 */
#include <string.h>

#include "base/error.h"
#include "io/rows.h"

enum { HEADER_BYTES = 8 };

/* Skip to the distances. THR_ENOTFOUND if the file has none. */
static thr_status skip_to_distances(thr_reader *reader, uint64_t ids_bytes, thr_error *err) {
    thr_stream *stream = &reader->stream;
    if (ids_bytes != 0 && stream->size == HEADER_BYTES + ids_bytes)
        return thr_fail(err, THR_ENOTFOUND, "%s: the file has ids only, no distances: leave out \":distances\"",
                        reader->name);
    reader->shape.dtype = THR_DTYPE_F32;
    if (stream->seekable) {
        thr_io_stream_seek(stream, HEADER_BYTES + ids_bytes);
        return THR_OK;
    }
    uint64_t skipped = 0;
    THR_TRY(thr_io_stream_skip(stream, ids_bytes, &skipped, err));
    if (skipped < ids_bytes)
        return thr_fail(err, THR_ECORRUPT, "%s: cut short at byte %llu, in the ids: write or fetch it again",
                        reader->name, (unsigned long long)stream->position);
    return THR_OK;
}

thr_status thr_io_bin_open(thr_reader *reader, const thr_source *source, thr_error *err) {
    if (source->part != NULL && strcmp(source->part, "distances") != 0)
        return thr_fail(err, THR_EINVAL, "%s: an .ibin file has only one part to name: \":distances\"", reader->name);
    uint8_t header[HEADER_BYTES];
    size_t got = 0;
    THR_TRY(thr_io_stream_read(&reader->stream, header, sizeof header, &got, err));
    if (got == 0)
        return thr_fail(err, THR_ECORRUPT, "%s: the file is empty: write or fetch it again", reader->name);
    if (got < sizeof header)
        return thr_fail(err, THR_ECORRUPT, "%s: is %zu bytes, less than the header's %d: write or fetch it again",
                        reader->name, got, HEADER_BYTES);
    reader->shape.n_rows = thr_load_u32(header);
    reader->shape.n_dims = thr_load_u32(header + 4);
    reader->shape.dtype = source->dtype;
    if ((reader->shape.n_dims == 0 && reader->shape.n_rows != 0) || reader->shape.n_dims > THR_MAX_DIMS)
        return thr_fail(err, THR_EFORMAT,
                        "%s: the header has %llu rows of %u dimensions, 1 to %d are possible: is it "
                        "really %s?",
                        reader->name, (unsigned long long)reader->shape.n_rows, reader->shape.n_dims, THR_MAX_DIMS,
                        source->ending);

    /* At most 2^32 x 2^15 x 4 bytes, which cannot overflow. */
    uint64_t half = reader->shape.n_rows * reader->shape.n_dims * thr_dtype_size(source->dtype);
    thr_rows_layout layout = {.offset = HEADER_BYTES};
    if (source->part != NULL) {
        THR_TRY(skip_to_distances(reader, half, err));
        layout.offset += half;
        layout.mistake = " of ids and distances";
    } else if (source->dtype == THR_DTYPE_I32) {
        layout.after = half;
        layout.mistake = ", or twice the rows when distances follow";
    }
    return thr_io_rows_start(reader, &layout, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* row_source.c - samples a reader's rows, and passes them on in pieces of whole blocks. */
#include "index/build/row_source.h"

#include "base/error.h"
#include "base/minmax.h"

#include "code/quantiser.h"
#include "io/reader.h"

#include <inttypes.h>
#include <string.h>

enum {
    SAMPLE_RUNS = 64,           /* runs of consecutive rows, spread evenly over the file */
    SAMPLE_BYTES_MAX = 32 << 20 /* wide rows: fewer are sampled */
};

thr_status thr_index_row_source_open(thr_context *context, thr_reader *reader, thr_row_source *source, thr_error *err) {
    thr_reader_shape shape = thr_reader_get_shape(reader);
    *source =
        (thr_row_source){.context = context, .reader = reader, .shape = shape, .name = thr_io_reader_name(reader)};
    if (thr_dtype_size(shape.dtype) == 0)
        return thr_fail(err, THR_EINVAL, "%s: a text holds no vectors: give a file of numbers (.npy .fvecs .fbin ...)",
                        source->name);
    if ((shape.n_dims == 0 && shape.n_rows != 0) || shape.n_dims > THR_MAX_DIMS)
        return thr_fail(err, THR_EDIM, "%s: vectors of %" PRIu32 " dimensions: 1 to %d can be indexed", source->name,
                        shape.n_dims, THR_MAX_DIMS);
    source->row_bytes = shape.n_dims * thr_dtype_size(shape.dtype);
    return THR_OK;
}

void thr_index_row_source_close(thr_row_source *source) {
    THR_RELEASE(source->context, source->sample, source->staging);
    source->sample = source->staging = NULL;
}

/* Copy rows of any stride to dense rows. */
static void copy_dense(uint8_t *out, const thr_matrix *rows, size_t row_bytes) {
    const uint8_t *in = rows->data;
    if (rows->stride == row_bytes) {
        memcpy(out, in, (size_t)rows->n_rows * row_bytes);
        return;
    }
    for (uint64_t r = 0; r < rows->n_rows; r++)
        memcpy(out + r * row_bytes, in + r * rows->stride, row_bytes);
}

/* Call the reader once. Every row must have the width and type of the first. */
static thr_status read_some(thr_row_source *source, uint64_t max_rows, thr_matrix *rows, thr_error *err) {
    THR_TRY(thr_reader_next(source->reader, max_rows, rows, err));
    if (rows->n_rows != 0 && (rows->n_dims != source->shape.n_dims || rows->dtype != source->shape.dtype))
        return thr_fail(err, THR_EDIM, "%s: rows of %" PRIu32 " dimensions after rows of %" PRIu32, source->name,
                        rows->n_dims, source->shape.n_dims);
    return THR_OK;
}

/* Fill `out` with n rows from the reader; *got is smaller only at the end of the stream. */
static thr_status read_dense(thr_row_source *source, uint64_t n, uint8_t *out, uint64_t *got, thr_error *err) {
    for (*got = 0; *got < n;) {
        thr_matrix rows;
        THR_TRY(read_some(source, n - *got, &rows, err));
        if (rows.n_rows == 0)
            return THR_OK;
        copy_dense(out + *got * source->row_bytes, &rows, source->row_bytes);
        *got += rows.n_rows;
    }
    return THR_OK;
}

/* The first row of run i of n_runs: the first run begins at row 0, the last ends with the file. */
static uint64_t run_start(const thr_row_source *source, uint64_t run) {
    uint64_t last = source->shape.n_rows - source->run_rows;
    return (uint64_t)((unsigned __int128)last * run / (source->n_runs - 1));
}

static thr_status sample_runs(thr_row_source *source, thr_error *err) {
    for (uint64_t run = 0; run < source->n_runs; run++) {
        uint64_t got;
        uint8_t *out = source->sample + source->sample_rows * source->row_bytes;
        THR_TRY(thr_io_reader_seek(source->reader, run_start(source, run), err));
        THR_TRY(read_dense(source, source->run_rows, out, &got, err));
        if (got != source->run_rows)
            return thr_fail(err, THR_EDIM, "%s: ends before the %" PRIu64 " rows it promised", source->name,
                            source->shape.n_rows);
        source->sample_rows += got;
    }
    return thr_io_reader_seek(source->reader, 0, err);
}

static thr_status read_sample(thr_row_source *source, uint64_t wanted, thr_error *err) {
    uint64_t limit = SAMPLE_BYTES_MAX / source->row_bytes;
    uint64_t n = THR_MIN(wanted, limit);
    n = n < THR_BLOCK_ITEMS ? THR_BLOCK_ITEMS : n / THR_BLOCK_ITEMS * THR_BLOCK_ITEMS;
    bool known = source->shape.n_rows != THR_ROWS_UNKNOWN;
    bool spread = source->shape.seekable && known && source->shape.n_rows > n;
    if (known && source->shape.n_rows < n)
        n = source->shape.n_rows;
    THR_TRY(thr_alloc(source->context, (size_t)n, source->row_bytes, &source->sample, "the sample", err));
    if (spread) {
        source->n_runs = SAMPLE_RUNS;
        source->run_rows = n / SAMPLE_RUNS;
        THR_TRY(sample_runs(source, err));
    } else {
        THR_TRY(read_dense(source, n, source->sample, &source->sample_rows, err));
        source->pending_first = true;
        source->ended = source->sample_rows < n || (known && source->sample_rows == source->shape.n_rows);
    }
    return THR_OK;
}

thr_status thr_index_row_source_sample(thr_row_source *source, uint64_t wanted, thr_matrix *sample, thr_error *err) {
    *sample = (thr_matrix){.n_dims = source->shape.n_dims, .dtype = source->shape.dtype, .stride = source->row_bytes};
    if (source->sample == NULL)
        THR_TRY(read_sample(source, wanted, err));
    if (source->sample_rows == 0)
        return thr_fail(err, THR_EDIM, "%s: holds no rows: an index needs at least one", source->name);
    sample->data = source->sample;
    sample->n_rows = source->sample_rows;
    return THR_OK;
}

uint64_t thr_index_row_source_sampled_row(const thr_row_source *source, uint64_t sample_row) {
    if (source->n_runs == 0)
        return sample_row;
    return run_start(source, sample_row / source->run_rows) + sample_row % source->run_rows;
}

static thr_status next_staged(thr_row_source *source, uint64_t max_rows, thr_matrix *rows, thr_error *err) {
    size_t first = (size_t)rows->n_rows;
    uint64_t got;
    THR_TRY(thr_grow(source->context, &source->staging, &source->staging_capacity, (size_t)max_rows, source->row_bytes,
                     "rows", err));
    copy_dense(source->staging, rows, source->row_bytes);
    THR_TRY(read_dense(source, max_rows - first, source->staging + first * source->row_bytes, &got, err));
    source->ended = got < max_rows - first;
    rows->data = source->staging;
    rows->stride = source->row_bytes;
    rows->n_rows = first + got;
    return THR_OK;
}

/* Returns the reader's own view whenever it is large enough, so a mapped file is not copied. */
thr_status thr_index_row_source_next(thr_row_source *source, uint64_t max_rows, thr_matrix *rows, thr_error *err) {
    *rows = (thr_matrix){.n_dims = source->shape.n_dims, .dtype = source->shape.dtype, .stride = source->row_bytes};
    if (source->pending_first && source->pending < source->sample_rows) {
        uint64_t left = source->sample_rows - source->pending;
        rows->n_rows = THR_MIN(left, max_rows);
        rows->data = source->sample + source->pending * source->row_bytes;
        source->pending += rows->n_rows;
    } else if (!source->ended) {
        THR_TRY(read_some(source, max_rows, rows, err));
        bool last = source->given + rows->n_rows == source->shape.n_rows;
        if (rows->n_rows == 0 || last)
            source->ended = true;
        else if (rows->n_rows < max_rows)
            THR_TRY(next_staged(source, max_rows, rows, err));
    }
    source->given += rows->n_rows;
    if (source->ended && source->shape.n_rows != THR_ROWS_UNKNOWN && rows->n_rows == 0 &&
        source->given != source->shape.n_rows)
        return thr_fail(err, THR_EDIM, "%s: gave %" PRIu64 " rows of the %" PRIu64 " it promised", source->name,
                        source->given, source->shape.n_rows);
    return THR_OK;
}

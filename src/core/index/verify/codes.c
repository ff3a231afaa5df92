/* SPDX-License-Identifier: Apache-2.0 */
/* codes.c - recomputes the block norms of a segment's codes, and compares their lengths with the manifest's bounds. */
#include "index/verify/verify.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "base/minmax.h"
#include "code/encode.h"
#include "kernel/kernel.h"

enum { STEP_BLOCKS = 64 };

/* Lengths are rounded up; this allows for writers that compute them differently. */
static const double TOLERANCE = 0x1p-20;

/* A block of codes, and the segment that its items belong to. */
typedef struct block {
    const thr_index *index;
    const thr_segment_view *view;
    uint32_t number, first, n; /* items first to first + n - 1 */
    uint8_t *whole;            /* all planes of nested codes */
} block;

/*
 * A block's norm must be the length of its shortest code. A larger one would make the scan skip items, and its checksum
 * would be right nevertheless.
 */
static thr_status check_norm(const block *b, const uint32_t *squares, thr_error *err) {
    const uint32_t *norms = b->view->scan.block_norms;
    uint32_t least = squares[0];
    for (uint32_t i = 1; i < b->n; i++)
        least = THR_MIN(squares[i], least);
    if (norms == NULL || norms[b->number] == least)
        return THR_OK;
    return thr_fail(err, THR_ECORRUPT,
                    "%s: section block norms: that of block %" PRIu32 " is %" PRIu32 ", by its codes %" PRIu32
                    ": build the index again",
                    b->view->file.path, b->number, norms[b->number], least);
}

static thr_status check_numbers(const block *b, uint32_t kind, uint32_t i, float factor, float offset, thr_error *err) {
    if (factor >= 0 && isfinite(factor) && isfinite(offset))
        return THR_OK;
    return thr_fail(err, THR_ECORRUPT,
                    "%s: section %s: item %" PRIu32
                    " has the factor %g and the offset %g: both are finite, and factors not negative: build the index "
                    "again",
                    b->view->file.path, thr_index_section_name(kind), b->first + i, (double)factor, (double)offset);
}

/* Certificates rely on this upper bound of the length of every code times its factor. */
static thr_status check_length(const block *b, uint32_t kind, uint32_t i, double factor, uint32_t square, float most,
                               thr_error *err) {
    const double length = factor * sqrt((double)square);
    if (length <= (double)most * (1 + TOLERANCE))
        return THR_OK;
    return thr_fail(err, THR_ECORRUPT,
                    "%s: section %s: the code of item %" PRIu32
                    " times its factor has length %g, but the MANIFEST has at most %g: build the index again",
                    b->view->file.path, thr_index_section_name(kind), b->first + i, length, (double)most);
}

static thr_status check_flat(const block *b, thr_error *err) {
    const thr_segment *scan = &b->view->scan;
    for (uint32_t i = 0; scan->factors != NULL && i < b->n; i++)
        THR_TRY(check_numbers(b, THR_SECTION_FACTORS, i, scan->factors[b->first + i],
                              scan->offsets != NULL ? scan->offsets[b->first + i] : 0, err));
    return THR_OK;
}

/* Join the planes of a block that thr_code_split_planes has split. */
static void join_planes(const block *b, const uint8_t *lead_codes, const uint8_t *records) {
    const thr_record_shape shape = thr_shape_records(&b->view->shape);
    const uint32_t lead = b->view->shape.lead, bits = b->view->shape.bits;
    const size_t size = thr_record_size(shape), head = thr_record_head(shape);
    for (uint32_t g = 0; g < shape.n_rows; g++) {
        uint8_t *group = b->whole + (size_t)g * bits * THR_BLOCK_ITEMS;
        memcpy(group, lead_codes + (size_t)g * lead * THR_BLOCK_ITEMS, (size_t)lead * THR_BLOCK_ITEMS);
        for (uint32_t p = 0; p < shape.n_planes; p++)
            for (uint32_t i = 0; i < THR_BLOCK_ITEMS; i++)
                group[(size_t)(lead + p) * THR_BLOCK_ITEMS + i] =
                    records[i * size + head + (size_t)p * shape.n_rows + g];
    }
}

static thr_status check_nested(const block *b, const uint8_t *lead_codes, const uint32_t *lead_squares,
                               thr_error *err) {
    const thr_segment_shape *s = &b->view->shape;
    const thr_record_shape shape = thr_shape_records(s);
    const thr_code_errors *errors = &b->index->manifest.errors;
    const size_t size = thr_record_size(shape), n_numbers = b->view->scan.lead_offsets ? 2 : 1;
    const uint8_t *records = b->view->scan.records + b->first * size;
    const uint16_t *leads = b->view->scan.leads + b->first * n_numbers;
    uint32_t squares[THR_BLOCK_ITEMS];
    join_planes(b, lead_codes, records);
    b->index->context->kernels->code_squares(squares, b->whole, 1, s->n_dims, s->bits);
    for (uint32_t i = 0; i < b->n; i++) {
        const float lead = thr_bf16_to_f32(leads[i * n_numbers]);
        const float lead_offset = n_numbers == 2 ? thr_bf16_to_f32(leads[i * n_numbers + 1]) : 0;
        float factor, offset = 0;
        thr_code_record_read_head(shape, records + i * size, &factor, &offset);
        THR_TRY(check_numbers(b, THR_SECTION_LEADS, i, lead, lead_offset, err));
        THR_TRY(check_numbers(b, THR_SECTION_RECORDS, i, factor, offset, err));
        THR_TRY(check_length(b, THR_SECTION_LEADS, i, (double)lead, lead_squares[i], errors->lead_length, err));
        THR_TRY(check_length(b, THR_SECTION_RECORDS, i, (double)factor, squares[i], errors->full_length, err));
    }
    return THR_OK;
}

thr_status thr_index_verify_codes(const thr_index *index, uint32_t segment, thr_file_sum *sum, thr_error *err) {
    const thr_segment_view *view = &index->mapped[segment].view;
    const thr_segment_shape *s = &view->shape;
    const size_t size = thr_block_size(s->n_dims, s->lead);
    block b = {.index = index, .view = view};
    uint32_t squares[THR_BLOCK_ITEMS];
    thr_status status = THR_OK;
    if (view->scan.records != NULL)
        THR_TRY(thr_alloc(index->context, 1, thr_block_size(s->n_dims, s->bits), &b.whole, "a block of codes", err));
    for (; b.first < s->n_items; b.first += THR_BLOCK_ITEMS, b.number++) {
        const uint8_t *codes = view->scan.codes + b.number * size;
        b.n = THR_MIN(s->n_items - b.first, THR_BLOCK_ITEMS);
        if (b.number % STEP_BLOCKS == 0)
            THR_TRY_OUT(thr_file_sum_step(sum, err));
        index->context->kernels->code_squares(squares, codes, 1, s->n_dims, s->lead);
        THR_TRY_OUT(check_norm(&b, squares, err));
        THR_TRY_OUT(b.whole != NULL ? check_nested(&b, codes, squares, err) : check_flat(&b, err));
    }
out:
    thr_release(index->context, b.whole);
    return status;
}

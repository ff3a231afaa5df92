/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nested.h - split codes into leading planes and records.
 *
 * The leading p planes of a B-plane code are a valid p-plane code (XFBQ errata 4). The screen reads only those,
 * stored as blocks of 64 items. The other planes are stored item by item and read for survivors only: a record is the
 * item's factor and offset, then its other planes of ceil(n_dims / 8) bytes each.
 *
 * With m = B - p and v = 2u + 1 - 2^B: v = 2^m v_lead + v_rest, both of the same form.
 */
#pragma once

#include "base/half.h"
#include "code/encode.h"
#include "kernel/kernel.h"

#include <string.h>

enum { THR_REST_BITS = 7 }; /* of a query against the other planes: odd integers that fit a byte */

/*
 * Layout of a record. Numbers are bfloat16 for codes of few bits, whose own error is far larger, and float32 for
 * others.
 */
typedef struct thr_record_shape {
    uint32_t n_rows;       /* bytes of a plane */
    uint32_t n_planes;     /* planes of a record; 0: no records */
    bool has_offset, wide; /* wide: float32 numbers */
} thr_record_shape;

static inline thr_record_shape thr_record_shape_of(uint32_t n_dims, uint32_t bits, uint32_t lead, bool has_offset) {
    return (thr_record_shape){thr_code_rows(n_dims), bits - lead, has_offset, bits > 4};
}

/* Return the bytes of a record before its planes. */
static inline size_t thr_record_head(thr_record_shape shape) {
    return (shape.has_offset ? 2u : 1u) * (shape.wide ? sizeof(float) : sizeof(uint16_t));
}

static inline size_t thr_record_size(thr_record_shape shape) {
    return thr_record_head(shape) + (size_t)shape.n_planes * shape.n_rows;
}

void thr_code_record_write_head(thr_record_shape shape, uint8_t *record, float factor, float offset);

/* Read a record's numbers. *offset receives 0 if records have none. */
static inline void thr_code_record_read_head(thr_record_shape shape, const uint8_t *record, float *factor,
                                             float *offset) {
    const size_t size = shape.wide ? sizeof(float) : sizeof(uint16_t);
    float numbers[2] = {0, 0};
    for (size_t i = 0; i < (shape.has_offset ? 2u : 1u); i++) {
        uint16_t half = 0;
        if (shape.wide) {
            memcpy(&numbers[i], record + i * size, sizeof numbers[i]);
        } else {
            memcpy(&half, record + i * size, sizeof half);
            numbers[i] = thr_bf16_to_f32(half);
        }
    }
    *factor = numbers[0];
    *offset = numbers[1];
}

/*
 * Split n_blocks blocks of all planes: the leading planes go to lead_blocks, the others to the records of their
 * items. The factors and offsets of records are not written.
 */
void thr_code_split_planes(const uint8_t *blocks, size_t n_blocks, uint32_t lead, thr_record_shape shape,
                           uint8_t *lead_blocks, uint8_t *records);

/* A query to multiply with the other planes. */
typedef struct thr_rest_query {
    const int8_t *digits; /* in the layout of thr_rest_product_kernel */
    int32_t digit_sum;
    float gain; /* 1 / |digits| */
} thr_rest_query;

static inline size_t thr_rest_query_size(uint32_t n_dims) {
    return ((size_t)n_dims + 63) & ~(size_t)63;
}

/* Make the query of a finite vector of length norm > 0 in memory (64-byte aligned, thr_rest_query_size bytes). */
void thr_code_rest_query_make(thr_rest_query *rest, const thr_quantiser *quantiser, const float *vector, double norm,
                              void *memory);

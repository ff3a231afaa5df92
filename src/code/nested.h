/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nested.h - the first planes of a code by themselves, the others beside them.
 *
 * The leading p planes of a B-plane code are a valid p-plane code (XFBQ errata 4): the screen reads only those, in
 * blocks of 64 items, a stream of its own. What is left stands item by item, so that it is read for survivors only:
 * a record is the item's factor and offset, then its other planes, strings of ceil(n_dims / 8) bytes.
 *
 * With m = B - p and v = 2u + 1 - 2^B: v = 2^m v_lead + v_rest, both of the same form.
 */
#ifndef THR_CODE_NESTED_H
#define THR_CODE_NESTED_H

#include "code/encode.h"
#include "kernel/kernel.h"

enum { THR_REST_BITS = 7 }; /* of a query, for the other planes: odd integers that fit a byte */

/*
 * How records look. Numbers are bfloat16 for codes of few bits, whose own error is far larger, and float32 for others.
 */
typedef struct thr_record_shape {
    uint32_t n_rows;       /* bytes of a plane */
    uint32_t n_planes;     /* planes of a record; 0: there are no records */
    bool has_offset, wide; /* wide: float32 numbers */
} thr_record_shape;

static inline thr_record_shape thr_record_shape_of(uint32_t n_dims, uint32_t bits, uint32_t lead, bool has_offset) {
    return (thr_record_shape){thr_code_rows(n_dims), bits - lead, has_offset, bits > 4};
}

/* Bytes before a record's planes, and of a whole record. */
static inline size_t thr_record_head(thr_record_shape shape) {
    return (shape.has_offset ? 2u : 1u) * (shape.wide ? sizeof(float) : sizeof(uint16_t));
}

static inline size_t thr_record_size(thr_record_shape shape) {
    return thr_record_head(shape) + (size_t)shape.n_planes * shape.n_rows;
}

void thr_code_record_write_head(thr_record_shape shape, uint8_t *record, float factor, float offset);
void thr_code_record_read_head(thr_record_shape shape, const uint8_t *record, float *factor, float *offset);

/*
 * Take n_blocks blocks of all planes apart: lead planes to blocks of their own, the others into the records of all
 * their items, whose heads are not touched.
 */
void thr_code_split_planes(const uint8_t *blocks, size_t n_blocks, uint32_t lead, thr_record_shape shape,
                           uint8_t *lead_blocks, uint8_t *records);

/* A query for the other planes. */
typedef struct thr_rest_query {
    const int8_t *digits; /* as thr_rest_product_kernel wants them */
    int32_t digit_sum;
    float gain; /* 1 / |digits| */
} thr_rest_query;

static inline size_t thr_rest_query_size(uint32_t n_dims) {
    return ((size_t)n_dims + 63) & ~(size_t)63;
}

/* Of a finite vector of length norm > 0, in memory (64-byte aligned, thr_rest_query_size bytes). */
void thr_code_rest_query_make(thr_rest_query *rest, const thr_quantiser *quantiser, const float *vector, double norm,
                              void *memory);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.h - encode vectors into blocks of plane codes, piece by piece of a stream.
 */
#pragma once

#include "base/memory.h"

#include "code/quantiser.h"

/* Return the bytes of one plane of one item: ceil(n_dims / 8). */
static inline uint32_t thr_code_rows(uint32_t n_dims) {
    return (n_dims + 7) / 8;
}

/* Return the bytes of one block of 64 codes. */
static inline size_t thr_block_size(uint32_t n_dims, uint32_t n_planes) {
    return (size_t)THR_BLOCK_ITEMS * n_planes * thr_code_rows(n_dims);
}

/*
 * Return the length of the longest accepted row: products and squared differences of two such rows are far inside
 * float32. Unit quantisers ignore lengths and so accept nearly all of float32.
 */
static inline double thr_longest_row(bool unit) {
    return unit ? 0x1p120 : 0x1p60;
}

/*
 * THR_ERANGE for a row r that is shorter than 2^-100 but not zero, which would lose its direction: float64 already when
 * it is converted to float32. The message names it as `noun` (row or query) `number`. Cheap for other rows.
 */
thr_status thr_code_check_short(const thr_matrix *rows, uint64_t r, const char *noun, uint64_t number, thr_error *err);

/* Measures of every row, stored beside its code. Arrays of n_rows; all but norms may be NULL. */
typedef struct thr_measures {
    float *norms;     /* |x|; 0 for zero rows */
    float *residuals; /* |r|, the length of the residual, which the code approximates (code/quantiser.h); 1 if unit
                         without a centre */
    /* <r, c> / |c|: the residual's component along the centre; 0 without a centre. With origins <r, o>. */
    float *alongs;
    uint32_t *code_squares; /* |b|^2, the exact squared length of the integer code */
    /*
     * <r^, b>: the product of the residual's direction r^ = r / |r| (rotated, where the quantiser rotates) with its
     * integer code. <q, b> / <r^, b> estimates <q, r^> without a bias (RaBitQ). At least 1 up to rounding and finite; 0
     * for residuals shorter than 2^-100, which have no direction.
     */
    float *products;
    float *lead_products; /* the same for the leading planes only, b = 2 (u >> (bits - lead)) + 1 - 2^lead */
    uint32_t lead;        /* number of planes in lead_products, 1 to item_bits; 0 if that is NULL */
    /* With origins: <b, o - c> of all planes and of the leading ones, o being the row's origin and c the centre. */
    float *origin_products, *lead_origin_products;
} thr_measures;

/* The points that rows are coded relative to (scan/origins.h). Owns nothing. */
typedef struct thr_code_origins {
    const float *points;      /* dense rows of n_dims */
    const float *from_centre; /* points - c, c being the quantiser's centre; rotated if the quantiser rotates */
    const uint32_t *of_row;   /* by row: its point */
} thr_code_origins;

/* Return THR_EINVAL for an invalid matrix: an unknown dtype, no data, or a stride that is too short. */
thr_status thr_code_check_rows(const thr_matrix *rows, thr_error *err);

/*
 * Encode rows (any dtype) to codes, which begins at a block boundary and has room for whole blocks. first_row is the
 * number of rows before these, for messages.
 *
 * Returns THR_OK; THR_ERANGE on NaN, infinity or a row that is too long or too short; THR_EMISMATCH if the quantiser is
 * fixed and a row is no code (err names the row); THR_ENOMEM.
 */
thr_status thr_code_encode_blocks(thr_context *context, const thr_quantiser *quantiser, const thr_matrix *rows,
                                  uint64_t first_row, uint8_t *codes, const thr_measures *measures, thr_error *err);

/* Rows to encode. */
typedef struct thr_code_input {
    const thr_matrix *rows;
    uint64_t first_row;              /* the number of rows before these, for messages */
    const thr_code_origins *origins; /* NULL: residuals are from the quantiser's centre */
} thr_code_input;

/* The same as thr_code_encode_blocks, for rows that may have origins. */
thr_status thr_code_encode_rows(thr_context *context, const thr_quantiser *quantiser, const thr_code_input *input,
                                uint8_t *codes, const thr_measures *measures, thr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.h - vectors into blocks of plane codes, in the middle of a stream.
 */
#ifndef THR_CODE_ENCODE_H
#define THR_CODE_ENCODE_H

#include "base/memory.h"

#include <thresher/codes.h>

/* Bytes of one plane of one item: ceil(n_dims / 8). */
static inline uint32_t thr_code_rows(uint32_t n_dims) {
    return (n_dims + 7) / 8;
}

/* Bytes of one block of 64 codes. */
static inline size_t thr_block_size(uint32_t n_dims, uint32_t n_planes) {
    return (size_t)THR_BLOCK_ITEMS * n_planes * thr_code_rows(n_dims);
}

/*
 * The longest row: products and squared differences of two such rows are far inside float32. Lengths do not count for
 * unit quantisers, so those take almost all there is.
 */
static inline double thr_longest_row(bool unit) {
    return unit ? 0x1p120 : 0x1p60;
}

/*
 * Encode rows (any dtype) to codes, which begins at a block's start and has room for whole blocks.
 * norms (not NULL) gets each row's length |x|; 0 for those shorter than 2^-100. code_squares (may be NULL) gets |b|^2,
 * the exact squared length of the row's integer code; residuals (may be NULL) the length of what the code is the
 * direction of: |x| without a centre, or 1 for unit quantisers; with one, |x - centre| or |x / |x| - centre|.
 * first_row is only for messages: the number of rows before these.
 *
 * Returns THR_OK; THR_ERANGE on NaN, infinity or a row that is too long, with the row in err; THR_ENOMEM.
 */
thr_status thr_encode_blocks(thr_context *context, const thr_quantiser *quantiser, const thr_matrix *rows,
                             uint64_t first_row, uint8_t *codes, float *norms, float *residuals, uint32_t *code_squares,
                             thr_error *err);

#endif

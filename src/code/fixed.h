/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixed.h - vectors that are codes already: sums of +-1 +-1/2 +-1/4 ..., a sign a plane (RBE (11)).
 *
 * Of n planes their components are the odd multiples of 2^(1 - n) between -2 and 2, the middles of the 2^n cells of
 * [-2, 2): quantised with that range, as they are, they give their planes back, and no rounding can move them. Scaled
 * to length 1 they would not.
 */
#ifndef THR_CODE_FIXED_H
#define THR_CODE_FIXED_H

#include <thresher/codes.h>

#define THR_FIXED_RANGE 2.0f

/* Whether x is a code of so many planes, 1 to 8. */
bool thr_code_is_fixed(const float *x, uint32_t n_dims, uint32_t n_planes);

/* The vector, n_dims floats, that item number `item` of blocks of all planes is the code of. */
void thr_code_read(const uint8_t *blocks, uint32_t n_dims, uint32_t n_planes, uint64_t item, float *out);

/*
 * What thr_code_query_make is to take for the length of a finite query with a fixed quantiser. With query_bits planes
 * or fewer the query's code is then its own, times a power of two; other queries meet the range's edge with their
 * largest component, so that they make the most of their bits.
 */
double thr_code_fixed_query_length(const float *query, uint32_t n_dims, uint32_t query_bits);

#endif

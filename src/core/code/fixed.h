/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixed.h - vectors that are already codes: sums of +-1 +-1/2 +-1/4 ..., one sign per plane (RBE (11)).
 *
 * The components of an n-plane code are the odd multiples of 2^(1 - n) between -2 and 2, the centres of the 2^n cells
 * of [-2, 2). Quantised with that range and without scaling they give their planes back exactly, because rounding
 * cannot move them to another cell. Scaled to length 1, they would not.
 */
#pragma once

#include "code/quantiser.h"

#define THR_FIXED_RANGE 2.0f

/* Return whether x is a code of n_planes planes, 1 to 8. */
bool thr_code_is_fixed(const float *x, uint32_t n_dims, uint32_t n_planes);

/* Decode item number `item` of blocks with all planes to n_dims floats. */
void thr_code_read(const uint8_t *blocks, uint32_t n_dims, uint32_t n_planes, uint64_t item, float *out);

/*
 * Return the length to pass to thr_code_query_make for a finite query with a fixed quantiser. A query that is a code
 * of at most query_bits planes then keeps its own code, times a power of two. Other queries are scaled until their
 * largest component reaches the end of the range, which uses all their bits.
 */
double thr_code_fixed_query_length(const float *query, uint32_t n_dims, uint32_t query_bits);

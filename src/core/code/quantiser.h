/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantiser.h - plane codes: B bits per dimension, scored by weighted XOR distance.
 *
 * A residual is the vector minus the centre, if there is one. Encoding scales it to unit length, multiplies it by
 * 1/range and rounds every component down to one of 2^B cells of [-1, 1). The cell's number u is stored as B bits, one
 * in each of B planes, plane 0 the most significant, and represents the odd integer 2u + 1 - 2^B (XFBQ (3), times 2^B).
 * The inner product of two codes of n dimensions and Bx, By bits is the integer n (2^Bx - 1)(2^By - 1) - 2 D, where D
 * is the weighted XOR popcount of XFBQ (10). An RBE code (RBE (11)) has the same form with learned planes: its
 * components are sums of +-1 +-1/2 +-1/4 ..., and a fixed quantiser recovers its planes.
 *
 * Codes are stored in blocks of 64 items: for every group of 8 dimensions ("row") and every plane 64 bytes, one per
 * item; bit i of a byte is dimension 8 * row + i. A code takes n_planes * ceil(n_dims / 8) bytes per item. Bits past
 * the last dimension and items past the last one are 0.
 *
 * Threads: a trained thr_quantiser is immutable and may be shared.
 */
#pragma once

#include "base/blocks.h"

#include <thresher/matrix.h>

/*
 * A quantiser codes the direction of a residual: the vector (scaled to length 1 first if `unit`) minus the centre,
 * optionally rotated at random. A rotation helps if components differ in variance, because a code's error then spreads
 * evenly over directions (RaBitQ, Gao and Long 2024; XFBQ errata 2); queries are rotated alike. Filled by
 * thr_code_quantiser_train, freed by thr_code_quantiser_free.
 */
typedef struct thr_quantiser {
    uint32_t n_dims;
    uint32_t item_bits;
    float ranges[THR_MAX_BITS];          /* [b - 1]: component of a unit vector at the edge of a b-bit code */
    bool unit;                           /* cosine: scale vectors to length 1 */
    bool fixed;                          /* rows are codes: no scaling, all ranges are 2 */
    float *centre;                       /* n_dims floats to subtract; NULL: none */
    uint64_t rotation_seed;              /* 0: no rotation */
    const struct thr_rotation *rotation; /* made from the seed, or NULL */
} thr_quantiser;

/* Flags of thr_code_quantiser_train. */
enum {
    THR_QUANTISER_UNIT = 1,    /* scale vectors to length 1: cosine */
    THR_QUANTISER_CENTRE = 2,  /* subtract the sample's mean if it holds more than 1/50 of the mean square */
    THR_QUANTISER_ROTATE = 4,  /* rotate residuals unless that makes the codes of the sample less accurate */
    THR_QUANTISER_ROTATED = 8, /* rotate residuals */
    /*
     * Rows are already codes of item_bits planes, sums of +-1 +-1/2 +-1/4 ...: training learns nothing from the sample,
     * and encoding recovers the planes. Not with a centre or a rotation.
     */
    THR_QUANTISER_FIXED = 16
};

/*
 * Train a quantiser on sample rows. For each number of bits it searches the percentile of |component| that maximises
 * the mean cosine of codes and residuals. Zero residuals are skipped; a sample of only those gives ranges of 1. flags
 * is a sum of THR_QUANTISER_...
 *
 * Returns THR_OK; THR_EINVAL for bits outside 1..8, unknown flags or an unknown dtype; THR_EDIM for no dimensions or
 * more than THR_MAX_DIMS; THR_ERANGE on NaN or infinity (err names the row); THR_ENOMEM.
 */
thr_status thr_code_quantiser_train(thr_context *context, const thr_matrix *sample, uint32_t item_bits, uint32_t flags,
                                    thr_quantiser *quantiser, thr_error *err);

/*
 * Replace a quantiser's rotation by that of a seed; the ranges do not change. For a quantiser that was stored or
 * trained elsewhere. Seed 0: no rotation.
 *
 * Returns THR_OK; THR_ENOMEM, and the quantiser is unchanged.
 */
thr_status thr_code_quantiser_rotate(thr_context *context, thr_quantiser *quantiser, uint64_t seed, thr_error *err);

/* Free the centre and the rotation; NULL is allowed. */
void thr_code_quantiser_free(thr_context *context, thr_quantiser *quantiser);

/* Bytes of n_rows codes, whole blocks: ceil(n_rows / 64) * 64 * item_bits * ceil(n_dims / 8). */
size_t thr_code_size(const thr_quantiser *quantiser, uint64_t n_rows);

/*
 * Encode rows to codes, an array of thr_code_size(quantiser, rows->n_rows) bytes. Residuals shorter than 2^-100 get
 * the all-minus code: every bit 0. norms, if not NULL, gets the length of every row.
 *
 * Returns THR_OK; THR_EDIM if rows->n_dims is not the quantiser's; THR_ERANGE on NaN, infinity or a row longer than
 * 2^60, or 2^120 for a unit quantiser; THR_EMISMATCH if a fixed quantiser gets a row that is not a code (err names the
 * row).
 */
thr_status thr_code_quantiser_encode(thr_context *context, const thr_quantiser *quantiser, const thr_matrix *rows,
                                     void *codes, float *norms, thr_error *err);

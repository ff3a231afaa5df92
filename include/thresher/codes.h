/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codes.h - plane codes: B bits a dimension, scored by weighted XOR distance.
 *
 * A residual (the vector, less the centre where there is one) is scaled to unit length, multiplied by 1/range, and
 * every component is rounded down to one of 2^B cells of [-1, 1). The cell's number u is stored as B bits, one in each
 * of B planes, plane 0 the most significant; it stands for the odd integer 2u + 1 - 2^B (XFBQ (3), times 2^B). The
 * inner product of two codes of n dimensions and Bx, By bits is the integer n (2^Bx - 1)(2^By - 1) - 2 D with D the
 * weighted XOR popcount of XFBQ (10). An RBE code (RBE (11)) is the same object with learned planes: a vector whose
 * components are sums of +-1 +-1/2 +-1/4 ... is such a code already, and a fixed quantiser gives its planes back.
 *
 * Codes are stored in blocks of 64 items: for every group of 8 dimensions ("row") and every plane, 64 bytes, one an
 * item; bit i of a byte is dimension 8 * row + i. A code is therefore n_planes * ceil(n_dims / 8) bytes an item. Bits
 * past the last dimension and items past the last one are 0.
 *
 * Threads: a trained thr_quantiser is immutable and may be shared.
 */
#ifndef THRESHER_CODES_H
#define THRESHER_CODES_H

#include <thresher/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { THR_MAX_BITS = 8, THR_BLOCK_ITEMS = 64 };

/*
 * What is quantised is the direction of a residual: the vector (scaled to length 1 first where unit says so) minus the
 * centre, then rotated at random where that helps: a code's error spreads evenly over directions only where no
 * component is worth more than others (RaBitQ, Gao and Long 2024; XFBQ errata 2). A query of such codes is rotated the
 * same way. Set up by thr_quantiser_train, freed by thr_quantiser_free.
 */
typedef struct thr_quantiser {
    uint32_t n_dims;
    uint32_t item_bits;
    float ranges[THR_MAX_BITS]; /* [b - 1]: the component of a unit vector that maps to the edge of a b-bit code */
    bool unit;                  /* cosine: lengths do not count */
    bool fixed;                 /* rows are codes: not scaled, and all ranges are 2, of components as they are */
    float *centre;              /* n_dims, or NULL: nothing is subtracted */
    uint64_t rotation_seed;     /* of the rotation; 0: residuals are not rotated */
    const struct thr_rotation *rotation; /* made from the seed, or NULL */
} thr_quantiser;

/* What thr_quantiser_train may do. */
enum {
    THR_QUANTISER_UNIT = 1,    /* scale vectors to length 1: cosine */
    THR_QUANTISER_CENTRE = 2,  /* subtract the sample's mean where it holds more than a fiftieth of the mean square */
    THR_QUANTISER_ROTATE = 4,  /* rotate residuals where codes of the sample keep more of them that way */
    THR_QUANTISER_ROTATED = 8, /* rotate residuals */
    /*
     * Rows are codes of item_bits planes already, sums of +-1 +-1/2 +-1/4 ...: nothing is learnt of the sample, and
     * encoding gives their planes back. Not with a centre or a rotation.
     */
    THR_QUANTISER_FIXED = 16
};

/*
 * Calibrate on sample rows. For each number of bits the percentile of |component| is searched that keeps the codes'
 * mean cosine with the residuals highest; rows without direction are passed over, and a sample of nothing else gets
 * ranges 1. flags is a sum of THR_QUANTISER_...
 *
 * Returns THR_OK; THR_EINVAL for bits out of 1..8, unknown flags, or rows of no known dtype; THR_EDIM for no dimensions
 * or more than THR_MAX_DIMS; THR_ERANGE on NaN or infinity (err names the row); THR_ENOMEM.
 */
THR_API thr_status thr_quantiser_train(thr_context *context, const thr_matrix *sample, uint32_t item_bits,
                                       uint32_t flags, thr_quantiser *quantiser, thr_error *err);

/*
 * Give a quantiser the rotation of a seed in place of the one it has, with the ranges as they are: what was trained
 * elsewhere, or stored, is made complete. Seed 0: no rotation.
 *
 * Returns THR_OK; THR_ENOMEM, the quantiser unchanged.
 */
THR_API thr_status thr_quantiser_rotate(thr_context *context, thr_quantiser *quantiser, uint64_t seed, thr_error *err);

/* Free the centre and the rotation; NULL is allowed. */
THR_API void thr_quantiser_free(thr_context *context, thr_quantiser *quantiser);

/* Bytes of n_rows codes, whole blocks: ceil(n_rows / 64) * 64 * item_bits * ceil(n_dims / 8). */
THR_API size_t thr_codes_size(const thr_quantiser *quantiser, uint64_t n_rows);

/*
 * Encode rows into codes, which has room for thr_codes_size(quantiser, rows->n_rows) bytes.
 * Residuals shorter than 2^-100 get the all-minus code: every bit 0. norms, when not NULL, gets every row's length.
 *
 * Returns THR_OK; THR_EDIM when rows->n_dims is not the quantiser's; THR_ERANGE on NaN, infinity or a row longer than
 * 2^60, or 2^120 for a unit quantiser; THR_EMISMATCH on a row that is no code, of a fixed one (err names the row).
 */
THR_API thr_status thr_quantiser_encode(thr_context *context, const thr_quantiser *quantiser, const thr_matrix *rows,
                                        void *codes, float *norms, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif

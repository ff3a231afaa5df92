/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planes.h - words as plane codes, which the scan of an index searches: the words of the best estimated logits.
 *
 * What is coded is a word's row of weights, with its bias as one more component that is 1 in every state, less the mean
 * of all rows: that changes all logits of a state by the same number, and no order. The estimate of a logit that the
 * scan orders by is its factor times an integer product (segment.h); the logits themselves decide what is answered.
 */
#ifndef THR_HEAD_PLANES_H
#define THR_HEAD_PLANES_H

#include "base/memory.h"
#include "code/encode.h"

/* What is stored of the quantiser beside its number of planes. */
typedef struct thr_head_quantiser {
    float ranges[THR_MAX_BITS];
    uint64_t rotation_seed; /* 0: none */
} thr_head_quantiser;

_Static_assert(sizeof(thr_head_quantiser) == 40, "no padding");

/* Codes as in memory or mapped. */
typedef struct thr_head_planes {
    uint32_t n_planes; /* 0: none */
    thr_head_quantiser quantiser;
    const uint8_t *codes;
    const float *factors; /* a word, whole blocks */
} thr_head_planes;

/* The memory of codes that were made; both NULL where they lie in a file. */
typedef struct thr_head_planes_memory {
    uint8_t *codes;
    float *factors;
} thr_head_planes_memory;

static inline uint64_t thr_head_padded(uint32_t n_words) {
    return ((uint64_t)n_words + THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS * THR_BLOCK_ITEMS;
}

/* n_dims floats of word w to out. */
typedef void thr_head_row_fn(const void *user, uint32_t w, float *out);

/* Rows as they are coded. */
typedef struct thr_head_coded {
    thr_head_row_fn *row;
    const void *user;
    uint32_t n_words, n_dims;
} thr_head_coded;

/* The mean of all rows; row has room for one. */
void thr_head_planes_mean(const thr_head_coded *coded, float *row, double *mean);

/* What is coded of word w: its row less the mean. */
void thr_head_planes_row(const thr_head_coded *coded, uint32_t w, const double *mean, float *out);

/*
 * Code all rows. THR_EINVAL for n_planes out of 1 to 8; THR_ERANGE, THR_EDIM as
 * thr_quantiser_train and encoding; THR_ENOMEM. *memory is to be freed in either case.
 */
thr_status thr_head_planes_make(thr_context *context, const thr_head_coded *coded, uint32_t n_planes,
                                thr_head_planes_memory *memory, thr_head_planes *planes, thr_error *err);
void thr_head_planes_free(thr_context *context, thr_head_planes_memory *memory);

/*
 * The words of the longest codes. With x = factor * b the vector that a code b stands for (bounds.h), an estimate's
 * error grows with |x|, and of all words about with the factor: a few of the longest rows, those of the most frequent
 * words as a rule, are far off for states that they are right for. The words of the largest factors, of equal ones the
 * smaller word, to words, which has THR_HEAD_LONGEST places; returns how many: one in so many of all, and no more than
 * there are places.
 */
enum { THR_HEAD_LONGEST = 64, THR_HEAD_LONGEST_ONE_IN = 64 };
uint32_t thr_head_planes_longest(const thr_head_planes *planes, uint32_t n_words, uint32_t *words);

/* Of codes from a file, whatever their bytes: NULL when they can be searched, or what is wrong. */
const char *thr_head_planes_check(const thr_head_planes *planes, uint32_t n_words);

#endif

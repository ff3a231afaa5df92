/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planes.h - plane codes of words. A scan over them (scan/scan.h) finds the words with the best estimated logits.
 *
 * The coded vector is a word's row of weights, extended by its bias (that component is 1 in every state), less the mean
 * of all rows. Subtracting the mean shifts all logits of a state by the same number, which keeps their order. The scan
 * orders words by an estimate of the logit, the code's factor times an integer product (segment.h); the exact logits
 * decide the answer.
 */
#pragma once

#include "base/blocks.h"
#include "base/memory.h"
#include "code/encode.h"

/* The quantiser's parameters as stored, except for the number of planes. */
typedef struct thr_head_quantiser {
    float ranges[THR_MAX_BITS];
    uint64_t rotation_seed; /* 0: none */
} thr_head_quantiser;

_Static_assert(sizeof(thr_head_quantiser) == 40, "no padding");

/* Plane codes in memory or mapped. */
typedef struct thr_head_planes {
    uint32_t n_planes; /* 0: none */
    thr_head_quantiser quantiser;
    const uint8_t *codes;
    const float *factors; /* one per word, padded to whole blocks */
} thr_head_planes;

/* The memory of codes that were made; both are NULL for a mapped head. */
typedef struct thr_head_planes_memory {
    uint8_t *codes;
    float *factors;
} thr_head_planes_memory;

static inline uint64_t thr_head_padded(uint32_t n_words) {
    return thr_blocks_of(n_words) * THR_BLOCK_ITEMS;
}

/* Writes the n_dims floats of word w to out. */
typedef void thr_head_row_fn(const void *user, uint32_t w, float *out);

/* The rows to be coded. */
typedef struct thr_head_coded {
    thr_head_row_fn *row;
    const void *user;
    uint32_t n_words, n_dims;
    const uint64_t *hidden; /* a bit a word: left out of the mean and of training; NULL: none */
} thr_head_coded;

static inline bool thr_head_is_hidden(const uint64_t *hidden, uint32_t w) {
    return hidden != NULL && (hidden[w / 64] >> w % 64 & 1) != 0;
}

/* The mean of all rows that are not hidden; row: scratch memory of one row. */
void thr_head_planes_mean(const thr_head_coded *coded, float *row, double *mean);

/* The coded vector of word w: its row less the mean. */
void thr_head_planes_row(const thr_head_coded *coded, uint32_t w, const double *mean, float *out);

/*
 * Code all rows. The caller frees *memory, also after an error. THR_OK; THR_EINVAL for n_planes out of 1 to 8;
 * THR_ERANGE and THR_EDIM as thr_code_quantiser_train and encoding; THR_ENOMEM.
 */
thr_status thr_head_planes_make(thr_context *context, const thr_head_coded *coded, uint32_t n_planes,
                                thr_head_planes_memory *memory, thr_head_planes *planes, thr_error *err);
void thr_head_planes_free(thr_context *context, thr_head_planes_memory *memory);

/*
 * Find the words with the longest codes, which are added to every shortlist. Let x = factor * b be the vector that a
 * code b represents (bounds.h). The error of an estimate grows with |x|, which is about proportional to the factor. So
 * the logits of the longest rows, usually of the most frequent words, may be badly underestimated for states whose best
 * words they are.
 *
 * Writes the words with the largest factors, ties to the smaller word, to `words` of THR_HEAD_LONGEST elements; hidden
 * words are skipped. Returns their number: one in THR_HEAD_LONGEST_ONE_IN of all words, THR_HEAD_LONGEST at most.
 */
enum { THR_HEAD_LONGEST = 64, THR_HEAD_LONGEST_ONE_IN = 64 };
uint32_t thr_head_planes_longest(const thr_head_planes *planes, uint32_t n_words, const uint64_t *hidden,
                                 uint32_t *words);

/* Validate codes from a file of arbitrary bytes. Returns NULL if they can be searched, else the defect. */
const char *thr_head_planes_check(const thr_head_planes *planes, uint32_t n_words);

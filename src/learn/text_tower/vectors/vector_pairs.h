/* SPDX-License-Identifier: Apache-2.0 */
/* vector_pairs.h - pairs of vectors to learn from, read once and kept as float32, each of length 1. */
#pragma once

#include <thresher/matrix.h>

#include "base/files/checksum.h"
#include "training/weights.h"

typedef struct thr_vector_pairs {
    size_t n, n_valid; /* the last n_valid are for validation; 0: a share of all is */
    uint32_t n_dims;
    size_t n_rows[THR_N_SIDES];
    float *rows[THR_N_SIDES];      /* n_rows x n_dims; equal pointers if items are given alone */
    uint32_t *row_of[THR_N_SIDES]; /* each pair's row, of pairs that are given by ids; NULL: its own number */
    uint64_t *split;               /* a hash of every query: the split keeps equal queries together */
} thr_vector_pairs;

/* A pair's vector. */
static inline const float *thr_vector_of(const thr_vector_pairs *pairs, size_t side, size_t pair) {
    const size_t row = pairs->row_of[side] == NULL ? pair : pairs->row_of[side][pair];
    return pairs->rows[side] + row * pairs->n_dims;
}

/* Readers of vectors, and the files of pairs by ids (tower.h). queries, valid and each path may be NULL. */
typedef struct thr_vector_source {
    thr_reader *queries, *items, *valid; /* valid: items for validation alone, only without queries */
    const char *pairs_path, *ids_paths[THR_N_SIDES];
} thr_vector_source;

/*
 * Read all vectors, and the pairs. *pairs starts zeroed, and is freed by the caller also after an error.
 *
 * THR_EINVAL for a text; THR_EDIM when the sides' dimensions or, without a file of pairs, numbers of rows differ, or
 * there are no rows; THR_ERANGE for a zero vector, NaN or infinity; what thr_reader_next and thr_text_vector_ids_read
 * return; THR_ECANCELED; THR_ENOMEM.
 */
thr_status thr_text_vector_pairs_read(thr_context *context, const thr_vector_source *source, thr_vector_pairs *pairs,
                                      thr_error *err);
void thr_text_vector_pairs_free(thr_context *context, thr_vector_pairs *pairs);

/* Add the vectors to a checksum of a training's identity. */
void thr_text_vector_pairs_sum(thr_checksum *sum, const thr_vector_pairs *pairs);

/* How a batch is made of pairs. */
typedef struct thr_vector_noise {
    float length;  /* of the vector that is added to each query; 0: none */
    uint64_t seed; /* of its direction */
} thr_vector_noise;

/* Copy the vectors of n pairs to out[side], n x n_dims each. */
void thr_text_vector_pairs_gather(const thr_vector_pairs *pairs, const uint32_t *numbers, size_t n,
                                  const thr_vector_noise *noise, float *const out[THR_N_SIDES]);

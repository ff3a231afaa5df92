/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wta.h - winner-take-all hashing (WTA-LSH 4.2.1): a hash is the arg-max of a few components.
 *
 * A permutation of the dimensions selects K components; their arg-max, 0 to K - 1, is one hash. Only the order of the
 * components matters, so a vector and its positive multiples have the same hashes. Of equal components the first in the
 * permutation wins, for words and states alike. u hashes form the code of a band, W bands the code of a vector: P = u W
 * permutations in all.
 *
 * Threads: a thr_wta is immutable once made.
 */
#pragma once

#include "base/memory.h"

enum {
    THR_WTA_MAX_PLACES = 65536,        /* K */
    THR_WTA_MAX_BANDS = 65536,         /* W */
    THR_WTA_MAX_COMPONENTS = 1 << 24,  /* P K */
    THR_WTA_MAX_PERMUTATIONS = 1 << 20 /* P */
};

typedef struct thr_wta_shape {
    uint32_t n_dims;
    uint32_t n_places; /* K: components compared by a hash; 2 to n_dims */
    uint32_t n_bands;  /* W */
    uint32_t n_hashes; /* u, a band; 0: as many as fit 32 bits. Each has ceil(log2 K) bits */
    uint64_t seed;     /* of the permutations */
} thr_wta_shape;

typedef struct thr_wta {
    thr_wta_shape shape; /* n_hashes is filled in */
    uint32_t bits;       /* of one hash */
    /* Dimension j of permutation p is places[(p / 16 * K + j) * 16 + p % 16]; 0 past the last permutation. */
    uint32_t *places;
} thr_wta;

/* Bits of one hash over n_places components: ceil(log2 n_places). */
uint32_t thr_lsh_wta_bits(uint32_t n_places);

/* Fill in n_hashes if it is 0. THR_EINVAL for a shape out of range (err has the number and the limit). */
thr_status thr_lsh_wta_complete(thr_wta_shape *shape, thr_error *err);

/*
 * Make the permutations. permutations: the first K dimensions of each of the P permutations, permutation by
 * permutation, each below n_dims; NULL draws them from the seed. The caller frees *wta, also after an error. THR_OK;
 * THR_EINVAL; THR_ENOMEM.
 */
thr_status thr_lsh_wta_make(thr_context *context, const thr_wta_shape *shape, const uint32_t *permutations,
                            thr_wta *wta, thr_error *err);
void thr_lsh_wta_free(thr_context *context, thr_wta *wta);

/* Dimension j, from 0, of a permutation. */
static inline uint32_t thr_wta_place(const thr_wta *wta, uint32_t permutation, uint32_t j) {
    return wta->places[((size_t)(permutation / 16) * wta->shape.n_places + j) * 16 + permutation % 16];
}

/* The n_bands band codes of a vector of n_dims finite numbers. A band's first hash has its code's highest bits. */
void thr_lsh_wta_hash(const thr_wta *wta, const float *vector, uint32_t *codes);

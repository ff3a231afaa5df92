/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wta.h - winner-take-all hashing (WTA-LSH 4.2.1): the place of the largest of a few components is the hash.
 *
 * A permutation of the dimensions gives its first K components; their arg-max, 0 to K - 1, is one hash. What decides is
 * the order of components, not their size, so a vector and its multiples have the same hashes. Of equal components the
 * first of the permutation is taken, for words and states alike. u hashes side by side are the code of a band, W bands
 * are the code of a vector, P = u W permutations in all.
 *
 * Threads: a thr_wta never changes once it is made.
 */
#ifndef THR_LSH_WTA_H
#define THR_LSH_WTA_H

#include "base/memory.h"

enum {
    THR_WTA_MAX_PLACES = 65536,        /* K */
    THR_WTA_MAX_BANDS = 65536,         /* W */
    THR_WTA_MAX_COMPONENTS = 1 << 24,  /* P K */
    THR_WTA_MAX_PERMUTATIONS = 1 << 20 /* P */
};

typedef struct thr_wta_shape {
    uint32_t n_dims;
    uint32_t n_places; /* K: components that a hash is the largest of; 2 to n_dims */
    uint32_t n_bands;  /* W */
    uint32_t n_hashes; /* u, of a band; 0: as many as 32 bits hold. Each takes ceil(log2 K) of them */
    uint64_t seed;     /* of the permutations */
} thr_wta_shape;

typedef struct thr_wta {
    thr_wta_shape shape; /* complete: n_hashes is not 0 */
    uint32_t bits;       /* of one hash */
    /* Dimension j of permutation p: places[(p / 16 * K + j) * 16 + p % 16]; past the last permutation 0. */
    uint32_t *places;
} thr_wta;

/* Bits of one hash of the first n_places components: ceil(log2 n_places). */
uint32_t thr_lsh_wta_bits(uint32_t n_places);

/* Fill n_hashes in where it is 0. THR_EINVAL for what no hash can be made of (err has the number and the limit). */
thr_status thr_lsh_wta_complete(thr_wta_shape *shape, thr_error *err);

/*
 * Make one. permutations: the first K dimensions of each of the P, permutation by permutation, each dimension below
 * n_dims; or NULL: drawn by the seed. THR_EINVAL; THR_ENOMEM. *wta is to be freed in either case.
 */
thr_status thr_lsh_wta_make(thr_context *context, const thr_wta_shape *shape, const uint32_t *permutations,
                            thr_wta *wta, thr_error *err);
void thr_lsh_wta_free(thr_context *context, thr_wta *wta);

/* The j-th dimension, from 0, of a permutation. */
static inline uint32_t thr_wta_place(const thr_wta *wta, uint32_t permutation, uint32_t j) {
    return wta->places[((size_t)(permutation / 16) * wta->shape.n_places + j) * 16 + permutation % 16];
}

/* The n_bands band codes of a vector of n_dims finite numbers; the first hash of a band has the highest bits. */
void thr_lsh_wta_hash(const thr_wta *wta, const float *vector, uint32_t *codes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head_ops.h - operations of a GPU backend that queries of heads are made of (head/screen.c, head/score.c).
 * Plain structs; pointers are to device memory.
 *
 * States are asked in order, `group` of them with one list of candidates: state i of an operation has list i / group.
 * How long lists are is known to the device alone, so every operation may be told before any is done. Logits, sums and
 * orders are the CPU's, to the bit: a product is added up as kernel dot_f32 says, exponentials tile by tile.
 */
#ifndef THR_DEVICE_HEAD_OPS_H
#define THR_DEVICE_HEAD_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { THR_HEAD_OP_TILE = 64 }; /* words whose exponentials are one sum */

/*
 * Winner-take-all hashes of states (lsh/wta.h): codes[i * n_bands + band]. Dimension j of
 * permutation p is places[j * n_bands * n_hashes + p]; n_hashes of `bits` bits each make a band, 32 bits at most.
 */
typedef struct thr_head_hash_op {
    const uint32_t *places;
    uint32_t n_dims, n_places, n_bands, n_hashes, bits;
    const float *states; /* n_dims each */
    uint32_t n_states;
    uint32_t *codes;
} thr_head_hash_op;

/*
 * Look-up (WTA-LSH algorithm 1): states' codes in a cuckoo table, and the words of their spans counted. State i adds
 * to the n_words counts of row i / share; a word that comes to the threshold there has its bit set in row i / group of
 * marks, n_marks words of 32 bits each: bit w % 32 of word w / 32. Counts are 0 before the first state of their row.
 */
typedef struct thr_head_hits_op {
    const void *slots; /* thr_cuckoo_slot: n_slots, and behind them the stash */
    uint32_t n_slots, n_stash;
    uint64_t seed;
    const uint32_t *listed; /* what spans are of */
    uint32_t n_words, n_bands;
    const uint32_t *codes;
    uint32_t n_states, share, group, threshold; /* each at least 1 */
    uint32_t *counts;
    uint32_t *marks;
    uint32_t n_marks;
} thr_head_hits_op;

/* Words that were found for states, n_found each: state i sets their bits in row i / group of marks. */
typedef struct thr_head_found_op {
    const uint32_t *words;
    uint32_t n_found, n_states, group;
    uint32_t *marks;
    uint32_t n_marks;
} thr_head_found_op;

/*
 * The candidates of every group as words in ascending order: those that are marked or always in, and, where they are
 * fewer than k, as many of the others as are missing, the most frequent ones. They stand at words[g * n_words], and
 * n_listed[g] says how many. Marks of what was missing are set.
 */
typedef struct thr_head_list_op {
    uint32_t n_words, n_groups, k; /* k at most n_words */
    const uint32_t *order;         /* words by frequency; NULL: as they are numbered */
    const uint32_t *always;        /* n_marks words of bits */
    uint32_t *marks;
    uint32_t n_marks;
    uint32_t *words, *n_listed;
} thr_head_list_op;

/* Which words states have logits of, and where: those of state i at logits[i * n_words], as words are listed. */
typedef struct thr_head_lists {
    uint32_t n_words, n_states, group;
    const uint32_t *words, *n_listed; /* as thr_head_list_op leaves them; both NULL: all words, whatever group is */
    float *logits;
} thr_head_lists;

/* Logits: weights of listed words, read where they are, times states, times the words' scales, and the bias. */
typedef struct thr_head_product_op {
    thr_head_lists lists;
    const void *weights; /* n_dims values a word, dense */
    int keep;            /* what these are, as thr_dtype: float32, float16, bfloat16 or int8 */
    const float *scales; /* or NULL */
    const float *bias;   /* or NULL */
    uint32_t n_dims;
    const float *states;
} thr_head_product_op;

/* The exponentials of a tile's logits, or of all: the sum of exp(x - largest). */
typedef struct thr_head_op_sum {
    double sum;
    float largest;
    uint32_t zero; /* no padding has unknown bytes */
} thr_head_op_sum;

/*
 * The largest logit of every tile of THR_HEAD_OP_TILE listed words, and, with totals, the sums of exponentials: of
 * tiles, added in the order of words, and of a state, totals[i], added in the order of tiles. Tile t of state i is
 * tiles[i * n_tiles + t], with n_tiles of n_words.
 */
typedef struct thr_head_sums_op {
    thr_head_lists lists;
    uint32_t n_tiles;
    thr_head_op_sum *tiles;
    thr_head_op_sum *totals; /* or NULL */
} thr_head_sums_op;

/* A word and its logit's bits. */
typedef struct thr_head_word {
    uint32_t word, logit;
} thr_head_word;

/*
 * The k words of the largest logits of state i, among equal ones the smaller words, to best[i * k], in no order;
 * n_best[i] says how many: fewer than k only where logits are NaN. tiles as thr_head_sums_op leaves them; reached, of
 * as many places, is scratch memory.
 */
typedef struct thr_head_best_op {
    thr_head_lists lists;
    uint32_t n_tiles;
    const thr_head_op_sum *tiles;
    uint32_t *reached;
    uint32_t k;
    thr_head_word *best;
    uint32_t *n_best;
} thr_head_best_op;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head_ops.h - GPU backend operations for head queries (head/screen.c, head/score.c). Plain structs; pointers are to
 * device memory.
 *
 * Each run of `group` consecutive states shares one list of candidates: state i of an operation uses list i / group.
 * List lengths stay on the device, so all operations can be enqueued without waiting. Logits, sums and orders equal
 * the CPU's bit for bit: products are summed as kernel dot_f32 does, exponentials tile by tile.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { THR_HEAD_OP_TILE = 64 }; /* words whose exponentials form one sum */

/*
 * Winner-take-all hashes of states (lsh/wta.h): codes[i * n_bands + band]. Dimension j of
 * permutation p is places[j * n_bands * n_hashes + p]; n_hashes of `bits` bits each make a band, 32 bits at most.
 */
typedef struct thr_head_hash_op {
    const uint32_t *places;
    uint32_t n_dims, n_places, n_bands, n_hashes, bits;
    const float *states; /* n_dims floats each */
    uint32_t n_states;
    uint32_t *codes;
} thr_head_hash_op;

/*
 * Look-up (WTA-LSH algorithm 1): look the states' codes up in a cuckoo table and count the words of their spans.
 * State i adds to the n_words counts of row i / share. When a word's count reaches the threshold, its bit is set in
 * row i / group of marks, n_marks words of 32 bits each: bit w % 32 of word w / 32. All counts of a row must be 0
 * before its first state.
 */
typedef struct thr_head_hits_op {
    const void *slots; /* thr_cuckoo_slot: n_slots, followed by the stash */
    uint32_t n_slots, n_stash;
    uint64_t seed;
    const uint32_t *listed; /* the words that spans refer to */
    uint32_t n_words, n_bands;
    const uint32_t *codes;
    uint32_t n_states, share, group, threshold; /* each at least 1 */
    uint32_t *counts;
    uint32_t *marks;
    uint32_t n_marks;
} thr_head_hits_op;

/* Words found for states, n_found each: state i sets their bits in row i / group of marks. */
typedef struct thr_head_found_op {
    const uint32_t *words;
    uint32_t n_found, n_states, group;
    uint32_t *marks;
    uint32_t n_marks;
} thr_head_found_op;

/*
 * List the candidates of every group in ascending order: words that are marked or always in, and if fewer than k of
 * these may be answered, the most frequent other words that may, up to k in all. The list of group g is at
 * words[g * n_words], its length n_listed[g]. The marks of added words are set.
 */
typedef struct thr_head_list_op {
    uint32_t n_words, n_groups, k; /* k at most n_words */
    const uint32_t *order;         /* words by frequency; NULL: in numeric order */
    const uint32_t *always;        /* n_marks words of bits */
    const uint32_t *never;         /* the same: words that are not answered; NULL: none */
    uint32_t *marks;
    uint32_t n_marks;
    uint32_t *words, *n_listed;
} thr_head_list_op;

/* The words that states have logits of. The logits of state i are at logits[i * n_words], in the order of its list. */
typedef struct thr_head_lists {
    uint32_t n_words, n_states, group;
    const uint32_t *words, *n_listed; /* outputs of thr_head_list_op; both NULL: all words, for any group */
    float *logits;
} thr_head_lists;

/* Logits: (weights of listed words, gathered in place) x states x (scales of the words), plus the bias. */
typedef struct thr_head_product_op {
    thr_head_lists lists;
    const void *weights; /* n_dims values per word, dense */
    int keep;            /* type of weights as thr_dtype: float32, float16, bfloat16 or int8 */
    const float *scales; /* or NULL */
    const float *bias;   /* or NULL */
    uint32_t n_dims;
    const float *states;
} thr_head_product_op;

/* Softmax partial sum over the logits of a tile, or of all tiles: the sum of exp(x - largest). */
typedef struct thr_head_op_sum {
    double sum;
    float largest;
    uint32_t zero; /* explicit padding, so that no byte is undefined */
} thr_head_op_sum;

/*
 * Compute the largest logit of every tile of THR_HEAD_OP_TILE listed words. With totals, also sum exponentials: of a
 * tile in the order of words, and of a state, totals[i], in the order of tiles. Tile t of state i is tiles[i *
 * n_tiles + t], where n_tiles is that of n_words.
 */
typedef struct thr_head_sums_op {
    thr_head_lists lists;
    uint32_t n_tiles;
    thr_head_op_sum *tiles;
    thr_head_op_sum *totals; /* or NULL */
} thr_head_sums_op;

/* A word and the bits of its logit. */
typedef struct thr_head_word {
    uint32_t word, logit;
} thr_head_word;

/*
 * Select the k words with the largest logits of state i, preferring smaller words among equal logits, into best[i *
 * k], unsorted. n_best[i] is their number: below k only if logits are NaN. tiles are outputs of thr_head_sums_op;
 * reached is scratch memory of the same length.
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

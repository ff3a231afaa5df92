/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.h - the scratch memory of a query, and its two halves: choosing words, and scoring them.
 *
 * Candidates are first marks, bit w % 64 of marks[w / 64] for word w, then a list of words in ascending order.
 */
#pragma once

#include "head/head.h"
#include "head/row_products.h"
#include "select/candidates.h"
#include "base/blocks.h"

/*
 * Rows of a tile, and states of a round. A tile is scored for all states of a round while it is in cache. Exponentials
 * are summed by tile, so that sums do not depend on the number of threads or states.
 */
enum { THR_HEAD_TILE = 64, THR_HEAD_ROUND = 32 };

/* The exponentials of a tile's logits: the sum of exp(x - largest). */
typedef struct thr_head_sum {
    double sum;
    float largest;
} thr_head_sum;

/*
 * Words sampled in the order of frequency: all of the first ranks, then one of every 2^j. words ascend; words[i]
 * represents weights[i] words.
 */
typedef struct thr_head_sample {
    uint32_t *words;
    float *weights;
    uint32_t n;
} thr_head_sample;

struct thr_head_workspace {
    thr_context *context;
    float *states; /* n_dims each */
    uint32_t *codes;
    uint64_t *always, *marks; /* marked words: for all groups of the query; for the current group */
    bool has_never;
    uint32_t n_never;
    uint64_t *never, *shown; /* if has_never: words that are never answered; words that a scan of codes may find */
    uint32_t *words;
    thr_lsh_counter counter;
    thr_collector *collectors; /* THR_HEAD_ROUND for each thread */
    thr_head_sum *sums;        /* for each tile and state of the round */
    float *columns;            /* the round's states, packed */
    float *tiles;              /* products of a tile, one per thread */
    double *normalisers;       /* softmax normaliser (ln) of every state */
    thr_head_sample sample;    /* words whose logits represent others' */
    float *sampled;            /* sample.n logits a state */
    thr_scan *scan;            /* for planes: scan scratch, states extended by 1, words found */
    float *coded;
    uint64_t *found;
    float *estimates; /* of found; this and the next three for certified answers */
    float *logits;    /* of the answer, if the caller does not take them */
    float *part;      /* a state as it is coded */
    uint8_t *levels;  /* its code */
    size_t states_capacity, codes_capacity, always_capacity, marks_capacity, words_capacity, n_collectors,
        sums_capacity, columns_capacity, tiles_capacity, normalisers_capacity, coded_capacity, found_capacity,
        estimates_capacity, logits_capacity, part_capacity, levels_capacity, sampled_capacity, never_capacity,
        shown_capacity;
    uint32_t n_counted; /* number of words that counter was made for */
};

/* A thr_idle_make function. */
thr_status thr_head_workspace_make(thr_context *context, void **piece, thr_error *err);

/* ------------------------------------------------------------------------------------------------ choosing words */

/* The plan of a query: its options with defaults resolved for the head, and where its answers go. */
typedef struct thr_head_plan {
    const thr_head_query_options *options;
    uint32_t n_frequent, threshold, n_shortlist, k;
    size_t n_states, group;
    bool all; /* all words are candidates */
    thr_head_times *times;
    thr_head_answers answers;
    const double *normalisers; /* ln of the sum of exponentials of each state; NULL: sum over the scored words */
    bool sampled;              /* add workspace->sampled for words that workspace->marks lacks */
} thr_head_plan;

static inline size_t thr_head_mark_words(const thr_head_contents *c) {
    return thr_blocks_of(c->n_words);
}

/*
 * Set workspace->never and shown from the head's words and those of the options. THR_EINVAL if a word does not exist,
 * or fewer than k words are left; THR_ENOMEM.
 */
thr_status thr_head_take_never(const thr_head *head, thr_head_workspace *workspace, const thr_head_query_options *o,
                               uint32_t k, thr_error *err);

/*
 * Mark in workspace->always the words that every group scores: the most frequent ones, with planes also the longest
 * ones, and the words of options->always. THR_OK; THR_EINVAL; THR_ENOMEM.
 */
thr_status thr_head_mark_always(const thr_head *head, thr_head_workspace *workspace, const thr_head_query_options *o,
                                uint32_t n_frequent, thr_error *err);

/* Compute the band codes of all states in the workspace. THR_OK or THR_ENOMEM. */
thr_status thr_head_hash_states(const thr_head *head, thr_head_workspace *workspace, size_t n_states, thr_error *err);

/*
 * For every state, scan corpus, the head's codes, and write the n_shortlist words of the best estimates to
 * workspace->found, best first, and their estimates to workspace->estimates if the options request certified answers.
 * THR_OK; THR_ERANGE; THR_ENOMEM; with a store its errors.
 */
thr_status thr_head_scan_states(const thr_head *head, const thr_scan_corpus *corpus, thr_head_workspace *workspace,
                                const thr_head_plan *plan, thr_error *err);

/*
 * Bits a dimension of a state's code for certified answers: with the usual 4 the code's own error would leave most
 * answers uncertain.
 */
enum { THR_HEAD_CERTIFIED_BITS = 8 };

/* Mark the words found for the states [first, first + n) in workspace->marks. */
void thr_head_mark_shortlists(thr_head_workspace *workspace, const thr_head_plan *plan, size_t first, size_t n);

/*
 * List the candidates of the states [first, first + n) in workspace->words, ascending; plan->k of them at least may be
 * answered. Returns their number.
 */
uint32_t thr_head_choose(const thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan, size_t first,
                         size_t n);

/* ------------------------------------------------------------------------------------------------ scoring words */

/* Reserve memory for scoring up to n_words words and collecting the best k. THR_OK or THR_ENOMEM. */
thr_status thr_head_score_reserve(const thr_head *head, thr_head_workspace *workspace, size_t n_words, uint32_t k,
                                  thr_error *err);

/*
 * Write the plan's k best of `words` (words.first is 0) for states [first, first + n) to its answers. THR_OK;
 * THR_ERANGE when fewer than k words have a logit that is not NaN, as a damaged file's weights can cause.
 */
thr_status thr_head_score(const thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan,
                          thr_head_words words, size_t first, size_t n, thr_error *err);

/* Logits of n_words words (ascending) for the first n states, n_words a state. */
void thr_head_logits(const thr_head *head, thr_head_workspace *workspace, const uint32_t *words, size_t n_words,
                     size_t n, float *logits);

/* Choose workspace->sample on the first call, and compute its logits for the first n states. THR_OK or THR_ENOMEM. */
thr_status thr_head_sample_states(const thr_head *head, thr_head_workspace *workspace, size_t n, thr_error *err);
void thr_head_sample_free(thr_context *context, thr_head_sample *sample);

/* Add the sampled words that are not candidates to a state's normaliser over the candidates. */
double thr_head_add_sampled(const thr_head_workspace *workspace, size_t state, double normaliser);

/* normalisers[i] for the first n states: ln of the sum of exponentials over all words' logits. */
void thr_head_normalise(const thr_head *head, thr_head_workspace *workspace, size_t n, double *normalisers);

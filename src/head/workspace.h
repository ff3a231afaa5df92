/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.h - the scratch memory of a query, and the two halves of one: which words, and their logits.
 *
 * Candidates are marks first, bit w % 64 of marks[w / 64] for word w, then words in ascending order.
 */
#ifndef THR_HEAD_WORKSPACE_H
#define THR_HEAD_WORKSPACE_H

#include "head/impl.h"
#include "head/row_products.h"
#include "select/candidates.h"

/*
 * Rows of a tile, which is scored for all states of a round while it is in cache, and whose sum of exponentials is one
 * number: so sums do not depend on threads, nor on how many states there are.
 */
enum { THR_HEAD_TILE = 64, THR_HEAD_ROUND = 32 };

/* The exponentials of a tile's logits: the sum of exp(x - largest). */
typedef struct thr_head_sum {
    double sum;
    float largest;
} thr_head_sum;

/*
 * Words spread over the order of frequency: all of the first ranks, then one of every 2^j; ascending. words[i] stands
 * for weights[i] words.
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
    uint64_t *always, *marks; /* of the whole query; of the group at hand */
    uint32_t *words;
    thr_lsh_counter counter;
    thr_collector *collectors; /* THR_HEAD_ROUND a thread */
    thr_head_sum *sums;        /* a tile and state of the round */
    float *columns;            /* states of a round, packed */
    float *tiles;              /* for the products of a tile, one a thread */
    double *normalisers;       /* of states */
    thr_head_sample sample;    /* words whose logits stand for those of others */
    float *sampled;            /* logits of the sample, sample.n a state */
    thr_scan *scan;            /* with planes: what it takes, states with the bias's 1, and the words it finds */
    float *coded;
    uint64_t *found;
    float *estimates; /* of found, where answers are certified, and then */
    float *logits;    /* those of the answer, if nobody else keeps them, */
    float *part;      /* a state as it is coded, */
    uint8_t *cells;   /* and its code */
    size_t states_capacity, codes_capacity, always_capacity, marks_capacity, words_capacity, n_collectors,
        sums_capacity, columns_capacity, tiles_capacity, normalisers_capacity, coded_capacity, found_capacity,
        estimates_capacity, logits_capacity, part_capacity, cells_capacity, sampled_capacity;
    uint32_t n_counted; /* words that counter is made for */
};

/* thr_idle_make */
thr_status thr_head_workspace_make(thr_context *context, void **piece, thr_error *err);

/* ------------------------------------------------------------------------------------------------ which words */

/* What a query's options come to for a head, and where its answers go. */
typedef struct thr_head_plan {
    const thr_head_query_options *options;
    uint32_t n_frequent, threshold, n_shortlist, k;
    size_t n_states, group;
    bool all; /* words are candidates */
    thr_head_times *times;
    thr_head_answers answers;
    const double *normalisers; /* ln of the sum of exponentials, a state; or NULL: of the words that are scored */
    bool sampled;              /* and of what workspace->sampled says of others, which workspace->marks has not */
} thr_head_plan;

static inline size_t thr_head_mark_words(const thr_head_contents *c) {
    return ((size_t)c->n_words + 63) / 64;
}

/* What every group has: the most frequent words, with planes the longest, and those that are always in. THR_EINVAL;
 * THR_ENOMEM. */
thr_status thr_head_mark_always(const thr_head *head, thr_head_workspace *workspace, const thr_head_query_options *o,
                                uint32_t n_frequent, thr_error *err);

/* The band codes of all states in room. THR_ENOMEM. */
thr_status thr_head_hash_states(const thr_head *head, thr_head_workspace *workspace, size_t n_states, thr_error *err);

/*
 * For every state, scan target, the head's codes, and write the n_shortlist words of the best estimates to
 * workspace->found, best first;
 * their estimates to workspace->estimates where the plan's options want answers certified. THR_ERANGE, THR_ENOMEM;
 * with a
 * store what it returns.
 */
thr_status thr_head_scan_states(const thr_head *head, const thr_scan_target *target, thr_head_workspace *workspace,
                                const thr_head_plan *plan, thr_error *err);

/* Of a state's code, where answers are certified: with the usual 4 its own error is what hides most that is certain. */
enum { THR_HEAD_CERTIFIED_BITS = 8 };

/* Mark those of the states [first, first + n) in workspace->marks. */
void thr_head_mark_shortlists(thr_head_workspace *workspace, const thr_head_plan *plan, size_t first, size_t n);

/*
 * The candidates of the states [first, first + n) to workspace->words, ascending; at least plan->k. Returns how many.
 */
uint32_t thr_head_choose(const thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan, size_t first,
                         size_t n);

/* ------------------------------------------------------------------------------------------------ their logits */

/* Memory for scoring up to n_words words and the best k of them. THR_ENOMEM. */
thr_status thr_head_score_reserve(const thr_head *head, thr_head_workspace *workspace, size_t n_words, uint32_t k,
                                  thr_error *err);

/*
 * The plan's k best of words (whose first is 0) for states [first, first + n), to its answers. THR_ERANGE where fewer
 * than k of them have a logit that is a number, which the weights of a damaged file may come to.
 */
thr_status thr_head_score(const thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan,
                          thr_head_words words, size_t first, size_t n, thr_error *err);

/* Logits of n_words words (ascending) for the first n states, n_words a state, to logits. */
void thr_head_logits(const thr_head *head, thr_head_workspace *workspace, const uint32_t *words, size_t n_words,
                     size_t n, float *logits);

/* workspace->sample, once, and its logits for the first n states. THR_ENOMEM. */
thr_status thr_head_sample_states(const thr_head *head, thr_head_workspace *workspace, size_t n, thr_error *err);
void thr_head_sample_free(thr_context *context, thr_head_sample *sample);

/* A normaliser of candidates alone, with what the sample's other words add to it for a state. */
double thr_head_add_sampled(const thr_head_workspace *workspace, size_t state, double normaliser);

/* normalisers[i], of the first n states: ln of the sum of the exponentials of all words' logits. */
void thr_head_normalise(const thr_head *head, thr_head_workspace *workspace, size_t n, double *normalisers);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam.h - beam search: the best sentences of a decoder whose words a head gives.
 *
 * A decoder turns words so far into states, a head (head.h) gives each state the best words that may follow. A sentence
 * has up to `beam` live rows, which are sequences of words. At every step the continuations of all of them by one word
 * are gone through by descending log-probability, the sum over their words: one by the end word is finished, others
 * live on, until beam of them do, and what comes behind is dropped. Equal ones go by the smaller word, then by the
 * better row.
 *
 * Finished sequences are compared by score, the log-probability divided by the penalty of their length; of equal scores
 * the one that was finished first is better. A row that has max_length words and no end is cut there, and counts as
 * finished without one. Lengths count all words produced, the end word too.
 *
 * An answer does not depend on the other sentences of a batch, the number of threads or the CPU, as far as the
 * decoder's states do not. Log-probabilities are the head's: what its normaliser makes of them (head.h) decides how
 * sequences of different lengths compare.
 *
 * Threads: a search belongs to one thread at a time; the head that it asks may be asked by others meanwhile.
 */
#ifndef THRESHER_BEAM_H
#define THRESHER_BEAM_H

#include <thresher/head.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THR_BEAM_NO_WORD    UINT32_MAX /* for the end word: there is none, and every row is cut at max_length */
#define THR_BEAM_MAX_BEAM   UINT32_C(65536)
#define THR_BEAM_MAX_LENGTH UINT32_C(1048576)

/* ------------------------------------------------------------------------------------------------ decoder */

/*
 * What a search asks for states. A call that returns another status than THR_OK ends the search, which returns it, with
 * the text in err, where there is one; err is never NULL. start and reorder may be NULL where there is nothing to do.
 */
typedef struct thr_decoder {
    void *self;
    /* n_sentences sentences begin: a row each, in their order. */
    thr_status (*start)(void *self, uint64_t n_sentences, thr_error *err);
    /*
     * Row i has word words[i] behind what it has; its state, n_dims floats of states + i * n_dims, asks for the next.
     * At the first step words are the start word. n_dims is the head's.
     */
    thr_status (*step)(void *self, const uint32_t *words, uint64_t n, float *states, thr_error *err);
    /*
     * Row i of n goes on from what row from[i] was; rows that no one names are done. Rows of a sentence stand together,
     * sentences in order, so from may name a row more than once but no sentence before an earlier one. Not called where
     * all rows stay what they are.
     */
    thr_status (*reorder)(void *self, const uint32_t *from, uint64_t n, thr_error *err);
} thr_decoder;

/* ------------------------------------------------------------------------------------------------ options */

/* What the log-probability of a sequence of `length` words is divided by. */
typedef enum thr_beam_penalty {
    THR_BEAM_PENALTY_NONE = 0,   /* 1 */
    THR_BEAM_PENALTY_WU = 1,     /* ((5 + length) / 6)^alpha: Wu and others 2016 (14) */
    THR_BEAM_PENALTY_LENGTH = 2, /* length^alpha: with alpha 1 the average of the words' log-probabilities */
} thr_beam_penalty;

/* When a sentence is done before max_length. */
typedef enum thr_beam_stop {
    /*
     * When n_best are finished and no live row can come before the last of them any more: not even if all words that it
     * can have still were certain. So n_best sequences are those that a search without stopping would give.
     */
    THR_BEAM_STOP_EXACT = 0,
    THR_BEAM_STOP_ENOUGH = 1 /* also when as many as beam, and n_best, are finished: better ones may be missed */
} thr_beam_stop;

typedef struct thr_beam_options {
    size_t size;                     /* sizeof(thr_beam_options), set by _init */
    uint32_t beam;                   /* live rows of a sentence, 1 to THR_BEAM_MAX_BEAM */
    uint32_t n_best;                 /* sequences wanted of a sentence, 1 at least; may be more than beam */
    uint32_t start_word;             /* any number that the decoder knows: it need not be a word of the head */
    uint32_t end_word;               /* or THR_BEAM_NO_WORD */
    uint32_t min_length, max_length; /* no end word comes before; 1 to THR_BEAM_MAX_LENGTH words at most */
    thr_beam_penalty penalty;
    thr_beam_stop stop;
    double alpha;          /* 0 to 10 */
    const uint32_t *never; /* n_never words that are not produced; or NULL */
    uint64_t n_never;
    /*
     * How the head is asked; NULL: the defaults, all words. The end word is always in. group is 1, or 0: the rows of a
     * sentence share their candidates, and are asked together. n_candidates and times are not used. Copied, with what
     * it points to.
     */
    const thr_head_query_options *query;
} thr_beam_options;

/* Defaults: beam 5, the best sequence, 200 words at most, no penalty (alpha 1 where one is set), the exact stop. */
THR_API void thr_beam_options_init(thr_beam_options *options, uint32_t start_word, uint32_t end_word);

/* ------------------------------------------------------------------------------------------------ search */

typedef struct thr_beam thr_beam;

/*
 * Make a search over a head, which must live as long. What options point to is copied. The head is asked for
 * beam + 1 + n_never words of each row, or all where it has fewer.
 *
 * Returns THR_OK; THR_EINVAL for options out of range, an end word or a word of never that the head has not, or an end
 * word that is in never; THR_ENOMEM. What only the head can tell (a screen it was not built for) the search returns.
 */
THR_API thr_status thr_beam_create(thr_head *head, const thr_beam_options *options, thr_beam **beam, thr_error *err);

/* NULL is allowed. */
THR_API void thr_beam_free(thr_beam *beam);

/*
 * What was found: sequences first_of[s] to first_of[s + 1] - 1 are sentence s's, best first; there are fewer than
 * n_best, or none, where no more could be finished. Sequence i has words[offsets[i]] to words[offsets[i + 1] - 1]; of
 * an ended one the last is the end word.
 */
typedef struct thr_beam_result {
    uint64_t n_sentences, n_sequences;
    const uint64_t *first_of; /* n_sentences + 1, from 0 */
    const uint64_t *offsets;  /* n_sequences + 1, from 0 */
    const uint32_t *words;
    const float *word_log_probs; /* of words */
    const double *log_probs;     /* of sequences: their words' added up from the first on */
    const double *scores;        /* log_probs divided by the penalty */
    const uint8_t *ended;        /* 1: by the end word; 0: cut at the maximum length */
    uint64_t n_steps, n_states;  /* what it took: steps of the decoder, states of the head */
    double head_seconds;         /* of the search's time: until the head had its words */
} thr_beam_result;

/*
 * Search n_sentences sentences together; one that is done leaves the batch. max_lengths, when not NULL, has the maximum
 * length of each in the place of the options', 1 to THR_BEAM_MAX_LENGTH. *result is a view of beam's memory until the
 * next search. After a first search of the same shape and course nothing is allocated.
 *
 * Returns THR_OK; what the decoder returns; what thr_head_query does, THR_ERANGE for a state with NaN among it (err
 * names sentence and step); THR_EINVAL for a decoder without a step, a maximum length out of range, or more than 2^31
 * rows; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_beam_search(thr_beam *beam, const thr_decoder *decoder, uint64_t n_sentences,
                                   const uint32_t *max_lengths, thr_beam_result *result, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif

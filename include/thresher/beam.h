/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam.h - beam search: the best sequences of a decoder whose words a head scores.
 *
 * A decoder turns the words so far into states; a head (head.h) gives each state its best next words. A sentence has up
 * to `beam` live rows, each a sequence of words. A step ranks all one-word continuations of the live rows by
 * log-probability, the sum over their words; equal ones by the smaller word, then by the better row. It takes them in
 * that order: a continuation by the end word is finished, any other becomes a live row, until there are `beam` of them.
 *
 * Finished sequences are ranked by score, the log-probability divided by the length penalty; of equal scores the one
 * finished first wins. A row that reaches max_length words without the end word is cut there and counts as finished.
 * Lengths count all words produced, including the end word.
 *
 * If the decoder's states do not depend on the batch, threads or CPU, the answers do not either. Log-probabilities use
 * the head's normaliser (head.h), which decides how sequences of different lengths compare.
 *
 * Threads: a search belongs to one thread at a time; other threads may query its head meanwhile.
 */
#ifndef THRESHER_BEAM_H
#define THRESHER_BEAM_H

#include <thresher/head.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THR_BEAM_NO_WORD    UINT32_MAX /* as end word: there is none, and every row is cut at max_length */
#define THR_BEAM_MAX_BEAM   UINT32_C(65536)
#define THR_BEAM_MAX_LENGTH UINT32_C(1048576)

/* ------------------------------------------------------------------------------------------------ decoder */

/*
 * The decoder's callbacks, which compute states. The search stops at a status other than THR_OK and returns it, with
 * err's text if there is one; err is never NULL. start and reorder may be NULL if they have nothing to do.
 */
typedef struct thr_decoder {
    void *self;
    /* Begin n_sentences sentences, with one row each, in order. */
    thr_status (*start)(void *self, uint64_t n_sentences, thr_error *err);
    /*
     * Append words[i] to row i, for all n rows, and write its state, n_dims floats, to states + i * n_dims. n_dims is
     * the head's. In the first step words are the start word.
     */
    thr_status (*step)(void *self, const uint32_t *words, uint64_t n, float *states, thr_error *err);
    /*
     * Make row i, for all n rows, a copy of what row from[i] was; drop rows that do not occur in from. Rows of a
     * sentence are adjacent and sentences keep their order. from may repeat a row. Not called if no row changes.
     */
    thr_status (*reorder)(void *self, const uint32_t *from, uint64_t n, thr_error *err);
} thr_decoder;

/* ------------------------------------------------------------------------------------------------ options */

/* Divisor of the log-probability of a sequence of `length` words. */
typedef enum thr_beam_penalty {
    THR_BEAM_PENALTY_LENGTH = 0, /* length^alpha: with alpha 1 the mean of the words' log-probabilities */
    THR_BEAM_PENALTY_WU = 1,     /* ((5 + length) / 6)^alpha: Wu and others 2016 (14) */
    THR_BEAM_PENALTY_NONE = 2    /* 1 */
} thr_beam_penalty;

/* When a sentence ends before max_length. */
typedef enum thr_beam_stop {
    /*
     * When n_best sequences are finished and no live row can beat the last of them, even if all its further words had
     * probability 1. The answer equals that of a search without early stop.
     */
    THR_BEAM_STOP_EXACT = 0,
    THR_BEAM_STOP_ENOUGH = 1 /* also when max(beam, n_best) sequences are finished: may miss better ones */
} thr_beam_stop;

typedef struct thr_beam_options {
    uint32_t beam;                   /* live rows per sentence, at most THR_BEAM_MAX_BEAM. 0: 5 */
    uint32_t n_best;                 /* sequences returned a sentence; may exceed beam. 0: 1 */
    uint32_t start_word;             /* passed to the decoder; need not be a word of the head */
    uint32_t end_word;               /* or THR_BEAM_NO_WORD */
    uint32_t min_length, max_length; /* words before which no end word is allowed; most words, at most
                                        THR_BEAM_MAX_LENGTH. max_length 0: 200 */
    thr_beam_penalty penalty;
    thr_beam_stop stop;
    double alpha;          /* above 0, up to 10. 0: 1 */
    const uint32_t *never; /* n_never words that are never produced, nor are those of query->never; or NULL */
    uint64_t n_never;
    /*
     * Options of the head's queries, copied with all that they point to; NULL: the defaults, all words. The end word is
     * always a candidate. group is 1, or 0: the rows of a sentence share candidates and are queried together.
     * n_candidates and times are ignored. lists are not copied: each search reads them, a list per sentence, and
     * the rows of a sentence are then queried together.
     */
    const thr_head_query_options *query;
} thr_beam_options;

/* ------------------------------------------------------------------------------------------------ search */

typedef struct thr_beam thr_beam;

/*
 * Create a search over a head, which must outlive it. Copies what options point to. Each row queries the head for
 * beam + 1 words, or as many as may be answered if these are fewer. The caller frees *beam.
 *
 * Returns THR_OK; THR_EINVAL for options out of range, an end word or a word of never that the head lacks, an end word
 * that is in never or has a bias of -infinity, or if no word is left; THR_ENOMEM. thr_beam_search returns errors of the
 * head's query, such as a screen it was not built for.
 */
THR_API thr_status thr_beam_create(thr_head *head, const thr_beam_options *options, thr_beam **beam, thr_error *err);

/* Free; NULL is allowed. */
THR_API void thr_beam_free(thr_beam *beam);

/*
 * The sequences found. Sentence s has sequences first_of[s] to first_of[s + 1] - 1, best first; fewer than n_best, or
 * none, if no more could be finished. Sequence i has words[offsets[i]] to words[offsets[i + 1] - 1], the end word
 * included.
 */
typedef struct thr_beam_result {
    uint64_t n_sentences, n_sequences;
    const uint64_t *first_of; /* n_sentences + 1, from 0 */
    const uint64_t *offsets;  /* n_sequences + 1, from 0 */
    const uint32_t *words;
    const float *word_log_probs; /* one per word of `words` */
    const double *log_probs;     /* one a sequence: the sum over its words, from first to last */
    const double *scores;        /* log_probs divided by the penalty */
    const uint8_t *ended;        /* 1: by the end word; 0: cut at the maximum length */
    uint64_t n_steps, n_states;  /* decoder steps; states queried */
    /* Parts of the search's time: choosing words in the head, extending sentences by them, the decoder's reorder. */
    double head_seconds, expand_seconds, reorder_seconds;
} thr_beam_result;

/*
 * Search n_sentences sentences in one batch, which finished sentences leave. max_lengths, if not NULL, replaces the
 * options' max_length for each sentence, 1 to THR_BEAM_MAX_LENGTH. *result is a view of beam's memory, valid until the
 * next search. A second search of the same shape and number of steps allocates nothing.
 *
 * Returns THR_OK; what the decoder returns; what thr_head_query returns, such as THR_ERANGE for a state with NaN (err
 * names sentence and step); THR_EINVAL for a decoder without step, a maximum length out of range, or more than 2^31
 * rows; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_beam_search(thr_beam *beam, const thr_decoder *decoder, uint64_t n_sentences,
                                   const uint32_t *max_lengths, thr_beam_result *result, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c - compares the answers of two heads; usually the same weights stored with fewer and with more bytes.
 *
 * The logits of two heads differ in bits, so words are compared by number: a word that ties with the other head's k-th
 * word, but ranks after it, counts as missed.
 */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/minmax.h"
#include "head/head.h"

/* The answers of both heads, k words per state, best first. */
typedef struct answers {
    uint32_t *words, *true_words, *n_candidates;
    float *log_probs, *true_log_probs;
    uint32_t *places; /* of every word its rank among a state's true words, from 1; 0: not among them */
} answers;

typedef struct sums {
    uint64_t n_found, n_first, n_candidates;
    uint32_t worst;
    double errors; /* of log-probabilities, over words in both answers */
} sums;

static void add_state(sums *s, const answers *a, size_t state, uint32_t k) {
    const size_t first = state * k;
    uint32_t n = 0;
    for (uint32_t j = 0; j < k; j++)
        a->places[a->true_words[first + j]] = j + 1;
    for (uint32_t j = 0; j < k; j++) {
        const uint32_t place = a->places[a->words[first + j]];
        if (place == 0)
            continue;
        s->errors += fabs((double)a->log_probs[first + j] - (double)a->true_log_probs[first + place - 1]);
        n++;
    }
    for (uint32_t j = 0; j < k; j++)
        a->places[a->true_words[first + j]] = 0;
    s->n_found += n;
    s->n_first += a->words[first] == a->true_words[first];
    s->n_candidates += a->n_candidates[state];
    s->worst = THR_MIN(n, s->worst);
}

static thr_head_loss loss_of(const answers *a, size_t n_states, uint32_t k) {
    sums s = {.worst = k};
    for (size_t i = 0; i < n_states; i++)
        add_state(&s, a, i, k);
    const double n = (double)n_states;
    return (thr_head_loss){.recall = (double)s.n_found / (n * (double)k),
                           .worst = (double)s.worst / (double)k,
                           .first = (double)s.n_first / n,
                           .candidates = (double)s.n_candidates / n,
                           .log_prob_error = s.n_found > 0 ? s.errors / (double)s.n_found : 0};
}

static thr_status check(const thr_head *head, const thr_head *truth, const thr_matrix *states, thr_error *err) {
    const thr_head_contents *a = thr_head_of(head), *b = thr_head_of(truth);
    if (a->n_words != b->n_words || a->n_dims != b->n_dims)
        return thr_fail(err, THR_EDIM,
                        "a head of %" PRIu32 " words and %" PRIu32 " dimensions beside one of %" PRIu32 " and %" PRIu32
                        ": compare heads of the same words and dimensions",
                        a->n_words, a->n_dims, b->n_words, b->n_dims);
    if (states->n_rows == 0)
        return thr_fail(err, THR_EDIM, "no states to compare heads on");
    return THR_OK;
}

static thr_status make_room(thr_context *context, answers *a, uint64_t n_states, uint32_t k, uint32_t n_words,
                            thr_error *err) {
    size_t n;
    if (n_states > SIZE_MAX || !thr_mul_size((size_t)n_states, k, &n)) {
        (void)thr_fail(err, THR_ENOMEM, "no memory for %" PRIu64 " states with %" PRIu32 " words each", n_states, k);
        return THR_ENOMEM;
    }
    THR_TRY(thr_alloc(context, n, sizeof *a->words, &a->words, "words", err));
    THR_TRY(thr_alloc(context, n, sizeof *a->true_words, &a->true_words, "words", err));
    THR_TRY(thr_alloc(context, n, sizeof *a->log_probs, &a->log_probs, "log-probabilities", err));
    THR_TRY(thr_alloc(context, n, sizeof *a->true_log_probs, &a->true_log_probs, "log-probabilities", err));
    THR_TRY(thr_alloc(context, (size_t)n_states, sizeof *a->n_candidates, &a->n_candidates, "counts", err));
    return thr_alloc_zero(context, n_words, sizeof *a->places, &a->places, "places of words", err);
}

static void free_workspace(thr_context *context, const answers *a) {
    THR_RELEASE(context, a->words, a->true_words, a->log_probs, a->true_log_probs, a->n_candidates, a->places);
}

thr_status thr_head_compare(thr_head *head, thr_head *truth, const thr_matrix *states, uint32_t k,
                            const thr_head_query_options *options, thr_head_loss *loss, thr_error *err) {
    thr_head_query_options screened, full;
    answers a = {.words = NULL};
    thr_status status = THR_OK;
    if (head == NULL || truth == NULL || states == NULL || loss == NULL)
        return thr_fail(err, THR_EINVAL, "a head, the states or the result of a comparison is NULL");
    *loss = (thr_head_loss){.recall = 0};
    thr_head_query_options_init(&full);
    thr_head_query_options_init(&screened);
    if (options != NULL)
        screened = *options;
    full.never = screened.never;
    full.n_never = screened.n_never;
    THR_TRY(check(head, truth, states, err));
    const uint32_t n_words = thr_head_of(head)->n_words;
    if (k == 0 || k > n_words)
        return thr_fail(err, THR_EINVAL, "the best %" PRIu32 " words of heads that have %" PRIu32, k, n_words);
    thr_context *context = head->context;
    uint32_t *given = screened.n_candidates;
    THR_TRY_OUT(make_room(context, &a, states->n_rows, k, n_words, err));
    screened.n_candidates = a.n_candidates;
    THR_TRY_OUT(
        thr_head_query(truth, states, k, &full, &(thr_head_answers){a.true_words, NULL, a.true_log_probs}, err));
    THR_TRY_OUT(thr_head_query(head, states, k, &screened, &(thr_head_answers){a.words, NULL, a.log_probs}, err));
    *loss = loss_of(&a, (size_t)states->n_rows, k);
    for (uint64_t i = 0; given != NULL && i < states->n_rows; i++)
        given[i] = a.n_candidates[i];
out:
    free_workspace(context, &a);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.c - a screen's answers beside those of all words, of the same head or of another, such as the same weights
 * stored with more bytes.
 *
 * Logits of the same head have the same bits, so a word that ties with the k-th counts as found. Those of two heads
 * differ, so words are compared by number: a word that ties with the other head's k-th word, but ranks after it, counts
 * as missed.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "head/head.h"

/* The answers of both queries, k words per state, best first. */
typedef struct answers {
    uint32_t *words, *true_words, *n_candidates;
    float *values, *true_values; /* logits; of another head log-probabilities */
    uint32_t *places;            /* of every word its rank among a state's true words, from 1; 0: not among them */
    bool same_head;
} answers;

typedef struct sums {
    uint64_t n_found, n_first, n_candidates;
    uint32_t worst;
    double errors; /* of log-probabilities, over words in both answers */
} sums;

static uint32_t count_reaching(const answers *a, size_t first, uint32_t k) {
    uint32_t n = 0;
    while (n < k && a->values[first + n] >= a->true_values[first + k - 1])
        n++;
    return n;
}

static uint32_t count_common(const answers *a, size_t first, uint32_t k, double *errors) {
    uint32_t n = 0;
    for (uint32_t j = 0; j < k; j++)
        a->places[a->true_words[first + j]] = j + 1;
    for (uint32_t j = 0; j < k; j++) {
        const uint32_t place = a->places[a->words[first + j]];
        if (place == 0)
            continue;
        *errors += fabs((double)a->values[first + j] - (double)a->true_values[first + place - 1]);
        n++;
    }
    for (uint32_t j = 0; j < k; j++)
        a->places[a->true_words[first + j]] = 0;
    return n;
}

static thr_head_recall recall_of(const answers *a, size_t n_states, uint32_t k) {
    sums s = {.worst = k};
    for (size_t i = 0; i < n_states; i++) {
        const size_t first = i * k;
        const uint32_t n = a->same_head ? count_reaching(a, first, k) : count_common(a, first, k, &s.errors);
        s.n_found += n;
        s.n_first += a->words[first] == a->true_words[first];
        s.n_candidates += a->n_candidates[i];
        s.worst = THR_MIN(n, s.worst);
    }
    const double n = (double)n_states;
    return (thr_head_recall){.recall = (double)s.n_found / (n * (double)k),
                             .worst = (double)s.worst / (double)k,
                             .first = (double)s.n_first / n,
                             .candidates = (double)s.n_candidates / n,
                             .log_prob_error = s.n_found > 0 ? s.errors / (double)s.n_found : 0};
}

static thr_status check(const thr_head *head, const thr_head *truth, const thr_matrix *states, uint32_t k,
                        thr_error *err) {
    const thr_head_contents *a = thr_head_of(head), *b = thr_head_of(truth);
    if (a->n_words != b->n_words || a->n_dims != b->n_dims)
        return thr_fail(err, THR_EDIM,
                        "a head of %" PRIu32 " words and %" PRIu32 " dimensions beside one of %" PRIu32 " and %" PRIu32
                        ": compare heads of the same words and dimensions",
                        a->n_words, a->n_dims, b->n_words, b->n_dims);
    if (states->n_rows == 0)
        return thr_fail(err, THR_EDIM, "no states to measure on");
    if (k == 0 || k > a->n_words)
        return thr_fail(err, THR_EINVAL, "the best %" PRIu32 " words of a head that has %" PRIu32, k, a->n_words);
    return THR_OK;
}

/* For n words of all states together. */
static thr_status make_room(thr_context *context, answers *a, size_t n_states, size_t n, uint32_t n_words,
                            thr_error *err) {
    THR_TRY(thr_alloc(context, n, sizeof *a->words, &a->words, "words", err));
    THR_TRY(thr_alloc(context, n, sizeof *a->true_words, &a->true_words, "words", err));
    THR_TRY(thr_alloc(context, n, sizeof *a->values, &a->values, "logits", err));
    THR_TRY(thr_alloc(context, n, sizeof *a->true_values, &a->true_values, "logits", err));
    THR_TRY(thr_alloc(context, n_states, sizeof *a->n_candidates, &a->n_candidates, "counts", err));
    return thr_alloc_zero(context, n_words, sizeof *a->places, &a->places, "places of words", err);
}

/* Logits of one head's words; log-probabilities where two heads are compared. */
static thr_head_answers answers_in(const answers *a, uint32_t *words, float *values) {
    return (thr_head_answers){words, a->same_head ? values : NULL, a->same_head ? NULL : values};
}

thr_status thr_head_measure(thr_head *head, thr_head *truth, const thr_matrix *states, uint32_t k,
                            const thr_head_query_options *options, thr_head_recall *recall, thr_error *err) {
    thr_head_query_options screened, full;
    answers a = {.same_head = truth == NULL};
    thr_status status = THR_OK;
    if (head == NULL || states == NULL || recall == NULL)
        return thr_fail(err, THR_EINVAL, "the head, the states or the result of a measurement is NULL");
    *recall = (thr_head_recall){.recall = 0};
    thr_head_query_options_init(&full);
    thr_head_query_options_init(&screened);
    if (options != NULL)
        screened = *options;
    full.never = screened.never;
    full.n_never = screened.n_never;
    if (truth == NULL)
        truth = head;
    THR_TRY(check(head, truth, states, k, err));
    thr_context *context = head->context;
    uint32_t *given = screened.n_candidates;
    size_t n;
    if (states->n_rows > SIZE_MAX || !thr_mul_size((size_t)states->n_rows, k, &n))
        return thr_fail(err, THR_ENOMEM, "no memory for %" PRIu64 " states with %" PRIu32 " words each", states->n_rows,
                        k);
    THR_TRY_OUT(make_room(context, &a, (size_t)states->n_rows, n, thr_head_of(head)->n_words, err));
    screened.n_candidates = a.n_candidates;
    const thr_head_answers true_out = answers_in(&a, a.true_words, a.true_values);
    const thr_head_answers out = answers_in(&a, a.words, a.values);
    THR_TRY_OUT(thr_head_query(truth, states, k, &full, &true_out, err));
    THR_TRY_OUT(thr_head_query(head, states, k, &screened, &out, err));
    *recall = recall_of(&a, (size_t)states->n_rows, k);
    if (given != NULL)
        memcpy(given, a.n_candidates, (size_t)states->n_rows * sizeof *given);
out:
    THR_RELEASE(context, a.words, a.true_words, a.values, a.true_values, a.n_candidates, a.places);
    return status;
}

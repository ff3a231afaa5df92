/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.c - a sample of words, whose logits estimate the softmax normaliser over all words; score.c adds them.
 *
 * Words are sampled by their rank of frequency, because frequent words have most of the probability: all of the first 2
 * RANKS, then RANKS words for each doubling of the rank. From rank RANKS 2^j on, every 2^j-th word is sampled; it is
 * the middle one of the words that it represents. With C the candidates and S the sampled words that are not
 * candidates,
 *
 *     ln sum exp  ~  ln (sum over C of exp(x) + sum over S of weight exp(x))
 *
 * Candidates are exact and include the words with most of the probability, so little is left to estimate.
 */
#include <math.h>

#include "base/error.h"
#include "base/minmax.h"
#include "base/radix.h"
#include "head/workspace.h"
#include "nn/logarithm.h"

enum { RANKS = 128 };

static uint32_t step_of(uint32_t rank) {
    uint32_t step = 1;
    while (rank / step >= 2 * RANKS)
        step *= 2;
    return step;
}

/* List the sampled words, each with the number of words it represents; taken NULL: only count them. */
static uint32_t take_ranks(const thr_head_contents *c, thr_keyed *taken) {
    uint32_t n = 0;
    for (uint32_t first = 0, step; first < c->n_words; first += step, n++) {
        step = step_of(first);
        const uint32_t covered = THR_MIN(c->n_words - first, step), rank = first + covered / 2;
        if (taken != NULL)
            taken[n] = (thr_keyed){.key = c->order != NULL ? c->order[rank] : rank, .value = covered};
    }
    return n;
}

static thr_status make_sample(const thr_head *head, thr_head_workspace *workspace, thr_error *err) {
    const thr_head_contents *c = thr_head_of(head);
    const uint32_t n = take_ranks(c, NULL);
    thr_head_sample *s = &workspace->sample;
    thr_keyed *taken = NULL;
    thr_status status = THR_OK;
    if (s->n > 0)
        return THR_OK;
    THR_TRY_OUT(thr_alloc(workspace->context, n, sizeof *taken, &taken, "a sample of words", err));
    if (s->words == NULL)
        THR_TRY_OUT(thr_alloc(workspace->context, n, sizeof *s->words, &s->words, "a sample of words", err));
    if (s->weights == NULL)
        THR_TRY_OUT(thr_alloc(workspace->context, n, sizeof *s->weights, &s->weights, "a sample of words", err));
    (void)take_ranks(c, taken);
    THR_TRY_OUT(thr_radix_sort(workspace->context, taken, n, err));
    for (uint32_t i = 0; i < n; i++) {
        s->words[i] = (uint32_t)taken[i].key;
        s->weights[i] = (float)taken[i].value;
    }
    s->n = n;
out:
    thr_release(workspace->context, taken);
    return status;
}

void thr_head_sample_free(thr_context *context, thr_head_sample *sample) {
    THR_RELEASE(context, sample->words, sample->weights);
}

thr_status thr_head_sample_states(const thr_head *head, thr_head_workspace *workspace, size_t n, thr_error *err) {
    size_t places;
    THR_TRY(make_sample(head, workspace, err));
    if (!thr_mul_size(n, workspace->sample.n, &places))
        return thr_fail(err, THR_ENOMEM, "no memory for the samples of %zu states", n);
    THR_TRY(thr_grow(workspace->context, &workspace->sampled, &workspace->sampled_capacity, places,
                     sizeof *workspace->sampled, "samples of words", err));
    thr_head_logits(head, workspace, workspace->sample.words, workspace->sample.n, n, workspace->sampled);
    return THR_OK;
}

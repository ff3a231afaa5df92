/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ibm1.c - the places of pairs, found source word by source word from the sentences that have it, and the iterations.
 *
 * A place is found by binary search in the source word's targets: a table of places for every pair of positions would
 * be many times as long as the texts.
 */
#include "align/ibm1.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ------------------------------------------------------------------------------------------------ places */

/* The sentences of each source word, each once: sentences[starts[e]] to sentences[starts[e + 1] - 1]. */
typedef struct occurrences {
    uint64_t *starts;
    uint32_t *sentences, *last; /* last: of every word, 1 + the last sentence that counted */
} occurrences;

/* Call with places NULL to count into o->starts[e + 1], then with the places to fill. */
static void visit(const thr_align_text *c, occurrences *o, uint64_t *places) {
    memset(o->last, 0, c->source.dictionary.n * sizeof *o->last);
    for (uint64_t s = 0; s < c->n_pairs; s++)
        for (uint64_t i = c->source.starts[s]; i < c->source.starts[s + 1]; i++) {
            const uint32_t e = c->source.words[i];
            if (o->last[e] == s + 1)
                continue;
            o->last[e] = (uint32_t)s + 1;
            if (places == NULL)
                o->starts[e + 1]++;
            else
                o->sentences[places[e]++] = (uint32_t)s;
        }
}

static thr_status find_occurrences(thr_context *context, const thr_align_text *c, occurrences *o, thr_error *err) {
    const size_t n = c->source.dictionary.n;
    uint64_t *places = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc_zero(context, n + 1, sizeof *o->starts, &o->starts, "occurrences of words", err));
    THR_TRY_OUT(thr_alloc(context, n, sizeof *o->last, &o->last, "occurrences of words", err));
    THR_TRY_OUT(thr_alloc(context, n, sizeof *places, &places, "occurrences of words", err));
    visit(c, o, NULL);
    for (size_t e = 0; e < n; e++) {
        places[e] = o->starts[e];
        o->starts[e + 1] += o->starts[e];
    }
    THR_TRY_OUT(
        thr_alloc(context, (size_t)o->starts[n], sizeof *o->sentences, &o->sentences, "occurrences of words", err));
    visit(c, o, places);
out:
    thr_release(context, places);
    return status;
}

static int compare(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Append the distinct target words of e's sentences. last: of every target word, 1 + the last source word. */
static thr_status add_row(thr_context *context, const thr_align_text *c, const occurrences *o, uint32_t e,
                          uint32_t *last, thr_align_model *m, thr_error *err) {
    size_t n = (size_t)m->starts[e];
    for (uint64_t i = o->starts[e]; i < o->starts[e + 1]; i++) {
        const uint32_t s = o->sentences[i];
        for (uint64_t j = c->target.starts[s]; j < c->target.starts[s + 1]; j++) {
            const uint32_t f = c->target.words[j];
            if (last[f] == e + 1)
                continue;
            last[f] = e + 1;
            THR_TRY(
                thr_grow(context, &m->targets, &m->targets_capacity, n + 1, sizeof *m->targets, "pairs of words", err));
            m->targets[n++] = f;
        }
    }
    m->starts[e + 1] = n;
    qsort(m->targets + m->starts[e], n - (size_t)m->starts[e], sizeof *m->targets, compare);
    return THR_OK;
}

thr_status thr_align_model_make(thr_context *context, const thr_align_text *c, thr_align_model *m, thr_error *err) {
    occurrences o = {NULL, NULL, NULL};
    uint32_t *last = NULL;
    thr_status status = THR_OK;
    m->n_source = c->source.dictionary.n;
    if (c->n_pairs >= UINT32_MAX)
        return thr_fail(err, THR_EDIM, "more pairs of lines than 2^32");
    THR_TRY_OUT(find_occurrences(context, c, &o, err));
    THR_TRY_OUT(thr_alloc_zero(context, c->target.dictionary.n, sizeof *last, &last, "pairs of words", err));
    THR_TRY_OUT(thr_alloc_zero(context, (size_t)m->n_source + 1, sizeof *m->starts, &m->starts, "pairs of words", err));
    for (uint32_t e = 0; e < m->n_source; e++)
        THR_TRY_OUT(add_row(context, c, &o, e, last, m, err));
    const size_t n = (size_t)m->starts[m->n_source];
    THR_TRY_OUT(thr_alloc(context, n, sizeof *m->t, &m->t, "probabilities", err));
    THR_TRY_OUT(thr_alloc(context, n, sizeof *m->counts, &m->counts, "probabilities", err));
    for (size_t i = 0; i < n; i++)
        m->t[i] = 1.0 / c->target.dictionary.n;
out:
    THR_RELEASE(context, o.starts, o.sentences, o.last, last);
    return status;
}

void thr_align_model_free(thr_context *context, thr_align_model *m) {
    THR_RELEASE(context, m->starts, m->targets, m->t, m->counts);
    *m = (thr_align_model){.n_source = 0};
}

/* ------------------------------------------------------------------------------------------------ iterations */

/* The place of a pair that occurs together. */
static size_t place_of(const thr_align_model *m, uint32_t e, uint32_t f) {
    size_t first = (size_t)m->starts[e], n = (size_t)m->starts[e + 1] - first;
    while (n > 1) {
        const size_t half = n / 2;
        first += m->targets[first + half] <= f ? half : 0;
        n -= half;
    }
    return first;
}

/* Add the counts of one target word. Returns -ln p(f). */
static double add_counts(thr_align_model *m, const uint32_t *sources, size_t n, uint32_t f) {
    size_t places[THR_ALIGN_MOST_WORDS + 1];
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        places[i] = place_of(m, sources[i], f);
        sum += m->t[places[i]];
    }
    for (size_t i = 0; i < n && sum > 0; i++) /* all t of a word may have vanished */
        m->counts[places[i]] += m->t[places[i]] / sum;
    return sum > 0 ? log((double)n / sum) : 0;
}

double thr_align_model_learn(const thr_align_text *c, thr_align_model *m) {
    double loss = 0;
    memset(m->counts, 0, (size_t)m->starts[m->n_source] * sizeof *m->counts);
    for (uint64_t s = 0; s < c->n_pairs; s++)
        for (uint64_t j = c->target.starts[s]; j < c->target.starts[s + 1]; j++)
            loss += add_counts(m, c->source.words + c->source.starts[s],
                               (size_t)(c->source.starts[s + 1] - c->source.starts[s]), c->target.words[j]);
    for (uint32_t e = 0; e < m->n_source; e++) {
        double total = 0;
        for (uint64_t i = m->starts[e]; i < m->starts[e + 1]; i++)
            total += m->counts[i];
        for (uint64_t i = m->starts[e]; i < m->starts[e + 1]; i++)
            m->t[i] = total > 0 ? m->counts[i] / total : 0;
    }
    return loss / (double)c->target.n_words;
}

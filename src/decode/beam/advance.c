/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advance.c - a step of one sentence: take its rows' continuations in descending order until `beam` live rows are
 * found.
 *
 * Each row's words are sorted, so a heap of rows by their best remaining continuation yields all continuations in
 * order. Each row contributes one ending at most, so at most `beam` endings are met: no row needs more than beam + 1 of
 * its allowed words.
 */
#include <math.h>

#include "base/minmax.h"
#include "beam/beam.h"

/* ------------------------------------------------------------------------------------------- continuations in order */

static bool comes_before(const thr_beam_next *a, const thr_beam_next *b) {
    if (a->log_prob != b->log_prob)
        return a->log_prob > b->log_prob;
    return a->word != b->word ? a->word < b->word : a->row < b->row;
}

/* Restore the heap after element i got a worse key. */
static void sift_down(thr_beam_next *heap, uint32_t n, uint32_t i) {
    const thr_beam_next moved = heap[i];
    for (uint32_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && comes_before(&heap[child + 1], &heap[child]))
            child++;
        if (comes_before(&moved, &heap[child]))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

static bool may_follow(const thr_beam *beam, uint32_t word) {
    return word != beam->options.end_word || beam->length >= beam->options.min_length;
}

/*
 * Sort a row's words by the sum of log-probabilities, then by word: the head's order except where unequal logits give
 * equal sums.
 */
static void order_words(const thr_beam *beam, size_t row) {
    uint32_t *words = beam->found + row * beam->k;
    float *log_probs = beam->log_probs + row * beam->k;
    const double before = beam->rows[row].log_prob;
    for (uint32_t i = 1; i < beam->k; i++) {
        const uint32_t word = words[i];
        const float log_prob = log_probs[i];
        uint32_t at = i;
        for (; at > 0 && before + (double)log_probs[at - 1] == before + (double)log_prob && words[at - 1] > word;
             at--) {
            words[at] = words[at - 1];
            log_probs[at] = log_probs[at - 1];
        }
        words[at] = word;
        log_probs[at] = log_prob;
    }
}

/* Find the first allowed continuation of next->row from next->at on. Returns false if there is none. */
static bool find_next(const thr_beam *beam, size_t first_row, thr_beam_next *next) {
    const size_t row = first_row + next->row;
    const uint32_t *words = beam->found + row * beam->k;
    while (next->at < beam->k && !may_follow(beam, words[next->at]))
        next->at++;
    if (next->at == beam->k)
        return false;
    next->word = words[next->at];
    next->log_prob = beam->rows[row].log_prob + (double)beam->log_probs[row * beam->k + next->at];
    return true;
}

static uint32_t make_heap(const thr_beam *beam, const thr_beam_sentence *sentence) {
    uint32_t n = 0;
    for (uint32_t row = 0; row < sentence->n_rows; row++) {
        beam->heap[n] = (thr_beam_next){.row = row};
        order_words(beam, sentence->first_row + row);
        n += find_next(beam, sentence->first_row, &beam->heap[n]);
    }
    for (uint32_t i = n / 2; i-- > 0;)
        sift_down(beam->heap, n, i);
    return n;
}

/* -------------------------------------------------------------------------------------------- live rows and endings */

static size_t add_node(thr_beam *beam, size_t row, const thr_beam_next *next) {
    beam->nodes[beam->n_nodes] = (thr_beam_node){
        .parent = beam->rows[row].node, .word = next->word, .log_prob = beam->log_probs[row * beam->k + next->at]};
    return beam->n_nodes++;
}

/* Insert into the n_best finished sequences, after those of the same score, which were finished earlier. */
static void finish(thr_beam *beam, size_t s, const thr_beam_next *next, bool ended) {
    thr_beam_sentence *sentence = &beam->sentences[s];
    const uint32_t n_best = beam->options.n_best;
    thr_beam_finished *kept = beam->finished + s * n_best;
    const double score = next->log_prob / beam->penalties[beam->length];
    uint32_t at = sentence->n_kept;
    sentence->n_finished++;
    while (at > 0 && kept[at - 1].score < score)
        at--;
    if (at == n_best)
        return;
    sentence->n_kept += sentence->n_kept < n_best;
    for (uint32_t i = sentence->n_kept - 1; i > at; i--)
        kept[i] = kept[i - 1];
    kept[at] = (thr_beam_finished){.score = score,
                                   .log_prob = next->log_prob,
                                   .node = add_node(beam, sentence->first_row + next->row, next),
                                   .length = beam->length,
                                   .ended = ended};
}

static void continue_row(thr_beam *beam, size_t s, const thr_beam_next *next) {
    const size_t row = beam->sentences[s].first_row + next->row, at = beam->n_next_rows++;
    beam->from[at] = (uint32_t)row;
    beam->words[at] = next->word;
    beam->next_rows[at] = (thr_beam_row){.node = add_node(beam, row, next), .log_prob = next->log_prob};
}

/*
 * Whether a row matters even if its own sequences cannot be among the best: its endings count towards
 * THR_BEAM_STOP_ENOUGH, and rows that share candidates share the words of their normalisers.
 */
static bool rows_depend_on_each_other(const thr_beam *beam) {
    const thr_head_query_options *query = &beam->query;
    return beam->options.stop == THR_BEAM_STOP_ENOUGH ||
           (query->group != 1 && query->screen != THR_HEAD_SCREEN_FULL && query->screen != THR_HEAD_SCREEN_ALIGN);
}

/*
 * The number of next rows, best first, that can still beat the last of n_best finished sequences. Log-probabilities are
 * at most 0, so a row's sum never rises. The penalty at maximum length is the largest, so the sum divided by it bounds
 * every later score. Of equal scores the earlier finished wins. Rows that depend on each other are dropped together.
 */
static uint32_t count_hopeful(const thr_beam *beam, size_t s, size_t first, uint32_t n) {
    const thr_beam_sentence *sentence = &beam->sentences[s];
    const uint32_t n_best = beam->options.n_best;
    const uint64_t enough = THR_MAX(n_best, beam->options.beam);
    if (sentence->n_kept < n_best)
        return n;
    if (beam->options.stop == THR_BEAM_STOP_ENOUGH && sentence->n_finished >= enough)
        return 0;
    const double last = beam->finished[s * n_best + n_best - 1].score;
    uint32_t n_hopeful = n;
    while (n_hopeful > 0 &&
           beam->next_rows[first + n_hopeful - 1].log_prob / beam->penalties[sentence->max_length] <= last)
        n_hopeful--;
    return n_hopeful > 0 && rows_depend_on_each_other(beam) ? n : n_hopeful;
}

void thr_beam_advance(thr_beam *beam, size_t s) {
    thr_beam_sentence *sentence = &beam->sentences[s];
    const size_t first = beam->n_next_rows;
    const bool last_step = beam->length == sentence->max_length;
    uint32_t n_heap = make_heap(beam, sentence);
    for (uint32_t n_going_on = 0; n_heap > 0 && n_going_on < beam->options.beam;) {
        thr_beam_next *next = &beam->heap[0];
        const bool ended = next->word == beam->options.end_word;
        if (ended || last_step)
            finish(beam, s, next, ended);
        else
            continue_row(beam, s, next);
        n_going_on += !ended;
        next->at++;
        if (!find_next(beam, sentence->first_row, next))
            *next = beam->heap[--n_heap];
        sift_down(beam->heap, n_heap, 0);
    }
    sentence->n_rows = count_hopeful(beam, s, first, (uint32_t)(beam->n_next_rows - first));
    sentence->first_row = first;
    beam->n_next_rows = first + sentence->n_rows;
}

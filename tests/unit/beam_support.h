/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam_support.h - a decoder whose states are drawn by a hash of the sentence and its words, and the search by the
 * book: all continuations sorted, nothing dropped early, no stop before the maximum length.
 */
#pragma once

#include "beam/beam.h"
#include "head_support.h"

TEST_OWNABLE(thr_beam)

enum { BEAM_MOST_ROWS = 8192, BEAM_LONGEST = 24 };

typedef enum beam_call { BEAM_CALL_NONE, BEAM_CALL_START, BEAM_CALL_STEP, BEAM_CALL_REORDER } beam_call;

typedef struct hashed {
    const uint64_t *seeds; /* of sentences */
    uint32_t n_dims;
    bool ties; /* small whole numbers */
    uint64_t hashes[BEAM_MOST_ROWS], other[BEAM_MOST_ROWS];
    uint64_t n;
    beam_call fails;    /* which call */
    bool silently;      /* without words */
    uint32_t fail_step; /* from 1 */
    uint32_t n_steps, nan_step;
} hashed;

static inline uint64_t hashed_follow(uint64_t hash, uint32_t word) {
    hash ^= word + UINT64_C(0x9e3779b97f4a7c15);
    return thr_rng_next(&hash);
}

static inline void hashed_state(const hashed *self, uint64_t hash, float *state) {
    test_gaussian(&hash, state, self->n_dims);
    for (uint32_t d = 0; self->ties && d < self->n_dims; d++)
        state[d] = (float)(int)state[d];
}

static inline thr_status hashed_end(const hashed *self, beam_call call, thr_error *error) {
    if (self->fails != call || (call != BEAM_CALL_START && self->n_steps != self->fail_step))
        return THR_OK;
    return self->silently ? THR_EIO : thr_fail(error, THR_EIO, "the model is out of breath");
}

static inline thr_status hashed_start(void *self, uint64_t n_sentences, thr_error *error) {
    hashed *h = self;
    h->n = n_sentences;
    h->n_steps = 0;
    assert_true(n_sentences <= BEAM_MOST_ROWS);
    memcpy(h->hashes, h->seeds, n_sentences * sizeof *h->hashes);
    return hashed_end(h, BEAM_CALL_START, error);
}

static inline thr_status hashed_step(void *self, const uint32_t *words, uint64_t n, float *states, thr_error *error) {
    hashed *h = self;
    h->n_steps++;
    assert_true(n == h->n && n > 0);
    for (uint64_t i = 0; i < n; i++) {
        h->hashes[i] = hashed_follow(h->hashes[i], words[i]);
        hashed_state(h, h->hashes[i], states + i * h->n_dims);
    }
    if (h->n_steps == h->nan_step)
        states[n * h->n_dims - 1] = NAN;
    return hashed_end(h, BEAM_CALL_STEP, error);
}

static inline thr_status hashed_reorder(void *self, const uint32_t *from, uint64_t n, thr_error *error) {
    hashed *h = self;
    assert_true(n <= BEAM_MOST_ROWS);
    for (uint64_t i = 0; i < n; i++) {
        assert_true(from[i] < h->n);
        h->other[i] = h->hashes[from[i]];
    }
    memcpy(h->hashes, h->other, n * sizeof *h->hashes);
    h->n = n;
    return hashed_end(h, BEAM_CALL_REORDER, error);
}

static inline thr_decoder hashed_decoder(hashed *self) {
    return (thr_decoder){self, hashed_start, hashed_step, hashed_reorder};
}

/* ------------------------------------------------------------------------------------------------ by the book */

typedef struct naive_sequence {
    uint32_t words[BEAM_LONGEST], n;
    float log_probs[BEAM_LONGEST];
    double log_prob, score;
    uint64_t hash;
    bool ended;
    uint32_t row; /* that it goes on from; of finished ones, the order in which they were finished */
} naive_sequence;

static inline int naive_by_log_prob(const void *a, const void *b) {
    const naive_sequence *x = a, *y = b;
    if (x->log_prob != y->log_prob)
        return x->log_prob > y->log_prob ? -1 : 1;
    const uint32_t u = x->words[x->n - 1], v = y->words[y->n - 1];
    return u != v ? (u > v) - (u < v) : (x->row > y->row) - (x->row < y->row);
}

static inline int naive_by_score(const void *a, const void *b) {
    const naive_sequence *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

typedef struct naive_search {
    thr_beam *beam; /* for the head, the options and the penalties, which have a test of their own */
    const hashed *model;
    naive_sequence *rows, *next, *finished; /* finished: the answer */
    size_t n_rows, n_next, n_finished;
} naive_search;

static inline bool naive_forbids(const thr_beam_options *o, const uint32_t *never, uint32_t word, uint32_t length) {
    for (uint64_t i = 0; i < o->n_never; i++)
        if (never[i] == word)
            return true;
    return word == o->end_word && length < o->min_length;
}

/* Every continuation of every row, sorted. k words of a row: all of them, where there is no screen. */
static inline void naive_continue(naive_search *s, const uint32_t *never, uint32_t length) {
    const thr_beam *beam = s->beam;
    const uint32_t n_dims = s->model->n_dims;
    uint32_t n_left = 0;
    assert_ok(thr_head_count_left(beam->head, beam->query.never, beam->query.n_never, &n_left, NULL), NULL);
    const uint32_t k = beam->query.screen == THR_HEAD_SCREEN_FULL ? n_left : beam->k;
    float *states = test_new(s->n_rows * n_dims, sizeof *states), *log_probs = test_new(s->n_rows * k, sizeof(float));
    uint32_t *words = test_new(s->n_rows * k, sizeof *words);
    for (size_t i = 0; i < s->n_rows; i++)
        hashed_state(s->model, s->rows[i].hash, states + i * n_dims);
    const thr_matrix rows = thr_matrix_f32(states, s->n_rows, n_dims);
    expect_ok(thr_head_query(beam->head, &rows, k, &beam->query, &(thr_head_answers){words, NULL, log_probs}, &err));
    s->n_next = 0;
    s->next = realloc(s->next, (s->n_rows * k + 1) * sizeof *s->next);
    assert_non_null(s->next);
    for (size_t i = 0; i < s->n_rows * k; i++) {
        if (naive_forbids(&beam->options, never, words[i], length))
            continue;
        naive_sequence *next = &s->next[s->n_next++];
        *next = s->rows[i / k];
        next->words[next->n] = words[i];
        next->log_probs[next->n++] = log_probs[i];
        next->log_prob += (double)log_probs[i];
        next->hash = hashed_follow(next->hash, words[i]);
        next->ended = words[i] == beam->options.end_word;
        next->row = (uint32_t)(i / k);
    }
    qsort(s->next, s->n_next, sizeof *s->next, naive_by_log_prob);
}

/* One sentence by itself. enough: THR_BEAM_STOP_ENOUGH's number; SIZE_MAX: no stop. */
static inline void naive_run(naive_search *s, uint64_t seed, uint32_t max_length, const uint32_t *never,
                             size_t enough) {
    const thr_beam_options *o = &s->beam->options;
    const size_t most = (size_t)2 * o->beam * max_length + 1;
    s->rows = test_new(o->beam, sizeof *s->rows);
    s->finished = test_new(most, sizeof *s->finished);
    s->next = NULL;
    s->n_rows = 1;
    s->n_finished = 0;
    s->rows[0].hash = hashed_follow(seed, o->start_word);
    for (uint32_t length = 1; length <= max_length && s->n_rows > 0 && s->n_finished < enough; length++) {
        naive_continue(s, never, length);
        s->n_rows = 0;
        for (size_t i = 0, n_going_on = 0; i < s->n_next && n_going_on < o->beam; i++) {
            const naive_sequence *next = &s->next[i];
            n_going_on += !next->ended;
            if (!next->ended && length < max_length) {
                s->rows[s->n_rows++] = *next;
                continue;
            }
            s->finished[s->n_finished] = *next;
            s->finished[s->n_finished].score = next->log_prob / s->beam->penalties[length];
            s->finished[s->n_finished].row = (uint32_t)s->n_finished;
            s->n_finished++;
            assert_true(s->n_finished < most);
        }
    }
    free(s->next);
    qsort(s->finished, s->n_finished, sizeof *s->finished, naive_by_score);
}

static inline bool same_sequence(const thr_beam_result *r, uint64_t i, const naive_sequence *right) {
    const uint64_t at = r->offsets[i];
    return r->offsets[i + 1] - at == right->n && r->ended[i] == right->ended && r->scores[i] == right->score &&
           r->log_probs[i] == right->log_prob &&
           memcmp(r->words + at, right->words, right->n * sizeof(uint32_t)) == 0 &&
           memcmp(r->word_log_probs + at, right->log_probs, right->n * sizeof(float)) == 0;
}

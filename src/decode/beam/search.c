/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - the search, step by step: the decoder's states, the head's words, reordered rows for the next step. */
#include <inttypes.h>
#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "beam/beam.h"

enum { MOST_ROWS = INT32_MAX };

/* ------------------------------------------------------------------------------------------------ start */

static thr_status check(const thr_beam *beam, const thr_decoder *decoder, uint64_t n_sentences,
                        const uint32_t *max_lengths, thr_error *err) {
    if (decoder->step == NULL)
        return thr_fail(err, THR_EINVAL, "the decoder has no step");
    if (n_sentences > MOST_ROWS / beam->options.beam)
        return thr_fail(err, THR_EINVAL,
                        "%" PRIu64 " sentences with %" PRIu32 " rows each: %d rows at most, so give fewer at a time",
                        n_sentences, beam->options.beam, MOST_ROWS);
    if (beam->query.screen == THR_HEAD_SCREEN_ALIGN &&
        (beam->query.lists == NULL || beam->query.lists->starts == NULL || beam->query.lists->n < n_sentences))
        return thr_fail(err, THR_EINVAL, "the screen align has fewer lists of words than the %" PRIu64 " sentences",
                        n_sentences);
    for (uint64_t s = 0; max_lengths != NULL && s < n_sentences; s++)
        if (max_lengths[s] == 0 || max_lengths[s] > THR_BEAM_MAX_LENGTH)
            return thr_fail(err, THR_EINVAL,
                            "sentence %" PRIu64 ": a maximum length of %" PRIu32 " words: choose 1 to %" PRIu32, s,
                            max_lengths[s], THR_BEAM_MAX_LENGTH);
    return THR_OK;
}

/* Reserve memory for the most rows of any step. */
static thr_status make_row_room(thr_beam *beam, size_t n, thr_error *err) {
    thr_context *context = beam->context;
    thr_beam_capacities *c = &beam->capacities;
    const char *what = "rows of a beam";
    THR_TRY(thr_grow(context, &beam->words, &c->words, n, sizeof *beam->words, what, err));
    THR_TRY(thr_grow(context, &beam->from, &c->from, n, sizeof *beam->from, what, err));
    THR_TRY(thr_grow(context, &beam->rows, &c->rows, n, sizeof *beam->rows, what, err));
    return thr_grow(context, &beam->next_rows, &c->next_rows, n, sizeof *beam->next_rows, what, err);
}

static thr_status begin(thr_beam *beam, size_t n, const uint32_t *max_lengths, thr_error *err) {
    thr_context *context = beam->context;
    thr_beam_capacities *c = &beam->capacities;
    uint32_t longest = beam->options.max_length;
    size_t n_finished;
    if (!thr_mul_size(n, beam->options.n_best, &n_finished))
        return thr_fail(err, THR_ENOMEM, "no memory for the best %" PRIu32 " sequences of %zu sentences",
                        beam->options.n_best, n);
    THR_TRY(thr_grow(context, &beam->sentences, &c->sentences, n, sizeof *beam->sentences, "sentences", err));
    THR_TRY(thr_grow(context, &beam->finished, &c->finished, n_finished, sizeof *beam->finished, "finished sequences",
                     err));
    THR_TRY(make_row_room(beam, n * beam->options.beam, err)); /* n * beam is at most MOST_ROWS */
    for (size_t s = 0; s < n; s++) {
        const uint32_t most = max_lengths != NULL ? max_lengths[s] : beam->options.max_length;
        longest = THR_MAX(most, longest);
        beam->sentences[s] = (thr_beam_sentence){.first_row = s, .n_rows = 1, .max_length = most};
        beam->rows[s] = (thr_beam_row){.node = THR_BEAM_ROOT};
        beam->words[s] = beam->options.start_word;
    }
    beam->n_sentences = beam->n_rows = n;
    beam->n_nodes = 0;
    beam->length = 0;
    beam->n_states = 0;
    beam->head_seconds = beam->expand_seconds = beam->reorder_seconds = 0;
    return thr_beam_set_penalties(beam, longest, err);
}

/* ------------------------------------------------------------------------------------------------ decoder */

/* Return a decoder's failure with its message, or with the call's name if it gave none. */
static thr_status decoder_error(const thr_beam *beam, thr_status status, const char *call, const thr_error *cause,
                                thr_error *err) {
    if (status == THR_OK)
        return THR_OK;
    if (cause->text[0] != '\0')
        return thr_fail(err, status, "%s", cause->text);
    return thr_fail(err, status, "the decoder's %s failed at step %" PRIu32, call, beam->length);
}

static thr_status step_decoder(thr_beam *beam, const thr_decoder *decoder, thr_error *err) {
    thr_error cause = {.status = THR_OK, .text = ""};
    size_t n_floats;
    if (!thr_mul_size(beam->n_rows, beam->n_dims, &n_floats))
        return thr_fail(err, THR_ENOMEM, "no memory for %zu states", beam->n_rows);
    THR_TRY(thr_grow(beam->context, &beam->states, &beam->capacities.states, n_floats, sizeof *beam->states, "states",
                     err));
    beam->n_states += beam->n_rows;
    return decoder_error(beam, decoder->step(decoder->self, beam->words, beam->n_rows, beam->states, &cause), "step",
                         &cause, err);
}

/* Whether every row continues from its own position and none is gone, so that the decoder need not reorder. */
static bool rows_stay(const thr_beam *beam, size_t n_before) {
    if (beam->n_rows != n_before)
        return false;
    for (size_t i = 0; i < n_before; i++)
        if (beam->from[i] != i)
            return false;
    return true;
}

static thr_status reorder(const thr_beam *beam, const thr_decoder *decoder, size_t n_before, thr_error *err) {
    thr_error cause = {.status = THR_OK, .text = ""};
    if (decoder->reorder == NULL || beam->n_rows == 0 || rows_stay(beam, n_before))
        return THR_OK;
    return decoder_error(beam, decoder->reorder(decoder->self, beam->from, beam->n_rows, &cause), "reorder", &cause,
                         err);
}

/* ------------------------------------------------------------------------------------------------ head */

/* Return a head's failure with the step, and for a non-finite state with the sentence and the row. */
static thr_status add_position(const thr_beam *beam, thr_status status, const thr_error *cause, thr_error *err) {
    for (size_t s = 0; status == THR_ERANGE && s < beam->n_sentences; s++) {
        const thr_beam_sentence *sentence = &beam->sentences[s];
        const size_t first = sentence->first_row * beam->n_dims, n = (size_t)sentence->n_rows * beam->n_dims;
        for (size_t i = 0; i < n; i++)
            if (!isfinite(beam->states[first + i]))
                return thr_fail(err, status,
                                "sentence %zu, step %" PRIu32 ": the decoder's state of row %zu holds NaN or infinity",
                                s, beam->length, i / beam->n_dims);
    }
    return thr_fail(err, status, "step %" PRIu32 ": %s", beam->length, cause->text);
}

/* query is beam->query, or has the list of the rows' sentence. */
static thr_status query_rows(thr_beam *beam, const thr_head_query_options *query, size_t first, size_t n,
                             thr_error *err) {
    thr_error cause;
    const thr_matrix states = thr_matrix_f32(beam->states + first * beam->n_dims, n, beam->n_dims);
    const thr_status status = thr_head_query(
        beam->head, &states, beam->k, query,
        &(thr_head_answers){beam->found + first * beam->k, NULL, beam->log_probs + first * beam->k}, &cause);
    return status == THR_OK ? THR_OK : add_position(beam, status, &cause, err);
}

/* Query the head for all rows at once, or sentence by sentence if rows of a sentence share candidates. */
static thr_status query_head(thr_beam *beam, thr_error *err) {
    size_t n;
    if (!thr_mul_size(beam->n_rows, beam->k, &n))
        return thr_fail(err, THR_ENOMEM, "no memory for %" PRIu32 " words of %zu rows", beam->k, beam->n_rows);
    THR_TRY(thr_grow(beam->context, &beam->found, &beam->capacities.found, n, sizeof *beam->found, "words", err));
    THR_TRY(thr_grow(beam->context, &beam->log_probs, &beam->capacities.log_probs, n, sizeof *beam->log_probs,
                     "log-probabilities", err));
    thr_head_query_options query = beam->query;
    const bool by_lists = query.screen == THR_HEAD_SCREEN_ALIGN;
    if (query.group == 1 && !by_lists)
        return query_rows(beam, &query, 0, beam->n_rows, err);
    query.group = 0;
    for (size_t s = 0; s < beam->n_sentences; s++) {
        const thr_head_word_lists list = {1, by_lists ? beam->query.lists->starts + s : NULL,
                                          by_lists ? beam->query.lists->words : NULL};
        query.lists = by_lists ? &list : NULL;
        if (beam->sentences[s].n_rows > 0)
            THR_TRY(query_rows(beam, &query, beam->sentences[s].first_row, beam->sentences[s].n_rows, err));
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ steps */

/* Reserve the nodes a step may add: for each sentence `beam` rows, and one ending per row. */
static thr_status make_node_room(thr_beam *beam, thr_error *err) {
    size_t n_live = 0;
    for (size_t s = 0; s < beam->n_sentences; s++)
        n_live += beam->sentences[s].n_rows > 0;
    const size_t n_more = n_live * beam->options.beam + beam->n_rows;
    return thr_grow(beam->context, &beam->nodes, &beam->capacities.nodes, beam->n_nodes + n_more, sizeof *beam->nodes,
                    "sequences", err);
}

static void swap_rows(thr_beam *beam) {
    thr_beam_row *rows = beam->rows;
    const size_t capacity = beam->capacities.rows;
    beam->rows = beam->next_rows;
    beam->capacities.rows = beam->capacities.next_rows;
    beam->next_rows = rows;
    beam->capacities.next_rows = capacity;
    beam->n_rows = beam->n_next_rows;
}

static thr_status step(thr_beam *beam, const thr_decoder *decoder, thr_error *err) {
    const size_t n_before = beam->n_rows;
    beam->length++;
    THR_TRY(step_decoder(beam, decoder, err));
    const double begin = thr_clock();
    THR_TRY(query_head(beam, err));
    const double queried = thr_clock();
    THR_TRY(make_node_room(beam, err));
    beam->n_next_rows = 0;
    for (size_t s = 0; s < beam->n_sentences; s++)
        if (beam->sentences[s].n_rows > 0)
            thr_beam_advance(beam, s);
    swap_rows(beam);
    const double expanded = thr_clock();
    THR_TRY(reorder(beam, decoder, n_before, err));
    beam->head_seconds += queried - begin;
    beam->expand_seconds += expanded - queried;
    beam->reorder_seconds += thr_clock() - expanded;
    return THR_OK;
}

static uint64_t count_done(const thr_beam *beam) {
    uint64_t n = 0;
    for (size_t s = 0; s < beam->n_sentences; s++)
        n += beam->sentences[s].n_rows == 0;
    return n;
}

thr_status thr_beam_search(thr_beam *beam, const thr_decoder *decoder, uint64_t n_sentences,
                           const uint32_t *max_lengths, thr_beam_result *result, thr_error *err) {
    thr_error cause = {.status = THR_OK, .text = ""};
    if (beam == NULL || decoder == NULL || result == NULL)
        return thr_fail(err, THR_EINVAL, "the beam, the decoder or the result is NULL");
    *result = (thr_beam_result){.n_sentences = 0};
    THR_TRY(check(beam, decoder, n_sentences, max_lengths, err));
    THR_TRY(begin(beam, (size_t)n_sentences, max_lengths, err));
    thr_progress progress = thr_progress_start(beam->context, "beam search", n_sentences);
    if (decoder->start != NULL)
        THR_TRY(decoder_error(beam, decoder->start(decoder->self, n_sentences, &cause), "start", &cause, err));
    while (beam->n_rows > 0) {
        THR_TRY(step(beam, decoder, err));
        THR_TRY(thr_progress_step(&progress, count_done(beam), err));
    }
    THR_TRY(thr_progress_end(&progress, n_sentences, err));
    return thr_beam_collect(beam, result, err);
}

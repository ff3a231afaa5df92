/* SPDX-License-Identifier: Apache-2.0 */
/* create.c - creating a beam search: validate options and copy them with their arrays. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "beam/beam.h"
#include "head/head.h"

enum { USUAL_BEAM = 5, USUAL_LENGTH = 200 };

static const double LARGEST_ALPHA = 10; /* so that the penalties of all lengths are finite */

/* given with its defaults in place of zeros. */
static thr_beam_options complete_options(const thr_beam_options *given) {
    thr_beam_options o = *given;
    if (o.beam == 0)
        o.beam = USUAL_BEAM;
    if (o.n_best == 0)
        o.n_best = 1;
    if (o.max_length == 0)
        o.max_length = USUAL_LENGTH;
    if (o.alpha == 0)
        o.alpha = 1;
    return o;
}

static thr_status check_numbers(const thr_beam_options *o, thr_error *err) {
    if (o->beam > THR_BEAM_MAX_BEAM)
        return thr_fail(err, THR_EINVAL, "a beam of %" PRIu32 " rows: choose 1 to %" PRIu32, o->beam,
                        THR_BEAM_MAX_BEAM);
    if (o->max_length > THR_BEAM_MAX_LENGTH)
        return thr_fail(err, THR_EINVAL, "a maximum length of %" PRIu32 " words: choose 1 to %" PRIu32, o->max_length,
                        THR_BEAM_MAX_LENGTH);
    if (o->min_length > o->max_length)
        return thr_fail(err, THR_EINVAL, "a minimum length of %" PRIu32 " words is above the maximum of %" PRIu32,
                        o->min_length, o->max_length);
    THR_TRY(thr_check_enum((int)o->penalty, THR_BEAM_PENALTY_NONE, "thr_beam_penalty", err));
    THR_TRY(thr_check_enum((int)o->stop, THR_BEAM_STOP_ENOUGH, "thr_beam_stop", err));
    if (!(o->alpha >= 0 && o->alpha <= LARGEST_ALPHA))
        return thr_fail(err, THR_EINVAL, "a length penalty with alpha %g: choose up to %g", o->alpha, LARGEST_ALPHA);
    return THR_OK;
}

static thr_status check_lists(const thr_beam_options *o, const thr_head_query_options *query, uint32_t n_words,
                              thr_error *err) {
    if (o->end_word != THR_BEAM_NO_WORD && o->end_word >= n_words)
        return thr_fail(err, THR_EINVAL, "the end word is %" PRIu32 ", and the head has %" PRIu32 " words", o->end_word,
                        n_words);
    if (o->n_never > 0 && o->never == NULL)
        return thr_fail(err, THR_EINVAL, "%" PRIu64 " words that are never produced, but the list of them is NULL",
                        o->n_never);
    for (uint64_t i = 0; i < o->n_never; i++) {
        if (o->never[i] >= n_words)
            return thr_fail(err, THR_EINVAL,
                            "never-produced word number %" PRIu64 " is %" PRIu32 ", and the head has %" PRIu32 " words",
                            i, o->never[i], n_words);
        if (o->never[i] == o->end_word)
            return thr_fail(err, THR_EINVAL, "the end word, %" PRIu32 ", is among those that are never produced",
                            o->end_word);
    }
    if (query->screen == THR_HEAD_SCREEN_AUTO)
        return thr_fail(
            err, THR_EINVAL,
            "a beam search adds the log-probabilities of its steps, which must use the same screen: name full "
            "or planes instead of auto");
    if (query->group > 1)
        return thr_fail(err, THR_EINVAL,
                        "candidates for groups of %" PRIu64
                        " states: a beam search chooses them for each row (1) or for "
                        "all rows of a sentence (0)",
                        query->group);
    if (query->n_always >= SIZE_MAX / sizeof *query->always || (query->n_always > 0 && query->always == NULL))
        return thr_fail(err, THR_EINVAL, "%" PRIu64 " always-in words, but the list of them is NULL", query->n_always);
    return THR_OK;
}

/* Whether the head may answer the end word. */
static bool can_end(const thr_beam *beam, const thr_head_query_options *query) {
    const uint32_t end = beam->options.end_word;
    for (uint64_t i = 0; i < query->n_never; i++)
        if (query->never[i] == end)
            return false;
    return !thr_head_is_hidden(beam->head->never, end);
}

/* Pass the words that are never produced, of both options, to the head, so that a row needs beam + 1 words only. */
static thr_status copy_never(thr_beam *beam, thr_error *err) {
    const thr_beam_options *o = &beam->options;
    thr_head_query_options *query = &beam->query;
    uint32_t n_left = 0;
    if (query->n_never > SIZE_MAX / sizeof *query->never - o->n_never || (query->n_never > 0 && query->never == NULL))
        return thr_fail(err, THR_EINVAL, "%" PRIu64 " words that are never answered, but the list of them is NULL",
                        query->n_never);
    THR_TRY(thr_alloc(beam->context, (size_t)(o->n_never + query->n_never), sizeof *beam->never, &beam->never,
                      "words that are never produced", err));
    if (query->n_never > 0)
        memcpy(beam->never, query->never, (size_t)query->n_never * sizeof *beam->never);
    if (o->n_never > 0)
        memcpy(beam->never + query->n_never, o->never, (size_t)o->n_never * sizeof *beam->never);
    if (o->end_word != THR_BEAM_NO_WORD && !can_end(beam, query))
        return thr_fail(err, THR_EINVAL,
                        "the end word, %" PRIu32 ", is never answered by the head: no sequence could end", o->end_word);
    query->never = beam->never;
    query->n_never += o->n_never;
    THR_TRY(thr_head_count_left(beam->head, query->never, query->n_never, &n_left, err));
    if (n_left == 0)
        return thr_fail(err, THR_EINVAL, "no word of the head may be produced");
    beam->k = THR_MIN(o->beam + 1, n_left);
    return THR_OK;
}

/* Copy the always-in words with the end word appended: every row must be able to end. */
static thr_status copy_lists(thr_beam *beam, thr_error *err) {
    thr_beam_options *o = &beam->options;
    thr_head_query_options *query = &beam->query;
    THR_TRY(copy_never(beam, err));
    THR_TRY(thr_alloc(beam->context, (size_t)query->n_always + 1, sizeof *beam->always, &beam->always,
                      "always-in words", err));
    if (query->n_always > 0)
        memcpy(beam->always, query->always, (size_t)query->n_always * sizeof *beam->always);
    if (o->end_word != THR_BEAM_NO_WORD)
        beam->always[query->n_always++] = o->end_word;
    query->always = beam->always;
    query->n_candidates = NULL;
    query->times = NULL;
    query->used = NULL;
    query->certified = NULL;
    o->never = NULL;
    o->query = NULL;
    return THR_OK;
}

thr_status thr_beam_create(thr_head *head, const thr_beam_options *options, thr_beam **out, thr_error *err) {
    thr_head_query_options query;
    thr_beam *beam = NULL;
    thr_status status = THR_OK;
    if (head == NULL || options == NULL || out == NULL)
        return thr_fail(err, THR_EINVAL, "the head or the options of a beam search are NULL");
    thr_beam_options complete = complete_options(options);
    thr_head_query_options_init(&query);
    if (complete.query != NULL)
        query = *complete.query;
    const thr_head_info info = thr_head_get_info(head);
    THR_TRY(check_numbers(&complete, err));
    THR_TRY(check_lists(&complete, &query, info.n_words, err));
    thr_context *context = head->context;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *beam, &beam, "a beam search", err));
    beam->head = head;
    beam->context = thr_context_retain(context);
    beam->n_words = info.n_words;
    beam->n_dims = info.n_dims;
    beam->options = complete;
    beam->query = query;
    THR_TRY_OUT(copy_lists(beam, err));
    THR_TRY_OUT(thr_alloc(context, complete.beam, sizeof *beam->heap, &beam->heap, "rows of a beam", err));
out:
    THR_RETURN_MADE(status, beam, out, thr_beam_free);
}

void thr_beam_free(thr_beam *beam) {
    if (beam == NULL)
        return;
    void *const pieces[] = {beam->always,
                            beam->never,
                            beam->sentences,
                            beam->finished,
                            beam->rows,
                            beam->next_rows,
                            beam->words,
                            beam->from,
                            beam->states,
                            beam->found,
                            beam->log_probs,
                            beam->penalties,
                            beam->heap,
                            beam->nodes,
                            beam->first_of,
                            beam->offsets,
                            beam->result_words,
                            beam->word_log_probs,
                            beam->result_log_probs,
                            beam->scores,
                            beam->ended};
    thr_context *context = beam->context;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        thr_release(context, pieces[i]);
    thr_release(context, beam);
    thr_context_free(context);
}

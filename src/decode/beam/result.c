/* SPDX-License-Identifier: Apache-2.0 */
/* result.c - writing finished sequences to arrays, from their last words back to the first. */
#include "base/error.h"
#include "beam/beam.h"

static thr_status make_room(thr_beam *beam, size_t n_sequences, size_t n_words, thr_error *err) {
    thr_context *context = beam->context;
    thr_beam_capacities *c = &beam->capacities;
    const char *what = "what a beam search found";
    THR_TRY(thr_grow(context, &beam->first_of, &c->first_of, beam->n_sentences + 1, sizeof *beam->first_of, what, err));
    THR_TRY(thr_grow(context, &beam->offsets, &c->offsets, n_sequences + 1, sizeof *beam->offsets, what, err));
    THR_TRY(thr_grow(context, &beam->result_words, &c->result_words, n_words, sizeof *beam->result_words, what, err));
    THR_TRY(
        thr_grow(context, &beam->word_log_probs, &c->word_log_probs, n_words, sizeof *beam->word_log_probs, what, err));
    THR_TRY(thr_grow(context, &beam->result_log_probs, &c->result_log_probs, n_sequences,
                     sizeof *beam->result_log_probs, what, err));
    THR_TRY(thr_grow(context, &beam->scores, &c->scores, n_sequences, sizeof *beam->scores, what, err));
    return thr_grow(context, &beam->ended, &c->ended, n_sequences, sizeof *beam->ended, what, err);
}

static void put_sequence(thr_beam *beam, size_t i, const thr_beam_finished *f) {
    size_t at = (size_t)beam->offsets[i] + f->length;
    beam->offsets[i + 1] = at;
    beam->result_log_probs[i] = f->log_prob;
    beam->scores[i] = f->score;
    beam->ended[i] = f->ended;
    for (size_t node = f->node; node != THR_BEAM_ROOT; node = beam->nodes[node].parent) {
        beam->result_words[--at] = beam->nodes[node].word;
        beam->word_log_probs[at] = beam->nodes[node].log_prob;
    }
}

thr_status thr_beam_collect(thr_beam *beam, thr_beam_result *result, thr_error *err) {
    const uint32_t n_best = beam->options.n_best;
    size_t n_sequences = 0, n_words = 0;
    for (size_t s = 0; s < beam->n_sentences; s++) {
        n_sequences += beam->sentences[s].n_kept;
        for (uint32_t i = 0; i < beam->sentences[s].n_kept; i++)
            n_words += beam->finished[s * n_best + i].length;
    }
    THR_TRY(make_room(beam, n_sequences, n_words, err));
    size_t n = 0;
    beam->offsets[0] = 0;
    for (size_t s = 0; s < beam->n_sentences; s++) {
        beam->first_of[s] = n;
        for (uint32_t i = 0; i < beam->sentences[s].n_kept; i++)
            put_sequence(beam, n++, &beam->finished[s * n_best + i]);
    }
    beam->first_of[beam->n_sentences] = n;
    *result = (thr_beam_result){.n_sentences = beam->n_sentences,
                                .n_sequences = n,
                                .first_of = beam->first_of,
                                .offsets = beam->offsets,
                                .words = beam->result_words,
                                .word_log_probs = beam->word_log_probs,
                                .log_probs = beam->result_log_probs,
                                .scores = beam->scores,
                                .ended = beam->ended,
                                .n_steps = beam->length,
                                .n_states = beam->n_states,
                                .head_seconds = beam->head_seconds,
                                .expand_seconds = beam->expand_seconds,
                                .reorder_seconds = beam->reorder_seconds};
    return THR_OK;
}

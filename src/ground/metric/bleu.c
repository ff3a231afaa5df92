/* SPDX-License-Identifier: Apache-2.0 */
/* bleu.c - BLEU: counts sentence by sentence, and the score from the counts. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text/number.h"
#include "metric/bleu_sentence.h"

static const double USUAL_FLOOR = 0.1, USUAL_K = 1;

/* ------------------------------------------------------------------------------------------------ options */

static thr_status read_options(const thr_bleu_options *given, thr_bleu_options *o, thr_error *err) {
    *o = given != NULL ? *given : (thr_bleu_options){0};
    if ((unsigned)o->tokeniser > THR_BLEU_TOKENISER_NONE)
        return thr_fail(err, THR_EINVAL, "there is no tokeniser number %d", (int)o->tokeniser);
    if ((unsigned)o->smoothing > THR_BLEU_SMOOTHING_ADD_K)
        return thr_fail(err, THR_EINVAL, "there is no smoothing number %d", (int)o->smoothing);
    if (!(o->smoothing_value >= 0 && isfinite(o->smoothing_value)))
        return thr_fail(err, THR_EINVAL, "a smoothing value of %g: a number above 0", o->smoothing_value);
    if (o->smoothing_value == 0)
        o->smoothing_value = o->smoothing == THR_BLEU_SMOOTHING_FLOOR ? USUAL_FLOOR : USUAL_K;
    return THR_OK;
}

thr_status thr_bleu_signature(const thr_bleu_options *options, size_t n_references,
                              char signature[THR_BLEU_SIGNATURE_SIZE], thr_error *err) {
    static const char *const names[] = {"exp", "none", "floor", "add-k"};
    thr_bleu_options o;
    char number[32], value[40] = "";
    THR_TRY(read_options(options, &o, err));
    if (o.smoothing == THR_BLEU_SMOOTHING_FLOOR || o.smoothing == THR_BLEU_SMOOTHING_ADD_K) {
        (void)thr_number_text(number, sizeof number, o.smoothing_value < 1e15 ? "%.2f" : "%g", o.smoothing_value);
        (void)snprintf(value, sizeof value, "[%s]", number);
    }
    (void)snprintf(
        signature, THR_BLEU_SIGNATURE_SIZE, "nrefs:%zu|case:%s|eff:%s|tok:%s|smooth:%s%s|version:thresher-%s",
        n_references, o.lower_case ? "lc" : "mixed", o.effective_order ? "yes" : "no",
        o.tokeniser == THR_BLEU_TOKENISER_NONE ? "none" : "13a", names[o.smoothing], value, THR_VERSION_STRING);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ a score */

/* exp(mean of the log precisions), times the brevity penalty; 0 if a precision is 0. */
static double combine(const thr_bleu_score *score, size_t n_orders) {
    double sum = 0;
    for (size_t i = 0; i < n_orders; i++) {
        if (score->precisions[i] == 0)
            return 0;
        sum += log(score->precisions[i]);
    }
    return score->brevity_penalty * exp(sum / (double)n_orders);
}

static void compute_score(const thr_bleu_counts *c, const thr_bleu_options *o, thr_bleu_score *score) {
    *score = (thr_bleu_score){.brevity_penalty = 1,
                              .n_sentences = 1,
                              .hypothesis_length = c->hypothesis_length,
                              .reference_length = c->reference_length};
    if (c->hypothesis_length < c->reference_length)
        score->brevity_penalty =
            c->hypothesis_length == 0 ? 0 : exp(1 - (double)c->reference_length / (double)c->hypothesis_length);
    bool any = false;
    for (size_t i = 0; i < THR_BLEU_ORDER; i++) {
        score->counts[i] = c->counts[i];
        score->totals[i] = c->totals[i];
        any = any || c->counts[i] > 0;
    }
    if (!any)
        return;
    double halves = 1;
    size_t n_orders = THR_BLEU_ORDER;
    for (size_t i = 0; i < THR_BLEU_ORDER; i++) {
        const double more = o->smoothing == THR_BLEU_SMOOTHING_ADD_K && i > 0 ? o->smoothing_value : 0;
        const double count = (double)c->counts[i] + more, total = (double)c->totals[i] + more;
        if (total == 0)
            break;
        if (o->effective_order)
            n_orders = i + 1;
        if (count > 0) {
            score->precisions[i] = 100 * count / total;
        } else if (o->smoothing == THR_BLEU_SMOOTHING_EXP) {
            halves *= 2;
            score->precisions[i] = 100 / (halves * total);
        } else if (o->smoothing == THR_BLEU_SMOOTHING_FLOOR) {
            score->precisions[i] = 100 * o->smoothing_value / total;
        }
    }
    score->bleu = combine(score, n_orders);
}

/* ------------------------------------------------------------------------------------------------ sentences */

static thr_status check_texts(const thr_bleu_texts *texts, uint64_t n, const char *name, size_t number,
                              thr_error *err) {
    char which[40] = "";
    if (number > 0)
        (void)snprintf(which, sizeof which, " %zu", number);
    if (texts->n != n)
        return thr_fail(err, THR_EDIM, "%s%s has %" PRIu64 " sentences for %" PRIu64 " hypotheses", name, which,
                        texts->n, n);
    for (uint64_t i = 0; i < n; i++)
        if (texts->offsets[i] > texts->offsets[i + 1])
            return thr_fail(err, THR_EINVAL, "%s%s: the offsets of sentence %" PRIu64 " fall", name, which, i);
    return THR_OK;
}

static thr_status check(const thr_bleu_texts *hypotheses, const thr_bleu_texts *references, size_t n_references,
                        thr_error *err) {
    if (hypotheses == NULL || hypotheses->n == 0)
        return thr_fail(err, THR_EDIM, "BLEU of no sentences");
    if (references == NULL || n_references == 0 || n_references >= UINT32_MAX)
        return thr_fail(err, THR_EDIM, "BLEU of %" PRIu64 " sentences with %zu references: 1 at least", hypotheses->n,
                        n_references);
    THR_TRY(check_texts(hypotheses, hypotheses->n, "the hypotheses", 0, err));
    for (size_t i = 0; i < n_references; i++)
        THR_TRY(check_texts(&references[i], hypotheses->n, "reference", i + 1, err));
    return THR_OK;
}

static thr_status start(thr_bleu_room *room, size_t n_texts, thr_error *err) {
    *room = (thr_bleu_room){.n_texts = n_texts};
    room->texts = calloc(n_texts, sizeof *room->texts);
    room->first_of = calloc(n_texts + 1, sizeof *room->first_of);
    return room->texts != NULL && room->first_of != NULL ? THR_OK : thr_fail(err, THR_ENOMEM, "no memory for BLEU");
}

static void end(thr_bleu_room *room) {
    for (size_t i = 0; room->texts != NULL && i < room->n_texts; i++)
        free(room->texts[i].bytes);
    free(room->texts);
    free(room->spare.bytes);
    free(room->tokens);
    free(room->grams);
    free(room->words);
    free(room->runs);
    free(room->first_of);
}

/* Add the tokens of one text of sentence i. */
static thr_status add(thr_bleu_room *room, const thr_bleu_options *o, const thr_bleu_texts *texts, uint64_t i,
                      uint32_t source, thr_error *err) {
    size_t bad = 0;
    const size_t length = (size_t)(texts->offsets[i + 1] - texts->offsets[i]);
    const char *text = length > 0 ? texts->bytes + texts->offsets[i] : "";
    room->first_of[source] = room->n_tokens;
    thr_status status = thr_metric_bleu_normalise(o, text, length, &room->texts[source], &room->spare, &bad);
    if (status == THR_OK)
        status = thr_metric_bleu_part(room, source);
    room->first_of[source + 1] = room->n_tokens;
    if (status == THR_ENOMEM)
        return thr_fail(err, THR_ENOMEM, "no memory for the BLEU of sentence %" PRIu64, i);
    if (status == THR_EFORMAT && source == 0)
        return thr_fail(err, THR_EFORMAT, "hypothesis %" PRIu64 " is not UTF-8 at byte %zu", i, bad);
    if (status == THR_EFORMAT)
        return thr_fail(err, THR_EFORMAT, "sentence %" PRIu64 " of reference %" PRIu32 " is not UTF-8 at byte %zu", i,
                        source, bad);
    return status;
}

static void add_up(thr_bleu_counts *all, const thr_bleu_counts *c) {
    all->hypothesis_length += c->hypothesis_length;
    all->reference_length += c->reference_length;
    for (size_t i = 0; i < THR_BLEU_ORDER; i++) {
        all->counts[i] += c->counts[i];
        all->totals[i] += c->totals[i];
    }
}

thr_status thr_bleu(const thr_bleu_texts *hypotheses, const thr_bleu_texts *references, size_t n_references,
                    const thr_bleu_options *options, thr_bleu_score *score, double *by_sentence, thr_error *err) {
    thr_bleu_options o;
    thr_bleu_room room;
    thr_bleu_counts all = {.hypothesis_length = 0};
    thr_status status = THR_OK;
    THR_TRY(read_options(options, &o, err));
    THR_TRY(check(hypotheses, references, n_references, err));
    THR_TRY_OUT(start(&room, n_references + 1, err));
    for (uint64_t i = 0; i < hypotheses->n; i++) {
        thr_bleu_counts counts;
        thr_bleu_score of_sentence;
        room.n_tokens = 0;
        THR_TRY_OUT(add(&room, &o, hypotheses, i, 0, err));
        for (size_t r = 0; r < n_references; r++)
            THR_TRY_OUT(add(&room, &o, &references[r], i, (uint32_t)r + 1, err));
        thr_metric_bleu_count(&room, &counts);
        add_up(&all, &counts);
        if (by_sentence != NULL) {
            compute_score(&counts, &o, &of_sentence);
            by_sentence[i] = of_sentence.bleu;
        }
    }
    compute_score(&all, &o, score);
    score->n_sentences = hypotheses->n;
out:
    end(&room);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - thr_align_train: read, learn, and write the best target words of every source word. */
#include <thresher/align.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "align/ibm1.h"
#include "base/error.h"
#include "base/files/out.h"
#include "base/progress.h"
#include "base/text/number.h"

enum { USUAL_ITERATIONS = 5, MOST_ITERATIONS = 1000, USUAL_BEST = 100, PIECE = 1 << 16, NUMBER_MOST = 32 };

#define USUAL_MIN_PROBABILITY 1e-4

static thr_status take_options(const thr_align_options *given, thr_align_options *o, thr_error *err) {
    *o = given != NULL ? *given : (thr_align_options){0};
    if (o->n_iterations == 0)
        o->n_iterations = USUAL_ITERATIONS;
    if (o->n_best == 0)
        o->n_best = USUAL_BEST;
    if (o->min_probability == 0)
        o->min_probability = USUAL_MIN_PROBABILITY;
    if (o->n_iterations > MOST_ITERATIONS)
        return thr_fail(err, THR_EINVAL, "%" PRIu32 " iterations: choose 1 to %d", o->n_iterations, MOST_ITERATIONS);
    if (!(o->min_probability > 0 && o->min_probability <= 1))
        return thr_fail(err, THR_EINVAL, "a minimum probability of %g: choose above 0, up to 1", o->min_probability);
    return THR_OK;
}

static thr_status learn(thr_context *context, const thr_align_text *c, uint32_t n, thr_align_model *m, double *loss,
                        thr_error *err) {
    thr_progress progress = thr_progress_start(context, "align", n);
    THR_TRY(thr_align_model_make(context, c, m, err));
    for (uint32_t i = 0; i < n; i++) {
        *loss = thr_align_model_learn(c, m);
        THR_TRY(thr_progress_step(&progress, i + 1, err));
    }
    return thr_progress_end(&progress, n, err);
}

/* ------------------------------------------------------------------------------------------------ write */

typedef struct entry {
    double t;
    uint32_t word;
} entry;

static int compare(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->t > y->t || x->t < y->t)
        return x->t > y->t ? -1 : 1;
    return x->word < y->word ? -1 : x->word > y->word;
}

/* Text that is written a piece at a time. */
typedef struct table_writer {
    thr_context *context;
    const thr_align_text *pairs;
    const thr_align_options *options;
    thr_out out;
    char *text;
    entry *entries;
    size_t n, capacity, entries_capacity;
    uint64_t n_written;
} table_writer;

static thr_status put(table_writer *w, const char *text, char end, thr_error *err) {
    const size_t length = strlen(text);
    THR_TRY(thr_grow(w->context, &w->text, &w->capacity, w->n + length + 1, 1, "lines", err));
    memcpy(w->text + w->n, text, length);
    w->text[w->n + length] = end;
    w->n += length + 1;
    return THR_OK;
}

static thr_status flush(table_writer *w, size_t least, thr_error *err) {
    if (w->n < least)
        return THR_OK;
    THR_TRY(thr_out_write(&w->out, w->text, w->n, err));
    w->n = 0;
    return THR_OK;
}

static thr_status put_word(table_writer *w, const thr_align_model *m, uint32_t e, thr_error *err) {
    size_t n = 0;
    THR_TRY(thr_grow(w->context, &w->entries, &w->entries_capacity, (size_t)(m->starts[e + 1] - m->starts[e]),
                     sizeof *w->entries, "target words", err));
    for (uint64_t i = m->starts[e]; i < m->starts[e + 1]; i++)
        if (m->t[i] >= w->options->min_probability && m->t[i] > 0)
            w->entries[n++] = (entry){m->t[i], m->targets[i]};
    qsort(w->entries, n, sizeof *w->entries, compare);
    for (size_t i = 0; i < n && i < w->options->n_best; i++) {
        char number[NUMBER_MOST];
        (void)thr_number_text(number, sizeof number, "%.6g", w->entries[i].t);
        THR_TRY(put(w, thr_dictionary_text(&w->pairs->source.dictionary, e), ' ', err));
        THR_TRY(put(w, thr_dictionary_text(&w->pairs->target.dictionary, w->entries[i].word), ' ', err));
        THR_TRY(put(w, number, '\n', err));
        w->n_written++;
    }
    return flush(w, PIECE, err);
}

static thr_status write_table(thr_context *context, const thr_align_text *c, const thr_align_model *m, const char *path,
                              const thr_align_options *o, uint64_t *n_written, thr_error *err) {
    table_writer w = {.context = context, .pairs = c, .options = o};
    thr_status status = thr_out_open(context, path, &w.out, err);
    for (uint32_t e = 1; status == THR_OK && e < m->n_source; e++) /* without the empty word */
        status = put_word(&w, m, e, err);
    if (status == THR_OK)
        status = flush(&w, 0, err);
    if (status == THR_OK)
        status = thr_out_publish(&w.out, err);
    thr_out_drop(&w.out);
    THR_RELEASE(context, w.text, w.entries);
    *n_written = w.n_written;
    return status;
}

/* ------------------------------------------------------------------------------------------------ all */

thr_status thr_align_train(thr_context *context, const char *source, const char *target, const char *path,
                           const thr_align_options *options, thr_align_report *report, thr_error *err) {
    thr_align_options o;
    thr_align_text c = {.n_pairs = 0};
    thr_align_model m = {.n_source = 0};
    thr_status status = THR_OK;
    uint64_t n_written = 0;
    double loss = 0;
    if (context == NULL)
        return thr_fail(err, THR_EINVAL, "the context is NULL");
    THR_TRY(thr_check_path(source, "the texts to translate from", err));
    THR_TRY(thr_check_path(target, "the texts to translate to", err));
    THR_TRY(thr_check_path(path, "the table to write", err));
    THR_TRY(take_options(options, &o, err));
    THR_TRY(thr_out_check_input(path, source, err));
    THR_TRY(thr_out_check_input(path, target, err));
    THR_TRY(thr_out_check_place(context, path, err));
    THR_TRY_OUT(thr_align_text_read(context, source, target, &c, err));
    THR_TRY_OUT(learn(context, &c, o.n_iterations, &m, &loss, err));
    THR_TRY_OUT(write_table(context, &c, &m, path, &o, &n_written, err));
    if (report != NULL)
        *report = (thr_align_report){.n_pairs = c.n_pairs,
                                     .n_skipped = c.n_skipped,
                                     .n_source_words = c.source.dictionary.n - 1,
                                     .n_target_words = c.target.dictionary.n,
                                     .n_entries = m.starts[m.n_source] - m.starts[1],
                                     .n_written = n_written,
                                     .perplexity = exp(loss)};
out:
    thr_align_model_free(context, &m);
    thr_align_text_free(context, &c);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liblinear.c - models in LIBLINEAR's format: lines of a keyword and a value, then "w" and one weight per line.
 *
 *     solver_type L2R_L2LOSS_RANKSVM
 *     nr_class 2
 *     nr_feature 46
 *     bias -1
 *     w
 *     0.25
 *     ...
 *
 * Models of LIBLINEAR's other solvers have the same format. Classification models have a line of labels and score the
 * first label high, whichever it is: that does not order rows, so they are rejected.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "base/text/number.h"
#include "base/files/out.h"
#include "io/numeral.h"
#include "rank/model.h"

enum { WEIGHT_TEXT = 32, HEAD_TEXT = 128 };

/* The rest of a text, and the line read last without its trailing blanks. */
typedef struct lines {
    const char *name, *at, *end;
    const char *line;
    size_t length;
    uint64_t n_lines; /* with `line` */
} lines;

static bool next_line(lines *l) {
    if (l->at == l->end)
        return false;
    const char *stop = memchr(l->at, '\n', (size_t)(l->end - l->at));
    l->line = l->at;
    l->length = (size_t)((stop != NULL ? stop : l->end) - l->at);
    l->at = stop != NULL ? stop + 1 : l->end;
    l->n_lines++;
    while (l->length > 0 && (l->line[l->length - 1] == ' ' || l->line[l->length - 1] == '\r'))
        l->length--;
    return true;
}

/* The value after a keyword, or NULL if the line does not begin with it. */
static const char *value_of(const lines *l, const char *word) {
    const size_t n = strlen(word);
    return l->length > n && memcmp(l->line, word, n) == 0 && l->line[n] == ' ' ? l->line + n + 1 : NULL;
}

/* Parse the line from `from` to its end as one number. */
static bool number_at(const lines *l, const char *from, double *value) {
    thr_numeral numeral;
    const char *end = l->line + l->length;
    if (thr_numeral_scan(from, end, &numeral) != end)
        return false;
    *value = thr_numeral_double(&numeral);
    return true;
}

static thr_status bad_line(const lines *l, const char *wanted, thr_error *err) {
    return thr_fail(err, THR_EFORMAT, "%s: line %llu is '%.*s', not %s of a LIBLINEAR model", l->name,
                    (unsigned long long)l->n_lines, (int)THR_MIN(l->length, 60), l->line, wanted);
}

typedef struct head {
    double n_classes, n_features, bias;
} head;

/* Read the lines up to "w". */
static thr_status read_head(lines *l, head *h, thr_error *err) {
    *h = (head){.n_classes = 2, .bias = -1};
    bool any = false;
    while (next_line(l)) {
        const char *value;
        if (l->length == 1 && *l->line == 'w' && any)
            return THR_OK;
        if (any && value_of(l, "label") != NULL)
            return thr_fail(err, THR_EUNSUPPORTED,
                            "%s: line %llu has labels, so this is a model of classes: a ranking needs a model of "
                            "L2R_L2LOSS_RANKSVM or of a regression",
                            l->name, (unsigned long long)l->n_lines);
        bool right = value_of(l, "solver_type") != NULL;
        if ((value = value_of(l, "nr_class")) != NULL)
            right = number_at(l, value, &h->n_classes);
        else if ((value = value_of(l, "nr_feature")) != NULL)
            right = number_at(l, value, &h->n_features);
        else if ((value = value_of(l, "bias")) != NULL)
            right = number_at(l, value, &h->bias);
        if (!right)
            return bad_line(l, any ? "a line" : "the first line, a solver_type,", err);
        any = true;
    }
    return thr_fail(err, THR_EFORMAT, "%s: %s", l->name,
                    any ? "a LIBLINEAR model without weights: it ends before the line 'w'" : "is empty");
}

static thr_status check_head(const lines *l, const head *h, thr_error *err) {
    if (h->bias >= 0)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: a model with a bias of %g: it cancels in every ranking; train it with a bias of -1",
                        l->name, h->bias);
    if (h->n_classes != 2)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: a model of %g classes has several weights per feature: a ranking needs one", l->name,
                        h->n_classes);
    if (!(h->n_features >= 1 && h->n_features <= THR_RANKING_MAX_FEATURES) ||
        h->n_features != (double)(uint32_t)h->n_features)
        return thr_fail(err, THR_EFORMAT, "%s: a model of %g features: a model has 1 to %u", l->name, h->n_features,
                        THR_RANKING_MAX_FEATURES);
    if ((double)(l->end - l->at) < h->n_features) /* every weight takes a byte at least: check before allocating */
        return thr_fail(err, THR_ECORRUPT, "%s: cut short: too few bytes for the weights of %g features", l->name,
                        h->n_features);
    return THR_OK;
}

static thr_status read_weights(lines *l, thr_rank_model *model, thr_error *err) {
    for (uint32_t d = 0; d < model->n_features; d++) {
        if (!next_line(l))
            return thr_fail(err, THR_ECORRUPT, "%s: cut short: it ends after %u of %u weights", l->name, d,
                            model->n_features);
        if (!number_at(l, l->line, &model->weights[d]))
            return bad_line(l, "a weight", err);
    }
    while (next_line(l))
        if (l->length != 0)
            return bad_line(l, "the end", err);
    return thr_rank_model_check(model, l->name, err);
}

thr_status thr_rank_text_read(thr_context *context, const char *name, const char *text, size_t size,
                              thr_rank_model **model, thr_error *err) {
    lines l = {.name = name, .at = text, .end = size > 0 ? text + size : text};
    thr_rank_model *made = NULL;
    head h;
    THR_TRY(read_head(&l, &h, err));
    THR_TRY(check_head(&l, &h, err));
    THR_TRY(thr_rank_model_make(context, (uint32_t)h.n_features, &made, err));
    const thr_status status = read_weights(&l, made, err);
    THR_RETURN_MADE(status, made, model, thr_rank_model_free);
}

/* 17 digits preserve every bit. */
static size_t put_weight(double weight, char *to) {
    const size_t n = thr_number_text(to, WEIGHT_TEXT, "%.17g", weight);
    to[n] = '\n';
    return n + 1;
}

thr_status thr_rank_text_write(const thr_rank_model *model, const char *path, thr_error *err) {
    thr_out file = {.context = NULL};
    char *text = NULL;
    size_t size = 0;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(model->context, (size_t)model->n_features + HEAD_TEXT / WEIGHT_TEXT, WEIGHT_TEXT, &text,
                          "a model's text", err));
    size = (size_t)snprintf(text, HEAD_TEXT, "solver_type L2R_L2LOSS_RANKSVM\nnr_class 2\nnr_feature %u\nbias -1\nw\n",
                            model->n_features);
    for (uint32_t d = 0; d < model->n_features; d++)
        size += put_weight(model->weights[d], text + size);
    THR_TRY_OUT(thr_out_open(model->context, path, &file, err));
    THR_TRY_OUT(thr_out_write(&file, text, size, err));
    status = thr_out_publish(&file, err);
out:
    thr_out_drop(&file);
    thr_release(model->context, text);
    return status;
}

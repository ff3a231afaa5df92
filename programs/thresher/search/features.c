/* SPDX-License-Identifier: Apache-2.0 */
#include "search/features.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hits/values.h"
#include "input/input.h"
#include "cli/messages.h"

const char *const prog_value_forms[] = {"sum", "sigmoid", NULL};

/* ------------------------------------------------------------------------------------------------ open */

/* Print the words of a target that no item has, because a spelling mistake has no other visible effect. */
static void note_unknown(const prog_features *f) {
    enum { SHOWN = 3 };
    const char *word;
    size_t n = 0;
    uint32_t feature;

    for (size_t i = 0; (word = thr_hits_target_unknown(f->targets[0], i)) != NULL; i++) {
        if (prog_hits_parts_feature(&f->parts, word, &feature)) /* another part has it */
            continue;
        if (n++ == SHOWN) {
            prog_note("--target: more of its words match no item; only the first 3 are shown");
            return;
        }
        prog_note("--target: no item has the feature %.200s%s", word,
                  strpbrk(word, "<>") != NULL
                      ? "; a target does not compare values, it names features as items have them"
                      : "");
    }
}

static int open_targets(prog_features *f, const char *words) {
    thr_error err = {.status = THR_OK};
    uint64_t n = 0;

    f->targets = calloc(f->parts.n, sizeof(thr_hits_target *));
    if (f->targets == NULL)
        return prog_no_memory();
    for (size_t i = 0; i < f->parts.n; i++) {
        if (thr_hits_target_create(f->parts.parts[i].hits, words, &f->targets[i], &err) != THR_OK)
            return prog_failed_at("--target", &err);
        n += thr_hits_target_count(f->targets[i]);
    }
    note_unknown(f);
    prog_detail("%s of %s items may be found", prog_exact(n).text, prog_exact(prog_hits_parts_n_items(&f->parts)).text);
    return PROG_DONE;
}

int prog_features_open(prog_features *f, program *run, const prog_features_values *values,
                       const prog_hits_parts *parts) {
    f->values = values;
    f->parts = *parts;
    if (parts->n == 0)
        return PROG_DONE;
    const int rc = values->target != NULL ? open_targets(f, values->target) : PROG_DONE;
    return rc == PROG_DONE ? prog_hits_values_set(run, parts, values->multipliers, values->offsets) : rc;
}

int prog_features_from(prog_features *f, program *run, const char *file, const char *name, const prog_list *texts,
                       const thr_dual *dual) {
    thr_error err = {.status = THR_OK};

    f->name = file != NULL ? file : name;
    f->texts = texts;
    f->dual = dual;
    if (file == NULL)
        return PROG_DONE;
    if (thr_reader_open(run->context, file, &f->lines, &err) != THR_OK) {
        if (name != NULL || err.status != THR_ENOTFOUND)
            return prog_failed(&err);
        prog_error("%s; --features takes a file here, one line of features per query", err.text);
        return PROG_FAILED;
    }
    if (thr_reader_get_shape(f->lines).dtype == THR_DTYPE_NONE)
        return PROG_DONE;
    prog_error("%s holds numbers; expected lines of features", file);
    return PROG_FAILED;
}

/* ------------------------------------------------------------------------------------------------ lines */

static prog_line name_line(const prog_features *f, uint64_t line) {
    prog_line name;

    if (f->lines != NULL)
        (void)snprintf(name.text, sizeof name.text, "%.200s: line %" PRIu64, f->name, line);
    else
        (void)snprintf(name.text, sizeof name.text, "%s", f->name != NULL ? f->name : "");
    return name;
}

prog_line prog_features_model_line(const prog_features *f) {
    return name_line(f, f->model_line);
}

/* Read the next query's line; NULL at the end. */
static int read_line(prog_features *f, const char **line, size_t *length) {
    const int rc = f->lines != NULL ? prog_input_line(f->lines, line, length) : PROG_DONE;

    if (rc != PROG_DONE)
        return rc;
    if (f->lines == NULL)
        *line = NULL;
    if (f->lines == NULL && f->n_lines < f->texts->n) {
        *line = f->texts->items[f->n_lines];
        *length = strlen(*line);
    }
    f->n_lines += *line != NULL;
    return PROG_DONE;
}

/* Convert a user's words to a line of features, as `tower encode --hits` writes it. */
static int weigh(prog_features *f, const char **line, size_t *length) {
    enum { NUMBER = 32 };
    thr_dual_hit few[64], *hits = few;
    thr_error err = {.status = THR_OK};
    size_t n = 0, size = 1;

    if (thr_dual_hits(f->dual, *line, *length, hits, sizeof few / sizeof few[0], &n, &err) != THR_OK)
        return prog_failed_at(name_line(f, f->n_lines).text, &err);
    if (n > sizeof few / sizeof few[0]) {
        hits = malloc(n * sizeof *hits);
        if (hits == NULL)
            return prog_no_memory();
        (void)thr_dual_hits(f->dual, *line, *length, hits, n, &n, &err); /* it parsed before */
    }
    for (size_t i = 0; i < n; i++)
        size += hits[i].length + NUMBER;
    if (size > f->weighed_capacity) {
        free(f->weighed);
        f->weighed_capacity = 2 * size;
        f->weighed = malloc(f->weighed_capacity);
    }
    *length = 0;
    for (size_t i = 0; i < n && f->weighed != NULL; i++)
        *length += (size_t)snprintf(f->weighed + *length, f->weighed_capacity - *length, "%.*s:%.9g ",
                                    (int)hits[i].length, hits[i].word, (double)hits[i].weight);
    if (hits != few)
        free(hits);
    *line = f->weighed;
    return f->weighed != NULL ? PROG_DONE : prog_no_memory();
}

/* Check the model of a line's weights. The library refuses weights of another model than the lists', so one is kept. */
static void take_model(prog_features *f, uint64_t model) {
    if (model == 0 || (f->model != 0 && f->model != thr_hits_get_info(f->parts.parts[0].hits).model))
        return;
    f->model = model;
    f->model_line = f->n_lines;
}

/* Features are used together with vectors, all of which come from one model. */
static int check_model(const prog_features *f, uint64_t model) {
    if (model == 0 || f->model == 0 || model == f->model)
        return PROG_DONE;
    prog_error("%s: its lines come from the models %016" PRIx64 " and %016" PRIx64 ": search for each separately",
               f->name, f->model, model);
    return PROG_FAILED;
}

/* Count the unknown features of the last query of the batch; without rows of numbers they may be all that it has. */
static void count_unknown(prog_features *f, bool with_rows) {
    const prog_hits_query query = prog_hits_batch_query(&f->batch, f->batch.n_queries - 1);
    size_t n = 0;

    for (size_t i = 0; i < query.n; i++)
        n += query.features[i] == UINT32_MAX;
    f->n_unknown += n;
    if (with_rows || n < query.n)
        return;
    if (n == 0) {
        f->first_empty = f->n_empty++ == 0 ? f->n_lines - 1 : f->first_empty;
        return;
    }
    f->first_unmatched = f->n_unmatched == 0 ? f->n_lines - 1 : f->first_unmatched;
    f->n_unmatched++;
}

/* Add a line to the batch; *more is false at the end. */
static int next_line(prog_features *f, bool with_rows, bool *more) {
    const char *line;
    size_t length = 0;
    uint64_t model;
    int rc = read_line(f, &line, &length);

    *more = line != NULL;
    if (rc == PROG_DONE && *more && f->dual != NULL)
        rc = weigh(f, &line, &length);
    if (rc == PROG_DONE && *more)
        rc = prog_hits_batch_add(&f->batch, &f->parts, name_line(f, f->n_lines).text, line, length, &model);
    if (rc == PROG_DONE && *more && with_rows)
        rc = check_model(f, model);
    if (rc != PROG_DONE || !*more)
        return rc;
    take_model(f, model);
    count_unknown(f, with_rows);
    return prog_stop_signal() != 0 ? prog_stopped() : PROG_DONE;
}

int prog_features_next(prog_features *f, uint64_t most) {
    bool more = true;
    int rc = PROG_DONE;

    prog_hits_batch_clear(&f->batch);
    while (rc == PROG_DONE && more && f->batch.n_queries < most)
        rc = next_line(f, false, &more);
    return rc;
}

int prog_features_of_rows(prog_features *f, uint64_t n) {
    bool more = true;
    int rc = PROG_DONE;

    prog_hits_batch_clear(&f->batch);
    while (f->name != NULL && rc == PROG_DONE && more && f->batch.n_queries < n)
        rc = next_line(f, true, &more);
    if (rc == PROG_DONE && !more) {
        prog_error("%s has fewer lines than there are queries: give one for each, an empty one for none", f->name);
        rc = PROG_FAILED;
    }
    return rc;
}

int prog_features_end(prog_features *f) {
    const char *line = NULL;
    size_t length;
    const int rc = f->lines != NULL ? prog_input_line(f->lines, &line, &length) : PROG_DONE;

    if (rc != PROG_DONE || line == NULL)
        return rc;
    prog_error("%s has more lines than there are queries: give one for each", f->name);
    return PROG_FAILED;
}

/* ------------------------------------------------------------------------------------------------ answers */

thr_hits_queries prog_features_view(prog_features *f, size_t part) {
    return prog_hits_batch_of(&f->batch, &f->parts, part);
}

const thr_hits_target *prog_features_target(const prog_features *f, size_t part) {
    return f->targets != NULL ? f->targets[part] : NULL;
}

int prog_features_answer(prog_features *f, uint64_t q, prog_answer *answer) {
    if (f->name == NULL)
        return PROG_DONE;
    f->query = prog_hits_batch_query(&f->batch, (size_t)q);
    answer->query = &f->query;
    return f->values->explain ? prog_explain(&f->explainer, &f->parts, &f->query, answer) : PROG_DONE;
}

void prog_features_report(const prog_features *f) {
    if (f->n_unknown > 0)
        prog_note("no item has %s of their features", prog_exact(f->n_unknown).text);
    if (f->n_unmatched == 1)
        prog_note("query %" PRIu64 ": no item has any of its features, so nothing matches: check the spelling",
                  f->first_unmatched);
    else if (f->n_unmatched > 1)
        prog_note("%s queries have only features that no item has, so their answers match nothing (the first is query "
                  "%" PRIu64 "): check the spelling",
                  prog_exact(f->n_unmatched).text, f->first_unmatched);
    if (f->n_empty == 1)
        prog_note("query %" PRIu64 ": it has no features, so nothing matches", f->first_empty);
    else if (f->n_empty > 1)
        prog_note("%s queries have no features, so their answers match nothing (the first is query %" PRIu64 ")",
                  prog_exact(f->n_empty).text, f->first_empty);
}

void prog_features_free(prog_features *f) {
    thr_reader_free(f->lines);
    for (size_t i = 0; i < f->parts.n && f->targets != NULL; i++)
        thr_hits_target_free(f->targets[i]);
    free(f->targets);
    prog_hits_batch_free(&f->batch);
    prog_explainer_free(&f->explainer);
    free(f->weighed);
}

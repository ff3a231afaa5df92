/* SPDX-License-Identifier: Apache-2.0 */
#include "search_features.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "talk.h"

static int open_batch(prog_features *f, uint64_t batch, thr_search_options *options) {
    f->batch = batch;
    f->queries = calloc((size_t)batch, sizeof *f->queries);
    f->offsets = calloc((size_t)batch + 1, sizeof *f->offsets);
    f->n_unknown = calloc((size_t)batch, sizeof *f->n_unknown);
    if (f->queries == NULL || f->offsets == NULL || f->n_unknown == NULL)
        return prog_no_memory();
    f->options = options;
    options->features = &f->view;
    options->value = (thr_hits_value)f->values->value;
    options->n_unknown = f->n_unknown;
    return PROG_DONE;
}

static int open_lines(prog_features *f, program *run, const char *file) {
    thr_error err = {.status = THR_OK};
    f->name = file;
    if (thr_reader_open(run->context, file, &f->lines, &err) != THR_OK)
        return prog_failed(&err);
    if (thr_reader_get_shape(f->lines).dtype == THR_DTYPE_NONE)
        return PROG_DONE;
    prog_error("%s holds numbers; lines of features are wanted", file);
    return PROG_FAILED;
}

int prog_features_of_users(prog_features *f, program *run, const thr_index *index, const char *file,
                           const prog_list *texts, uint64_t batch, thr_search_options *options) {
    f->dual = thr_index_dual(index);
    if (f->dual == NULL || f->hits == NULL || f->values->features != NULL) {
        f->dual = NULL;
        return PROG_DONE;
    }
    f->texts = texts;
    f->name = "--text";
    const int rc = file != NULL ? open_lines(f, run, file) : PROG_DONE;
    return rc == PROG_DONE ? open_batch(f, batch, options) : rc;
}

int prog_features_open(prog_features *f, program *run, const prog_features_values *values, thr_index *index,
                       const char *dir, uint64_t batch, thr_search_options *options) {
    thr_error err = {.status = THR_OK};
    f->values = values;
    f->hits = thr_index_hits(index);
    if (f->hits == NULL && values->features == NULL && values->target == NULL)
        return PROG_DONE;
    if (f->hits == NULL) {
        prog_error("%s was built without features: build it with thresher index build --features", dir);
        return PROG_FAILED;
    }
    if (values->target != NULL && thr_hits_target_create(f->hits, values->target, &f->target, &err) != THR_OK)
        return prog_failed_at("--target", &err);
    options->target = f->target;
    if (f->target != NULL)
        prog_detail("%s of %s items may be found", prog_exact(thr_hits_target_count(f->target)).text,
                    prog_exact(thr_hits_get_info(f->hits).n_items).text);
    int rc = prog_hits_values_set(run, f->hits, values->multipliers, values->offsets);
    if (rc != PROG_DONE || values->features == NULL)
        return rc;
    rc = open_lines(f, run, values->features);
    return rc == PROG_DONE ? open_batch(f, batch, options) : rc;
}

/* Room for n features of all queries together. */
static int reserve(prog_features *f, size_t n) {
    if (n <= f->capacity)
        return PROG_DONE;
    const size_t capacity = 2 * n;
    uint32_t *features = realloc(f->features, capacity * sizeof *features);
    if (features != NULL)
        f->features = features;
    float *weights = realloc(f->weights, capacity * sizeof *weights);
    if (weights != NULL)
        f->weights = weights;
    if (features == NULL || weights == NULL)
        return prog_no_memory();
    f->capacity = capacity;
    return PROG_DONE;
}

/* The next query's line; NULL at the end. */
static int read_line(prog_features *f, const char **line, size_t *length) {
    thr_error err = {.status = THR_OK};
    *line = NULL;
    if (f->lines != NULL)
        return thr_reader_next_line(f->lines, line, length, &err) == THR_OK ? PROG_DONE : prog_failed(&err);
    if (f->next_text < f->texts->n) {
        *line = f->texts->items[f->next_text++];
        *length = strlen(*line);
    }
    return PROG_DONE;
}

/* From a user's words to a line of features, as `tower encode --hits` writes it. */
static int weigh(prog_features *f, const char **line, size_t *length) {
    enum { NUMBER = 32 };
    thr_dual_hit few[64], *hits = few;
    thr_error err = {.status = THR_OK};
    size_t n = 0, size = 1;
    if (thr_dual_hits(f->dual, *line, *length, hits, sizeof few / sizeof few[0], &n, &err) != THR_OK)
        return prog_failed_at(f->name, &err);
    if (n > sizeof few / sizeof few[0]) {
        hits = malloc(n * sizeof *hits);
        if (hits == NULL)
            return prog_no_memory();
        (void)thr_dual_hits(f->dual, *line, *length, hits, n, &n, &err); /* it was right before */
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

/* Of what model the weights of a line are; all that say it say the same. */
static int take_model(prog_features *f, uint64_t model) {
    uint64_t *all = &f->options->features_model;
    if (model != 0 && *all != 0 && model != *all) {
        prog_error("%s: its lines are of the models %016" PRIx64 " and %016" PRIx64 ": search for each by itself",
                   f->name, *all, model);
        return PROG_FAILED;
    }
    *all = model != 0 ? model : *all;
    return PROG_DONE;
}

static int next_line(prog_features *f, uint64_t q) {
    const char *line;
    size_t length = 0;
    int rc = read_line(f, &line, &length);
    if (rc == PROG_DONE && line == NULL) {
        prog_error("%s has fewer lines than there are queries: give one for each, an empty one for none", f->name);
        return PROG_FAILED;
    }
    if (rc == PROG_DONE && f->dual != NULL)
        rc = weigh(f, &line, &length);
    if (rc == PROG_DONE)
        rc = prog_hits_query_read(&f->queries[q], f->hits, f->name, line, length);
    return rc == PROG_DONE ? take_model(f, f->queries[q].model) : rc;
}

int prog_features_check(const prog_features *f) {
    const prog_features_values *v = f->values;
    if (f->batch != 0 || (v->multipliers == NULL && v->offsets == NULL && !v->explain && v->value == 0))
        return PROG_DONE;
    prog_error("--value, --multipliers, --offsets and --explain need --features: queries are vectors alone");
    return PROG_FAILED;
}

int prog_features_next(prog_features *f, uint64_t n) {
    int rc = PROG_DONE;
    if (f->batch == 0)
        return PROG_DONE;
    for (uint64_t q = 0; q < n && rc == PROG_DONE; q++) {
        const prog_hits_query *query = &f->queries[q];
        const size_t at = (size_t)f->offsets[q];
        rc = next_line(f, q);
        if (rc == PROG_DONE)
            rc = reserve(f, at + query->n);
        if (rc == PROG_DONE && query->n > 0) {
            memcpy(f->features + at, query->features, query->n * sizeof *f->features);
            memcpy(f->weights + at, query->weights, query->n * sizeof *f->weights);
        }
        f->offsets[q + 1] = at + query->n;
    }
    f->view = (thr_hits_queries){n, f->offsets, f->features, f->weights};
    return rc;
}

void prog_features_count(prog_features *f, uint64_t n) {
    for (uint64_t q = 0; q < n && f->batch != 0; q++)
        f->all_unknown += f->n_unknown[q];
}

int prog_features_explain(prog_features *f, uint64_t q, prog_answer *answer) {
    if (f->batch == 0 || !f->values->explain)
        return PROG_DONE;
    return prog_explain(&f->explainer, f->hits, &f->queries[q], answer);
}

int prog_features_end(prog_features *f) {
    thr_error err = {.status = THR_OK};
    const char *line = NULL;
    size_t length;
    if (f->lines == NULL)
        return PROG_DONE;
    if (thr_reader_next_line(f->lines, &line, &length, &err) != THR_OK)
        return prog_failed(&err);
    if (line == NULL)
        return PROG_DONE;
    prog_error("%s has more lines than there are queries: give one for each", f->name);
    return PROG_FAILED;
}

void prog_features_free(prog_features *f) {
    for (uint64_t q = 0; q < f->batch && f->queries != NULL; q++)
        prog_hits_query_free(&f->queries[q]);
    thr_reader_free(f->lines);
    thr_hits_target_free(f->target);
    prog_explainer_free(&f->explainer);
    free(f->queries);
    free(f->offsets);
    free(f->features);
    free(f->weights);
    free(f->n_unknown);
    free(f->weighed);
}

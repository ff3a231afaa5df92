/* SPDX-License-Identifier: Apache-2.0 */
#include "search_features.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "talk.h"

static int set_values(prog_features *f, program *run) {
    thr_error err = {.status = THR_OK};
    float *multipliers = NULL, *offsets = NULL;
    int rc = PROG_DONE;
    if (f->values->multipliers != NULL)
        rc = prog_hits_values_read(run, f->hits, f->values->multipliers, 1, &multipliers);
    if (rc == PROG_DONE && f->values->offsets != NULL)
        rc = prog_hits_values_read(run, f->hits, f->values->offsets, 0, &offsets);
    if (rc == PROG_DONE && (multipliers != NULL || offsets != NULL) &&
        thr_hits_set_values(f->hits, multipliers, offsets, thr_hits_get_info(f->hits).n_items, &err) != THR_OK)
        rc = prog_failed(&err);
    free(multipliers);
    free(offsets);
    return rc;
}

static int open_lines(prog_features *f, program *run, uint64_t batch, thr_search_options *options) {
    thr_error err = {.status = THR_OK};
    if (thr_reader_open(run->context, f->values->features, &f->lines, &err) != THR_OK)
        return prog_failed(&err);
    if (thr_reader_get_shape(f->lines).dtype != THR_DTYPE_NONE) {
        prog_error("%s holds numbers; --features are lines of features", f->values->features);
        return PROG_FAILED;
    }
    f->batch = batch;
    f->queries = calloc((size_t)batch, sizeof *f->queries);
    f->offsets = calloc((size_t)batch + 1, sizeof *f->offsets);
    f->n_unknown = calloc((size_t)batch, sizeof *f->n_unknown);
    if (f->queries == NULL || f->offsets == NULL || f->n_unknown == NULL)
        return prog_no_memory();
    options->features = &f->view;
    options->value = (thr_hits_value)f->values->value;
    options->n_unknown = f->n_unknown;
    return PROG_DONE;
}

int prog_features_open(prog_features *f, program *run, const prog_features_values *values, thr_index *index,
                       const char *dir, uint64_t batch, thr_search_options *options) {
    thr_error err = {.status = THR_OK};
    f->values = values;
    if (values->features == NULL && values->target == NULL)
        return PROG_DONE;
    f->hits = thr_index_hits(index);
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
    if (values->features == NULL)
        return PROG_DONE;
    const int rc = set_values(f, run);
    return rc == PROG_DONE ? open_lines(f, run, batch, options) : rc;
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

static int next_line(prog_features *f, uint64_t q) {
    thr_error err = {.status = THR_OK};
    const char *line;
    size_t length;
    if (thr_reader_next_line(f->lines, &line, &length, &err) != THR_OK)
        return prog_failed(&err);
    if (line == NULL) {
        prog_error("%s has fewer lines than there are queries: give one for each, an empty one for none",
                   f->values->features);
        return PROG_FAILED;
    }
    return prog_hits_query_read(&f->queries[q], f->hits, f->values->features, line, length);
}

int prog_features_next(prog_features *f, uint64_t n) {
    int rc = PROG_DONE;
    if (f->lines == NULL)
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
    for (uint64_t q = 0; q < n && f->lines != NULL; q++)
        f->all_unknown += f->n_unknown[q];
}

int prog_features_explain(prog_features *f, uint64_t q, prog_answer *answer) {
    if (f->lines == NULL || !f->values->explain)
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
    prog_error("%s has more lines than there are queries: give one for each", f->values->features);
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
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "search.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "talk.h"

/* Queries are answered in batches: large enough to keep all threads busy, small enough for any k. */
enum { BATCH_QUERIES = 1024, BATCH_BYTES = 64 << 20 };

/* ------------------------------------------------------------------------------------------------ prepare */

/* How many ids a row can have, and how many to ask for; rows are shorter than k where there are no more items. */
static void choose_k(prog_search *s) {
    bool is_like = s->values->like.n > 0;
    uint64_t n_others = s->info.n_items - (is_like && s->info.n_items > 0 ? 1 : 0);
    uint64_t most = n_others;

    if (s->options.filter != NULL && s->filter.n_allowed < most)
        most = s->filter.n_allowed;
    if (s->values->k > most && most == n_others)
        prog_note("k is %" PRIu64 ", but there are %s %sitems: rows are shorter", s->values->k, prog_exact(most).text,
                  is_like ? "other " : "");
    else if (s->values->k > most)
        prog_note("k is %" PRIu64 ", but the filter lets only %s items through: rows are shorter", s->values->k,
                  prog_exact(most).text);
    s->width = s->values->k < most ? s->values->k : most;
    s->depth = s->values->rerank.depth < most ? s->values->rerank.depth : most;
    if (s->depth < s->width)
        s->depth = s->width;
    s->k = s->depth + (is_like ? 1 : 0);
    if (s->width == 0)
        s->depth = s->width = 1;
    if (s->k == 0)
        s->k = 1;
}

static int allocate_best(prog_search *s) {
    uint64_t row_bytes = sizeof *s->ids + sizeof *s->scores;

    if (s->k > SIZE_MAX / row_bytes)
        return prog_no_memory();
    row_bytes *= s->k;
    s->batch = row_bytes > BATCH_BYTES / BATCH_QUERIES ? BATCH_BYTES / row_bytes : BATCH_QUERIES;
    if (s->batch == 0)
        s->batch = 1;
    s->ids = malloc((size_t)(s->batch * s->k) * sizeof *s->ids);
    s->scores = malloc((size_t)(s->batch * s->k) * sizeof *s->scores);
    return s->ids != NULL && s->scores != NULL ? PROG_DONE : prog_no_memory();
}

static int allocate_certified(prog_search *s) {
    if (!prog_results_show_certified(&s->results) && !s->run->globals.verbose)
        return PROG_DONE;
    s->certified = malloc((size_t)s->batch);
    s->options.certified = s->certified;
    return s->certified != NULL ? PROG_DONE : prog_no_memory();
}

static const char *name_of(const void *index, uint64_t id) {
    return thr_index_name(index, id);
}

int prog_search_prepare(prog_search *s) {
    const prog_search_values *values = s->values;
    thr_error err = {.status = THR_OK};
    int rc;

    if (thr_index_open(s->run->context, values->dir, &s->index, &err) != THR_OK)
        return prog_failed(&err);
    s->info = thr_index_get_info(s->index);
    thr_search_options_init(&s->options);
    s->options.query_bits = (uint32_t)values->query_bits;
    s->options.recall = (float)values->recall;
    s->options.n_survivors = values->survivors < s->info.n_items ? values->survivors : s->info.n_items;
    s->options.n_candidates = values->candidates < s->info.n_items ? values->candidates : s->info.n_items;
    s->options.exact = values->exact;
    if (!isnan(values->extra))
        s->options.extra = (float)values->extra;
    if (values->filter != NULL) {
        rc = prog_filter_read(&s->filter, s->run->context, values->filter, s->index);
        if (rc != PROG_DONE)
            return rc;
        s->options.filter = s->filter.words;
        s->options.filter_bits = s->filter.n_bits;
    }
    rc = prog_results_open(&s->results, values->output, s->run->globals.json, s->info.has_names ? name_of : NULL,
                           s->index, values->rerank.columns != NULL);
    if (rc != PROG_DONE)
        return rc;
    if (prog_search_by_radius(values)) {
        rc = prog_search_prepare_radius(s);
    } else {
        choose_k(s);
        rc = allocate_best(s);
    }
    if (rc == PROG_DONE)
        rc = allocate_certified(s);
    if (rc == PROG_DONE)
        rc = prog_rerank_open(&s->rerank, s->run, &values->rerank, s->index, s->depth);
    return rc == PROG_DONE ? prog_features_open(&s->features, s->run, &values->features, s->index, values->dir,
                                                s->batch, &s->options)
                           : rc;
}

/* ------------------------------------------------------------------------------------------------ search */

/* Take the item itself out of its answer, and what does not exist off its end. */
static uint64_t tidy(uint64_t *ids, float *scores, uint64_t k, uint64_t width, const uint64_t *self) {
    uint64_t n = 0;

    for (uint64_t i = 0; i < k && n < width && ids[i] != THR_NO_ID; i++) {
        if (self != NULL && ids[i] == *self)
            continue;
        ids[n] = ids[i];
        scores[n] = scores[i];
        n++;
    }
    return n;
}

/* Search a batch; first is the number of its first query. */
static int ask(prog_search *s, const thr_matrix *queries, uint64_t first) {
    thr_error err = {.status = THR_OK};
    double start = prog_seconds();
    thr_status status;

    if (s->results.n_queries == 0)
        s->open_s = start - s->started_s;
    if (prog_search_by_radius(s->values)) {
        thr_radius_result_free(s->found);
        status = thr_index_search_radius(s->index, queries, s->least_score, &s->options, &s->found, &err);
    } else {
        status = thr_index_search(s->index, queries, s->k, &s->options, s->ids, s->scores, &err);
    }
    if (status != THR_OK) {
        char where[256];

        if (s->values->queries == NULL || err.status == THR_ECHANGED)
            return prog_failed(&err);
        if (first == 0)
            (void)snprintf(where, sizeof where, "%.200s", s->values->queries);
        else
            (void)snprintf(where, sizeof where, "%.200s, counted from row %" PRIu64, s->values->queries, first);
        return prog_failed_at(where, &err);
    }
    s->search_s += prog_seconds() - start;
    return PROG_DONE;
}

/* Put an answer, which stands at `at`, in the order of a model; it may be deeper than what is shown. */
static int rank(prog_search *s, uint64_t at, prog_answer *one) {
    if (s->rerank.n_features == 0)
        return PROG_DONE;
    const int rc = prog_rerank_answer(&s->rerank, one->n, s->ids + at, s->scores + at);

    if (one->n > one->width)
        one->n = one->width;
    one->features = s->rerank.rows;
    one->n_features = s->rerank.n_features;
    one->found_scores = s->rerank.model != NULL ? s->rerank.found : NULL;
    return rc;
}

/* Search a batch and write its answers; first is the number of its first query. */
static int answer(prog_search *s, const thr_matrix *queries, uint64_t first) {
    int rc = prog_features_next(&s->features, queries->n_rows);

    if (rc == PROG_DONE)
        rc = ask(s, queries, first);
    if (rc == PROG_DONE)
        prog_features_count(&s->features, queries->n_rows);
    for (uint64_t q = 0; q < queries->n_rows && rc == PROG_DONE; q++) {
        const uint64_t *self = s->like != NULL ? s->like + first + q : NULL;
        uint64_t n = s->k, depth = s->depth, width = s->width, at = q * s->k;

        if (prog_search_by_radius(s->values)) {
            rc = prog_search_take_found(s, q, &n);
            depth = width = n;
            at = 0;
            if (rc != PROG_DONE)
                return rc;
        }
        prog_answer one = {.like = s->like != NULL ? s->values->like.items[first + q] : NULL,
                           .text = s->values->text.n > 0 ? s->values->text.items[first + q] : NULL,
                           .ids = s->ids + at,
                           .scores = s->scores + at,
                           .n = tidy(s->ids + at, s->scores + at, n, depth, self),
                           .width = width,
                           .certified = s->certified == NULL ? NULL : s->certified + q};

        rc = rank(s, at, &one);
        if (rc == PROG_DONE)
            rc = prog_features_explain(&s->features, q, &one);
        if (rc == PROG_DONE)
            rc = prog_results_put(&s->results, &one);
        s->n_found += one.n;
        s->n_certified += one.certified != NULL && *one.certified;
    }
    return rc == PROG_DONE && prog_stop_signal() != 0 ? prog_stopped() : rc;
}

int prog_search_file(prog_search *s) {
    thr_error err = {.status = THR_OK};
    thr_reader *file = NULL, *texts = NULL, *reader;
    thr_reader_shape shape;
    uint64_t total;
    int rc = PROG_FAILED;

    if (thr_reader_open(s->run->context, s->values->queries, &file, &err) != THR_OK)
        return prog_failed(&err);
    reader = file;
    if (thr_reader_get_shape(file).dtype == THR_DTYPE_NONE) {
        rc = prog_search_encode(s, s->values->queries, file, &texts);
        if (rc != PROG_DONE)
            goto out;
        rc = prog_features_of_users(&s->features, s->run, s->index, s->values->queries, NULL, s->batch, &s->options);
        if (rc != PROG_DONE)
            goto out;
        reader = texts;
        rc = PROG_FAILED;
    }
    if (prog_features_check(&s->features) != PROG_DONE)
        goto out;
    shape = thr_reader_get_shape(reader);
    total = shape.n_rows == THR_ROWS_UNKNOWN ? 0 : shape.n_rows;
    if (shape.n_dims != s->info.n_dims) {
        prog_error("%s has %" PRIu32 " dimensions, %s has %" PRIu32 "; queries and items must have the same",
                   s->values->queries, shape.n_dims, s->values->dir, s->info.n_dims);
        goto out;
    }
    for (uint64_t first = 0;;) {
        thr_matrix rows;

        if (thr_reader_next(reader, s->batch, &rows, &err) != THR_OK) {
            rc = prog_failed(&err);
            goto out;
        }
        if (rows.n_rows == 0)
            break;
        rc = answer(s, &rows, first);
        if (rc != PROG_DONE)
            goto out;
        first += rows.n_rows;
        if (s->results.file != stdout)
            (void)prog_progress(NULL, "search", first, total);
    }
    rc = PROG_DONE;
out:
    thr_reader_free(texts);
    thr_reader_free(file);
    return rc;
}

int prog_search_vectors(prog_search *s, size_t n) {
    int rc = PROG_DONE;

    for (uint64_t first = 0; first < n && rc == PROG_DONE; first += s->batch) {
        uint64_t rows = n - first < s->batch ? n - first : s->batch;
        thr_matrix queries = thr_matrix_f32(s->vectors + first * s->info.n_dims, rows, s->info.n_dims);

        rc = answer(s, &queries, first);
    }
    return rc;
}

/* An item by its name, or by its id where it has none of that name. */
static int find_item(const prog_search *s, const char *word, uint64_t *id) {
    thr_error err = {.status = THR_OK};

    if (s->info.has_names && thr_index_find(s->index, word, id, NULL) == THR_OK)
        return PROG_DONE;
    if (prog_read_count(word, id))
        return PROG_DONE;
    if (!s->info.has_names) {
        prog_error("--like %s: %s has no names; give an id", word, s->values->dir);
        return PROG_FAILED;
    }
    (void)thr_index_find(s->index, word, id, &err);
    return prog_failed_at("--like", &err);
}

int prog_search_like(prog_search *s) {
    size_t n = s->values->like.n;
    uint32_t n_dims = s->info.n_dims;

    s->vectors = n <= SIZE_MAX / sizeof(float) / n_dims ? malloc(n * n_dims * sizeof(float)) : NULL;
    s->like = malloc(n * sizeof *s->like);
    if (s->vectors == NULL || s->like == NULL)
        return prog_no_memory();
    for (size_t i = 0; i < n; i++) {
        thr_error err = {.status = THR_OK};
        int rc = find_item(s, s->values->like.items[i], &s->like[i]);

        if (rc != PROG_DONE)
            return rc;
        if (thr_index_vector(s->index, s->like[i], s->vectors + i * n_dims, &err) != THR_OK)
            return prog_failed_at("--like", &err);
    }
    return prog_search_vectors(s, n);
}

void prog_search_free(prog_search *s) {
    prog_results_drop(&s->results);
    prog_filter_free(&s->filter);
    prog_features_free(&s->features);
    prog_rerank_free(&s->rerank);
    thr_radius_result_free(s->found);
    free(s->ids);
    free(s->scores);
    free(s->certified);
    free(s->vectors);
    free(s->like);
    thr_index_free(s->index);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "search/search.h"

#include <inttypes.h>
#include <stdlib.h>

#include "input/input.h"
#include "cli/messages.h"

/* Queries are searched in batches: large enough to use all threads, small enough for any k. */
enum { BATCH_QUERIES = 1024, BATCH_BYTES = 64 << 20 };

/* ------------------------------------------------------------------------------------------------ room */

static void note_short_rows(const prog_search *s, uint64_t k, uint64_t most, uint64_t n_others) {
    if (k <= most || !prog_is_given(s->run, "k"))
        return;
    if (most == n_others)
        prog_note("k is %" PRIu64 ", but only %s can be found: rows are shorter", k,
                  prog_counted(most, s->like != NULL ? "other item" : "item").text);
    else
        prog_note("k is %" PRIu64 ", but the filter lets only %s through: rows are shorter", k,
                  prog_counted(most, "item").text);
}

static int allocate(prog_search *s) {
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

int prog_search_make_room(prog_search *s, uint64_t k, uint64_t depth, uint64_t n_allowed) {
    const uint64_t self = s->like != NULL ? 1 : 0;
    const uint64_t n_others = s->n_items - (s->n_items > 0 ? self : 0);
    const uint64_t most = n_allowed < n_others ? n_allowed : n_others;

    note_short_rows(s, k, most, n_others);
    s->width = k < most ? k : most;
    s->depth = depth < most ? depth : most;
    if (s->depth < s->width)
        s->depth = s->width;
    s->k = s->depth + self;
    if (s->width == 0)
        s->depth = s->width = 1;
    if (s->k == 0)
        s->k = 1;
    return allocate(s);
}

/* ------------------------------------------------------------------------------------------------ batches */

static int search_batch(prog_search *s, const thr_matrix *queries) {
    thr_error err = {.status = THR_OK};
    const double start = prog_seconds();
    char where[256];

    if (s->results.n_queries == 0)
        s->open_s = start - s->started_s;
    if (s->search_batch(s, queries, &err) != THR_OK) {
        if (err.status == THR_EMISMATCH)
            return prog_failed_at(prog_features_model_line(&s->features).text, &err);
        if (s->queries == NULL || err.status == THR_ECHANGED)
            return prog_failed(&err);
        if (s->results.n_queries == 0)
            (void)snprintf(where, sizeof where, "%.200s", s->queries);
        else
            (void)snprintf(where, sizeof where, "%.200s, counted from row %" PRIu64, s->queries, s->results.n_queries);
        if (!s->skips_wrong || err.status != THR_ERANGE)
            return prog_failed_at(where, &err);
        prog_error("%s: %s: it gets an empty answer", where, err.text);
        if (s->certified != NULL)
            s->certified[0] = 0;
        for (uint64_t i = 0; i < s->k; i++)
            s->ids[i] = THR_NO_ID;
    }
    s->search_s += prog_seconds() - start;
    return PROG_DONE;
}

/* Remove the query's own item from its answer, and missing items from its end. */
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

/* Sort the answer at position `at` by a model; it may have more items than are shown. */
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

/* Write the answer to query q of the batch. */
static int put(prog_search *s, uint64_t q) {
    const uint64_t number = s->results.n_queries;
    const uint64_t *self = s->like != NULL ? s->like + number : NULL;
    const char *word = s->words != NULL ? s->words->items[number] : NULL;
    uint64_t n = s->k, depth = s->depth, width = s->width, at = q * s->k;

    if (s->by_radius) {
        const int rc = prog_search_take_found(s, q, &n);
        if (rc != PROG_DONE)
            return rc;
        depth = width = n;
        at = 0;
    }
    prog_answer one = {.like = self != NULL ? word : NULL,
                       .text = self == NULL ? word : NULL,
                       .ids = s->ids + at,
                       .scores = s->scores + at,
                       .n = tidy(s->ids + at, s->scores + at, n, depth, self),
                       .width = width,
                       .certified = s->certified == NULL ? NULL : s->certified + q};
    int rc = rank(s, at, &one);

    if (rc == PROG_DONE)
        rc = prog_features_answer(&s->features, q, &one);
    if (rc == PROG_DONE)
        rc = prog_results_put(&s->results, &one);
    s->n_found += one.n;
    s->n_certified += one.certified != NULL && *one.certified;
    return rc;
}

int prog_search_batch(prog_search *s, const thr_matrix *queries) {
    int rc = queries != NULL ? prog_features_of_rows(&s->features, queries->n_rows)
                             : prog_features_next(&s->features, s->batch);
    const uint64_t n = queries != NULL ? queries->n_rows : s->features.batch.n_queries;

    if (rc == PROG_DONE && n > 0)
        rc = search_batch(s, queries);
    for (uint64_t q = 0; q < n && rc == PROG_DONE; q++)
        rc = put(s, q);
    if (rc == PROG_DONE && s->flush && fflush(s->results.out.file) != 0)
        rc = prog_out_failed(&s->results.out);
    return rc == PROG_DONE && prog_stop_signal() != 0 ? prog_stopped() : rc;
}

int prog_search_rows(prog_search *s, thr_reader *reader, const char *dir, uint32_t n_dims) {
    const thr_reader_shape shape = thr_reader_get_shape(reader);
    const uint64_t total = shape.n_rows == THR_ROWS_UNKNOWN ? 0 : shape.n_rows;
    thr_matrix rows;
    int rc = PROG_DONE;

    if (shape.n_dims != n_dims && shape.n_rows != 0) {
        prog_error("%s has %" PRIu32 " dimensions, %s has %" PRIu32 "; queries and items must have the same",
                   s->queries, shape.n_dims, dir, n_dims);
        return PROG_FAILED;
    }
    while (prog_input_next_rows(reader, s->batch, &rows, &rc)) {
        rc = prog_search_batch(s, &rows);
        if (rc == PROG_DONE && s->results.out.file != stdout)
            (void)prog_progress(NULL, "search", s->results.n_queries, total);
    }
    return rc;
}

int prog_search_words(prog_search *s, const float *vectors, uint32_t n_dims) {
    int rc = PROG_DONE;

    for (uint64_t first = 0, n; first < s->words->n && rc == PROG_DONE; first += n) {
        n = s->words->n - first < s->batch ? s->words->n - first : s->batch;
        const thr_matrix rows = thr_matrix_f32(vectors + first * n_dims, n, n_dims);
        rc = prog_search_batch(s, &rows);
    }
    return rc;
}

/* ------------------------------------------------------------------------------------------------ end */

/* With --json and -o the summary goes to standard output, notes to standard error. */
int prog_search_end(prog_search *s, int rc) {
    const uint64_t n = s->results.n_queries;

    rc = prog_results_close(&s->results, rc);
    if (rc != PROG_DONE)
        return rc;
    prog_note("%s, %s, in %s (%s queries/s)", prog_counted(n, "query").text, prog_counted(s->n_items, "item").text,
              prog_time(s->search_s).text, prog_short(s->search_s > 0.0 ? (double)n / s->search_s : 0.0).text);
    if (s->by_radius)
        prog_note("%s found", prog_counted(s->n_found, "item").text);
    if (s->certified != NULL)
        prog_note("%s of %s certified exact", prog_exact(s->n_certified).text, prog_counted(n, "answer").text);
    prog_features_report(&s->features);
    return rc;
}

void prog_search_free(prog_search *s) {
    prog_features_free(&s->features);
    prog_rerank_free(&s->rerank);
    thr_radius_result_free(s->found);
    free(s->ids);
    free(s->scores);
    free(s->certified);
}

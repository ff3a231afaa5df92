/* SPDX-License-Identifier: Apache-2.0 */
/*
 * score_rows.c - rescore and refine on devices: rows are sent to the devices that hold them, and their scores return.
 * All queries of a batch go together, since a few hundred rows do not keep a GPU busy.
 */
#include "store/slices.h"

#include "base/error.h"
#include "store/search_memory.h"
#include "scan/values.h"

#include <string.h>

enum { MOST_ROWS = 1 << 22 }; /* most rows sent at once */

typedef struct scoring {
    thr_store *store;
    const thr_job *job;
    const thr_scan_query *queries;
    thr_lane *lanes;
    size_t n;
    bool rescoring; /* rescore, which skips queries without a screen; else refine */
} scoring;

/* Whether a slice's device has to score a row of a query: it holds the row, and the query is not skipped. */
static bool must_score(const scoring *s, const thr_store_slice *slice, size_t query, uint64_t row) {
    const uint64_t first = slice->first_block * THR_BLOCK_ITEMS;
    return row >= first && row - first < slice->codes.n_items && !(s->rescoring && s->queries[query].skips_screen);
}

/* A candidate's row. Until it is rescored, the low half of its row field holds its sum of hits (values.c). */
static uint64_t row_of(const scoring *s, const thr_candidate *item) {
    return s->rescoring && s->job->corpus->hits != NULL ? item->row >> 32 : item->row;
}

/*
 * Store a score as thr_scan_rescore and thr_scan_refine do. With sums of posting lists this changes the candidate's
 * row, so a restart of the search could not repeat it. None can happen: there is one slice then, and all its buffers
 * have grown before.
 */
static void put_score(const scoring *s, size_t q, thr_candidate *item, float score) {
    const thr_scan_query *query = &s->queries[q];
    item->score = score;
    if (s->job->corpus->hits == NULL)
        return;
    if (s->rescoring)
        (void)thr_values_unpack(item);
    item->score = thr_scan_value(query, item, s->rescoring ? score + query->bias : score);
}

/* Position in the rows of all queries. */
typedef struct cursor {
    size_t query, item;
} cursor;

/* Copy the next rows of a slice, at most `most`, to rows. put_scores later visits the same rows in the same order. */
static uint32_t take_rows(const scoring *s, const thr_store_slice *slice, cursor *at, thr_device_row *rows,
                          uint32_t most) {
    const uint64_t first = slice->first_block * THR_BLOCK_ITEMS;
    uint32_t n = 0;
    for (; at->query < s->n; at->query++, at->item = 0) {
        const thr_collector *collector = &s->lanes[at->query].collector;
        for (; at->item < collector->n; at->item++) {
            const thr_candidate *item = &collector->items[at->item];
            const uint64_t row = row_of(s, item);
            if (!must_score(s, slice, at->query, row))
                continue;
            if (n == most)
                return n;
            rows[n++] = (thr_device_row){(uint32_t)at->query, (uint32_t)(row - first), item->distance};
        }
    }
    return n;
}

static void put_scores(const scoring *s, const thr_store_slice *slice, cursor at, const float *scores, uint32_t n) {
    for (uint32_t done = 0; done < n; at.query++, at.item = 0) {
        thr_collector *collector = &s->lanes[at.query].collector;
        for (; at.item < collector->n && done < n; at.item++)
            if (must_score(s, slice, at.query, row_of(s, &collector->items[at.item])))
                put_score(s, at.query, &collector->items[at.item], scores[done++]);
    }
}

/* Enqueues the scoring of n rows of a slice. */
typedef thr_status (*score_fn)(const scoring *s, const thr_store_slice *slice, const thr_device_row *rows, uint32_t n,
                               float *scores, thr_error *err);

static thr_status score_slice(const scoring *s, thr_store_slice *slice, score_fn score, uint32_t most, thr_error *err) {
    const thr_backend *backend = s->store->backend;
    thr_device_row *rows, *host_rows;
    float *scores, *host_scores;
    cursor at = {0, 0};
    if (most == 0)
        return THR_OK;
    THR_TRY(thr_store_grow(s->store, slice, THR_STORE_BUFFER_ROWS, most * sizeof *rows, &rows, err));
    THR_TRY(thr_store_grow(s->store, slice, THR_STORE_BUFFER_HOST_ROWS, most * sizeof *rows, &host_rows, err));
    THR_TRY(thr_store_grow(s->store, slice, THR_STORE_BUFFER_SCORES, most * sizeof *scores, &scores, err));
    THR_TRY(thr_store_grow(s->store, slice, THR_STORE_BUFFER_HOST_SCORES, most * sizeof *scores, &host_scores, err));
    for (;;) {
        const cursor from = at;
        const uint32_t n = take_rows(s, slice, &at, host_rows, most);
        if (n == 0)
            return THR_OK;
        THR_TRY(backend->upload(slice->stream, rows, host_rows, n * sizeof *rows, err));
        THR_TRY(score(s, slice, rows, n, scores, err));
        THR_TRY(backend->download(slice->stream, host_scores, scores, n * sizeof *scores, err));
        THR_TRY(backend->wait(slice->stream, err));
        put_scores(s, slice, from, host_scores, n);
    }
}

/* The number of rows to send at once: those of all queries, at most MOST_ROWS. */
static uint32_t count_rows(const scoring *s) {
    size_t n = 0;
    for (size_t q = 0; q < s->n; q++)
        n += s->lanes[q].collector.n;
    return n < MOST_ROWS ? (uint32_t)n : MOST_ROWS;
}

/* ---------------------------------------------------------------------------------------------- rescore */

static thr_status send_rest_queries(const scoring *s, thr_store_slice *slice, thr_error *err) {
    const thr_backend *backend = s->store->backend;
    const size_t size = thr_rest_query_size(slice->codes.n_dims);
    thr_rescore_query *queries;
    int8_t *digits;
    void *memory;
    THR_TRY(thr_store_grow(s->store, slice, THR_STORE_BUFFER_HOST_ROW_QUERIES, s->n * sizeof *queries, &queries, err));
    THR_TRY(thr_store_grow(s->store, slice, THR_STORE_BUFFER_HOST_ROW_VECTORS, s->n * size, &digits, err));
    for (size_t q = 0; q < s->n; q++) {
        const thr_scan_query *query = &s->queries[q];
        queries[q] = (thr_rescore_query){query->code.total, query->rest.digit_sum, query->lead_gain, query->rest_gain,
                                         query->offset_weight};
        memcpy(digits + q * size, query->rest.digits, size);
    }
    THR_TRY(thr_store_grow(s->store, slice, THR_STORE_BUFFER_ROW_QUERIES, s->n * sizeof *queries, &memory, err));
    THR_TRY(backend->upload(slice->stream, memory, queries, s->n * sizeof *queries, err));
    THR_TRY(thr_store_grow(s->store, slice, THR_STORE_BUFFER_ROW_VECTORS, s->n * size, &memory, err));
    return backend->upload(slice->stream, memory, digits, s->n * size, err);
}

static thr_status rescore_rows(const scoring *s, const thr_store_slice *slice, const thr_device_row *rows, uint32_t n,
                               float *scores, thr_error *err) {
    const thr_scan_corpus *corpus = s->job->corpus;
    const thr_record_shape shape = thr_record_shape_of(corpus->quantiser->n_dims, corpus->quantiser->item_bits,
                                                       corpus->lead, corpus->segments->lead_offsets);
    const thr_rescore_op op = {.records = slice->rows.records,
                               .record_size = (uint32_t)thr_record_size(shape),
                               .head = (uint32_t)thr_record_head(shape),
                               .n_rows = shape.n_rows,
                               .n_planes = shape.n_planes,
                               .has_offset = shape.has_offset,
                               .wide = shape.wide,
                               .digits = slice->buffers[THR_STORE_BUFFER_ROW_VECTORS].memory,
                               .digits_size = (uint32_t)thr_rest_query_size(shape.n_rows * 8),
                               .queries = slice->buffers[THR_STORE_BUFFER_ROW_QUERIES].memory,
                               .rows = rows,
                               .n_scored = n,
                               .scores = scores};
    return s->store->backend->rescore(slice->stream, &op, err);
}

/* ----------------------------------------------------------------------------------------------- refine */

static thr_status send_vectors(const scoring *s, thr_store_slice *slice, thr_error *err) {
    const size_t size = slice->codes.n_dims * sizeof(float);
    thr_refine_term *terms;
    char *host;
    void *memory;
    THR_TRY(thr_store_grow(s->store, slice, THR_STORE_BUFFER_HOST_ROW_VECTORS, s->n * size, &host, err));
    for (size_t q = 0; q < s->n; q++)
        memcpy(host + q * size, s->queries[q].kept_vector, size);
    THR_TRY(thr_store_grow(s->store, slice, THR_STORE_BUFFER_ROW_VECTORS, s->n * size, &memory, err));
    THR_TRY(s->store->backend->upload(slice->stream, memory, host, s->n * size, err));
    const size_t terms_size = s->n * sizeof *terms;
    THR_TRY(thr_store_grow(s->store, slice, THR_STORE_BUFFER_HOST_ROW_QUERIES, terms_size, &terms, err));
    for (size_t q = 0; q < s->n; q++)
        terms[q] = (thr_refine_term){s->queries[q].kept_weight, s->queries[q].kept_bias};
    THR_TRY(thr_store_grow(s->store, slice, THR_STORE_BUFFER_ROW_QUERIES, terms_size, &memory, err));
    return s->store->backend->upload(slice->stream, memory, terms, terms_size, err);
}

static thr_status refine_rows(const scoring *s, const thr_store_slice *slice, const thr_device_row *rows, uint32_t n,
                              float *scores, thr_error *err) {
    const thr_refine_op op = {.vectors = slice->rows.vectors,
                              .keep = (int)s->job->corpus->keep,
                              .metric = (int)s->job->corpus->metric,
                              .n_dims = slice->codes.n_dims,
                              .near_cosine = thr_near_cosine(slice->codes.n_dims),
                              .scales = slice->rows.scales,
                              .inverse_norms = slice->rows.inverse_norms,
                              .halves = slice->rows.halves,
                              .queries = slice->buffers[THR_STORE_BUFFER_ROW_VECTORS].memory,
                              .terms = slice->buffers[THR_STORE_BUFFER_ROW_QUERIES].memory,
                              .rows = rows,
                              .n_scored = n,
                              .scores = scores};
    return s->store->backend->refine(slice->stream, &op, err);
}

/* ----------------------------------------------------------------------------------------------- both */

static thr_status score_all(void *arg, thr_error *err) {
    const scoring *s = arg;
    const uint32_t most = count_rows(s);
    for (uint32_t i = 0; i < s->store->n_slices; i++) {
        thr_store_slice *slice = &s->store->slices[i];
        THR_TRY((s->rescoring ? send_rest_queries : send_vectors)(s, slice, err));
        THR_TRY(score_slice(s, slice, s->rescoring ? rescore_rows : refine_rows, most, err));
    }
    return THR_OK;
}

thr_status thr_store_rescore(thr_store *store, const thr_job *job, const thr_scan_query *queries, size_t n,
                             thr_lane *lanes, thr_error *err) {
    scoring s = {store, job, queries, lanes, n, true};
    return thr_store_with_lock(store, job->corpus, score_all, &s, err);
}

thr_status thr_store_refine(thr_store *store, const thr_job *job, const thr_scan_query *queries, size_t n,
                            thr_lane *lanes, thr_error *err) {
    scoring s = {store, job, queries, lanes, n, false};
    return thr_store_with_lock(store, job->corpus, score_all, &s, err);
}

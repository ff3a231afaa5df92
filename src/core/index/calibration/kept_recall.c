/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_recall.c - compares exact scores of kept vectors with those of the vectors as given. The latter are computed for
 * the best CANDIDATES by the former only: the true nearest are among these, unless the kept type loses nearly all.
 */
#include "index/calibration/kept_recall.h"

#include "base/error.h"
#include "select/bitmap.h"
#include "io/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEAREST = 10, CANDIDATES = 50, QUERIES = 100, LEAST_ROWS = 512, AT_ONCE = 20 };

typedef struct measurement {
    thr_index *index;
    thr_row_source *source;
    uint32_t n_dims;
    uint64_t *filter; /* of the rows that can be read again; NULL: all */
    uint64_t *rows;   /* AT_ONCE x CANDIDATES */
    float *queries;   /* AT_ONCE vectors */
    float *vector;
} measurement;

/* Read a row of the source again: from the file, or from the sample that was kept of a stream. */
static thr_status read_row(const measurement *m, uint64_t row, float *out, thr_error *err) {
    thr_row_source *s = m->source;
    thr_matrix rows = {s->sample, s->sample_rows, m->n_dims, s->shape.dtype, s->row_bytes};
    if (m->filter != NULL)
        return thr_matrix_to_f32(&rows, row, 1, out);
    THR_TRY(thr_io_reader_seek(s->reader, row, err));
    THR_TRY(thr_reader_next(s->reader, 1, &rows, err));
    if (rows.n_rows != 1)
        return thr_fail(err, THR_EDIM, "%s: has fewer rows than before", s->name);
    return thr_matrix_to_f32(&rows, 0, 1, out);
}

/* The score of a query and a row, larger for nearer ones; for cosine minus the squared distance of unit vectors. */
static double true_score(thr_metric metric, const float *q, const float *x, uint32_t n) {
    double product = 0, distance = 0, qq = 0, xx = 0;
    for (uint32_t d = 0; d < n; d++) {
        qq += (double)q[d] * (double)q[d];
        xx += (double)x[d] * (double)x[d];
    }
    const bool cosine = metric == THR_METRIC_COSINE;
    const double a = cosine && qq > 0 ? 1 / sqrt(qq) : 1, b = cosine && xx > 0 ? 1 / sqrt(xx) : 1;
    for (uint32_t d = 0; d < n; d++) {
        const double apart = a * (double)q[d] - b * (double)x[d];
        product += (double)q[d] * (double)x[d];
        distance += apart * apart;
    }
    return metric == THR_METRIC_IP ? product : -distance;
}

static int descending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Add the nearest 10 by the kept vectors, without the query's row, to *n_all; those that truly are to *n_kept. */
static thr_status add_query(const measurement *m, const float *query, uint64_t own, const uint64_t *rows,
                            uint64_t *n_kept, uint64_t *n_all, thr_error *err) {
    double scores[CANDIDATES], sorted[CANDIDATES];
    size_t n = 0, found = 0;
    for (size_t i = 0; i < CANDIDATES && rows[i] != THR_NO_ID; i++) {
        if (rows[i] == own)
            continue;
        THR_TRY(read_row(m, rows[i], m->vector, err));
        scores[n++] = true_score(m->index->vectors.metric, query, m->vector, m->n_dims);
    }
    const size_t nearest = n < NEAREST ? n : NEAREST;
    memcpy(sorted, scores, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, descending);
    for (size_t i = 0; i < nearest; i++)
        found += scores[i] >= sorted[nearest - 1];
    *n_kept += found;
    *n_all += nearest;
    return THR_OK;
}

static thr_status measure(const measurement *m, thr_scan *scan, uint32_t *thousandths, thr_error *err) {
    const thr_row_source *s = m->source;
    const thr_matrix sample = {s->sample, s->sample_rows, m->n_dims, s->shape.dtype, s->row_bytes};
    const uint64_t n_queries = sample.n_rows < QUERIES ? sample.n_rows : QUERIES;
    const thr_answers answers = {.k = CANDIDATES, .ids = m->rows};
    uint64_t n_kept = 0, n_all = 0;
    thr_search_options options = {0};
    options.exact = true;
    options.filter = m->filter;
    for (uint64_t first = 0, n; first < n_queries; first += n) {
        n = n_queries - first < AT_ONCE ? n_queries - first : AT_ONCE;
        for (uint64_t i = 0; i < n; i++)
            THR_TRY(thr_matrix_to_f32(&sample, (first + i) * sample.n_rows / n_queries, 1, m->queries + i * m->n_dims));
        const thr_matrix queries = thr_matrix_f32(m->queries, n, m->n_dims);
        THR_TRY(thr_scan_search(scan, &m->index->vectors, &queries, &options, &answers, err));
        for (uint64_t i = 0; i < n; i++)
            THR_TRY(add_query(m, m->queries + i * m->n_dims,
                              thr_index_row_source_sampled_row(s, (first + i) * sample.n_rows / n_queries),
                              m->rows + i * CANDIDATES, &n_kept, &n_all, err));
    }
    const uint64_t share = n_all == 0 ? 0 : n_kept * THR_KEPT_UNIT / n_all; /* rounded down */
    *thousandths = share > 0 ? (uint32_t)share : 1;
    return THR_OK;
}

thr_status thr_index_measure_kept(thr_index *index, thr_row_source *source, uint32_t *thousandths, thr_error *err) {
    static const char what[] = "calibration";
    thr_context *context = index->context;
    measurement m = {.index = index, .source = source, .n_dims = source->shape.n_dims};
    thr_scan *scan = NULL;
    thr_status status = THR_OK;
    *thousandths = 0;
    if (!thr_keep_is_scaled(index->vectors.keep) || index->vectors.n_rows < LEAST_ROWS)
        return THR_OK;
    THR_TRY_OUT(thr_alloc(context, (size_t)AT_ONCE * CANDIDATES, sizeof *m.rows, &m.rows, what, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)AT_ONCE * m.n_dims, sizeof *m.queries, &m.queries, what, err));
    THR_TRY_OUT(thr_alloc(context, m.n_dims, sizeof *m.vector, &m.vector, what, err));
    if (!source->shape.seekable) {
        THR_TRY_OUT(
            thr_alloc_zero(context, thr_bitmap_words(index->vectors.n_rows), sizeof *m.filter, &m.filter, what, err));
        for (uint64_t row = 0; row < source->sample_rows; row++)
            thr_bitmap_set(m.filter, row);
    }
    THR_TRY_OUT(thr_scan_create(context, &scan, err));
    status = measure(&m, scan, thousandths, err);
out:
    thr_scan_free(scan);
    THR_RELEASE(context, m.rows, m.queries, m.vector, m.filter);
    return status;
}

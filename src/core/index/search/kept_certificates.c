/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_certificates.c - ranges of true scores, and the certificates that they give.
 *
 * With y the true vector, y' the kept one and e a bound of |y - y'|, products with a query q differ by at most |q| e,
 * and distances from it by at most e. By cosine the score is 1 - d^2 / 2 with the distance d of vectors of length 1.
 */
#include "index/search/kept_certificates.h"

#include "base/shortest.h"
#include "base/error.h"
#include "index/calibration/code_error.h"
#include "kernel/kernel.h"

#include <math.h>

static const double UNIT = 0x1p-24;

static thr_kept_errors errors_of(const thr_index *index) {
    thr_kept_errors errors = thr_scan_kept_errors(&index->vectors);
    if (index->n_tail > 0)
        thr_kept_errors_join(&errors, &index->tail_segment.kept);
    return errors;
}

bool thr_index_scores_are_rounded(const thr_index *index) {
    return thr_keep_is_scaled(index->vectors.keep) && errors_of(index).error > 0;
}

/*
 * Scores of neighbours differ by about the spread times the square of their relative distance. From this spread on,
 * rounding exchanges neighbours as rarely as in data without any common part.
 */
static const float LEAST_SPREAD = 0x1p-4F;
enum { SPREAD_ROWS = 256 };

static thr_status find_longest(const thr_index *index, double *longest, thr_error *err) {
    const size_t n_dims = index->vectors.quantiser->n_dims;
    float *vector = NULL;
    *longest = 0;
    THR_TRY(thr_alloc(index->context, n_dims, sizeof *vector, &vector, "a vector", err));
    for (uint64_t row = 0; row < index->manifest.n_rows; row++)
        if (thr_live_has(&index->live, row)) {
            thr_index_row_vector(index, row, vector);
            *longest = fmax(*longest, sqrt(index->context->kernels->sum_squares(vector, n_dims)));
        }
    thr_release(index->context, vector);
    return THR_OK;
}

static thr_status measure_rounding(thr_index *index, thr_error *err) {
    float spread;
    THR_TRY(thr_index_spread_of(index, SPREAD_ROWS, &spread, err));
    index->scores_are_near = spread < LEAST_SPREAD;
    if (index->scores_are_near && index->vectors.metric == THR_METRIC_IP)
        return find_longest(index, &index->longest, err);
    return THR_OK;
}

thr_status thr_index_compares_ranges(thr_index *index, bool *compares, thr_error *err) {
    thr_status status = THR_OK;
    *compares = thr_index_scores_are_rounded(index);
    if (*compares || index->vectors.keep != THR_DTYPE_F32 || index->manifest.n_rows < 2)
        return THR_OK;
    if (!atomic_load(&index->rounding_measured)) {
        (void)pthread_mutex_lock(&index->root->noise_mutex);
        if (!atomic_load(&index->rounding_measured)) {
            status = measure_rounding(index, err);
            atomic_store(&index->rounding_measured, status == THR_OK);
        }
        (void)pthread_mutex_unlock(&index->root->noise_mutex);
    }
    *compares = index->scores_are_near;
    return status;
}

static double largest_error(const thr_index *index) {
    return (double)errors_of(index).error + THR_SHORTEST;
}

/* A bound of the error of a row. */
static double row_error(const thr_index *index, uint64_t row) {
    const bool in_tail = thr_index_in_tail(index, row);
    const thr_segment *segment = in_tail ? &index->tail_segment : &index->segments[thr_index_segment_of(index, row)];
    const uint64_t item = row - (in_tail ? index->tail->first_row : segment->first_row);
    if (segment->scales == NULL)
        return THR_SHORTEST;
    const double error = (double)segment->kept.ratio * (double)segment->scales[item];
    return fmin(error, (double)segment->kept.error) + THR_SHORTEST;
}

/* The range for a query of this length, and an item whose kept vector is within `error` of the true one. */
static thr_score_range range_of(const thr_index *index, double query_length, double score, double error) {
    const double rounding = thr_score_rounding(index->vectors.quantiser->n_dims);
    const double longest = fmax((double)errors_of(index).longest, index->longest);
    if (index->vectors.metric == THR_METRIC_IP) {
        const double apart = query_length * (error + 2 * rounding * longest) + 4 * UNIT * fabs(score);
        return (thr_score_range){score - apart, score + apart};
    }
    if (index->vectors.metric == THR_METRIC_L2) {
        const double distance = sqrt(fmax(-score, 0));
        const double apart = error + rounding * distance + 4 * UNIT * longest;
        const double near = fmax(distance - apart, 0), far = distance + apart;
        return (thr_score_range){-far * far, -near * near};
    }
    const double near = fmax(sqrt(fmax(2 - 2 * score - 8 * rounding, 0)) - error, 0),
                 far = sqrt(fmax(2 - 2 * score + 8 * rounding, 0)) + error;
    return (thr_score_range){1 - far * far / 2, 1 - near * near / 2};
}

static double query_length_of(const thr_index *index, const thr_matrix *queries, uint64_t q, float *vector) {
    (void)thr_matrix_to_f32(queries, q, 1, vector);
    return sqrt(index->context->kernels->sum_squares(vector, queries->n_dims));
}

/* ------------------------------------------------------------------------------------------------ the best k */

static thr_status alloc_vector(const thr_index *index, const thr_matrix *queries, float **vector, thr_error *err) {
    return thr_alloc(index->context, queries->n_dims, sizeof **vector, vector, "a query", err);
}

/* The least kept score at which an item's true score may reach this one. */
static double lowered(const thr_index *index, double query_length, double score) {
    return isfinite(score) ? range_of(index, query_length, score, largest_error(index)).low : score;
}

thr_status thr_index_wider_answers_make(const thr_index *index, const thr_matrix *queries, uint64_t k,
                                        const thr_answers *wanted, thr_wider_answers *wider, thr_error *err) {
    static const char what[] = "answers";
    const size_t n = (size_t)queries->n_rows;
    float *vector = NULL;
    *wider = (thr_wider_answers){.answers = *wanted};
    thr_answers *a = &wider->answers;
    a->ids = NULL;
    a->scores = NULL;
    a->k = k;
    THR_TRY(thr_alloc(index->context, n, (size_t)a->k * sizeof *a->ids, &a->ids, what, err));
    THR_TRY(thr_alloc(index->context, n, (size_t)a->k * sizeof *a->scores, &a->scores, what, err));
    if (wanted->least_scores == NULL)
        return THR_OK;
    THR_TRY(thr_alloc(index->context, n, sizeof *wider->least_scores, &wider->least_scores, what, err));
    THR_TRY(alloc_vector(index, queries, &vector, err));
    for (size_t q = 0; q < n; q++) {
        const double length = query_length_of(index, queries, q, vector);
        wider->least_scores[q] = (float)lowered(index, length, (double)wanted->least_scores[q]);
    }
    a->least_scores = wider->least_scores;
    thr_release(index->context, vector);
    return THR_OK;
}

void thr_index_wider_answers_free(const thr_index *index, thr_wider_answers *wider) {
    THR_RELEASE(index->context, wider->answers.ids, wider->answers.scores, wider->least_scores);
}

/* The `all` best rows of a query; the answer is the first n, of `wanted` that were asked for. */
typedef struct best_rows {
    const uint64_t *rows;
    const float *scores;
    size_t n, all, wanted;
} best_rows;

/* Whether the rows of the answer are certainly the best by their true scores too, and reach the least score. */
static bool proves(const thr_index *index, double query_length, const best_rows *best, double least) {
    const size_t n = best->n;
    double next = least;
    if (query_length < THR_SHORTEST && index->vectors.metric != THR_METRIC_L2)
        return true; /* a zero vector scores 0 with all items */
    if (n < best->all && n < best->wanted)
        return false; /* an item that is left out may reach the least score */
    if (n < best->all)
        next = fmax(next, range_of(index, query_length, (double)best->scores[n], largest_error(index)).high);
    for (size_t i = 0; i < n; i++) {
        const double error = row_error(index, best->rows[i]);
        if (!(range_of(index, query_length, (double)best->scores[i], error).low >= next))
            return false;
    }
    return true;
}

thr_status thr_index_wider_answers_put(const thr_index *index, const thr_matrix *queries,
                                       const thr_wider_answers *wider, const thr_answers *wanted, thr_error *err) {
    float *vector = NULL;
    const size_t k = (size_t)wanted->k, wide = (size_t)wider->answers.k;
    THR_TRY(alloc_vector(index, queries, &vector, err));
    for (size_t q = 0; q < queries->n_rows; q++) {
        const uint64_t *rows = wider->answers.ids + q * wide;
        const float *scores = wider->answers.scores + q * wide;
        const float least = thr_select_answers_least(wanted, q);
        size_t all = 0, n = 0;
        while (all < wide && rows[all] != THR_NO_ID)
            all++;
        while (n < all && n < k && scores[n] >= least)
            n++;
        const double length = query_length_of(index, queries, q, vector);
        const best_rows best = {rows, scores, n, all, k};
        wanted->certified[q] = wanted->certified[q] && proves(index, length, &best, (double)least);
        for (size_t i = 0; i < k; i++) {
            wanted->ids[q * k + i] = i < n ? rows[i] : THR_NO_ID;
            if (wanted->scores != NULL)
                wanted->scores[q * k + i] = i < n ? scores[i] : -INFINITY;
        }
    }
    thr_release(index->context, vector);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ a radius */

thr_status thr_index_lowered_radius(const thr_index *index, const thr_matrix *queries, float least_score, float *low,
                                    thr_error *err) {
    float *vector = NULL;
    double longest = 0;
    THR_TRY(alloc_vector(index, queries, &vector, err));
    for (uint64_t q = 0; q < queries->n_rows; q++)
        longest = fmax(longest, query_length_of(index, queries, q, vector));
    thr_release(index->context, vector);
    *low = nextafterf((float)lowered(index, longest, (double)least_score), -INFINITY);
    return THR_OK;
}

thr_status thr_index_keep_radius(const thr_index *index, const thr_matrix *queries, float least_score,
                                 const thr_search_options *options, thr_found *found, thr_error *err) {
    const double least = (double)least_score;
    const bool certain = options->exact || options->recall >= 1;
    float *vector = NULL;
    THR_TRY(alloc_vector(index, queries, &vector, err));
    for (uint64_t q = 0; q < queries->n_rows; q++) {
        const double length = query_length_of(index, queries, q, vector);
        const bool zero = length < THR_SHORTEST && index->vectors.metric != THR_METRIC_L2;
        bool sure = true;
        size_t n = 0;
        for (size_t i = 0; i < found[q].n; i++) {
            const thr_candidate item = found[q].items[i];
            const double score = (double)item.score;
            const thr_score_range range =
                zero ? (thr_score_range){score, score} : range_of(index, length, score, row_error(index, item.row));
            sure = sure && (range.low >= least || range.high < least);
            if (score >= least || (certain && range.high >= least))
                found[q].items[n++] = item;
        }
        found[q].n = n;
        if (options->certified != NULL)
            options->certified[q] = options->certified[q] && sure;
    }
    thr_release(index->context, vector);
    return THR_OK;
}

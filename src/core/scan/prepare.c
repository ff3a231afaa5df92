/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c - prepares a query: its vector and codes; the gain, weight and bias of its estimates; terms of origins. */
#include "base/minmax.h"
#include "code/fixed.h"
#include "code/rotate.h"
#include "scan/margins/bounds.h"
#include "scan/margins/unbias.h"
#include "scan/pages.h"
#include "base/shortest.h"

#include <math.h>
#include <string.h>

enum { AT_ONCE = 8 }; /* origins that are measured together */

/* The length of lane->vector: by cosine, where it is normalised, 1, or 0 for a zero vector; else norm. */
static double length_in_scores(const thr_scan_corpus *corpus, double norm) {
    return corpus->metric == THR_METRIC_COSINE ? norm > 0 : norm;
}

/* The coded part of a query, its length, and the query's weight and bias (segment.h defines them). */
typedef struct coded_part {
    const float *vector;
    double length, weight, bias;
} coded_part;

/*
 * Remove the centre c. With u = c / |c|: <x, q> = <x - c, q - <q, u> u> + <q, u> <x - c, u> + <c, q>. Only the first
 * product needs codes. The second is the item's offset times the query's weight, the third is the query's bias. For L2
 * the distance of x and q is that of x - c and q - c.
 */
static coded_part remove_centre(const thr_scan_corpus *corpus, const thr_kernels *kernels, const float *vector,
                                float *residual) {
    const float *centre = corpus->quantiser->centre;
    const uint32_t n_dims = corpus->quantiser->n_dims;
    const bool l2 = corpus->metric == THR_METRIC_L2;
    const double centre_length = sqrt(kernels->sum_squares(centre, n_dims));
    double product = 0;
    for (uint32_t d = 0; d < n_dims; d++)
        product += (double)centre[d] * (double)vector[d];
    const double along = l2 ? 1 : product / centre_length / centre_length;
    for (uint32_t d = 0; d < n_dims; d++)
        residual[d] = (float)((double)vector[d] - along * (double)centre[d]);
    return (coded_part){.vector = residual,
                        .length = sqrt(kernels->sum_squares(residual, n_dims)),
                        .weight = l2 ? 1 : product / centre_length,
                        .bias = product};
}

/* With origins: p = q - w c, for all metrics. Bases take the place of the bias. */
static coded_part subtract_centre(const thr_scan_corpus *corpus, const thr_kernels *kernels, const float *vector,
                                  double weight, float *residual) {
    const float *centre = corpus->quantiser->centre;
    const uint32_t n_dims = corpus->quantiser->n_dims;
    for (uint32_t d = 0; d < n_dims; d++)
        residual[d] = centre == NULL ? vector[d] : (float)((double)vector[d] - weight * (double)centre[d]);
    return (coded_part){residual, sqrt(kernels->sum_squares(residual, n_dims)), weight, 0};
}

/* The coded part of the query in lane->vector. norm: its length as given. weight: with origins, the query's. */
static coded_part find_coded_part(const thr_scan_corpus *corpus, const thr_kernels *kernels, double norm, double weight,
                                  thr_lane *lane) {
    const uint32_t n_dims = corpus->quantiser->n_dims;
    float *scratch = lane->vector + n_dims;
    coded_part part = {lane->vector, length_in_scores(corpus, norm), 1, 0};
    if (corpus->origins != NULL)
        part = subtract_centre(corpus, kernels, lane->vector, weight, scratch);
    else if (corpus->quantiser->centre != NULL)
        part = remove_centre(corpus, kernels, lane->vector, scratch);
    if (corpus->metric == THR_METRIC_L2 && corpus->origins == NULL)
        part.bias = -part.length * part.length;
    if (corpus->quantiser->rotation != NULL) {
        if (part.vector != scratch)
            memcpy(scratch, part.vector, n_dims * sizeof *scratch);
        thr_code_rotation_apply(corpus->quantiser->rotation, scratch);
        part.vector = scratch;
    }
    return part;
}

/*
 * With origins, compute the query's terms in lane's memory. Returns the query's weight; 1 without origins.
 * lane->origin_scores are not used if the vector was set to 0.
 */
static double compute_origin_terms(const thr_scan_corpus *corpus, double length, thr_lane *lane,
                                   thr_scan_query *query) {
    if (corpus->origins == NULL)
        return 1;
    query->origins = lane->origins;
    query->across = (double)INFINITY;
    return thr_scan_origin_terms(corpus, query->kernels, lane->vector, length,
                                 query->norm > 0 ? lane->origin_scores : NULL, lane->origins);
}

/* The least and the largest of n distances, in the AT_ONCE columns of a table. Compilers vectorise the inner loop. */
static void measure_columns(const thr_origin_term *terms, size_t n, float *restrict least, float *restrict largest) {
    for (size_t first = 0; first < n; first += AT_ONCE)
        for (size_t j = 0; j < AT_ONCE; j++) {
            const float distance = terms[first + j].distance;
            least[j] = THR_MIN(distance, least[j]);
            largest[j] = THR_MAX(distance, largest[j]);
        }
}

static void measure_origins(const thr_scan_corpus *corpus, thr_scan_query *query) {
    const size_t n = corpus->origins->n, whole = n - n % AT_ONCE;
    float least[AT_ONCE], largest[AT_ONCE];
    for (size_t j = 0; j < AT_ONCE; j++) {
        least[j] = INFINITY;
        largest[j] = 0;
    }
    measure_columns(query->origins, whole, least, largest);
    for (size_t i = whole; i < n; i++) {
        least[0] = fminf(least[0], query->origins[i].distance);
        largest[0] = fmaxf(largest[0], query->origins[i].distance);
    }
    for (size_t j = 1; j < AT_ONCE; j++) {
        least[0] = fminf(least[0], least[j]);
        largest[0] = fmaxf(largest[0], largest[j]);
    }
    query->geometry.nearest_origin = (double)least[0];
    query->geometry.farthest_origin = (double)largest[0];
}

/* What scores of vectors kept as float16 or int8 need (segment.h). The query's vector is prepared. */
static void prepare_kept(const thr_scan_corpus *corpus, float *residual, thr_scan_query *query) {
    const float *centre = corpus->kept_centre;
    const uint32_t n_dims = corpus->quantiser->n_dims;
    double product = 0, square = 0;
    query->kept_vector = query->vector;
    if (!thr_keep_is_scaled(corpus->keep))
        return;
    for (uint32_t d = 0; d < n_dims; d++) {
        const double c = centre == NULL ? 0 : (double)centre[d];
        residual[d] = (float)((double)query->vector[d] - c);
        product += c * (double)query->vector[d];
        square += (double)residual[d] * (double)residual[d];
    }
    const bool cosine = corpus->metric == THR_METRIC_COSINE, none = cosine && query->norm == 0;
    query->kept_weight = none ? 0 : 1; /* a zero vector has no cosines */
    query->kept_bias = none ? 0 : (float)(cosine ? 1 - square / 2 : product);
    if (corpus->metric != THR_METRIC_IP)
        query->kept_vector = residual;
}

void thr_scan_query_prepare(const thr_job *job, const thr_matrix *queries, uint64_t q, thr_lane *lane,
                            thr_scan_query *query) {
    const thr_scan_corpus *corpus = job->corpus;
    const thr_kernels *kernels = job->context->kernels;
    const uint32_t n_dims = corpus->quantiser->n_dims;
    const bool fixed = corpus->quantiser->fixed; /* then no vectors are kept, so the query need not have length 1 */
    lane->floor = -INFINITY;
    (void)thr_matrix_to_f32(queries, q, 1, lane->vector);
    double norm = sqrt(kernels->sum_squares(lane->vector, n_dims));
    if (norm < THR_SHORTEST) {
        norm = 0; /* a zero vector for all steps, so that the screen and the refine agree */
        memset(lane->vector, 0, n_dims * sizeof *lane->vector);
    }
    *query = (thr_scan_query){.corpus = corpus,
                              .kernels = kernels,
                              .filter = job->options->filter,
                              .vector = lane->vector,
                              .norm = (float)norm,
                              .reads_ahead = thr_scan_reads_ahead(&lane->read_ahead)};
    if (corpus->metric == THR_METRIC_COSINE && norm > 0 && !fixed)
        for (uint32_t d = 0; d < n_dims; d++)
            lane->vector[d] = (float)((double)lane->vector[d] / norm);
    prepare_kept(corpus, lane->vector + 2 * (size_t)n_dims, query);
    if (job->exact)
        return;
    const double weight = compute_origin_terms(corpus, length_in_scores(corpus, norm), lane, query);
    const coded_part part = find_coded_part(corpus, kernels, norm, weight, lane);
    const double length = fixed ? thr_code_fixed_query_length(part.vector, n_dims, job->query_bits)
                          : part.length > THR_SHORTEST ? part.length
                                                       : 1;
    const double scale = part.length * (corpus->metric == THR_METRIC_L2 ? 2 : 1);
    thr_code_query_make(&query->code, corpus->quantiser, corpus->lead, part.vector, length, job->query_bits,
                        lane->code_memory);
    query->gain = (float)(scale * (double)query->code.gain);
    query->offset_weight = (float)part.weight;
    query->bias = (float)part.bias;
    if (thr_is_nested(corpus)) {
        thr_code_rest_query_make(&query->rest, corpus->quantiser, part.vector, length, lane->rest_memory);
        query->lead_gain =
            (float)(scale * (double)query->code.gain * (double)(1u << (corpus->quantiser->item_bits - corpus->lead)));
        query->rest_gain = (float)(scale * (double)query->rest.gain);
    }
    if (job->measures_queries || corpus->origins != NULL)
        thr_scan_query_measure(query, part.vector, part.length);
    if (corpus->origins != NULL) {
        thr_scan_unbias_query(query);
        measure_origins(corpus, query);
    }
}

float thr_scan_estimate_score(const thr_scan_query *query, float score) {
    return score * (thr_has_factors(query->corpus) ? 1.0f : query->code.gain) + query->bias;
}

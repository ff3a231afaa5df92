/* SPDX-License-Identifier: Apache-2.0 */
/*
 * noise.h - the standard errors of a query's estimates, measured on rows of the index for each query or once for all.
 *
 * Both the error of an estimate and the item's factor are proportional to the length of the item's residual. So the
 * error divided by the factor has about the same distribution for all items. Its standard deviation is measured here,
 * in score per unit of factor. noise.c has the formulae.
 */
#pragma once

#include "scan/job.h"

/* Blocks of the sample; rows of them that are scored, at most; rows with errors below which the noise is unknown. */
enum { THR_NOISE_BLOCKS = 16, THR_NOISE_ROWS = 128, THR_NOISE_LEAST_ROWS = 64 };

/*
 * Standard errors of unbiased estimates, in score per unit of factor. `random` and `query` are the independent parts of
 * the error of estimates by the planes in blocks, `rescored` and `rescored_query` of those by all planes. With origins,
 * `random` and `rescored` are also per unit of scored distance (scan/origins.h).
 */
typedef struct thr_noise {
    bool known;            /* false if no standard errors could be found: ignore the others then */
    double random;         /* from the items' codes */
    double query;          /* from the query's own code; with origins also from the rounding of offsets */
    double rescored;       /* as random; without origins the whole standard error */
    double rescored_query; /* as query; without origins 0 */
} thr_noise;

/*
 * Compare the estimates of codes with factors with the scores of kept vectors, or, in an index of codes only, with the
 * estimates by all planes. screen and rescoring are the queries of the two estimates. lane's collector needs
 * capacity for THR_NOISE_BLOCKS blocks of rows; afterwards it is empty and has no threshold.
 */
thr_noise thr_scan_noise_measure(const thr_job *job, const thr_scan_query *screen, const thr_scan_query *rescoring,
                                 thr_lane *lane);

/*
 * The errors of one query's estimates on a sample of rows, in score per unit of factor and of the length of the query's
 * coded part (thr_scan_scored_length), or with origins of the scored distance of the row's origin.
 */
typedef struct thr_sampled_errors {
    float screened[THR_NOISE_ROWS], rescored[THR_NOISE_ROWS];
    double inverse_squares;                /* the sum of 1 / (that length or distance)^2 */
    double lead_rounding, record_rounding; /* sums of (standard error of a rounded offset / factor)^2 */
    size_t n;
} thr_sampled_errors;

/* Measure these errors. Arguments are those of thr_scan_noise_measure; n may be 0. */
void thr_scan_noise_sample(const thr_job *job, const thr_scan_query *screen, const thr_scan_query *rescoring,
                           thr_lane *lane, thr_sampled_errors *errors);

/* The mean |b|^2 of the planes in blocks, over the codes of the first block. */
double thr_scan_code_square(const thr_scan_corpus *corpus, const thr_kernels *kernels);

/* The standard error that the query's own code adds, in score per unit of factor, given thr_scan_code_square. */
double thr_scan_noise_of_query(const thr_scan_query *screen, double code_square);

/* The same for estimates by all planes of nested codes. */
double thr_scan_noise_of_rescoring(const thr_scan_query *rescoring, double code_square);

/* The length of the query's coded part, for L2 doubled: scores are proportional to it. */
double thr_scan_scored_length(const thr_scan_query *query);

/*
 * Compute a query's noise from corpus->noise, without reading rows. It is unknown if corpus->noise is, or if the query
 * has unusually few effective dimensions for a rotated one, or a coarser code than by default: its errors are then
 * unlike those of random queries.
 */
thr_noise thr_scan_noise_of_corpus(const thr_scan_query *screen);

/* The factor by which the screen multiplies a row, and the one in its record, by which the rescoring does. */
double thr_scan_screen_factor(const thr_scan_corpus *corpus, uint64_t row);
double thr_scan_record_factor(const thr_scan_corpus *corpus, uint64_t row);

/* The z that a standard normal number exceeds with this probability, in (0, 0.5]. */
double thr_scan_normal_quantile(double probability);

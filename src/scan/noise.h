/* SPDX-License-Identifier: Apache-2.0 */
/*
 * noise.h - by how much a query's estimates are off, measured on rows of the index.
 *
 * A code is off by a share of its item's length, and so is its estimate. An item's factor is in proportion to that
 * length, so the error of an estimate divided by the item's factor is alike for all items: that is what is measured
 * here, "in units of the score a unit of factor". noise.c has the formulae.
 */
#ifndef THR_SCAN_NOISE_H
#define THR_SCAN_NOISE_H

#include "scan/worker.h"

enum { THR_NOISE_BLOCKS = 16, THR_NOISE_ROWS = 256 }; /* blocks of the sample, and how many of their rows are scored */

/* Standard errors of unbiased estimates, in units of the score a unit of factor. */
typedef struct thr_noise {
    bool known;                /* false: too few rows have a direction */
    double screened, rescored; /* by the planes in blocks, and by all planes */
    double query;              /* the part of screened that the query's own code adds */
} thr_noise;

/*
 * Make estimates unbiased: the products with planes in blocks, or those of rescoring, by what the query's code lacks of
 * the query. false, with gains that are of no use: the code is too far from the query.
 */
bool thr_scan_unbias_screen(thr_scan_query *query);
bool thr_scan_unbias_rescoring(thr_scan_query *query);

/*
 * Measure, of codes with factors: estimates against the kept vectors' scores, or for an index of codes only against the
 * estimates of all planes. screen and rescoring are the queries for either. lane's collector has room for
 * THR_NOISE_BLOCKS blocks of rows; it is empty and without a threshold afterwards.
 */
thr_noise thr_scan_noise_measure(const thr_job *job, const thr_scan_query *screen, const thr_scan_query *rescoring,
                                 thr_lane *lane);

/* The factor in the record of a row of nested codes. */
double thr_scan_record_factor(const thr_scan_target *target, uint64_t row);

/* The z that a normal number exceeds with this probability, in (0, 0.5]. */
double thr_scan_normal_quantile(double probability);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "scan/margins/unbias.h"
#include "base/shortest.h"

#include <math.h>

static const double LEAST_COSINE = 0.1; /* between a query and its code; already one bit has about 0.8 */

/* Cosine of the angle between two vectors of equal length at this distance. */
static double cosine_of(double length, double distance) {
    return length > THR_SHORTEST ? 1 - distance * distance / (2 * length * length) : 0;
}

double thr_scan_code_tangent(double length, double distance) {
    const double cosine = cosine_of(length, distance);
    return sqrt(fmax(1 - cosine * cosine, 0)) / cosine;
}

static bool unbias_screen(thr_scan_query *query) {
    const double cosine = cosine_of(query->geometry.part_length, query->geometry.lead_distance);
    query->gain = (float)((double)query->gain / cosine);
    return cosine >= LEAST_COSINE;
}

static bool unbias_rescoring(thr_scan_query *query) {
    const double lead = cosine_of(query->geometry.part_length, query->geometry.lead_distance);
    const double rest = cosine_of(query->geometry.part_length, query->geometry.rest_distance);
    query->lead_gain = (float)((double)query->lead_gain / lead);
    query->rest_gain = (float)((double)query->rest_gain / rest);
    return lead >= LEAST_COSINE && rest >= LEAST_COSINE;
}

void thr_scan_unbias_query(thr_scan_query *query) {
    thr_scan_query unbiased = *query;
    query->is_unbiased = unbias_screen(&unbiased) && (!thr_is_nested(query->corpus) || unbias_rescoring(&unbiased));
    if (!query->is_unbiased)
        return;
    query->gain = unbiased.gain;
    query->lead_gain = unbiased.lead_gain;
    query->rest_gain = unbiased.rest_gain;
}

bool thr_scan_unbias_screen(thr_scan_query *query) {
    return query->corpus->origins != NULL ? query->is_unbiased : unbias_screen(query);
}

bool thr_scan_unbias_rescoring(thr_scan_query *query) {
    return query->corpus->origins != NULL ? query->is_unbiased : unbias_rescoring(query);
}

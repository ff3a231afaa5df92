/* SPDX-License-Identifier: Apache-2.0 */
/* unbias.h - the angle between a query and its code, and the bias that it causes (noise.c). */
#pragma once

#include "scan/job.h"

/*
 * Remove the bias of estimates: divide the gains of the screen, or of the rescore, by the cosine of the angle between
 * the query and its code. Return false, with unusable gains, if that cosine is too small.
 */
bool thr_scan_unbias_screen(thr_scan_query *query);
bool thr_scan_unbias_rescoring(thr_scan_query *query);

/*
 * With origins: remove the bias of the screen and of the rescore as soon as the query is prepared, because an item's
 * offset contains factor <b, o - c>, which cancels only against an unbiased product. Sets query->is_unbiased: false,
 * with unchanged gains, if a cosine is too small. The two functions above then only return is_unbiased.
 */
void thr_scan_unbias_query(thr_scan_query *query);

/* The tangent of the angle between a vector and its code, scaled to this length, at this distance. */
double thr_scan_code_tangent(double length, double distance);

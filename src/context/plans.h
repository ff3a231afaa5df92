/* SPDX-License-Identifier: Apache-2.0 */
/* plans.h - what a context has measured of the ways to distances (thresher/plan.h). */
#ifndef THR_CONTEXT_PLANS_H
#define THR_CONTEXT_PLANS_H

#include "base/memory.h"

#include <thresher/plan.h>

typedef struct thr_plans thr_plans;

/* For a context that is being made. THR_ENOMEM. */
thr_status thr_context_plans_create(thr_context *context, thr_plans **plans, thr_error *err);
void thr_context_plans_free(thr_context *context, thr_plans *plans);

/* Whether a plan of this shape is kept; then its rates are put into *plan. */
bool thr_context_plans_find(thr_plans *plans, thr_plan *plan);

/* Keep *plan, in place of the oldest where there is no room; where its shape is kept already, it takes these rates. */
void thr_context_plans_keep(thr_plans *plans, thr_plan *plan);

#endif

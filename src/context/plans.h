/* SPDX-License-Identifier: Apache-2.0 */
/* plans.h - measured speeds of the ways to compute distances, cached in the context (thresher/plan.h). */
#pragma once

#include "base/memory.h"

#include <thresher/plan.h>

typedef struct thr_plans thr_plans;

/* Create the cache of a new context. THR_ENOMEM. */
thr_status thr_context_plans_create(thr_context *context, thr_plans **plans, thr_error *err);
void thr_context_plans_free(thr_context *context, thr_plans *plans);

/* Return whether a plan of this shape is cached, and if so copy its rates to *plan. */
bool thr_context_plans_find(thr_plans *plans, thr_plan *plan);

/* Cache *plan. Replaces the rates of a plan with the same shape, or else the oldest plan when the cache is full. */
void thr_context_plans_keep(thr_plans *plans, thr_plan *plan);

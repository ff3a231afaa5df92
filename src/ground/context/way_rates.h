/* SPDX-License-Identifier: Apache-2.0 */
/* way_rates.h - measured speeds of the ways to compute distances, cached in the context (thresher/way.h). */
#pragma once

#include "base/memory.h"

#include <thresher/way.h>

typedef struct thr_way_rates thr_way_rates;

/* Create the cache of a new context. THR_ENOMEM. */
thr_status thr_context_way_rates_create(thr_context *context, thr_way_rates **rates, thr_error *err);
void thr_context_way_rates_free(thr_context *context, thr_way_rates *rates);

/* Return whether the rates of *choice's shape are cached, and if so copy them to it. */
bool thr_context_way_rates_find(thr_way_rates *rates, thr_way_choice *choice);

/* Cache the rates of *choice's shape, unless they are cached. A full cache forgets its oldest shape. */
void thr_context_way_rates_keep(thr_way_rates *rates, thr_way_choice *choice);

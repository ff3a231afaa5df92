/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - choice of the way in which a search computes distances (thresher/plan.h). */
#ifndef THR_SCAN_PLAN_H
#define THR_SCAN_PLAN_H

#include "base/memory.h"

#include <thresher/plan.h>

/*
 * The way for groups of n_queries >= 1 queries of valid bits and dimensions: the one set by THR_KERNEL, else the
 * fastest. Allocates only for a new shape; if that fails it returns THR_WAY_TABLE and stores nothing.
 */
thr_way thr_scan_plan_choose(thr_context *context, uint32_t n_dims, uint32_t item_bits, uint32_t query_bits,
                             uint32_t n_queries);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - which way a search takes to its distances (thresher/plan.h). */
#ifndef THR_SCAN_PLAN_H
#define THR_SCAN_PLAN_H

#include "base/memory.h"

#include <thresher/plan.h>

/*
 * The way for groups of n_queries >= 1 queries of valid bits and dimensions: what THR_KERNEL says, or else the fastest.
 * Asks for memory only when a shape is new; where there is none, the answer is THR_WAY_TABLE, and nothing is kept.
 */
thr_way thr_scan_plan_choose(thr_context *context, uint32_t n_dims, uint32_t item_bits, uint32_t query_bits,
                             uint32_t n_queries);

#endif

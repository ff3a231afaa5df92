/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - chooses the method by which a search computes distances (thresher/plan.h). */
#pragma once

#include "base/memory.h"

#include <thresher/plan.h>

/*
 * The method for groups of n_queries >= 1 queries of valid bits and dimensions: the one that THR_KERNEL names, else the
 * fastest. Allocates only for a new shape. If that fails, returns THR_WAY_TABLE.
 */
thr_way thr_scan_plan_choose(thr_context *context, uint32_t n_dims, uint32_t item_bits, uint32_t query_bits,
                             uint32_t n_queries);

/* SPDX-License-Identifier: Apache-2.0 */
/* way.h - chooses the method by which a search computes distances (thresher/way.h). */
#pragma once

#include "base/memory.h"

#include <thresher/way.h>

/*
 * The method for groups of n_queries >= 1 queries of valid bits and dimensions: the one that THR_KERNEL names, else the
 * fastest. Allocates only for a new shape. If that fails, returns THR_WAY_TABLE.
 */
thr_way thr_scan_way_choose(thr_context *context, uint32_t n_dims, uint32_t item_bits, uint32_t query_bits,
                            uint32_t n_queries);

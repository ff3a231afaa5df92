/* SPDX-License-Identifier: Apache-2.0 */
/* features.h - the cost of additions to an index with features. */
#pragma once

#include "bench.h"

/* Print what a durable addition of 1,000 items costs in a small and in a large index, in the folder dir. */
void bench_live_features(thr_context *context, const char *dir);

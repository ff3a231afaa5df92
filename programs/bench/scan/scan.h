/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - sections of `thresher-bench scan` in files of their own. */
#pragma once

#include "bench.h"

/* real.c: search over the exact scan on real vectors, allocations on the query path, and the peers. */
void bench_real(void);

/* filter.c: searches of the index in dir, of bench_normal's rows with their vectors, with filters of several kinds. */
void bench_filter(const char *dir);

/* SPDX-License-Identifier: Apache-2.0 */
/* tower.h - one run of the bench of towers: files of pairs, and a model learned from them. */
#ifndef THRESHER_BENCH_TOWER_H
#define THRESHER_BENCH_TOWER_H

#include "run.h"

typedef struct bench_tower_values {
    bench_scan_values common; /* data: the directory of the pairs */
    const char *sets;
    uint64_t codes;
    bool quick;
} bench_tower_values;

/* scan.c: a search of as many random codes of 16 bytes as there is room for. */
void bench_tower_scan(bench_scan_run *run, const bench_tower_values *values, const char *model_path);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tower_cache.h - what was measured, kept in a text file, so that a run can be cut and taken up again.
 *
 * A line is a key, and names with numbers: "KEY TAB auc=0.95 TAB loss=1.2". Lines are appended whole; of several with
 * the same key the last one counts, and a line that was cut short does not.
 */
#ifndef THRESHER_BENCH_TOWER_CACHE_H
#define THRESHER_BENCH_TOWER_CACHE_H

#include <stdbool.h>

enum { BENCH_KEY = 512, BENCH_FIELDS = 32, BENCH_FIELD_NAME = 40 };

typedef struct bench_record {
    char key[BENCH_KEY]; /* without tabs and line ends */
    int n;
    struct {
        char name[BENCH_FIELD_NAME]; /* without tabs, line ends and '=' */
        double value;
    } fields[BENCH_FIELDS];
} bench_record;

/* The number of that name; NaN when it has none. */
double bench_record_get(const bench_record *record, const char *name);
void bench_record_set(bench_record *record, const char *name, double value);

/* The record of this key; false when the file or the key is not there. */
bool bench_cache_find(const char *path, const char *key, bench_record *record);

/* 0, or -1 when it cannot be written. */
int bench_cache_add(const char *path, const bench_record *record);

#endif

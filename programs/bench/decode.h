/* SPDX-License-Identifier: Apache-2.0 */
/* decode.h - a test set translated with and without screens: the part of `bench head` that has a model. */
#ifndef THRESHER_BENCH_DECODE_H
#define THRESHER_BENCH_DECODE_H

#include "plot.h"
#include "scan.h"

typedef struct bench_decode_set {
    const char *model, *source, *target; /* a model of docs/translate.md; texts, a line each, and their translations */
    const char *plot;                    /* an SVG file; NULL: none */
    uint64_t n_texts;                    /* so many lines at most */
} bench_decode_set;

/* Tables, figures and the plot; -1 after saying why not. */
int bench_decode(bench_scan_run *run, const bench_decode_set *set);

#endif

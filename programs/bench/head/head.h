/* SPDX-License-Identifier: Apache-2.0 */
/* head.h - one run of `thresher-bench head`: heads that are drawn, or from files, and queries that are timed. */
#ifndef THRESHER_BENCH_HEAD_H
#define THRESHER_BENCH_HEAD_H

#include "run.h"

/*
 * A head like those of trained models, in half precision: words belong to topics, whose rows point about the same way;
 * lengths fall slowly with a word's place in order of frequency, and so does the bias, by half the logarithm. A state
 * points near a word that is drawn by Zipf's law.
 */
typedef struct bench_head_shape {
    uint32_t n_words, n_dims, n_states;
    uint64_t seed;
} bench_head_shape;

/* The input of `thresher-bench head`: a head, and more states than one query takes. */
typedef struct bench_head {
    thr_head *head;
    float *states;
    uint32_t n_words, n_dims, n_states;
} bench_head;

/* Draw one and its states. */
void bench_head_draw(bench_scan_run *run, const bench_head_shape *shape, bench_head *head);
void bench_head_free(bench_head *head);

#endif

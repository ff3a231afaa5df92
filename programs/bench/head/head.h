/* SPDX-License-Identifier: Apache-2.0 */
/* head.h - the input of `thresher-bench head`: a head that is drawn, or from files, and states. */
#pragma once

#include "bench.h"

/* A head, and more states than one query takes, in bench_alloc's memory. */
typedef struct bench_head {
    thr_head *head;
    float *states;
    uint32_t n_words, n_dims, n_states;
} bench_head;

/*
 * Draw a head like those of trained models, in half precision: words belong to topics, whose rows point about the same
 * way; lengths fall slowly with a word's place in order of frequency, and so does the bias, by half the logarithm. A
 * state points near a word that is drawn by Zipf's law.
 */
void bench_head_draw(uint32_t n_words, uint32_t n_dims, uint32_t n_states, bench_head *head);

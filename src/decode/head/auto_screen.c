/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auto_screen.c - timing both screens on the current query. The best of a few rounds counts. Both screens take turns,
 * so that a disturbance does not affect one alone. The first round warms up caches, memory and the scan's choice of
 * kernels.
 */
#include "head/auto_screen.h"

#include "base/clock.h"
#include "base/error.h"

#include <math.h>

enum { ROUNDS = 3, N_WAYS = 2 };

static const thr_head_screen WAYS[N_WAYS] = {THR_HEAD_SCREEN_FULL, THR_HEAD_SCREEN_PLANES};

static uint32_t class_of(uint64_t n) {
    return n <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(n - 1);
}

static thr_status measure(thr_head_run_fn *run, void *query, double seconds[N_WAYS], thr_error *err) {
    for (int way = 0; way < N_WAYS; way++)
        seconds[way] = INFINITY;
    for (int round = 0; round < ROUNDS; round++)
        for (int way = 0; way < N_WAYS; way++) {
            const double start = thr_clock();
            THR_TRY(run(query, WAYS[way], err));
            if (round > 0)
                seconds[way] = fmin(seconds[way], thr_clock() - start);
        }
    return THR_OK;
}

thr_status thr_head_choose_screen(thr_head *head, size_t n_states, uint32_t n_shortlist, thr_head_run_fn *run,
                                  void *query, thr_head_screen *screen, thr_error *err) {
    uint8_t *place = &head->choices->ways[class_of(n_states)][class_of(n_shortlist)];
    double seconds[N_WAYS];
    (void)pthread_mutex_lock(&head->mutex);
    uint8_t known = *place;
    (void)pthread_mutex_unlock(&head->mutex);
    if (known == 0) {
        THR_TRY(measure(run, query, seconds, err));
        (void)pthread_mutex_lock(&head->mutex);
        if (*place == 0)
            *place = seconds[1] < seconds[0] ? 2 : 1;
        known = *place;
        (void)pthread_mutex_unlock(&head->mutex);
    }
    *screen = WAYS[known - 1];
    return THR_OK;
}

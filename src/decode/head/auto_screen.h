/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auto_screen.h - THR_HEAD_SCREEN_AUTO: choose between scoring all words and a shortlist by timing both on this
 * machine.
 */
#pragma once

#include "head/workspace.h"

/* Class i has the numbers from 2^(i - 1) + 1 to 2^i. */
enum { THR_HEAD_STATE_CLASSES = 65, THR_HEAD_SHORTLIST_CLASSES = 33 };

/*
 * The choices made so far, by the class of the number of states and the class of the shortlist's length. Starts zeroed.
 */
typedef struct thr_head_choices {
    /* 0: not measured; 1: all words are faster; 2: a shortlist is */
    uint8_t ways[THR_HEAD_STATE_CLASSES][THR_HEAD_SHORTLIST_CLASSES];
} thr_head_choices;

/* Answers the current query with the given screen, whatever its options. */
typedef thr_status thr_head_run_fn(void *query, thr_head_screen screen, thr_error *err);

/*
 * Choose the faster of THR_HEAD_SCREEN_FULL and THR_HEAD_SCREEN_PLANES for a query of n_states states with a shortlist
 * of n_shortlist words. Only the first query of its classes measures, by calling `run`. If two threads measure at once,
 * both use the choice stored first. Returns THR_OK or what run returns.
 */
thr_status thr_head_choose_screen(thr_head *head, size_t n_states, uint32_t n_shortlist, thr_head_run_fn *run,
                                  void *query, thr_head_screen *screen, thr_error *err);

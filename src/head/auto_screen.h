/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auto_screen.h - THR_HEAD_SCREEN_AUTO: which of all words and a shortlist answers sooner, measured where it is asked.
 */
#ifndef THR_HEAD_AUTO_SCREEN_H
#define THR_HEAD_AUTO_SCREEN_H

#include "head/workspace.h"

/* Numbers from 2^(i - 1) + 1 to 2^i are of class i. */
enum { THR_HEAD_STATE_CLASSES = 65, THR_HEAD_SHORTLIST_CLASSES = 33 };

/* What was found, by classes of numbers of states and of words on the shortlist; all zeros: nothing yet. */
typedef struct thr_head_choices {
    uint8_t ways[THR_HEAD_STATE_CLASSES][THR_HEAD_SHORTLIST_CLASSES]; /* 1: all words are faster; 2: a shortlist */
} thr_head_choices;

/* Answer the query at hand with a screen, whatever its options say. */
typedef thr_status thr_head_ask_fn(void *query, thr_head_screen screen, thr_error *err);

/*
 * The faster of THR_HEAD_SCREEN_FULL and THR_HEAD_SCREEN_PLANES for a query of n_states states with a shortlist of
 * n_shortlist words; only the first one of its classes calls ask. Of two threads that do so at once both believe the
 * first. What ask returns.
 */
thr_status thr_head_choose_screen(thr_head *head, size_t n_states, uint32_t n_shortlist, thr_head_ask_fn *ask,
                                  void *query, thr_head_screen *screen, thr_error *err);

#endif

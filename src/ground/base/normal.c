/* SPDX-License-Identifier: Apache-2.0 */
/* normal.c - makes the table of tails. */
#include "base/normal.h"

#include <pthread.h>

double thr_normal_tails[THR_NORMAL_LAST + 1];
static pthread_once_t tails_are_set = PTHREAD_ONCE_INIT;

static void set_tails(void) {
    for (size_t i = 0; i <= THR_NORMAL_LAST; i++)
        thr_normal_tails[i] = erfc((double)i / THR_NORMAL_PER_UNIT * sqrt(0.5)) / 2;
}

void thr_normal_prepare(void) {
    (void)pthread_once(&tails_are_set, set_tails);
}

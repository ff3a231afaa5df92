/* SPDX-License-Identifier: Apache-2.0 */
/* answers.h - where the answers of a batch of queries go: k places a query, best first. */
#ifndef THR_SELECT_ANSWERS_H
#define THR_SELECT_ANSWERS_H

#include "select/candidates.h"

typedef struct thr_answers {
    uint64_t k;
    uint64_t *ids;       /* n_queries x k, filled up with THR_NO_ID */
    float *scores;       /* n_queries x k, filled up with -INFINITY; NULL: not wanted, as for the two below */
    uint8_t *certified;  /* one a query: 1 where the answer is proven to be the exact one */
    uint32_t *n_unknown; /* one a query: features that no item has */
} thr_answers;

/* One query's places: its items, sorted, n <= k of them; ids are their rows. */
void thr_select_answers_put(const thr_answers *answers, uint64_t query, const thr_candidate *items, size_t n);

#endif

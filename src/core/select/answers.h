/* SPDX-License-Identifier: Apache-2.0 */
/* answers.h - output arrays of a batch of queries: k entries per query, best first. */
#pragma once

#include "select/candidates.h"

typedef struct thr_answers {
    uint64_t k;
    uint64_t *ids;             /* n_queries x k, padded with THR_NO_ID */
    float *scores;             /* n_queries x k, padded with -INFINITY; NULL: not wanted, likewise the two below */
    uint8_t *certified;        /* one per query: 1 if the answer is proven exact */
    uint32_t *n_unknown;       /* one per query: number of its features that no item has */
    uint64_t *n_read;          /* one per query: number of items that were scored by more than their leading planes */
    const float *least_scores; /* one per query: items that score less are left out; NULL: none are */
} thr_answers;

/* The least score that counts for a query; -INFINITY: all do. */
float thr_select_answers_least(const thr_answers *answers, uint64_t query);

/* Store one query's answer: those of n <= k sorted items that reach the least score; rows become ids. */
void thr_select_answers_put(const thr_answers *answers, uint64_t query, const thr_candidate *items, size_t n);

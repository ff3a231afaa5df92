/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_certificates.h - what rounded scores prove about the vectors as they were given.
 *
 * A search of an index of float16 or int8 vectors, or of float32 vectors that have nearly all in common, finds the best
 * k by the scores of the kept vectors. The true score of an item is within a range around that score (scan/segment.h).
 * So the k items are the best of the vectors as given if their ranges begin above the end of every other item's range.
 * For that the search looks for one more item.
 */
#pragma once

#include "index/impl.h"
#include "scan/radius.h"

/* The range of an item's true score, if its score was computed from a kept vector. Both ends allow for rounding. */
typedef struct thr_score_range {
    double low, high;
} thr_score_range;

/* Whether scores differ from those of the vectors as given, beyond the rounding of float32 scores. */
bool thr_index_scores_are_rounded(const thr_index *index);

/*
 * Whether certificates of the best k compare ranges: if scores are rounded, or if they are of float32 vectors that have
 * so much in common that the rounding of scores may exchange neighbours. THR_ENOMEM.
 */
thr_status thr_index_compares_ranges(thr_index *index, bool *compares, thr_error *err);

/* The answers of a search for one more item, for some of which certificates are wanted. */
typedef struct thr_wider_answers {
    thr_answers answers;
    float *least_scores;
} thr_wider_answers;

/* Allocate for k items of each query. Free it after any outcome. THR_ENOMEM. */
thr_status thr_index_wider_answers_make(const thr_index *index, const thr_matrix *queries, uint64_t k,
                                        const thr_answers *wanted, thr_wider_answers *wider, thr_error *err);
void thr_index_wider_answers_free(const thr_index *index, thr_wider_answers *wider);

/* Copy the wanted items, whose certificates then hold for the vectors as given. THR_ENOMEM. */
thr_status thr_index_wider_answers_put(const thr_index *index, const thr_matrix *queries,
                                       const thr_wider_answers *wider, const thr_answers *wanted, thr_error *err);

/* A least score for a search by radius: no item whose true score reaches least_score has a lower one. THR_ENOMEM. */
thr_status thr_index_lowered_radius(const thr_index *index, const thr_matrix *queries, float least_score,
                                    float *lowered, thr_error *err);

/*
 * Given all items that reach the lowered score, keep those whose score reaches least_score, and if recall is 1 also
 * those whose true score may. certified: NULL, or flags that become 0 where it is not certain which items those are.
 * THR_ENOMEM.
 */
thr_status thr_index_keep_radius(const thr_index *index, const thr_matrix *queries, float least_score,
                                 const thr_search_options *options, thr_found *found, thr_error *err);

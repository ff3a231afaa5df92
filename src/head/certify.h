/* SPDX-License-Identifier: Apache-2.0 */
/*
 * certify.h - whether the best words among a shortlist are the best of all, by how far codes may be off.
 */
#ifndef THR_HEAD_CERTIFY_H
#define THR_HEAD_CERTIFY_H

#include "head/workspace.h"

/* How far words' codes are from what they stand for; what belongs to a word is rounded up. */
typedef struct thr_head_bounds thr_head_bounds;
void thr_head_bounds_free(thr_context *context, thr_head_bounds *bounds);

/*
 * certified[i] of the plan's states: 1 where the answer, best first in logits, is certainly that of all words. With a
 * shortlist room holds what the scan found (found, estimates). The head's bounds are measured at the first call: a pass
 * over its weights on all threads. THR_ENOMEM.
 */
thr_status thr_head_certify(thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan,
                            const float *logits, uint8_t *certified, thr_error *err);

#endif

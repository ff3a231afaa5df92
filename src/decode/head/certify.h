/* SPDX-License-Identifier: Apache-2.0 */
/* certify.h - whether a shortlist's best words are certainly the best of all words, given the errors of the codes. */
#pragma once

#include "head/workspace.h"

/* The errors of words' codes, rounded up. */
typedef struct thr_head_bounds thr_head_bounds;
void thr_head_bounds_free(thr_context *context, thr_head_bounds *bounds);

/*
 * Set certified[i] for each of the plan's states: 1 if the answer, whose logits are given, best first, is certainly the
 * same as if all words were scored; else 0. With a shortlist the workspace has the scan's results (found, estimates).
 * The first call measures the head's bounds: a pass over its weights on all threads. THR_OK or THR_ENOMEM.
 */
thr_status thr_head_certify(thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan,
                            const float *logits, uint8_t *certified, thr_error *err);

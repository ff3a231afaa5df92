/* SPDX-License-Identifier: Apache-2.0 */
/* update.h - makes new lists from lists and changes, and replays changes on newer lists. */
#pragma once

#include "hits/delta.h"

/* thr_hits_update with given update numbers. */
thr_status thr_hits_make_update(thr_hits *hits, const thr_hits_changes *changes, const thr_hit_stamps *stamps,
                                thr_hits **updated, thr_error *err);

/*
 * Apply to next the changes that updates after number `since` made to `from`. *replayed receives the new lists, or NULL
 * if there were no such updates. THR_EMISMATCH if only one of the two has names, or words; and what thr_hits_update
 * returns.
 */
thr_status thr_hits_replay(thr_hits *from, uint64_t since, thr_hits *next, thr_hits **replayed, thr_error *err);

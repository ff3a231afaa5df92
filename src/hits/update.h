/* SPDX-License-Identifier: Apache-2.0 */
/* update.h - lists made of others and of changes; and changes made again on newer lists. */
#ifndef THR_HITS_UPDATE_H
#define THR_HITS_UPDATE_H

#include "hits/delta.h"

/* thr_hits_update, the numbers of updates given. */
thr_status thr_hits_make_update(thr_hits *hits, const thr_hits_changes *changes, const thr_hit_stamps *stamps,
                                thr_hits **updated, thr_error *err);

/*
 * What updates behind `since` did to `from`, made on next: *replayed, or NULL where they did nothing. THR_EMISMATCH
 * where the one has names or words and the other has none; and what thr_hits_update returns.
 */
thr_status thr_hits_replay(thr_hits *from, uint64_t since, thr_hits *next, thr_hits **replayed, thr_error *err);

#endif

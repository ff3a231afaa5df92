/* SPDX-License-Identifier: Apache-2.0 */
/* margin.h - the rows within a margin, on devices: a second pass, with the threshold that the first pass found. */
#ifndef THR_STORE_MARGIN_H
#define THR_STORE_MARGIN_H

#include "store/screen_slice.h"

/*
 * For a batch of one query, whose collector holds the best rows of all slices: collect again, all rows within the
 * margin of the last of these. THR_ENOMEM, also if the host has no memory for all such rows; THR_EDEVICE.
 */
thr_status thr_store_widen(const thr_collecting *c, const thr_slice_plan *plans, float margin, thr_error *err);

#endif

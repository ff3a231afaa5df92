/* SPDX-License-Identifier: Apache-2.0 */
/* margin.h - the rows of a margin on devices: another pass, with the threshold that is known by then. */
#ifndef THR_STORE_MARGIN_H
#define THR_STORE_MARGIN_H

#include "store/screen_part.h"

/*
 * The one query of a batch, whose collector holds the best of all parts: collect anew these and all that is within the
 * margin of the last of them. THR_ENOMEM, too, where there are more such rows than the host has memory for.
 */
thr_status thr_store_widen(const thr_collecting *c, const thr_part_plan *plans, float margin, thr_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* gather_copy.h - gathers items of other segments of the same shape, as they are stored. */
#pragma once

#include "index/build/gather.h"

/* Add one item of a segment. THR_ENOMEM. */
thr_status thr_index_gather_copy(thr_gather *gather, const thr_segment *from, uint32_t item, thr_error *err);

/* After the last item: compute the blocks' norms. */
void thr_index_gather_copy_end(thr_gather *gather);

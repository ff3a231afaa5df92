/* SPDX-License-Identifier: Apache-2.0 */
/* kept_recall.h - what share of the true nearest items the vectors kept as float16 or int8 find. */
#pragma once

#include "index/build/row_source.h"
#include "index/impl.h"

enum { THR_KEPT_UNIT = 1000 }; /* shares are in thousandths */

/*
 * Measure, on some items as queries, what share of their nearest 10 by the vectors as given is among the nearest 10 by
 * the kept ones, in thousandths, at least 1. 0 if it is not measured: of other types, and of few items. index has the
 * rows of the source in their order. Of a source that cannot seek, only the items of its sample count. THR_ENOMEM; and
 * what the reader returns.
 */
thr_status thr_index_measure_kept(thr_index *index, thr_row_source *source, uint32_t *thousandths, thr_error *err);

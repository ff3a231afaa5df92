/* SPDX-License-Identifier: Apache-2.0 */
/* extra.h - options->extra on devices: a second pass, with the threshold that the first pass found. */
#pragma once

#include "store/screen_slice.h"

/*
 * For a batch of one query, whose collector holds the best rows of all slices: collect again, all rows whose estimate
 * is at least that of the worst of these minus extra (thr_scan_collector_extra). Returns THR_OK; THR_ENOMEM, also if
 * the host has no memory for all such rows; THR_EDEVICE.
 */
thr_status thr_store_collect_within(const thr_collecting *c, const thr_slice_plan *plans, float extra, thr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* cells.h - the step of a build that puts the items of its segments into cells. */
#pragma once

#include "index/build/directory.h"

/* THR_EINVAL if there are more cells than items. */
thr_status thr_index_check_n_cells(uint32_t n_cells, uint64_t n_items, thr_error *err);

/*
 * Rewrite the segments of an unpublished manifest cell by cell, with about n_cells cells in all, and list the new files
 * instead. Rewrites its posting lists, if it has any, for the new rows. Ids are then no longer row numbers. *measured
 * receives what thr_index_measure_new_cells measures. THR_EINVAL for more cells than items; THR_ECANCELED;
 * THR_ENOSPACE; THR_EIO; THR_ENOMEM.
 */
thr_status thr_index_build_cells(thr_context *context, const thr_build_dir *dir, uint32_t n_cells,
                                 thr_manifest *manifest, thr_cells_choice *measured, thr_error *err);

/*
 * The same with the number of cells that choose_cells.h finds, which is 0 with posting lists. Keeps the segments as
 * they are unless searches are expected to be clearly faster with cells, and to find what they promise.
 */
thr_status thr_index_build_best_cells(thr_context *context, const thr_build_dir *dir, thr_manifest *manifest,
                                      thr_cells_choice *choice, thr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* choose_cells.h - decides whether an index is faster with cells, and with how many. */
#pragma once

#include "index/manifest.h"

/*
 * The number of cells that a build with THR_CELLS_AUTO tries, a power of two; 0 if the index
 *
 *   - has so few rows that cells cannot be clearly faster, however few a search reads;
 *   - has posting lists, since searches with features read all cells; or
 *   - cannot have cells.
 */
uint32_t thr_index_cells_to_try(const thr_manifest *manifest);

/* Whether a build with THR_CELLS_AUTO keeps cells that measure so. */
bool thr_index_cells_are_worth(const thr_cells_choice *measured);

/*
 * thr_index_measure_cells of an index whose cells were just made: also measures short_by, by seven more searches, which
 * that function takes from the manifest. THR_ECHANGED; THR_ENOMEM.
 */
thr_status thr_index_measure_new_cells(thr_index *index, thr_cells_choice *choice, thr_error *err);

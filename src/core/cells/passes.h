/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passes.h - passes whose blocks are screened together with those of other queries: by one thread (group_search.h), or
 * by devices (device_search.h). Such a pass finds the same rows as one that runs alone, with the same bits.
 *
 * A query runs its small passes alone. Before a pass over many blocks it waits for the caller to screen them. Then it
 * finishes this pass, and goes on to the next pass over many blocks, or to its end.
 */
#pragma once

#include "cells/workspace.h"

/*
 * Begin the search of query number `row` in a slot, and run its passes up to the first that screens least_blocks blocks
 * or more. Prepare that screen and set the slot's pass->waits; if there is no such pass, write the query's answer.
 * Errors are those of thr_cells_visit_run_pass.
 */
thr_status thr_cells_pass_begin(const thr_cells_job *job, uint64_t row, size_t slot, uint64_t least_blocks,
                                thr_error *err);

/* Finish the pass of a slot that waited, whose screen set is_complete, and go on in the same way. */
thr_status thr_cells_pass_continue(const thr_cells_job *job, uint64_t row, size_t slot, uint64_t least_blocks,
                                   thr_error *err);

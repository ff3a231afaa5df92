/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passes.h - passes of several queries whose blocks are screened together: by one thread (group_search.h), or by
 * devices (device_search.h). A pass finds the same rows as alone, with the same bits.
 *
 * A query is brought to its first pass that is worth waiting for, and waits. Once its screen has run, the query goes
 * on to the next such pass, or to its end. Its other passes run alone.
 */
#pragma once

#include "cells/workspace.h"

/*
 * Begin the search of query number `row` in a slot. If it comes to a pass over least_blocks blocks or more, prepare its
 * screen and set waits; else write its answer. Errors are those of thr_cells_visit_run_pass.
 */
thr_status thr_cells_pass_begin(const thr_cells_job *job, uint64_t row, size_t slot, uint64_t least_blocks,
                                thr_error *err);

/* Finish the pass of a slot that waited, and go on in the same way. */
thr_status thr_cells_pass_continue(const thr_cells_job *job, uint64_t row, size_t slot, uint64_t least_blocks,
                                   thr_error *err);

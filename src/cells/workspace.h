/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.h - the memory of searches of cells of one index. */
#pragma once

#include "cells/visit.h"

struct thr_cells_workspace {
    thr_context *context;
    uint32_t n_threads;
    bool is_ready; /* all memory is there, and places are set */
    thr_cells_capacity capacity;
    thr_cell_place *places;      /* capacity.n_cells */
    thr_cells_visitor *visitors; /* one per thread */
    thr_cells_visit *visits;     /* likewise */
};

/* Make room for a plan, and set plan->places. All plans are searches of the same index. THR_ENOMEM. */
thr_status thr_cells_workspace_prepare(thr_cells_workspace *workspace, thr_cells_plan *plan, thr_error *err);

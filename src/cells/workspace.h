/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.h - the memory of a search of cells. */
#pragma once

#include "cells/passes.h"

struct thr_cells_workspace {
    thr_context *context;
    uint32_t n_threads;
    bool is_ready; /* whether all memory is there */
    thr_cells_capacity capacity;
    thr_cell_place *places;      /* capacity.n_cells */
    thr_cells_visitor *visitors; /* one per thread */
};

/* Make room for a plan, and set its places. THR_ENOMEM. */
thr_status thr_cells_workspace_prepare(thr_cells_workspace *workspace, thr_cells_plan *plan, thr_error *err);

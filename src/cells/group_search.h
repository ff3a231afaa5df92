/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_search.h - searches for many queries that read blocks together, on the CPU.
 *
 * A thread searches for one query after the other. A query whose next pass reads many blocks waits; once as many wait
 * as the thread has slots, it goes through the blocks of all their passes in order, and screens each block for all
 * queries that read it while it is in cache. Queries that read few blocks share hardly any, and never wait.
 */
#pragma once

#include "cells/workspace.h"

/* The slots that a search uses: 1 for each thread if queries are not to wait for each other. */
uint32_t thr_cells_group_slots(const thr_cells_job *job);

/* Search for all queries of a job, whose workspace and lanes have n_slots slots. Errors are those of cell_search.h. */
thr_status thr_cells_search_in_groups(const thr_cells_job *job, uint32_t n_slots, thr_error *err);

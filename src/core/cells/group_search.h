/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_search.h - searches on the CPU for many queries, which read blocks together.
 *
 * A thread searches for one query after the other. A query whose next pass reads many blocks waits. Once as many
 * queries wait as the thread has slots, the thread goes through the blocks of all their passes in order, and screens
 * each block for all queries that read it while it is in cache. Queries that read few blocks share hardly any, and
 * never wait.
 */
#pragma once

#include "cells/workspace.h"

/*
 * The number of slots of a search on all threads, the same for each: as many as a thread has queries, at most 16, and
 * no more than thr_cells_slots_in_memory allows. With one slot a thread, no query waits.
 */
uint32_t thr_cells_group_slots(const thr_cells_job *job);

/*
 * Search for all queries of a job. n_slots is thr_cells_group_slots(job); the job's workspace and scan have that many
 * slots and lanes. Errors are those of thr_cells_search on the CPU.
 */
thr_status thr_cells_search_in_groups(const thr_cells_job *job, uint32_t n_slots, thr_error *err);

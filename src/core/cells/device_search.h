/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_search.h - searches of cells whose screens run on the devices of a store (store/listed.h).
 *
 * Many queries are searched at once, in rounds. In a round, threads bring every query to its next pass, devices screen
 * the blocks of all these passes, and threads do the rest: rescore, refine, choose the next cells. A pass runs on a
 * thread if it scores vectors, or if devices cannot return all its rows. A pass finds the same rows either way, so
 * answers have the same bits, for any batch.
 */
#pragma once

#include "cells/workspace.h"

/* Whether a search with this plan uses devices: its screens have margins, and devices hold all codes of the corpus. */
bool thr_cells_can_use_devices(const thr_cells_plan *plan);

/* The number of queries to search at once: at most THR_DEVICE_QUERIES, fewer where that takes much host memory. */
uint32_t thr_cells_device_slots(const thr_cells_job *job);

/* Search for all queries of a job, whose workspace and lanes have n_slots slots. THR_ENOMEM; THR_EDEVICE. */
thr_status thr_cells_search_on_devices(const thr_cells_job *job, uint32_t n_slots, thr_error *err);

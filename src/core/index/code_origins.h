/* SPDX-License-Identifier: Apache-2.0 */
/* code_origins.h - the origins of the codes of a segment that is being written (scan/origins.h). */
#pragma once

#include "cells/cells.h"
#include "code/encode.h"

/* Initialise with zeros; owns its arrays. */
typedef struct thr_index_code_origins {
    thr_context *context;
    thr_code_origins of; /* points to the arrays below, or to centroids or the centre; rows are the segment's items */
    float *points, *from_centre;
    uint32_t *of_row;
} thr_index_code_origins;

/*
 * Make the origins of n_items items: the centroids of their cells; without cells (NULL) the quantiser's centre. cells
 * is borrowed. THR_ENOMEM.
 */
thr_status thr_index_code_origins_make(thr_context *context, const thr_quantiser *quantiser,
                                       const thr_cell_table *cells, uint64_t n_items, thr_index_code_origins *origins,
                                       thr_error *err);
void thr_index_code_origins_free(thr_index_code_origins *origins);

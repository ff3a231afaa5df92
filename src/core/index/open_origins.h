/* SPDX-License-Identifier: Apache-2.0 */
/* open_origins.h - the origins of an open index's codes (scan/origins.h). */
#pragma once

#include "cells/cells.h"
#include "scan/scan.h"

/* Initialise with zeros; owns its arrays. */
typedef struct thr_index_origins {
    thr_corpus_origins of; /* of all segments */
    thr_segment_origins *segments;
    float *centre;  /* zeros, if the quantiser has none; else NULL */
    float *lengths; /* of the origins of all segments */
    uint32_t *starts, *of_block;
} thr_index_origins;

/*
 * Make the origins of segments, and set each segment's pointer to its own. They are the centroids of its table; in a
 * segment without cells the quantiser's centre. Tables and quantiser are borrowed. THR_ENOMEM.
 */
thr_status thr_index_origins_make(thr_context *context, const thr_quantiser *quantiser, const thr_cell_table *tables,
                                  thr_segment *segments, uint32_t n_segments, thr_index_origins *origins,
                                  thr_error *err);
void thr_index_origins_free(thr_context *context, thr_index_origins *origins);

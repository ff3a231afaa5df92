/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_scores.h - what a search's scan asks of the posting lists: sums by window, values, and rows that may be
 * found.
 *
 * Threads: a thr_hits_room is used by one search at a time, by lanes of it at once.
 */
#ifndef THR_INDEX_FEATURE_SCORES_H
#define THR_INDEX_FEATURE_SCORES_H

#include "hits/impl.h"
#include "scan/scan.h"

typedef struct thr_hits_room thr_hits_room;

/* Scratch memory, for thr_idle. */
thr_status thr_index_feature_scores_make(thr_context *context, void **room, thr_error *err);
void thr_index_feature_scores_free(void *room);

/*
 * What options ask of hits, for n_queries queries. THR_EUNSUPPORTED when hits is NULL and something is asked; THR_EDIM;
 * THR_EINVAL; THR_ERANGE for weights that are not finite, or add up to more than 2^100 (err names the query).
 */
thr_status thr_index_feature_scores_check(const thr_hits *hits, const char *path, const thr_search_options *options,
                                          uint64_t n_queries, thr_error *err);

/*
 * Begin a search of n_lanes lanes: *scan_hits is what its target gets, and options->filter lets through what the target
 * does, too. Until _end the lists' values stay what they are. THR_ENOMEM.
 */
thr_status thr_index_feature_scores_begin(thr_hits_room *room, thr_hits *hits, size_t n_lanes,
                                          thr_search_options *options, thr_scan_hits *scan_hits, thr_error *err);
void thr_index_feature_scores_end(thr_hits_room *room);

/* From here on *scan_hits, which _begin has filled, can be asked on the device that store is on; NULL: it cannot. */
void thr_index_feature_scores_use(thr_scan_hits *scan_hits, thr_hit_store *store);

#endif

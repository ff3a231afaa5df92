/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - how a search of an index runs: all that does not depend on the queries' vectors, decided once before it
 * begins. thr_index_search, thr_index_search_radius and thr_index_explain make the same plan.
 */
#pragma once

#include "index/search/memory.h"
#include "scan/job.h"

/* What a search reads. If the plan has_tail, the journal's tail is read beside it. */
typedef enum thr_search_source {
    THR_SOURCE_NOTHING, /* there are no segments */
    THR_SOURCE_VECTORS, /* all kept vectors that the filter lets through */
    THR_SOURCE_BOUNDED, /* the rows of the cells whose bounds reach the worst score of the answer */
    THR_SOURCE_CODES,   /* all codes; then records and vectors of the best rows */
    THR_SOURCE_CELLS,   /* the same of likely cells, until few enough of the best rows are expected in others */
} thr_search_source;

/* Not to be copied: some of its parts point to others. */
typedef struct thr_search_plan {
    thr_search_options options; /* of the source: recall, counts and filter are final; `source` decides on exact */
    uint64_t n_queries, k;      /* k is 0 for a search within a radius */
    thr_search_source source;
    const char *reason; /* of the source, for people; NULL where there was no choice */
    bool encodes;       /* a model encodes the queries, whose codes are searched */
    bool reranks;       /* the codes' candidates are then scored by the vectors that the model encoded */
    bool has_tail;
    const uint64_t *tail_filter; /* of all rows; options.filter is NULL if all rows of the segments pass */
    bool certifies;              /* answers may be proven exact; if false, none is */
    bool compares_ranges;        /* the proofs are about the vectors as given (kept_certificates.h) */
    uint64_t n_found;            /* items that the source finds: k; for ranges one more, to rerank all candidates */
    /* Of THR_SOURCE_VECTORS and _CODES with k > 0: the scan and its corpus, without a store. */
    thr_scan_corpus corpus;
    thr_answers shape; /* of the job: n_found, and whether answers are certified */
    thr_job job;
    bool has_lists; /* memory->lists are in use, for sums or a target */
    /* Sums of posting lists, which hits points to; NULL: none are added. */
    thr_scan_hits *hits, sums;
    thr_search_memory *memory; /* of the search; NULL only after an error */
} thr_search_plan;

/*
 * Plan a search of n_queries queries for the best k; k 0: within a radius. The options were checked. End the plan
 * whatever this returns. THR_ENOMEM.
 */
thr_status thr_index_plan_begin(thr_index *index, uint64_t n_queries, uint64_t k, const thr_search_options *options,
                                thr_search_plan *plan, thr_error *err);
void thr_index_plan_end(thr_index *index, thr_search_plan *plan);

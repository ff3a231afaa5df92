/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - a search over codes: its job, its queries, groups of queries, and lanes of scratch memory; and its steps. */
#pragma once

#include "code/group.h"
#include "code/nested.h"
#include "kernel/kernel.h"
#include "scan/radius.h"
#include "scan/scan.h"
#include "select/candidates.h"
#include "select/sampled_threshold.h"

#include <math.h>

enum {
    THR_TILE_BLOCKS = 16,    /* most blocks screened at once: their bounds fill one 64-byte register */
    THR_TILE_BYTES = 12288,  /* most bytes of codes screened at once; larger tiles interrupt the prefetcher's stream */
    THR_RUN_BLOCKS = 16,     /* blocks that are divided into tiles of about equal size */
    THR_PIECE_BLOCKS = 1024, /* blocks a thread takes at once */
    THR_GROUP = 16,          /* queries that read every tile together */
    THR_SHARED_BYTES = 256 << 10, /* of vectors that all queries of a group score while they are in cache */
};

/*
 * The number of blocks sampled for the first threshold (at the positions of thr_select_sample_place): one in 32, at
 * most 256, and none if that is fewer than 8. The 16,384 scores of 256 blocks suffice to estimate the threshold that a
 * hundredth of a percent of the items reach.
 */
enum { THR_SAMPLE_BLOCKS = 256, THR_SAMPLE_LEAST = 8, THR_SAMPLE_DIVISOR = 32 };

static inline uint64_t thr_sample_blocks(uint64_t n_blocks) {
    const uint64_t n = n_blocks / THR_SAMPLE_DIVISOR;
    return n < THR_SAMPLE_LEAST ? 0 : n < THR_SAMPLE_BLOCKS ? n : THR_SAMPLE_BLOCKS;
}

/* A search, as all its steps read it. */
typedef struct thr_job {
    thr_context *context;
    const thr_scan_corpus *corpus;
    const thr_search_options *options;
    uint32_t query_bits;
    const thr_answers *answers;
    uint64_t n_blocks;
    uint64_t n_allowed;    /* rows that pass the filter */
    size_t n_survivors;    /* rows that pass the screen; of nested codes those whose records are read */
    size_t n_candidates;   /* candidates to refine, at most n_survivors */
    bool exact;            /* score rows from their vectors, without a screen */
    bool measures_queries; /* prepared queries get their geometry; with origins they always do */
    double kept_error;     /* thr_scan_kept_error, where answers are certified */
    /*
     * Margins of the screen and of the rescoring, in standard errors, that keep the recall (margin.h). 0: no margins;
     * the numbers of survivors and candidates determine the recall.
     */
    double screen_z, rescore_z;
} thr_job;

/*
 * The lengths and distances from which the bounds of a query's estimates are computed (bounds.h). p is the coded part;
 * p~ and p^ are the vectors that its codes represent, for the planes in blocks and for those in records, scaled to p's
 * length.
 */
typedef struct thr_query_geometry {
    double query_length;  /* the query's length, 1 for cosine */
    double origin_length; /* |c|, 0 without a centre; with origins the largest |o| */
    double part_length;   /* |p| */
    double lead_distance; /* |p - p~| */
    double rest_distance; /* |p - p^| */
    /* p's effective number of dimensions: |p|^4 / the sum of the fourth powers of p's components */
    double effective_dims;
    double farthest_origin, nearest_origin; /* with origins: the largest and the least scored distance (origins.h) */
} thr_query_geometry;

/*
 * One query, read by all threads.
 *
 * Estimates are collected in *the collector's units*: the user's score less the query's bias, and, for codes without
 * factors, divided by code.gain. With D the distance that the kernels compute and total the largest one (code/query.h),
 * an item's estimate is (total - 2 D) factor gain - offset x offset_weight. With origins, bias is 0, the base of the
 * item's origin is added, and thr_scan_origin_margin is added to total.
 */
typedef struct thr_scan_query {
    const thr_scan_corpus *corpus;
    const thr_kernels *kernels;
    const uint64_t *filter; /* NULL: all rows */
    const float *vector;    /* n_dims; of length 1 for cosine, unless the quantiser is fixed */
    float norm;             /* the query's length as given */
    /*
     * F16 and I8: a score is (scale <kept_vector, v> - half) kept_weight + kept_bias (segment.h). Else kept_vector is
     * vector.
     */
    const float *kept_vector;
    float kept_weight, kept_bias;
    thr_query_code code;
    float gain;          /* with factors: multiplies (total - 2 D) * factor */
    float offset_weight; /* multiplies offsets */
    float bias;          /* estimate in the collector's units + bias = the user's score */
    /*
     * Nested codes: estimate = (s_lead * lead_gain + s_rest * rest_gain + rescore_margin) * factor
     *                          - offset * offset_weight.
     */
    thr_rest_query rest;
    float lead_gain, rest_gain;
    /*
     * Added to that sum, so that the rescoring overestimates (margin.h); with origins
     * hypot(rescore_margin min(distance, across), own_rescore_margin).
     */
    float rescore_margin, own_rescore_margin;
    thr_query_geometry geometry;    /* where job->measures_queries, or with origins */
    const thr_origin_term *origins; /* by number; NULL: the corpus has none */
    /* With origins the screen adds hypot(random_margin min(distance, across), own_margin) to total (margin.h). */
    double random_margin, own_margin, across;
    bool is_unbiased;  /* with origins: gains were divided by the cosine to the query's code (margins/unbias.h) */
    float unit;        /* with hits: the unit of sums */
    bool reads_ahead;  /* announces pages before it touches them (pages.h) */
    bool skips_screen; /* its rows are in the collector already, or a radius search scores all vectors */
} thr_scan_query;

/* Queries that read every tile together; may be a single one. */
typedef struct thr_scan_group {
    const thr_scan_query *queries;
    uint32_t n;
    thr_query_group codes; /* includes the way to compute distances; not set for exact searches */
} thr_scan_group;

/*
 * For the rows dropped by the screen and by the rescore: upper bounds of their estimates, in the collector's units.
 * -INFINITY: none was dropped.
 */
typedef struct thr_left_out {
    double screened, rescored;
    double factor; /* the largest in the records of all rescored rows */
} thr_left_out;

/* Whether searches on a lane read from the disk (pages.h). */
typedef struct thr_read_ahead {
    long blocks_read; /* by the thread, as getrusage counts them */
    uint32_t passes;  /* since the lane began, or since its last pass that read from the disk */
} thr_read_ahead;

/* The scratch memory of one query or one thread. */
typedef struct thr_lane {
    thr_collector collector;
    float *vector;     /* n_dims floats: the query; as many: its coded part, or a row; as many: its kept_vector */
    void *code_memory; /* thr_code_query_size */
    void *rest_memory; /* thr_rest_query_size */
    thr_origin_term *origins; /* the query's terms, by origin */
    size_t origins_capacity;
    /* The kernel's results for the query as given and all origins, if the caller has computed them; else NULL. */
    const float *origin_scores;
    uint32_t *distances, *more_distances; /* of a tile */
    void *group_memory;                   /* first lane of a group only: thr_code_query_group_size bytes */
    uint32_t *group_distances;            /* first lane only: a tile's distances for all queries of the group */
    uint32_t group_capacity;              /* queries that these two have capacity for */
    float *sample;                        /* scores of the sampled blocks */
    thr_left_out left_out;                /* of the query in progress */
    size_t number;                        /* of the lane, within its search */
    const int32_t *sums;                  /* with hits: sums of the current window; NULL: none */
    uint32_t window;
    thr_found accepted;    /* rows that a radius search has accepted on this lane so far */
    thr_found found;       /* rows of both passes (complete.c) */
    double left_out_bound; /* no row that the screen left out has a larger overestimate (complete.c) */
    float floor;           /* rows with a lower estimate in the screen cannot be in the answer; -INFINITY: unknown */
    uint64_t n_read;       /* rows scored by more than their leading planes, for the query in progress */
    thr_read_ahead read_ahead;
} thr_lane;

/* Queries that devices process at once, each with a lane, whatever the number of threads. */
enum { THR_DEVICE_QUERIES = 256 };

struct thr_scan {
    thr_context *context;
    uint32_t n_dims; /* capacity of the lanes */
    size_t n_lanes;  /* a group of lanes per thread */
    thr_lane lanes[];
};

/*
 * Allocate all the memory that a search can need in the first n_lanes lanes, in groups of `group`. A second search of
 * the same shape allocates nothing. THR_ENOMEM.
 */
thr_status thr_scan_make_room(thr_scan *scan, const thr_scan_corpus *corpus, size_t n_lanes, uint32_t group,
                              size_t survivors, thr_error *err);

/* Global block numbers: row / 64. Every segment begins at a multiple of 64. */
typedef struct thr_block_range {
    uint64_t first, end;
} thr_block_range;

static inline bool thr_is_nested(const thr_scan_corpus *corpus) {
    return corpus->lead < corpus->quantiser->item_bits;
}

/*
 * Whether codes have factors, as all do but flat cosine codes without a centre or origins. All segments of a corpus are
 * alike.
 */
static inline bool thr_has_factors(const thr_scan_corpus *corpus) {
    return thr_is_nested(corpus) || corpus->segments->factors != NULL;
}

/* Bytes of a kept vector. */
static inline size_t thr_row_size(const thr_scan_corpus *corpus) {
    return corpus->quantiser->n_dims * thr_dtype_size(corpus->keep);
}

/* The least computed cosine of a row that may be a multiple of the query (refine.c). */
static inline float thr_near_cosine(uint32_t n_dims) {
    return (float)(1 - thr_score_rounding(n_dims));
}

/* The number of blocks whose vectors take about THR_SHARED_BYTES. Needs kept vectors. */
static inline uint64_t thr_shared_blocks(const thr_scan_corpus *corpus) {
    return THR_SHARED_BYTES / (THR_BLOCK_ITEMS * thr_row_size(corpus)) + 1;
}

/* Make the job of a search with these options. It borrows all arguments. */
thr_job thr_scan_job_make(thr_context *context, const thr_scan_corpus *corpus, const thr_search_options *options,
                          const thr_answers *answers);

/*
 * In scan.c: run a job for queries that thr_scan_check_queries has accepted, on the CPU: thr_scan_search without its
 * first two steps, and with its errors. job->corpus->store is not used.
 */
thr_status thr_scan_run(thr_scan *scan, const thr_job *job, const thr_matrix *queries, thr_error *err);

/* Whether margins can keep the recall of a search with these options, if it is below 1 (margin.h). */
bool thr_scan_has_margins(const thr_scan_corpus *corpus);

/*
 * The job of a search over part of another job's corpus, with the same margins. corpus, options and answers are those
 * of the part.
 */
thr_job thr_scan_job_of_part(const thr_job *whole, const thr_scan_corpus *corpus, const thr_search_options *options,
                             const thr_answers *answers);

/*
 * Prepare query number q of queries in lane's memory, which *query borrows: its codes, gains, offset weight and bias;
 * with origins also its terms.
 */
void thr_scan_query_prepare(const thr_job *job, const thr_matrix *queries, uint64_t q, thr_lane *lane,
                            thr_scan_query *query);

/*
 * Make a group of n queries with the fastest way to compute distances for that many; with job->exact it only counts
 * them. The group borrows queries and the first lane's memory, which must have capacity for n.
 */
thr_scan_group thr_scan_group_make(const thr_job *job, const thr_scan_query *queries, uint32_t n, thr_lane *lanes);

/*
 * Collect the survivors of n queries, each in its own lane. With n_lanes > 1, n is 1: all threads collect that query's
 * survivors in the first lane. With job->exact the scores are exact.
 */
thr_status thr_scan_collect(const thr_job *job, thr_scan_query *queries, size_t n, thr_lane *lanes, uint32_t n_lanes,
                            thr_error *err);

/*
 * The threshold of one query with which thr_scan_collect begins, for a screen that runs elsewhere. If fewer than
 * job->n_survivors rows reach it, and it is above the lane's floor, it was too high. Leaves rows in lane's collector.
 */
float thr_scan_first_threshold(const thr_job *job, const thr_scan_query *query, thr_lane *lane);

/*
 * Collect the first allowed rows: the answer for a query of length 0, whose cosine or inner product with every row is
 * 0.
 */
thr_status thr_scan_collect_first(const thr_job *job, const thr_scan_query *query, thr_lane *lane, thr_error *err);

/* Offer all rows of the blocks to each query's lane; its collector keeps those whose estimate reaches the threshold. */
void thr_scan_screen_blocks(const thr_scan_group *group, thr_lane *lanes, thr_block_range blocks);

/* One of several queries that screen the same blocks. In its corpus, these are those of a segment from `first` on. */
typedef struct thr_scan_share {
    const thr_scan_query *query;
    thr_lane *lane;
    const thr_segment *segment;
    uint64_t first;
} thr_scan_share;

/*
 * Offer all rows of n_blocks blocks to the lanes of n >= 1 queries. Each query has its own corpus and filter, but for
 * these blocks all are views of the same memory. way: the way for one query.
 */
void thr_scan_screen_shares(const thr_scan_share *shares, uint32_t n, size_t n_blocks, thr_way way);

/* As thr_scan_screen_blocks for one query, with exact scores from the kept vectors. */
void thr_scan_exact_blocks(const thr_scan_query *query, thr_lane *lane, thr_block_range blocks);

/* Nested codes: replace the leading planes' estimates by those of all planes. */
void thr_scan_rescore(const thr_scan_query *query, thr_candidate *items, size_t n);

/* Replace estimated scores by exact ones. lane provides memory for a row. */
void thr_scan_refine(const thr_scan_query *query, thr_lane *lane, thr_candidate *items, size_t n);

/*
 * Whether scoring the vectors of the allowed rows costs less than screening the blocks that hold them. Both costs are
 * estimates by scan/cost.h: wrong ones change the time, not the answer.
 */
bool thr_scan_rows_are_cheaper(const thr_scan_corpus *corpus, const uint64_t *filter, uint64_t n_allowed);

/*
 * Record an upper bound of the estimates that the screen left out, given the items that passed; and, if these will be
 * rescored, the largest factor in their records.
 */
void thr_scan_left_out_note_screened(const thr_job *job, const thr_candidate *items, size_t n, thr_left_out *out);
void thr_scan_left_out_note_factors(const thr_job *job, const thr_candidate *items, size_t n, thr_left_out *out);

/* Record the bounds after the rescore: n of the n_rescored items will be refined. */
void thr_scan_left_out_note_refined(const thr_candidate *items, size_t n, size_t n_rescored, thr_left_out *out);

/* Whether every row that was left out certainly scores less than `score`, the k-th score of the answer. */
bool thr_scan_certify(const thr_job *job, const thr_scan_query *query, const thr_left_out *out, float score);

/*
 * The steps from a lane's survivors to an answer: thr_scan_answer_note_left_out records bounds of the rows that the
 * screen left out; thr_scan_rescore, if thr_answer_rescores; thr_scan_answer_choose_candidates; thr_scan_refine, if
 * thr_answer_refines; thr_scan_answer_put.
 */
static inline bool thr_answer_rescores(const thr_job *job, const thr_scan_query *query) {
    return !job->exact && !query->skips_screen && thr_is_nested(job->corpus);
}

static inline bool thr_answer_refines(const thr_job *job) {
    return !job->exact && job->corpus->keep != THR_DTYPE_NONE;
}

/* Whether an answer can be certified only by bounds of the rows left out. */
static inline bool thr_answer_needs_bounds(const thr_job *job, const thr_scan_query *query) {
    return job->answers->certified != NULL && thr_answer_refines(job) && !query->skips_screen &&
           job->corpus->hits == NULL;
}

void thr_scan_answer_note_left_out(const thr_job *job, const thr_scan_query *query, thr_lane *lane);
void thr_scan_answer_choose_candidates(const thr_job *job, const thr_scan_query *query, thr_lane *lane);

/* Where the scores of n sorted items are estimates, clamp them to what the metric can have. */
void thr_scan_clamp_estimates(const thr_job *job, thr_candidate *items, size_t n);

/* Write the answer of query number q. THR_ERANGE: a value in it is not finite (err names the row). */
thr_status thr_scan_answer_put(const thr_job *job, const thr_scan_query *query, thr_lane *lane, uint64_t q,
                               thr_error *err);

/* The least score of n items; infinity if there are none. */
static inline double thr_least_of(const thr_candidate *items, size_t n) {
    float least = INFINITY;
    for (size_t i = 0; i < n; i++)
        least = items[i].score < least ? items[i].score : least;
    return (double)least;
}

/* The user's score of an estimate in the collector's units. */
float thr_scan_estimate_score(const thr_scan_query *query, float score);

/* The segment that holds a row. */
const thr_segment *thr_scan_segment_of(const thr_scan_corpus *corpus, uint64_t row);

/* The query's term for a row's origin. Without origins (terms NULL) a base of 0 and a distance of 1. */
thr_origin_term thr_scan_term_of(const thr_scan_corpus *corpus, const thr_origin_term *terms, uint64_t row);

/* With origins: the margin that the screen adds to the query's total for the items of an origin at this distance. */
int32_t thr_scan_origin_margin(const thr_scan_query *query, double distance);

/* A bit for each row of block b of a segment that exists and passes the filter. */
static inline uint64_t thr_block_rows(const thr_scan_query *query, const thr_segment *segment, uint64_t block) {
    const uint64_t left = segment->n_items - block * THR_BLOCK_ITEMS;
    const uint64_t there = left >= THR_BLOCK_ITEMS ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
    return query->filter == NULL ? there : there & query->filter[segment->first_row / THR_BLOCK_ITEMS + block];
}

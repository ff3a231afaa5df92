/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - what one thread needs to work on a query, and what all threads share of it.
 */
#ifndef THR_SCAN_WORKER_H
#define THR_SCAN_WORKER_H

#include "code/group.h"
#include "code/nested.h"
#include "kernel/kernel.h"
#include "scan/scan.h"
#include "select/candidates.h"
#include "select/sampled_threshold.h"

enum {
    THR_TILE_BLOCKS = 16, /* blocks screened in one go, at most */
    THR_TILE_BYTES =
        12288,           /* and about so many bytes of codes: more, and the stream of codes is interrupted too long */
    THR_RUN_BLOCKS = 16, /* blocks whose bounds are computed in one go: a register's worth */
    THR_PIECE_BLOCKS = 1024,      /* blocks a thread takes at once */
    THR_GROUP = 16,               /* queries that read every tile together */
    THR_SHARED_BYTES = 256 << 10, /* of vectors that they score one after the other: these stay in the cache */
};

/*
 * How many blocks are sampled for the first threshold: one in 32, at most 256 (their 16,384 scores tell a threshold of
 * a hundredth of a percent well enough), and none where less than 8 would be: those of thr_select_sample_place.
 */
enum { THR_SAMPLE_BLOCKS = 256, THR_SAMPLE_LEAST = 8, THR_SAMPLE_ONE_IN = 32 };

static inline uint64_t thr_sample_blocks(uint64_t n_blocks) {
    const uint64_t n = n_blocks / THR_SAMPLE_ONE_IN;
    return n < THR_SAMPLE_LEAST ? 0 : n < THR_SAMPLE_BLOCKS ? n : THR_SAMPLE_BLOCKS;
}

/* A search as all its parts see it. */
typedef struct thr_job {
    thr_context *context;
    const thr_scan_target *target;
    const thr_search_options *options;
    uint32_t query_bits;
    const thr_answers *answers;
    uint64_t n_blocks, n_allowed; /* rows that pass the filter */
    size_t survivors;             /* rows the screen lets through: of nested codes those whose other planes are read */
    size_t wanted;                /* candidates, at most survivors */
    bool exact;                   /* score rows from their vectors, without a screen */
    bool bounded;                 /* queries' errors are measured */
    double kept_error;            /* thr_scan_kept_error, where bounded */
} thr_job;

/*
 * What bounds of a query's estimates are made of (bounds.h). p is its coded part; the vectors that its codes stand for,
 * p~ for the planes in blocks and p^ for those in records, have p's length.
 */
typedef struct thr_query_errors {
    double size;   /* the query's length, 1 for cosine */
    double centre; /* the centre's */
    double length; /* |p| */
    double code;   /* |p - p~| */
    double rest;   /* |p - p^| */
} thr_query_errors;

/* One query, as every thread reads it. */
typedef struct thr_scan_query {
    const thr_scan_target *target;
    const thr_kernels *kernels;
    const uint64_t *filter; /* NULL: all rows */
    const float *vector;    /* n_dims; for cosine of length 1, but where the quantiser is fixed */
    float norm;             /* the query's length as given */
    thr_query_code code;
    float gain;   /* with factors: what (total - 2 D) * factor is multiplied by */
    float weight; /* what offsets are multiplied by */
    float bias;   /* what an estimate in the collector's units lacks to be the user's score */
    /* Nested codes: estimate = (s_lead * lead_gain + s_rest * rest_gain) * factor - offset * weight. */
    thr_rest_query rest;
    float lead_gain, rest_gain;
    thr_query_errors errors; /* where job->bounded */
    float unit;              /* with hits: what sums are multiples of */
    bool collected;          /* its collector is complete: the pass leaves it out */
} thr_scan_query;

/* Queries whose codes meet every tile together; one alone is a group, too. */
typedef struct thr_scan_group {
    const thr_scan_query *queries;
    uint32_t n;
    thr_query_group codes; /* which way their distances are found; not made for exact searches */
} thr_scan_group;

/*
 * What is known of the rows that a screen leaves out: none had an estimate, in the collector's units, larger than
 * these. -INFINITY: none was left out.
 */
typedef struct thr_left_out {
    double screened, rescored;
    double factor; /* the largest in the records of all that were rescored */
} thr_left_out;

/* One query's, or one thread's, scratch. */
typedef struct thr_lane {
    thr_collector collector;
    float *vector;     /* n_dims floats, the query; then n_dims more for a row or the query less the centre */
    void *code_memory; /* thr_code_query_size */
    void *rest_memory; /* thr_rest_query_size */
    uint32_t *distances, *more_distances; /* a tile's */
    void *group_memory;                   /* a group's first lane: thr_code_query_group_size, */
    uint32_t *group_distances;            /* and a tile's of all its queries */
    uint32_t group;                       /* that there is room for */
    float *sample;                        /* scores of the sampled blocks */
    thr_left_out left_out;                /* by a query on its way to an answer */
    size_t number;                        /* of the lane, in its search */
    const int32_t *sums;                  /* with hits: of a window; NULL: of none */
    uint32_t window;
} thr_lane;

/* Queries that devices take at once, a lane each, however few threads there are. */
enum { THR_DEVICE_QUERIES = 256 };

struct thr_scan {
    thr_context *context;
    uint32_t n_dims; /* that lanes have room for */
    size_t n_lanes;  /* a group's for each thread */
    thr_lane lanes[];
};

/*
 * The first lanes, groups of `group` of them, get all the memory a search can ask for, so that a second one of the same
 * shape asks for none.
 */
thr_status thr_scan_make_room(thr_scan *scan, size_t n_lanes, uint32_t group, uint32_t n_dims, size_t survivors,
                              thr_error *err);

/* Global block numbers: row / 64. All segments begin at a multiple of 64. */
typedef struct thr_block_range {
    uint64_t first, end;
} thr_block_range;

/* Whether codes are nested. */
static inline bool thr_is_nested(const thr_scan_target *target) {
    return target->lead < target->quantiser->item_bits;
}

/* Bytes of a kept vector. */
static inline size_t thr_row_size(const thr_scan_target *target) {
    return target->quantiser->n_dims * thr_dtype_size(target->keep);
}

/* Blocks of so many bytes of vectors, which there must be. */
static inline uint64_t thr_shared_blocks(const thr_scan_target *target) {
    return THR_SHARED_BYTES / (THR_BLOCK_ITEMS * thr_row_size(target)) + 1;
}

/* What a search with these options has to do, which borrows all it is given. */
thr_job thr_scan_job_make(thr_context *context, const thr_scan_target *target, const thr_search_options *options,
                          const thr_answers *answers);

/* How a query is coded and what else of it an estimate needs: row of queries, with lane's memory, which it borrows. */
void thr_scan_query_prepare(const thr_job *job, const thr_matrix *queries, uint64_t row, thr_lane *lane,
                            thr_scan_query *query);

/*
 * Queries as a group, in the way to distances that is fastest for so many; with job->exact only their number. It
 * borrows queries and the first lane's memory, of which there must be enough for n.
 */
thr_scan_group thr_scan_group_make(const thr_job *job, const thr_scan_query *queries, uint32_t n, thr_lane *lanes);

/*
 * Collect each of n queries' survivors in its lane, or with n_lanes > 1 one query's, on all threads, in the first lane;
 * with job->exact their exact scores.
 */
thr_status thr_scan_collect(const thr_job *job, thr_scan_query *queries, size_t n, thr_lane *lanes, uint32_t n_lanes,
                            thr_error *err);

/* A query without direction has cosine and inner product 0 with all rows: the first allowed ones are its answer. */
thr_status thr_scan_collect_first(const thr_job *job, const thr_scan_query *query, thr_lane *lane, thr_error *err);

/*
 * The margin of a query in the collector's units. Without vectors there is nothing to refine, so a margin would only
 * collect rows to be dropped: 0.
 */
float thr_scan_margin_of(const thr_job *job, const thr_scan_query *query);

/* Offer to each query's lane all rows of the blocks whose estimated score reaches its collector's threshold. */
void thr_scan_screen_blocks(const thr_scan_group *group, thr_lane *lanes, thr_block_range blocks);

/* The same with exact scores from the kept vectors. */
void thr_scan_exact_blocks(const thr_scan_query *query, thr_lane *lane, thr_block_range blocks);

/* Nested codes: replace the leading planes' estimates by those of all planes. */
void thr_scan_rescore(const thr_scan_query *query, thr_candidate *items, size_t n);

/* Replace estimated scores by exact ones. lane: for rows whose values must be unpacked. */
void thr_scan_refine(const thr_scan_query *query, thr_lane *lane, thr_candidate *items, size_t n);

/*
 * With few rows allowed it is cheaper to score their vectors than to screen the blocks they are spread over. The costs
 * are in nanoseconds on a processor of 2023; a wrong one costs time, not truth.
 */
bool thr_scan_rows_are_cheaper(const thr_scan_target *target, const uint64_t *filter, uint64_t n_allowed);

/* items are those that the screen let through, by their estimates; then, when these are rescored, their records. */
void thr_scan_left_out_note_screened(const thr_job *job, const thr_candidate *items, size_t n, thr_left_out *out);
void thr_scan_left_out_note_factors(const thr_job *job, const thr_candidate *items, size_t n, thr_left_out *out);

/* items, n of n_rescored ones, are those that will be refined. */
void thr_scan_left_out_note_refined(const thr_candidate *items, size_t n, size_t n_rescored, thr_left_out *out);

/* Whether no row that was left out can have score, the k-th in the answer, or a better one. */
bool thr_scan_certify(const thr_job *job, const thr_scan_query *query, const thr_left_out *out, float score);

/*
 * The way of what a lane's collector holds to an answer: _screened; thr_scan_rescore, where thr_answer_rescores;
 * _rescored, which keeps the candidates; thr_scan_refine, where thr_answer_refines; and _put in its place.
 */
static inline bool thr_answer_rescores(const thr_job *job, const thr_scan_query *query) {
    return !job->exact && !query->collected && thr_is_nested(job->target);
}

static inline bool thr_answer_refines(const thr_job *job) {
    return !job->exact && job->target->keep != THR_DTYPE_NONE;
}

/* Whether what is left out has to be bounded, for the answer to be certified. */
static inline bool thr_answer_is_bounded(const thr_job *job, const thr_scan_query *query) {
    return job->answers->certified != NULL && thr_answer_refines(job) && !query->collected && job->target->hits == NULL;
}

void thr_scan_answer_screened(const thr_job *job, const thr_scan_query *query, thr_lane *lane);
void thr_scan_answer_rescored(const thr_job *job, const thr_scan_query *query, thr_lane *lane);

/* As query number row's answer. THR_ERANGE: a value in it is not finite (err names the row). */
thr_status thr_scan_answer_put(const thr_job *job, const thr_scan_query *query, thr_lane *lane, uint64_t row,
                               thr_error *err);

/* The score the user sees of an estimate in the collector's units. */
float thr_scan_estimate_score(const thr_scan_query *query, float score);

/* The segment a row is in. */
const thr_segment *thr_scan_segment_of(const thr_scan_target *target, uint64_t row);

/* Rows of block b of a segment that exist and pass the filter. */
static inline uint64_t thr_block_rows(const thr_scan_query *query, const thr_segment *segment, uint64_t block) {
    const uint64_t left = segment->n_items - block * THR_BLOCK_ITEMS;
    const uint64_t there = left >= THR_BLOCK_ITEMS ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
    return query->filter == NULL ? there : there & query->filter[segment->first_row / THR_BLOCK_ITEMS + block];
}

#endif

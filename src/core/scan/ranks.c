/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.c - the ranks of given rows among the survivors, for calibration. Survivors are not sorted: each one is counted
 * in its gap between two given rows, and a row's rank is the sum of the counts before it.
 */
#include "base/error.h"
#include "scan/job.h"

#include <math.h>
#include <string.h>

enum { BINS = 4096 };

typedef struct ranking {
    const uint64_t *rows;
    size_t n_rows;
    uint32_t *hash;       /* hash table of row numbers: index in rows, from 1; 0: free */
    size_t hash_size;     /* a power of two */
    thr_candidate *found; /* the given rows among the survivors; .distance: index in rows */
    size_t n_found;
    float top, scale;    /* bin of a score: (top - score) * scale */
    uint32_t ends[BINS]; /* rows of `found` in a bin and all bins before it */
    uint64_t *in_gap;    /* n_rows + 1 counts: survivors directly after that many rows of `found` */
} ranking;

static uint32_t *slot_of(const ranking *r, uint64_t row) {
    size_t slot = (size_t)(row * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (r->hash_size - 1);
    while (r->hash[slot] != 0 && r->rows[r->hash[slot] - 1] != row)
        slot = (slot + 1) & (r->hash_size - 1);
    return &r->hash[slot];
}

static size_t bin_of(const ranking *r, float score) {
    const float bin = (r->top - score) * r->scale;
    return !(bin > 0) ? 0 : bin < BINS - 1 ? (size_t)bin : BINS - 1;
}

/* Make bins of equal width, so many that a bin rarely holds more than one found row. */
static void make_bins(ranking *r) {
    const float spread = r->n_found > 0 ? r->found[0].score - r->found[r->n_found - 1].score : 0;
    r->top = r->n_found > 0 ? r->found[0].score : 0;
    r->scale = BINS / spread;
    if (!isfinite(r->scale))
        r->scale = 0;
    memset(r->ends, 0, sizeof r->ends);
    for (size_t j = 0; j < r->n_found; j++)
        r->ends[bin_of(r, r->found[j].score)]++;
    for (size_t bin = 1; bin < BINS; bin++)
        r->ends[bin] += r->ends[bin - 1];
}

/* How many found rows come before x. */
static size_t count_before(const ranking *r, thr_candidate x) {
    const size_t bin = bin_of(r, x.score);
    size_t low = bin > 0 ? r->ends[bin - 1] : 0, high = r->ends[bin];
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (thr_candidate_before(r->found[middle], x))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void count_ranks(ranking *r, const thr_candidate *items, size_t n, uint32_t *ranks) {
    r->n_found = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t one_based = *slot_of(r, items[i].row);
        if (one_based != 0)
            r->found[r->n_found++] = (thr_candidate){items[i].row, items[i].score, one_based - 1};
    }
    thr_select_candidates_sort(r->found, r->n_found);
    make_bins(r);
    memset(r->in_gap, 0, (r->n_found + 1) * sizeof *r->in_gap);
    for (size_t i = 0; i < n; i++)
        r->in_gap[count_before(r, items[i])]++;
    for (size_t j = 0; j < r->n_rows; j++)
        ranks[j] = UINT32_MAX;
    uint64_t before = 0;
    for (size_t j = 0; j < r->n_found; j++) {
        before += r->in_gap[j]; /* including the row itself */
        ranks[r->found[j].distance] = (uint32_t)(before - 1);
    }
}

static thr_status open_ranking(thr_context *context, ranking *r, thr_error *err) {
    for (r->hash_size = 64; r->hash_size < 8 * r->n_rows; r->hash_size *= 2)
        ;
    THR_TRY(thr_alloc_zero(context, r->hash_size, sizeof *r->hash, &r->hash, "ranks", err));
    THR_TRY(thr_alloc(context, r->n_rows, sizeof *r->found, &r->found, "ranks", err));
    THR_TRY(thr_alloc(context, r->n_rows + 1, sizeof *r->in_gap, &r->in_gap, "ranks", err));
    for (size_t j = 0; j < r->n_rows; j++)
        *slot_of(r, r->rows[j]) = (uint32_t)j + 1;
    return THR_OK;
}

thr_status thr_scan_ranks(thr_scan *scan, const thr_scan_corpus *corpus, const thr_matrix *queries, uint64_t query,
                          const thr_scan_rank_request *request, thr_error *err) {
    const uint64_t n_survivors = request->n_survivors;
    thr_context *context = scan->context;
    thr_search_options options = {0};
    options.n_candidates = options.n_survivors = n_survivors;
    options.recall = 0; /* no margins */
    const thr_answers answers = {.k = 1};
    thr_job job = thr_scan_job_make(context, corpus, &options, &answers);
    /* Collect all survivors, whether or not vectors are kept to refine them. */
    job.n_survivors = job.n_candidates = (size_t)(n_survivors < corpus->n_rows ? n_survivors : corpus->n_rows);
    ranking r = {.rows = request->rows, .n_rows = request->n_rows};
    thr_scan_query prepared;
    thr_status status = THR_OK;
    THR_TRY(thr_scan_make_room(scan, corpus, context->n_threads, 1, job.n_survivors, err));
    THR_TRY_OUT(open_ranking(context, &r, err));
    thr_scan_query_prepare(&job, queries, query, &scan->lanes[0], &prepared);
    THR_TRY_OUT(thr_scan_collect(&job, &prepared, 1, scan->lanes, context->n_threads, err));
    const thr_collector *collector = &scan->lanes[0].collector;
    count_ranks(&r, collector->items, collector->n, request->lead_ranks);
    if (thr_is_nested(corpus) && !prepared.skips_screen)
        thr_scan_rescore(&prepared, collector->items, collector->n);
    count_ranks(&r, collector->items, collector->n, request->full_ranks);
out:
    THR_RELEASE(context, r.hash, r.found, r.in_gap);
    return status;
}

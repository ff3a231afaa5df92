/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate.c - finds the counts that reach a recall. For every query the exact scan finds the true neighbours; then
 * the ranks of these by the leading planes and by all planes are computed. Pairs of counts (survivors, candidates) form
 * a grid. Every entry sums up the mean and the spread of the share of neighbours that pass both ranks. The
 * cheapest entry that reaches a recall is chosen.
 *
 * Without vectors, recall is measured against the neighbours by all planes.
 */
#include "index/calibration/calibrate.h"

#include "base/error.h"
#include "base/progress.h"
#include "index/model/embed.h"
#include "scan/cost.h"

#include <math.h>
#include <string.h>

enum { GRID = 96, STEPS_A_DOUBLING = 4, AT_ONCE = 64 };

static const double STANDARD_ERRORS = 2;

/*
 * Shares of neighbours found, over queries: entry (a, b) is of those with lead ranks below counts[a] and full ranks
 * below counts[b].
 */
typedef struct grid_sums {
    double sum[GRID][GRID], squares[GRID][GRID];
} grid_sums;

typedef struct tuner {
    thr_index *index;
    const thr_tune_queries *queries;
    thr_scan *scan;
    uint64_t counts[GRID];
    size_t n_counts;
    uint64_t ranked;         /* rows that are ranked */
    size_t n_ks;             /* ks that are measured; the others follow in proportion */
    size_t depth;            /* neighbours per query */
    grid_sums *grids;        /* per k */
    uint32_t (*found)[GRID]; /* scratch: GRID x GRID */
    uint64_t *truth;         /* AT_ONCE x (depth + 1) */
    thr_embedder embedder;   /* of queries that are a model's inputs */
    uint32_t *lead_ranks, *full_ranks;
    thr_error *err;
} tuner;

static void make_counts(tuner *t) {
    double count = 1;
    t->n_counts = 0;
    while (t->n_counts + 1 < GRID && count < (double)t->ranked) {
        const uint64_t whole = (uint64_t)ceil(count);
        if (t->n_counts == 0 || t->counts[t->n_counts - 1] < whole)
            t->counts[t->n_counts++] = whole;
        count *= exp2(1.0 / STEPS_A_DOUBLING);
    }
    t->counts[t->n_counts++] = t->ranked;
}

/* The index of the first count above a rank; n_counts if there is none. */
static size_t entry_of(const tuner *t, uint32_t rank) {
    size_t low = 0, high = t->n_counts;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        if (t->counts[mid] > rank)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

/* Add one query's share of its first k neighbours to all entries. */
static void add_shares(tuner *t, size_t k_index) {
    const size_t k = thr_tuned_ks[k_index], n = t->n_counts;
    grid_sums *c = &t->grids[k_index];
    for (size_t a = 0; a < n; a++)
        memset(t->found[a], 0, n * sizeof t->found[a][0]);
    for (size_t j = 0; j < k; j++) {
        const size_t a = entry_of(t, t->lead_ranks[j]), b = entry_of(t, t->full_ranks[j]);
        if (a < n && b < n)
            t->found[a][b]++;
    }
    for (size_t a = 0; a < n; a++) {
        uint32_t in_row = 0;
        for (size_t b = 0; b < n; b++) {
            in_row += t->found[a][b];
            t->found[a][b] = in_row + (a > 0 ? t->found[a - 1][b] : 0);
            const double share = (double)t->found[a][b] / (double)k;
            c->sum[a][b] += share;
            c->squares[a][b] += share * share;
        }
    }
}

/* Turn n ranks into those without the query's own row. */
static void drop_own_row(uint32_t *ranks, size_t n, uint32_t own) {
    for (size_t j = 0; j < n; j++)
        if (ranks[j] != UINT32_MAX && ranks[j] > own)
            ranks[j]--;
}

static thr_status learn_query(tuner *t, const thr_matrix *rows, uint64_t query, uint64_t *truth, uint64_t own) {
    size_t n = t->depth;
    if (own != THR_NO_ID) {
        n = 0;
        for (size_t j = 0; j <= t->depth; j++)
            if (truth[j] != own && n < t->depth)
                truth[n++] = truth[j];
        truth[n++] = own;
    }
    const thr_scan_rank_request request = {truth, n, t->ranked, t->lead_ranks, t->full_ranks};
    THR_TRY(thr_scan_ranks(t->scan, &t->index->corpus, rows, query, &request, t->err));
    if (own != THR_NO_ID) {
        drop_own_row(t->lead_ranks, t->depth, t->lead_ranks[t->depth]);
        drop_own_row(t->full_ranks, t->depth, t->full_ranks[t->depth]);
    }
    for (size_t k = 0; k < t->n_ks; k++)
        add_shares(t, k);
    return THR_OK;
}

static thr_status learn(tuner *t) {
    const thr_matrix *all = &t->queries->rows;
    const thr_answers answers = {.k = t->depth + 1, .ids = t->truth};
    thr_search_options options = {0};
    options.exact = t->index->manifest.keep != THR_DTYPE_NONE;
    options.n_survivors = t->ranked;
    options.recall = 0;
    thr_progress progress = thr_progress_start(t->index->context, "calibrate", all->n_rows);
    for (uint64_t first = 0; first < all->n_rows; first += AT_ONCE) {
        thr_matrix rows = *all;
        rows.data = (const char *)all->data + first * all->stride;
        rows.n_rows = all->n_rows - first < AT_ONCE ? all->n_rows - first : AT_ONCE;
        thr_matrix coded;
        THR_TRY(thr_index_embed(&t->embedder, THR_SIDE_QUERY, &rows, &coded, t->err));
        THR_TRY(thr_scan_search(t->scan, &t->index->vectors, &rows, &options, &answers, t->err));
        for (uint64_t q = 0; q < rows.n_rows; q++)
            THR_TRY(learn_query(t, &coded, q, t->truth + q * (t->depth + 1),
                                t->queries->own_rows == NULL ? THR_NO_ID : t->queries->own_rows[first + q]));
        THR_TRY(thr_progress_step(&progress, first + rows.n_rows, t->err));
    }
    return thr_progress_end(&progress, all->n_rows, t->err);
}

static bool reaches(const tuner *t, size_t k, size_t a, size_t b, double recall) {
    const double n = (double)t->queries->rows.n_rows;
    const double mean = t->grids[k].sum[a][b] / n;
    const double variance = fmax(t->grids[k].squares[a][b] / n - mean * mean, 0) * n / (n - 1);
    return mean - STANDARD_ERRORS * sqrt(variance / n) >= recall;
}

/*
 * The factor by which the chosen counts exceed those that reached a recall: 1.2, or more if the queries are so few that
 * fewer than three misses are expected. Ranks have long tails: about one in c is beyond c times as far.
 */
static double reserve_factor(const tuner *t, size_t k, double recall) {
    const double misses = (double)t->queries->rows.n_rows * sqrt((double)thr_tuned_ks[k]) * (1 - recall);
    return fmax(1.2, 3 / misses);
}

static uint64_t with_reserve(const tuner *t, uint64_t count, double factor) {
    const double more = ceil((double)count * factor);
    return more < (double)t->index->corpus.n_rows ? (uint64_t)more : t->index->corpus.n_rows;
}

/* The cheapest entry that reaches a recall at k, with the reserve. All rows if no entry does. */
static void choose(const tuner *t, size_t k, double recall, uint64_t *survivors, uint64_t *candidates) {
    const thr_scan_corpus *corpus = &t->index->vectors;
    const bool nested = t->index->corpus.lead < t->index->corpus.quantiser->item_bits,
               kept = corpus->keep != THR_DTYPE_NONE;
    const double size = (double)(corpus->quantiser->n_dims * thr_dtype_size(corpus->keep));
    const double row_ns = kept ? thr_cost_ns(THR_COST_VECTOR_ANYWHERE, 1, size) : 0;
    double least = INFINITY;
    *survivors = *candidates = corpus->n_rows;
    for (size_t a = 0; a < t->n_counts; a++)
        for (size_t b = nested ? 0 : a; b <= a; b++) {
            const double cost =
                (nested ? THR_COST_RECORD_NS * (double)t->counts[a] : 0) + row_ns * (double)t->counts[b];
            if (t->counts[b] < thr_tuned_ks[k] || cost >= least || !reaches(t, k, a, b, recall))
                continue;
            least = cost;
            *survivors = with_reserve(t, t->counts[a], reserve_factor(t, k, recall));
            *candidates = with_reserve(t, t->counts[b], reserve_factor(t, k, recall));
        }
}

/* The count for thr_tuned_ks[k], not measured: that for thr_tuned_ks[k - 1], in proportion; at most all rows. */
static uint64_t in_proportion(uint64_t count, size_t k, uint64_t n_items) {
    const double more = (double)count * ((double)thr_tuned_ks[k] / thr_tuned_ks[k - 1]);
    return more < (double)n_items ? (uint64_t)more : n_items;
}

static void choose_all(const tuner *t, thr_tuning *tuning) {
    const uint64_t n_items = t->index->corpus.n_rows;
    tuning->n_queries = t->queries->rows.n_rows;
    for (size_t r = 0; r < THR_TUNED_RECALLS; r++) {
        uint64_t *survivors = tuning->at[r].survivors, *candidates = tuning->at[r].candidates;
        for (size_t k = 0; k < THR_TUNED_KS; k++)
            if (k < t->n_ks) {
                choose(t, k, thr_tuned_recalls[r] / 1000.0, &survivors[k], &candidates[k]);
            } else {
                survivors[k] = in_proportion(survivors[k - 1], k, n_items);
                candidates[k] = in_proportion(candidates[k - 1], k, n_items);
            }
    }
}

/* The most rows worth ranking: for a recall that needs more, the exact scan is better. */
static uint64_t rows_to_rank(uint64_t n_items) {
    const uint64_t few = n_items / 4 < 16384 ? n_items / 4 : 16384;
    return n_items / 32 > few ? n_items / 32 : few;
}

thr_status thr_index_tune_by_queries(thr_index *index, const thr_tune_queries *queries, thr_tuning *tuning,
                                     thr_error *err) {
    thr_context *context = index->context;
    const uint64_t n_items = index->corpus.n_rows;
    tuner t = {.index = index, .queries = queries, .err = err, .embedder.context = context};
    t.embedder.encoder = index->manifest.model.n_inputs != 0 ? &index->model.encoder : NULL;
    thr_status status = THR_OK;
    t.ranked = rows_to_rank(n_items);
    for (t.n_ks = 1; t.n_ks < THR_TUNED_KS && thr_tuned_ks[t.n_ks] <= t.ranked / 16; t.n_ks++)
        ;
    t.depth = thr_tuned_ks[t.n_ks - 1];
    make_counts(&t);
    THR_TRY_OUT(thr_scan_create(context, &t.scan, err));
    THR_TRY_OUT(thr_scan_check_queries(t.scan, &index->vectors, &queries->rows, err));
    THR_TRY_OUT(thr_alloc_zero(context, t.n_ks, sizeof *t.grids, &t.grids, "calibration", err));
    THR_TRY_OUT(thr_alloc(context, GRID, sizeof *t.found, &t.found, "calibration", err));
    THR_TRY_OUT(thr_alloc(context, AT_ONCE * (t.depth + 1), sizeof *t.truth, &t.truth, "calibration", err));
    THR_TRY_OUT(thr_alloc(context, t.depth + 1, sizeof *t.lead_ranks, &t.lead_ranks, "calibration", err));
    THR_TRY_OUT(thr_alloc(context, t.depth + 1, sizeof *t.full_ranks, &t.full_ranks, "calibration", err));
    THR_TRY_OUT(learn(&t));
    choose_all(&t, tuning);
out:
    thr_index_embedder_close(&t.embedder);
    thr_scan_free(t.scan);
    THR_RELEASE(context, t.grids, t.found, t.truth, t.lead_ranks, t.full_ranks);
    return thr_index_check_after(index, status, err);
}

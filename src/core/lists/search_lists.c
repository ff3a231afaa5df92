/* SPDX-License-Identifier: Apache-2.0 */
/* search_lists.c - searches posting lists on all threads: sums, values and the best items, window by window. */
#include "lists/search_lists.h"

#include <float.h>
#include <math.h>

#include "base/error.h"
#include "base/minmax.h"
#include "lists/add_up.h"
#include "kernel/kernel.h"
#include "parallel/pool.h"

/* Windows a thread takes at once; items whose values are computed together; items offered together. */
enum { PIECE_WINDOWS = 4, VALUES = 1024, OFFERED = 64 };

/* State of one thread. */
typedef struct worker {
    thr_collector collector;
    uint64_t bad_row; /* smallest row with a value that is not finite, or UINT64_MAX */
    thr_lists_pass pass;
    float values[VALUES];
} worker;

struct thr_lists_search {
    thr_context *context;
    thr_lists_query query;
    worker *workers;
};

thr_status thr_lists_search_create(thr_context *context, thr_lists_search **out, thr_error *err) {
    thr_lists_search *search = NULL;
    *out = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *search, &search, "a search", err));
    search->context = context;
    const thr_status status =
        thr_alloc_zero(context, context->n_threads, sizeof *search->workers, &search->workers, "a search", err);
    THR_RETURN_MADE(status, search, out, thr_lists_search_free);
}

void thr_lists_search_free(thr_lists_search *search) {
    if (search == NULL)
        return;
    thr_context *context = search->context;
    for (uint32_t i = 0; search->workers != NULL && i < context->n_threads; i++) {
        thr_select_collector_free(&search->workers[i].collector);
        thr_lists_pass_free(context, &search->workers[i].pass);
    }
    thr_lists_query_free(context, &search->query);
    THR_RELEASE(context, search->workers, search);
}

/* ------------------------------------------------------------------------------------------------ one window */

typedef struct run {
    thr_lists_search *search;
    const thr_lists_corpus *corpus;
    uint32_t n_windows;
    bool plain; /* values are sums alone, and finite */
} run;

/* Compute the values of n items, the first of which is `first`, from their sums. */
static void find_values(const run *r, const int32_t *sums, uint32_t first, uint32_t n, float *values) {
    const thr_lists_corpus *corpus = r->corpus;
    const bool sigmoid = corpus->value == THR_HITS_VALUE_SIGMOID;
    const double unit = sigmoid ? -r->search->query.unit : r->search->query.unit;
    for (uint32_t i = 0; i < n; i++)
        values[i] = (float)((double)sums[i] * unit);
    if (sigmoid) {
        r->search->context->kernels->exp_f32(values, values, n);
        for (uint32_t i = 0; i < n; i++)
            values[i] = 1 / (1 + values[i]);
    }
    if (corpus->multipliers != NULL)
        for (uint32_t i = 0; i < n; i++)
            values[i] *= corpus->multipliers[first + i];
    if (corpus->offsets != NULL)
        for (uint32_t i = 0; i < n; i++)
            values[i] += corpus->offsets[first + i];
}

/* A bit for each of a group of at most OFFERED items that the filter lets through. first is a multiple of OFFERED. */
static uint64_t may_be_found(const run *r, uint32_t first, uint32_t n) {
    const uint64_t there = n == OFFERED ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    return r->corpus->filter == NULL ? there : there & r->corpus->filter[first / OFFERED];
}

static void collect(const run *r, worker *w, uint32_t first, uint64_t mask, const float *values) {
    const uint32_t *rows = r->corpus->rows;
    thr_select_collector_reserve(&w->collector);
    for (; mask != 0; mask &= mask - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(mask);
        thr_collector_push(&w->collector, rows == NULL ? first + i : rows[first + i], values[i], 0);
    }
}

static void offer(const run *r, worker *w, uint32_t first, uint32_t n, const float *values) {
    uint64_t mask = may_be_found(r, first, n), finite = 0;
    for (uint32_t i = 0; i < n; i++)
        finite |= (uint64_t)(fabsf(values[i]) <= FLT_MAX) << i;
    for (uint64_t bad = mask & ~finite; bad != 0; bad &= bad - 1) {
        const uint32_t item = first + (uint32_t)__builtin_ctzll(bad);
        const uint64_t row = r->corpus->rows == NULL ? item : r->corpus->rows[item];
        w->bad_row = THR_MIN(row, w->bad_row);
    }
    mask &= finite & r->search->context->kernels->screen_scores(values, w->collector.threshold);
    if (mask != 0)
        collect(r, w, first, mask, values);
}

/* A lower bound of the sums whose values reach the threshold: values are sums x unit, rounded to a float. */
static int32_t least_sum(const run *r, float threshold) {
    const double sum = (double)threshold / r->search->query.unit, bound = floor(sum - fabs(sum) * 0x1p-23 - 1);
    return bound > (double)INT32_MIN ? (int32_t)fmin(bound, (double)INT32_MAX) : INT32_MIN;
}

/* Where values are sums, only those of the few sums that are large enough are computed. */
static void offer_sums(const run *r, worker *w, const int32_t *sums, uint32_t first, uint32_t n) {
    const thr_kernels *kernels = r->search->context->kernels;
    float threshold = w->collector.threshold;
    int32_t least = least_sum(r, threshold);
    for (uint32_t i = 0; i < n; i += OFFERED) {
        uint64_t mask = kernels->screen_sums(sums + i, least);
        if (mask == 0)
            continue;
        mask &= may_be_found(r, first + i, THR_MIN(n - i, OFFERED));
        for (uint64_t left = mask; left != 0; left &= left - 1) {
            const uint32_t j = (uint32_t)__builtin_ctzll(left);
            w->values[j] = (float)((double)sums[i + j] * r->search->query.unit);
        }
        collect(r, w, first + i, mask, w->values);
        if (w->collector.threshold > threshold) {
            threshold = w->collector.threshold;
            least = least_sum(r, threshold);
        }
    }
}

static void offer_values(const run *r, worker *w, const int32_t *sums, uint32_t first, uint32_t n) {
    for (uint32_t i = 0; i < n; i += VALUES) {
        const uint32_t m = THR_MIN(n - i, VALUES);
        find_values(r, sums + i, first + i, m, w->values);
        for (uint32_t j = 0; j < m; j += OFFERED)
            offer(r, w, first + i + j, THR_MIN(m - j, OFFERED), w->values + j);
    }
}

static void run_window(const run *r, worker *w, uint32_t window) {
    const uint32_t first = window * THR_LISTS_WINDOW, left = r->corpus->lists->n_items - first;
    const uint32_t n = THR_MIN(left, THR_LISTS_WINDOW);
    const int32_t *sums = thr_lists_pass_window(r->search->context->kernels, &w->pass, window);
    if (r->plain)
        offer_sums(r, w, sums, first, n);
    else
        offer_values(r, w, sums, first, n);
}

static void run_piece(void *arg, size_t piece, uint32_t number) {
    const run *r = arg;
    worker *w = &r->search->workers[number];
    const uint32_t first = (uint32_t)piece * PIECE_WINDOWS;
    for (uint32_t window = first; window < r->n_windows && window < first + PIECE_WINDOWS; window++)
        run_window(r, w, window);
}

/* ------------------------------------------------------------------------------------------------ a search */

static thr_status start(thr_lists_search *search, size_t k, thr_error *err) {
    thr_context *context = search->context;
    for (uint32_t i = 0; i < context->n_threads; i++) {
        worker *w = &search->workers[i];
        w->bad_row = UINT64_MAX;
        THR_TRY(thr_select_collector_start(&w->collector, context, k, -INFINITY, err));
        THR_TRY(thr_lists_pass_start(context, &w->pass, &search->query, err));
    }
    return THR_OK;
}

thr_status thr_lists_fail_not_finite(uint64_t row, thr_error *err) {
    return thr_fail(err, THR_ERANGE, "the value of row %llu is not finite: lower weights, or its multiplier",
                    (unsigned long long)row);
}

/* Merge what all workers found into the first one's collector. */
static thr_status gather(thr_lists_search *search, thr_error *err) {
    thr_collector *all = &search->workers[0].collector;
    uint64_t bad_row = UINT64_MAX;
    for (uint32_t i = 0; i < search->context->n_threads; i++) {
        const worker *w = &search->workers[i];
        bad_row = THR_MIN(w->bad_row, bad_row);
        if (i > 0)
            thr_select_collector_merge(all, &w->collector);
    }
    thr_select_collector_finish(all);
    return bad_row == UINT64_MAX ? THR_OK : thr_lists_fail_not_finite(bad_row, err);
}

thr_status thr_lists_search_run(thr_lists_search *search, const thr_lists_corpus *corpus,
                                const thr_hits_queries *queries, uint64_t q, size_t k, thr_lists_found *found,
                                thr_error *err) {
    THR_TRY(thr_lists_query_of(search->context, corpus->lists, queries, q, &search->query, err));
    THR_TRY(start(search, k, err));
    const bool sums = corpus->value == THR_HITS_VALUE_SUM && corpus->multipliers == NULL && corpus->offsets == NULL;
    run r = {search, corpus, thr_lists_n_windows(corpus->lists),
             sums && search->query.unit * 0x1p31 <= (double)FLT_MAX};
    thr_parallel_for(search->context, THR_CEIL_DIV(r.n_windows, PIECE_WINDOWS), run_piece, &r);
    THR_TRY(gather(search, err));
    const thr_collector *all = &search->workers[0].collector;
    thr_select_candidates_sort(all->items, all->n);
    *found = (thr_lists_found){
        .items = all->items, .n = all->n, .n_unknown = search->query.n_unknown, .unit = search->query.unit};
    return THR_OK;
}

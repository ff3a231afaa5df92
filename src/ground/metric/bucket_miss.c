/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket_miss.c - the probability that the best of every bucket misses wanted items (RBE, appendix B).
 *
 * Equation (16) there sums, for every number M of buckets that contain wanted items, over the ways to spread them
 * over M buckets; it is intractable for more than a few misses, L = n_wanted - M. The same distribution follows from
 * placing the wanted items one at a time. When n of them occupy m of the T buckets, all other places are equally
 * likely, so the next one falls
 *
 *     into a new bucket     with probability  I (T - m) / (C - n),  and no further item is missed,
 *     into one of the m     with probability  (I m - n) / (C - n),  and one more is missed.
 *
 * The state is one probability for every number of misses so far, and only sums of positive products occur.
 */
#include <thresher/metric.h>

#include <math.h>
#include <stdlib.h>

#include "base/error.h"

typedef struct buckets {
    uint64_t n_candidates;
    uint64_t items; /* in a full bucket */
    uint64_t n_full;
    uint64_t rest; /* items of the last, smaller bucket; 0: all buckets are full */
} buckets;

/*
 * Probabilities by number of misses, with none (free) or some (taken) of the wanted items in the last, smaller
 * bucket.
 */
typedef struct missed {
    double *free, *taken;
} missed;

static thr_status check(uint64_t n_candidates, uint64_t n_wanted, uint64_t bucket_items, buckets *b, thr_error *err) {
    if (n_wanted == 0 || n_wanted > n_candidates || bucket_items == 0)
        return thr_fail(
            err, THR_EINVAL,
            "the best %llu of %llu candidates in buckets of %llu: none of these can be 0, and no more can be "
            "wanted than there are",
            (unsigned long long)n_wanted, (unsigned long long)n_candidates, (unsigned long long)bucket_items);
    *b = (buckets){.n_candidates = n_candidates,
                   .items = bucket_items,
                   .n_full = n_candidates / bucket_items,
                   .rest = n_candidates % bucket_items};
    return THR_OK;
}

/* Place one more wanted item after n, tracking at most `most` misses: the number of misses never decreases. */
static void add_wanted(const buckets *b, uint64_t n, uint64_t most, missed *p) {
    const double left = (double)(b->n_candidates - n);
    for (uint64_t l = n < most ? n : most;; l--) { /* downwards, so that the share moved to l + 1 is not moved again */
        const double free = p->free[l], taken = p->taken[l];
        const uint64_t m = n - l; /* occupied buckets */
        p->free[l] = p->taken[l] = 0;
        if (free > 0) {
            p->free[l] += free * ((double)((b->n_full - m) * b->items) / left);
            p->taken[l] += free * ((double)b->rest / left);
            if (l < most)
                p->free[l + 1] += free * ((double)(m * b->items - n) / left);
        }
        if (taken > 0) {
            p->taken[l] += taken * ((double)((b->n_full - (m - 1)) * b->items) / left);
            if (l < most)
                p->taken[l + 1] += taken * ((double)((m - 1) * b->items + b->rest - n) / left);
        }
        if (l == 0)
            break;
    }
}

thr_status thr_bucket_miss(uint64_t n_candidates, uint64_t n_wanted, uint64_t bucket_items, uint64_t at_most,
                           double *probability, thr_error *err) {
    buckets b = {0};
    THR_TRY(check(n_candidates, n_wanted, bucket_items, &b, err));
    if (at_most >= n_wanted - 1) { /* the best item of all is never missed */
        *probability = 1;
        return THR_OK;
    }
    double *memory = at_most < SIZE_MAX / 2 ? calloc(2 * ((size_t)at_most + 1), sizeof *memory) : NULL;
    if (memory == NULL)
        return thr_fail(err, THR_ENOMEM, "no memory for the probability of at most %llu missed",
                        (unsigned long long)at_most);
    missed p = {.free = memory, .taken = memory + at_most + 1};
    p.free[0] = 1;
    for (uint64_t n = 0; n < n_wanted; n++)
        add_wanted(&b, n, at_most, &p);
    double sum = 0;
    for (uint64_t l = at_most + 1; l-- > 0;) /* usually the smallest first */
        sum += p.free[l] + p.taken[l];
    *probability = sum < 1 ? sum : 1;
    free(memory);
    return THR_OK;
}

/* The probability that a bucket of `items` items contains a wanted one: 1 - binom(C - I, N) / binom(C, N). */
static double any_in(uint64_t n_candidates, uint64_t n_wanted, uint64_t items) {
    /* The formula is symmetric in n_wanted and items; the smaller one gives fewer factors. */
    const uint64_t n = n_wanted < items ? n_wanted : items, others = n_wanted < items ? items : n_wanted;
    if (others > n_candidates - n)
        return n != 0;
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += log1p(-(double)others / (double)(n_candidates - i));
    return -expm1(sum);
}

thr_status thr_bucket_recall(uint64_t n_candidates, uint64_t n_wanted, uint64_t bucket_items, double *recall,
                             thr_error *err) {
    buckets b = {0};
    THR_TRY(check(n_candidates, n_wanted, bucket_items, &b, err));
    double found = any_in(n_candidates, n_wanted, b.rest);
    if (b.n_full != 0)
        found += (double)b.n_full * any_in(n_candidates, n_wanted, b.items);
    *recall = found < (double)n_wanted ? found / (double)n_wanted : 1;
    return THR_OK;
}

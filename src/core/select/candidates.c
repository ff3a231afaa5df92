/* SPDX-License-Identifier: Apache-2.0 */
#include "select/candidates.h"

#include <math.h>
#include <string.h>

#include "base/minmax.h"

enum { BLOCK = 64, SMALL = 16, MANY = 128, BINS = 512 };

static void swap(thr_candidate *a, thr_candidate *b) {
    thr_candidate t = *a;
    *a = *b;
    *b = t;
}

static void insertion_sort(thr_candidate *items, size_t n) {
    for (size_t i = 1; i < n; i++) {
        thr_candidate x = items[i];
        size_t j = i;
        for (; j > 0 && thr_candidate_before(x, items[j - 1]); j--)
            items[j] = items[j - 1];
        items[j] = x;
    }
}

static void sift_down(thr_candidate *items, size_t root, size_t n) {
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && thr_candidate_before(items[child], items[child + 1]))
            child++;
        if (!thr_candidate_before(items[root], items[child]))
            return;
        swap(&items[root], &items[child]);
    }
}

static void heap_sort(thr_candidate *items, size_t n) {
    for (size_t root = n / 2; root-- > 0;)
        sift_down(items, root, n);
    for (size_t last = n; last-- > 1;) {
        swap(&items[0], &items[last]);
        sift_down(items, 0, last);
    }
}

/* Hoare partition around the median of three: returns m with items[0..m) before or equal to items[m..n), 0 < m < n. */
static size_t partition(thr_candidate *items, size_t n) {
    thr_candidate *mid = &items[n / 2], *last = &items[n - 1];
    if (thr_candidate_before(*mid, items[0]))
        swap(mid, &items[0]);
    if (thr_candidate_before(*last, *mid))
        swap(last, mid);
    if (thr_candidate_before(*mid, items[0]))
        swap(mid, &items[0]);
    const thr_candidate pivot = *mid;
    size_t i = 0, j = n - 1;
    for (;;) {
        while (thr_candidate_before(items[i], pivot))
            i++;
        while (thr_candidate_before(pivot, items[j]))
            j--;
        if (i >= j)
            return j + 1 < n ? j + 1 : n - 1;
        swap(&items[i++], &items[j--]);
    }
}

/* Partitioning rounds before falling back to the worst-case method: 2 log2 n. */
static unsigned max_rounds(size_t n) {
    unsigned rounds = 2;
    for (; n > 1; n /= 2)
        rounds += 2;
    return rounds;
}

static void sort_some(thr_candidate *items, size_t n, unsigned rounds) {
    while (n > SMALL) {
        if (rounds-- == 0) {
            heap_sort(items, n);
            return;
        }
        size_t m = partition(items, n);
        sort_some(items, m, rounds);
        items += m;
        n -= m;
    }
    insertion_sort(items, n);
}

void thr_select_candidates_sort(thr_candidate *items, size_t n) {
    sort_some(items, n, max_rounds(n));
}

/* Quickselect. Sorts when few items or no rounds are left. */
static void split_some(thr_candidate *items, size_t n, size_t first) {
    unsigned rounds = max_rounds(n);
    while (first > 0 && first < n) {
        if (n <= SMALL || rounds-- == 0) {
            thr_select_candidates_sort(items, n);
            return;
        }
        size_t m = partition(items, n);
        if (first < m) {
            n = m;
        } else {
            items += m;
            n -= m;
            first -= m;
        }
    }
}

/* BINS bins of scores, descending from the largest; scores outside the range go to the first or last bin. */
typedef struct bins {
    float top, scale;
} bins;

static inline uint32_t bin_of(bins b, float score) {
    const float bin = (b.top - score) * b.scale;
    return bin < BINS - 1 ? (uint32_t)bin : BINS - 1;
}

/* Compact the items of bins 0 to last to the front, without unpredictable branches. */
static size_t drop_later_bins(thr_candidate *items, size_t n, bins b, uint32_t last) {
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        const thr_candidate x = items[i];
        items[m] = x;
        m += bin_of(b, x.score) <= last;
    }
    return m;
}

/* Move the items of bin `last`, which are few, after those of earlier bins. */
static void move_last_bin(thr_candidate *items, size_t n, bins b, uint32_t last) {
    for (size_t i = n; i-- > 0;)
        if (bin_of(b, items[i].score) == last)
            swap(&items[i], &items[--n]);
}

void thr_select_candidates_split(thr_candidate *items, size_t n, size_t first) {
    split_some(items, n, first);
}

size_t thr_select_candidates_keep(thr_candidate *items, size_t n, size_t first) {
    float low = INFINITY, high = -INFINITY;
    if (first >= n)
        return n;
    for (size_t i = 0; i < n && n >= MANY; i++) {
        low = THR_MIN(items[i].score, low);
        high = THR_MAX(items[i].score, high);
    }
    const float scale = BINS / (high - low);
    if (n < MANY || first == 0 || !(scale > 0) || !isfinite(scale)) {
        split_some(items, n, first);
        return first;
    }
    const bins b = {high, scale};
    uint32_t histogram[BINS] = {0}, last = 0;
    for (size_t i = 0; i < n; i++)
        histogram[bin_of(b, items[i].score)]++;
    size_t before = 0; /* items in bins before the one that contains the border */
    for (; before + histogram[last] < first; last++)
        before += histogram[last];
    const size_t m = drop_later_bins(items, n, b, last);
    move_last_bin(items, m, b, last);
    split_some(items + before, m - before, first - before);
    return first;
}

void thr_select_collector_free(thr_collector *collector) {
    if (collector->context != NULL)
        thr_release(collector->context, collector->items);
    *collector = (thr_collector){0};
}

thr_status thr_select_collector_start(thr_collector *collector, thr_context *context, size_t wanted, float threshold,
                                      thr_error *err) {
    collector->context = context;
    collector->n = 0;
    collector->wanted = wanted;
    collector->ascending = false;
    collector->threshold = threshold;
    if (collector->capacity / 2 >= wanted && collector->capacity >= 4 * BLOCK)
        return THR_OK;
    if (wanted > SIZE_MAX / 4)
        wanted = SIZE_MAX / 4; /* thr_grow rejects this size */
    return thr_grow(context, &collector->items, &collector->capacity, 2 * wanted + 4 * BLOCK, sizeof *collector->items,
                    "candidates", err);
}

/* Drop items that cannot be in the answer, and raise the threshold. */
static void prune(thr_collector *collector) {
    if (collector->n <= collector->wanted)
        return;
    collector->n = thr_select_candidates_keep(collector->items, collector->n, collector->wanted);
    float worst = collector->items[0].score;
    for (size_t i = 1; i < collector->wanted; i++)
        worst = THR_MIN(collector->items[i].score, worst);
    worst = collector->ascending ? nextafterf(worst, INFINITY) : worst;
    collector->threshold = THR_MAX(worst, collector->threshold);
}

void thr_select_collector_reserve(thr_collector *collector) {
    if (collector->n + BLOCK > collector->capacity)
        prune(collector); /* to half of the capacity or less */
}

void thr_select_collector_push_block(thr_collector *collector, uint64_t first, uint64_t mask, const float *scores,
                                     const uint32_t *distances) {
    thr_select_collector_reserve(collector);
    for (; mask != 0; mask &= mask - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(mask);
        if (scores[i] >= collector->threshold)
            thr_collector_push(collector, first + i, scores[i], distances != NULL ? distances[i] : 0);
    }
}

void thr_select_collector_merge(thr_collector *collector, const thr_collector *other) {
    for (size_t i = 0; i < other->n; i++) {
        if (i % BLOCK == 0)
            thr_select_collector_reserve(collector);
        collector->items[collector->n++] = other->items[i];
    }
}

void thr_select_collector_finish(thr_collector *collector) {
    prune(collector);
}

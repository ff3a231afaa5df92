/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_tree.c - building the tree of pair_tree.h over labels, ordering its nodes by score, and summing over active
 * pairs.
 *
 * A node stores its row numbers, worse rows first and each side sorted by score, then their ranks: 16 bits per number
 * in small nodes, else 32.
 */
#include "rank/solver/pair_tree.h"

#include <string.h>

#include "base/lower_bound.h"
#include "base/minmax.h"

enum { BLOCK = 8, HALF = BLOCK / 2, NARROW_ROWS = 65536 };

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* ------------------------------------------------------------------------------------------------ shape */

/* The boundary between two levels that is nearest to the middle; the range has two levels at least. */
static uint32_t level_boundary(const uint32_t *levels, uint32_t begin, uint32_t end) {
    const uint32_t middle = begin + (end - begin) / 2, level = levels[middle];
    const uint32_t from = thr_lower_bound(levels, begin, middle + 1, level);
    const uint32_t to = thr_lower_bound(levels, middle, end, level + 1);
    return to == end || (from > begin && middle - from <= to - middle) ? from : to;
}

static bool is_wide(const thr_pair_node *node) {
    return node->end - node->begin > NARROW_ROWS;
}

/* Whether all rows of a node have one level; they are sorted for the nodes above. */
static bool is_level(const thr_pair_node *node) {
    return node->middle == node->begin;
}

static bool is_block(const thr_pair_node *node) {
    return node->middle == node->end;
}

static size_t ranks_of(const thr_pair_node *node) {
    return is_level(node) || is_block(node) ? 0 : (is_wide(node) ? 4 : 2) * (size_t)(node->end - node->begin);
}

/*
 * Append the nodes of a range. Each side has about half the rows, or one side is a single level, so most rows are in
 * few nodes.
 */
static void shape(const uint32_t *levels, uint32_t begin, uint32_t end, thr_pair_node *nodes, size_t *n_nodes,
                  size_t *n_ranks) {
    thr_pair_node node = {.begin = begin, .middle = begin, .end = end};
    if (end - begin < 2)
        return;
    const bool has_pairs = levels[begin] != levels[end - 1];
    if (has_pairs)
        node.middle = end - begin <= BLOCK ? end : level_boundary(levels, begin, end);
    if (nodes != NULL)
        nodes[*n_nodes] = node;
    ++*n_nodes;
    *n_ranks += ranks_of(&node);
    if (!has_pairs || is_block(&node))
        return;
    shape(levels, begin, node.middle, nodes, n_nodes, n_ranks);
    shape(levels, node.middle, end, nodes, n_nodes, n_ranks);
}

size_t thr_rank_pair_tree_shape(const uint32_t *levels, uint32_t n, thr_pair_node *nodes, size_t *n_ranks) {
    size_t n_nodes = 0, all_ranks = 0;
    shape(levels, 0, n, nodes, &n_nodes, &all_ranks);
    if (n_ranks != NULL)
        *n_ranks = all_ranks;
    return n_nodes;
}

/* ------------------------------------------------------------------------------------------------ order */

ALWAYS_INLINE void put(void *ranks, size_t at, uint32_t number, bool wide) {
    if (wide)
        ((uint32_t *)ranks)[at] = number;
    else
        ((uint16_t *)ranks)[at] = (uint16_t)number;
}

ALWAYS_INLINE uint32_t get(const void *ranks, size_t at, bool wide) {
    return wide ? ((const uint32_t *)ranks)[at] : ((const uint16_t *)ranks)[at];
}

/* Append the smaller of two heads, without a branch: the comparison is unpredictable. */
ALWAYS_INLINE void merge_one(const thr_scored_row *rows, thr_scored_row *spare, uint32_t n_worse, uint32_t *left,
                             uint32_t *right) {
    const uint32_t from_right = rows[n_worse + *right].score < rows[*left].score;
    spare[*left + *right] = rows[*left ^ ((*left ^ (n_worse + *right)) & (0U - from_right))];
    *right += from_right;
    *left += 1 - from_right;
}

/*
 * Merge the two sides of a node, each sorted by score, and compute the ranks: for a better row the number of worse rows
 * that are a margin or more below it, for a worse row the number of better rows that are less than a margin above it.
 * Both positions only increase, so one walk finds both. The walk and the merge are interleaved, so that each can
 * proceed while the other waits for a comparison.
 */
ALWAYS_INLINE void order_node(const thr_pair_node *node, void *ranks, thr_scored_row *rows, thr_scored_row *spare,
                              double margin, bool wide) {
    const uint32_t n = node->end - node->begin, n_worse = node->middle - node->begin, n_better = n - n_worse;
    const thr_scored_row *better = rows + n_worse;
    uint32_t left = 0, right = 0, w = 0, b = 0;
    for (uint32_t k = 0; k < n; k++)
        put(ranks, k, rows[k].row - node->begin, wide);
    while (w < n_worse && b < n_better) {
        const bool is_active = better[b].score - rows[w].score < margin;
        put(ranks, (size_t)n + w, b, wide);
        put(ranks, (size_t)n + n_worse + b, w, wide);
        b += is_active;
        w += !is_active;
        if (left < n_worse && right < n_better)
            merge_one(rows, spare, n_worse, &left, &right);
    }
    for (; w < n_worse; w++)
        put(ranks, (size_t)n + w, b, wide);
    for (; b < n_better; b++)
        put(ranks, (size_t)n + n_worse + b, w, wide);
    while (left < n_worse && right < n_better)
        merge_one(rows, spare, n_worse, &left, &right);
    memcpy(spare + left + right, rows + left, (n_worse - left) * sizeof *rows);
    memcpy(spare + n_worse + right, better + right, (n_better - right) * sizeof *rows);
}

ALWAYS_INLINE void count_node(const thr_pair_node *node, const void *ranks, thr_pair_counts *counts, bool wide) {
    const uint32_t n = node->end - node->begin, n_worse = node->middle - node->begin;
    counts += node->begin;
    for (uint32_t i = 0; i < n_worse; i++)
        counts[get(ranks, i, wide)].high += get(ranks, (size_t)n + i, wide);
    for (uint32_t i = n_worse; i < n; i++)
        counts[get(ranks, i, wide)].low += n_worse - get(ranks, (size_t)n + i, wide);
}

/*
 * Set the masks of a block: for each row, the rows of lower levels less than a margin below it and the rows of higher
 * levels less than a margin above it.
 */
static void order_block(const thr_pair_node *node, const uint32_t *levels, uint8_t *masks, const thr_scored_row *rows,
                        double margin, thr_pair_counts *counts) {
    static const uint8_t ones[1 << HALF] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    const uint32_t n = node->end - node->begin;
    uint32_t before[BLOCK + 1], below[BLOCK],
        upto[BLOCK]; /* bit masks: rows at earlier positions; rows of lower levels; rows of lower or the same level */
    uint32_t low = 0, high = 0;
    before[0] = 0;
    for (uint32_t k = 0; k < n; k++)
        before[k + 1] = before[k] | UINT32_C(1) << (rows[k].row - node->begin);
    for (uint32_t i = 0; i < n; i++)
        below[i] =
            i > 0 && levels[node->begin + i] == levels[node->begin + i - 1] ? below[i - 1] : (UINT32_C(1) << i) - 1;
    for (uint32_t i = n; i-- > 0;)
        upto[i] =
            i + 1 < n && levels[node->begin + i] == levels[node->begin + i + 1] ? upto[i + 1] : (UINT32_C(2) << i) - 1;
    for (uint32_t k = 0; k < n; k++) {
        /* "not <": infinite scores are near no other score */
        while (low < k && !(rows[k].score - rows[low].score < margin))
            low++;
        while (high < n && rows[high].score - rows[k].score < margin)
            high++;
        const uint32_t row = rows[k].row, i = row - node->begin;
        const uint32_t worse = below[i] & ~before[low], better = before[high] & ~upto[i];
        masks[row] = (uint8_t)(worse | better);
        counts[row].low += UINT32_C(0) + ones[worse % (1 << HALF)] + ones[worse >> HALF];
        counts[row].high += UINT32_C(0) + ones[better % (1 << HALF)] + ones[better >> HALF];
    }
}

static void order_level(const thr_pair_node *node, thr_scored_row *rows, thr_scored_row *spare) {
    const uint32_t n = node->end - node->begin;
    const thr_scored_row *sorted = thr_rank_sort_scored_rows(rows + node->begin, spare, n);
    if (sorted == spare)
        memcpy(rows + node->begin, spare, n * sizeof *spare);
}

/* From the last node to the first, so that parts precede the nodes they belong to. The root's order is not used. */
void thr_rank_pair_tree_order(const thr_pair_tree *tree, thr_scored_row *rows, thr_scored_row *spare, double margin,
                              thr_pair_counts *counts) {
    uint16_t *ranks = tree->ranks;
    for (size_t i = 0; i < tree->n_nodes; i++)
        ranks += ranks_of(&tree->nodes[i]);
    memset(counts, 0, tree->n * sizeof *counts);
    for (size_t i = tree->n_nodes; i-- > 0;) {
        const thr_pair_node *node = &tree->nodes[i];
        ranks -= ranks_of(node);
        if (is_level(node) || is_block(node)) {
            order_level(node, rows, spare);
            if (is_block(node))
                order_block(node, tree->levels, tree->masks, rows + node->begin, margin, counts);
            continue;
        }
        if (is_wide(node)) {
            order_node(node, ranks, rows + node->begin, spare, margin, true);
            count_node(node, ranks, counts, true);
        } else {
            order_node(node, ranks, rows + node->begin, spare, margin, false);
            count_node(node, ranks, counts, false);
        }
        if (i > 0)
            memcpy(rows + node->begin, spare, (node->end - node->begin) * sizeof *rows);
    }
    *tree->all = false;
}

void thr_rank_pair_tree_set_all_active(const thr_pair_tree *tree, thr_pair_counts *counts) {
    for (uint32_t from = 0, to; from < tree->n; from = to) {
        to = from + 1;
        while (to < tree->n && tree->levels[to] == tree->levels[from])
            to++;
        for (uint32_t u = from; u < to; u++)
            counts[u] = (thr_pair_counts){.low = from, .high = tree->n - to};
    }
    *tree->all = true;
}

/* ------------------------------------------------------------------------------------------------ sums */

static void sum_all(const thr_pair_tree *tree, const double *values, double *low, double *high) {
    double all = 0, before = 0;
    for (uint32_t u = 0; u < tree->n; u++)
        all += values[u];
    for (uint32_t from = 0, to; from < tree->n; from = to) {
        double after = before;
        for (to = from; to < tree->n && tree->levels[to] == tree->levels[from]; to++)
            after += values[to];
        for (uint32_t u = from; u < to; u++) {
            low[u] += before;
            high[u] += all - after;
        }
        before = after;
    }
}

/* The prefix sums of both parts are interleaved: an addition waits only for the one before it in its part. */
ALWAYS_INLINE void sum_node(const thr_pair_node *node, const void *ranks, const double *values, double *low,
                            double *high, double *prefixes, bool wide) {
    const uint32_t n = node->end - node->begin, n_worse = node->middle - node->begin, n_better = n - n_worse;
    const uint32_t n_both = THR_MIN(n_worse, n_better);
    double *worse = prefixes, *better = prefixes + n_worse + 1, of_worse = 0, of_better = 0;
    values += node->begin;
    low += node->begin;
    high += node->begin;
    uint32_t k = 0;
    for (; k < n_both; k++) {
        worse[k] = of_worse;
        better[k] = of_better;
        of_worse += values[get(ranks, k, wide)];
        of_better += values[get(ranks, n_worse + k, wide)];
    }
    for (uint32_t i = k; i < n_worse; i++) {
        worse[i] = of_worse;
        of_worse += values[get(ranks, i, wide)];
    }
    for (uint32_t i = k; i < n_better; i++) {
        better[i] = of_better;
        of_better += values[get(ranks, n_worse + i, wide)];
    }
    worse[n_worse] = of_worse;
    better[n_better] = of_better;
    for (uint32_t i = 0; i < n_worse; i++)
        high[get(ranks, i, wide)] += better[get(ranks, (size_t)n + i, wide)];
    for (uint32_t i = n_worse; i < n; i++)
        low[get(ranks, i, wide)] += of_worse - worse[get(ranks, (size_t)n + i, wide)];
}

/* 0 or 1 for each of 4 bits. */
static const double of_bits[1 << HALF][HALF] = {
    {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 0}, {1, 0, 1, 0}, {0, 1, 1, 0}, {1, 1, 1, 0},
    {0, 0, 0, 1}, {1, 0, 0, 1}, {0, 1, 0, 1}, {1, 1, 0, 1}, {0, 0, 1, 1}, {1, 0, 1, 1}, {0, 1, 1, 1}, {1, 1, 1, 1}};

/* Pairs are symmetric: row j's mask is the set of rows that t_j is added to. */
static void sum_block(const thr_pair_node *node, const uint8_t *masks, const double *values, double *low,
                      double *high) {
    const uint32_t n = node->end - node->begin;
    double sums[2][BLOCK] = {{0}};
    const bool apart = low != high;
    for (uint32_t j = 0; j < n; j++) {
        const uint32_t mask = masks[node->begin + j], better = apart ? mask >> j << j : 0;
        const double value = values[node->begin + j];
        const double *first = of_bits[(mask ^ better) % (1 << HALF)], *second = of_bits[(mask ^ better) >> HALF];
        for (uint32_t i = 0; i < HALF; i++) {
            sums[0][i] += value * first[i];
            sums[0][HALF + i] += value * second[i];
        }
        for (uint32_t i = 0; i < BLOCK && apart; i++)
            sums[1][i] += value * of_bits[better >> (i & HALF) & 15][i % HALF];
    }
    for (uint32_t i = 0; i < n; i++) {
        high[node->begin + i] += sums[0][i];
        low[node->begin + i] += sums[1][i];
    }
}

void thr_rank_pair_tree_sums(const thr_pair_tree *tree, const double *values, double *low, double *high,
                             double *prefixes) {
    const uint16_t *ranks = tree->ranks;
    memset(low, 0, tree->n * sizeof *low);
    memset(high, 0, tree->n * sizeof *high);
    if (*tree->all) {
        sum_all(tree, values, low, high);
        return;
    }
    for (size_t i = 0; i < tree->n_nodes; i++) {
        const thr_pair_node *node = &tree->nodes[i];
        if (is_block(node))
            sum_block(node, tree->masks, values, low, high);
        else if (!is_level(node) && is_wide(node))
            sum_node(node, ranks, values, low, high, prefixes, true);
        else if (!is_level(node))
            sum_node(node, ranks, values, low, high, prefixes, false);
        ranks += ranks_of(node);
    }
}

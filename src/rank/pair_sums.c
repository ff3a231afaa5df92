/* SPDX-License-Identifier: Apache-2.0 */
/* Prefix sums by level: a table of them where levels are few, else a tree that is swept along. */
#include "rank/pair_sums.h"

#include <stdbool.h>
#include <string.h>

enum { FEW_LEVELS = 8, TABLE_ROWS = 2048, NODE_BITS = 5, GROUP = 4, MOST_DEPTH = 7 };

/* From element FEW_LEVELS - v on: 0 for numbers below v, then 1. */
static const double from_level[2 * FEW_LEVELS] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};

/* ------------------------------------------------------------------------------------------------ few levels */

/*
 * Row p of the table: C_p(1) to C_p(width), so the last one is the sum of all before p. C_p(0) is 0. width is a
 * constant where this is called.
 */
static inline __attribute__((always_inline)) void by_table(const thr_pair_rows *rows, const double *values, double *low,
                                                           double *high, double *table, size_t width) {
    double running[FEW_LEVELS] = {0};
    for (uint32_t p = 0; p < rows->n; p++) {
        const double *mask = from_level + FEW_LEVELS - rows->levels[p];
        for (size_t v = 0; v < width; v++)
            table[p * width + v] = running[v];
        for (size_t v = 0; v < width; v++)
            running[v] += values[p] * mask[v];
    }
    for (size_t v = 0; v < width; v++)
        table[rows->n * width + v] = running[v];
    for (uint32_t p = 0; p < rows->n; p++) {
        const uint32_t level = rows->levels[p];
        const double *from = table + rows->lows[p] * width, *to = table + rows->highs[p] * width;
        low[p] = level == 0 ? 0 : running[level - 1] - from[level - 1];
        high[p] = to[width - 1] - to[level];
    }
}

/* ------------------------------------------------------------------------------------------------ many levels */

/* A level's digits, the highest first. Depth d has a number for every level >> shift[d]: nodes side by side. */
typedef struct sums_tree {
    uint32_t depth;
    uint32_t shift[MOST_DEPTH], node[MOST_DEPTH]; /* node: numbers of a node, a power of two, 8 at least */
    size_t start[MOST_DEPTH];                     /* of a depth's numbers */
    size_t size;
} sums_tree;

static sums_tree tree_of(uint32_t n_levels) {
    sums_tree tree = {.depth = 0};
    uint32_t bits = NODE_BITS - 1;
    while (bits < 32 && (n_levels - 1) >> bits != 0)
        bits++;
    tree.depth = (bits + NODE_BITS - 1) / NODE_BITS;
    uint32_t left = bits;
    for (uint32_t d = 0; d < tree.depth; d++) {
        const uint32_t digit = (left + tree.depth - d - 1) / (tree.depth - d);
        left -= digit;
        tree.shift[d] = left;
        tree.node[d] = UINT32_C(1) << digit;
        tree.start[d] = tree.size;
        tree.size += ((size_t)((n_levels - 1) >> left >> digit) + 1) << digit;
    }
    return tree;
}

/* C(level): levels to the left in its node of every depth. */
static inline double look_up(const sums_tree *tree, const double *sums, uint32_t level) {
    double sum = 0;
    for (uint32_t d = 0; d < tree->depth; d++)
        sum += sums[tree->start[d] + (level >> tree->shift[d])];
    return sum;
}

/* All numbers of the node that are to the right of the level's; those of its group by a mask. */
static inline void add(const sums_tree *tree, double *sums, uint32_t level, double value) {
    for (uint32_t d = 0; d < tree->depth; d++) {
        const uint32_t at = level >> tree->shift[d], first = at & ~(uint32_t)(GROUP - 1);
        double *number = sums + tree->start[d] + first;
        const double *end = sums + tree->start[d] + (at | (tree->node[d] - 1)) + 1;
        const double *mask = from_level + FEW_LEVELS - 1 - (at - first);
        for (size_t i = 0; i < GROUP; i++)
            number[i] += value * mask[i];
        for (number += GROUP; number < end; number += GROUP)
            for (size_t i = 0; i < GROUP; i++)
                number[i] += value;
    }
}

static void by_sweep(const thr_pair_rows *rows, const double *values, double *low, double *high, double *sums) {
    const sums_tree tree = tree_of(rows->n_levels);
    const uint32_t n = rows->n, last = rows->n_levels - 1;
    uint32_t next_low = 0, next_high = 0;
    double all = 0;
    memset(sums, 0, tree.size * sizeof *sums);
    for (uint32_t p = 0; p <= n; p++) {
        for (; next_low < n && rows->lows[next_low] == p; next_low++)
            low[next_low] = look_up(&tree, sums, rows->levels[next_low]);
        for (; next_high < n && rows->highs[next_high] == p; next_high++) {
            const uint32_t level = rows->levels[next_high];
            high[next_high] = level == last ? 0 : all - look_up(&tree, sums, level + 1);
        }
        if (p == n)
            break;
        add(&tree, sums, rows->levels[p], values[p]);
        all += values[p];
    }
    for (uint32_t p = 0; p < n; p++)
        low[p] = look_up(&tree, sums, rows->levels[p]) - low[p];
}

/* ------------------------------------------------------------------------------------------------ either */

void thr_pair_sums(const thr_pair_rows *rows, const double *values, double *low, double *high, double *scratch) {
    if (rows->n > TABLE_ROWS || rows->n_levels > FEW_LEVELS)
        by_sweep(rows, values, low, high, scratch);
    else if (rows->n_levels <= FEW_LEVELS / 4)
        by_table(rows, values, low, high, scratch, FEW_LEVELS / 4);
    else if (rows->n_levels <= FEW_LEVELS / 2)
        by_table(rows, values, low, high, scratch, FEW_LEVELS / 2);
    else
        by_table(rows, values, low, high, scratch, FEW_LEVELS);
}

size_t thr_pair_sums_scratch(uint32_t n, uint32_t n_levels) {
    const size_t tree = tree_of(n_levels).size;
    const size_t table = ((size_t)(n < TABLE_ROWS ? n : TABLE_ROWS) + 1) * FEW_LEVELS;
    return table > tree ? table : tree;
}

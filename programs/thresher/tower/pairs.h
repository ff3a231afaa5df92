/* SPDX-License-Identifier: Apache-2.0 */
/* pairs.h - the options for the columns of a file of pairs. */
#pragma once

#include <math.h>

#include "cli/program.h"

typedef struct prog_pairs_values {
    uint64_t query_column, item_column, label_column;
    double least_label;
    bool header;
} prog_pairs_values;

/* Entries of an option table; values is the member of that type in the command's struct. */
#define PROG_PAIRS_OPTIONS(type, values, title)                                                                        \
    {PROG_COUNT_OPTION("query-column", "N", offsetof(type, values.query_column), "the column of the query, from 1"),   \
     .least = 1, .most = UINT32_MAX, .fallback = "1", .heading = (title)},                                             \
        {PROG_COUNT_OPTION("item-column", "N", offsetof(type, values.item_column), "the column of the item"),          \
         .least = 1, .most = UINT32_MAX, .fallback = "2"},                                                             \
        {PROG_COUNT_OPTION("label-column", "N", offsetof(type, values.label_column),                                   \
                           "the column of a numeric label, larger is better (default: all pairs are good)"),           \
         .least = 1, .most = UINT32_MAX},                                                                              \
        {PROG_REAL_OPTION("least-label", "X", offsetof(type, values.least_label), "the lowest label of a good pair"),  \
         .least_real = -INFINITY, .fallback = "1"},                                                                    \
    {                                                                                                                  \
        PROG_FLAG_OPTION("header", offsetof(type, values.header), "skip the first row, which names columns")           \
    }

static inline thr_pairs_format prog_pairs_format(const prog_pairs_values *values) {
    return (thr_pairs_format){.query_column = (uint32_t)values->query_column,
                              .item_column = (uint32_t)values->item_column,
                              .label_column = (uint32_t)values->label_column,
                              .least_label = (float)values->least_label,
                              .header = values->header};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pairs.h - the options that say where pairs stand in a file, for the commands that read some. */
#ifndef THRESHER_PROGRAM_PAIRS_H
#define THRESHER_PROGRAM_PAIRS_H

#include <math.h>

#include "program.h"

typedef struct prog_pairs_values {
    uint64_t query_column, item_column, label_column;
    double least_label;
    bool header;
} prog_pairs_values;

/* Entries of an option table; values is the member of that type in the command's struct. */
#define PROG_PAIRS_OPTIONS(type, values)                                                                               \
    {.name = "query-column",                                                                                           \
     .kind = PROG_COUNT,                                                                                               \
     .value = "N",                                                                                                     \
     .least = 1,                                                                                                       \
     .most = UINT32_MAX,                                                                                               \
     .fallback = "1",                                                                                                  \
     .help = "the column of PAIRS that queries stand in, from 1",                                                      \
     .offset = offsetof(type, values.query_column)},                                                                   \
        {.name = "item-column",                                                                                        \
         .kind = PROG_COUNT,                                                                                           \
         .value = "N",                                                                                                 \
         .least = 1,                                                                                                   \
         .most = UINT32_MAX,                                                                                           \
         .fallback = "2",                                                                                              \
         .help = "the column of PAIRS that items stand in",                                                            \
         .offset = offsetof(type, values.item_column)},                                                                \
        {.name = "label-column",                                                                                       \
         .kind = PROG_COUNT,                                                                                           \
         .value = "N",                                                                                                 \
         .least = 1,                                                                                                   \
         .most = UINT32_MAX,                                                                                           \
         .help = "a column of numbers that say how good a pair is (default: all pairs are good)",                      \
         .offset = offsetof(type, values.label_column)},                                                               \
        {.name = "least-label",                                                                                        \
         .kind = PROG_REAL,                                                                                            \
         .value = "X",                                                                                                 \
         .least_real = -INFINITY,                                                                                      \
         .fallback = "1",                                                                                              \
         .help = "pairs with a label of less are bad",                                                                 \
         .offset = offsetof(type, values.least_label)},                                                                \
        {.name = "header",                                                                                             \
         .kind = PROG_FLAG,                                                                                            \
         .help = "the first row of PAIRS names its columns",                                                           \
         .offset = offsetof(type, values.header)},

static inline thr_pairs_format prog_pairs_format(const prog_pairs_values *values) {
    return (thr_pairs_format){.query_column = (uint32_t)values->query_column,
                              .item_column = (uint32_t)values->item_column,
                              .label_column = (uint32_t)values->label_column,
                              .least_label = (float)values->least_label,
                              .header = values->header};
}

#endif

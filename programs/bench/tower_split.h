/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tower_split.h - pairs of texts for `bench tower`: read, and split by query into a part to learn from and one to test.
 *
 * A query is in one part with all its pairs. Queries that differ in case, punctuation or spaces alone are one query.
 */
#ifndef THRESHER_BENCH_TOWER_SPLIT_H
#define THRESHER_BENCH_TOWER_SPLIT_H

#include <thresher/thresher.h>

typedef struct bench_pair {
    size_t query, item; /* where they begin in text */
    float label;        /* 3 where there are none */
    bool test;
} bench_pair;

typedef struct bench_pairs {
    char *text; /* all texts, each ended by NUL */
    size_t n_text, text_capacity;
    bench_pair *rows;
    size_t n, capacity;
    size_t n_left_out; /* rows with a text without letters or digits of ASCII */
} bench_pairs;

/* Pairs of this label and better are good; without labels all are. */
#define BENCH_LEAST_LABEL 2.0f

/* Of [0, 1): the same for queries that are one query. Below BENCH_TEST_SHARE it is tested with. */
double bench_split_place(const char *query);
#define BENCH_TEST_SHARE 0.1

/*
 * Read the lines of a text reader, "query TAB item" or with a label behind them (labelled), into *pairs, which starts
 * zeroed. share: of the queries, below 1 to take some of each part. Answers what the reader does, or THR_ENOMEM.
 */
thr_status bench_pairs_read(thr_context *context, const char *path, bool labelled, double share, bench_pairs *pairs,
                            thr_error *err);
void bench_pairs_free(bench_pairs *pairs);

/* Which rows to write. */
typedef enum bench_rows { BENCH_ROWS_TRAIN, BENCH_ROWS_TEST, BENCH_ROWS_TEST_GOOD } bench_rows;
bool bench_pairs_is(const bench_pair *pair, bench_rows rows);

/* Append rows to a .tsv file as query, item, label. 0, or -1 when they cannot be written. */
int bench_pairs_write(const bench_pairs *pairs, bench_rows rows, const char *path);

static inline const char *bench_query(const bench_pairs *pairs, size_t row) {
    return pairs->text + pairs->rows[row].query;
}
static inline const char *bench_item(const bench_pairs *pairs, size_t row) {
    return pairs->text + pairs->rows[row].item;
}

#endif

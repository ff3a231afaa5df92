/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ndcg.c - `eval ndcg SCORES FILE.svm`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "rank/quality.h"
#include "rank/files.h"
#include "input/row_numbers.h"

typedef struct ndcg_values {
    const char *scores, *file;
    prog_quality_values quality;
    prog_rank_values reading;
} ndcg_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("SCORES", PROG_NAMES_FILE, offsetof(ndcg_values, scores),
                   "one score per row of FILE, in its order: .txt, a column of .tsv or .csv as in X.tsv:3, or "
                   "rows of one number, .npy .fvecs")},
    {PROG_REQUIRED("FILE", PROG_NAMES_FILE, offsetof(ndcg_values, file),
                   "labels and queries: lines of \"label qid:N index:value ...\", or without qid and "
                   "FILE.query beside it; also .gz and .xz")},
    {.name = NULL},
};

static const prog_option options[] = {
    PROG_QUALITY_OPTIONS(ndcg_values, quality),
    PROG_RANK_OPTIONS(ndcg_values, reading),
    PROG_OPTIONS_END,
};

static int judge(program *run, const ndcg_values *values, const thr_ranking *ranking) {
    const thr_ranking_view view = thr_ranking_get_view(ranking);
    const prog_numbers wanted = {
        .path = values->scores, .what = "score", .of = "row", .file = values->file, .n = view.n_rows};
    double *scores = NULL;
    int rc = prog_read_numbers(run, &wanted, &scores);

    if (rc == PROG_DONE)
        rc = prog_order_numbers(&view, &scores);
    if (rc == PROG_DONE)
        rc = prog_quality_judge(run, &values->quality, ranking, scores, values->file);
    free(scores);
    return rc;
}

static int run_ndcg(program *run, const void *all_values) {
    const ndcg_values *values = all_values;
    thr_ranking *ranking = NULL;
    double seconds = 0;
    int rc = prog_rank_open(run, values->file, &values->reading, false, &ranking, &seconds);

    if (rc == PROG_DONE)
        rc = judge(run, values, ranking);
    thr_ranking_free(ranking);
    return rc;
}

const prog_command prog_eval_ndcg = {
    PROG_COMMAND("eval", "ndcg", ndcg_values, arguments, options, run_ndcg),
    .summary = "measure how well scores rank the rows of queries: NDCG, MAP, MRR, ERR, precision, pairs",
    .text = "Rows are ranked within their query by descending score, equal ones in the order of "
            "FILE. NDCG@k is the sum of gain x discount over the first k ranks, divided by the best "
            "possible sum, mean over queries. Tools differ in gain, discount and the score of "
            "queries without gain; --convention selects a tool.\n\nMAP is the mean over queries of "
            "the precision at the ranks of relevant rows, MRR of 1 / rank of the first relevant row, "
            "P@k of the share of relevant rows among the first k; rows with labels from 1 on are "
            "relevant. ERR@k is the expected reciprocal rank of Chapelle and others. Pairwise "
            "accuracy is the share of pairs of rows of one query with different labels whose larger "
            "label has the larger score.",
    .examples = PROG_EXAMPLES("thresher eval ndcg scores.txt test.svm -k 10",
                              "thresher eval ndcg scores.npy mq2007.svm.xz --convention letor --json",
                              "thresher eval ndcg predictions.tsv:2 test.svm --gain linear --ties right"),
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_eval_ndcg.c - `eval ndcg SCORES FILE.svm`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "quality.h"
#include "talk.h"

typedef struct ndcg_values {
    const char *scores, *file;
    prog_quality_values quality;
    bool cache;
} ndcg_values;

static const prog_argument arguments[] = {
    {.name = "SCORES",
     .help =
         "a score a row of FILE, in its order: .txt a line each, a column of .tsv or .csv as in X.tsv:3, or rows of "
         "one number, .npy .fvecs",
     .offset = offsetof(ndcg_values, scores),
     .names = PROG_NAMES_FILE,
     .required = true},
    {.name = "FILE",
     .help =
         "labels and queries: lines of \"label qid:N index:value ...\", or without qid and FILE.query beside it; .gz "
         "and .xz are read through",
     .offset = offsetof(ndcg_values, file),
     .names = PROG_NAMES_FILE,
     .required = true},
    {.name = NULL},
};

static const prog_option options[] = {
    PROG_QUALITY_OPTIONS(ndcg_values,
                         quality){.name = "cache",
                                  .kind = PROG_FLAG,
                                  .help = "read FILE.thr-cache where it was made of FILE as it is now, else make it",
                                  .offset = offsetof(ndcg_values, cache)},
    PROG_OPTIONS_END,
};

/* As the file has them. */
typedef struct row_scores {
    const char *path;
    double *scores;
    uint64_t n, n_wanted;
} row_scores;

static int add_line(row_scores *s, const char *line) {
    char *end = NULL;
    const double score = strtod(line, &end);

    if (end == line || end[strspn(end, " \t")] != '\0') {
        prog_error("%s: line %" PRIu64 " is no score, but \"%.60s\"", s->path, s->n + 1, line);
        return PROG_FAILED;
    }
    if (s->n < s->n_wanted)
        s->scores[s->n] = score;
    s->n++;
    return PROG_DONE;
}

static int read_lines(row_scores *s, thr_reader *reader) {
    thr_error err = {.status = THR_OK};
    const char *line;
    size_t length;

    for (;;) {
        if (thr_reader_next_line(reader, &line, &length, &err) != THR_OK)
            return prog_failed(&err);
        if (line == NULL)
            return PROG_DONE;
        if (prog_stop_signal() != 0)
            return prog_stopped();
        if (add_line(s, line) != PROG_DONE)
            return PROG_FAILED;
    }
}

static int read_numbers(row_scores *s, thr_reader *reader) {
    enum { PIECE = 4096 };
    thr_error err = {.status = THR_OK};
    float piece[PIECE];
    thr_matrix rows;

    if (thr_reader_get_shape(reader).n_dims != 1) {
        prog_error("%s: a row has %" PRIu32 " numbers, a score is one", s->path, thr_reader_get_shape(reader).n_dims);
        return PROG_FAILED;
    }
    for (;;) {
        if (thr_reader_next(reader, PIECE, &rows, &err) != THR_OK)
            return prog_failed(&err);
        if (rows.n_rows == 0)
            return PROG_DONE;
        (void)thr_matrix_to_f32(&rows, 0, rows.n_rows, piece);
        for (uint64_t i = 0; i < rows.n_rows; i++, s->n++)
            if (s->n < s->n_wanted)
                s->scores[s->n] = (double)piece[i];
    }
}

static int read_scores(row_scores *s, program *run, const char *file) {
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    int rc;

    if (thr_reader_open(run->context, s->path, &reader, &err) != THR_OK)
        return prog_failed(&err);
    rc = thr_reader_get_shape(reader).n_dims == 0 ? read_lines(s, reader) : read_numbers(s, reader);
    if (rc == PROG_DONE && s->n != s->n_wanted) {
        prog_error("%s has %s scores, %s has %s rows: every row needs a score", s->path, prog_exact(s->n).text, file,
                   prog_exact(s->n_wanted).text);
        rc = PROG_FAILED;
    }
    thr_reader_free(reader);
    return rc;
}

/* Scores in the order of the view: by query. */
static int order(row_scores *s, const thr_ranking_view *view) {
    double *ordered;

    if (view->rows == NULL || s->n == 0)
        return PROG_DONE;
    ordered = malloc((size_t)s->n * sizeof *ordered);
    if (ordered == NULL)
        return prog_no_memory();
    for (uint64_t i = 0; i < s->n; i++)
        ordered[i] = s->scores[view->rows[i]];
    free(s->scores);
    s->scores = ordered;
    return PROG_DONE;
}

static int judge(program *run, const ndcg_values *values, const thr_ranking *ranking) {
    const thr_ranking_view view = thr_ranking_get_view(ranking);
    row_scores scores = {.path = values->scores, .n_wanted = view.n_rows};
    int rc;

    scores.scores = malloc((size_t)view.n_rows * sizeof *scores.scores);
    if (scores.scores == NULL)
        return prog_no_memory();
    rc = read_scores(&scores, run, values->file);
    if (rc == PROG_DONE)
        rc = order(&scores, &view);
    if (rc == PROG_DONE)
        rc = prog_quality_judge(run, &values->quality, ranking, scores.scores, values->file);
    free(scores.scores);
    return rc;
}

static int run_ndcg(program *run, const void *all_values) {
    const ndcg_values *values = all_values;
    thr_error err = {.status = THR_OK};
    thr_ranking_options how;
    thr_ranking *ranking = NULL;
    int rc;

    thr_ranking_options_init(&how);
    how.without_comments = true;
    how.cache = values->cache;
    if (thr_ranking_open(run->context, values->file, &how, &ranking, &err) != THR_OK)
        return prog_failed(&err);
    rc = judge(run, values, ranking);
    thr_ranking_free(ranking);
    return rc;
}

static const char *const examples[] = {
    "thresher eval ndcg scores.txt test.svm -k 10",
    "thresher eval ndcg scores.npy mq2007.svm.xz --convention letor --json",
    "thresher eval ndcg predictions.tsv:2 test.svm --gain linear --ties right",
    NULL,
};

const prog_command prog_eval_ndcg = {
    .noun = "eval",
    .verb = "ndcg",
    .summary = "how well scores rank the rows of queries: NDCG, MAP, MRR, ERR, precision, pairs",
    .text =
        "Rows are ranked within their query by descending score, equal ones in the order of FILE. NDCG@k is the sum of "
        "gain x discount over the first k ranks, divided by the best that the labels allow, its mean over queries; "
        "tools differ in gain, discount and what queries without a gain count as, so --convention names one.\n\n"
        "MAP is the mean over queries of the precision at the ranks of relevant rows, MRR that of 1 / rank of the "
        "first one, P@k that of the share of relevant rows among the first k; rows with labels from 1 on are "
        "relevant. ERR@k is the expected reciprocal rank of Chapelle and others. Pairwise accuracy is over all pairs "
        "of rows of one query with different labels: the share of those with the larger score at the larger label.",
    .arguments = arguments,
    .options = options,
    .values_size = sizeof(ndcg_values),
    .examples = examples,
    .run = run_ndcg,
};

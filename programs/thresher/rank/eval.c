/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval.c - `rank eval MODEL FILE`.
 */
#include <stdlib.h>

#include "rank/quality.h"
#include "rank/files.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct eval_values {
    const char *model, *file;
    prog_quality_values quality;
    prog_rank_values reading;
} eval_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("MODEL", PROG_NAMES_FILE, offsetof(eval_values, model),
                   "a model that thresher rank train or LIBLINEAR wrote")},
    {PROG_REQUIRED("FILE", PROG_NAMES_FILE, offsetof(eval_values, file),
                   "labelled rows, as in rank train: .svm, also .gz and .xz")},
    {.name = NULL},
};

static const prog_option options[] = {
    PROG_QUALITY_OPTIONS(eval_values, quality),
    PROG_RANK_OPTIONS(eval_values, reading),
    PROG_OPTIONS_END,
};

static int run_eval(program *run, const void *all_values) {
    const eval_values *values = all_values;
    thr_rank_model *model = NULL;
    thr_ranking *ranking = NULL;
    double *scores = NULL, seconds = 0;
    thr_error err = {.status = THR_OK};
    int rc = PROG_DONE;

    if (thr_rank_model_open(run->context, values->model, &model, &err) != THR_OK)
        return prog_failed(&err);
    rc = prog_rank_open(run, values->file, &values->reading, false, &ranking, &seconds);
    if (rc == PROG_DONE) {
        scores = prog_rank_numbers(thr_ranking_get_view(ranking).n_rows);
        if (scores == NULL)
            rc = PROG_FAILED;
        else if (thr_rank_model_predict(model, ranking, scores, &err) != THR_OK)
            rc = prog_failed_at(values->file, &err);
    }
    if (rc == PROG_DONE) {
        prog_rank_tell_width(values->file, ranking, values->model, model);
        rc = prog_quality_judge(run, &values->quality, ranking, scores, values->file);
    }
    free(scores);
    thr_ranking_free(ranking);
    thr_rank_model_free(model);
    return rc;
}

const prog_command prog_rank_eval = {
    PROG_COMMAND("rank", "eval", eval_values, arguments, options, run_eval),
    .summary = "measure how well a model ranks labelled rows",
    .text = "Scores the rows as rank predict does and evaluates them as eval ndcg does: NDCG, MAP, "
            "MRR, ERR, precision, and the share of pairs in the right order. Rows of equal scores "
            "rank in FILE's order.",
    .examples = PROG_EXAMPLES("thresher rank eval ranker.safetensors test.svm",
                              "thresher rank eval ranker.model test.svm.xz --convention letor -k 5 --json"),
};

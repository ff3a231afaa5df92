/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval.c - `rank eval MODEL FILE`.
 */
#include "rank/quality.h"
#include "rank/files.h"
#include "commands.h"

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
    prog_scored scored = {.scores = NULL};
    int rc = prog_rank_score(run, values->model, values->file, &values->reading, false, &scored);

    if (rc == PROG_DONE)
        rc = prog_quality_judge(run, &values->quality, scored.ranking, scored.scores, values->file);
    prog_rank_scored_free(&scored);
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

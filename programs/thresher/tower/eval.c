/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval.c - `tower eval MODEL PAIRS`.
 */
#include <math.h>
#include <stdio.h>

#include "tower/dual.h"
#include "cli/json.h"
#include "tower/pairs.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct eval_values {
    const char *model, *pairs, *items;
    prog_pairs_values columns;
} eval_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("MODEL", PROG_NAMES_FILE, offsetof(eval_values, model), "a model that thresher tower train wrote")},
    {PROG_REQUIRED("PAIRS", PROG_NAMES_FILE, offsetof(eval_values, pairs),
                   "a query and an item in every row: .tsv .csv, also .gz and .xz; for a dual tower requests")},
    {.name = NULL},
};

static const prog_option options[] = {
    PROG_PAIRS_OPTIONS(eval_values, columns, NULL),
    {PROG_FILE_OPTION("items", offsetof(eval_values, items), "for a dual tower: table of items, as in tower train")},
    PROG_OPTIONS_END,
};

static void print(const program *run, const thr_tower_quality *quality) {
    if (run->globals.json) {
        prog_json json = prog_json_object();

        prog_json_key_real(&json, "auc", quality->auc);
        prog_json_key_real(&json, "loss", quality->loss);
        PROG_JSON_COUNTS(&json, {"n_good", quality->n_good}, {"n_bad", quality->n_bad},
                         {"n_refused", quality->n_refused});
        prog_json_end_object(&json);
        return;
    }
    (void)printf("AUC %.4f of %s good pairs against %s %s ones\n", quality->auc, prog_exact(quality->n_good).text,
                 prog_exact(quality->n_bad).text, isnan(quality->loss) ? "bad" : "sampled");
    if (!isnan(quality->loss))
        (void)printf("log loss %.4f against 10 other items\n", quality->loss);
}

static int run_eval(program *run, const void *all_values) {
    const eval_values *values = all_values;
    const thr_pairs_format format = prog_pairs_format(&values->columns);
    thr_error err = {.status = THR_OK};
    thr_tower *tower = NULL;
    thr_tower_quality quality;
    bool is_dual = false;
    int rc = prog_probe_dual(run, values->model, &is_dual);

    if (rc != PROG_DONE)
        return rc;
    if (is_dual != (values->items != NULL)) {
        prog_error(is_dual ? "%s: a dual tower needs --items, its table of items; %s"
                           : "--items: %s is not a dual tower; %s",
                   values->model, prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    if (is_dual)
        return prog_eval_dual(run, values->model, values->pairs, values->items);

    if (thr_tower_open(run->context, values->model, &tower, &err) != THR_OK ||
        thr_tower_eval(tower, values->pairs, &format, &quality, &err) != THR_OK) {
        rc = prog_failed(&err);
    } else {
        prog_progress_end();
        if (quality.n_refused != 0)
            prog_note("skipped %s without a column, or without words in it",
                      prog_counted(quality.n_refused, "row").text);
        print(run, &quality);
    }
    thr_tower_free(tower);
    return rc;
}

const prog_command prog_tower_eval = {
    PROG_COMMAND("tower", "eval", eval_values, arguments, options, run_eval),
    .summary = "measure how well a model separates good pairs from bad ones",
    .text = "Prints the area under the ROC curve of the cosines, good pairs against bad ones. Bad "
            "pairs are those with a label below --least-label; without --label-column, every query with 10 "
            "items of other pairs.\n\nFor a dual tower PAIRS are requests, as in tower train. The "
            "command prints GAUC, the mean AUC of a request's best ads against the others, and how "
            "often the best ad ranks in the first 5 and 10, unweighted and weighted by value.",
    .examples =
        PROG_EXAMPLES("thresher tower eval clicks.safetensors tomorrow.tsv",
                      "thresher tower eval shop.safetensors judged.csv --header --label-column 3 --least-label 2",
                      "thresher tower eval ads.safetensors tomorrow.tsv --items items.tsv"),
};

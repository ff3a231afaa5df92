/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train.c - `rank train FILE -o MODEL`.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info/gpus.h"
#include "cli/json.h"
#include "cli/output.h"
#include "rank/files.h"
#include "input/row_numbers.h"
#include "commands.h"
#include "cli/messages.h"

enum { MOST_COSTS = 64, COST_TEXT = 40 };

typedef struct train_values {
    const char *file, *output, *start, *costs, *weights, *query_weights;
    double epsilon;
    uint64_t folds, steps;
    size_t method, scale;
    prog_rank_values reading;
} train_values;

static const char *const methods[] = {"line-search", "trust-region", "sweep", NULL};
static const char *const scales[] = {"pair", "query", "mean", NULL};

static const prog_argument arguments[] = {
    {PROG_REQUIRED("FILE", PROG_NAMES_FILE, offsetof(train_values, file),
                   "rows to train on, one per line, as \"2 qid:1 1:0.5 7:-3\" (label, query, features): "
                   ".svm, also .gz and .xz")},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_NEW_FILE_OPTION("MODEL", offsetof(train_values, output),
                          "the model to write: safetensors if the name ends with .safetensors, else LIBLINEAR's "
                          "text")},
    {PROG_TEXT_OPTION("cost", "C[,C...]", offsetof(train_values, costs),
                      "C, the weight of the pairs' losses; several values, ascending, need --folds, which selects "
                      "the best"),
     .letter = 'c', .fallback = "1"},
    {PROG_REAL_OPTION("epsilon", "X", offsetof(train_values, epsilon),
                      "stop when the gradient's norm is this share of its norm at 0"),
     .letter = 'e', .most_real = 0.5, .fallback = "1e-5"},
    {PROG_COUNT_OPTION("folds", "N", offsetof(train_values, folds),
                       "cross-validate every C on N folds of queries, assigned by --seed"),
     .least = 2, .most = 1000},
    {PROG_CHOICE_OPTION("scale", "pair|query|mean", scales, offsetof(train_values, scale),
                        "the loss that C multiplies: pair, each pair's; query, the mean of a query's pairs; mean, "
                        "the mean of all pairs"),
     .fallback = "pair"},
    {PROG_CHOICE_OPTION("method", "line-search|trust-region|sweep", methods, offsetof(train_values, method),
                        "line-search: preconditioned Newton steps, the fastest; trust-region: the paper's; sweep: "
                        "trust-region with the paper's sums over pairs (P-SWX), slow for long queries. All give the "
                        "same minimum"),
     .fallback = "line-search"},
    {PROG_COUNT_OPTION("steps", "N", offsetof(train_values, steps), "most Newton steps"), .least = 1, .most = 1000000,
     .fallback = "200"},
    {PROG_TEXT_OPTION("start", "MODEL", offsetof(train_values, start), "initial model, with as many features"),
     .names = PROG_NAMES_START},
    {PROG_FILE_OPTION("weights", offsetof(train_values, weights),
                      "one weight per row, in order: the loss of a pair is multiplied by both rows' weights")},
    {PROG_FILE_OPTION("query-weights", offsetof(train_values, query_weights),
                      "one weight per query, in order of first appearance: the loss of its pairs is multiplied by "
                      "it")},
    PROG_RANK_OPTIONS(train_values, reading),
    PROG_OPTIONS_END,
};

/* The values of -c, and the accuracy of each. */
typedef struct cost_path {
    double costs[MOST_COSTS], accuracies[MOST_COSTS];
    size_t n, best;
    bool judged;
} cost_path;

typedef struct training {
    cost_path path;
    thr_ranking *ranking;
    thr_rank_model *start, *model;
    thr_rank_report report;
    double read_seconds;
    double *weights, *query_weights; /* in the order of the view; NULL: none */
} training;

/* ------------------------------------------------------------------------------------------------ words */

static int read_costs(const program *run, const train_values *values, cost_path *path) {
    const char *at = values->costs;

    for (;;) {
        const size_t length = strcspn(at, ",");
        char text[COST_TEXT];

        if (path->n == MOST_COSTS) {
            prog_error("-c: more than %d numbers; %s", MOST_COSTS, prog_see_help(run));
            return PROG_WRONG_WORDS;
        }
        (void)snprintf(text, sizeof text, "%.*s", (int)(length < COST_TEXT ? length : COST_TEXT - 1), at);
        if (length >= COST_TEXT || !prog_read_real(text, &path->costs[path->n]) || path->costs[path->n] <= 0) {
            prog_error("-c: \"%s\" is not a number above 0; %s", text, prog_see_help(run));
            return PROG_WRONG_WORDS;
        }
        if (path->n > 0 && path->costs[path->n] <= path->costs[path->n - 1]) {
            prog_error("-c: %s does not ascend; %s", values->costs, prog_see_help(run));
            return PROG_WRONG_WORDS;
        }
        path->n++;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    if (path->n > 1 && values->folds == 0) {
        prog_error("-c: %zu numbers need --folds, which selects the best; %s", path->n, prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    return PROG_DONE;
}

/* ------------------------------------------------------------------------------------------------ work */

static thr_rank_options rank_options(const train_values *values, const training *work) {
    thr_rank_options train = {0};

    train.c = work->path.costs[work->path.best];
    train.epsilon = values->epsilon;
    train.most_steps = (uint32_t)values->steps;
    train.method = (thr_rank_method)values->method;
    train.scale = (thr_rank_scale)values->scale;
    train.start = work->start;
    train.row_weights = work->weights;
    train.query_weights = work->query_weights;
    return train;
}

static int judge_costs(const program *run, const train_values *values, training *work) {
    const thr_rank_options train = rank_options(values, work);
    cost_path *path = &work->path;
    const thr_rank_folds folds = {.cs = path->costs,
                                  .accuracies = path->accuracies,
                                  .n_cs = path->n,
                                  .seed = run->globals.seed,
                                  .n_folds = (uint32_t)values->folds};
    thr_error err = {.status = THR_OK};

    if (thr_rank_cross_validate(run->context, work->ranking, &train, &folds, &err) != THR_OK)
        return prog_failed_at(values->file, &err);
    prog_progress_end();
    path->judged = true;
    for (size_t i = 0; i < path->n; i++) {
        if (path->accuracies[i] > path->accuracies[path->best])
            path->best = i;
        prog_note("C %g: %.4f of pairs in order, over %" PRIu64 " folds", path->costs[i], path->accuracies[i],
                  values->folds);
    }
    return PROG_DONE;
}

static int read_files(program *run, const train_values *values, training *work) {
    thr_error err = {.status = THR_OK};
    const int rc = prog_rank_check_output(values->output, values->file, &values->reading);

    if (rc != PROG_DONE)
        return rc;
    if (thr_rank_model_check_path(run->context, values->output, &err) != THR_OK)
        return prog_failed(&err);
    if (values->start == NULL || !prog_is_one_file(values->output, values->start))
        prog_note_replaced(values->output, "model");
    if (values->start != NULL && thr_rank_model_open(run->context, values->start, &work->start, &err) != THR_OK)
        return prog_failed(&err);
    return prog_rank_open(run, values->file, &values->reading, false, &work->ranking, &work->read_seconds);
}

static int read_weights(program *run, const train_values *values, training *work) {
    const thr_ranking_view view = thr_ranking_get_view(work->ranking);
    const prog_numbers rows = {
        .path = values->weights, .what = "weight", .of = "row", .file = values->file, .n = view.n_rows};
    const prog_numbers queries = {
        .path = values->query_weights, .what = "weight", .of = "query", .file = values->file, .n = view.n_queries};
    int rc = PROG_DONE;

    if (values->weights != NULL)
        rc = prog_read_numbers(run, &rows, &work->weights);
    if (rc == PROG_DONE && work->weights != NULL)
        rc = prog_order_numbers(&view, &work->weights);
    if (rc == PROG_DONE && values->query_weights != NULL)
        rc = prog_read_numbers(run, &queries, &work->query_weights);
    return rc;
}

/* Save the best model so far of a stopped training. */
static int save_stopped(const train_values *values, const training *work) {
    thr_error err = {.status = THR_OK};

    prog_progress_end();
    if (thr_rank_model_save(work->model, values->output, &err) != THR_OK)
        return prog_failed(&err);
    prog_error("%s: stopped after %" PRIu32
               " Newton steps: the best model so far, objective %.10g, gradient %.2g of that at 0; "
               "--start %s continues",
               values->output, work->report.n_steps, work->report.objective,
               work->report.gradient_norm / work->report.first_gradient_norm, values->output);
    return PROG_SIGNALLED + prog_stop_signal();
}

static void tell_step(void *user, const thr_rank_step *step) {
    const char *file = user;

    prog_detail("%s: step %" PRIu32 ", objective %.10g, gradient %.2g of that at 0, %" PRIu64 " products, %s", file,
                step->step, step->objective, step->gradient_norm / step->first_gradient_norm, step->n_products,
                prog_time(step->seconds).text);
}

static int train(const program *run, const train_values *values, training *work) {
    thr_rank_options taken = rank_options(values, work);
    thr_error err = {.status = THR_OK};

    taken.on_step = tell_step;
    taken.on_step_user = (void *)(uintptr_t)values->file;
    const thr_status status = thr_rank_train(run->context, work->ranking, &taken, &work->model, &work->report, &err);

    if (status == THR_ECANCELED && work->model != NULL && prog_stop_signal() != 0)
        return save_stopped(values, work);
    if (status != THR_OK)
        return prog_failed_at(values->file, &err);
    if (thr_rank_model_save(work->model, values->output, &err) != THR_OK)
        return prog_failed(&err);
    prog_progress_end();
    return PROG_DONE;
}

/* ------------------------------------------------------------------------------------------------ report */

static void print_report(const train_values *values, const training *work) {
    const thr_rank_report *report = &work->report;

    prog_note("%s: objective %.10g with C %g, %.2f %% of %s in order; %s, %s, %s after reading for %s", values->output,
              report->objective, work->path.costs[work->path.best], 100 * report->pairwise_accuracy,
              prog_counted(report->n_pairs, "pair").text, prog_counted(report->n_steps, "Newton step").text,
              prog_counted(report->n_products, "product").text, prog_time(report->seconds).text,
              prog_time(work->read_seconds).text);
    if (!report->converged)
        prog_note("%s: the gradient is %.2g of that at 0, above --epsilon: %s", values->output,
                  report->gradient_norm / report->first_gradient_norm,
                  report->n_steps == values->steps ? "raise --steps" : "double precision allows no further step");
}

static void print_json(const train_values *values, const training *work, const char *device) {
    const thr_rank_report *report = &work->report;
    const thr_ranking_view view = thr_ranking_get_view(work->ranking);
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "model", values->output);
    PROG_JSON_COUNTS(&json, {"n_rows", view.n_rows}, {"n_queries", view.n_queries}, {"n_features", view.n_features},
                     {"n_pairs", report->n_pairs});
    PROG_JSON_REALS(&json, {"c", work->path.costs[work->path.best]}, {"objective", report->objective},
                    {"gradient_norm", report->gradient_norm}, {"first_gradient_norm", report->first_gradient_norm});
    prog_json_key_bool(&json, "converged", report->converged);
    prog_json_key_count(&json, "n_steps", report->n_steps);
    prog_json_key_count(&json, "n_products", report->n_products);
    PROG_JSON_REALS(&json, {"pairwise_accuracy", report->pairwise_accuracy}, {"read_s", work->read_seconds},
                    {"train_s", report->seconds});
    prog_json_key_text(&json, "device", device);
    if (work->path.judged) {
        thr_json_put_key(&json, "folds");
        thr_json_open(&json, '[');
        for (size_t i = 0; i < work->path.n; i++) {
            thr_json_open(&json, '{');
            prog_json_key_real(&json, "c", work->path.costs[i]);
            prog_json_key_real(&json, "pairwise_accuracy", work->path.accuracies[i]);
            thr_json_close(&json, '}');
        }
        thr_json_close(&json, ']');
    }
    prog_json_end_object(&json);
}

static int run_train(program *run, const void *all_values) {
    const train_values *values = all_values;
    training work = {.read_seconds = 0};
    int rc = read_costs(run, values, &work.path);

    if (rc == PROG_DONE)
        rc = read_files(run, values, &work);
    if (rc == PROG_DONE)
        rc = read_weights(run, values, &work);
    if (rc == PROG_DONE && values->folds != 0)
        rc = judge_costs(run, values, &work);
    if (rc == PROG_DONE)
        rc = train(run, values, &work);
    if (rc == PROG_DONE) {
        const prog_device device = prog_first_device(run);

        print_report(values, &work);
        prog_print_device("the model was trained", device.text);
        if (run->globals.json)
            print_json(values, &work, device.text);
    }
    thr_rank_model_free(work.model);
    thr_rank_model_free(work.start);
    thr_ranking_free(work.ranking);
    free(work.weights);
    free(work.query_weights);
    return rc;
}

const prog_command prog_rank_train = {
    PROG_COMMAND("rank", "train", train_values, arguments, options, run_train),
    .summary = "train a model that ranks rows of features, on labelled queries",
    .text = "Trains a linear RankSVM: weights of features whose scores order the rows of a query. It "
            "minimises half the squared norm of the weights, plus C times the squared hinge loss "
            "max(0, 1 - difference of scores)^2 of each pair of rows of a query with different "
            "labels. Labels are any numbers; larger is better.\n\nThe same rows and options give the "
            "same model, to the bit, with any number of threads and on a GPU (--device). "
            "-v prints every step. SIGINT writes the best model so far. Values "
            "are read as float32; sums are double.",
    .examples = PROG_EXAMPLES("thresher rank train train.svm.xz -o ranker.safetensors",
                              "thresher rank train train.svm -c 0.001,0.01,0.1,1 --folds 5 -o ranker.model"),
};

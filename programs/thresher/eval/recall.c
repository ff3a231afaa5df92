/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recall.c - `eval recall TRUTH RESULT -k N`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/endings.h"
#include "input/ids.h"
#include "cli/json.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct recall_values {
    const char *truth;
    const char *result;
    uint64_t k;
    const char *distances;
} recall_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("TRUTH", PROG_NAMES_FILE, offsetof(recall_values, truth),
                   "the true ids, nearest first: .ivecs .ibin .npy .hdf5:neighbors .jsonl")},
    {PROG_REQUIRED("RESULT", PROG_NAMES_FILE, offsetof(recall_values, result),
                   "the ids that were found, in the same formats")},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_K_OPTION(offsetof(recall_values, k), "ids of every row that count")},
    {PROG_FILE_OPTION("truth-distances", offsetof(recall_values, distances),
                      "distances of the true ids, in the shape of TRUTH, to count ties (default: those in "
                      "TRUTH, if it is .ibin with distances)")},
    PROG_OPTIONS_END,
};

/* ---------------------------------------------------------------------------------------------- scores of the truth */

/* thr_recall needs scores of which larger is better: negate distances, which ascend along a row; keep similarities. */
static int orient(prog_scores *scores, const char *path) {
    bool rises = false;
    bool falls = false;
    uint64_t n = scores->n_rows * scores->n_columns;

    for (uint64_t i = 1; i < n; i++) {
        if (i % scores->n_columns == 0)
            continue;
        rises = rises || scores->scores[i] > scores->scores[i - 1];
        falls = falls || scores->scores[i] < scores->scores[i - 1];
    }
    if (rises && falls) {
        prog_error("%s: some rows ascend and some descend; order distances nearest first", path);
        return PROG_FAILED;
    }
    for (uint64_t i = 0; rises && i < n; i++)
        scores->scores[i] = -scores->scores[i];
    return PROG_DONE;
}

/* Read distances from --truth-distances, or from the second half of TRUTH if it has one; else scores stays empty. */
static int read_distances(prog_scores *scores, program *run, const recall_values *values, const prog_ids *truth) {
    char *inside = NULL;
    const char *path = values->distances;
    int rc;

    if (path == NULL && !prog_ends_with(values->truth, ".ibin"))
        return PROG_DONE;
    if (path == NULL) {
        size_t size = strlen(values->truth) + sizeof ":distances";

        inside = malloc(size);
        if (inside == NULL)
            return prog_no_memory();
        (void)snprintf(inside, size, "%s:distances", values->truth);
        path = inside;
    }
    rc = prog_scores_read(scores, run->context, path, inside != NULL);
    if (rc == PROG_DONE && scores->scores != NULL &&
        (scores->n_rows != truth->n_rows || scores->n_columns != truth->n_columns)) {
        prog_error("%s is %" PRIu64 " x %" PRIu64 ", but %s is %" PRIu64 " x %" PRIu64 "; every id needs a distance",
                   path, scores->n_rows, scores->n_columns, values->truth, truth->n_rows, truth->n_columns);
        rc = PROG_FAILED;
    }
    if (rc == PROG_DONE && scores->scores != NULL)
        rc = orient(scores, path);
    free(inside);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ recall */

static int check_shapes(const recall_values *values, const prog_ids *truth, const prog_ids *result) {
    if (truth->n_rows == 0 || result->n_rows == 0) {
        prog_error("%s has no rows", truth->n_rows == 0 ? values->truth : values->result);
        return PROG_FAILED;
    }
    if (truth->n_rows != result->n_rows) {
        prog_error("%s has %s rows, %s has %s; they must answer the same queries", values->truth,
                   prog_exact(truth->n_rows).text, values->result, prog_exact(result->n_rows).text);
        return PROG_FAILED;
    }
    if (truth->n_columns < values->k) {
        prog_error("%s has %" PRIu64 " ids per row, too few for -k %" PRIu64 "; use -k %" PRIu64 " or less",
                   values->truth, truth->n_columns, values->k, truth->n_columns);
        return PROG_FAILED;
    }
    if (result->n_columns < values->k)
        prog_note("%s has only %" PRIu64 " ids per row: the other %" PRIu64 " count as not found", values->result,
                  result->n_columns, values->k - result->n_columns);
    return PROG_DONE;
}

/* Give every row k columns; the new ones hold no id. */
static int widen(prog_ids *ids, uint64_t k) {
    uint64_t *wide;

    if (ids->n_columns >= k)
        return PROG_DONE;
    if (k > SIZE_MAX / sizeof *wide / ids->n_rows)
        return prog_no_memory();
    wide = malloc((size_t)(k * ids->n_rows) * sizeof *wide);
    if (wide == NULL)
        return prog_no_memory();
    for (uint64_t row = 0; row < ids->n_rows; row++)
        for (uint64_t i = 0; i < k; i++)
            wide[row * k + i] = i < ids->n_columns ? ids->ids[row * ids->n_columns + i] : THR_NO_ID;
    free(ids->ids);
    ids->ids = wide;
    ids->n_columns = k;
    return PROG_DONE;
}

static void print(const program *run, const recall_values *values, uint64_t n_queries, bool ties, double recall) {
    char key[48];
    if (!run->globals.json) {
        (void)printf("recall@%" PRIu64 "  %.4f  over %s%s\n", values->k, recall, prog_counted(n_queries, "query").text,
                     ties ? ", ties counted" : "");
        return;
    }
    (void)snprintf(key, sizeof key, "recall_at_%" PRIu64, values->k);

    prog_json json = prog_json_object();

    prog_json_key_real(&json, key, recall);
    prog_json_key_count(&json, "k", values->k);
    prog_json_key_count(&json, "n_queries", n_queries);
    prog_json_key_bool(&json, "ties_counted", ties);
    prog_json_end_object(&json);
}

static int run_recall(program *run, const void *all_values) {
    const recall_values *values = all_values;
    thr_error err = {.status = THR_OK};
    prog_ids truth = {.ids = NULL};
    prog_ids result = {.ids = NULL};
    prog_scores scores = {.scores = NULL};
    double recall = 0.0;
    int rc = prog_ids_read(&truth, run->context, values->truth);

    if (rc == PROG_DONE)
        rc = prog_ids_read(&result, run->context, values->result);
    if (rc == PROG_DONE)
        rc = check_shapes(values, &truth, &result);
    if (rc == PROG_DONE)
        rc = widen(&result, values->k);
    if (rc == PROG_DONE)
        rc = read_distances(&scores, run, values, &truth);
    if (rc == PROG_DONE) {
        const thr_recall_rows right = {truth.ids, scores.scores, (size_t)truth.n_columns};
        const thr_recall_rows found = {result.ids, NULL, (size_t)result.n_columns};
        if (thr_recall(&right, &found, (size_t)truth.n_rows, (size_t)values->k, &recall, &err) != THR_OK)
            rc = prog_failed(&err);
    }
    if (rc == PROG_DONE)
        print(run, values, truth.n_rows, scores.scores != NULL, recall);
    prog_ids_free(&truth);
    prog_ids_free(&result);
    prog_scores_free(&scores);
    return rc;
}

const prog_command prog_eval_recall = {
    PROG_COMMAND("eval", "recall", recall_values, arguments, options, run_recall),
    .summary = "measure the share of the true nearest items that was found",
    .text = "recall@k is the share of the first k true ids that are among the first k ids found, "
            "mean over queries. If distances of the true ids are known, an id that is as near as the "
            "k-th true one counts as found too.",
    .examples = PROG_EXAMPLES("thresher eval recall truth.ivecs result.ivecs -k 10",
                              "thresher eval recall groundtruth.ibin result.jsonl -k 10 --json",
                              "thresher eval recall ids.npy result.ivecs -k 9 --truth-distances distances.npy"),
};

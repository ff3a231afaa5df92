/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auc.c - `eval auc SCORES`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/endings.h"
#include "input/input.h"
#include "cli/json.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct auc_values {
    const char *scores;
} auc_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("SCORES", PROG_NAMES_FILE, offsetof(auc_values, scores),
                   "one score and one label, 0 or 1, per line: the first two columns of .tsv or .csv, others as "
                   "in X.tsv:3,5 or X.csv:score,label, or .txt with a blank between")},
    {.name = NULL},
};

static const prog_option options[] = {PROG_OPTIONS_END};

/* What has been read so far. */
typedef struct judged_scores {
    float *scores;
    uint8_t *labels;
    size_t n, room;
    size_t n_positives;
} judged_scores;

/* A table without columns in its name: its first two. Other names unchanged; NULL without memory. */
static char *name_columns(const char *path) {
    const size_t size = strlen(path) + sizeof ":1,2";
    char *name = malloc(size);

    if (name != NULL)
        (void)snprintf(name, size, "%s%s", path, prog_is_table(path) ? ":1,2" : "");
    return name;
}

/* A number, blanks, and 0 or 1. */
static bool read_line(const char *line, float *score, uint8_t *label) {
    char *end = NULL;
    const char *at = line + strspn(line, " \t");

    *score = strtof(at, &end);
    if (end == at || (*end != ' ' && *end != '\t'))
        return false;
    at = end + strspn(end, " \t");
    if (*at != '0' && *at != '1')
        return false;
    *label = *at == '1';
    at++;
    return at[strspn(at, " \t")] == '\0';
}

/* Room for more; false when there is no memory. */
static bool grow(judged_scores *judged) {
    const size_t room = judged->room + judged->room / 2 + 1024;
    float *scores = realloc(judged->scores, room * sizeof *scores);
    uint8_t *labels;

    if (scores == NULL)
        return false;
    judged->scores = scores;
    labels = realloc(judged->labels, room);
    if (labels == NULL)
        return false;
    judged->labels = labels;
    judged->room = room;
    return true;
}

static int read_lines(judged_scores *judged, thr_reader *reader, const char *path) {
    const char *line;
    size_t length;
    int rc = PROG_DONE;

    while (prog_input_next_line(reader, &line, &length, &rc)) {
        if (judged->n == judged->room && !grow(judged))
            return prog_no_memory();
        if (!read_line(line, &judged->scores[judged->n], &judged->labels[judged->n])) {
            prog_error("%s: line %zu is not a score and a label: \"%.60s\"; a line is a number and then 0 or 1%s", path,
                       judged->n + 1, line,
                       judged->n == 0 ? "; where the first row names columns, give their names: FILE.csv:score,label"
                                      : "");
            return PROG_FAILED;
        }
        judged->n_positives += judged->labels[judged->n];
        judged->n++;
    }
    return rc;
}

static void print(const program *run, const judged_scores *judged, double auc) {
    if (!run->globals.json) {
        (void)printf("AUC  %.6f  over %s, %s of them of label 1\n", auc, prog_counted(judged->n, "score").text,
                     prog_exact(judged->n_positives).text);
        return;
    }

    prog_json json = prog_json_object();

    prog_json_key_real(&json, "auc", auc);
    PROG_JSON_COUNTS(&json, {"n_scores", judged->n}, {"n_positives", judged->n_positives},
                     {"n_negatives", judged->n - judged->n_positives});
    prog_json_end_object(&json);
}

static int run_auc(program *run, const void *all_values) {
    const auc_values *values = all_values;
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    judged_scores judged = {.n = 0};
    double auc = 0.0;
    int rc = PROG_DONE;
    char *name = name_columns(values->scores);

    if (name == NULL)
        return prog_no_memory();
    if (thr_reader_open(run->context, name, &reader, &err) != THR_OK)
        rc = prog_failed(&err);
    if (rc == PROG_DONE)
        rc = read_lines(&judged, reader, values->scores);
    if (rc == PROG_DONE && thr_auc(judged.scores, judged.labels, judged.n, &auc, &err) != THR_OK)
        rc = prog_failed_at(values->scores, &err);
    if (rc == PROG_DONE)
        print(run, &judged, auc);
    thr_reader_free(reader);
    free(name);
    free(judged.scores);
    free(judged.labels);
    return rc;
}

const prog_command prog_eval_auc = {
    PROG_COMMAND("eval", "auc", auc_values, arguments, options, run_auc),
    .summary = "measure how well scores separate positives from negatives",
    .text = "The area under the ROC curve: the probability that a random positive (label 1) scores "
            "higher than a random negative (label 0); equal scores count half. Scores are read as "
            "float32.",
    .examples = PROG_EXAMPLES("thresher eval auc scores.tsv", "thresher eval auc judged.csv.gz:score,clicked --json",
                              "paste scores.txt labels.txt | thresher eval auc -.tsv"),
};

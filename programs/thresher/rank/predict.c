/* SPDX-License-Identifier: Apache-2.0 */
/*
 * predict.c - `rank predict MODEL FILE`: one score per row, or a ranked run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/endings.h"
#include "cli/json.h"
#include "cli/output.h"
#include "rank/files.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct predict_values {
    const char *model, *file, *output;
    prog_rank_values reading;
} predict_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("MODEL", PROG_NAMES_FILE, offsetof(predict_values, model),
                   "a model that thresher rank train or LIBLINEAR wrote")},
    {PROG_REQUIRED("FILE", PROG_NAMES_FILE, offsetof(predict_values, file),
                   "rows to score, as in rank train: .svm, also .gz and .xz; labels are ignored")},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_TEXT_OPTION("output", "FILE", offsetof(predict_values, output),
                      "write a run if the name ends with .trec, else one score per line (default: standard output)"),
     .letter = 'o', .names = PROG_NAMES_OUTPUT},
    PROG_RANK_OPTIONS(predict_values, reading),
    PROG_OPTIONS_END,
};

typedef struct prediction {
    prog_scored rows;
    thr_ranking_view view;
    uint64_t *places; /* of rows in file order; or of a query's rows, best first */
} prediction;

/* ------------------------------------------------------------------------------------------------ outputs */

static void put_lines(FILE *file, const prediction *p, bool as_json) {
    uint64_t *places = p->places;

    for (uint64_t i = 0; i < p->view.n_rows; i++)
        places[p->view.rows != NULL ? p->view.rows[i] : i] = i;
    if (!as_json) {
        for (uint64_t r = 0; r < p->view.n_rows; r++)
            (void)fprintf(file, "%.17g\n", p->rows.scores[places[r]]);
        return;
    }
    for (uint64_t r = 0; r < p->view.n_rows; r++) {
        prog_json json = prog_json_to(file);

        thr_json_open(&json, '{');
        prog_json_key_count(&json, "row", r);
        prog_json_key_real(&json, "score", p->rows.scores[places[r]]);
        prog_json_end_object(&json);
    }
}

static const double *sorted_scores; /* qsort has no context argument */

static int by_score(const void *a, const void *b) {
    const uint64_t i = *(const uint64_t *)a, j = *(const uint64_t *)b;

    if (sorted_scores[i] != sorted_scores[j])
        return sorted_scores[i] > sorted_scores[j] ? -1 : 1;
    return i < j ? -1 : 1;
}

/* The name of a row in its comment: the word after "docid =", as in LETOR, else the first word. */
static const char *name_in(const char *comment, size_t length, size_t *name_length) {
    static const char key[] = "docid", blanks[] = " \t=";
    const char *end = comment + length;

    if (length > sizeof key && memcmp(comment, key, sizeof key - 1) == 0 && strchr(blanks, comment[sizeof key - 1]))
        for (comment += sizeof key - 1; comment < end && strchr(blanks, *comment) != NULL; comment++)
            ;
    *name_length = 0;
    while (comment + *name_length < end && comment[*name_length] != ' ' && comment[*name_length] != '\t')
        ++*name_length;
    return comment;
}

/* query Q0 document rank score thresher; a row without a name is called by its number, from 0. */
static void put_run(FILE *file, const prediction *p) {
    for (uint64_t q = 0; q < p->view.n_queries; q++) {
        const uint64_t first = p->view.offsets[q], n = p->view.offsets[q + 1] - first;

        for (uint64_t i = 0; i < n; i++)
            p->places[i] = first + i;
        sorted_scores = p->rows.scores;
        qsort(p->places, (size_t)n, sizeof *p->places, by_score);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t place = p->places[i];
            size_t length = 0;
            const char *comment = thr_ranking_comment(p->rows.ranking, place, &length);
            const char *name = comment != NULL ? name_in(comment, length, &length) : NULL;

            (void)fprintf(file, "%" PRIu64 " Q0 ", p->view.queries[q]);
            if (name != NULL && length > 0)
                (void)fwrite(name, 1, length, file);
            else
                (void)fprintf(file, "%" PRIu64, p->view.rows != NULL ? p->view.rows[place] : place);
            (void)fprintf(file, " %" PRIu64 " %.17g thresher\n", i + 1, p->rows.scores[place]);
        }
    }
}

/* ------------------------------------------------------------------------------------------------ where to */

static int write_out(const program *run, const char *path, const prediction *p) {
    const bool as_run = path != NULL && prog_ends_with(path, ".trec");
    prog_out out;
    int rc = prog_out_open(&out, run->context, as_run && strcmp(path, "-.trec") == 0 ? NULL : path);

    if (rc == PROG_DONE && as_run)
        put_run(out.file, p);
    else if (rc == PROG_DONE)
        put_lines(out.file, p, run->globals.json);
    return prog_out_close(&out, rc);
}

static int run_predict(program *run, const void *all_values) {
    const predict_values *values = all_values;
    prediction p = {.places = NULL};
    int rc = prog_rank_check_output(values->output, values->file, &values->reading);

    if (rc == PROG_DONE)
        rc = prog_rank_score(run, values->model, values->file, &values->reading, true, &p.rows);
    if (rc == PROG_DONE) {
        p.view = thr_ranking_get_view(p.rows.ranking);
        p.places = (uint64_t *)(void *)prog_rank_numbers(p.view.n_rows);
        rc = p.places == NULL ? PROG_FAILED : write_out(run, values->output, &p);
    }
    free(p.places);
    prog_rank_scored_free(&p.rows);
    return rc;
}

const prog_command prog_rank_predict = {
    PROG_COMMAND("rank", "predict", predict_values, arguments, options, run_predict),
    .summary = "score rows of features by a model",
    .text = "Writes one score per line, in the order of FILE's rows, with enough digits to restore every "
            "bit. A run (-o X.trec) lists the rows of each query by descending score, equal ones in "
            "FILE's order. A row's name is the comment's \"docid = NAME\" or first word, else its "
            "number from 0. Features of the model that FILE lacks are 0.",
    .examples = PROG_EXAMPLES("thresher rank predict ranker.safetensors test.svm -o scores.txt",
                              "thresher rank predict ranker.model test.svm.xz -o run.trec"),
};

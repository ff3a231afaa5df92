/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/output.h"
#include "input/endings.h"
#include "cli/messages.h"

/* The name of FILE.query, without FILE's .gz or .xz. The library reads the first that exists. */
static int check_side(const char *output, const char *path) {
    static const char *const endings[] = {".query", ".query.gz", ".query.xz"};
    size_t length = strlen(path);
    char name[4096];
    struct stat status;
    thr_error err = {.status = THR_OK};

    if (length > 3 && (strcmp(path + length - 3, ".gz") == 0 || strcmp(path + length - 3, ".xz") == 0))
        length -= 3;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        (void)snprintf(name, sizeof name, "%.*s%s", (int)length, path, endings[i]);
        if (stat(name, &status) == 0 && S_ISREG(status.st_mode))
            return thr_output_check_input(output, name, &err) == THR_OK ? PROG_DONE : prog_failed(&err);
    }
    return PROG_DONE;
}

int prog_rank_check_output(const char *output, const char *path, const prog_rank_values *values) {
    char cache[4096];

    if (output == NULL || strcmp(path, "-") == 0 || strncmp(path, "-.", 2) == 0)
        return PROG_DONE;
    (void)snprintf(cache, sizeof cache, "%s.thr-cache", path);
    if (values->cache && prog_is_one_file(output, cache)) {
        prog_error("%s: is the cache of %s, which --cache makes: choose another name for the output", output, path);
        return PROG_FAILED;
    }
    return check_side(output, path);
}

static int failed_to_open(const char *path, const thr_error *err) {
    if (prog_has_bytes(path, 0, "\x93NUMPY")) {
        prog_error("%s: is a NumPy array: give labelled rows as SVMlight text, such as '2 qid:1 1:0.5 2:3' (.svm)",
                   path);
        return PROG_FAILED;
    }
    if (err->status != THR_EFORMAT || strstr(err->text, "are ranked within queries") == NULL)
        return prog_failed(err);
    prog_error("%s (--one-query treats all rows as one query)", err->text);
    return PROG_FAILED;
}

int prog_rank_open(program *run, const char *path, const prog_rank_values *values, bool comments, thr_ranking **ranking,
                   double *seconds) {
    const double start = prog_seconds();
    thr_ranking_options options = {0};
    thr_error err = {.status = THR_OK};

    options.without_queries = values->one_query;
    options.without_comments = !comments;
    options.cache = values->cache;
    if (thr_ranking_open(run->context, path, &options, ranking, &err) != THR_OK)
        return failed_to_open(path, &err);
    *seconds = prog_seconds() - start;
    prog_progress_end();
    prog_rank_tell_cache(*ranking);
    return PROG_DONE;
}

void prog_rank_tell_cache(const thr_ranking *ranking) {
    thr_error err = {.status = THR_OK};

    if (thr_ranking_cache_status(ranking, &err) != THR_OK)
        prog_note("no cache was written: %s", err.text);
}

double *prog_rank_numbers(uint64_t n) {
    double *numbers = n <= SIZE_MAX / sizeof *numbers ? malloc((size_t)n * sizeof *numbers) : NULL;

    if (numbers == NULL)
        (void)prog_no_memory();
    return numbers;
}

static void tell_width(const char *path, const thr_ranking *ranking, const char *model_path,
                       const thr_rank_model *model) {
    const thr_ranking_view view = thr_ranking_get_view(ranking);
    const uint32_t n = view.n_features;

    if (n < thr_rank_model_n_features(model) && view.n_rows > 0)
        prog_note("%s has %s, %s %" PRIu32 ": those that are not there count as 0", path,
                  prog_counted(n, "feature").text, model_path, thr_rank_model_n_features(model));
}

int prog_rank_score(program *run, const char *model_path, const char *path, const prog_rank_values *values,
                    bool comments, prog_scored *scored) {
    thr_rank_model *model = NULL;
    thr_error err = {.status = THR_OK};
    double seconds = 0;
    int rc = PROG_DONE;

    if (thr_rank_model_open(run->context, model_path, &model, &err) != THR_OK)
        return prog_failed(&err);
    rc = prog_rank_open(run, path, values, comments, &scored->ranking, &seconds);
    if (rc == PROG_DONE) {
        scored->scores = prog_rank_numbers(thr_ranking_get_view(scored->ranking).n_rows);
        if (scored->scores == NULL)
            rc = PROG_FAILED;
        else if (thr_rank_model_predict(model, scored->ranking, scored->scores, &err) != THR_OK)
            rc = prog_failed_at(path, &err);
    }
    if (rc == PROG_DONE)
        tell_width(path, scored->ranking, model_path, model);
    thr_rank_model_free(model);
    return rc;
}

void prog_rank_scored_free(prog_scored *scored) {
    free(scored->scores);
    thr_ranking_free(scored->ranking);
}

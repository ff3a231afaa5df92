/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_files.h"

#include <inttypes.h>
#include <stdlib.h>

#include "talk.h"

int prog_rank_open(program *run, const char *path, const prog_rank_values *values, bool comments, thr_ranking **ranking,
                   double *seconds) {
    const double start = prog_seconds();
    thr_ranking_options options;
    thr_error err = {.status = THR_OK};

    thr_ranking_options_init(&options);
    options.without_queries = values->one_query;
    options.without_comments = !comments;
    options.cache = values->cache;
    if (thr_ranking_open(run->context, path, &options, ranking, &err) != THR_OK)
        return prog_failed(&err);
    *seconds = prog_seconds() - start;
    prog_progress_end();
    return PROG_DONE;
}

double *prog_rank_numbers(uint64_t n) {
    double *numbers = n <= SIZE_MAX / sizeof *numbers ? malloc((size_t)n * sizeof *numbers) : NULL;

    if (numbers == NULL)
        (void)prog_no_memory();
    return numbers;
}

void prog_rank_tell_width(const char *path, const thr_ranking *ranking, const char *model_path,
                          const thr_rank_model *model) {
    const uint32_t n = thr_ranking_get_view(ranking).n_features;

    if (n < thr_rank_model_n_features(model))
        prog_note("%s has %" PRIu32 " features, %s %" PRIu32 ": those that are not there count as 0", path, n,
                  model_path, thr_rank_model_n_features(model));
}

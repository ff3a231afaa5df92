/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune.c - `index tune DIR [QUERIES]`.
 */
#include <stdio.h>

#include "head/input.h"
#include "index/collection.h"
#include "cli/json.h"
#include "output/plain.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct tune_values {
    const char *dir;
    const char *queries;
    uint64_t most;
} tune_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("DIR", PROG_NAMES_DIR, offsetof(tune_values, dir), "an index")},
    {PROG_ARGUMENT("QUERIES", PROG_NAMES_FILE, offsetof(tune_values, queries),
                   "a sample of expected queries, in any format that thresher index build reads; without "
                   "it, items of the index")},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_COUNT_OPTION("most", "N", offsetof(tune_values, most), "use only the first N queries"), .least = 30,
     .fallback = "1000"},
    PROG_OPTIONS_END,
};

static void report(const program *run, const tune_values *values, const thr_index_info *info, double seconds) {
    if (run->globals.json) {
        prog_json json = prog_json_object();

        prog_json_key_text(&json, "index", values->dir);
        prog_json_key_count(&json, "n_queries", info->tuned_queries);
        prog_json_key_real(&json, "tune_s", seconds);
        prog_json_end_object(&json);
        return;
    }
    prog_line("%s is calibrated with %s %s, in %s", values->dir, prog_exact(info->tuned_queries).text,
              values->queries == NULL ? "of its items" : "queries", prog_time(seconds).text);
}

static int run_tune(program *run, const void *all_values) {
    const tune_values *values = all_values;
    thr_error err = {.status = THR_OK};
    thr_index *index = NULL;
    prog_floats given = {.items = NULL};
    int rc = PROG_DONE;

    if (prog_refuse_shard(run, values->dir))
        return PROG_FAILED;
    if (values->queries != NULL)
        rc = prog_floats_read(&given, run->context, values->queries, "queries", values->most);
    if (rc != PROG_DONE) {
        prog_floats_free(&given);
        return rc;
    }
    const thr_matrix queries = thr_matrix_f32(given.items, given.n_rows, given.n_dims);
    const double start = prog_seconds();
    if (thr_index_open(run->context, values->dir, &index, &err) != THR_OK ||
        thr_index_tune(index, values->queries == NULL ? NULL : &queries, &err) != THR_OK) {
        rc = prog_failed(&err);
    } else {
        const thr_index_info info = thr_index_get_info(index);
        report(run, values, &info, prog_seconds() - start);
    }
    thr_index_free(index);
    prog_floats_free(&given);
    return rc;
}

const prog_command prog_index_tune = {
    PROG_COMMAND("index", "tune", tune_values, arguments, options, run_tune),
    .summary = "calibrate an index for your own queries",
    .text =
        "Searches the index exactly for every query, and measures how many candidates each "
        "recall of thresher index search --recall requires. A build does the same with some of "
        "its items; queries that differ from the items are searched faster after a calibration by queries "
        "like them. The recall depends on the calibration only with features, without kept vectors, for flat cosine "
        "codes without a centre, and for codes of a model of vectors. An index of a model's codes without vectors "
        "cannot be "
        "calibrated: a search reads all of its codes.\n\nThe calibration is stored in the "
        "index. It takes at least 30 queries; a thousand are better.",
    .examples = PROG_EXAMPLES("thresher index tune words.index yesterday.npy", "thresher index tune words.index"),
};

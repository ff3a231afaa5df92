/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_index_tune.c - `index tune DIR [QUERIES]`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "json.h"
#include "plain.h"
#include "program.h"
#include "talk.h"

typedef struct tune_values {
    const char *dir;
    const char *queries;
    uint64_t most;
} tune_values;

static const prog_argument arguments[] = {
    {PROG_ARGUMENT("DIR", PROG_NAMES_DIR, offsetof(tune_values, dir), "an index"), .required = true},
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

/* Read the first rows of a file as floats; the caller frees them. */
static int read_queries(program *run, const tune_values *values, float **out, thr_matrix *queries) {
    thr_error err = {.status = THR_OK};
    thr_reader *reader = NULL;
    float *vectors = NULL;
    uint64_t n = 0;
    int rc = PROG_FAILED;

    if (thr_reader_open(run->context, values->queries, &reader, &err) != THR_OK)
        return prog_failed(&err);
    const thr_reader_shape shape = thr_reader_get_shape(reader);
    if (shape.dtype == THR_DTYPE_NONE) {
        prog_error("%s holds text; QUERIES must be rows of numbers", values->queries);
        goto out;
    }
    while (n < values->most) {
        thr_matrix rows;
        if (thr_reader_next(reader, values->most - n, &rows, &err) != THR_OK) {
            rc = prog_failed(&err);
            goto out;
        }
        if (rows.n_rows == 0)
            break;
        float *more = realloc(vectors, (size_t)(n + rows.n_rows) * shape.n_dims * sizeof *more);
        if (more == NULL) {
            prog_error("no memory for %" PRIu64 " queries: lower --most", n + rows.n_rows);
            goto out;
        }
        vectors = more;
        if (thr_matrix_to_f32(&rows, 0, rows.n_rows, vectors + n * shape.n_dims) != THR_OK) {
            prog_error("%s holds numbers that cannot be queries", values->queries);
            goto out;
        }
        n += rows.n_rows;
    }
    *queries = thr_matrix_f32(vectors, n, shape.n_dims);
    *out = vectors;
    vectors = NULL;
    rc = PROG_DONE;
out:
    free(vectors);
    thr_reader_free(reader);
    return rc;
}

static void report(const program *run, const tune_values *values, const thr_index_info *info, double seconds) {
    if (run->globals.json) {
        prog_json json = prog_json_to(stdout);
        prog_json_open(&json, '{');
        prog_json_key_text(&json, "index", values->dir);
        prog_json_key_count(&json, "n_queries", info->tuned_queries);
        prog_json_key_real(&json, "tune_s", seconds);
        prog_json_close(&json, '}');
        prog_json_end(&json);
        return;
    }
    prog_line("%s is calibrated with %s %s, in %s", values->dir, prog_exact(info->tuned_queries).text,
              values->queries == NULL ? "of its items" : "queries", prog_time(seconds).text);
}

static int run_tune(program *run, const void *all_values) {
    const tune_values *values = all_values;
    thr_error err = {.status = THR_OK};
    thr_index *index = NULL;
    thr_matrix queries;
    float *vectors = NULL;
    int rc = PROG_DONE;

    if (values->queries != NULL && (rc = read_queries(run, values, &vectors, &queries)) != PROG_DONE)
        return rc;
    const double start = prog_seconds();
    if (thr_index_open(run->context, values->dir, &index, &err) != THR_OK ||
        thr_index_tune(index, values->queries == NULL ? NULL : &queries, &err) != THR_OK) {
        rc = prog_failed(&err);
    } else {
        const thr_index_info info = thr_index_get_info(index);
        report(run, values, &info, prog_seconds() - start);
    }
    thr_index_free(index);
    free(vectors);
    return rc;
}

static const char *const examples[] = {"thresher index tune words.index yesterday.npy",
                                       "thresher index tune words.index", NULL};

const prog_command prog_index_tune = {
    .noun = "index",
    .verb = "tune",
    .summary = "calibrate an index for your own queries",
    .text = "Searches the index exactly for every query, and measures how many candidates each "
            "recall of thresher index search --recall requires. A build does the same with some of "
            "its items; queries that differ from the items are searched faster after a calibration of their "
            "own. Their recall needs it only with features, without kept vectors, and for flat cosine codes "
            "without a centre.\n\nThe calibration is stored in the index. It takes at least 30 queries; a "
            "thousand are better.",
    .arguments = arguments,
    .options = PROG_OPTIONS(options),
    .values_size = sizeof(tune_values),
    .examples = examples,
    .run = run_tune,
};

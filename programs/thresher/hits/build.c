/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build.c - `hits build ITEM_FEATURES -o FILE`.
 */
#include <stdio.h>

#include "hits/weight_note.h"
#include "cli/json.h"
#include "output/plain.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct build_values {
    const char *table, *output, *model;
    size_t order;
    bool force;
} build_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("ITEM_FEATURES", PROG_NAMES_FILE, offsetof(build_values, table),
                   "one item per line, as 'a7<TAB>category=12 brand=7': its name or id, a tab, and features "
                   "separated by spaces: .tsv, also .gz and .xz")},
    {.name = NULL},
};

static const char *const orders[] = {"features", "rows", NULL};

static const prog_option options[] = {
    {PROG_NEW_FILE_OPTION("FILE", offsetof(build_values, output), "the file to write")},
    {PROG_CHOICE_OPTION("order", "features|rows", orders, offsetof(build_values, order),
                        "internal numbering of items: by frequent features, which makes lists shorter and "
                        "searches faster, or by rows. Ids and answers do not change"),
     .fallback = "features"},
    {PROG_FILE_OPTION("model", offsetof(build_values, model),
                      "the dual tower (thresher tower train --kind dual) that weighs the queries; queries "
                      "with the fingerprint of another model are refused")},
    {PROG_FORCE_OPTION(offsetof(build_values, force))},
    PROG_OPTIONS_END,
};

static int print_report(const program *run, const build_values *values, uint64_t n_repeated, double start) {
    thr_error err = {.status = THR_OK};
    thr_hits *hits = NULL;
    const double seconds = prog_seconds() - start;

    if (thr_hits_open(run->context, values->output, &hits, &err) != THR_OK)
        return prog_failed(&err);
    const thr_hits_info info = thr_hits_get_info(hits);
    const double bytes = info.n_postings > 0 ? (double)info.list_bytes / (double)info.n_postings : 0.0;
    if (n_repeated > 0)
        prog_note("%s repeated within an item, counted once", prog_counted(n_repeated, "feature").text);
    prog_hits_note_weighed(run, hits, 0, values->table);
    if (run->globals.json) {
        prog_json json = prog_json_object();

        prog_json_key_text(&json, "hits", values->output);
        PROG_JSON_COUNTS(&json, {"n_items", info.n_items}, {"n_features", info.n_features},
                         {"n_postings", info.n_postings}, {"n_repeated", n_repeated}, {"list_bytes", info.list_bytes});
        prog_json_key_real(&json, "bytes_per_posting", bytes);
        prog_json_key_count(&json, "file_bytes", info.file_bytes);
        prog_json_key_real(&json, "build_s", seconds);
        prog_json_end_object(&json);
    } else {
        prog_line("%s: %s, %s, %s of %.2f bytes, %s, in %s", values->output, prog_counted(info.n_items, "item").text,
                  prog_counted(info.n_features, "feature").text, prog_counted(info.n_postings, "posting").text, bytes,
                  prog_bytes((double)info.file_bytes).text, prog_time(seconds).text);
    }
    thr_hits_free(hits);
    return PROG_DONE;
}

static bool find_fingerprint(const program *run, const char *model, uint64_t *fingerprint, thr_error *err) {
    thr_dual *dual = NULL;

    if (thr_dual_open(run->context, model, &dual, err) != THR_OK)
        return false;
    *fingerprint = thr_dual_get_info(dual).fingerprint;
    thr_dual_free(dual);
    return true;
}

static int run_build(program *run, const void *all_values) {
    const build_values *values = all_values;
    const double start = prog_seconds();
    thr_error err = {.status = THR_OK};
    thr_hits_build_options build = {0};
    uint64_t n_repeated = 0;

    build.order = (thr_hits_order)values->order;
    build.replace = values->force;
    build.n_repeated = &n_repeated;
    if (values->model != NULL && !find_fingerprint(run, values->model, &build.model, &err))
        return prog_failed(&err);
    if (thr_hits_build_table(run->context, values->output, values->table, &build, &err) != THR_OK)
        return prog_failed_existing(&err, "add --force");
    prog_progress_end();
    return print_report(run, values, n_repeated, start);
}

const prog_command prog_hits_build = {
    PROG_COMMAND("hits", "build", build_values, arguments, options, run_build),
    .summary = "build posting lists of items' features",
    .text = "Builds for every feature a compressed list of the items that have it. Each container of 256 items is "
            "stored as 16-bit numbers, runs or a bitmap, whichever is searched fastest. Features are words such as "
            "category=12, or whole numbers throughout. Names that are all whole numbers become ids.\n\nThe "
            "file appears when it is complete. A build that fails or is stopped changes nothing.",
    .examples = PROG_EXAMPLES("thresher hits build ads.tsv -o ads.hits",
                              "thresher hits build ads.tsv.xz -o ads.hits --force --json",
                              "thresher hits build ads.tsv -o ads.hits --model ads.safetensors"),
};

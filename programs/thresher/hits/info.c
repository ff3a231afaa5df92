/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.c - `hits info FILE` and `hits verify FILE`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/endings.h"
#include "cli/json.h"
#include "output/plain.h"
#include "commands.h"
#include "info/verified.h"
#include "cli/messages.h"

PROG_PATH_ARGUMENT(arguments, "FILE", PROG_NAMES_FILE, "posting lists that thresher hits build wrote");

/* ------------------------------------------------------------------------------------------------ info */

bool prog_is_hits(const char *path) {
    return prog_has_bytes(path, 0, "THRHIT");
}

static double per_posting(const thr_hits_info *info) {
    return info->n_postings > 0 ? (double)info->list_bytes / (double)info->n_postings : 0.0;
}

static void print_json(const char *path, const thr_hits_info *info) {
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "hits", path);
    PROG_JSON_COUNTS(&json, {"n_items", info->n_items}, {"n_features", info->n_features},
                     {"n_postings", info->n_postings}, {"n_ids", info->n_ids}, {"n_runs", info->n_runs},
                     {"run_postings", info->n_postings - info->n_ids - info->bitmap_postings},
                     {"n_bitmaps", info->n_bitmaps}, {"bitmap_postings", info->bitmap_postings},
                     {"list_bytes", info->list_bytes});
    prog_json_key_real(&json, "bytes_per_posting", per_posting(info));
    prog_json_key_count(&json, "file_bytes", info->file_bytes);
    prog_json_key_text(&json, "order", info->order == THR_HITS_ORDER_FEATURES ? "features" : "rows");
    prog_json_key_bool(&json, "has_ids", info->has_ids);
    prog_json_key_bool(&json, "has_names", info->has_names);
    prog_json_key_bool(&json, "has_words", info->has_words);
    if (info->model != 0) {
        char model[17];

        (void)snprintf(model, sizeof model, "%016" PRIx64, info->model);
        prog_json_key_text(&json, "model", model);
    }
    prog_json_end_object(&json);
}

static double share(const thr_hits_info *info, uint64_t n_postings) {
    return info->n_postings > 0 ? 100.0 * (double)n_postings / (double)info->n_postings : 0.0;
}

static void print_text(const char *path, const thr_hits_info *info) {
    prog_line("posting lists   %s", path);
    (void)printf("items           %s\n", prog_exact(info->n_items).text);
    (void)printf("features        %s%s\n", prog_exact(info->n_features).text, info->has_words ? ", with words" : "");
    (void)printf("postings        %s, %.1f per item\n", prog_exact(info->n_postings).text,
                 (double)info->n_postings / (double)info->n_items);
    (void)printf("  as ids        %.0f %%\n", share(info, info->n_ids));
    (void)printf("  as runs       %.0f %%, in %s runs\n",
                 share(info, info->n_postings - info->n_ids - info->bitmap_postings), prog_exact(info->n_runs).text);
    (void)printf("  as bitmaps    %.0f %%, in %s containers of 256 items\n", share(info, info->bitmap_postings),
                 prog_exact(info->n_bitmaps).text);
    (void)printf("lists           %s, %.2f bytes per posting\n", prog_bytes((double)info->list_bytes).text,
                 per_posting(info));
    (void)printf("order           %s\n", info->order == THR_HITS_ORDER_FEATURES
                                             ? "items with the same frequent features are neighbours"
                                             : "as items were given");
    (void)printf("ids             %s\n", info->has_names ? "row numbers, with names"
                                         : info->has_ids ? "given ids"
                                                         : "row numbers");
    if (info->model != 0)
        (void)printf("queries         of the model %016" PRIx64 "\n", info->model);
    (void)printf("file            %s\n", prog_bytes((double)info->file_bytes).text);
}

/* Describe the file; the command verify reads every byte of it. */
int prog_print_hits(program *run, const char *path) {
    const bool verify = run->command == &prog_hits_verify;
    const double start = prog_seconds();
    thr_error err = {.status = THR_OK};
    thr_hits *hits = NULL;
    int rc = PROG_DONE;

    if (thr_hits_open(run->context, path, &hits, &err) != THR_OK || (verify && thr_hits_verify(hits, &err) != THR_OK)) {
        rc = prog_failed(&err);
        goto out;
    }
    const thr_hits_info info = thr_hits_get_info(hits);
    if (verify)
        prog_print_verified(run, "hits", path, info.file_bytes, start);
    else if (run->globals.json)
        print_json(path, &info);
    else
        print_text(path, &info);
out:
    thr_hits_free(hits);
    return rc;
}

static int run_either(program *run, const void *values) {
    return prog_print_hits(run, ((const prog_path_values *)values)->path);
}

const prog_command prog_hits_info = {
    PROG_COMMAND("hits", "info", prog_path_values, arguments, prog_no_options, run_either),
    .summary = "describe posting lists",
    .text = "Shows the numbers of items, features and postings, the forms in which their containers are "
            "stored, and their sizes.",
    .examples = PROG_EXAMPLES("thresher hits info ads.hits"),
};

/* ------------------------------------------------------------------------------------------------ verify */

const prog_command prog_hits_verify = {
    PROG_COMMAND("hits", "verify", prog_path_values, arguments, prog_no_options, run_either),
    .summary = "read every byte of posting lists and check it",
    .text = "Compares all checksums, then recomputes derived values. Exit code 1: the file is "
            "damaged; the message names the section.",
    .examples = PROG_EXAMPLES("thresher hits verify ads.hits"),
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.c - `head info FILE` and `head verify FILE`.
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

PROG_PATH_ARGUMENT(arguments, "FILE", PROG_NAMES_FILE, "a head that thresher head build wrote");

/* ------------------------------------------------------------------------------------------------ info */

bool prog_is_head(const char *path) {
    return prog_has_bytes(path, 0, "THRHEAD");
}

static void print_json(const char *path, const thr_head_info *info) {
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "head", path);
    prog_json_key_count(&json, "n_words", info->n_words);
    prog_json_key_count(&json, "n_dims", info->n_dims);
    prog_json_key_text(&json, "keep", thr_dtype_name(info->dtype));
    prog_json_key_bool(&json, "has_bias", info->has_bias);
    prog_json_key_bool(&json, "has_order", info->has_order);
    PROG_JSON_COUNTS(&json, {"bands", info->n_bands}, {"hashes", info->n_hashes}, {"places", info->n_places},
                     {"n_codes", info->n_codes}, {"weight_bytes", info->weight_bytes}, {"hash_bytes", info->hash_bytes},
                     {"planes", info->n_planes}, {"plane_bytes", info->plane_bytes}, {"file_bytes", info->file_bytes});
    prog_json_end_object(&json);
}

static void print_text(const char *path, const thr_head_info *info) {
    prog_line("head            %s", path);
    (void)printf("words           %s%s\n", prog_exact(info->n_words).text,
                 info->has_order ? ", with their order by frequency" : ", numbered by frequency");
    (void)printf("dimensions      %" PRIu32 "\n", info->n_dims);
    (void)printf("weights         %s, %s\n", thr_dtype_name(info->dtype), prog_bytes((double)info->weight_bytes).text);
    (void)printf("bias            %s\n", info->has_bias ? "yes" : "no");
    if (info->n_bands > 0) {
        (void)printf("hashes          %" PRIu32 " bands of %" PRIu32 ", of the largest of %" PRIu32 ", %s\n",
                     info->n_bands, info->n_hashes, info->n_places, prog_bytes((double)info->hash_bytes).text);
        (void)printf("codes           %s, of %.1f words each\n", prog_exact(info->n_codes).text,
                     (double)info->n_words * (double)info->n_bands / (double)(info->n_codes > 0 ? info->n_codes : 1));
    } else {
        (void)printf("hashes          none\n");
    }
    if (info->n_planes > 0)
        (void)printf("plane codes     %" PRIu32 " planes, %s\n", info->n_planes,
                     prog_bytes((double)info->plane_bytes).text);
    else
        (void)printf("plane codes     none\n");
    (void)printf("file            %s\n", prog_bytes((double)info->file_bytes).text);
}

/* Describe the file; the command verify reads every byte of it. */
int prog_print_head(program *run, const char *path) {
    const bool verify = run->command == &prog_head_verify;
    const double start = prog_seconds();
    thr_error err = {.status = THR_OK};
    thr_head *head = NULL;
    int rc = PROG_DONE;

    if (thr_head_open(run->context, path, &head, &err) != THR_OK || (verify && thr_head_verify(head, &err) != THR_OK)) {
        rc = prog_failed(&err);
        goto out;
    }
    const thr_head_info info = thr_head_get_info(head);
    if (verify)
        prog_print_verified(run, "head", path, info.file_bytes, start);
    else if (run->globals.json)
        print_json(path, &info);
    else
        print_text(path, &info);
out:
    thr_head_free(head);
    return rc;
}

static int run_either(program *run, const void *values) {
    return prog_print_head(run, ((const prog_path_values *)values)->path);
}

const prog_command prog_head_info = {
    PROG_COMMAND("head", "info", prog_path_values, arguments, prog_no_options, run_either),
    .summary = "describe a head",
    .text = "Shows words and dimensions, the type of the weights, the hashes and codes, and their "
            "sizes.",
    .examples = PROG_EXAMPLES("thresher head info model.head"),
};

/* ------------------------------------------------------------------------------------------------ verify */

const prog_command prog_head_verify = {
    PROG_COMMAND("head", "verify", prog_path_values, arguments, prog_no_options, run_either),
    .summary = "read every byte of a head and check it",
    .text = "Compares all checksums, then recomputes derived values. Exit code 1: the file is "
            "damaged; the message names the section.",
    .examples = PROG_EXAMPLES("thresher head verify model.head"),
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "tower/dual.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/json.h"
#include "output/plain.h"
#include "cli/messages.h"

int prog_probe_dual(program *run, const char *path, bool *is_dual) {
    thr_error err = {.status = THR_OK};

    return thr_dual_probe(run->context, path, is_dual, &err) == THR_OK ? PROG_DONE : prog_failed(&err);
}

/* ------------------------------------------------------------------------------------------------ eval */

static void print_quality(const program *run, const thr_dual_quality *quality) {
    if (run->globals.json) {
        prog_json json = prog_json_object();

        PROG_JSON_REALS(&json, {"gauc", quality->gauc}, {"recall_at_5", quality->recall_5},
                        {"recall_at_10", quality->recall_10}, {"value_recall_at_5", quality->value_recall_5},
                        {"value_recall_at_10", quality->value_recall_10});
        prog_json_key_count(&json, "n_requests", quality->n_requests);
        prog_json_key_count(&json, "n_ads", quality->n_ads);
        prog_json_end_object(&json);
        return;
    }
    (void)printf("GAUC %.4f of %s with %s\n", quality->gauc, prog_counted(quality->n_requests, "request").text,
                 prog_counted(quality->n_ads, "ad").text);
    (void)printf("recall@5 %.4f, recall@10 %.4f of the best ad\n", quality->recall_5, quality->recall_10);
    if (!isnan(quality->value_recall_5))
        (void)printf("recall@5 %.4f, recall@10 %.4f of the best ads' value\n", quality->value_recall_5,
                     quality->value_recall_10);
}

int prog_eval_dual(program *run, const char *model, const char *requests, const char *items) {
    thr_error err = {.status = THR_OK};
    thr_dual *dual = NULL;
    thr_dual_quality quality;
    int rc = PROG_DONE;

    if (thr_dual_open(run->context, model, &dual, &err) != THR_OK ||
        thr_dual_eval(dual, requests, items, &quality, &err) != THR_OK) {
        rc = prog_failed(&err);
    } else {
        prog_progress_end();
        print_quality(run, &quality);
    }
    thr_dual_free(dual);
    return rc;
}

/* ------------------------------------------------------------------------------------------------ info */

void prog_json_dual(prog_json *json, const thr_dual_info *info) {
    char fingerprint[17];

    (void)snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, info->fingerprint);
    prog_json_key_text(json, "kind", "dual");
    prog_json_key_count(json, "n_dims", info->config.n_dims);
    prog_json_key_count(json, "n_products", info->config.n_products);
    prog_json_key_bool(json, "hits", info->config.hits);
    PROG_JSON_COUNTS(json, {"n_embedding", info->config.n_embedding}, {"n_hidden", info->config.n_hidden},
                     {"n_user_words", info->n_user_words}, {"n_user_fields", info->n_user_fields},
                     {"n_item_words", info->n_item_words}, {"n_item_fields", info->n_item_fields},
                     {"n_parameters", info->n_parameters}, {"file_bytes", info->file_bytes});
    prog_json_key_text(json, "fingerprint", fingerprint);
}

static void print_info_json(const char *path, const thr_dual_info *info) {
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "file", path);
    prog_json_dual(&json, info);
    prog_json_end_object(&json);
}

prog_dual_text prog_dual_line(const thr_dual_info *info) {
    prog_dual_text line;

    (void)snprintf(line.text, sizeof line.text, "dual tower%s%s, vectors of %" PRIu32 " numbers",
                   info->config.n_products != 0 ? ", IPNN" : "", info->config.hits ? ", HitMatch" : "", info->n_vector);
    return line;
}

static void print_info_text(const char *path, const thr_dual_info *info) {
    prog_line("file        %s", path);
    (void)printf("model       %s\n", prog_dual_line(info).text);
    (void)printf("users       %s of %s\n", prog_counted(info->n_user_words, "word").text,
                 prog_counted(info->n_user_fields, "field").text);
    (void)printf("items       %s of %s\n", prog_counted(info->n_item_words, "word").text,
                 prog_counted(info->n_item_fields, "field").text);
    (void)printf("parameters  %s\n", prog_exact(info->n_parameters).text);
    (void)printf("fingerprint %016" PRIx64 "\n", info->fingerprint);
    (void)printf("size        %s\n", prog_bytes((double)info->file_bytes).text);
}

int prog_print_dual(program *run, const char *path) {
    thr_error err = {.status = THR_OK};
    thr_dual *dual = NULL;
    thr_dual_info info;

    if (thr_dual_open(run->context, path, &dual, &err) != THR_OK)
        return prog_failed(&err);
    info = thr_dual_get_info(dual);
    if (run->globals.json)
        print_info_json(path, &info);
    else
        print_info_text(path, &info);
    thr_dual_free(dual);
    return PROG_DONE;
}

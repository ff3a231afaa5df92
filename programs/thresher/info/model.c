/* SPDX-License-Identifier: Apache-2.0 */
#include "info/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tower/dual.h"
#include "input/endings.h"
#include "output/plain.h"
#include "info/rank_model.h"
#include "commands.h"
#include "cli/messages.h"

/* "3 bits" or "float32", what a side of a model gives a dimension */
typedef struct side_text {
    char text[24];
} side_text;

static side_text side_of(uint32_t bits) {
    side_text side;

    if (bits == THR_FLOAT_BITS)
        (void)snprintf(side.text, sizeof side.text, "float32");
    else
        (void)snprintf(side.text, sizeof side.text, "%" PRIu32 " %s", bits, bits == 1 ? "bit" : "bits");
    return side;
}

prog_model_text prog_model_line(const thr_tower *tower) {
    const thr_tower_info model = thr_tower_get_info(tower);
    prog_model_text line;

    const int n =
        snprintf(line.text, sizeof line.text, "queries of %s, items of %s, %" PRIu32 " dimensions, ",
                 side_of(model.config.query_bits).text, side_of(model.config.item_bits).text, model.config.n_dims);
    char *rest = line.text + n;
    const size_t size = sizeof line.text - (size_t)n;

    if (model.config.n_inputs != 0)
        (void)snprintf(rest, size, "of vectors of %" PRIu32, model.config.n_inputs);
    else
        (void)snprintf(rest, size, "%s letter trigrams", prog_exact(model.n_grams).text);
    return line;
}

void prog_json_model(prog_json *json, const thr_tower *tower) {
    const thr_tower_info model = thr_tower_get_info(tower);
    char fingerprint[17];

    (void)snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, model.fingerprint);
    PROG_JSON_COUNTS(json, {"query_bits", model.config.query_bits}, {"item_bits", model.config.item_bits},
                     {"n_dims", model.config.n_dims});
    if (model.config.n_inputs != 0)
        prog_json_key_count(json, "n_inputs", model.config.n_inputs);
    PROG_JSON_COUNTS(json, {"n_grams", model.n_grams}, {"n_parameters", model.n_parameters},
                     {"file_bytes", model.file_bytes});
    prog_json_key_text(json, "fingerprint", fingerprint);
}

bool prog_is_model(const char *path) {
    return prog_ends_with(path, ".safetensors") || prog_has_bytes(path, 8, "{\"__metadata__\"");
}

static void print_json(const char *path, const thr_tower *tower) {
    const thr_tower_config config = thr_tower_get_info(tower).config;
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "file", path);
    prog_json_key_text(&json, "kind", "model");
    prog_json_model(&json, tower);
    prog_json_key_count(&json, "n_pooled", config.n_pooled);
    prog_json_key_count(&json, "max_words", config.max_words);
    prog_json_key_bool(&json, "shared_words", config.shared_words);
    prog_json_key_bool(&json, "shared_steps", config.shared_steps);
    prog_json_key_bool(&json, "plain_weights", config.plain_weights);
    prog_json_end_object(&json);
}

static void print_text(const char *path, const thr_tower *tower) {
    const thr_tower_info model = thr_tower_get_info(tower);

    prog_line("file        %s", path);
    (void)printf("model       %s\n", prog_model_line(tower).text);
    if (model.config.n_inputs != 0) {
        (void)printf("vectors     of %" PRIu32 " dimensions\n", model.config.n_inputs);
    } else {
        (void)printf("texts       the first %s words, pooled in %" PRIu32 " dimensions\n",
                     prog_exact(model.config.max_words).text, model.config.n_pooled);
        (void)printf("tables      %s\n", model.config.shared_words ? "one, for queries and items" : "one a side");
    }
    if (model.config.shared_steps)
        (void)printf("steps       the same matrices in each\n");
    if (model.config.plain_weights)
        (void)printf("planes      of equal weight: no codes\n");
    (void)printf("parameters  %s\n", prog_exact(model.n_parameters).text);
    (void)printf("fingerprint %016" PRIx64 "\n", model.fingerprint);
    (void)printf("size        %s\n", prog_bytes((double)model.file_bytes).text);
}

int prog_print_model(program *run, const char *path) {
    thr_error err = {.status = THR_OK};
    thr_tower *tower = NULL;
    bool is_dual = false, is_ranking = false, is_translator = false;
    int rc = prog_print_rank_model(run, path, &is_ranking);

    if (rc != PROG_DONE || is_ranking)
        return rc;
    rc = prog_probe_dual(run, path, &is_dual);
    if (rc != PROG_DONE || is_dual)
        return rc != PROG_DONE ? rc : prog_print_dual(run, path);
    rc = prog_print_translator(run, path, &is_translator);
    if (rc != PROG_DONE || is_translator)
        return rc;
    if (thr_tower_open(run->context, path, &tower, &err) != THR_OK)
        return prog_failed(&err);
    if (run->globals.json)
        print_json(path, tower);
    else
        print_text(path, tower);
    thr_tower_free(tower);
    return PROG_DONE;
}

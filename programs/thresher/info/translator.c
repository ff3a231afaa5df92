/* SPDX-License-Identifier: Apache-2.0 */
/* translator.c - describe a translation model, for `info FILE`. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/json.h"
#include "output/plain.h"
#include "commands.h"
#include "cli/messages.h"

static void print_json(const char *path, const thr_translator_info *info) {
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "file", path);
    prog_json_key_text(&json, "kind", "translations");
    prog_json_key_text(&json, "source", info->source);
    prog_json_key_text(&json, "target", info->target);
    PROG_JSON_COUNTS(&json, {"n_source_words", info->n_source_words}, {"n_target_words", info->n_target_words},
                     {"n_source_dims", info->n_source_dims}, {"n_target_dims", info->n_target_dims},
                     {"n_layers", info->n_layers}, {"n_units", info->n_units}, {"n_dims", info->n_dims});
    prog_json_key_bool(&json, "has_attention", info->has_attention);
    prog_json_key_count(&json, "n_parameters", info->n_parameters);
    prog_json_end_object(&json);
}

static void print_text(const char *path, const thr_translator_info *info) {
    prog_line("file        %s", path);
    prog_line("model       translations from %s to %s, %s %" PRIu32 " %s of %" PRIu32 " LSTM units",
              info->source != NULL ? info->source : "?", info->target != NULL ? info->target : "?",
              info->has_attention ? "attention over" : "no attention,", info->n_layers,
              info->n_layers == 1 ? "layer" : "layers", info->n_units);
    (void)printf("source      %s words of %" PRIu32 " dimensions\n", prog_exact(info->n_source_words).text,
                 info->n_source_dims);
    (void)printf("target      %s words of %" PRIu32 " dimensions\n", prog_exact(info->n_target_words).text,
                 info->n_target_dims);
    (void)printf("head        of %" PRIu32 " dimensions, kept as %s\n", info->n_dims, thr_dtype_name(info->head.dtype));
    (void)printf("parameters  %s\n", prog_exact(info->n_parameters).text);
}

int prog_print_translator(program *run, const char *path, bool *is_one) {
    thr_error err = {.status = THR_OK};
    thr_translator *translator = NULL;

    if (thr_translator_probe(run->context, path, is_one, &err) != THR_OK)
        return prog_failed(&err);
    if (!*is_one)
        return PROG_DONE;
    if (thr_translator_open(run->context, path, NULL, &translator, &err) != THR_OK)
        return prog_failed(&err);
    const thr_translator_info info = thr_translator_get_info(translator);

    if (run->globals.json)
        print_json(path, &info);
    else
        print_text(path, &info);
    thr_translator_free(translator);
    return PROG_DONE;
}

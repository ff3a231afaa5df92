/* SPDX-License-Identifier: Apache-2.0 */
#include "index_out.h"

#include <inttypes.h>
#include <stdio.h>

#include "json.h"
#include "talk.h"

static void print_json(const char *dir, const thr_index_info *info, double seconds) {
    prog_json json = prog_json_to(stdout);
    double n_items = (double)info->n_items;

    prog_json_open(&json, '{');
    prog_json_key_text(&json, "index", dir);
    prog_json_key_count(&json, "n_items", info->n_items);
    prog_json_key_count(&json, "n_dims", info->n_dims);
    prog_json_key_text(&json, "metric", thr_metric_name(info->metric));
    prog_json_key_count(&json, "item_bits", info->item_bits);
    prog_json_key_text(&json, "keep", thr_dtype_name(info->keep));
    prog_json_key_count(&json, "lead_bits", info->lead_bits);
    prog_json_key_bool(&json, "centred", info->centred);
    prog_json_key_bool(&json, "rotated", info->rotated);
    prog_json_key_count(&json, "tuned_queries", info->tuned_queries);
    prog_json_key_count(&json, "n_segments", info->n_segments);
    prog_json_key_real(&json, "code_bytes_per_item", (double)info->code_bytes / n_items);
    prog_json_key_real(&json, "vector_bytes_per_item", (double)info->vector_bytes / n_items);
    prog_json_key_real(&json, "bytes_per_item", (double)info->file_bytes / n_items);
    prog_json_key_count(&json, "file_bytes", info->file_bytes);
    prog_json_key_real(&json, "build_s", seconds);
    prog_json_key_real(&json, "items_per_s", n_items / seconds);
    prog_json_close(&json, '}');
    prog_json_end(&json);
}

/* Open what was built and say how large it became. */
static int report(const program *run, const char *dir, double seconds) {
    thr_error err = {.status = THR_OK};
    thr_index *index = NULL;
    thr_index_info info;
    uint64_t model_bytes = 0;

    if (thr_index_open(run->context, dir, &index, &err) != THR_OK)
        return prog_failed(&err);
    info = thr_index_get_info(index);
    /* The model is a file of its own, however many items there are: they are told without it. */
    if (thr_index_tower(index) != NULL)
        model_bytes = sizeof(float) * thr_tower_get_info(thr_index_tower(index)).n_parameters;
    thr_index_free(index);
    prog_note("built %s: %s items of %" PRIu32 " dimensions, %s, %" PRIu32
              " bits, %.1f bytes an item%s%s, in %s (%s items/s)",
              dir, prog_exact(info.n_items).text, info.n_dims, thr_metric_name(info.metric), info.item_bits,
              (double)(info.file_bytes - model_bytes) / (double)info.n_items,
              model_bytes != 0 ? " and a model of " : "", model_bytes != 0 ? prog_bytes((double)model_bytes).text : "",
              prog_time(seconds).text, prog_short((double)info.n_items / seconds).text);
    if (run->globals.json)
        print_json(dir, &info, seconds);
    return PROG_DONE;
}

int prog_build_index(program *run, const char *dir, thr_reader *rows, const thr_index_build_options *build,
                     double start) {
    thr_error err = {.status = THR_OK};

    prog_detail("building with %" PRIu32 " threads, CPU level %s", thr_context_threads(run->context),
                thr_isa_name(thr_context_isa(run->context)));
    if (thr_index_build(run->context, dir, rows, build, &err) != THR_OK)
        return prog_failed(&err);
    prog_progress_end();
    return report(run, dir, prog_seconds() - start);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "index/summary.h"

#include <inttypes.h>
#include <stdio.h>

#include "hits/weight_note.h"
#include "index/rows.h"
#include "cli/json.h"
#include "cli/messages.h"

const char *const prog_metrics[] = {"cosine", "ip", "l2", NULL};
const char *const prog_keeps[] = {"f32", "f16", "i8", NULL};
const thr_dtype prog_keep_dtypes[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8};

uint64_t prog_model_bytes(const thr_index *index) {
    const thr_tower *tower = thr_tower_of_index(index);
    const thr_dual *dual = thr_dual_of_index(index);

    return tower != NULL ? thr_tower_get_info(tower).file_bytes : dual != NULL ? thr_dual_get_info(dual).file_bytes : 0;
}

double prog_per_item(uint64_t bytes, uint64_t n_items) {
    return n_items > 0 ? (double)bytes / (double)n_items : 0.0;
}

double prog_bytes_per_item(const thr_index *index) {
    const thr_index_info info = thr_index_get_info(index);

    return prog_per_item(info.file_bytes - prog_model_bytes(index), info.n_items);
}

bool prog_is_flat_and_uncentred(const thr_index_info *info) {
    return info->metric == THR_METRIC_COSINE && info->lead_bits == info->item_bits && !info->centred &&
           !info->relative_codes && info->keep != THR_DTYPE_NONE;
}

void prog_json_index(prog_json *json, const char *dir, const thr_index *index) {
    const thr_index_info info = thr_index_get_info(index);

    prog_json_key_text(json, "index", dir);
    prog_json_key_count(json, "n_items", info.n_items);
    prog_json_key_count(json, "n_dims", info.n_dims);
    prog_json_key_text(json, "metric", thr_metric_name(info.metric));
    prog_json_key_count(json, "item_bits", info.item_bits);
    prog_json_key_text(json, "keep", thr_dtype_name(info.keep));
    prog_json_key_bool(json, "flat_uncentred", prog_is_flat_and_uncentred(&info));
    prog_json_key_count(json, "lead_bits", info.lead_bits);
    prog_json_key_bool(json, "centred", info.centred);
    prog_json_key_bool(json, "relative_codes", info.relative_codes);
    prog_json_key_bool(json, "rotated", info.rotated);
    prog_json_key_count(json, "tuned_queries", info.tuned_queries);
    if (info.kept_recall > 0)
        prog_json_key_real(json, "kept_recall", (double)info.kept_recall);
    prog_json_key_bool(json, "features", info.has_features);
    prog_json_key_count(json, "n_segments", info.n_segments);
    prog_json_key_count(json, "n_zero", info.n_zero);
    PROG_JSON_REALS(json, {"code_bytes_per_item", prog_per_item(info.code_bytes, info.n_items)},
                    {"vector_bytes_per_item", prog_per_item(info.vector_bytes, info.n_items)},
                    {"bytes_per_item", prog_bytes_per_item(index)});
    prog_json_key_count(json, "file_bytes", info.file_bytes);
}

void prog_json_cells(prog_json *json, const thr_cells_choice *cells) {
    prog_json_key_count(json, "n_cells", cells->kept ? cells->n_cells : 0);
    if (cells->n_cells == 0)
        return;
    prog_json_key_real(json, "cells_read", (double)cells->read);
    prog_json_key_real(json, "cells_speed", (double)cells->speed);
    prog_json_key_real(json, "cells_short_by", (double)cells->short_by);
}

#define WITH_DEFAULT_RECALL "; with .99, the default, it reads more"

void prog_print_cells(const thr_cells_choice *cells) {
    if (cells->speed > 0)
        (void)printf("with recall .95 a search reads %.1f%% of the items, and is expected to be %.2f times as fast as "
                     "without cells" WITH_DEFAULT_RECALL "\n",
                     100 * (double)cells->read, (double)cells->speed);
    else
        (void)printf("with recall .95 a search skips no cells: exact scores of all items cost less\n");
    if (cells->short_by > THR_CELLS_SHORT)
        (void)printf("cells miss items: searches are up to %.3f below their recall: give a higher one, or build "
                     "without cells\n",
                     (double)cells->short_by);
}

/* Report what --cells auto chose, and why. */
static void note_cells(const thr_index *index, const thr_cells_choice *cells) {
    const thr_index_info info = thr_index_get_info(index);

    if (cells->n_cells == 0 && info.keep == THR_DTYPE_NONE)
        prog_note("no cells: they need kept vectors");
    else if (cells->n_cells == 0 && prog_takes_vectors(thr_tower_of_index(index)))
        prog_note("no cells: they are not supported with a model's codes");
    else if (cells->n_cells == 0 && info.has_features)
        prog_note("no cells: searches with features read all items; for searches without features give --cells N");
    else if (cells->n_cells == 0)
        prog_note("no cells: a search of %s is fast without them", prog_counted(info.n_items, "item").text);
    else if (cells->short_by > THR_CELLS_SHORT)
        prog_note("%s: searches with %" PRIu32 " cells are up to %.3f below their recall%s",
                  cells->kept ? "cells" : "no cells", cells->n_cells, (double)cells->short_by,
                  cells->kept ? ": give a higher one, or build without cells" : "");
    else
        prog_note("%s: with recall .95 a search reads %.1f%% of the items with %" PRIu32
                  " cells, and is expected to be %.2f times as "
                  "fast as without" WITH_DEFAULT_RECALL,
                  cells->kept ? "cells" : "no cells", 100 * (double)cells->read, cells->n_cells, (double)cells->speed);
}

/*
 * Searches promise .99 by default, and find at most what the kept type does. A larger type mends that only where scores
 * of float32 are told apart.
 */
static void note_kept(const thr_index_info *info, bool told_apart) {
    if (info->kept_recall == 0)
        return;
    prog_note("%s vectors keep at most %.3f of the nearest 10 of the vectors as given%s%s", thr_dtype_name(info->keep),
              (double)info->kept_recall,
              info->kept_recall < THR_KEPT_RECALL ? ": the default recall of .99 cannot be reached" : "",
              info->kept_recall < THR_KEPT_RECALL && told_apart ? ", keep a larger type to reach it" : "");
}

/* Open the new index and print its size. */
static int report(const program *run, const char *dir, const thr_index_build_options *build, double seconds) {
    thr_error err = {.status = THR_OK};
    thr_index *index = NULL;
    thr_index_info info;
    float spread = 1;

    if (thr_index_open(run->context, dir, &index, &err) != THR_OK)
        return prog_failed(&err);
    if (thr_index_spread(index, &spread, &err) != THR_OK) {
        thr_index_free(index);
        return prog_failed(&err);
    }
    info = thr_index_get_info(index);
    prog_note("built %s: %s of %s, %s, %s, %.1f bytes per item%s%s, in %s (%s items/s)", dir,
              prog_counted(info.n_items, "item").text, prog_counted(info.n_dims, "dimension").text,
              thr_metric_name(info.metric), prog_counted(info.item_bits, "bit").text, prog_bytes_per_item(index),
              prog_model_bytes(index) > 0 ? " and a model of " : "",
              prog_model_bytes(index) > 0 ? prog_bytes((double)prog_model_bytes(index)).text : "",
              prog_time(seconds).text, prog_short((double)info.n_items / seconds).text);
    note_kept(&info, spread >= THR_LEAST_SPREAD);
    if (spread < THR_LEAST_SPREAD && info.n_items > 1)
        prog_note(PROG_SMALL_SPREAD ": subtract the mean from items and queries, or build with --metric l2");
    if (info.n_zero > 0)
        prog_note("%s " PROG_ZERO_VECTORS, prog_exact(info.n_zero).text);
    if (build->cells_choice != NULL &&
        (build->cells == THR_CELLS_AUTO || build->cells_choice->short_by > THR_CELLS_SHORT))
        note_cells(index, build->cells_choice);
    if (build->features_path != NULL)
        prog_hits_note_weighed(run, thr_index_hits(index), 0, build->features_path);
    if (run->globals.json) {
        prog_json json = prog_json_object();

        prog_json_index(&json, dir, index);
        if (build->cells_choice != NULL && build->cells == THR_CELLS_AUTO)
            prog_json_cells(&json, build->cells_choice);
        prog_json_key_real(&json, "build_s", seconds);
        prog_json_key_real(&json, "items_per_s", (double)info.n_items / seconds);
        prog_json_end_object(&json);
    }
    thr_index_free(index);
    return PROG_DONE;
}

int prog_build_index(program *run, const char *dir, thr_reader *rows, const thr_index_build_options *build,
                     double start) {
    thr_error err = {.status = THR_OK};

    prog_detail("building with %" PRIu32 " threads, CPU level %s", thr_context_threads(run->context),
                thr_isa_name(thr_context_isa(run->context)));
    if (thr_index_build(run->context, dir, rows, build, &err) != THR_OK)
        return prog_failed_existing(&err, "add --force");
    prog_progress_end();
    return report(run, dir, build, prog_seconds() - start);
}

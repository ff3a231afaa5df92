/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.c - `index info DIR` and `index verify DIR`.
 */
#include <inttypes.h>
#include <stdio.h>

#include "index/collection.h"
#include "tower/dual.h"
#include "index/summary.h"
#include "cli/json.h"
#include "info/model.h"
#include "output/plain.h"
#include "commands.h"
#include "info/verified.h"
#include "cli/messages.h"

PROG_PATH_ARGUMENT(arguments, "DIR", PROG_NAMES_DIR, "an index or a collection of shards");

/* Whether the items' codes are a model's. */
static bool holds_codes(const thr_index_info *info, const thr_tower_config *model) {
    return info->keep == THR_DTYPE_NONE && model->item_bits == info->item_bits;
}

/* How much the codes lose; 0 where unknown. */
typedef struct measures {
    float now, learned; /* errors of codes */
    float spread;
    thr_cells_choice cells;
} measures;

static void print_code_errors(measures e) {
    if (e.now > 0 && e.learned > 0)
        (void)printf("code error      %.3f of the items' spread, %.3f when the codes were learned%s\n", (double)e.now,
                     (double)e.learned,
                     (double)e.now > THR_RECODE_PAYS * (double)e.learned
                         ? ": 'thresher index compact --recode' makes searches faster"
                         : "");
    else if (e.now > 0)
        (void)printf("code error      %.3f of the items' spread\n", (double)e.now);
}

/* Items outside all cells, if there are cells: those added since. Removed items that are still in the files count. */
static uint64_t without_cell(const thr_index *index) {
    const thr_index_cells cells = thr_index_get_cells(index);
    const uint64_t n = thr_index_get_info(index).n_items + thr_index_n_removed(index);

    return cells.n_cells > 0 && n > cells.n_items ? n - cells.n_items : 0;
}

static void print_json(const char *dir, const thr_index *index, measures measured) {
    const thr_index_info info = thr_index_get_info(index);
    prog_json json = prog_json_object();

    prog_json_index(&json, dir, index);
    prog_json_key_count(&json, "n_commits", thr_index_n_commits(index));
    prog_json_key_count(&json, "n_removed", thr_index_n_removed(index));
    if (measured.now > 0)
        prog_json_key_real(&json, "code_error", (double)measured.now);
    if (measured.learned > 0)
        prog_json_key_real(&json, "code_error_learned", (double)measured.learned);
    prog_json_key_real(&json, "spread", (double)measured.spread);
    prog_json_key_bool(&json, "has_ids", info.has_ids);
    prog_json_key_bool(&json, "has_names", info.has_names);
    PROG_JSON_COUNTS(&json, {"code_bytes", info.code_bytes}, {"vector_bytes", info.vector_bytes},
                     {"n_journal_items", thr_index_get_journal(index).n_items},
                     {"journal_bytes", thr_index_get_journal(index).n_bytes}, {"n_without_cell", without_cell(index)});
    prog_json_cells(&json, &measured.cells);
    if (thr_tower_of_index(index) != NULL) {
        thr_json_put_key(&json, "model");
        thr_json_open(&json, '{');
        prog_json_model(&json, thr_tower_of_index(index));
        thr_json_close(&json, '}');
    }
    if (thr_dual_of_index(index) != NULL) {
        const thr_dual_info dual = thr_dual_get_info(thr_dual_of_index(index));
        thr_json_put_key(&json, "model");
        thr_json_open(&json, '{');
        prog_json_dual(&json, &dual);
        thr_json_close(&json, '}');
    }
    prog_json_end_object(&json);
}

/* "3 bits per dimension, 1 of them screened first" */
typedef struct planes_text {
    char text[80];
} planes_text;

static planes_text planes_of(const thr_index_info *info) {
    planes_text planes;
    const char *unit = info->item_bits == 1 ? "bit" : "bits";

    if (info->lead_bits < info->item_bits)
        (void)snprintf(planes.text, sizeof planes.text,
                       "%" PRIu32 " %s per dimension, %" PRIu32 " of them screened first", info->item_bits, unit,
                       info->lead_bits);
    else
        (void)snprintf(planes.text, sizeof planes.text, "%" PRIu32 " %s per dimension", info->item_bits, unit);
    return planes;
}

static void print_codes(const thr_index_info *info, measures measured) {
    (void)printf("codes           %s, %s, %.1f bytes per item\n", planes_of(info).text,
                 prog_bytes((double)info->code_bytes).text, prog_per_item(info->code_bytes, info->n_items));
    print_code_errors(measured);
    (void)printf("centre          %s\n", info->centred ? "yes: subtracted before coding" : "no");
    if (info->relative_codes)
        (void)printf("relative to     the centroids of cells\n");
    if (prog_is_flat_and_uncentred(info))
        (void)printf("recall          kept for queries like those of the calibration: flat, uncentred codes\n");
    (void)printf("rotation        %s\n", info->rotated ? "yes" : "no");
    if (info->tuned_queries > 0)
        (void)printf("calibration     %s\n", prog_counted(info->tuned_queries, "query").text);
    else
        (void)printf("calibration     none\n");
    if (info->kept_recall > 0)
        (void)printf("kept recall     at most %.3f of the nearest 10 of the vectors as given\n",
                     (double)info->kept_recall);
}

static void print_cells(const thr_index *index, const thr_cells_choice *measured) {
    const thr_index_cells cells = thr_index_get_cells(index);

    if (cells.n_cells == 0)
        (void)printf("cells           none: searches read all items\n");
    else
        (void)printf("cells           %" PRIu32 ", of %" PRIu32 " to %" PRIu32 " items, %.0f on average\n",
                     cells.n_cells, cells.smallest, cells.largest, (double)cells.n_items / (double)cells.n_cells);
    if (without_cell(index) > 0)
        (void)printf("without a cell  %s: all searches read them, until 'thresher index compact'\n",
                     prog_counted(without_cell(index), "item").text);
    if (cells.n_cells > 0 && measured->speed == 0 && thr_index_get_journal(index).n_bytes > 0)
        (void)printf("searches read all cells until 'thresher index compact': the journal has changes\n");
    else if (cells.n_cells > 0)
        prog_print_cells(measured);
}

static void print_text(const char *dir, thr_index *index, measures measured) {
    const thr_index_info given = thr_index_get_info(index), *info = &given;
    const thr_index_journal journal = thr_index_get_journal(index);
    const thr_tower *tower = thr_tower_of_index(index);
    const thr_hits_info lists = info->has_features ? thr_hits_get_info(thr_index_hits(index)) : (thr_hits_info){0},
                        *hits = &lists;
    const char *ids = !info->has_ids                            ? "row numbers"
                      : thr_index_get_cells(index).n_cells == 0 ? "given ids"
                                                                : "stored: given ids, or the row numbers of the input, "
                                                                  "because cells reorder items";
    const thr_tower_config model = tower != NULL ? thr_tower_get_info(tower).config : (thr_tower_config){0};

    prog_line("index           %s", dir);
    (void)printf("items           %s\n", prog_exact(info->n_items).text);
    if (info->n_zero > 0)
        (void)printf("zero vectors    %s of all that were given: they score 0 for every query\n",
                     prog_exact(info->n_zero).text);
    (void)printf("dimensions      %" PRIu32 "\n", info->n_dims);
    (void)printf("metric          %s\n", thr_metric_name(info->metric));
    if (measured.spread < THR_LEAST_SPREAD && info->n_items > 1)
        (void)printf("spread          %.2g of their length: " PROG_SMALL_SPREAD "\n", (double)measured.spread);
    if (info->n_segments > 0)
        print_codes(info, measured);
    else
        (void)printf("codes           none yet, so scores are exact; later %s\n", planes_of(info).text);
    if (tower != NULL && holds_codes(info, &model))
        (void)printf("kept vectors    none: codes are the model's vectors\n");
    else if (info->keep == THR_DTYPE_NONE)
        (void)printf("kept vectors    none: scores are estimates\n");
    else if (info->n_segments == 0)
        (void)printf("kept vectors    %s\n", thr_dtype_name(info->keep));
    else
        (void)printf("kept vectors    %s, %s, %.1f bytes per item\n", thr_dtype_name(info->keep),
                     prog_bytes((double)info->vector_bytes).text, prog_per_item(info->vector_bytes, info->n_items));
    if (tower != NULL)
        (void)printf("model           %s, %s\n", prog_model_line(tower).text,
                     prog_bytes((double)prog_model_bytes(index)).text);
    if (thr_dual_of_index(index) != NULL) {
        const thr_dual_info dual = thr_dual_get_info(thr_dual_of_index(index));
        (void)printf("model           %s, %s\n", prog_dual_line(&dual).text,
                     prog_bytes((double)prog_model_bytes(index)).text);
    }
    if (info->has_features)
        (void)printf("features        %s, %s of posting lists\n", prog_short((double)hits->n_features).text,
                     prog_bytes((double)hits->file_bytes).text);
    (void)printf("ids             %s%s\n", ids, info->has_names ? ", with names" : "");
    (void)printf("segments        %" PRIu32 "\n", info->n_segments);
    if (journal.n_bytes > 0)
        (void)printf("journal         %s, %s: %s\n", prog_counted(journal.n_items, "item").text,
                     prog_bytes((double)journal.n_bytes).text,
                     journal.n_items > 0 ? "scored exactly until they become a segment" : "removals only");
    (void)printf("changes         %s; %s still in the files\n", prog_counted(thr_index_n_commits(index), "commit").text,
                 prog_counted(thr_index_n_removed(index), "removed item").text);
    print_cells(index, &measured.cells);
    (void)printf("files           %s, %.1f bytes per item%s\n", prog_bytes((double)info->file_bytes).text,
                 prog_bytes_per_item(index), prog_model_bytes(index) > 0 ? ", without the model" : "");
}

static thr_status measure(thr_index *index, measures *measured, thr_error *err) {
    thr_status status = thr_index_code_error(index, &measured->now, &measured->learned, err);

    if (status == THR_OK)
        status = thr_index_spread(index, &measured->spread, err);
    return status != THR_OK ? status : thr_index_measure_cells(index, &measured->cells, err);
}

/* Open the index, and verify or measure it: the newest commit, if others are made meanwhile. */
static thr_status examine(program *run, const char *dir, bool verify, thr_index **index, measures *measured,
                          thr_error *err) {
    enum { TRIES = 20 };
    thr_status status = THR_ECHANGED;

    for (int i = 0; i < TRIES && status == THR_ECHANGED; i++) {
        thr_index_free(*index);
        *index = NULL;
        status = thr_index_open(run->context, dir, index, err);
        if (status == THR_OK)
            status = verify ? thr_index_verify(*index, err) : measure(*index, measured, err);
    }
    return status;
}

/* Describe the index or collection; the command verify reads every byte of it. */
int prog_print_index(program *run, const char *dir) {
    const bool verify = run->command == &prog_index_verify;
    const double start = prog_seconds();
    thr_error err = {.status = THR_OK};
    thr_index *index = NULL;
    measures measured;
    int rc = PROG_DONE;

    if (prog_is_collection(dir))
        return prog_print_collection(run, dir, verify);
    if (examine(run, dir, verify, &index, &measured, &err) != THR_OK)
        rc = prog_failed(&err);
    else if (verify)
        prog_print_verified(run, "index", dir, thr_index_get_info(index).file_bytes, start);
    else if (run->globals.json)
        print_json(dir, index, measured);
    else
        print_text(dir, index, measured);
    thr_index_free(index);
    return rc;
}

static int run_either(program *run, const void *values) {
    return prog_print_index(run, ((const prog_path_values *)values)->path);
}

const prog_command prog_index_info = {
    PROG_COMMAND("index", "info", prog_path_values, arguments, prog_no_options, run_either),
    .summary = "describe an index or a collection",
    .text =
        "Shows the size, metric, codes and stored vectors of an index. Reads only headers and some "
        "vectors, to measure the error of their codes and, with cells, what searches read; thresher index verify "
        "reads everything. Of a collection also the number of shards and their sizes; the shards are checked against "
        "shards.json.",
    .examples = PROG_EXAMPLES("thresher index info words.index", "thresher index info my.shards --json"),
};

/* ------------------------------------------------------------------------------------------------ verify */

const prog_command prog_index_verify = {
    PROG_COMMAND("index", "verify", prog_path_values, arguments, prog_no_options, run_either),
    .summary = "read every byte of an index or a collection and check it",
    .text = "Reads all files of an index and compares all checksums. Exit code 1: the index is "
            "damaged; the message names the file, the section and the offset. Reads a collection one shard after the "
            "other, and checks that the shards are those that shards.json names. It does not compare the given ids of "
            "shards with each other; thresher.shards.verify in Python does.",
    .examples = PROG_EXAMPLES("thresher index verify words.index"),
};

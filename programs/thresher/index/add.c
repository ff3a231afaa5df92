/* SPDX-License-Identifier: Apache-2.0 */
/* add.c - `index add DIR VECTORS` and `index upsert DIR VECTORS`. */
#include <stdio.h>
#include <stdlib.h>

#include "hits/values.h"
#include "index/changes.h"
#include "index/rows.h"
#include "index/collection.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct add_values {
    const char *dir;
    const char *vectors;
    const char *ids;
    const char *features, *multipliers;
} add_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("DIR", PROG_NAMES_DIR, offsetof(add_values, dir), "an index")},
    {PROG_REQUIRED("VECTORS", PROG_NAMES_FILE, offsetof(add_values, vectors),
                   "the new items, in any format that thresher index build reads; -.fvecs and the like read "
                   "standard input. Where the index has a model also texts, one per line: .txt, or a column "
                   "of a table, FILE.tsv:COLUMN")},
    {.name = NULL},
};

#define FEATURES_OPTIONS                                                                                               \
    {PROG_FILE_OPTION(                                                                                                 \
        "features", offsetof(add_values, features),                                                                    \
        "features of the new items, in the order of VECTORS: .tsv of names and features, as in thresher "              \
        "index build. Required by an index with features. Without --ids the items get its names")},                    \
    {                                                                                                                  \
        PROG_FILE_OPTION("multipliers", offsetof(add_values, multipliers),                                             \
                         "with --features: one bid per item (.tsv of names and numbers, or a file of numbers); "       \
                         "default 1")                                                                                  \
    }

static const prog_option add_options[] = {
    {PROG_FILE_OPTION("ids", offsetof(add_values, ids),
                      "ids or names of the new items: a file of ids (.npy .ibin .ivecs), or a text with an id or name "
                      "a line (.txt .tsv:COLUMN .csv:COLUMN). Required if the items of the index have names; default: "
                      "ids above all that the index ever had")},
    FEATURES_OPTIONS,
    PROG_OPTIONS_END,
};

static const prog_option upsert_options[] = {
    {PROG_FILE_OPTION("ids", offsetof(add_values, ids),
                      "ids or names of the items: a file of ids (.npy .ibin .ivecs), or a text with one id or name per "
                      "line (.txt .tsv:COLUMN .csv:COLUMN)")},
    FEATURES_OPTIONS,
    PROG_OPTIONS_END,
};

/* Encode texts by the index's model; *index stays open for it. */
static int encode(program *run, const add_values *values, prog_rows *rows, thr_index **index) {
    thr_error err = {.status = THR_OK};

    const bool text = prog_rows_are_text(rows);

    if (thr_index_open(run->context, values->dir, index, &err) != THR_OK)
        return text ? prog_failed(&err) : PROG_DONE; /* adding rows reports it */
    if (!text && !prog_encodes_vectors(thr_tower_of_index(*index)))
        return PROG_DONE;
    if (thr_tower_of_index(*index) == NULL && thr_dual_of_index(*index) == NULL) {
        prog_error("%s holds text, and %s has no model to encode it: give rows of numbers (names go to --ids)",
                   values->vectors, values->dir);
        return PROG_FAILED;
    }
    return prog_rows_encode(rows, thr_tower_of_index(*index), thr_dual_of_index(*index));
}

static int add(program *run, const add_values *values, const prog_rows *rows, prog_change *change) {
    thr_index_add_options options = {0};
    thr_error err = {.status = THR_OK};
    const double start = prog_seconds();
    float *multipliers = NULL;
    int rc = PROG_DONE;

    options.ids_path = values->ids;
    options.replace = change->kind == PROG_UPSERTED;
    options.features_path = values->features;
    if (values->multipliers != NULL)
        rc = prog_table_values_read(run, values->features, values->multipliers, 1, &multipliers, &options.n_values);
    options.multipliers = multipliers;
    if (rc == PROG_DONE &&
        thr_index_add(run->context, values->dir, prog_rows_reader(rows), &options, &change->done, &err) != THR_OK)
        rc = prog_failed_existing(&err, "use thresher index upsert");
    free(multipliers);
    if (rc != PROG_DONE)
        return rc;
    change->seconds = prog_seconds() - start;
    prog_report_change(run, change);
    return PROG_DONE;
}

static int run_any(program *run, const add_values *values, prog_change_kind kind) {
    prog_change change = {.kind = kind, .dir = values->dir};
    thr_index *index = NULL;
    prog_rows rows;

    if (values->multipliers != NULL && values->features == NULL) {
        prog_error("--multipliers needs --features: bids apply to items with features; %s", prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    if (kind == PROG_UPSERTED && values->ids == NULL && values->features == NULL) {
        prog_error("--ids is missing: the ids or names of the items to replace; %s", prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    if (prog_refuse_shard(run, values->dir))
        return PROG_FAILED;
    int rc = prog_rows_open(&rows, run->context, values->vectors);

    if (rc == PROG_DONE)
        rc = encode(run, values, &rows, &index);
    if (rc == PROG_DONE)
        rc = add(run, values, &rows, &change);
    prog_rows_close(&rows);
    thr_index_free(index);
    return rc;
}

static int run_add(program *run, const void *values) {
    return run_any(run, values, PROG_ADDED);
}

static int run_upsert(program *run, const void *values) {
    return run_any(run, values, PROG_UPSERTED);
}

const prog_command prog_index_add = {
    PROG_COMMAND("index", "add", add_values, arguments, add_options, run_add),
    .summary = "add items to an index",
    .text =
        "Adds items in one commit. It is on the disk when the command ends; if the command fails or is stopped, "
        "the index is as before. Searches may run meanwhile: an index that is open keeps its items.\n\nAn id or "
        "name that the index has already is refused; thresher index upsert replaces its item. Every call writes "
        "files, so add many items at once. Small files are merged now and then, and one command at a time "
        "changes an index.\n\nIn an index with features the features and bids of an item are added with its vector. "
        "The command writes the posting lists of all items added since it last wrote all lists; once these items are "
        "many, it writes all lists again.",
    .examples = PROG_EXAMPLES("thresher index add words.index new.npy --ids new.txt",
                              "xzcat day.fvecs.xz | thresher index add sift.index -.fvecs",
                              "thresher index add p.index packages.tsv:long --ids packages.tsv:name",
                              "thresher index add ads.index n.fvecs --features n.tsv --multipliers bids.tsv"),
};

const prog_command prog_index_upsert = {
    PROG_COMMAND("index", "upsert", add_values, arguments, upsert_options, run_upsert),
    .summary = "add items to an index, replacing those with the same ids or names",
    .text = "Like thresher index add, but an item whose id or name the index has already takes the place of that item, "
            "in the same commit: a search finds the old one or the new one, never both or neither.",
    .examples = PROG_EXAMPLES("thresher index upsert words.index changed.npy --ids changed.txt"),
};

/* SPDX-License-Identifier: Apache-2.0 */
/* remove.c - `index remove DIR [IDS]` and `index compact DIR`. */
#include <stdio.h>

#include "index/changes.h"
#include "index/removal.h"
#include "index/collection.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct remove_values {
    const char *dir;
    const char *ids_file;
    prog_list ids, names;
    const char *filter;
    bool strict;
} remove_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("DIR", PROG_NAMES_DIR, offsetof(remove_values, dir), "an index")},
    {PROG_ARGUMENT(
        "IDS", PROG_NAMES_FILE, offsetof(remove_values, ids_file),
        "the items to remove: a file of ids (.npy .ibin .ivecs), or a text with one id or name per line (.txt "
        ".tsv:COLUMN .csv:COLUMN); -.txt and the like read standard input")},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_LIST_OPTION("id", "N", offsetof(remove_values, ids),
                      "remove the item with this id; may be given repeatedly")},
    {PROG_LIST_OPTION("name", "NAME", offsetof(remove_values, names),
                      "remove the item with this name; may be given repeatedly")},
    {PROG_FILE_OPTION("where-filter", offsetof(remove_values, filter),
                      "remove the items that this filter selects, as thresher index search --filter reads it")},
    {PROG_FLAG_OPTION("strict", offsetof(remove_values, strict),
                      "an id or name that no item has is an error, and nothing is removed (default: it is counted)")},
    PROG_OPTIONS_END,
};

static int collect(program *run, const remove_values *values, prog_removal *removal) {
    int rc = values->ids_file != NULL ? prog_removal_file(removal, run->context, values->ids_file) : PROG_DONE;

    if (rc == PROG_DONE)
        rc = prog_removal_ids(removal, &values->ids);
    if (rc == PROG_DONE)
        rc = prog_removal_names(removal, &values->names);
    if (rc == PROG_DONE && values->filter != NULL)
        rc = prog_removal_filter(removal, run->context, values->filter);
    return rc;
}

static int run_remove(program *run, const void *all_values) {
    const remove_values *values = all_values;
    prog_removal removal = {.strict = values->strict};
    prog_change change = {.kind = PROG_REMOVED, .dir = values->dir};
    thr_error err = {.status = THR_OK};
    thr_index *index = NULL;
    const double start = prog_seconds();
    int rc;

    if (values->ids_file == NULL && values->ids.n == 0 && values->names.n == 0 && values->filter == NULL) {
        prog_error("nothing to remove: give IDS, --id, --name or --where-filter; %s", prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    if (prog_refuse_shard(run, values->dir))
        return PROG_FAILED;
    if (thr_index_open(run->context, values->dir, &index, &err) != THR_OK)
        return prog_failed(&err);
    removal.index = index;
    rc = collect(run, values, &removal);
    if (rc == PROG_DONE)
        rc = prog_removal_run(&removal, run->context, values->dir, &change.done);
    if (rc == PROG_DONE) {
        change.seconds = prog_seconds() - start;
        prog_report_change(run, &change);
    }
    prog_removal_free(&removal);
    thr_index_free(index);
    return rc;
}

const prog_command prog_index_remove = {
    PROG_COMMAND("index", "remove", remove_values, arguments, options, run_remove),
    .summary = "remove items from an index",
    .text =
        "Removes items in one commit, which is on the disk when the command ends. Ids and names that no item has are "
        "counted and skipped, except those of a Roaring bitmap. Ids are never used again by thresher index add.\n\nThe "
        "bytes of removed items stay in "
        "the files until thresher index compact, or until a later change merges the files: a file of which more "
        "than a sixth was removed is written again.",
    .examples = PROG_EXAMPLES("thresher index remove words.index gone.txt",
                              "thresher index remove words.index --name apple --name pear --strict",
                              "thresher index remove sift.index --id 17"),
};

/* ------------------------------------------------------------------------------------------------ compact */

typedef struct compact_values {
    const char *dir;
    bool recode;
} compact_values;

static const prog_argument compact_arguments[] = {
    {PROG_REQUIRED("DIR", PROG_NAMES_DIR, offsetof(compact_values, dir), "an index")},
    {.name = NULL},
};

static const prog_option compact_options[] = {
    {PROG_FLAG_OPTION("recode", offsetof(compact_values, recode),
                      "learn the codes anew from the current items; needs kept vectors")},
    PROG_OPTIONS_END,
};

static thr_status read_info(const program *run, const char *dir, thr_index_info *info, thr_error *err) {
    thr_index *index = NULL;
    const thr_status status = thr_index_open(run->context, dir, &index, err);

    if (status == THR_OK)
        *info = thr_index_get_info(index);
    thr_index_free(index);
    return status;
}

static int run_compact(program *run, const void *values) {
    const compact_values *v = values;
    prog_change change = {.kind = PROG_COMPACTED, .dir = v->dir, .recoded = v->recode};
    thr_error err = {.status = THR_OK};
    const double start = prog_seconds();

    if (prog_refuse_shard(run, change.dir))
        return PROG_FAILED;
    if (read_info(run, change.dir, &change.before, &err) != THR_OK ||
        (v->recode ? thr_index_recode : thr_index_compact)(run->context, change.dir, &change.done, &err) != THR_OK)
        return prog_failed(&err);
    if (read_info(run, change.dir, &change.after, &err) != THR_OK) {
        prog_note("compacted %.1000s, but its size cannot be shown: %s", change.dir, err.text);
        return PROG_DONE;
    }
    change.seconds = prog_seconds() - start;
    prog_report_change(run, &change);
    return PROG_DONE;
}

const prog_command prog_index_compact = {
    PROG_COMMAND("index", "compact", compact_values, compact_arguments, compact_options, run_compact),
    .summary = "free the space of removed items",
    .text = "Writes the index again without its removed items, in as few files as possible. Items, ids and scores stay "
            "the same, and searches may run meanwhile. Needs disk space for a second copy. Does nothing if there is "
            "nothing to gain.\n\nWith --recode the quantiser, all codes and the calibration are made from the "
            "current items, at about the cost of a build. That makes searches faster if the items have become unlike "
            "those of the build: thresher index info compares the errors of codes. Kept vectors and ids stay the "
            "same.",
    .examples = PROG_EXAMPLES("thresher index compact words.index", "thresher index compact words.index --recode"),
};

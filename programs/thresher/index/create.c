/* SPDX-License-Identifier: Apache-2.0 */
/* create.c - `index create DIR --dims N`. */
#include <inttypes.h>

#include "index/summary.h"
#include "cli/json.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct create_values {
    const char *dir;
    uint64_t dims;
    size_t metric;
    uint64_t bits, lead;
    size_t keep;
    bool names;
    bool force;
} create_values;

static const prog_argument arguments[] = {
    {PROG_REQUIRED("DIR", PROG_NAMES_DIR, offsetof(create_values, dir), "the index to create")},
    {.name = NULL},
};

static const prog_option options[] = {
    {PROG_COUNT_OPTION("dims", "N", offsetof(create_values, dims), "numbers in a vector"), .least = 1, .most = 32768,
     .required = true},
    {PROG_CHOICE_OPTION("metric", "cosine|ip|l2", prog_metrics, offsetof(create_values, metric),
                        "the score: cosine, inner product or L2 distance"),
     .fallback = "cosine"},
    {PROG_COUNT_OPTION("bits", "1..8", offsetof(create_values, bits), "bits of code per dimension"), .least = 1,
     .most = 8, .fallback = "3"},
    {PROG_COUNT_OPTION("lead", "1..8", offsetof(create_values, lead),
                       "planes that the screen reads (default: chosen by dimensions)"),
     .least = 1, .most = 8},
    {PROG_CHOICE_OPTION("keep", "f32|f16|i8", prog_keeps, offsetof(create_values, keep),
                        "type of the stored vectors, for exact scores"),
     .fallback = "f32"},
    {PROG_FLAG_OPTION("names", offsetof(create_values, names), "items have names instead of ids that you choose")},
    {PROG_FLAG_OPTION("force", offsetof(create_values, force), "replace an existing index")},
    PROG_OPTIONS_END,
};

static void print_json(const create_values *values) {
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "index", values->dir);
    prog_json_key_count(&json, "n_items", 0);
    prog_json_key_count(&json, "n_dims", values->dims);
    prog_json_key_text(&json, "metric", prog_metrics[values->metric]);
    prog_json_end_object(&json);
}

static int run_create(program *run, const void *all_values) {
    const create_values *values = all_values;
    thr_index_create_options create = {0};
    thr_error err = {.status = THR_OK};

    if (values->lead > values->bits) {
        prog_error("--lead %" PRIu64 " exceeds --bits %" PRIu64 "; %s", values->lead, values->bits, prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    create.n_dims = (uint32_t)values->dims;
    create.metric = (thr_metric)values->metric;
    create.item_bits = (uint32_t)values->bits;
    create.lead_bits = (uint32_t)values->lead;
    create.keep = prog_keep_dtypes[values->keep];
    create.names = values->names;
    create.replace = values->force;
    if (thr_index_create(run->context, values->dir, &create, &err) != THR_OK)
        return prog_failed_existing(&err, "add --force");
    prog_note("created %s: no items yet, %" PRIu64 " dimensions, %s", values->dir, values->dims,
              prog_metrics[values->metric]);
    if (run->globals.json)
        print_json(values);
    return PROG_DONE;
}

const prog_command prog_index_create = {
    PROG_COMMAND("index", "create", create_values, arguments, options, run_create),
    .summary = "create an empty index",
    .text = "The index has no items until thresher index add. Codes are learned once it has 256 items; until then "
            "items are scored exactly. If you have the items already, use thresher index build, which also calibrates "
            "the index.",
    .examples = PROG_EXAMPLES("thresher index create docs.index --dims 384",
                              "thresher index create words.index --dims 100 --metric ip --names"),
};

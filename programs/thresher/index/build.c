/* SPDX-License-Identifier: Apache-2.0 */
/* build.c - `index build VECTORS -o DIR`; with --model MODEL also from a text. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tower/dual.h"
#include "hits/values.h"
#include "index/summary.h"
#include "index/rows.h"
#include "commands.h"
#include "cli/messages.h"

typedef struct build_values {
    const char *vectors;
    const char *output;
    const char *ids;
    const char *features, *multipliers;
    const char *model;
    const char *quantiser_from;
    size_t metric;
    uint64_t bits;
    uint64_t lead;
    double scale; /* NaN: searched */
    bool rotate;
    bool no_rotate;
    size_t keep;
    bool codes_only;
    bool force;
    uint64_t segment_items;
    uint64_t cells;
} build_values;

enum { GROUP_KEEP = 1, GROUP_ROTATE = 2 };

static const prog_argument arguments[] = {
    {PROG_REQUIRED("VECTORS", PROG_NAMES_FILE, offsetof(build_values, vectors),
                   "rows of numbers: .npy .fvecs .bvecs .fbin .f16bin .u8bin .i8bin .hdf5:DATASET, also "
                   "with .gz or .xz appended; -.fvecs and the like read standard input. With --model also "
                   "texts, one per line: .txt, or a column of a table, FILE.tsv:COLUMN")},
    {.name = NULL},
};

static const prog_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = PROG_TEXT,
     .value = "DIR",
     .required = true,
     .names = PROG_NAMES_DIR,
     .help = "the index to build",
     .offset = offsetof(build_values, output)},
    {PROG_FILE_OPTION("ids", offsetof(build_values, ids),
                      "one id per item (.npy .ibin .ivecs), or a text with one id or name per line (.txt "
                      ".tsv:COLUMN .csv:COLUMN). If all lines are whole numbers they are ids, else names; default: "
                      "row numbers from 0")},
    {PROG_FILE_OPTION("features", offsetof(build_values, features),
                      "features of the items, in the order of VECTORS: .tsv of names and features, as in "
                      "thresher hits build. The names become the items' names, and must equal --ids if both "
                      "are given. Searches can then add feature weights")},
    {PROG_FILE_OPTION("multipliers", offsetof(build_values, multipliers),
                      "with --features: one bid per item, which multiplies its score unless a search gives "
                      "others: .tsv of items and numbers, 1 for items not listed; or a column of numbers "
                      "(.npy, .fvecs) in order of items")},
    {PROG_FILE_OPTION("model", offsetof(build_values, model),
                      "the model (thresher tower train) whose item side encodes the rows, or produced the "
                      "vectors of texts. The index stores a copy and can then be searched by text. If the item side is "
                      "binary, its codes are stored as they are. A model of vectors encodes the rows, and searches "
                      "take such vectors: codes screen, kept vectors refine")},
    {.name = "quantiser-from",
     .kind = PROG_TEXT,
     .value = "DIR",
     .names = PROG_NAMES_DIR,
     .help = "the index whose quantiser codes the rows, for shards that are searched as one index; the bits, "
             "the leading bits and the rotation are that index's (default: learned from a sample of the rows)",
     .offset = offsetof(build_values, quantiser_from)},
    {PROG_CHOICE_OPTION("metric", "cosine|ip|l2", prog_metrics, offsetof(build_values, metric),
                        "the score: cosine, inner product or L2 distance; set by --model unless that is of vectors"),
     .fallback = "cosine"},
    {PROG_COUNT_OPTION("bits", "1..8", offsetof(build_values, bits),
                       "bits of code per dimension: more are slower to scan and need fewer candidates"),
     .least = 1, .most = 8, .fallback = "3"},
    {PROG_COUNT_OPTION("lead", "1..8", offsetof(build_values, lead),
                       "planes that the screen reads; the others are read only for items that pass it "
                       "(default: chosen by dimensions; equal to --bits: all are scanned)"),
     .least = 1, .most = 8},
    {PROG_REAL_OPTION("scale", "X", offsetof(build_values, scale),
                      "components of unit vectors beyond 1/X are cut off in codes (default: what codes a sample of the "
                      "rows best)"),
     .least_real = 1.0},
    {PROG_FLAG_OPTION("rotate", offsetof(build_values, rotate),
                      "rotate vectors at random before coding (default: unless the codes of a sample get less "
                      "accurate)"),
     .group = GROUP_ROTATE},
    {PROG_FLAG_OPTION("no-rotate", offsetof(build_values, no_rotate), "do not rotate"), .group = GROUP_ROTATE},
    {PROG_CHOICE_OPTION("keep", "f32|f16|i8", prog_keeps, offsetof(build_values, keep),
                        "type of the stored vectors, for exact scores"),
     .fallback = "f32", .group = GROUP_KEEP},
    {PROG_FLAG_OPTION("codes-only", offsetof(build_values, codes_only),
                      "store no vectors: the index is small and scores are estimates"),
     .group = GROUP_KEEP},
    {PROG_FLAG_OPTION("force", offsetof(build_values, force),
                      "replace an existing index when the new one is complete")},
    {PROG_COUNT_OPTION("segment-items", "N", offsetof(build_values, segment_items),
                       "most items in one segment file (default: chosen by size)"),
     .least = 1},
    {PROG_COUNT_OPTION(
         "cells", "N|auto", offsetof(build_values, cells),
         "store items in about N cells of neighbours; searches with a recall of at most 0.999 then read "
         "only cells that are likely to hold answers. Faster where vectors form clusters. Not with --codes-only or "
         "codes of a model. Searches with features, --survivors or --candidates read all cells. auto: the "
         "build measures searches and makes cells only if they are clearly faster; never with features (default: 1, "
         "no cells)"),
     .least = 1, .most = 65536, .word = "auto"},
    PROG_OPTIONS_END,
};

/* ------------------------------------------------------------------------------------------------ words */

/* Refuse options that the quantiser of another index determines. */
static int check_quantiser_words(const program *run, const build_values *values) {
    static const char *const decided[] = {"bits", "lead", "scale", "rotate", "no-rotate"};

    for (size_t i = 0; values->quantiser_from != NULL && i < sizeof decided / sizeof decided[0]; i++)
        if (prog_is_given(run, decided[i])) {
            prog_error("--%s: --quantiser-from %s decides that: leave it out; %s", decided[i], values->quantiser_from,
                       prog_see_help(run));
            return PROG_WRONG_WORDS;
        }
    return PROG_DONE;
}

/* Check options that are valid alone but not together. */
static int check_words(const program *run, const build_values *values) {
    if (values->lead > values->bits)
        prog_error("--lead %" PRIu64 " exceeds --bits %" PRIu64 "; %s", values->lead, values->bits, prog_see_help(run));
    else if (values->codes_only && values->cells > 1 && (uint32_t)values->cells != THR_CELLS_AUTO)
        prog_error("--cells needs kept vectors: leave out --codes-only, or --cells; %s", prog_see_help(run));
    else if (values->multipliers != NULL && values->features == NULL)
        prog_error("--multipliers needs --features: bids apply to items with features; %s", prog_see_help(run));
    else
        return check_quantiser_words(run, values);
    return PROG_WRONG_WORDS;
}

/* Refuse options that a binary model determines. */
static int check_model_words(const program *run, const build_values *values, const thr_tower_config *config) {
    static const char *const decided[] = {"bits", "lead", "scale", "rotate", "keep"};
    const size_t n = sizeof decided / sizeof decided[0] - (config->n_inputs != 0 ? 1 : 0); /* inputs can be kept */

    if (config->item_bits == THR_FLOAT_BITS)
        return PROG_DONE;
    for (size_t i = 0; i < n; i++)
        if (prog_is_given(run, decided[i])) {
            prog_error("--%s: %s makes codes of %" PRIu32 " %s, which are stored as they are: leave it out", decided[i],
                       values->model, config->item_bits, config->item_bits == 1 ? "bit" : "bits");
            return PROG_WRONG_WORDS;
        }
    return PROG_DONE;
}

/* ------------------------------------------------------------------------------------------------ build */

/* The rows, and the model that encodes texts or made the vectors. */
typedef struct build_source {
    prog_rows rows;
    thr_tower *tower;
    thr_dual *dual; /* or NULL, as tower */
    thr_metric metric;
} build_source;

/* The metric: the one that the model's vectors need; --metric must agree. That of given vectors is free. */
static int choose_metric(const program *run, const build_values *values, build_source *source) {
    const thr_metric metric = (thr_metric)values->metric;
    const thr_tower *tower = source->tower;

    if (prog_takes_vectors(tower))
        return PROG_DONE;
    source->metric = source->dual != NULL ? THR_METRIC_IP : THR_METRIC_COSINE;
    if (prog_is_given(run, "metric") && metric != source->metric) {
        prog_error("--metric %s: the vectors of --model %s need %s; %s", thr_metric_name(metric), values->model,
                   thr_metric_name(source->metric), prog_see_help(run));
        return PROG_WRONG_WORDS;
    }
    return PROG_DONE;
}

static int open_model(program *run, const build_values *values, build_source *source) {
    thr_error err = {.status = THR_OK};
    bool dual = false;

    if (prog_probe_dual(run, values->model, &dual) != PROG_DONE)
        return PROG_FAILED;
    const thr_status status = dual ? thr_dual_open(run->context, values->model, &source->dual, &err)
                                   : thr_tower_open(run->context, values->model, &source->tower, &err);
    if (status != THR_OK)
        return prog_failed(&err);
    const int rc = choose_metric(run, values, source);
    if (rc != PROG_DONE || dual)
        return rc;
    const thr_tower_info info = thr_tower_get_info(source->tower);
    return check_model_words(run, values, &info.config);
}

static int open_source(program *run, const build_values *values, build_source *source) {
    int rc = prog_rows_open(&source->rows, run->context, values->vectors);

    if (rc == PROG_DONE && values->model != NULL)
        rc = open_model(run, values, source);
    if (rc != PROG_DONE || (!prog_rows_are_text(&source->rows) && !prog_encodes_vectors(source->tower)))
        return rc;
    if (source->tower == NULL && source->dual == NULL) {
        prog_error("%s holds text; VECTORS must be rows of numbers (texts need --model, names go to --ids)",
                   values->vectors);
        return PROG_FAILED;
    }
    return prog_rows_encode(&source->rows, source->tower, source->dual);
}

static void close_source(build_source *source) {
    prog_rows_close(&source->rows);
    thr_tower_free(source->tower);
    thr_dual_free(source->dual);
}

static int run_build(program *run, const void *all_values) {
    const build_values *values = all_values;
    thr_index_build_options build = {0};
    thr_cells_choice cells = {.n_cells = 0};
    float *multipliers = NULL;
    build_source source = {.metric = (thr_metric)values->metric};
    double start = prog_seconds();
    int rc = check_words(run, values);

    if (rc != PROG_DONE)
        return rc;
    rc = open_source(run, values, &source);
    if (rc != PROG_DONE)
        goto out;
    build.model = values->model;
    build.quantiser_from = values->quantiser_from;
    build.metric = source.metric;
    build.item_bits = (uint32_t)values->bits;
    build.lead_bits = (uint32_t)values->lead;
    build.scale = isnan(values->scale) ? 0 : (float)values->scale;
    build.rotate = values->rotate ? THR_ROTATE_ON : values->no_rotate ? THR_ROTATE_OFF : THR_ROTATE_AUTO;
    build.keep = prog_keep_dtypes[values->keep];
    build.codes_only = values->codes_only;
    build.ids_path = values->ids;
    build.replace = values->force;
    build.segment_rows = values->segment_items;
    build.cells_choice = &cells;
    build.cells = (uint32_t)values->cells; /* auto is the largest number of both types */
    _Static_assert((uint32_t)UINT64_MAX == THR_CELLS_AUTO, "auto");
    build.features_path = values->features;
    if (values->multipliers != NULL)
        rc = prog_table_values_read(run, values->features, values->multipliers, 1, &multipliers, &build.n_values);
    build.multipliers = multipliers;
    if (rc == PROG_DONE)
        rc = prog_build_index(run, values->output, prog_rows_reader(&source.rows), &build, start);
out:
    close_source(&source);
    free(multipliers);
    return rc;
}

const prog_command prog_index_build = {
    PROG_COMMAND("index", "build", build_values, arguments, options, run_build),
    .summary = "build an index of vectors, or of texts",
    .text = "Encodes every row with a few bits per dimension, and stores the vectors beside the codes for "
            "exact scores. The quantiser is learned from a sample of the rows. Rows are streamed, so the file may be "
            "larger than memory. At the end the build uses some of the items as queries to calibrate how many "
            "candidates each recall requires.\n\nWith --model the rows are texts, or vectors that "
            "the model produced. The index stores the model and can be searched by text. The rows of "
            "a dual model are features; with --features the hits of a user's history count, "
            "too.\n\nWith --features searches can add weights of features to an item's score, "
            "multiply it by a bid, and select items by their features.\n\nThe index appears when it "
            "is complete. A build that fails or is stopped (SIGINT, SIGTERM) leaves an existing "
            "index as it was.",
    .examples = PROG_EXAMPLES("thresher index build vectors.fvecs -o vectors.index",
                              "thresher index build words.npy --ids words.txt --keep f16 -o words.index",
                              "xzcat sift.fvecs.xz | thresher index build -.fvecs --metric l2 -o sift.index",
                              "thresher index build packages.tsv.xz:long --model p.safetensors -o p.index",
                              "thresher index build items.npy --model m.safetensors -o items.index",
                              "thresher index build ads.fvecs --metric ip --features ads.tsv -o ads.index",
                              "thresher index build ads.tsv:2 --model m.safetensors --features ads.tsv -o ads"),
};
